"""Solr's MultipleAdditiveTreesModel."""

from __future__ import annotations

import json
import math
from functools import partial
from typing import Any

import numpy as np

from crucial.export.export import indented
from crucial.export.targets import Target
from crucial.export.trees import (
    EngineCuts,
    EngineForest,
    ExportSettings,
    NestedNode,
    flattened,
    float32_cuts,
    float32_leaves,
    missing_goes_right,
    plain_trees,
)
from crucial.model.form import FormTree, ScoreForm
from crucial.types import Floats

_SLACK = np.float32(1e-6)  # Solr adds it to every threshold that it reads
_ANY = float(np.finfo(np.float32).max)


def _before_slack(cut: float) -> float:
    """Return a float32 number that is the cut, or nearly, after Solr has added its slack."""
    wanted = np.float32(cut)
    near = np.float32(wanted - _SLACK)
    tried = [near, np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))]
    best = min(tried, key=lambda one: abs(float(np.float32(one + _SLACK)) - float(wanted)))
    return float(best)


def _cuts(thresholds: Floats, values: Floats | None) -> EngineCuts:
    """Return cuts that Solr can have: float32 numbers that its slack leads to.

    Near 0 its slack is larger than the differences of float32 numbers, so that values closer
    than about 1e-13 are the same there.
    """
    found = float32_cuts(thresholds, values)
    reached = np.array(
        [float(np.float32(np.float32(_before_slack(cut)) + _SLACK)) for cut in found.cuts.tolist()]
    )
    lost = list(found.lost)
    for at in np.flatnonzero(reached != found.cuts).tolist():
        low, high = sorted((float(reached[at]), float(found.cuts[at])))
        if values is None:
            lost.append((low, high))
            continue
        own = values.astype(np.float32).astype(np.float64)
        between = values[(own > low) & (own <= high)]
        lost += [(float(value), float(thresholds[at])) for value in between]
    return EngineCuts(reached, lost)


def _node(tree: FormTree, leaves: list[float], names: tuple[str, ...]) -> dict[str, Any]:
    def made(node: int) -> dict[str, Any]:
        if node < 0:
            return {"value": repr(leaves[~node])}
        threshold = float(tree.thresholds[node])
        written = _ANY if math.isnan(threshold) else _before_slack(threshold)
        return {
            "feature": names[int(tree.features[node])],
            "threshold": repr(written),
            "missing": "right",
            "left": made(int(tree.left[node])),
            "right": made(int(tree.right[node])),
        }

    return made(0 if len(tree.features) else ~0)


def _write(form: ScoreForm, settings: ExportSettings) -> bytes:
    trees = [missing_goes_right(tree) for tree in plain_trees(form)]
    whole = {
        "class": "org.apache.solr.ltr.model.MultipleAdditiveTreesModel",
        "name": settings.name or "crucial",
        "features": [{"name": form.names[feature]} for feature in form.used],
        "params": {
            "isNullSameAsZero": "false",
            "trees": [
                {"weight": "1", "root": _node(tree, float32_leaves(tree), form.names)}
                for tree in trees
            ],
        },
    }
    return indented(whole)


def _read(node: dict[str, Any], places: dict[str, int]) -> NestedNode:
    if "value" in node:
        return NestedNode(float(node["value"]))
    threshold = float(np.float32(np.float32(node["threshold"]) + _SLACK))
    return NestedNode(0.0, places[node["feature"]], threshold, (node["left"], node["right"]))


def _twin(content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings) -> Floats:
    """Score rows as Solr does: float32, thresholds with its slack, missing values to the right."""
    places = {name: at for at, name in enumerate(form.names)}
    read = partial(_read, places=places)
    trees = flattened((one["root"] for one in json.loads(content)["params"]["trees"]), read)
    return EngineForest(trees, "<=", np.float32, np.float32).scores(X)


TARGET = Target(
    name="solr",
    title="MultipleAdditiveTreesModel of Solr",
    numbers="float32",
    write=_write,
    twin=_twin,
    engine=None,
    engine_name="Solr",
    by_name=True,
    rejects_negative=True,
    cuts=_cuts,
    number_words="computes with float32 and moves thresholds by 1e-6",
)
