"""Grow trees for any task: from checked rows to grown trees and their model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from crucial.model.ranking_trees import RankingTrees
from crucial.model.tree_table import Router
from crucial.trees.freeze import frozen_tree
from crucial.trees.grow import Node, TreeTask, grow
from crucial.trees.scan import NodeRows
from crucial.trees.splitters import Splitter
from crucial.types import Floats

__all__ = ["StartedTask", "TaskAlgorithm"]


class StartedTask(TreeTask, Protocol):
    """A task that prepares itself at the root of its tree."""

    def start(self, root: Node) -> Node:
        """Set what the task keeps of a root, which has all rows, and return it."""


@dataclass(frozen=True)
class TaskAlgorithm:
    """Grows trees whose nodes are split by a task.

    Attributes
    ----------
    rows : TreeRows
    make_task : callable
        Makes the task of a tree from the weights of the rows.
    make_splitter : callable
        Makes the splitter of a tree from its random numbers.
    max_depth : int or None
    min_rows : float
        A node with less weight is not split.
    """

    rows: NodeRows
    make_task: Callable[[Floats], StartedTask]
    make_splitter: Callable[[np.random.Generator], Splitter]
    max_depth: int | None
    min_rows: float

    def grow(self, weight: Floats, random: np.random.Generator) -> Node:
        """Grow a tree on the rows of positive weight."""
        task = self.make_task(weight)
        root = task.start(Node(np.flatnonzero(weight > 0.0).astype(np.uint32)))
        return grow(root, weight, task, self.make_splitter(random), self.max_depth, self.min_rows)

    def table(self, root: Node) -> RankingTrees:
        """Return a grown tree as a model."""
        routers: list[Router] = []
        tree = frozen_tree(root, routers)
        return RankingTrees(self.rows.instances.n_features, [tree], routers=routers)
