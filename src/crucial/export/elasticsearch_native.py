"""Elasticsearch's own learning to rank: the body that makes a trained model."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import numpy as np

from crucial.export.export import indented
from crucial.export.targets import Target
from crucial.export.trees import (
    EngineForest,
    EngineTrees,
    ExportSettings,
    missing_goes_right,
    plain_trees,
    spliced,
    sums_differ,
)
from crucial.model.form import FormTree, ScoreForm
from crucial.types import Floats

_ANY = float(np.finfo(np.float64).max)
_LEVEL = 6  # (the highest level takes nearly three times as long for 9% less)


def _tree_text(tree: FormTree, names: str) -> str:
    """Return a tree as JSON: its nodes, then its leaves; ``names`` are those of all features."""
    n = len(tree.features)
    thresholds = np.where(np.isnan(tree.thresholds), _ANY, tree.thresholds).tolist()
    left, right = (
        np.where(side >= 0, side, n + ~side).tolist() for side in (tree.left, tree.right)
    )
    nodes = [
        f'{{"node_index":{node},"decision_type":"lte","split_feature":{feature},'
        f'"threshold":{threshold!r},"default_left":false,"left_child":{below},'
        f'"right_child":{above}}}'
        for node, (feature, threshold, below, above) in enumerate(
            zip(tree.features.tolist(), thresholds, left, right, strict=True)
        )
    ]
    nodes += [
        f'{{"node_index":{leaf},"leaf_value":{value!r}}}'
        for leaf, value in enumerate(tree.values.tolist(), n)
    ]
    return (
        f'{{"tree":{{"target_type":"regression","feature_names":{names},'
        f'"tree_structure":[{",".join(nodes)}]}}}}'
    )


def _extractor(name: str) -> dict[str, Any]:
    """Return how Elasticsearch finds a feature: the field of its name, where a document has it."""
    script = {"source": "return doc[params.field].value", "params": {"field": name}}
    query = {"script_score": {"query": {"exists": {"field": name}}, "script": script}}
    return {"query_extractor": {"feature_name": name, "query": query}}


def _write(form: ScoreForm, settings: ExportSettings) -> bytes:
    names = list(form.names)
    listed = json.dumps(names, separators=(",", ":"))
    trees = ",".join(_tree_text(missing_goes_right(tree), listed) for tree in plain_trees(form))
    definition = (
        f'{{"trained_model":{{"ensemble":{{"target_type":"regression","feature_names":{listed},'
        f'"trained_models":[{trees}],"aggregate_output":{{"weighted_sum":{{}}}}}}}}}}'
    )
    # (no time stamp, so that the same model gives the same bytes)
    packed = gzip.compress(definition.encode(), _LEVEL, mtime=0)
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
    return EngineForest(read, "<=", np.float64, np.float64).scores(X)


TARGET = Target(
    name="elasticsearch",
    title="trained model of Elasticsearch's own learning to rank",
    numbers="float64",
    write=_write,
    twin=_twin,
    engine=None,
    engine_name="Elasticsearch",
    by_name=True,
    rejects_negative=True,
    takes=frozenset({"shift"}),
    reorders=sums_differ,
)
