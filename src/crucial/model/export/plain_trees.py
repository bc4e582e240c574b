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
    trees = [replace(tree, values=tree.values / form.divisor) for tree in form.all_trees()]
    constant = form.intercept / form.divisor + form.offset
    if constant or not trees:
        empty = np.zeros(0, np.int64)
        alone = np.array([constant])
        trees.append(FormTree(empty, np.zeros(0), np.zeros(0, bool), empty, empty, alone))
    return trees


def float32_leaves(tree: FormTree) -> list[float]:
    """Return the values of the leaves as float32 numbers."""
    return [float(value) for value in tree.values.astype(np.float32)]


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
    if not len(tree.features):
        return tree
    rows: list[tuple[int, float, int, int]] = []
    values: list[float] = []
    features, thresholds = tree.features.tolist(), tree.thresholds.tolist()
    lefts, rights = tree.left.tolist(), tree.right.tolist()
    missing_right, leaves = tree.missing_right.tolist(), tree.values.tolist()

    def added(node: int, known: dict[int, bool]) -> int:
        """Add a node or leaf and what is below it; ``known`` tells which features have a value."""
        while node >= 0 and known.get(features[node]) is False:
            node = rights[node] if missing_right[node] else lefts[node]
        if node < 0:
            values.append(leaves[~node])
            return ~(len(values) - 1)
        feature, threshold = features[node], thresholds[node]
        presence = threshold != threshold
        if known.get(feature) and presence:
            return added(lefts[node], known)
        place = len(rows)
        rows.append((feature, threshold, 0, 0))
        if known.get(feature) or (missing_right[node] and not presence):
            left = added(lefts[node], known)
            right = added(rights[node], known)
        else:
            threshold = np.nan
            left = added(node, {**known, feature: True})
            right = added(node, {**known, feature: False})
        rows[place] = (feature, threshold, left, right)
        return place

    root = added(0, {})
    if root < 0:
        empty = np.zeros(0, np.int64)
        return FormTree(empty, np.zeros(0), np.zeros(0, bool), empty, empty, np.array(values))
    return FormTree(
        np.array([row[0] for row in rows], np.int64),
        np.array([row[1] for row in rows]),
        np.ones(len(rows), bool),
        np.array([row[2] for row in rows], np.int64),
        np.array([row[3] for row in rows], np.int64),
        np.array(values),
    )
