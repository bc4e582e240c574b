"""TreeRank and its pruning by cross-validation, from checked rows to a grown tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from crucial.model.ranking_trees import RankingTrees
from crucial.trees.grow import Node
from crucial.trees.pruning import (
    best_penalty,
    candidate_penalties,
    held_out_areas,
    held_out_shares,
    pruning_path,
)
from crucial.trees.sampling import ClassSampler
from crucial.trees.scan import NodeRows
from crucial.trees.splitters import Splitter
from crucial.trees.tasks import TaskAlgorithm
from crucial.trees.two_classes import TwoClassTask
from crucial.types import Bytes, Floats

__all__ = ["PenaltySearch", "TreeRankAlgorithm", "search_penalty"]

#: Makes the splitter of one tree from its random numbers.
MakeSplitter = Callable[[np.random.Generator], Splitter]


@dataclass(frozen=True)
class TreeRankAlgorithm:
    """Grows trees that tell two classes apart.

    Attributes
    ----------
    rows : TreeRows
    good : uint8 array, one entry per row
        1 for a high row.
    make_splitter : callable
    max_depth : int or None
    min_rows : float
        A node with less weight is not split.
    """

    rows: NodeRows
    good: Bytes
    make_splitter: MakeSplitter
    max_depth: int | None
    min_rows: float

    @property
    def _tasks(self) -> TaskAlgorithm:
        return TaskAlgorithm(
            self.rows,
            lambda weight: TwoClassTask(self.good, weight),
            self.make_splitter,
            self.max_depth,
            self.min_rows,
        )

    def grow(self, weight: Floats, random: np.random.Generator) -> Node:
        """Grow a tree on the rows of positive weight."""
        return self._tasks.grow(weight, random)

    def table(self, root: Node) -> RankingTrees:
        """Return a grown tree as a model."""
        return self._tasks.table(root)


@dataclass(frozen=True)
class PenaltySearch:
    """How pruning by cross-validation chose its penalty.

    Attributes
    ----------
    penalties : array
        The penalties that were tried, ascending.
    areas : array
        Mean area under the ROC curve of the held-out rows, one per penalty.
    best : float
    """

    penalties: Floats
    areas: Floats
    best: float


def search_penalty(
    algorithm: TreeRankAlgorithm, root: Node, n_folds: int, seed: int
) -> PenaltySearch | None:
    """Choose the penalty of a grown tree by cross-validation; None if it is a leaf.

    The candidates are geometric means of the critical penalties of the tree; folds have rows of
    both classes, and a fold that has none is left out.
    """
    path = pruning_path(root)
    if not path:
        return None
    penalties = candidate_penalties(path)
    rows, good = algorithm.rows, algorithm.good
    fold = ClassSampler(rows, good).folds(n_folds, np.random.default_rng([seed, 2**31]))
    areas = []
    for number in range(n_folds):
        held = np.flatnonzero(fold == number)
        kept = fold != number
        high = good[held] == 1
        if high.all() or not high.any() or len(np.unique(good[kept])) < 2:
            continue
        weight = np.where(kept, rows.weight, 0.0)
        tree = algorithm.grow(weight, np.random.default_rng([seed, number]))
        leaf = algorithm.table(tree).leaves(rows.instances.take_rows(rows.rows[held]))[:, 0]
        mass = rows.weight[held]
        alpha = held_out_shares(tree, leaf[~high], mass[~high])
        beta = held_out_shares(tree, leaf[high], mass[high])
        areas.append(held_out_areas(tree, alpha, beta, penalties))
    if not areas:
        return PenaltySearch(penalties, np.full(len(penalties), 0.5), 0.0)
    mean = np.mean(areas, axis=0)
    return PenaltySearch(penalties, mean, best_penalty(penalties, mean))
