"""The tasks of ranking trees: two classes, tournaments, continuous labels, and RankOver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import factorial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from crucial.boosting.stump_search import NOISE, TIE, worst_tied
from crucial.data.instances import Instances
from crucial.kernels.elementary import dot
from crucial.measures.pairs import threshold_sums, volume_of_counts
from crucial.model.ranking_trees import RankingTrees
from crucial.model.tree_table import Router, TestRow, TreeTable
from crucial.rankers.ranking_trees.forests import (
    ClassSampler,
    best_penalty,
    candidate_penalties,
    held_out_areas,
    held_out_shares,
    pruning_path,
)
from crucial.rankers.ranking_trees.growth import Node, TaskAlgorithm, TwoClassTask
from crucial.rankers.ranking_trees.splitters import (
    NodeCells,
    NodeRows,
    NodeSplit,
    NodeTest,
    Sides,
    Splitter,
)
from crucial.types import Bools, Bytes, Floats, Ints

# --- TreeRank and its pruning by cross-validation, from checked rows to a grown tree


#: Makes the splitter of one tree from its random numbers.
MakeSplitter = Callable[[np.random.Generator], Splitter]


@dataclass(frozen=True)
class TreeRankAlgorithm:
    """Grows trees that tell two classes apart.

    Attributes
    ----------
    rows : NodeRows
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


# --- CRank: split a node by the median of its labels, for continuous labels
#
# How well a tree orders rows, by Kendall's distance or by the integrated AUC, is a sum over the
# pairs of rows that its nodes separate. So each node has a gain, and pruning is that of TreeRank.


def above_median(label: Ints, weight: Floats) -> Bools:
    """Return which rows have a label above the median of all.

    With an even number of rows the median is the mean of the middle two; with an odd one the
    middle row is not above it. If no label is above the median, the highest one counts as above.

    Parameters
    ----------
    label : int array
        Numbers of the labels, never falling.
    weight : array like ``label``
        A row of weight 2 counts as two rows.

    Examples
    --------
    >>> above_median(np.array([0, 1, 2]), np.ones(3)).tolist()
    [False, False, True]
    >>> above_median(np.array([0, 1, 1, 1]), np.ones(4)).tolist()
    [False, True, True, True]
    """
    reached = np.cumsum(weight)
    half = 0.5 * reached[-1] * (1.0 - TIE)  # (rounding does not move the median)
    middle = label[np.searchsorted(reached, half, side="left")]
    above: Bools = label > middle
    return above if above.any() else label >= middle


@dataclass(frozen=True)
class PairGains:
    """What the separated pairs of rows add to a measure: half of right less wrong pairs.

    Attributes
    ----------
    label : int array of shape (n_rows,)
        Numbers of the labels, never falling.
    weight : array of shape (n_rows,)
    below, above : arrays of shape (n_rows,)
        A pair of a row i below j counts ``below[j] - above[i]``.
    total : float
        Sum over all pairs with different labels.
    """

    label: Ints
    weight: Floats
    below: Floats
    above: Floats
    total: float

    @classmethod
    def of(cls, label: Ints, weight: Floats, measure: str) -> PairGains:
        """Make the gains of a measure, "kendall" or "iauc".

        "iauc" weighs a pair by the thresholds between its labels; of two labels, which have
        none, it is "kendall".
        """
        lowest, n = int(label[0]), int(label[-1]) - int(label[0]) + 1
        mass = np.bincount(label - lowest, weight, n).astype(np.float64, copy=False)
        if measure == "iauc":
            starts = np.array([0, n], np.int64)
            sums, each, total = threshold_sums(mass, starts, False)
            if total[0] > 0.0:
                at = label - lowest
                return cls(label, weight, sums[at], (sums + each)[at], float(total[0]))
        lower = np.cumsum(mass) - mass
        return cls(label, weight, np.ones(len(label)), np.zeros(len(label)), dot(mass, lower))

    def between(self, rows: NDArray[np.integer[Any]], left: Bools) -> float:
        """Return the gain of ranking some rows, the left ones, above the others.

        Parameters
        ----------
        rows : int array
            Rows in the order of ``label``.
        left : bool array like ``rows``
        """
        if self.total <= 0.0:
            return 0.0
        label = self.label[rows]
        first = np.flatnonzero(np.append(True, label[1:] != label[:-1]))
        weight, below, above = self.weight[rows], self.below[rows][first], self.above[rows][first]
        right = np.add.reduceat(np.where(left, 0.0, weight), first)
        mine = np.add.reduceat(np.where(left, weight, 0.0), first)

        def lower(values: Floats) -> Floats:
            return np.cumsum(values) - values

        def higher(values: Floats) -> Floats:
            return lower(values[::-1])[::-1]

        won = below * lower(right) - lower(above * right)
        lost = higher(below * right) - above * higher(right)
        return 0.5 * dot(mine, won - lost) / self.total


class MedianTask:
    """Tells rows with labels above the median of a node from the others.

    Parameters
    ----------
    label : int array, one entry per row of the `NodeRows`
        Numbers of the labels, never falling.
    weight : array like ``label``
        Weights in this tree; rows of weight 0 must not be in the root.
    gains : PairGains
        With the same weights.
    """

    def __init__(self, label: Ints, weight: Floats, gains: PairGains) -> None:
        self._label, self._weight, self._gains = label, weight, gains

    def start(self, root: Node) -> Node:
        """Return a root, which has all rows."""
        return root

    def may_split(self, node: Node) -> bool:
        """Return whether a node has different labels."""
        return bool(self._label[node.rows[0]] != self._label[node.rows[-1]])

    def choose(
        self, nodes: list[Node], cells: NodeCells, splitter: Splitter
    ) -> list[tuple[NodeSplit, float] | None]:
        """Return the split and its gain per node of a level; None where it stays a leaf."""
        weight = self._weight[cells.rows]
        good = np.concatenate(
            [above_median(self._label[node.rows], self._weight[node.rows]) for node in nodes]
        )
        splits = splitter.split(Sides(cells, good.astype(np.uint8), weight))
        return [
            None if split is None else (split, self._gains.between(node.rows, split.left))
            for node, split in zip(nodes, splits, strict=True)
        ]

    def divided(self, node: Node) -> None:
        """Nothing is kept of the children."""


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


# --- TreeRank Tournament: of the splits that tell two classes apart, make the best for all classes


def class_pairs(n_classes: int, which: str) -> list[tuple[int, int]]:
    """Return the pairs of classes that compete: "neighbours", or "all" of them.

    Examples
    --------
    >>> class_pairs(3, "all")
    [(0, 1), (0, 2), (1, 2)]
    """
    classes = range(n_classes)
    return list(pairwise(classes) if which == "neighbours" else combinations(classes, 2))


class TournamentTask:
    """Splits a node where the volume under the ROC surface of the whole tree rises most.

    Per node and pair of classes, the splitter finds the split of those two classes with the
    largest TPR - FPR. Of these candidates the one is made after which the tree has the largest
    volume; among equals that of the first pair. A node stays a leaf if none raises it
    (Clemencon, Robbiano & Vayatis 2013). Nodes of a level are split from left to right, each
    seeing the splits made before it.

    Parameters
    ----------
    classes : uint8 array, one entry per row of the `NodeRows`
        0 for the lowest class.
    n_classes : int
    weight : array like ``classes``
        Weights in this tree; rows of weight 0 must not be in the root.
    pairs : list of (int, int)
        Pairs of classes, the lower one first.
    """

    def __init__(
        self, classes: Bytes, n_classes: int, weight: Floats, pairs: list[tuple[int, int]]
    ) -> None:
        self._classes, self._n, self._weight = classes, n_classes, weight
        self._pairs = pairs
        self._mass: dict[int, Floats] = {}
        self.volume = 1.0 / factorial(n_classes)

    def start(self, root: Node) -> Node:
        """Set the classes of a root, which has all rows, and return it."""
        self._root = root
        self._mass = {id(root): self._masses(root)}
        return root

    def _masses(self, node: Node) -> Floats:
        """Return the weight of each class in a node."""
        counts = np.bincount(self._classes[node.rows], self._weight[node.rows], self._n)
        return counts.astype(np.float64, copy=False)

    def may_split(self, node: Node) -> bool:
        """Return whether a node has rows of two classes that compete."""
        mass = self._mass[id(node)]
        return any(mass[low] > 0.0 and mass[high] > 0.0 for low, high in self._pairs)

    def choose(
        self, nodes: list[Node], cells: NodeCells, splitter: Splitter
    ) -> list[tuple[NodeSplit, float] | None]:
        """Return the split and its gain per node of a level; None where it stays a leaf."""
        candidates: list[list[NodeSplit]] = [[] for _ in nodes]
        for pair in self._pairs:
            self._compete(pair, nodes, splitter, candidates)
        leaves = self._root.leaves()
        columns = [self._mass[id(leaf)] for leaf in leaves]
        place = {id(leaf): number for number, leaf in enumerate(leaves)}
        out: list[tuple[NodeSplit, float] | None] = []
        made = 0  # splits of nodes further left, each of which moves the leaves after it
        for node, splits in zip(nodes, candidates, strict=True):
            at = place[id(node)] + made
            sides = [self._divided(node, split) for split in splits]
            volumes = self._volumes(columns, at, sides)
            best = float(volumes.max(initial=0.0))
            if best - self.volume <= NOISE:
                out.append(None)
                continue
            first = int(np.flatnonzero(volumes >= worst_tied(best))[0])
            out.append((splits[first], best - self.volume))
            self.volume = best
            columns[at : at + 1] = sides[first]
            made += 1
        return out

    def _compete(
        self,
        pair: tuple[int, int],
        nodes: list[Node],
        splitter: Splitter,
        candidates: list[list[NodeSplit]],
    ) -> None:
        """Add the best split of two classes to the candidates of every node that has both."""
        mass = [self._mass[id(node)] for node in nodes]
        mixed = [at for at, one in enumerate(mass) if one[pair[0]] > 0.0 and one[pair[1]] > 0.0]
        if not mixed:
            return
        cells = NodeCells.of([nodes[at].rows for at in mixed])
        classes = self._classes[cells.rows]
        good = classes == pair[1]
        weight = np.where(good | (classes == pair[0]), self._weight[cells.rows], 0.0)
        splits = splitter.split(Sides(cells, good.astype(np.uint8), weight))
        for at, split in zip(mixed, splits, strict=True):
            if split is not None:
                candidates[at].append(split)

    def _divided(self, node: Node, split: NodeSplit) -> list[Floats]:
        """Return the weights of the classes in both children of a split."""
        rows = node.rows[split.left]
        left = np.bincount(self._classes[rows], self._weight[rows], self._n)
        rows = node.rows[~split.left]
        right = np.bincount(self._classes[rows], self._weight[rows], self._n)
        return [left.astype(np.float64, copy=False), right.astype(np.float64, copy=False)]

    def _volumes(self, columns: list[Floats], at: int, sides: list[list[Floats]]) -> Floats:
        """Return the volume of the tree after each of several splits of one leaf."""
        if not sides:
            return np.zeros(0)
        counts = np.empty((self._n, len(sides), len(columns) + 1))
        for number, both in enumerate(sides):
            table = np.array([*columns[:at], *both, *columns[at + 1 :]])
            counts[:, number] = table[::-1].T  # (the lowest leaf first)
        return volume_of_counts(counts)

    def divided(self, node: Node) -> None:
        """Count the classes of the children."""
        for child in node.children or ():
            self._mass[id(child)] = self._masses(child)


# --- RankOver: overlay the best sets at several rates of false positives (Clemencon & Vayatis 2010)
#
# For each level a, the set of a class that holds most high rows with at most a share a of the low
# ones; the sets so far are laid over each other, and the score of a row is the number of overlays
# that hold it.


class SetClass(Protocol):
    """Sets of rows, with the shares of low and high rows that each holds.

    Attributes
    ----------
    alpha, beta : arrays of shape (n_sets,)
        In the order of the class.
    """

    alpha: Floats
    beta: Floats

    def test(self, number: int) -> NodeTest:
        """Return the question whether a row is in a set."""

    def holds(self, number: int) -> Bools:
        """Return which training rows a set holds."""


class HalfLines:
    """The sets ``{x_j > t}`` and ``{x_j <= t}``, with and without abstentions.

    In the order of features, thresholds, above before below, and without abstentions first.

    Parameters
    ----------
    rows : NodeRows
    good : uint8 array, one entry per row
        1 for a high row.
    """

    def __init__(self, rows: NodeRows, good: Bytes) -> None:
        self._rows = rows
        bins, n = rows.bins, len(rows.rows)
        high = good == 1
        shares: list[list[Floats]] = [[], []]
        places: list[Ints] = []
        for slot, bin_count in enumerate(bins.n_bins.tolist()):
            codes = bins.codes[slot, :n]
            for side, inside in enumerate((~high, high)):
                mass = np.bincount(codes[inside], rows.weight[inside], bin_count + 1)
                total = float(mass.sum())
                up, absent = np.cumsum(mass[:bin_count][::-1])[::-1], float(mass[bin_count])
                down = total - absent - up
                table = np.stack([up, up + absent, down, down + absent], axis=1) / total
                table[0, 1:3] = 0.0  # (everything and nothing are no half-lines)
                if not bins.has_missing[slot]:
                    table[0] = 0.0
                shares[side].append(table.ravel())
            kinds = np.arange(4 * bin_count)
            places.append(np.stack([np.full_like(kinds, slot), kinds // 4, kinds % 4], axis=1))
        self.alpha = np.concatenate([np.zeros(0), *shares[0]])
        self.beta = np.concatenate([np.zeros(0), *shares[1]])
        self._places = np.concatenate([np.zeros((0, 3), np.int64), *places])

    def test(self, number: int) -> NodeTest:
        """Return the question whether a row is in a set."""
        slot, place, kind = self._places[number].tolist()
        bins = self._rows.bins
        threshold = float(bins.thresholds[slot][place - 1]) if place else -np.inf
        ends = (NodeTest.LEFT, NodeTest.RIGHT)
        yes, no = ends if kind < 2 else ends[::-1]
        missing = kind in (1, 2)  # (above with abstentions, or the rest of below without)
        return NodeTest(int(bins.features[slot]), threshold, missing, yes, no, 1.0)

    def holds(self, number: int) -> Bools:
        """Return which training rows a set holds."""
        slot, place, kind = self._places[number].tolist()
        bins = self._rows.bins
        codes = bins.codes[slot, : len(self._rows.rows)]
        inside: Bools = (codes >= place) == (kind < 2)
        absent = codes == bins.n_bins[slot]
        return np.where(absent, kind % 2 == 1, inside)


@dataclass(frozen=True)
class ScoreAbove:
    """Asks whether the score of a row is above a threshold."""

    score: Callable[[Any], Floats]
    threshold: float

    def goes_left(self, instances: Instances, rows: Ints) -> Bools:
        """Return the answer for some rows."""
        table = instances.table.tocsr()[rows] if instances.is_sparse else instances.table[rows]
        above: Bools = np.asarray(self.score(table), np.float64) > self.threshold
        return above


class LevelSets:
    """The sets of all rows with a score above a threshold, the smallest set first.

    Parameters
    ----------
    rows : NodeRows
    good : uint8 array, one entry per row
    score : callable
        Returns the scores of a table.
    """

    def __init__(self, rows: NodeRows, good: Bytes, score: Callable[[Any], Floats]) -> None:
        self._score = score
        table = rows.instances.take_rows(rows.rows).table
        table = table.tocsr() if rows.instances.is_sparse else table
        self._scores = np.asarray(score(table), np.float64).ravel()
        values, code = np.unique(-self._scores, return_inverse=True)
        self.alpha, self.beta = (
            np.cumsum(np.bincount(code[good == side], rows.weight[good == side], len(values)))
            / rows.weight[good == side].sum()
            for side in (0, 1)
        )
        lower = np.append(-values[1:], -np.inf)
        self._thresholds = np.where(np.isfinite(lower), (lower - values) / 2, -np.inf)

    def test(self, number: int) -> NodeTest:
        """Return the question whether a row is in a set."""
        threshold = float(self._thresholds[number])
        return NodeTest.outside(ScoreAbove(self._score, threshold))

    def holds(self, number: int) -> Bools:
        """Return which training rows a set holds."""
        inside: Bools = self._scores > self._thresholds[number]
        return inside


def _best_set(sets: SetClass, level: float) -> int | None:
    """Return the set with the largest beta under alpha <= level; None if there is none.

    Ties go to the smaller alpha, then to the first set.
    """
    fits = np.flatnonzero((sets.alpha <= level + TIE) & (sets.beta > 0.0))
    if not len(fits):
        return None
    tied = fits[sets.beta[fits] >= worst_tied(float(sets.beta[fits].max()))]
    least = float(sets.alpha[tied].min())
    return int(tied[sets.alpha[tied] <= least + TIE][0])


def adaptive_levels(sets: SetClass, tolerance: float, max_depth: int) -> Floats:
    """Return levels that are dense where the best sets gain most.

    The interval from 0 to 1 is halved. Each half is halved again if beta at the middle is more
    than ``tolerance`` above the mean of beta at both ends of the interval.

    Parameters
    ----------
    sets : SetClass
    tolerance : float
    max_depth : int
        How often an interval is halved at most.
    """

    def beta(level: float) -> float:
        number = _best_set(sets, level)
        return 0.0 if number is None else float(sets.beta[number])

    levels = [0.0, 1.0]
    waiting = [(0.0, 1.0, 1)]
    while waiting:
        left, right, depth = waiting.pop()
        middle = (left + right) / 2
        levels.append(middle)
        rise = beta(middle) - (beta(left) + beta(right)) / 2
        if rise > tolerance and depth < max_depth:
            waiting += [(left, middle, depth + 1), (middle, right, depth + 1)]
    return np.array(sorted(levels))


@dataclass(frozen=True)
class Overlay:
    """The sets of RankOver.

    Attributes
    ----------
    levels : array of shape (n_levels,)
    numbers : tuple of int or None
        The set of each level; None where no set is small enough.
    """

    levels: Floats
    numbers: tuple[int | None, ...]


def overlay(sets: SetClass, levels: Floats) -> Overlay:
    """Find the best set of every level."""
    return Overlay(levels, tuple(_best_set(sets, level) for level in levels.tolist()))


def overlay_table(
    sets: SetClass, found: Overlay, good: Bytes, weight: Floats, routers: list[Router]
) -> TreeTable:
    """Return the overlays as a chain of tests: the first set that holds a row gives its score."""
    chain: list[tuple[int, int]] = []  # a set that was not there before, and its score
    for place, number in enumerate(found.numbers):
        if number is not None and all(number != known for known, _ in chain):
            chain.append((number, len(found.numbers) - place))
    high = np.where(good == 1, weight, 0.0) / weight[good == 1].sum()
    low = np.where(good == 1, 0.0, weight) / weight[good == 0].sum()
    rest = np.ones(len(good), bool)
    rows: list[TestRow] = []
    for place, (number, _) in enumerate(chain):
        test = sets.test(number)
        inside = rest & sets.holds(number)
        gain = 0.5 * float(
            low[rest].sum() * high[inside].sum() - high[rest].sum() * low[inside].sum()
        )
        rest &= ~inside
        last = place + 1 == len(chain)
        ends = {NodeTest.LEFT: ~place, NodeTest.RIGHT: ~(place + 1) if last else place + 1}
        threshold = test.threshold
        if test.router is not None:
            threshold = float(len(routers))
            routers.append(test.router)
        yes, no = ends[test.yes], ends[test.no]
        rows.append((place, test.feature, threshold, test.missing, yes, no, max(gain, 0.0)))
    return TreeTable.of(rows, [*(score for _, score in chain), 0])
