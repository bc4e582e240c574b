"""A form as trees alone, for engines that know nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crucial.model.export.form import FormTree, ScoreForm

__all__ = ["float32_leaves", "missing_goes_right", "plain_trees", "scaled", "sums_differ"]


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
