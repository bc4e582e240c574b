"""A form as trees alone, for engines that know nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crucial.model.export.form import FormTree, ScoreForm

__all__ = ["float32_leaves", "plain_trees", "scaled", "sums_differ"]


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
