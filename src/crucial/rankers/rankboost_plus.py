"""RankBoost+ (Connamacher, Pancha, Liu & Ray 2019): boosting on E2, which counts ties half.

First which weak ranker it takes next: candidates, pair weights under E2, both searches.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from crucial.boosting.loop import Ensemble, Round
from crucial.boosting.steps import half_log_ratio, newton_root
from crucial.boosting.stumps import NOISE, StumpGrid, first_best_of, worst_tied
from crucial.data.arrays import check_room, free_memory
from crucial.data.bins import Bins
from crucial.data.instances import Instances
from crucial.errors import DataError
from crucial.feedback.base import Feedback, Output, risks_of, smoothing_of
from crucial.kernels.elementary import (
    dot,
    exp,
    log,
    log1p,
    matrix_product,
    row_products,
    row_sums,
    tanh,
)
from crucial.kernels.pairs import PlusSums, stump_sums
from crucial.kernels.runtime import one_blas_thread
from crucial.model.weak import Presence, ScaledFeature, Stump, WeakRankerLike
from crucial.parameters import at_least, fixed, none_or, one_of, parameter, with_parameters
from crucial.rankers.base import MAX_BINS
from crucial.rankers.rankboost import DEFAULT_RANK, THRESHOLDS, BoostedRanker
from crucial.rankers.resampling import LoopInput
from crucial.types import Bools, Bytes, Floats, Ints

# --- The {0, 1} weak rankers that RankBoost+ chooses from, each direction once


class Candidates:
    """Stumps over binned features, or columns of 0 and 1.

    Candidates are numbered as in `StumpGrid`.

    Parameters
    ----------
    bins : Bins
    component : int array of shape (n_rows,)
        Connected component of every row in the comparison graph.
    default_rank : {"learned", 0, 1}
    columns : bool
        Take features as weak rankers already, instead of stumps on them.
    kernels : PlusSums

    Attributes
    ----------
    distinct : bool array
        The candidates that differ, as vectors over pairs, from 0, from all before them and
        from the opposite of those: weights have either sign, so an opposite is the same
        direction.
    """

    def __init__(
        self,
        bins: Bins,
        component: NDArray[np.integer],
        default_rank: str | int,
        columns: bool,
        kernels: PlusSums,
    ) -> None:
        self.grid = StumpGrid(bins, default_rank)
        self.bins, self.first, self.kernels = bins, self.grid.first, kernels
        self._columns = columns
        self._last = -1, np.zeros(0, np.uint8)
        self.distinct = self._offers()
        self._drop_repeated(component)

    @property
    def n_rows(self) -> int:
        """Rows that candidates score."""
        return self.bins.n_rows

    def _offers(self) -> Bools:
        """Return the candidates that are not constant and have the right default."""
        offered = self.grid.offered().T
        if self._columns:
            n_bins = np.diff(self.first) - 1
            of_ones = self.first[:-1][n_bins == 2] + 1
            columns = np.zeros_like(offered)
            columns[of_ones] = offered[of_ones]
            return columns.ravel()
        return offered.ravel()

    def _drop_repeated(self, component: NDArray[np.integer]) -> None:
        """Keep one candidate of each direction.

        One random number per row, summing to 0 in every component, makes ``sum_x h(x) z(x)`` a
        hash that is 0 for what is constant in each component, the same for rankers that
        differ by such constants, and of opposite sign for opposites. Two of 64 bits each
        leave one chance in 1e30 that different candidates agree, and all of them cost no
        more than two scans of the codes.
        """
        random = np.random.default_rng(20190812)
        one_row = np.zeros(int(component.max(initial=-1)) + 1, np.int64)
        one_row[component] = np.arange(len(component))
        keys = []
        for _ in range(2):
            z = random.integers(0, 2**64, self.n_rows, np.uint64, endpoint=False)
            sums = np.zeros(len(one_row), np.uint64)
            np.add.at(sums, component, z)
            z[one_row] -= sums
            keys.append(self._hashes(z))
        turned = np.uint64(0) - keys[0]
        flip = (turned < keys[0]) | ((turned == keys[0]) & (np.uint64(0) - keys[1] < keys[1]))
        one = np.where(flip, turned, keys[0])
        two = np.where(flip, np.uint64(0) - keys[1], keys[1])
        self.distinct &= (one != 0) | (two != 0)
        left = np.flatnonzero(self.distinct)
        order = left[np.lexsort((two[left], one[left]))]  # (stable: the first stays first)
        same = (one[order][1:] == one[order][:-1]) & (two[order][1:] == two[order][:-1])
        self.distinct[order[1:][same]] = False

    def _hashes(self, z: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return ``sum_x h(x) z(x)`` modulo 2^64 of every candidate."""
        hist = np.zeros(int(self.first[-1]), np.uint64)
        n = self.n_rows
        for f, a in enumerate(self.first[:-1].tolist()):
            np.add.at(hist[a:], self.bins.codes[f, :n], z)
        after = np.concatenate((np.cumsum(hist[::-1])[::-1], np.zeros(1, np.uint64)))
        last = self.first[1:] - 1  # abstentions
        widths = np.diff(self.first)
        ranked = after[:-1] - np.repeat(after[last], widths)
        ranked[last] = 0
        return np.stack((ranked, ranked + np.repeat(hist[last], widths)), axis=1).ravel()

    # -- one candidate ------------------------------------------------------------

    def output(self, number: int) -> Bytes:
        """Return the scores of a candidate on the rows; the last one is kept."""
        if number != self._last[0]:
            self._last = number, self.grid.output(*divmod(number, 2))
        return self._last[1]

    def outputs(self, numbers: NDArray[np.integer]) -> Bytes:
        """Return the scores of several candidates, one row each."""
        return np.stack([self.grid.output(*divmod(n, 2)) for n in numbers.tolist()])

    def ranker(self, number: int) -> Stump | Presence | ScaledFeature:
        """Return a candidate as it goes into a model."""
        position, default = divmod(number, 2)
        if not self._columns:
            return self.grid.ranker(position, default)
        feature, _ = self.grid.where(position)
        shown = float(self.grid.shown_default(feature, default))
        return ScaledFeature(int(self.bins.features[feature]), 0.0, 1.0, shown)

    def row_patterns(self, component: NDArray[np.integer]) -> int:
        """Return the number of rows that some candidate, or their component, distinguishes."""
        table = self.bins.codes[:, : self.n_rows].T
        owner = component.astype(np.int64).view(np.uint8).reshape(self.n_rows, 8)
        rows = np.concatenate((owner, np.ascontiguousarray(table).view(np.uint8)), axis=1)
        return len(np.unique(np.ascontiguousarray(rows).view(f"V{rows.shape[1]}")))


class Offer:
    """Candidates on offer, and the best of them.

    Attributes
    ----------
    sums : array over all candidates
        ``sum_x h(x) v(x)`` of those on offer, as last computed; 0 for the others.
    """

    def __init__(self, candidates: Candidates, offered: Bools) -> None:
        self._candidates, self.offered = candidates, offered.copy()
        self.sums = np.zeros(len(offered))
        first = candidates.first
        self._peak = np.zeros(len(first) - 1)
        some = np.add.reduceat(offered, 2 * first[:-1]) if len(first) > 1 else np.zeros(0)
        self._features = np.flatnonzero(some).astype(np.int64)

    def withdraw(self, number: int) -> None:
        """Take a candidate off the offer."""
        self.offered[number] = False
        self.sums[number] = 0.0

    def renew(self, values: Floats) -> None:
        """Compute the sums for other values; with potentials, they are ``W+ - W-``."""
        c = self._candidates
        out = (self.offered, self.sums, self._peak)
        c.kernels.stump_sums(c.bins.codes, c.n_rows, c.first, self._features, values, *out)

    def best(self) -> tuple[int, float] | None:
        """Return the number and sum of the largest in magnitude, by the tie rule."""
        top = float(self._peak[self._features].max(initial=0.0))
        if not top > NOISE:
            return None
        first = 2 * self._candidates.first
        close = self._features[self._peak[self._features] >= worst_tied(top)].tolist()
        parts = [self.sums[first[f] : first[f + 1]] for f in close]
        found = first_best_of([(np.abs(part), part) for part in parts], top)
        assert found is not None  # (top is above the noise)
        part, at = found
        return int(first[close[part]]) + at, float(parts[part][at])


def check_columns(instances: Instances, rows: NDArray[np.integer]) -> None:
    """Refuse columns that are not weak rankers of 0 and 1."""
    for feature in range(instances.n_features):
        values: NDArray[Any] = instances.column(feature, rows)
        wrong = ~((values == 0) | (values == 1) | np.isnan(values))
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            raise DataError(
                "RankBoost+ needs weak rankers of 0 and 1 (NaN where they abstain). Column "
                f"{instances.name(feature)} is {values[at]:g} in row {int(rows[at])}; use "
                "weak='stump' to have thresholds learned."
            )


# --- Which weak rankers are linear combinations of others, seen from the pairs
#
# To a pair (lo, hi) a weak ranker is the number ``h(hi) - h(lo)``, so rankers are vectors
# over pairs (Connamacher et al. 2019, section 4). With B the incidence matrix of the pairs,
# ``B h`` is in the span of ``B S`` exactly where ``h - S beta`` is constant on every connected
# component of the comparison graph. So h is centred in each component and tested in as many
# dimensions as there are rows, however many pairs there are.


# A ranker is independent if this share of it, or more, lies outside the span. It is the
# square root of the machine's precision: members so close to dependence make coefficients
# of up to 1 / TOLERANCE, with which rounding (2e-16) still stays below TOLERANCE.
TOLERANCE = 1e-7


class Span:
    """A growing set of independent weak rankers, as an orthonormal basis: S = Q R.

    Parameters
    ----------
    component : int array of shape (n_rows,)
        Connected component of every row, from 0.

    Examples
    --------
    >>> span = Span(np.array([0, 0, 0]))
    >>> span.add(np.array([1, 0, 0])), span.add(np.array([0, 1, 0]))
    (True, True)
    >>> span.add(np.array([0, 0, 1]))  # minus the sum of both, but for a constant
    False
    >>> span.coordinates(np.array([[0, 0, 1]]))[1].round(9).tolist()
    [[-1.0, -1.0]]
    """

    def __init__(self, component: NDArray[np.integer]) -> None:
        self._component = component
        self._sizes = np.bincount(component).astype(np.float64)
        n = len(component)
        # Q by column, so that one more is a row at the end.
        self._basis = np.zeros((8, n))
        self._triangle = np.zeros((8, 8))
        self.size = 0

    @property
    def largest(self) -> int:
        """Largest size of a set of independent rankers: rows minus components."""
        return len(self._component) - len(self._sizes)

    @property
    def newest(self) -> Floats:
        """Unit vector that the last member added."""
        return np.asarray(self._basis[self.size - 1])

    def centred(self, outputs: Output) -> Floats:
        """Return every row of ``outputs`` minus its mean in each component."""
        if len(self._sizes) == 1:
            return np.asarray(outputs - outputs.mean(axis=1, keepdims=True, dtype=np.float64))
        centred = outputs.astype(np.float64)
        for row in centred:
            row -= (np.bincount(self._component, row) / self._sizes)[self._component]
        return centred

    def _split(self, centred: Floats) -> tuple[Floats, Floats]:
        """Return coefficients on the basis and the rest; done twice, to stay orthogonal."""
        basis = self._basis[: self.size]
        inside = row_products(centred, basis)
        rest = centred - matrix_product(inside, basis)
        again = row_products(rest, basis)
        return inside + again, rest - matrix_product(again, basis)

    def outside(self, outputs: Output) -> Bools:
        """Return which rows of ``outputs`` are independent of the members."""
        centred = self.centred(outputs)
        if self.size == self.largest:
            return np.zeros(len(outputs), bool)
        rest = self._split(centred)[1]
        return _norm(rest) > TOLERANCE * _norm(centred)

    def add(self, output: Output) -> bool:
        """Make a ranker a member, if it is independent; return whether it is."""
        if self.size == self.largest:
            return False
        centred = self.centred(output[None, :])
        inside, rest = self._split(centred)
        left = float(_norm(rest)[0])
        if not left > TOLERANCE * float(_norm(centred)[0]):
            return False
        if self.size == len(self._basis):
            more = min(2 * self.size, max(self.largest, self.size + 1)) - self.size
            self._basis = np.pad(self._basis, ((0, more), (0, 0)))
            self._triangle = np.pad(self._triangle, (0, more))
        self._basis[self.size] = rest[0] / left
        self._triangle[: self.size, self.size] = inside[0]
        self._triangle[self.size, self.size] = left
        self.size += 1
        return True

    def coordinates(self, outputs: Output) -> tuple[Bools, Floats]:
        """Return which rows of ``outputs`` are in the span, and their beta: ``B h = B S beta``.

        Returns
        -------
        dependent : bool array of shape (n_outputs,)
        beta : array of shape (n_outputs, size)
            Over the members in the order they came; meaningless where independent.
        """
        centred = self.centred(outputs)
        inside, rest = self._split(centred)
        dependent = ~(_norm(rest) > TOLERANCE * _norm(centred))
        if not self.size:
            return dependent, np.zeros((len(outputs), 0))
        triangle = self._triangle[: self.size, : self.size]
        # Back substitution: the last member first.
        left, beta = inside.T.copy(), np.zeros((self.size, len(outputs)))
        for k in range(self.size - 1, -1, -1):
            beta[k] = left[k] / triangle[k, k]
            left[:k] -= triangle[:k, k, None] * beta[k]
        return dependent, beta.T


def _norm(rows: Floats) -> Floats:
    return np.asarray(np.sqrt((rows * rows).sum(axis=1)))


# --- The pairs of a problem, listed for RankBoost+: by winner, in blocks, within memory


# Two row numbers, the weight given and the two that are learned, and what finding the
# connected components takes for a moment.
BYTES_PER_PAIR = 40
# Pairs that are made at a time.
_PAIR_BLOCK = 1 << 19


@dataclass(frozen=True)
class PairList:
    """Pairs of rows, sorted by winner.

    Attributes
    ----------
    start : int64 array of shape (n_rows + 1,)
        The pairs that row x should win are ``start[x]:start[x + 1]``.
    high, low : int32 arrays of shape (n_pairs,)
        Winner and loser.
    weight : array of shape (n_pairs,)
        Sums to 1.
    component : int array of shape (n_rows,)
        Number of the row's connected component of the comparison graph.
    """

    start: Ints
    high: NDArray[np.int32]
    low: NDArray[np.int32]
    weight: Floats
    component: NDArray[np.int32]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.start) - 1

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return len(self.weight)


def list_pairs(feedback: Feedback, max_pairs: int | None, seed: int) -> PairList:
    """List the pairs of a feedback, or a random sample of them.

    Parameters
    ----------
    max_pairs : int or None
        If there are more pairs, this many are drawn, all equally likely and the same for
        the same seed; their weights stay in proportion.

    Raises
    ------
    DataError
        If they would take more than half of the free memory, before anything is allocated.
    """
    whole = feedback.n_pairs
    chosen: Ints | None = None
    count = whole if max_pairs is None else min(max_pairs, whole)
    _check_pair_memory(whole, count)
    if count < whole:
        chosen = sample_numbers(whole, count, np.random.default_rng([seed, 1]))
    n = len(feedback.rows)
    high, low = np.empty(count, np.int32), np.empty(count, np.int32)
    weight = np.empty(count)
    for begin in range(0, count, _PAIR_BLOCK):
        end = min(begin + _PAIR_BLOCK, count)
        numbers = np.arange(begin, end) if chosen is None else chosen[begin:end]
        high[begin:end], low[begin:end], weight[begin:end] = feedback.pairs_at(numbers)
    if np.any(high[1:] < high[:-1]):  # (feedbacks that were added up come one after the other)
        order = np.argsort(high, kind="stable")
        high, low, weight = high[order], low[order], weight[order]
    total = float(weight.sum())
    if not total > 0.0:
        raise DataError(
            f"the {count:,} pairs that were drawn weigh nothing beside the others; use a larger "
            "max_pairs or weights of a similar size."
        )
    weight /= total
    start = np.concatenate(([0], np.cumsum(np.bincount(high, minlength=n)))).astype(np.int64)
    return PairList(start, high, low, weight, _components(start, low, n))


def sample_numbers(whole: int, count: int, random: np.random.Generator) -> Ints:
    """Draw different numbers below ``whole``, rising; memory grows with the count alone.

    Examples
    --------
    >>> drawn = sample_numbers(10**15, 3, np.random.default_rng(0))
    >>> len(drawn), bool((np.diff(drawn) > 0).all())
    (3, True)
    """
    if 3 * count > whole:
        return np.sort(random.permutation(whole)[:count])
    drawn = np.unique(random.integers(0, whole, count + count // 8 + 16))
    while len(drawn) < count:
        drawn = np.union1d(drawn, random.integers(0, whole, count))
    # The surplus is dropped at random: the first ones would be the smallest numbers.
    return np.sort(random.permutation(drawn)[:count])


def _check_pair_memory(whole: int, count: int) -> None:
    """Refuse pairs that would take more than half of the free memory."""
    there = free_memory()
    needed = count * BYTES_PER_PAIR
    if there is None or needed <= there // 2:
        return
    fits = 10 ** (len(str(max(1, there // 2 // BYTES_PER_PAIR))) - 1)
    raise DataError(
        f"RankBoost+ keeps a weight for every pair, and there are {whole:,} pairs: {count:,} of "
        f"them would take about {needed / 2**30:.1f} GiB, more than half of the "
        f"{there / 2**30:.1f} GiB of free memory. Learn from a sample of them "
        f"(max_pairs={fits:,}, say), or use RankBoost, which never lists pairs."
    )


def _components(start: Ints, low: NDArray[np.int32], n: int) -> NDArray[np.int32]:
    """Return the connected components of the comparison graph; a row without pair is one."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    graph = csr_array((np.ones(len(low), np.int8), low, start), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1], np.int32)


# --- Weights of pairs under E2, the loss of RankBoost+ (Connamacher et al. 2019)
#
# F2 is the mean over pairs of a product over the weak rankers in use: ``exp(-eta)`` where the
# ranker orders the pair right, ``exp(eta)`` where wrong, ``cosh(eta)`` where it ties it
# (equations 22 and 23; equation 6 lacks the minus sign of its exponent).


# Sum of |alpha| after which weights are computed anew. Relative to each other they can
# meanwhile change by no more than exp(2 * 100), so that what underflowed stays negligible.
_RENEW = 100.0
_LOG_2 = log(2.0)
# Distance after which nothing is known of a weight between 0 and 1.
_UNKNOWN = 1e9
# More is added up than rounding could hide from a bound.
_SLACK = 1e-12
# Rankers whose ties are weighed before the first look at the bounds of the others.
_FIRST_LOOK = 4


T = TypeVar("T", float, Floats)


def log_cosh(x: T) -> T:
    """Return the logarithm of the hyperbolic cosine, for any argument."""
    size = abs(x)
    return size + log1p(exp(-2.0 * size)) - _LOG_2


class PlusWeights:
    """Pair weights D of equation 26, and those of E1 beside them.

    Attributes
    ----------
    pairs : PairList
    used : array of shape (n_rows, size)
        Outputs of the rankers in use.
    eta : array of shape (size,)
        Their cumulative weights.
    potentials : array of shape (n_rows,)
        Weight of the pairs a row should win minus that of those it should lose.
    log_e1, log_e2 : float
        Logarithms of E1 and E2 of the current ensemble.
    """

    def __init__(self, pairs: PairList, kernels: PlusSums) -> None:
        self.pairs, self._kernels = pairs, kernels
        n = pairs.n_rows
        self._d, self._e = pairs.weight.copy(), pairs.weight.copy()
        self._mass = 1.0
        self._other_mass = 1.0
        self._columns = np.zeros((n, 8))
        self._eta = np.zeros(8)
        # W0 of each ranker when it was last weighed, and how far D had come by then.
        self._ties = np.zeros(8)
        self._weighed = np.zeros(8)
        self._travel = 0.0
        self.size = 0
        self.log_e1 = self.log_e2 = 0.0
        self._moved = 0.0
        self._factors = np.ones((2, 4))
        self._multiply(np.zeros(n, np.uint8))

    @property
    def used(self) -> Floats:
        """Outputs of the rankers in use, one column each."""
        return self._columns[:, : self.size]

    @property
    def eta(self) -> Floats:
        """Cumulative weights of the rankers in use."""
        return self._eta[: self.size]

    def add(self, output: Bytes) -> int:
        """Put a ranker into use, at weight 0; return its place among those in use."""
        if self.size == len(self._eta):
            self._columns = np.pad(self._columns, ((0, 0), (0, self.size)))
            per_ranker = (self._eta, self._ties, self._weighed)
            self._eta, self._ties, self._weighed = (np.pad(a, (0, self.size)) for a in per_ranker)
        self._weighed[self.size] = -_UNKNOWN
        self._columns[:, self.size] = output
        self.size += 1
        return self.size - 1

    def step(self, place: int, output: Bytes, alpha: float) -> float:
        """Add alpha to the weight of a ranker in use; return ln Z (equation 27)."""
        before = float(self._eta[place])
        self._eta[place] = before + alpha
        self._moved += abs(alpha)
        log_e2 = self.log_e2
        if self._moved > _RENEW:
            self._renew()
            return self.log_e2 - log_e2
        grow = exp(alpha)
        factors = self._factors
        # Divided by the mass so far, so that weights need no extra pass to sum to 1.
        factors[0, 1], factors[0, 2] = grow / self._mass, 1.0 / grow / self._mass
        factors[0, 0] = exp(log_cosh(before + alpha) - log_cosh(before)) / self._mass
        factors[1, 1], factors[1, 2] = grow / self._other_mass, 1.0 / grow / self._other_mass
        factors[1, 0] = 1.0 / self._other_mass
        factors[:, 3] = factors[:, 0]
        tie = factors[0, 0] * self._mass
        sums = self._multiply(output)
        # Half the sum of all changes of D: no W0 can have changed by more.
        left = sums[0] - sums[2] - sums[3]
        changes = ((sums[2], tie), (sums[3], 1.0 / grow), (left, grow))
        change = math.fsum(abs(w / self._mass - w / factor) for w, factor in changes)
        self._travel += 0.5 * float(change) + 1e-15
        log_z = log(self._mass)
        self.log_e2 += log_z
        self.log_e1 += log(self._other_mass)
        return log_z

    def _multiply(self, output: Bytes) -> Floats:
        """Apply the factors and renew the potentials; return the sums of `pair_step`."""
        net, sums = self._kernels.pair_step(output, self._factors, self._d, self._e)
        self._mass, self._other_mass = float(sums[0]), float(sums[1])
        self.potentials = net / self._mass
        return sums

    def _weigh_ties(self, places: NDArray[np.integer]) -> None:
        """Renew W0 of some rankers in use."""
        columns = np.ascontiguousarray(self._columns[:, places])
        self._ties[places] = self._kernels.pair_ties(self._d, columns) / self._mass
        self._weighed[places] = self._travel

    def deltas(self, floor: float = -1.0) -> tuple[Floats, Floats]:
        """Return ``delta = -W+ + W- + W0 tanh(eta)`` of the rankers in use, and ``W+ - W-``.

        This is the slope of ln F2 along each of them (equations 31 and 32). Only W0 takes a
        pass over the pairs, and it cannot have moved further than D has: rankers that
        provably stay below the largest ``|delta|``, or below ``floor``, keep a W0 of before.

        Parameters
        ----------
        floor : float
            What is smaller in magnitude need not be exact; negative for all to be exact.
        """
        n = self.size
        slope = self._kernels.column_sums(self.potentials, self._columns, n)
        bent = tanh(self.eta)
        if floor < 0.0:
            self._weigh_ties(np.arange(n))
            return self._ties[:n] * bent - slope, slope
        delta = self._ties[:n] * bent - slope
        reach = np.minimum(self._travel - self._weighed[:n], 1.0) * np.abs(bent) + np.abs(delta)
        best, take = floor, _FIRST_LOOK
        while True:
            left = (reach >= worst_tied(best) - _SLACK).nonzero()[0]
            if not len(left):
                return delta, slope
            if len(left) > take:  # the most promising first: they may rule out the others
                left = left[np.argsort(-reach[left], kind="stable")[:take]]
            self._weigh_ties(left)
            found = self._ties[left] * bent[left] - slope[left]
            delta[left] = found
            reach[left] = -1.0  # (known)
            best, take = max(best, float(np.abs(found).max())), n

    def _renew(self) -> None:
        """Compute all weights from the rankers in use, in the logarithmic domain."""
        self._moved = 0.0
        self._travel += 1.0  # (nothing is known of a W0 any more)
        pairs, used = self.pairs, self.used
        tie = log_cosh(self.eta)
        scores, share = row_sums(used, self.eta), row_sums(used, tie)
        # A pair is tied by the rankers where both rows are 1, or neither is.
        whole = float(tie.sum())
        for begin in range(0, pairs.n_pairs, 1 << 16):
            part = slice(begin, begin + (1 << 16))
            high, low = pairs.high[part], pairs.low[part]
            both = (used[high] * tie * used[low]).sum(axis=1)
            with np.errstate(divide="ignore"):
                start = log(pairs.weight[part])
            self._e[part] = start + scores[low] - scores[high]
            self._d[part] = self._e[part] + whole - share[high] - share[low] + 2.0 * both
        tops = float(self._d.max()), float(self._e.max())
        self._d[:] = exp(self._d - tops[0])
        self._e[:] = exp(self._e - tops[1])
        self._factors[:] = 1.0
        self._multiply(np.zeros(pairs.n_rows, np.uint8))
        self.log_e2 = tops[0] + log(self._mass)
        self.log_e1 = tops[1] + log(self._other_mass)

    def share_of(self, part: slice) -> Floats:
        """Return the weights D of some pairs, normalised."""
        return self._d[part] / self._mass

    def risks(self, scores: Floats) -> tuple[float, float]:
        """Return R1 and R2 of the scores on the pairs (equations 3 and 4)."""
        margin = scores[self.pairs.high] - scores[self.pairs.low]
        wrong = float(self.pairs.weight[margin < 0.0].sum())
        return risks_of(wrong, float(self.pairs.weight[margin == 0.0].sum()))


# --- Choose the next weak ranker of RankBoost+: the efficient search (algorithm 2)
#
# Connamacher et al. (2019, section 4). Rankers in use are S, those never chosen R. Both are
# compared by ``|delta|``, the slope of ln F2; rankers of R have eta = 0, so theirs is
# ``|W+ - W-|`` and costs no pass over the pairs.


# Candidates that are tested for independence together.
_FEATURE_BLOCK = 128


@dataclass(frozen=True)
class Direction:
    """The direction that a round moves along.

    Attributes
    ----------
    number : int
        Of the candidate.
    delta : float
        Slope of ln F2: negative where its weight will rise.
    slope : float or None
        ``W+ - W-``, where it is known.
    place : int
        Its place among the rankers in use; -1 for a new one.
    beta : array over the rankers in use, or None
        Its coefficients, if it is not in use but in the span of the rankers in use.
    """

    number: int
    delta: float
    slope: float | None
    place: int = -1
    beta: Floats | None = None


def lowest(delta: Floats, numbers: list[int], top: float) -> int | None:
    """Return the place of the best: by the tie rule, rising weights first, the lowest number."""
    if not top > NOISE:
        return None
    tied = np.flatnonzero(np.abs(delta) >= worst_tied(top)).tolist()
    rising = [at for at in tied if delta[at] < 0.0]
    return min(rising or tied, key=numbers.__getitem__, default=None)


class EfficientSearch:
    """Greedy over R and S; from the first dependent choice on, over a fixed S alone.

    R wins only where it is strictly better, and what was chosen leaves R. The first time
    that the best of R is a combination of S, S gains a maximal independent subset of R, in
    a seeded random order, and is static from then on.

    Parameters
    ----------
    candidates, weights : what to choose from, and by
    component : int array
        Connected component of every row.
    seed : int
    static_after : int or None
        Make S static after this many rounds, if no dependent choice did it before.
    max_static : int or None
        Largest size of a static S.

    Attributes
    ----------
    members : list of int
        Numbers of S, those in use first.
    static_round : int or None
        Round, from 0, from which on S was static.
    """

    def __init__(
        self,
        candidates: Candidates,
        weights: PlusWeights,
        component: NDArray[np.integer],
        seed: int,
        static_after: int | None = None,
        max_static: int | None = None,
    ) -> None:
        self._candidates, self._weights, self._component = candidates, weights, component
        self._seed, self._static_after, self._max_static = seed, static_after, max_static
        self._offer = Offer(candidates, candidates.distinct)
        self._span: Span | None = Span(component)
        self._used: list[int] = []
        self.static_round: int | None = None

    @property
    def members(self) -> list[int]:
        """Numbers of S: those in use, in the order they came, then the others."""
        rest = [] if self.static_round is None else np.flatnonzero(self._offer.offered).tolist()
        return self._used + rest

    def propose(self, number: int) -> Direction | None:
        """Return the best choice for a round; None if nothing helps."""
        if self._span is not None and number == self._static_after:
            self._make_static(number)
        new, delta, slope, top = self._contenders()
        if self._span is not None:
            if new is None or not worst_tied(abs(new[1])) > top:
                return self._of_used(delta, slope, top)
            output = self._candidates.output(new[0])
            self._offer.withdraw(new[0])
            if self._span.add(output):
                return self._enter(new)
            self._make_static(number)
            new, delta, slope, top = self._contenders()
        return self._of_static(delta, slope, top, new)

    def _contenders(self) -> tuple[tuple[int, float] | None, Floats, Floats, float]:
        """Return the best of R, delta and slope of those in use, and their largest |delta|."""
        self._offer.renew(self._weights.potentials)
        new = self._offer.best()
        delta, slope = self._weights.deltas(0.0 if new is None else abs(new[1]))
        return new, delta, slope, float(np.abs(delta).max(initial=0.0))

    def _of_used(self, delta: Floats, slope: Floats, top: float) -> Direction | None:
        at = lowest(delta, self._used, top)
        if at is None:
            return None
        return Direction(self._used[at], float(delta[at]), float(slope[at]), at)

    def _enter(self, new: tuple[int, float]) -> Direction:
        self._used.append(new[0])
        return Direction(new[0], -new[1], new[1])

    def _of_static(
        self, delta: Floats, slope: Floats, top: float, new: tuple[int, float] | None
    ) -> Direction | None:
        """The best of S, whether in use already or not."""
        reach = 0.0 if new is None else abs(new[1])
        used = self._of_used(delta, slope, max(top, reach))
        if new is None or reach < worst_tied(max(top, reach)):
            return used
        if used is not None and (used.delta > 0.0, used.number) < (new[1] < 0.0, new[0]):
            return used
        self._offer.withdraw(new[0])
        return self._enter(new)

    def _make_static(self, number: int) -> None:
        """Extend S by a maximal independent subset of R, once."""
        span = self._span
        assert span is not None
        left = np.flatnonzero(self._offer.offered)
        left = np.random.default_rng([self._seed, 2]).permutation(left)
        patterns = self._candidates.row_patterns(self._component)
        rank = patterns - (int(self._component.max(initial=0)) + 1)
        limit = min(rank, span.largest, span.size + len(left))
        if self._max_static is not None:
            limit = min(limit, self._max_static)
        _check_room(self._candidates.n_rows, limit, number)
        taken = np.zeros(len(self._offer.offered), bool)
        for begin in range(0, len(left), _FEATURE_BLOCK):
            if span.size >= limit:
                break
            block = left[begin : begin + _FEATURE_BLOCK]
            outputs = self._candidates.outputs(block)
            for at in np.flatnonzero(span.outside(outputs)).tolist():
                if span.size < limit and span.add(outputs[at]):
                    taken[block[at]] = True
        self._offer = Offer(self._candidates, taken)
        self._span = None
        self.static_round = number


def _check_room(n_rows: int, limit: int, number: int) -> None:
    """Refuse a static set that would take more than half of the free memory."""
    check_room(
        8 * limit * (n_rows + limit) * 3 // 2,
        f"In round {number + 1} RankBoost+ has to make its set of weak rankers static: up to "
        f"{limit:,} independent ones over {n_rows:,} rows",
        "Stop at fewer of them (max_static=1000, say), use fewer bins (max_bins), or "
        f"n_estimators={number}.",
    )


# --- Which weak ranker RankBoost+ takes next: all directions (Connamacher et al. 2019, section 4)
#
# A candidate outside the span of the rankers in use enters as in the efficient search. One
# inside is a direction beta over them: ``B h = B S beta``. The slope of F2 along it is
# compared as ``|grad F2 . beta| / (|beta| F2)`` with ``|delta|``: equations 32 and 33 drop the
# factor F2, which would put both on different scales.


# Share of a candidate's square that is left outside the span, as kept up to date by
# subtraction, below which it is tested anew: rounding of the former is far smaller.
_SCREEN = 1e-6
# Cells of a table of pairs and rankers that is kept during one line search.
_CELLS = 1 << 23
_BLOCK = 256
# A slope of the logarithm of a pair's weight, far along a direction, that is rounding.
_LEVEL = 1e-9
# Exponents whose sums stay finite.
_FINITE = 600.0


class OptimalSearch:
    """The steepest of all candidates, new, in use, or in the span of those in use.

    Parameters and attributes as of `EfficientSearch`; S is never static.
    """

    static_round = None

    def __init__(
        self, candidates: Candidates, weights: PlusWeights, component: NDArray[np.integer]
    ) -> None:
        self._candidates, self._weights = candidates, weights
        self._offer = Offer(candidates, candidates.distinct)
        self._span = Span(component)
        self.members: list[int] = []
        self._square = _squares(candidates, component)
        self._left = self._square.copy()
        self._inside: list[int] = []
        self._betas = np.zeros((0, 8))
        self._lengths = np.zeros(0)

    def propose(self, number: int) -> Direction | None:
        """Return the best choice for a round; None if nothing helps."""
        delta, slope = self._weights.deltas()
        along = row_sums(self._betas[:, : len(delta)], delta)
        steep = np.concatenate((delta, along / self._lengths))
        top = float(np.abs(steep).max(initial=0.0))
        while True:
            self._offer.renew(self._weights.potentials)
            new = self._offer.best()
            if new is None or not worst_tied(abs(new[1])) > top:
                break
            self._offer.withdraw(new[0])
            output = self._candidates.output(new[0])
            if self._span.add(output):
                self.members.append(new[0])
                self._sort_out()
                return Direction(new[0], -new[1], new[1])
            # (kept by subtraction, its rest looked larger than it is)
            self._settle(np.array([new[0]]))
        at = lowest(steep, self.members + self._inside, top)
        if at is None:
            return None
        if at < len(delta):
            return Direction(self.members[at], float(delta[at]), float(slope[at]), at)
        row = at - len(delta)
        beta = self._betas[row, : len(delta)].copy()
        # Normalised by the sum of |beta|, it bounds Z as delta does: F2 along beta is a mean
        # of exponentials with slopes of no more than that sum.
        delta_of = float(along[row] / np.abs(beta).sum())
        return Direction(self._inside[row], delta_of, None, beta=beta)

    def _sort_out(self) -> None:
        """Find the candidates that the newest member made dependent."""
        size, width = self._span.size, self._betas.shape[1]
        if size > width:
            wider = np.zeros((len(self._betas), 2 * size))
            wider[:, :width] = self._betas
            self._betas = wider
        self._offer.renew(self._span.newest)
        self._left -= self._offer.sums**2
        if self._span.size == self._span.largest:
            close = np.flatnonzero(self._offer.offered)
        else:
            close = np.flatnonzero(self._offer.offered & (self._left < _SCREEN * self._square))
        for begin in range(0, len(close), _BLOCK):
            self._settle(close[begin : begin + _BLOCK])

    def _settle(self, numbers: NDArray[np.integer]) -> None:
        """Move the dependent ones of these candidates to those inside."""
        dependent, betas = self._span.coordinates(self._candidates.outputs(numbers))
        if self._span.size == self._span.largest:
            dependent[:] = True
        size = self._span.size
        found = numbers[dependent]
        for number in found.tolist():
            self._offer.withdraw(number)
        rows = np.zeros((len(found), self._betas.shape[1]))
        rows[:, :size] = betas[dependent]
        rows[np.abs(rows) < 1e-9] = 0.0  # (so that a line search need not look there)
        self._inside += found.tolist()
        self._betas = np.concatenate((self._betas, rows))
        self._lengths = np.concatenate((self._lengths, np.sqrt((rows**2).sum(axis=1))))


def _squares(candidates: Candidates, component: NDArray[np.integer]) -> Floats:
    """Return the squared length of every candidate, centred in each component."""
    first, codes = candidates.first, candidates.bins.codes
    total = np.zeros(len(candidates.distinct))
    peak, out = np.zeros(len(first) - 1), np.zeros_like(total)
    features = np.arange(len(first) - 1)
    order = np.argsort(component, kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(component))[:-1]):
        n = len(rows)
        stump_sums(codes[:, rows], n, first, features, np.ones(n), candidates.distinct, out, peak)
        total += out - out**2 / n
    return total


def line_search(
    weights: PlusWeights, beta: Floats, output: Bytes, smoothing: float
) -> float | None:
    """Return the alpha that minimises ``F2(eta + alpha beta)``; None if there is none.

    Parameters
    ----------
    beta : array over the rankers in use
    output : uint8 array of shape (n_rows,)
        The candidate that beta makes up: over pairs, both are the same ranker.
    smoothing : float
        Share of all weight added to both sides where no finite alpha is best; 0 for none.
    """
    along = _Direction(weights, beta, output)
    alpha = newton_root(lambda at: along.slopes(at, 0.0), turns=along.turns)
    if alpha is None and smoothing > 0.0:
        alpha = newton_root(lambda at: along.slopes(at, smoothing))
    return alpha


class _Direction:
    """F2 along a direction, with its derivatives."""

    def __init__(self, weights: PlusWeights, beta: Floats, output: Bytes) -> None:
        self._weights = weights
        self._places = np.flatnonzero(beta)
        self._beta, self._eta = beta[self._places], weights.eta[self._places]
        self._columns = weights.used[:, self._places].astype(np.uint8)
        self._output = output.astype(np.float64)
        count = max(1, _CELLS // max(1, len(self._places)))
        n = weights.pairs.n_pairs
        self._parts = [slice(a, min(a + count, n)) for a in range(0, n, count)]
        self._kept = self._table(self._parts[0]) if len(self._parts) == 1 else None

    def _table(self, part: slice) -> tuple[Floats, Floats, Floats]:
        """Return which rankers tie a pair, its margin under the candidate, and its weight."""
        high, low = self._weights.pairs.high[part], self._weights.pairs.low[part]
        tied = (self._columns[high] == self._columns[low]).astype(np.float64)
        return tied, self._output[high] - self._output[low], self._weights.share_of(part)

    def turns(self, sign: float) -> bool:
        """Return whether any pair weighs ever more along a weight of that sign."""
        size, way = np.abs(self._beta), np.sign(sign)
        for part in self._parts:
            tied, margin, share = self._kept or self._table(part)
            if (row_sums(tied, size) - way * margin > _LEVEL)[share > 0.0].any():
                return True
        return False

    def slopes(self, alpha: float, smoothing: float) -> tuple[float, float]:
        """Return the first and second derivative of ln F2 at alpha."""
        now = self._eta + alpha * self._beta
        bent = tanh(now)
        per_ranker = np.stack(
            (
                log_cosh(now) - log_cosh(self._eta),
                self._beta * bent,
                self._beta**2 * (1.0 - bent * bent),
            ),
            axis=1,
        )
        top = 0.0
        if float(np.abs(per_ranker[:, 0]).sum()) + abs(alpha) > _FINITE:
            top = max(self._exponents(part, per_ranker[:, 0], alpha) for part in self._parts)
        grown, shrunk = exp(alpha), exp(-alpha)
        value, first, second = smoothing * (grown + shrunk), 0.0, 0.0
        first += smoothing * (grown - shrunk)
        second += value
        for part in self._parts:
            tied, margin, share = self._kept or self._table(part)
            sums = matrix_product(tied, per_ranker)
            d = share * exp(sums[:, 0] - alpha * margin - top)
            tilt = sums[:, 1] - margin
            value += float(d.sum())
            first += dot(d, tilt)
            second += dot(d, tilt**2 + sums[:, 2])
        return first / value, max(second / value - (first / value) ** 2, 0.0)

    def _exponents(self, part: slice, grown: Floats, alpha: float) -> float:
        """Return the largest logarithm of what a pair's weight is multiplied by."""
        tied, margin, share = self._kept or self._table(part)
        logs = row_sums(tied, grown) - alpha * margin
        return float(logs[share > 0.0].max(initial=-_FINITE))


# --- RankBoost+ (Connamacher, Pancha, Liu & Ray 2019): boosting on E2, which counts ties half
#
# A round moves along a {0, 1} weak ranker h with cumulative weight eta: with
# ``delta = -W+ + W- + W0 tanh(eta)``, its weight grows by ``.5 ln((1 - delta) / (1 + delta))``
# (equation 34 written with ``W+ + W- + W0 = 1``), and E2 falls by exactly
# ``Z = sqrt(1 - delta^2)``: the steepest ranker is the one with the largest drop. It does not fit
# into `crucial.boosting.loop`: each ranker weighs a tie on its own, so that weights belong to
# pairs and not to rows.


class _PlusLoop:
    """The pairs, candidates, weights and scores of one call, and its rounds."""

    def __init__(self, ranker: RankBoostPlus, run: LoopInput) -> None:
        training, columns = run.training, ranker.weak == "column"
        if columns:
            check_columns(training.instances, training.rows)
        self.pairs: PairList = list_pairs(run.feedback, ranker.max_pairs, run.seed)
        self.bins = training.binned(ranker.max_bins, ranker._drawn_by(ranker.thresholds))
        kernels = PlusSums(self.pairs.start, self.pairs.low, training.threads)
        component = self.pairs.component
        self.candidates = Candidates(self.bins, component, ranker.default_rank, columns, kernels)
        self.weights = PlusWeights(self.pairs, kernels)
        searched = (self.candidates, self.weights, component)
        self.search: EfficientSearch | OptimalSearch
        if ranker.search == "optimal":
            self.search = OptimalSearch(*searched)
        else:
            limits = (ranker.static_after, ranker.max_static)
            self.search = EfficientSearch(*searched, run.seed, *limits)
        self.scores = np.zeros(self.pairs.n_rows)
        stops = ranker.on_perfect == "stop"
        self._smoothing = 0.0 if stops else smoothing_of(run.feedback.total)
        self._rate, self._record_risks = ranker.learning_rate, ranker.record_risks
        self._rankers: dict[int, WeakRankerLike] = {}

    def ranker(self, number: int) -> WeakRankerLike:
        """Return a candidate as it goes into the model, made once."""
        if number not in self._rankers:
            self._rankers[number] = self.candidates.ranker(number)
        return self._rankers[number]

    def boost(self, run: LoopInput) -> Ensemble:
        """Add weak rankers until the rounds are done, none helps, or early stopping ends them.

        The trace has the columns of `crucial.boosting.loop.boost`, its loss being E2, and
        ``delta``, ``e1`` and ``e2`` of every round.
        """
        ensemble, weights, watch = Ensemble(bins=self.bins), self.weights, run.watch
        if watch is not None:
            watch.prepare(self.bins, run.training.threads)
        for number in range(run.rounds):
            began = time.perf_counter()
            choice = self.search.propose(number)
            found = "no weak ranker helps" if choice is None else self._weight(choice)
            if choice is None or isinstance(found, str):
                ensemble.trace.stopped = str(found)
                break
            alpha, output = self._rate * found, self.candidates.output(choice.number)
            r = dot(weights.potentials, output) if choice.slope is None else choice.slope
            log_z = self._move(choice, output, alpha)
            self.scores += alpha * output
            ranker = self.ranker(choice.number)
            r1, r2 = weights.risks(self.scores) if self._record_risks else (None, None)
            e1, e2 = exp(weights.log_e1), exp(weights.log_e2)
            entry = Round(
                ranker,
                alpha,
                r,
                exp(log_z),
                weights.log_e2,
                r1,
                r2,
                measures={} if watch is None else watch.advance(ranker, alpha),
                extras={"delta": choice.delta, "e1": e1, "e2": e2},
                seconds=time.perf_counter() - began,
            )
            if ensemble.add(entry, run.progress, watch):
                break
        return ensemble

    def _weight(self, choice: Direction) -> float | str:
        """Return the best weight of a direction, before the learning rate; or why there is none."""
        if choice.beta is None:  # equation 34
            delta = min(1.0, max(-1.0, choice.delta))
            best = half_log_ratio((1.0 - delta) / 2.0, (1.0 + delta) / 2.0, self._smoothing)
        else:
            output = self.candidates.output(choice.number)
            best = line_search(self.weights, choice.beta, output, self._smoothing)
        if best is None:
            return "perfect weak ranker"
        return best if best != 0.0 else "no weak ranker helps"

    def _move(self, choice: Direction, output: Bytes, alpha: float) -> float:
        """Let the weights follow; return the logarithm of Z."""
        if choice.beta is None:
            place = choice.place if choice.place >= 0 else self.weights.add(output)
            return self.weights.step(place, output, alpha)
        log_z = 0.0
        for place in np.flatnonzero(choice.beta).tolist():
            column = self.weights.used[:, place].astype(np.uint8)
            log_z += self.weights.step(place, column, alpha * float(choice.beta[place]))
        return log_z


# --- RankBoost+, as a scikit-learn estimator


@with_parameters
class RankBoostPlus(BoostedRanker):
    """RankBoost on a loss that counts a tie half (Connamacher, Pancha, Liu & Ray 2019).

    RankBoost minimises E1, in which a pair that a weak ranker ties counts 1 whatever the
    ranker's weight. RankBoost+ minimises E2, in which it counts as the mean of a right and a
    wrong pair. E2 bounds R2, the share of wrong pairs plus half of the ties, and orders
    single weak rankers as R2 does. It needs weak rankers of 0 and 1 that are linearly
    independent as vectors over pairs, and one weight for every pair: pairs are listed.

    Attributes
    ----------
    basis_ : tuple of weak rankers
        The independent set after the last round.
    eta_ : array, one number per member of the basis
        Their cumulative weights: E2 is F2 of these.
    static_round_ : int or None
        First round in which the set was static.
    n_pairs_ : int
        Pairs that were learned from.
    trace_ : Trace
        What happened in every round; its loss is E2, and it has ``delta``, ``e1``, ``e2``.

    Notes
    -----
    A weak ranker and its opposite are one direction, since weights have either sign: only
    the first of them is a candidate. A round along a combination of rankers ("optimal")
    adds the candidate that it makes up to the model: on the training pairs both are the same
    ranker, and elsewhere a stump is tamer than a combination with large coefficients.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import RankBoostPlus
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> qid = ["a", "a", "a", "b", "b"]
    >>> ranker = RankBoostPlus(n_estimators=20).fit(X, [2, 1, 0, 1, 0], qid=qid)
    >>> ranker.rank(X, qid=qid).tolist()
    [1, 2, 3, 1, 2]
    """

    bounded_risk = "R2"
    takes_judges = True

    learning_rate: float = parameter(
        text="Factor on every weight, in (0, 1]. With 1, as in the paper, every round makes E2 "
        "smaller by ``sqrt(1 - delta^2)``, and its theorem 2 holds.",
        default=1.0,
        kw_only=False,
    )
    search: str = parameter(
        one_of("efficient", "optimal"),
        '"efficient": the paper\'s algorithm 2. The steepest ranker is taken, new or in use; the '
        "first time that it is a combination of those in use, the set gains all that is "
        'independent of it and stays as it is. "optimal": combinations stay on offer, as '
        "directions over the rankers in use. Slower.",
        default="efficient",
    )
    static_after: int | None = parameter(
        none_or(at_least(0)),
        'Make the set static after so many rounds if nothing did before ("efficient").',
        default=None,
    )
    max_static: int | None = parameter(
        none_or(at_least(1)),
        "Members at which a set that is made static stops growing; None: as many as there are.",
        default=None,
    )
    max_pairs: int | None = parameter(
        none_or(at_least(1)),
        "Learn from a random sample of so many pairs where there are more.",
        default=None,
    )
    weak: str = parameter(
        replace(
            one_of("stump", "column"),
            remedy="RankBoost+ needs a finite set of weak rankers of 0 and 1; for trees use "
            "RankBoost(weak='tree').",
        ),
        "Stumps, or columns of 0 and 1 that are weak rankers already.",
        default="stump",
    )
    thresholds: str = THRESHOLDS
    default_rank: str | int = DEFAULT_RANK
    max_bins: int | None = MAX_BINS
    # All pairs count in every round, and a run is not continued.
    subsample: float = fixed(default=1.0)
    n_bags: int = fixed(default=1)
    warm_start: bool = fixed(default=False)

    def _boost(self, run: LoopInput) -> Ensemble:
        with one_blas_thread():  # (products with one vector at a time)
            loop = _PlusLoop(self, run)
            ensemble = loop.boost(run)
        members, first = loop.search.members, loop.search.static_round
        self.basis_ = tuple(loop.ranker(number) for number in members)
        self.eta_ = np.pad(loop.weights.eta, (0, len(members) - loop.weights.size))
        self.static_round_ = None if first is None else first + 1
        self.n_pairs_ = loop.pairs.n_pairs
        return ensemble
