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

from crucial.export.export import indented, indented_text
from crucial.export.targets import Target
from crucial.export.trees import (
    EngineForest,
    ExportSettings,
    NestedNode,
    flattened,
    float32_leaves,
    missing_goes_right,
    plain_trees,
    scaled,
)
from crucial.model.form import FormTree, ScoreForm
from crucial.types import Floats

_ANY = float(np.finfo(np.float32).max)


def _tree_text(tree: FormTree, names: list[str]) -> str:
    """Return a tree as JSON, numbered from the root down; ``names`` are JSON too.

    Every node comes before its children, so that no recursion is needed.
    """
    leaves = float32_leaves(tree)
    n = len(tree.features)
    if not n:
        return f'{{"nodeid": 0, "leaf": {leaves[0]!r}}}'
    features, left, right = tree.features.tolist(), tree.left.tolist(), tree.right.tolist()
    # (the engine's test is "less than")
    above = np.nextafter(tree.thresholds.astype(np.float32), np.float32(np.inf))
    conditions = np.where(np.isnan(tree.thresholds), _ANY, above.astype(np.float64)).tolist()
    sizes, numbers, depths, texts = [1] * n, [0] * n, [0] * n, [""] * n
    for node in reversed(range(n)):
        sizes[node] += _size(sizes, left[node]) + _size(sizes, right[node])
    for node in range(n):
        for child, number in ((left[node], 1), (right[node], 1 + _size(sizes, left[node]))):
            if child >= 0:
                numbers[child], depths[child] = numbers[node] + number, depths[node] + 1
    for node in reversed(range(n)):
        yes = numbers[node] + 1
        no = yes + _size(sizes, left[node])
        below = ", ".join(
            texts[child] if child >= 0 else f'{{"nodeid": {number}, "leaf": {leaves[~child]!r}}}'
            for child, number in ((left[node], yes), (right[node], no))
        )
        texts[node] = (
            f'{{"nodeid": {numbers[node]}, "depth": {depths[node]}, '
            f'"split": {names[features[node]]}, "split_condition": {conditions[node]!r}, '
            f'"yes": {yes}, "no": {no}, "missing": {no}, "children": [{below}]}}'
        )
    return texts[0]


def _size(sizes: list[int], child: int) -> int:
    return sizes[child] if child >= 0 else 1


def _write(form: ScoreForm, settings: ExportSettings) -> bytes:
    trees = [missing_goes_right(tree) for tree in plain_trees(form)]
    if settings.probability:
        assert form.slope is not None
        trees = [scaled(tree, form.slope) for tree in trees]
    names = [json.dumps(name) for name in form.names]
    objective = "binary:logistic" if settings.probability else "rank:pairwise"
    splits = ", ".join(_tree_text(tree, names) for tree in trees)
    definition = f'{{"objective": "{objective}", "splits": [{splits}]}}'
    if settings.name is None:
        return indented_text(definition)
    model = {"type": "model/xgboost+json", "definition": definition}
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
    scores = EngineForest(trees, "<", np.float32, np.float32).scores(X)
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
    rejects_negative=True,
    takes=frozenset({"shift", "probability"}),
)
OPENSEARCH = replace(
    TARGET, name="opensearch-ltr", title="xgboost+json of the LTR plugin of OpenSearch"
)
