"""Grow the trees of a forest, each on a bootstrap of its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from crucial.kernels.runtime import run_all
from crucial.trees.grow import Node
from crucial.trees.sampling import ClassSampler
from crucial.trees.scan import NodeRows
from crucial.types import Bytes, Floats

__all__ = ["grow_forest", "tree_generator"]

#: Grows one tree from the weights of its rows and its random numbers.
GrowTree = Callable[[Floats, np.random.Generator], Node]


def tree_generator(seed: int, tree: int) -> np.random.Generator:
    """Return the random numbers of a tree, whatever the number of threads."""
    return np.random.default_rng([seed, tree])


def grow_forest(
    rows: NodeRows,
    classes: Bytes,
    grow_tree: GrowTree,
    n_trees: int,
    seed: int,
    threads: int,
    bootstrap: bool = True,
) -> list[Node]:
    """Grow trees on bootstraps drawn inside each class.

    Parameters
    ----------
    rows : TreeRows
    classes : uint8 array, one entry per row
        Rows are drawn from each class separately.
    grow_tree : callable
        Grows one tree from the weight of every row (0 where it was not drawn) and a generator.
    n_trees, seed, threads : int
    bootstrap : bool
        Whether to draw rows at all.
    """
    sampler = ClassSampler(rows, classes) if bootstrap else None

    def one(tree: int) -> Node:
        random = tree_generator(seed, tree)
        weight = rows.weight if sampler is None else sampler.bootstrap(random)
        root = grow_tree(weight, random)
        root.forget_rows()  # (of fifty trees they would be most of the memory)
        return root

    return run_all(threads, [partial(one, tree) for tree in range(n_trees)])
