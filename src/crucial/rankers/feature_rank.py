"""FeatureRank, BL-FeatureRank, DiffRank (Wang, Mao, Zeng & Xia): rankings of features added up."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self

import numpy as np

from crucial.boosting.loop import (
    STOPPED,
    Candidate,
    Constraints,
    Ensemble,
    ExponentialLoss,
    Progress,
    Round,
    StepRule,
    Trace,
    TrainingRows,
    WeakLearner,
    show_rounds,
    with_callbacks,
)
from crucial.boosting.steps import BoundStep, half_log_ratio
from crucial.boosting.stumps import NOISE, TIE
from crucial.data.bins import Cutter, over_features
from crucial.data.instances import Instances
from crucial.errors import DataError, NoProgressWarning, NotRankedError, ParameterError
from crucial.feedback.base import Agreement, Feedback, Potentials, power_of_two_scale, smoothing_of
from crucial.feedback.labels import LabelFeedback, TopFeedback
from crucial.kernels.elementary import dot, exact_dot, exact_sum, exp, log
from crucial.kernels.predict import interval_sums, run_starts
from crucial.kernels.runtime import count_threads
from crucial.measures.names import Measures
from crucial.model.rank_addition import RankAdditionRanker
from crucial.model.weak import MAX_INTERVALS, QuasiKNN, Regions, middle_positions
from crucial.parameters import (
    at_least,
    between,
    either,
    fixed,
    int_between,
    none_or,
    one_of,
    parameter,
    with_parameters,
)
from crucial.rankers.base import EvalRows, RankingInput, RoundRanker, warn_caller, warn_ignored
from crucial.rankers.rankboost import Algorithm, BoostedRanker
from crucial.types import Bools, Floats, Ints

# --- Queries cut into intervals by relevance, and the centres of a feature in them


# Rounding errors of means of values up to 1.
_ROUNDING = 8 * 2.0**-52

# Positions that differ by less than this share of all positions are equal: what rounding leaves of
# a third, or of weights times their unit.
_NEAR = 1e-12

#: Which rows of an interval make its centre (Wang et al., section 5.2).
CENTRES = ("mean", "prior", "middle", "posterior")


def _inside(mass: Floats, runs: Ints, blocks: Ints, unit: float) -> tuple[Floats, Floats, Floats]:
    """Return, per block, the weight before it in its run, its own, and that of its run."""
    own = np.add.reduceat(mass, blocks)
    whole = np.add.reduceat(mass, runs)
    run = np.searchsorted(runs, blocks, side="right") - 1
    before = np.cumsum(own) - own
    before -= before[np.searchsorted(blocks, runs)][run]
    return before * unit, own * unit, whole[run] * unit


class IntervalRule(NamedTuple):
    """How queries are cut into intervals.

    Attributes
    ----------
    n_intervals : int
    kind : {"mean", "prior", "middle", "posterior"}
    owner : str
        Name for the message if every query is too short.
    """

    n_intervals: int
    kind: str = "mean"
    owner: str = "QuasiKNN"


def interval_codes(queries: RankedQueries, rule: IntervalRule) -> Ints:
    """Return the interval whose centre a row helps to place, from 0, the least relevant; or -1.

    Every query is sorted by label and cut into intervals of equal size; where that does not
    come out even, the lower ones get one row more. Rows of one label share the interval in
    which the middle of their positions lies. A query of fewer rows than intervals cannot
    be cut and places no centre.

    Of an interval all rows count ("mean"), or the more relevant third of its rows
    ("prior"), the third in the middle ("middle"), the less relevant one ("posterior");
    always at least the rows of one label.

    Parameters
    ----------
    queries : RankedQueries
        A row takes ``weight * unit`` positions.
    rule : IntervalRule

    Examples
    --------
    >>> queries = RankedQueries(np.array([5.0, 4.0, 3.0, 2.0, 1.0]), np.array([0, 5]))
    >>> interval_codes(queries, IntervalRule(2)).tolist()
    [1, 1, 0, 0, 0]
    """
    labels, starts, unit = queries.labels, queries.starts, queries.unit
    n_intervals, kind, owner = rule
    mass = np.ones(len(labels)) if queries.weight is None else queries.weight
    sizes = np.add.reduceat(mass, starts[:-1]) * unit
    if sizes.max() < n_intervals * (1.0 - _NEAR):
        raise ParameterError(
            f"The 'n_intervals' parameter of {owner} must be at most {sizes.max():g}, the number "
            f"of rows in the largest query (with any pair of different labels). Got {n_intervals} "
            "instead."
        )
    query = np.repeat(np.arange(len(sizes)), np.diff(starts))
    order = np.lexsort((labels, query))
    blocks = run_starts(query, labels[order])
    before, own, whole = _inside(mass[order], starts[:-1], blocks, unit)
    interval = _interval(before + own / 2.0, whole, n_intervals)
    lengths = np.diff(np.append(blocks, len(order)))
    if kind != "mean":
        code = np.repeat(interval, lengths)
        before, own, whole = _inside(mass[order], run_starts(query, code), blocks, unit)
        interval[~_third(before, own, whole, kind)] = -1
    out = np.empty(len(order), np.int64)
    out[order] = np.repeat(interval, lengths)
    return out


def _interval(middle: Floats, size: Floats, n_intervals: int) -> Ints:
    """Return the number of the interval, from 0, that each middle position falls into."""
    slack = _NEAR * size
    least = np.floor((size + slack) / n_intervals)
    odd = size - n_intervals * least  # (this many intervals, the lowest, have one row more)
    odd = np.where(np.abs(odd - np.rint(odd)) <= slack, np.rint(odd), odd)
    longer = np.ceil((middle - slack) / (least + 1.0))
    with np.errstate(divide="ignore"):
        shorter = np.ceil((middle - odd - slack) / least)
    number = np.where(middle <= np.floor(odd) * (least + 1.0) + slack, longer, shorter)
    short = size + slack < n_intervals
    number[short] = 0.0
    # (fmax also replaces NaN: the numbers are indices)
    number = np.fmin(np.fmax(number, np.where(short, 0.0, 1.0)), float(n_intervals))
    return number.astype(np.int64) - 1


def _third(before: Floats, own: Floats, size: Floats, kind: str) -> Bools:
    """Return the blocks of an interval that lie in one third of it, or nearest to it."""
    third, middle, slack = np.maximum(1.0, size / 3.0), before + own / 2.0, _NEAR * size
    if kind == "prior":
        return np.asarray((middle > size - third + slack) | (before + own >= size - slack))
    if kind == "posterior":
        return np.asarray((middle < third - slack) | (before == 0.0))
    covers = (before <= size / 2.0 + slack) & (size / 2.0 <= before + own + slack)
    return np.asarray((np.abs(middle - size / 2.0) <= third / 2.0 + slack) | covers)


def centres_of(
    values: Floats, codes: Ints, n_intervals: int, weight: Floats | None = None
) -> tuple[float | None, ...]:
    """Return the mean of the values of every interval; None where there is none.

    Means do not depend on the order of the rows. Those that differ by rounding alone are equal, so
    that rounding does not decide which of two intervals a value is nearer to.

    Parameters
    ----------
    values : array over rows; NaN where the feature abstains
    codes : as `interval_codes` returns them
    """
    largest = float(np.fmax.reduce(np.abs(values), initial=0.0))
    unit = power_of_two_scale(largest)  # (sums of values near 1 do not overflow)
    terms, mass = values * unit, None
    if weight is not None:
        mass = np.where(np.isnan(values), np.nan, weight * power_of_two_scale(float(weight.max())))
        terms = terms * mass
    sums, counts = _exact_sums(terms, codes, n_intervals)
    if mass is not None:
        counts = _exact_sums(mass, codes, n_intervals)[0]
    means = np.full(n_intervals, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0.0)
    merged = _merged(means) / unit
    return tuple(None if np.isnan(one) else one for one in merged.tolist())


def _exact_sums(terms: Floats, codes: Ints, n_intervals: int) -> tuple[Floats, Floats]:
    """Return sum and number of the terms of every interval; terms of at most 1, NaN left out.

    Terms are split into multiples of a power of two, whose sums are exact in any order, and
    remainders, whose sums lose nothing that is left in the result.
    """
    grid = math.ldexp(1.0, len(terms).bit_length() + 1)
    coarse = (terms + grid) - grid
    none = np.zeros(0)
    sums, counts, _ = interval_sums(coarse, codes, none, 1.0, n_intervals)
    sums += interval_sums(terms - coarse, codes, none, 1.0, n_intervals)[0]
    return sums, counts


def _merged(centres: Floats) -> Floats:
    """Return centres, of values of about 1, with those equal that differ by rounding alone."""
    order = np.argsort(centres, kind="stable")
    order = order[: len(order) - int(np.isnan(centres).sum())]
    rising = centres[order]
    if not len(rising):
        return centres
    near = max(TIE * float(rising[-1] - rising[0]), _ROUNDING)
    first = np.maximum.accumulate(
        np.where(np.diff(rising, prepend=-np.inf) > near, np.arange(len(rising)), 0)
    )
    out = centres.copy()
    out[order] = rising[first]
    return out


# --- Weights as whole numbers of a unit: their sums are exact, in any order of the rows


# A common unit is at least this share of the largest weight,
_SMALLEST = 1e-6
# and weights differ from whole numbers of it by this share of themselves at most.
_SHARE_ROUNDING = 1e-12
# Without one, all weights together are about two to this power, so that sums are exact.
_POWER = 50


def whole_weights(weight: Floats) -> tuple[Floats, float]:
    """Return how many units every weight is, and the unit.

    The unit is the largest number that all weights are whole numbers of, but for rounding: .1 for
    .2, .3 and .7. Positions that are equal then stay equal, whichever weights they are sums of.
    Where there is none, weights are rounded to a power of two.

    Parameters
    ----------
    weight : array of positive numbers

    Examples
    --------
    >>> counts, unit = whole_weights(np.array([0.2, 0.3, 0.7]))
    >>> counts.tolist(), round(unit, 12)
    ([2.0, 3.0, 7.0], 0.1)
    >>> bool(whole_weights(np.array([1.0, np.pi]))[0].max() > 1e14)
    True
    """
    distinct, where = np.unique(weight, return_inverse=True)
    unit = _common_unit(distinct)
    if unit is not None:
        counts = np.rint(distinct / unit)
        # (the largest weight tells the unit best)
        unit = float(distinct[-1] / counts[-1])
        if (np.abs(distinct - counts * unit) <= _SHARE_ROUNDING * distinct).all():
            return counts[where], unit
    unit = math.ldexp(1.0, max(math.frexp(exact_sum(weight))[1] - _POWER, -1074))
    return np.maximum(1.0, np.rint(weight / unit)), unit


def _common_unit(distinct: Floats) -> float | None:
    """Return about the largest common divisor of ascending weights (Euclid); None if too small."""
    top = float(distinct[-1])
    unit = top
    for one in distinct.tolist():
        larger, smaller = unit, one
        while smaller > _SMALLEST / 2 * top:
            larger, smaller = smaller, abs(larger - smaller * round(larger / smaller))
        unit = larger
        if smaller > _SHARE_ROUNDING * top * (top / unit) or unit < _SMALLEST * top:
            return None
    return unit


# --- Quasi-KNN rankings of features, which DiffRank boosts and FeatureRank adds up


# Features ranked ahead of their turn, for each thread: neighbours are fetched together.
_AHEAD = 4


@dataclass(frozen=True, eq=False)
class RankedQueries:
    """The training rows, query after query, with the labels that make the intervals.

    Attributes
    ----------
    labels : array over the rows
    starts : int array of shape (n_queries + 1,)
        Query ``q`` is rows ``starts[q]:starts[q + 1]``.
    weight : array over the rows, or None
        How many units every row weighs, as whole numbers.
    unit : float
        A row of 2 / unit units counts as two.
    """

    labels: Floats
    starts: Ints
    weight: Floats | None = None
    unit: float = 1.0

    @classmethod
    def of(cls, feedback: Feedback) -> RankedQueries:
        """Return the rows of a feedback from labels."""
        rows = feedback.labelled()
        if rows is None:
            raise DataError(f"intervals of relevance need labels, not {type(feedback).__name__}.")
        if feedback.weight is None:
            return cls(rows.labels, rows.layout.row_start)
        return cls(rows.labels, rows.layout.row_start, *whole_weights(feedback.weight))

    @property
    def spread(self) -> tuple[Floats, Floats]:
        """Position of the lowest row and distance to the highest, for every row.

        In a query of n rows 1/2 and ``n - 1``, U_q in Wang et al.: ranks differ by no
        more. Rows that weigh less than 1 lie closer together.
        """
        first, sizes = self.starts[:-1], np.diff(self.starts)
        if self.weight is None:
            lightest, whole = np.ones(len(sizes)), sizes.astype(np.float64)
        else:
            lightest = np.minimum(np.minimum.reduceat(self.weight, first), 1.0 / self.unit)
            whole = np.add.reduceat(self.weight, first)
        distance = whole - lightest
        distance[distance <= 0.0] = 1.0  # (a row that is alone)
        return np.repeat(lightest / 2.0, sizes), np.repeat(distance, sizes)


class FeatureRankings:
    """The quasi-KNN ranking of every feature, computed on demand.

    Parameters
    ----------
    training : TrainingRows
        Its rows are those of the queries, in their order.
    queries : RankedQueries
    rule : IntervalRule
    """

    def __init__(self, training: TrainingRows, queries: RankedQueries, rule: IntervalRule) -> None:
        self._training, self._queries, self._n_intervals = training, queries, rule.n_intervals
        self._codes = interval_codes(queries, rule)
        self._known: dict[int, QuasiKNN | None] = {}

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self._training.instances.n_features

    @property
    def useless(self) -> list[int]:
        """Features so far that rank nothing: constant, or without any value."""
        return sorted(j for j, ranker in self._known.items() if ranker is None)

    def ranked(self, features: Sequence[int]) -> list[tuple[QuasiKNN, Floats] | None]:
        """Return ranker and middle positions of some features; None for one that ranks nothing."""
        chosen = np.array(features, np.int64)

        def work(place: int, cutter: Cutter) -> tuple[QuasiKNN, Floats] | None:
            return self._ranked(int(chosen[place]), cutter)

        training = self._training
        return over_features(training.instances, chosen, training.rows, training.threads, work)

    def _ranked(self, feature: int, cutter: Cutter) -> tuple[QuasiKNN, Floats] | None:
        """Return ranker and middle positions of one feature."""
        raw = cutter.fetch(feature)
        self._training.instances.checked(raw, feature, self._training.rows)
        values = raw.astype(np.float64)
        weight = self._queries.weight
        if feature not in self._known:
            centres = centres_of(values, self._codes, self._n_intervals, weight)
            # (equal centres: no interval is better than another)
            useful = {*centres} != {None} and Regions.around(centres).direction.any()
            self._known[feature] = QuasiKNN(feature, centres) if useful else None
        ranker = self._known[feature]
        if ranker is None:
            return None
        return ranker, middle_positions(values, self._queries.starts, ranker.regions, weight)

    def stream(self, features: Sequence[int]) -> Iterator[tuple[QuasiKNN, Floats] | None]:
        """Yield the same one after the other, a few features ahead in parallel."""
        step = _AHEAD * self._training.threads
        for begin in range(0, len(features), step):
            yield from self.ranked(features[begin : begin + step])


class QuasiKNNLearner(WeakLearner):
    """Proposes the quasi-KNN ranking of one feature after the other (Wang et al., figure 4).

    Features whose ranking does not help at all are skipped.

    Parameters
    ----------
    queries : RankedQueries
    rule : IntervalRule
    potentials : array over the rows, optional
        Those before the first round: features are then taken by falling ``|r|`` under
        them, instead of in the order of the columns.
    cycles : int
        How often to go through the features.
    """

    def __init__(
        self, queries: RankedQueries, rule: IntervalRule, potentials: Floats | None, cycles: int
    ) -> None:
        self._queries, self._rule = queries, rule
        self._first, self._cycles = potentials, cycles

    def prepare(self, training: TrainingRows, constraints: Constraints, step: StepRule) -> None:
        """Cut the queries into intervals and put the features in order."""
        self.rankings = FeatureRankings(training, self._queries, self._rule)
        self._low, self._span = self._queries.spread
        order = self._order()
        turns = (self.rankings.stream(order) for _ in range(self._cycles))
        self._ahead = itertools.chain.from_iterable(turns)

    def _order(self) -> list[int]:
        """Return the features in the order in which a cycle takes them."""
        features = list(range(self.rankings.n_features))
        if self._first is None:
            return features
        slopes = [
            0.0 if found is None else abs(dot(self._first, self._output(found[1])))
            for found in self.rankings.stream(features)
        ]
        return best_first(slopes)

    def _output(self, positions: Floats) -> Floats:
        return (positions - self._low) / self._span

    def propose(self, potentials: Potentials) -> Candidate | None:
        """Return the next feature that helps."""
        pi = potentials.pi[: len(self._low)]
        for found in self._ahead:
            if found is None:
                continue
            output = self._output(found[1])
            slope = dot(pi, output) * potentials.scale
            if abs(slope) > NOISE:
                return Candidate(found[0], output, slope)
        return None


def best_first(values: Sequence[float]) -> list[int]:
    """Return positions by falling value; rounding errors do not order equal values.

    Examples
    --------
    >>> best_first([0.1, 0.3, 0.3 + 1e-15])
    [1, 2, 0]
    """
    top = max((abs(one) for one in values), default=0.0) or 1.0
    return sorted(range(len(values)), key=lambda j: -round(values[j] / top, 10))


# --- FeatureRank and BL-FeatureRank: rankings added up, and ranked again after every step
#
# Not the boosting loop: the sum is turned into ranks inside every query before the next
# ranking is added ("rank addition"), and weights belong to queries, not to pairs.


# Sums of E up to this are 0, and agreements this close are equal.
_ZERO = 1e-9
_EQUAL = 1e-12


@dataclass
class RankAdditionSteps:
    """The steps ``H <- ranks(keep * H + weight * h)`` of rank addition.

    Attributes
    ----------
    rankers, keeps, weights : lists, one entry per step
    trace : Trace
    """

    rankers: list[QuasiKNN] = field(default_factory=list)
    keeps: list[float] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    trace: Trace = field(default_factory=Trace)


def rank_weight(weights: Floats, agreement: Floats, smoothing: float) -> float:
    """Return ``.5 ln(sum w (1 + E) / sum w (1 - E))``, equation 11 of Wang et al.

    Where one of the sums is 0, every query being right (or wrong) in full, the weight would
    be infinite: both are then raised by a share of the whole.

    Examples
    --------
    >>> round(rank_weight(np.ones(2), np.array([0.2, 0.6]), 0.001), 9)
    0.42364893
    """
    whole = exact_sum(weights)  # (the order of the queries does not decide)
    right = exact_dot(weights, 1.0 + agreement) / (2.0 * whole)
    wrong = exact_dot(weights, 1.0 - agreement) / (2.0 * whole)
    if abs(right - wrong) <= _EQUAL:
        return 0.0  # (what rounding leaves of it would rank the rows that are equal so far)
    ratio = half_log_ratio(right, wrong, smoothing)
    assert ratio is not None  # (the smoothing is positive)
    return ratio


@dataclass(frozen=True, eq=False)
class Mixture:
    """The mixture ``a H + (1 - a) h`` that replaces a weak ranker h, query by query.

    Attributes
    ----------
    of_before : array over the queries
        a: 1 is H as it was, 0 is h, in between the mixture h''.
    agreement : array over the queries
        E of the mixture.
    """

    of_before: Floats
    agreement: Floats


def balanced_share(
    agreement: Agreement, before: Floats, past: Floats, ranking: Floats, sizes: Ints
) -> Mixture:
    """Return the best of h, h'' and H in every query (Wang et al., equation 13).

    ``h'' = beta H + (1 - beta) h`` with ``beta = E_H / (E_h + E_H)``. The preview h' of
    equation 14 is h'' times ``E_h + E_H`` and ranks alike. h'' is on offer where neither E
    is negative (as definition 1 asks of a weak ranker) and their sum is not 0, so that beta
    is a share. Equal ones: H before h'' before h.

    Parameters
    ----------
    agreement : Agreement
    before : array over the rows
        H, as positions.
    past : array over the queries
        E_H times the weight of the pairs.
    ranking : array over the rows
        h, as positions.
    sizes : int array
        Rows of every query.
    """
    own, pairs = agreement.net(ranking)
    total = own + past
    offered = (own >= 0.0) & (past >= 0.0) & (total > _ZERO * pairs)
    beta = np.where(offered, past / np.where(offered, total, 1.0), 1.0)
    # h' and not h'': whole numbers and halves, so that rounding breaks no tie.
    preview = np.repeat(past, sizes) * before + np.repeat(own, sizes) * ranking
    mixed = np.where(offered, agreement.net(preview)[0] / pairs, -np.inf)
    share, best = np.ones(len(past)), past / pairs
    for value, at in ((mixed, beta), (own / pairs, np.zeros(len(own)))):
        better = value > best + _EQUAL
        share[better], best[better] = at[better], value[better]
    return Mixture(share, best)


@dataclass(frozen=True, eq=False)
class _Judged:
    """A ranking of all queries with its agreement; net is right minus wrong pairs."""

    positions: Floats
    agreement: Floats
    net: Floats
    r1: float = 1.0
    r2: float = 0.5
    loss: float = 1.0


class RankAddition:
    """The algorithm: figures 2 and 3 of Wang et al.

    Parameters
    ----------
    rankings : FeatureRankings
    queries : RankedQueries
    agreement : Agreement
    query_weight : array over the queries
        Weight of each query.
    balance : {None, "mean", "figure"}
        None: FeatureRank. "mean": balance control, with the mean of its shares over the
        queries used for all of them, in training as in prediction, where the best is not
        known. "figure": balance control query by query in training; the model adds the weak
        rankers themselves, as figure 3 prints it.
    smoothing : float
        See `rank_weight`.
    threads : int
    """

    def __init__(
        self,
        rankings: FeatureRankings,
        queries: RankedQueries,
        agreement: Agreement,
        query_weight: Floats,
        balance: str | None = None,
        smoothing: float = 1e-3,
        threads: int = 1,
    ) -> None:
        self._rankings, self._queries, self._agreement = rankings, queries, agreement
        self._factor, self._balance = query_weight / exact_sum(query_weight), balance
        self._smoothing, self._threads = smoothing, threads
        self._sizes = np.diff(queries.starts)

    def run(self, order: str, cycles: int, progress: Progress | None = None) -> RankAdditionSteps:
        """Go through the features, as they come or the best first, several times."""
        steps = RankAdditionSteps()
        # H has no opinion at the start: E_H is 0 and every query weighs the same.
        nothing = np.zeros(len(self._sizes))
        now = _Judged(np.zeros(len(self._queries.labels)), nothing, nothing)
        plain = now.positions  # (H of the model, where training uses more than it does)
        features = self._order(order)
        for cycle in range(1, cycles + 1):
            for ranker, ranking in filter(None, self._rankings.stream(features)):
                began = time.perf_counter()
                share = self._share(now, ranking, first=not steps.rankers)
                weights = self._factor * exp(-now.agreement)
                weight = rank_weight(weights, share.agreement, self._smoothing)
                keep, add, scores = self._added(now.positions, ranking, share, weight)
                before, now = now, self._judged(self._ranked(scores))
                notes = {"cycle": float(cycle), **self._notes(share, now)}
                if self._balance == "figure":
                    plain = self._ranked(plain + weight * ranking)
                    notes["model_r2"] = self._judged(plain).r2
                steps.rankers.append(ranker)
                steps.keeps.append(keep)
                steps.weights.append(add)
                steps.trace.add(
                    Round(
                        ranker,
                        weight,
                        dot(weights, share.agreement) / float(weights.sum()),
                        now.loss / before.loss,
                        log(now.loss),
                        now.r1,
                        now.r2,
                        extras=notes,
                        seconds=time.perf_counter() - began,
                    )
                )
                if progress is not None and progress(len(steps.rankers), steps.trace):
                    steps.trace.stopped = STOPPED
                    return steps
        return steps

    def _order(self, order: str) -> list[int]:
        """Return the features in the order in which a cycle takes them."""
        features = list(range(self._rankings.n_features))
        if order == "given":
            return features
        found = self._rankings.stream(features)
        agreements = (None if one is None else self._agreement.of(one[1]) for one in found)
        return best_first(
            [-1.0 if one is None else exact_dot(self._factor, one) for one in agreements]
        )

    def _share(self, now: _Judged, ranking: Floats, first: bool) -> Mixture:
        if self._balance is None or first:
            return Mixture(np.zeros(len(self._sizes)), self._agreement.of(ranking))
        return balanced_share(self._agreement, now.positions, now.net, ranking, self._sizes)

    def _added(
        self, before: Floats, ranking: Floats, share: Mixture, weight: float
    ) -> tuple[float, float, Floats]:
        """Return the weights of H and of h in the model, and the sum that training ranks."""
        if self._balance == "figure":
            of_rows = np.repeat(share.of_before, self._sizes)
            return 1.0, weight, before + weight * (of_rows * before + (1.0 - of_rows) * ranking)
        mean = exact_dot(self._factor, share.of_before)
        keep, add = 1.0 + weight * mean, weight * (1.0 - mean)
        return keep, add, keep * before + add * ranking

    def _ranked(self, scores: Floats) -> Floats:
        starts, weight = self._queries.starts, self._queries.weight
        return middle_positions(scores, starts, weight=weight, threads=self._threads)

    def _judged(self, positions: Floats) -> _Judged:
        """Return a ranking with its agreement, risks and loss."""
        right, wrong, tied = self._agreement.counts(positions).T
        pairs = right + wrong + tied
        agreement = (right - wrong) / pairs
        r1 = dot(self._factor, (wrong + tied) / pairs)
        r2 = dot(self._factor, (wrong + tied / 2.0) / pairs)
        loss = dot(self._factor, exp(-agreement))
        return _Judged(positions, agreement, right - wrong, r1, r2, loss)

    def _notes(self, share: Mixture, after: _Judged) -> dict[str, float]:
        """Return further values for the trace."""
        # exp(2 T - 1) is at least 2 T, so half the loss bounds the mean Kendall distance.
        notes = {"bound": after.loss / 2.0}
        if self._balance is not None:
            kept, taken = share.of_before == 1.0, share.of_before == 0.0
            notes |= {
                "kept": dot(self._factor, kept),
                "mixed": dot(self._factor, ~kept & ~taken),
                "share_kept": dot(self._factor, share.of_before),
            }
        return notes


# --- DiffRank's step: RankBoost's third method, with the bound that it minimises


class DiffRankStep(BoundStep):
    """``.5 ln((1 + r) / (1 - r))``, equation 18 of Wang et al., and what it promises.

    Puts into the trace ``bound``, the product of the bounds on every Z so far (proof of
    lemma 4): ``(1 + r) / 2 e^-alpha + (1 - r) / 2 e^alpha``, which is ``sqrt(1 - r^2)`` at
    a learning rate of 1. The product of Z, the trace's ``loss``, is never above it, and
    the share of misordered pairs never above that (lemma 3).

    Parameters
    ----------
    smoothing, stop_when_perfect
        As in `Step`.
    """

    def __init__(self, smoothing: float = 1e-3, stop_when_perfect: bool = False) -> None:
        super().__init__(smoothing, stop_when_perfect)
        self._log_bound = 0.0

    def accept(self, candidate: Candidate, alpha: float) -> None:
        """Multiply the bound by that of the round."""
        r = min(1.0, max(-1.0, candidate.slope))
        right, wrong = (1.0 + r) / 2.0, (1.0 - r) / 2.0
        self._log_bound += log(right * exp(-alpha) + wrong * exp(alpha))

    def notes(self, potentials: Potentials) -> dict[str, float]:
        """Return the bound after all rounds so far."""
        return {"bound": exp(self._log_bound)}


# --- Parameters of the rankers that cut queries into intervals of relevance


#: Why a feature that has the same centre in every interval is ignored.
_WHERE = "on every row of a query that can be cut into intervals,"
USELESS = (f"is constant or abstains {_WHERE}", f"are constant or abstain {_WHERE}")


@with_parameters
class Intervals:
    """Rankers by intervals of relevance (quasi-KNN)."""

    n_intervals: int = parameter(
        int_between(2, MAX_INTERVALS),
        "Intervals of relevance, K in the paper: at least 2, which rank by the feature itself, up "
        "or down; at most the number of rows in the largest query. A query with fewer rows places "
        "no centre but is learned from all the same.",
        default=8,
        kw_only=False,
    )
    order: str = parameter(
        one_of("given", "best_first"),
        "Take the features as they come, or by falling agreement with the labels.",
        default="given",
    )
    centre: str = parameter(
        one_of(*CENTRES),
        "Whether the centre of an interval is the mean of all its values, or of its more relevant "
        "third, the middle one, the less relevant one.",
        default="mean",
    )
    cycles: int = parameter(
        int_between(1, 1_000_000), "How often to go through the features.", default=1
    )


# --- FeatureRank and its balance control, as a scikit-learn estimator


@with_parameters
class FeatureRank(Intervals, RoundRanker[RankAdditionRanker]):
    """Add up the rankings that features make inside queries (Wang et al., figure 2).

    Every feature, one after the other, ranks the rows of a query by where its value lies
    among the centres of intervals of relevance (quasi-KNN). The ranking is added with a
    weight that grows with its agreement with the labels, in the queries that are not yet
    right above all, and the sum is ranked again before the next feature comes.

    With balance control (section 4.3), meant to learn steadily, a ranking h is compared, query by
    query, with the ranking so far, H, and with a mixture h'' of both before it is added; the best
    of the three is added. Nobody knows the best at prediction. Each choice is a mixture
    ``a H + (1 - a) h``, so the mean of a over the training queries is kept, and
    ``H <- ranks((1 + lambda a) H + lambda (1 - a) h)`` is what both training and prediction do.
    That is our reading: the paper leaves it open. It need not be better on every data set.

    Its score is a rank inside the query: predict needs whole queries.

    Attributes
    ----------
    model_ : RankAdditionRanker
        What predict uses: the best steps, if an eval set decided which.
    ensemble_ : RankAdditionRanker
        All steps.
    trace_ : Trace
        What happened in every step: ``alpha`` is the weight (lambda), ``r`` the agreement E
        of the ranking that was added, ``r2`` the Kendall distance after it (mean over
        queries, a tie counted half), ``loss`` the mean of ``exp(-E)``, equation 10, and
        ``bound`` half of that, below which the Kendall distance stays. With balance control also
        ``kept`` and ``mixed``, the share of the queries in which H or h'' was best, and
        ``share_kept``, the mean of a.
    best_round_ : int
        Steps in ``model_``.

    Notes
    -----
    The paper orders strictly; here labels may tie. Rows of one label share the interval in
    which the middle of their positions lies. A row on which a feature abstains (NaN) ranks
    at the middle of its query by that feature.

    Agreement is ``E = 1 - 2 T`` with T the Kendall distance, a tie counted half, so that a
    ranking without an opinion has 0. A weight is negative where a ranking agrees less than
    that; definition 1 of the paper asks for more of a weak ranker, and the training summary
    counts such steps. Where every query is ranked right in full the weight would be infinite:
    half a pair is then added on both sides.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial.rankers import FeatureRank
    >>> X = np.array([[2.0, 9.0], [1.0, 7.0], [3.0, 8.0], [6.0, 6.0], [4.0, 2.0]])
    >>> ranker = FeatureRank(n_intervals=2).fit(X, [5, 4, 3, 2, 1])
    >>> ranker.predict(X).tolist()
    [5.0, 4.0, 3.0, 2.0, 1.0]
    >>> balanced = FeatureRank(n_intervals=2, cycles=2, balance_control="mean")
    >>> balanced.fit(X, [5, 4, 3, 2, 1]).predict(X).tolist()
    [5.0, 4.0, 3.0, 1.0, 2.0]
    """

    cycles: int = parameter(
        text="How often to go through the features, T in the paper.", default=1, kw_only=False
    )
    eval_metric: Measures | None = parameter(
        text="Measured on the eval set after every step; the first decides which steps to keep.",
        default=None,
    )
    early_stopping_rounds: int | None = fixed(default=None)
    stopping_tolerance: float = fixed(default=0.0)
    validation_fraction: float = fixed(default=0.2)
    balance_control: str | None = parameter(
        none_or(one_of("mean", "figure")),
        'Whether each addition is balanced (BL-FeatureRank). "mean": by the mean share over the '
        'training queries. "figure": figure 3 as it is printed; the weights are learned with the '
        "best of the three in every query, and predict adds the rankings h themselves; ``r2`` of "
        "the trace then is of a ranking that has seen the labels, and ``model_r2`` what the model "
        "reaches.",
        default=None,
    )

    def _fit(self, data: RankingInput, eval_rows: EvalRows | None) -> Self:
        feedback = data.label_feedback("queries")
        steps = self._add(data.instances, feedback)
        instances, trace, best = data.instances, steps.trace, len(steps.trace)
        bare = RankAdditionRanker(
            instances.n_features, steps.rankers, steps.keeps, steps.weights, instances.names
        )
        if eval_rows is not None:
            trace, best = self._evaluated(bare, trace, eval_rows)
        last = trace[-1] if len(trace) else None
        figures = {
            "kendall": 0.5 if last is None or last.r2 is None else last.r2,
            "negative_weights": sum(one.alpha < 0.0 for one in trace),
        }
        summary = self._set_trace(trace, best, figures, feedback, data.with_qid)
        self._set_ensemble(replace(bare, training=summary), best, data.with_qid)
        return self

    def _add(self, instances: Instances, feedback: LabelFeedback) -> RankAdditionSteps:
        """Run rank addition."""
        threads, queries = count_threads(self.n_jobs), RankedQueries.of(feedback)
        training = TrainingRows(instances, feedback.rows, feedback.weight, feedback.groups, threads)
        rule = IntervalRule(self.n_intervals, self.centre, type(self).__name__)
        rankings = FeatureRankings(training, queries, rule)
        rows = feedback.labelled()
        counted = np.ones(rows.layout.n_queries) if rows.query_weight is None else rows.query_weight
        algorithm = RankAddition(
            rankings,
            queries,
            Agreement(rows.layout, queries.weight, threads),
            np.where(rows.coefficient > 0.0, counted, 0.0),  # (0 for pairs that weigh nothing)
            self.balance_control,
            smoothing_of(feedback.total),
            threads,
        )
        rounds = self.cycles * instances.n_features
        with show_rounds(rounds, self.verbose) as shown:
            progress = with_callbacks(shown, rounds, self.callbacks)
            steps = algorithm.run(self.order, self.cycles, progress)
        warn_ignored(rankings.useless, USELESS, instances)
        if not steps.rankers:
            steps.trace.stopped = "no weak ranker helps"
            warn_caller(
                "no step could be made: no feature ranks anything. All ranks are equal.",
                NoProgressWarning,
            )
        return steps

    def _evaluated(
        self, model: RankAdditionRanker, trace: Trace, rows: EvalRows
    ) -> tuple[Trace, int]:
        """Return the trace with the measures of an eval set, and the best number of steps."""
        watch = self._watch(rows)
        measured = Trace()
        for entry, scores in zip(
            trace, model.staged_predict(rows.instances, rows.groups), strict=True
        ):
            watch.scores = scores
            measured.add(replace(entry, measures=watch.look()))
        measured.stopped = trace.stopped
        return measured, watch.best_round


# --- DiffRank, as a scikit-learn estimator


@with_parameters
class DiffRank(Intervals, BoostedRanker):
    """Boost the rankings that features make inside queries (Wang et al., figure 4).

    RankBoost's third method, with other weak rankers: every feature, one after the other,
    ranks the rows of a query by where its value lies among the centres of intervals of
    relevance (quasi-KNN), so that a feature may be good in the middle of its range and bad
    at both ends. Ranks are divided by ``n_q - 1``, one less than the rows of the query. The
    share of misordered training pairs is never above the product of Z, which the trace has
    as ``loss`` (lemma 3).

    Its scores depend on the other rows of the query: predict needs whole queries.

    Attributes
    ----------
    trace_ : Trace
        What happened in every round. ``loss`` is the product of Z, ``bound`` what the step
        promises of it.

    Notes
    -----
    The paper orders strictly; here labels may tie. Rows of one label share the interval in
    which the middle of their positions lies. A row on which a feature abstains (NaN) ranks
    at the middle of its query by that feature.

    Figure 4 writes ``i < prec``; the position ``prec`` itself is taken in here.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial.rankers import DiffRank
    >>> X = np.array([[2.0, 9.0], [1.0, 7.0], [3.0, 8.0], [6.0, 6.0], [4.0, 2.0]])
    >>> ranker = DiffRank(n_intervals=2).fit(X, [5, 4, 3, 2, 1])
    >>> ranker.rank(X).tolist()
    [1, 2, 3, 4, 5]
    """

    bounded_risk = "R1"
    _shared_order = ("centre", "order", "cycles", "learning_rate", *BoostedRanker._shared_order)

    prec: int | float | None = parameter(
        none_or(either(at_least(1), between(0, 1, low_open=True, noun="share"))),
        "Learn from the pairs whose better row is among the first ``prec`` positions of its query: "
        "a number of positions, the last included, or a share of them. None: all pairs. Rows of "
        "equal labels share the best of their positions.",
        default=None,
        kw_only=False,
    )
    order: str = parameter(
        text="Take the features as they come, or by falling ``|r|`` before the first round.",
        default="given",
    )
    learning_rate: float = parameter(
        text="Factor on every weight, in (0, 1]; the paper's is 1.", default=1.0
    )
    record_risks: bool = parameter(
        text="Record R1 and R2 on the training pairs in the trace, every round: R2 is the Kendall "
        "distance, a tie counted half.",
        default=False,
    )
    gain: None = fixed(default=None)
    subsample: float = fixed(default=1.0)
    contradictions: str = fixed(default="keep")
    n_bags: int = fixed(default=1)
    warm_start: bool = fixed(default=False)

    if TYPE_CHECKING:
        n_estimators: int = fixed(default=1)
    else:

        @property
        def n_estimators(self) -> int:
            """Rounds at most: every feature in every cycle."""
            return self.cycles * int(getattr(self, "n_features_in_", 1))

    def _label_feedback(self, data: RankingInput) -> LabelFeedback:
        return TopFeedback(
            data.known_labels,
            data.groups,
            first=self.prec,
            weight=data.weight,
            balance=self.balance,
            query_weight=data.query_weight,
        )

    def _parts(self, feedback: Feedback) -> Algorithm:
        first = None
        if self.order == "best_first":
            first = feedback.potentials(np.zeros(feedback.n_rows))[feedback.rows]
        rule = IntervalRule(self.n_intervals, self.centre, type(self).__name__)
        self._learner = QuasiKNNLearner(RankedQueries.of(feedback), rule, first, self.cycles)
        return ExponentialLoss(), self._learner, DiffRankStep(*self._perfect(feedback))

    def _after_fit(self, ensemble: Ensemble, instances: Instances) -> None:
        warn_ignored(self._learner.rankings.useless, USELESS, instances)
        del self._learner  # (it keeps the data)

    def fit_pairs(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: intervals of relevance are made of labels."""
        raise NotRankedError(
            f"{type(self).__name__} cannot learn from pairs: it cuts queries into intervals by "
            "label. Use fit(X, y, qid=...), or RankBoost for pairs."
        )

    def to_classifier(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: the score of a row depends on the other rows of its query."""
        raise NotRankedError(
            f"{type(self).__name__} makes no classifier: it ranks a row against the others that "
            "come with it, and has no score for a row alone. Use RankBoost."
        )
