"""Forests of ranking trees, how their trees agree on one ranking, and pruning of single trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec
import numpy as np

from crucial.boosting.stumps import worst_tied
from crucial.errors import DataError
from crucial.kernels.runtime import run_all
from crucial.measures.median_order import kemeny_order
from crucial.model.ranking_trees import RankingTrees
from crucial.model.tree_table import Router, TreeTable
from crucial.rankers.ranking_trees.growth import Node, PairGains, TreeGrower, frozen_tree
from crucial.rankers.ranking_trees.splitters import NodeRows
from crucial.types import Bools, Bytes, Floats, Ints

# --- Bootstraps and folds that depend on what the rows are, and not on their order
#
# Rows are numbered by a hash of their binned features. So the same rows in another order draw the
# same bootstraps, and a row of weight 2 draws like the same row twice.


# Rows are drawn one by one up to this number; so that a weight of 2 draws like two rows.
_MOST_DRAWS = 1 << 24


class ClassSampler:
    """Draws rows class by class.

    Parameters
    ----------
    rows : NodeRows
    classes : uint8 array, one entry per row
        Each class is drawn from separately, and keeps its weight.
    """

    def __init__(self, rows: NodeRows, classes: Bytes) -> None:
        self._n = len(rows.rows)
        self._hash = _hashes(rows)
        self._members: list[Ints] = []
        self._sums: list[Floats] = []
        self._whole: list[bool] = []
        for number in np.unique(classes):
            members = np.flatnonzero(classes == number)
            members = members[np.argsort(self._hash[members], kind="stable")]
            weight = rows.weight[members]
            self._members.append(members)
            self._sums.append(np.cumsum(weight))
            self._whole.append(bool(np.all(weight == np.floor(weight))))

    def bootstrap(self, random: np.random.Generator) -> Floats:
        """Return how often each row is drawn, with replacement.

        As many rows are drawn from a class as it weighs, if weights are whole numbers; else as
        many as it has. The chance of a row is proportional to its weight.
        """
        counts = np.zeros(self._n)
        for members, sums, whole in zip(self._members, self._sums, self._whole, strict=True):
            if whole and sums[-1] > _MOST_DRAWS:
                shares = np.diff(sums, prepend=0.0) / sums[-1]
                counts[members] = random.multinomial(int(sums[-1]), shares)
                continue
            if whole:
                drawn = random.integers(0, int(sums[-1]), int(sums[-1])).astype(np.float64)
            else:
                drawn = random.random(len(members)) * sums[-1]
            at = np.searchsorted(sums, drawn, side="right")
            counts[members] = np.bincount(np.minimum(at, len(members) - 1), minlength=len(members))
        return counts

    def folds(self, n_folds: int, random: np.random.Generator) -> Ints:
        """Return a fold per row; rows that are alike are in the same fold."""
        fold = np.zeros(self._n, np.int64)
        for members in self._members:
            _, which = np.unique(self._hash[members], return_inverse=True)
            order = random.permutation(int(which.max()) + 1)
            fold[members] = order[which] % n_folds
        return fold


def _hashes(rows: NodeRows) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Return 64 random bits per row that depend on its codes alone."""
    bins = rows.bins
    factors = np.random.default_rng(0).integers(0, 2**64, (len(bins.features), 2), np.uint64)
    out = np.zeros(len(rows.rows), np.uint64)
    with np.errstate(over="ignore"):
        for codes, (factor, _) in zip(bins.codes, factors, strict=True):
            out += codes[: len(out)].astype(np.uint64) * (factor | np.uint64(1))
        out ^= out >> np.uint64(31)  # (high bits are mixed better than low ones)
        out *= np.uint64(0x9E3779B97F4A7C15)
    return out


# --- Grow the trees of a forest, each on a bootstrap of its own


#: Grows one tree from the weights of its rows and its random numbers.
GrowTree = Callable[[Floats, np.random.Generator], Node]


def grow_forest(
    rows: NodeRows,
    classes: Bytes,
    growers: Sequence[GrowTree],
    n_trees: int,
    seed: int,
    threads: int,
    bootstrap: bool = True,
) -> list[Node]:
    """Grow trees on bootstraps drawn inside each class.

    Parameters
    ----------
    rows : NodeRows
    classes : uint8 array, one entry per row
        Rows are drawn from each class separately.
    growers : sequence of callables
        In turn, each grows one tree from the weight of every row (0 where it was not drawn) and a
        generator.
    n_trees : int
        Trees per grower.
    seed, threads : int
    bootstrap : bool
        Whether to draw rows at all.
    """
    sampler = ClassSampler(rows, classes) if bootstrap else None

    def grown(tree: int) -> Node:
        random = np.random.default_rng([seed, tree])  # (whatever the number of threads)
        weight = rows.weight if sampler is None else sampler.bootstrap(random)
        root = growers[tree % len(growers)](weight, random)
        root.forget_rows()  # (of fifty trees they would be most of the memory)
        return root

    return run_all(threads, [partial(grown, tree) for tree in range(n_trees * len(growers))])


# --- How the trees of a forest agree on one ranking
#
# The mean of the scores is the ranking with the least squared distance to all trees. The mean rank
# replaces the score of a leaf by the mean rank of its rows. The Kendall median orders the cells,
# rows that share the leaves of all trees, with the least summed Kendall distance to the trees.


_MOST_CELLS = 3000


def agreed(
    rows: NodeRows, roots: list[Node], consensus: str, n_jobs: int | None
) -> tuple[RankingTrees, bool | None]:
    """Return the model of trees by a consensus, and whether a median is proven to be the best."""
    routers: list[Router] = []
    trees = [frozen_tree(root, routers) for root in roots]
    n_features = rows.instances.n_features
    model = RankingTrees(n_features, trees, routers=routers)
    if consensus == "mean":
        return model, None
    leaves = model.leaves(rows.instances.take_rows(rows.rows), n_jobs=n_jobs)
    if consensus == "median":
        return median_of_cells(n_features, trees, leaves, rows.weight)
    ranked = [
        msgspec.structs.replace(
            tree, scores=mean_rank_scores(leaves[:, number], rows.weight, len(tree.scores))
        )
        for number, tree in enumerate(trees)
    ]
    return RankingTrees(n_features, ranked, routers=routers), None


def mean_rank_scores(leaf: Ints, weight: Floats, n_leaves: int) -> tuple[float, ...]:
    """Return the share of all weight below each leaf, half of its own included.

    Parameters
    ----------
    leaf : int array
        The leaf of every row, counted from the left, the best.
    weight : array like ``leaf``
    n_leaves : int

    Examples
    --------
    >>> mean_rank_scores(np.array([0, 1, 1, 1]), np.ones(4), 2)
    (0.875, 0.375)
    """
    mass = np.bincount(leaf, weight, n_leaves)
    below = mass.sum() - np.cumsum(mass)
    return tuple(((below + 0.5 * mass) / mass.sum()).tolist())


def median_of_cells(
    n_features: int, trees: list[TreeTable], leaves: Ints, weight: Floats
) -> tuple[RankingTrees, bool]:
    """Return the model of the Kendall median, and whether no order of the cells is better.

    A pair of cells weighs the product of their weights, once per tree that tells them apart.

    Parameters
    ----------
    n_features : int
    trees : list of TreeTable
    leaves : int array of shape (n_rows, n_trees)
    weight : array of shape (n_rows,)
    """
    cells, which = np.unique(leaves, axis=0, return_inverse=True)
    if len(cells) > _MOST_CELLS:
        raise DataError(
            f"the trees cut the rows into {len(cells)} cells, and the Kendall median orders at "
            f"most {_MOST_CELLS}.",
            remedy="Use consensus='mean', or fewer and smaller trees (n_estimators, max_depth).",
            parameter="consensus",
        )
    mass = np.bincount(which.ravel(), weight, len(cells))
    votes = np.zeros((len(cells), len(cells)))
    for number in range(leaves.shape[1]):
        votes += cells[:, None, number] < cells[None, :, number]
    above = votes * mass[:, None] * mass
    mean = np.zeros(len(cells))
    for number, tree in enumerate(trees):
        mean += np.array(tree.scores)[cells[:, number]]
    order, exact = kemeny_order(above, np.argsort(-mean, kind="stable"))
    ranked = [tuple(cell) for cell in cells[order].tolist()]
    model = RankingTrees(n_features, trees, "median", ranked, mass[order].tolist())
    return model, exact


# --- Cost-complexity pruning of ranking trees (Clemencon, Depecker & Vayatis 2011)
#
# A pruned tree maximises ``value(T) - lambda leaves(T)``, its value being the AUC, the integrated
# AUC or 1 - Kendall distance. As in CART, the trees that do so for some lambda are nested: the
# weakest link, the node whose subtree gains least per leaf, is cut first.


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
