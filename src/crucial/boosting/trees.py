"""Trees as weak learners, grown on the potentials and the curvature of an objective."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol, cast

import numpy as np
from msgspec.structs import replace as replaced
from numpy.typing import NDArray

from crucial.boosting.parts import Candidate, Constraints, StepRule, TrainingRows, WeakLearner
from crucial.boosting.tree_growth import GrownTree, PairLimit, TreeLimits, grow_tree
from crucial.data.bins import Bins
from crucial.feedback.base import Output, Potentials, ScoreState
from crucial.kernels.elementary import log2
from crucial.kernels.sums import QueryNoise, exact_dot, exact_sum
from crucial.kernels.trees import SplitSearch, summable
from crucial.model.weak import Tree, WeakRankerLike
from crucial.types import Floats, Ints

# --- Which rows a tree is grown on, if it sees a share of them


# Keeps these numbers apart from those of losses that add noise under the same seed.
_OWN = 20047 << 32


class RowDraws:
    """One random number per row and round, by which rows are drawn.

    It depends on the seed, the round, the number of the query and the place of the row in it
    alone: rows in parts of whole queries get the numbers that they have in one table.

    Parameters
    ----------
    query : int array over the rows
        Number of the query of every row; at least one row.
    seed : int
    threads : int

    Examples
    --------
    >>> draws = RowDraws(np.array([3, 3, 8]), 0, 1)
    >>> bool(draws.uniforms(5)[2] == RowDraws(np.array([8, 9]), 0, 1).uniforms(5)[0])
    True
    """

    def __init__(self, query: Ints, seed: int, threads: int) -> None:
        self._order: Ints | None = None
        if np.any(query[1:] < query[:-1]):
            self._order = np.argsort(query, kind="stable")
            query = query[self._order]
        starts = np.flatnonzero(np.concatenate(([True], query[1:] != query[:-1])))
        row_start = np.append(starts, len(query))
        self._noise = QueryNoise(seed + _OWN, query[starts], row_start, threads)

    def uniforms(self, number: int) -> Floats:
        """Return the number in [0, 1) of every row in a round."""
        found = self._noise.uniforms(number)
        if self._order is None:
            return found
        out = np.empty_like(found)
        out[self._order] = found
        return out


def drawn_rows(uniforms: Floats, share: float, least: float | None = None) -> NDArray[np.int32]:
    """Return the rows whose number is below a share.

    Parameters
    ----------
    least : float, optional
        The smallest number of all rows, which are drawn where none is below the share.

    Examples
    --------
    >>> drawn_rows(np.array([0.4, 0.2, 0.9]), 0.5).tolist()
    [0, 1]
    >>> drawn_rows(np.array([0.4, 0.2, 0.9]), 0.1, least=0.2).tolist()
    [1]
    """
    found = np.flatnonzero(uniforms < share)
    if not len(found) and least is not None:
        found = np.flatnonzero(uniforms <= least)
    return found.astype(np.int32)


# --- Trees as weak rankers, grown on the potentials and the curvature of an objective
#
# A tree ``h`` minimises the quadratic model ``sum_x .5 c(x) h(x)^2 - pi(x) h(x)`` of the loss
# greedily: the value of a leaf is a Newton step, ``sum pi / (sum c + l2)``. A tree of two leaves is
# the Newton form of a stump.


# The values of leaves are whole multiples of this share of the largest value of the first tree,
# rounded to a power of two: sums of up to 2^16 such values are exact in float64, in any order.
_GRID = 2.0**-36


def grid_unit(values: Floats) -> float:
    """Return the distance of two numbers of the grid, for a first tree of these values.

    Examples
    --------
    >>> grid_unit(np.array([0.5, -3.0])) == 4.0 * 2.0**-36
    True
    """
    return _GRID * 2.0 ** math.ceil(log2(float(np.abs(values).max())))


def scaled(tree: Tree, factor: float, unit: float) -> Tree:
    """Return a tree with its values multiplied by a factor and rounded to a grid."""
    values = np.rint(factor * np.array(tree.values) / unit) * unit
    return replaced(tree, values=tuple(values.tolist()))


class _CurvedState(ScoreState, Protocol):
    """A state whose loss has a second derivative by the score of each row."""

    @property
    def curvature(self) -> Floats:
        """Second derivative by the score of each row, in the units of the potentials."""


@dataclass(frozen=True)
class Sampling:
    """What a tree sees of the data.

    Attributes
    ----------
    rows, features : float
        Share of the rows and of the features, drawn anew for every tree. Each row is drawn for
        itself, so that the number of rows varies.
    seed : int
    """

    rows: float = 1.0
    features: float = 1.0
    seed: int = 0


class TreeLearner(WeakLearner):
    """The best tree under the current potentials and curvature.

    Parameters
    ----------
    limits : TreeLimits
    max_bins : int
        Bins per feature, at most 255.
    sampling : Sampling
    pairs : set of (int, int), optional
        Pairs of columns that a tree may combine; by default any.
    drawn_by : int, optional
        Seed to draw thresholds at random; None for quantiles.
    """

    needs = ("curvature",)

    parted = "trees"

    def __init__(
        self,
        limits: TreeLimits | None = None,
        max_bins: int = 255,
        sampling: Sampling | None = None,
        pairs: set[tuple[int, int]] | None = None,
        drawn_by: int | None = None,
    ) -> None:
        self.limits, self.max_bins, self.drawn_by = limits or TreeLimits(), max_bins, drawn_by
        self.sampling, self.pairs = sampling or Sampling(), pairs

    def prepare(self, training: TrainingRows, constraints: Constraints, step: StepRule) -> Bins:
        """Bin the features."""
        bins = self.bins = training.binned(self.max_bins, self.drawn_by)
        self._signs = np.zeros(len(bins.features), np.int64)
        if constraints.monotone is not None:
            self._signs = constraints.monotone[bins.features].astype(np.int64)
        weight = np.ones(bins.n_rows) if training.weight is None else training.weight
        self._search = self._splits(bins, summable(weight, exact_sum(weight)), training.threads)
        self._pairs = PairLimit(self._slots(self.pairs))
        self._row_draws: RowDraws | None = None
        if self.sampling.rows < 1.0 and bins.n_rows:
            query = training.groups.codes[training.rows]
            self._row_draws = RowDraws(query, self.sampling.seed, training.threads)
        self._round = 0
        self._unit = 0.0
        return bins

    def _splits(self, bins: Bins, weight: Floats, threads: int) -> SplitSearch:
        """Return what finds the splits of rows of these weights."""
        facts = (bins.n_bins, bins.has_missing, self._signs)
        return SplitSearch(bins.codes, bins.n_rows, *facts, weight, threads)

    def _slots(self, pairs: set[tuple[int, int]] | None) -> set[tuple[int, int]] | None:
        """Return pairs of columns as pairs of binned features."""
        if pairs is None:
            return None
        slot = {int(column): f for f, column in enumerate(self.bins.features)}
        return {(slot[a], slot[b]) for a, b in pairs if a in slot and b in slot}

    def propose(self, potentials: Potentials) -> Candidate | None:
        """Return the best tree, or None if no split helps."""
        n = self.bins.n_rows
        if not len(self.bins.features):
            return None
        rows, free = self._drawn()
        curvature = cast(_CurvedState, potentials.pairs).curvature[:n]
        grown = grow_tree(
            self._search, potentials.pi[:n], curvature, rows, self.limits, free, self._signs,
            self._pairs,
        )  # fmt: skip
        if grown is None:
            return None
        tree = self._frozen(grown)
        output, slope = self._outcome(tree, grown, potentials)
        return Candidate(tree, output, slope * potentials.scale)

    def _outcome(
        self, tree: Tree, grown: GrownTree, potentials: Potentials
    ) -> tuple[Output, float]:
        """Return the scores of a tree on the training rows, and their sum times potentials."""
        if len(grown.rows) < self.bins.n_rows:
            output = self._output(tree)
            return output, exact_dot(potentials.pi[: self.bins.n_rows], output)
        values = np.array(grown.values)
        return self._search.outputs(grown.starts, values), exact_dot(values, grown.gradients)

    def _drawn(self) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Return the rows and features of the next tree; rows of weight 0 never count."""
        n_features = len(self.bins.features)
        free = np.ones(n_features, bool)
        if self.sampling.features < 1.0:
            random = np.random.default_rng([self.sampling.seed, self._round])
            count = max(1, round(self.sampling.features * n_features))
            free[random.permutation(n_features)[count:]] = False
        return self._drawn_rows(self._row_share()), free

    def _row_share(self) -> float:
        """Return the share of the rows that the next tree is grown on."""
        return self.sampling.rows

    def _drawn_rows(self, share: float) -> NDArray[np.int32]:
        """Draw a share of the rows, at least one."""
        if share >= 1.0 or self._row_draws is None:
            return np.arange(self.bins.n_rows, dtype=np.int32)
        uniforms = self._row_draws.uniforms(self._round)
        return drawn_rows(uniforms, share, float(uniforms.min()))

    def _frozen(self, grown: GrownTree) -> Tree:
        """Return a grown tree as it goes into a model."""
        thresholds: list[float | None] = []
        missing = []
        for feature, place, heavier in zip(grown.feature, grown.place, grown.heavier, strict=True):
            k, cuts = place // 2, self.bins.thresholds[feature]
            thresholds.append(float(cuts[k - 1]) if k <= len(cuts) else None)
            # Where training had no abstention, it goes the way of most rows.
            missing.append(place % 2 if self.bins.has_missing[feature] else int(heavier))
        return Tree(
            tuple(int(self.bins.features[f]) for f in grown.feature),
            tuple(thresholds),
            tuple(missing),
            tuple(grown.left),
            tuple(grown.right),
            tuple(grown.gain),
            tuple(grown.values),
        )

    def apply_weight(self, candidate: Candidate, alpha: float) -> tuple[Candidate, float]:
        """Multiply the values of the leaves by the weight, and round them to a common grid.

        On the grid the sums of values are exact, so that an ensemble has the same scores to the
        bit in every form: trees, tables of features, and what exports make of them.
        """
        tree = candidate.ranker
        assert isinstance(tree, Tree)
        if self._unit == 0.0:
            self._unit = grid_unit(alpha * np.array(tree.values))
            # (the grid that a later call finds from the rounded values)
            self._unit = grid_unit(np.array(scaled(tree, alpha, self._unit).values))
        folded = scaled(tree, alpha, self._unit)
        return replace(candidate, ranker=folded, output=self._moved(candidate, folded, alpha)), 1.0

    def _moved(self, candidate: Candidate, folded: Tree, alpha: float) -> Output:
        """Return the scores of a folded tree, by those that the candidate had before."""
        moved = alpha * candidate.output
        moved /= self._unit
        np.rint(moved, out=moved)
        moved *= self._unit
        return moved

    def _output(self, tree: Tree) -> Output:
        """Return the scores of a tree on the training rows."""
        return tree_output(self.bins, tree)

    def accept(self, candidate: Candidate, alpha: float) -> None:
        """Count the round, for the next draw."""
        self._round += 1

    def restore(self, ranker: WeakRankerLike, slope: float) -> Candidate:
        """Return the candidate that a tree of an earlier call was."""
        assert isinstance(ranker, Tree)
        if self._unit == 0.0:
            self._unit = grid_unit(np.array(ranker.values))
        return Candidate(ranker, self._output(ranker), slope)


def tree_output(bins: Bins, tree: Tree) -> Floats:
    """Return the scores of a tree on binned rows, by their codes."""
    place = {int(column): f for f, column in enumerate(bins.features)}
    out = np.zeros(bins.n_rows)
    waiting = {0: np.arange(bins.n_rows)}
    for node, (column, threshold) in enumerate(zip(tree.features, tree.thresholds, strict=True)):
        f, rows = place[column], waiting.pop(node)
        cuts, codes = bins.thresholds[f], bins.codes[f, rows]
        k = len(cuts) + 1 if threshold is None else np.searchsorted(cuts, threshold) + 1
        right = codes >= k
        if bins.has_missing[f]:
            right = np.where(codes == len(cuts) + 1, bool(tree.missing[node]), right)
        for child, part in ((tree.left[node], rows[~right]), (tree.right[node], rows[right])):
            if child < 0:
                out[part] = tree.values[~child]
            else:
                waiting[child] = part
    return out


# --- Trees whose values span one unit, for step rules that choose the weight


class UnitTreeLearner(TreeLearner):
    """Trees divided by what their values span, so that no pair gains a margin above 1.

    Such a tree is a weak ranker in [0, 1] but for a shift, which no pair sees: methods 1 and 3 of
    Freund et al. (2003, section 3.2) give it a weight with their guarantees, and its slope r lies
    in [-1, 1].

    Parameters
    ----------
    limits, max_bins, sampling
        As in `crucial.boosting.trees.TreeLearner`.
    votes : bool
        Divide by the largest absolute value instead: a vote in [-1, 1] on every row, for
        classification.
    drawn_by : int, optional
        Seed to draw thresholds at random; None for quantiles.
    """

    parted = "unit trees"

    def __init__(
        self,
        limits: TreeLimits | None = None,
        max_bins: int = 255,
        sampling: Sampling | None = None,
        votes: bool = False,
        drawn_by: int | None = None,
    ) -> None:
        super().__init__(limits, max_bins, sampling, drawn_by=drawn_by)
        self.votes, self._sampled = votes, True

    def _row_share(self) -> float:
        return super()._row_share() if self._sampled else 1.0

    def propose(self, potentials: Potentials) -> Candidate | None:
        """Return the best tree, divided by its unit; None if no split helps."""
        found = super().propose(potentials)
        if found is not None and not found.slope > 0.0:
            # Grown on a sample, it may order all rows backwards: a weight below 0 would turn it
            # round, and break monotone constraints.
            self._sampled = False
            found = super().propose(potentials)
            self._sampled = True
        if found is None or not found.slope > 0.0:
            return None
        tree = found.ranker
        assert isinstance(tree, Tree)
        unit = tree.size if self.votes else tree.span
        values = tuple((np.array(tree.values) / unit).tolist())
        divided = replaced(tree, values=values)
        output = self._divided(found, divided, unit)
        return replace(found, ranker=divided, output=output, slope=found.slope / unit)

    def _divided(self, found: Candidate, divided: Tree, unit: float) -> Output:
        """Return the scores of a divided tree, by those that the candidate had before."""
        return found.output / unit
