"""Cost-complexity pruning of ranking trees (Clemencon, Depecker & Vayatis 2011).

A pruned tree maximises ``AUC(T) - lambda leaves(T)``. As in CART, the trees that do so for some
lambda are nested: the weakest link, the node whose subtree gains least per leaf, is cut first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.boosting.stump_search import worst_tied
from crucial.trees.grow import Node
from crucial.types import Bools, Floats, Ints

__all__ = [
    "Pruning",
    "best_penalty",
    "candidate_penalties",
    "held_out_areas",
    "held_out_shares",
    "held_out_values",
    "prune",
    "pruning_path",
]


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


def held_out_areas(
    root: Node, alpha: dict[int, float], beta: dict[int, float], penalties: Floats
) -> Floats:
    """Return the area under the ROC curve of held-out rows per penalty, ascending.

    Parameters
    ----------
    alpha, beta : dict
        Share of the held-out low and high rows in every node, by its id.
    penalties : array
    """
    # The area is 1/2 plus the held-out gains of the nodes that are still split.
    gain: dict[int, float] = {}
    for node in root.inner():
        assert node.left is not None
        left, here = id(node.left), id(node)
        gain[here] = 0.5 * (alpha[here] * beta[left] - beta[here] * alpha[left])
    return held_out_values(root, gain, penalties)


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


def best_penalty(penalties: Floats, areas: Floats) -> float:
    """Return the penalty with the largest area; of equal ones the largest, the smaller tree."""
    tied: Bools = areas >= worst_tied(float(areas.max()))
    return float(penalties[np.flatnonzero(tied)[-1]])


def held_out_shares(root: Node, leaf: Ints, weight: Floats) -> dict[int, float]:
    """Return the share of rows in every node, by its id.

    Parameters
    ----------
    root : Node
    leaf : int array
        The leaf of every row, counted from the left.
    weight : array like ``leaf``
    """
    leaves = root.leaves()
    mass = np.bincount(leaf, weight, len(leaves))
    total = float(mass.sum())
    share = {id(node): float(one) / total for node, one in zip(leaves, mass, strict=True)}
    for node in list(root.inner())[::-1]:
        assert node.children is not None
        share[id(node)] = sum(share[id(child)] for child in node.children)
    return share
