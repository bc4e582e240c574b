"""Cost-complexity pruning of ranking trees (Clemencon, Depecker & Vayatis 2011).

A pruned tree maximises ``value(T) - lambda leaves(T)``, its value being the AUC, the integrated AUC
or 1 - Kendall distance. As in CART, the trees that do so for some lambda are nested: the weakest
link, the node whose subtree gains least per leaf, is cut first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.boosting.stump_search import worst_tied
from crucial.rankers.ranking_trees.forests import ClassSampler
from crucial.rankers.ranking_trees.growth import Node, TreeGrower
from crucial.rankers.ranking_trees.tasks import PairGains
from crucial.types import Bools, Bytes, Floats, Ints


@dataclass(frozen=True)
class Pruning:
    """One step of the pruning path.

    Attributes
    ----------
    penalty : float
        The lambda from which on the nodes are leaves.
    nodes : tuple of Node
        The nodes that become leaves.
    """

    penalty: float
    nodes: tuple[Node, ...]


def pruning_path(root: Node) -> list[Pruning]:
    """Return the nodes to cut, by rising penalty; penalties that tie are one step.

    The weakest link has the smallest ``g = (gains of its subtree) / (its leaves - 1)``.
    """
    nodes = list(root.inner())
    if not nodes:
        return []
    number = {id(node): place for place, node in enumerate(nodes)}
    parent = np.full(len(nodes), -1)
    gains, leaves = np.array([node.gain for node in nodes]), np.full(len(nodes), 2)
    for place in range(len(nodes) - 1, -1, -1):  # (children come after their parents)
        for child in nodes[place].children or ():
            below = number.get(id(child))
            if below is not None:
                parent[below] = place
                gains[place] += gains[below]
                leaves[place] += leaves[below] - 1
    alive = np.ones(len(nodes), bool)
    path: list[Pruning] = []
    while alive[0]:
        link = gains / np.maximum(leaves - 1, 1)
        weakest = float(link[alive].min())
        # (a split may rank more pairs of continuous labels wrong than right: links below 0)
        close = weakest - worst_tied(abs(weakest)) + abs(weakest)
        tied = np.flatnonzero(alive & (link <= close))
        # (a penalty never falls: what rounding leaves of the rise is none)
        penalty = max(weakest, path[-1].penalty if path else 0.0)
        path.append(Pruning(penalty, tuple(nodes[place] for place in tied.tolist())))
        for place in tied.tolist():
            if not alive[place]:  # (a node above it was cut in this step)
                continue
            gain, fewer, above = gains[place], leaves[place] - 1, int(parent[place])
            while above >= 0:
                gains[above] -= gain
                leaves[above] -= fewer
                above = int(parent[above])
            for below_node in nodes[place].inner():
                alive[number[id(below_node)]] = False
    return path


def prune(root: Node, penalty: float) -> Node:
    """Cut a tree to the smallest one that maximises ``AUC(T) - penalty leaves(T)``."""
    for step in pruning_path(root):
        if worst_tied(step.penalty) > penalty:
            break
        for node in step.nodes:
            node.cut()
    return root


def candidate_penalties(path: list[Pruning]) -> Floats:
    """Return 0, the geometric means of neighbouring critical penalties, and the last one."""
    critical = np.array([step.penalty for step in path])
    return np.concatenate(([0.0], np.sqrt(critical[:-1] * critical[1:]), critical[-1:]))


def held_out_values(root: Node, gain: dict[int, float], penalties: Floats) -> Floats:
    """Return the value of held-out rows per penalty, ascending: 1/2 plus the gains of nodes.

    Parameters
    ----------
    root : Node
    gain : dict
        What each split adds to the value of the held-out rows, by the id of its node.
    penalties : array
    """
    path = pruning_path(root)
    left_over = dict(gain)
    out = np.empty(len(penalties))
    step = 0
    for number, penalty in enumerate(penalties.tolist()):
        while step < len(path) and worst_tied(path[step].penalty) <= penalty:
            for node in path[step].nodes:
                for below in node.inner():
                    left_over.pop(id(below), None)
            step += 1
        out[number] = 0.5 + sum(left_over.values())
    return out


def held_out_gains(root: Node, leaf: Ints, gains: PairGains) -> dict[int, float]:
    """Return what every node of a tree adds to the measure of other rows, by its id.

    Parameters
    ----------
    root : Node
    leaf : int array
        The leaf of every row, counted from the left.
    gains : PairGains
        Of these rows.
    """
    number = {id(node): at for at, node in enumerate(root.leaves())}
    rows: dict[int, Ints] = {id(root): np.arange(len(leaf))}
    out: dict[int, float] = {}
    for node in root.inner():
        assert node.left is not None
        assert node.right is not None
        # The leaves below a node are neighbours, and those of its left child come first.
        last = max(number[id(one)] for one in node.left.leaves())
        here = rows.pop(id(node))
        left = leaf[here] <= last
        out[id(node)] = gains.between(here, left) if len(here) else 0.0
        rows[id(node.left)], rows[id(node.right)] = here[left], here[~left]
    return out


def best_penalty(penalties: Floats, areas: Floats) -> float:
    """Return the penalty with the largest area; of equal ones the largest, the smaller tree."""
    tied: Bools = areas >= worst_tied(float(areas.max()))
    return float(penalties[np.flatnonzero(tied)[-1]])


@dataclass(frozen=True)
class PenaltySearch:
    """How pruning by cross-validation chose its penalty.

    Attributes
    ----------
    penalties : array
        The penalties that were tried, ascending.
    areas : array
        Mean value of the held-out rows, one per penalty.
    best : float
    """

    penalties: Floats
    areas: Floats
    best: float


def search_penalty(
    grower: TreeGrower, root: Node, label: Ints, classes: Bytes, measure: str, folds: int, seed: int
) -> PenaltySearch | None:
    """Choose the penalty of a grown tree by cross-validation; None if it is a leaf.

    The candidates are geometric means of the critical penalties of the tree. A fold whose rows, or
    whose other rows, have one label is left out.

    Parameters
    ----------
    grower : TreeGrower
    root : Node
    label : int array, one entry per row
        Numbers of the labels, never falling.
    classes : uint8 array, one entry per row
        Rows are dealt to the folds from each class separately.
    measure : {"kendall", "iauc"}
        The value of a tree; of two labels both are the AUC.
    folds, seed : int
    """
    path = pruning_path(root)
    if not path:
        return None
    penalties, rows = candidate_penalties(path), grower.rows
    fold = ClassSampler(rows, classes).folds(folds, np.random.default_rng([seed, 2**31]))
    values = []
    for number in range(folds):
        held, kept = np.flatnonzero(fold == number), fold != number
        if len(np.unique(label[held])) < 2 or len(np.unique(label[kept])) < 2:
            continue
        tree = grower.grow(np.where(kept, rows.weight, 0.0), np.random.default_rng([seed, number]))
        leaf = grower.model(tree).leaves(rows.instances.take_rows(rows.rows[held]))[:, 0]
        gains = PairGains.of(label[held], rows.weight[held], measure)
        values.append(held_out_values(tree, held_out_gains(tree, leaf, gains), penalties))
    if not values:
        return PenaltySearch(penalties, np.full(len(penalties), 0.5), 0.0)
    mean = np.mean(values, axis=0)
    return PenaltySearch(penalties, mean, best_penalty(penalties, mean))
