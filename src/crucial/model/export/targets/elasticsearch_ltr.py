"""The LTR plugins of Elasticsearch and OpenSearch: trees as ``model/xgboost+json``.

The plugins add float32 numbers and go to ``yes`` where the threshold is greater than the value.
Older ones do not read ``missing``; there a missing value, which is NaN, goes to ``no``. In what is
written here it always goes to ``no``, so that all read the same.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from crucial.model.export.forest import Forest, NestedNode, flattened
from crucial.model.export.form import FormTree, ScoreForm
from crucial.model.export.json_text import indented
from crucial.model.export.plain_trees import (
    float32_leaves,
    missing_goes_right,
    plain_trees,
    scaled,
)
from crucial.model.export.settings import ExportSettings
from crucial.model.export.target import Target
from crucial.types import Floats

__all__ = ["OPENSEARCH", "TARGET"]

_ANY = float(np.finfo(np.float32).max)


def _node(tree: FormTree, leaves: list[float], names: tuple[str, ...]) -> dict[str, Any]:
    """Return a tree as nested objects, numbered from the root down."""
    count = 0
    features, left, right = tree.features.tolist(), tree.left.tolist(), tree.right.tolist()
    # (the engine's test is "less than")
    above = np.nextafter(tree.thresholds.astype(np.float32), np.float32(np.inf))
    conditions = np.where(np.isnan(tree.thresholds), _ANY, above.astype(np.float64)).tolist()

    def made(node: int, depth: int) -> dict[str, Any]:
        nonlocal count
        number = count
        count += 1
        if node < 0:
            return {"nodeid": number, "leaf": leaves[~node]}
        yes, no = made(left[node], depth + 1), made(right[node], depth + 1)
        return {
            "nodeid": number,
            "depth": depth,
            "split": names[features[node]],
            "split_condition": conditions[node],
            "yes": yes["nodeid"],
            "no": no["nodeid"],
            "missing": no["nodeid"],
            "children": [yes, no],
        }

    return made(0 if len(tree.features) else ~0, 0)


def _write(form: ScoreForm, settings: ExportSettings) -> bytes:
    trees = [missing_goes_right(tree) for tree in plain_trees(form)]
    if settings.probability:
        assert form.slope is not None
        trees = [scaled(tree, form.slope) for tree in trees]
    definition = {
        "objective": "binary:logistic" if settings.probability else "rank:pairwise",
        "splits": [_node(tree, float32_leaves(tree), form.names) for tree in trees],
    }
    if settings.name is None:
        return indented(definition)
    model = {"type": "model/xgboost+json", "definition": json.dumps(definition)}
    return indented({"model": {"name": settings.name, "model": model}})


def _read(node: dict[str, Any], places: dict[str, int]) -> NestedNode:
    if "leaf" in node:
        return NestedNode(node["leaf"])
    yes, no = node["children"]
    if (yes["nodeid"], no["nodeid"]) != (node["yes"], node["no"]):
        raise ValueError("children do not have the numbers of yes and no")
    return NestedNode(0.0, places[node["split"]], node["split_condition"], (yes, no))


def _twin(content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings) -> Floats:
    """Score rows as the plugins do; those that read ``missing`` find the same child there."""
    whole = json.loads(content)
    if "model" in whole:
        whole = json.loads(whole["model"]["model"]["definition"])
    places = {name: at for at, name in enumerate(form.names)}
    trees = flattened(whole["splits"], partial(_read, places=places))
    scores = Forest(trees, "<", np.float32, np.float32).scores(X)
    return 1.0 / (1.0 + np.exp(-scores)) if whole["objective"] == "binary:logistic" else scores


TARGET = Target(
    name="elasticsearch-ltr",
    title="xgboost+json of the LTR plugin of Elasticsearch",
    numbers="float32",
    write=_write,
    twin=_twin,
    engine=None,
    engine_name="the LTR plugin",
    by_name=True,
    takes=frozenset({"shift", "probability"}),
)
OPENSEARCH = replace(
    TARGET, name="opensearch-ltr", title="xgboost+json of the LTR plugin of OpenSearch"
)
