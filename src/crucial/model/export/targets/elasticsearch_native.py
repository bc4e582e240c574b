"""Elasticsearch's own learning to rank: the body that makes a trained model."""

from __future__ import annotations

import base64
import gzip
import json
import math
from typing import Any

import numpy as np

from crucial.model.export.forest import EngineTrees, Forest, spliced
from crucial.model.export.form import FormTree, ScoreForm
from crucial.model.export.json_text import indented
from crucial.model.export.plain_trees import missing_goes_right, plain_trees, sums_differ
from crucial.model.export.settings import ExportSettings
from crucial.model.export.target import Target
from crucial.types import Floats

__all__ = ["TARGET"]

_ANY = float(np.finfo(np.float64).max)


def _structure(tree: FormTree) -> list[dict[str, Any]]:
    """Return the nodes of a tree, then its leaves."""
    n = len(tree.features)
    nodes = []
    for node in range(n):
        threshold = float(tree.thresholds[node])
        left, right = (int(side[node]) for side in (tree.left, tree.right))
        nodes.append(
            {
                "node_index": node,
                "decision_type": "lte",
                "split_feature": int(tree.features[node]),
                "threshold": _ANY if math.isnan(threshold) else threshold,
                "default_left": False,
                "left_child": left if left >= 0 else n + ~left,
                "right_child": right if right >= 0 else n + ~right,
            }
        )
    return nodes + [
        {"node_index": n + leaf, "leaf_value": value}
        for leaf, value in enumerate(tree.values.tolist())
    ]


def _extractor(name: str) -> dict[str, Any]:
    """Return how Elasticsearch finds a feature: the field of its name, where a document has it."""
    script = {"source": "return doc[params.field].value", "params": {"field": name}}
    query = {"script_score": {"query": {"exists": {"field": name}}, "script": script}}
    return {"query_extractor": {"feature_name": name, "query": query}}


def _write(form: ScoreForm, settings: ExportSettings) -> bytes:
    names = list(form.names)
    trees = [
        {
            "tree": {
                "target_type": "regression",
                "feature_names": names,
                "tree_structure": _structure(missing_goes_right(tree)),
            }
        }
        for tree in plain_trees(form)
    ]
    ensemble = {
        "target_type": "regression",
        "feature_names": names,
        "trained_models": trees,
        "aggregate_output": {"weighted_sum": {}},
    }
    definition = json.dumps({"trained_model": {"ensemble": ensemble}}, separators=(",", ":"))
    # (no time stamp, so that the same model gives the same bytes)
    packed = gzip.compress(definition.encode(), mtime=0)
    extractors = [_extractor(form.names[feature]) for feature in form.used]
    body = {
        "model_type": "tree_ensemble",
        "input": {"field_names": names},
        "inference_config": {"learning_to_rank": {"feature_extractors": extractors}},
        "compressed_definition": base64.b64encode(packed).decode("ascii"),
    }
    about = [text for text in (settings.name, settings.missing_note) if text]
    if about:
        body["description"] = ". ".join(about)
    return indented(body)


def _twin(content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings) -> Floats:
    """Score rows as Elasticsearch does: doubles, a missing value to the default side."""
    packed = base64.b64decode(json.loads(content)["compressed_definition"])
    ensemble = json.loads(gzip.decompress(packed))["trained_model"]["ensemble"]
    trees = [one["tree"]["tree_structure"] for one in ensemble["trained_models"]]
    sizes = [len(nodes) for nodes in trees]
    roots = np.cumsum([0, *sizes[:-1]])
    before = np.repeat(roots, sizes)

    def column(name: str, kind: type, other: float = 0) -> np.ndarray:
        return spliced(([node.get(name, other) for node in nodes] for nodes in trees), kind)

    read = EngineTrees(
        roots,
        column("split_feature", np.int64, -1),
        column("threshold", np.float64),
        column("default_left", np.bool_),
        column("left_child", np.int64) + before,
        column("right_child", np.int64) + before,
        column("leaf_value", np.float64),
    )
    return Forest(read, "<=", np.float64, np.float64).scores(X)


TARGET = Target(
    name="elasticsearch",
    title="trained model of Elasticsearch's own learning to rank",
    numbers="float64",
    write=_write,
    twin=_twin,
    engine=None,
    engine_name="Elasticsearch",
    by_name=True,
    takes=frozenset({"shift"}),
    reorders=sums_differ,
)
