"""Why items of a list stand above each other, in a ranker with trees of several features."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from crucial.data.instances import Instances
from crucial.inspection.parts import feature_parts
from crucial.inspection.tree_differences import tree_differences
from crucial.model.additive import AdditiveRanker
from crucial.types import Floats, Ints

__all__ = ["JointReasons"]

_TOP = 8  # features named per pair of items; the others are summed


class JointReasons:
    """The Shapley values of all pairs of items of some lists.

    Parameters
    ----------
    model : AdditiveRanker
        With trees.
    rows : Instances
        The items of all lists, one list after the other.
    sizes : sequence of int
        Items per list.

    Attributes
    ----------
    features : list of int
        The features that make a difference in any pair.
    """

    def __init__(self, model: AdditiveRanker, rows: Instances, sizes: list[int]) -> None:
        starts = np.cumsum([0, *sizes]).tolist()
        self._pairs = [
            np.array(list(combinations(range(begin, begin + size), 2)), np.int64).reshape(-1, 2)
            for begin, size in zip(starts, sizes)
        ]
        used, added = _differences(model, rows, np.concatenate(self._pairs))
        kept = np.flatnonzero(np.abs(added).max(axis=0, initial=0.0) > 0.0)
        self.features = [used[slot] for slot in kept.tolist()]
        ends = np.cumsum([len(pairs) for pairs in self._pairs])[:-1]
        self._added = np.split(added[:, kept], ends)

    def of_list(self, number: int) -> list[list[list[float]]]:
        """Return the reasons of every pair (0, 1), (0, 2), ... of the items of a list.

        Each is a list of [place of the feature in `features`, what it adds], largest first; the
        place -1 stands for all others.
        """
        return [_largest(row) for row in self._added[number]]


def _largest(row: Floats) -> list[list[float]]:
    order = np.argsort(-np.abs(row), kind="stable")
    named = [int(place) for place in order[:_TOP] if row[place] != 0.0]
    out: list[list[float]] = [[place, float(f"{row[place]:.7g}")] for place in named]
    rest = float(row[order[_TOP:]].sum())
    return [*out, [-1, float(f"{rest:.7g}")]] if rest else out


def _differences(model: AdditiveRanker, rows: Instances, pairs: Ints) -> tuple[list[int], Floats]:
    """Return the used features, and what each adds for a minus for b, for pairs (a, b) of rows."""
    alone = feature_parts(model, rows)
    assert model.tree_sums is not None
    trees = zip(model.tree_sums.trees, model.tree_sums.weights, strict=True)
    joint = [(tree, weight) for tree, weight in trees if len(set(tree.features)) > 1]
    used = sorted({*alone.features.tolist(), *(f for tree, _ in joint for f in tree.features)})
    slot = {feature: number for number, feature in enumerate(used)}
    columns = np.column_stack([rows.column(feature).astype(np.float64) for feature in used])
    out = np.zeros((len(pairs), len(used)))
    places = [slot[feature] for feature in alone.features.tolist()]
    out[:, places] = alone.added[pairs[:, 0]] - alone.added[pairs[:, 1]]
    part = np.zeros_like(out)
    for tree, weight in joint:
        part[:] = 0.0
        tree_differences(tree.with_features(slot), columns, pairs, part)
        out += weight * part
    return used, out
