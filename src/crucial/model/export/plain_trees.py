"""A form as trees alone, for engines that know nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from crucial.model.export.forest import EngineForest, EngineTrees
from crucial.model.export.form import FormTree, ScoreForm
from crucial.model.export.settings import ExportSettings
from crucial.types import Floats, Ints

__all__ = [
    "below_nodes",
    "float32_leaves",
    "leaf_counts",
    "missing_goes_right",
    "plain_trees",
    "scaled",
    "sums_differ",
]

_CELLS = 1 << 25  # of rows that are counted at a time


def plain_trees(form: ScoreForm) -> list[FormTree]:
    """Return the form as trees alone: a tree that is one leaf adds what every row gets.

    What the sum is divided by is part of the leaves.
    """
    trees = list(form.all_trees())
    if form.divisor != 1.0:
        trees = [replace(tree, values=tree.values / form.divisor) for tree in trees]
    constant = form.intercept / form.divisor + form.offset
    if constant or not trees:
        empty = np.zeros(0, np.int64)
        alone = np.array([constant])
        trees.append(FormTree(empty, np.zeros(0), np.zeros(0, bool), empty, empty, alone))
    return trees


def float32_leaves(tree: FormTree) -> list[float]:
    """Return the values of the leaves as float32 numbers."""
    leaves: list[float] = tree.values.astype(np.float32).astype(np.float64).tolist()
    return leaves


def scaled(tree: FormTree, factor: float) -> FormTree:
    """Return a tree with its leaves multiplied."""
    return replace(tree, values=factor * tree.values)


def leaf_counts(
    trees: Sequence[FormTree], settings: ExportSettings, numbers_of: Callable[[Floats], Floats]
) -> list[Ints]:
    """Return how many rows of the data reach every leaf of every tree, and 1 where none does.

    Engines divide the counts by each other to explain scores, and would divide 0 by 0. Without
    data, every leaf counts as one row.

    Parameters
    ----------
    trees : sequence of FormTree
    settings : ExportSettings
    numbers_of : callable
        Returns values as the engine has them.
    """
    sizes = [len(tree.values) for tree in trees]
    counts = np.zeros(sum(sizes), np.int64)
    data = settings.data
    if data is not None:
        forest = EngineForest(_engine_trees(trees), "<=", np.float64, np.float64)
        step = max(1, _CELLS // data.n_features)
        for begin in range(0, data.n_rows, step):
            part = data.table[begin : begin + step]
            rows = np.asarray(part.toarray() if data.is_sparse else part, np.float64)
            rows = np.nan_to_num(rows, nan=0.0) if settings.missing == "zero" else rows
            counts += forest.counts(numbers_of(rows))[-len(counts) :]
    return np.split(np.maximum(counts, 1), np.cumsum(sizes)[:-1])


def _engine_trees(trees: Sequence[FormTree]) -> EngineTrees:
    """Return the nodes of all trees, then their leaves."""
    n_nodes, n_leaves = [len(tree.features) for tree in trees], [len(tree.values) for tree in trees]
    nodes, leaves = np.cumsum([0, *n_nodes]), np.cumsum([sum(n_nodes), *n_leaves])
    none = np.zeros(sum(n_leaves), np.int64)

    def children(sides: list[Ints]) -> Ints:
        parts = [
            np.where(side >= 0, side + node, ~side + leaf)
            for side, node, leaf in zip(sides, nodes[:-1], leaves[:-1], strict=True)
        ]
        return np.concatenate((*parts, none))

    thresholds = np.concatenate([tree.thresholds for tree in trees])
    return EngineTrees(
        np.where(np.array(n_nodes) > 0, nodes[:-1], leaves[:-1]),
        np.concatenate((*(tree.features for tree in trees), none - 1)),
        np.append(np.where(np.isnan(thresholds), np.inf, thresholds), none),
        np.concatenate((*(~tree.missing_right for tree in trees), none > 0)),
        children([tree.left for tree in trees]),
        children([tree.right for tree in trees]),
        np.zeros(sum(n_nodes) + len(none)),
    )


def below_nodes(tree: FormTree, counts: Ints) -> tuple[Ints, Floats]:
    """Return, per node, the number of rows in the leaves below it, and their mean value.

    Examples
    --------
    >>> tree = FormTree(np.array([0, 1]), np.array([2.5, 0.5]), np.array([False, False]),
    ...     np.array([1, ~0]), np.array([~2, ~1]), np.array([-0.5, 0.25, 0.75]))
    >>> below_nodes(tree, np.array([1, 2, 1]))
    (array([4, 3]), array([0.1875, 0.    ]))
    """
    left, right = tree.left.tolist(), tree.right.tolist()
    shares = (counts * (tree.values / counts.sum())).tolist()  # (so that no product overflows)
    leaves, n = counts.tolist(), len(left)
    rows, sums = [0] * n, [0.0] * n
    for node in reversed(range(n)):
        for child in (left[node], right[node]):
            rows[node] += rows[child] if child >= 0 else leaves[~child]
            sums[node] += sums[child] if child >= 0 else shares[~child]
    found = np.array(rows, np.int64)
    return found, np.array(sums) / (found / counts.sum())


def sums_differ(form: ScoreForm) -> bool:
    """Return whether adding the plain trees one by one can round differently from the model."""
    constants = bool(form.intercept) + bool(form.offset)
    return form.divisor != 1.0 or constants > 1 or bool(form.steps and form.trees)


def missing_goes_right(tree: FormTree) -> FormTree:
    """Return a tree of the same values in which every node sends a missing value right.

    Engines that do not know where a missing value goes compare it as NaN, and every comparison with
    NaN fails: such rows go right. A node that would send them left is put below one that asks
    whether there is a value. Below that one the answer is known, so that each feature is asked
    about once on a path.

    Examples
    --------
    >>> tree = FormTree(np.array([0]), np.array([2.5]), np.array([False]), np.array([~0]),
    ...     np.array([~1]), np.array([-0.5, 0.25]))
    >>> right = missing_goes_right(tree)
    >>> right.missing_right.tolist(), right.scores(np.array([[2.0], [3.0], [np.nan]])).tolist()
    ([True, True], [-0.5, 0.25, -0.5])
    """
    return _RewrittenTree(tree).made() if len(tree.features) else tree


class _RewrittenTree:
    """A tree that is written again, node by node; see `missing_goes_right`.

    (A class, since a function that calls itself inside another one is garbage that only the
    collector finds, and it would hold every tree until then.)
    """

    def __init__(self, tree: FormTree) -> None:
        self.features, self.thresholds = tree.features.tolist(), tree.thresholds.tolist()
        self.left, self.right = tree.left.tolist(), tree.right.tolist()
        self.missing_right, self.leaves = tree.missing_right.tolist(), tree.values.tolist()
        self.rows: list[tuple[int, float, int, int]] = []
        self.values: list[float] = []

    def added(self, node: int, known: dict[int, bool]) -> int:
        """Add a node or leaf and what is below it; ``known`` tells which features have a value."""
        while node >= 0 and known.get(self.features[node]) is False:
            node = self.right[node] if self.missing_right[node] else self.left[node]
        if node < 0:
            self.values.append(self.leaves[~node])
            return -len(self.values)
        feature, threshold = self.features[node], self.thresholds[node]
        presence, present = threshold != threshold, known.get(feature)
        if present and presence:
            return self.added(self.left[node], known)
        place = len(self.rows)
        self.rows.append((feature, threshold, 0, 0))
        if present or (self.missing_right[node] and not presence):
            left = self.added(self.left[node], known)
            right = self.added(self.right[node], known)
        else:
            threshold = np.nan
            left = self.added(node, {**known, feature: True})
            right = self.added(node, {**known, feature: False})
        self.rows[place] = (feature, threshold, left, right)
        return place

    def made(self) -> FormTree:
        """Return the whole tree."""
        self.added(0, {})
        features, thresholds, left, right = (
            zip(*self.rows, strict=True) if self.rows else ((), (), (), ())
        )
        return FormTree(
            np.array(features, np.int64),
            np.array(thresholds, np.float64),
            np.ones(len(features), bool),
            np.array(left, np.int64),
            np.array(right, np.int64),
            np.array(self.values),
        )
