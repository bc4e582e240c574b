"""Feedback from explicit pairs, and sums of feedbacks: judges, labels and pairs, contradictions."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crucial.data.arrays import as_array, as_reals, check_room, check_sum
from crucial.errors import DataError, NoPairError, about
from crucial.feedback.base import (
    Feedback,
    ListedPairs,
    Output,
    PairMargins,
    PairState,
    SumMargins,
    draw_share,
    finite_total,
    padded,
    power_of_two_scale,
)
from crucial.feedback.labels import LabelFeedback, Risks, check_labels, check_weights, wrong_unit_of
from crucial.kernels.elementary import ExactSum, exact_sum, exp, log, to_fixed
from crucial.parameters import check, one_of
from crucial.types import Bools, Codes, Floats, Ints, VectorLike

# --- Explicit pairs under changing scores


class ExplicitState:
    """See `crucial.feedback.base.PairState`; every question costs O(pairs).

    Sums over pairs are exact, or sums of whole numbers, so that pairs may be in any order.

    Parameters
    ----------
    pairs : ListedPairs
    n_rows : int
    """

    def __init__(self, pairs: ListedPairs, n_rows: int) -> None:
        self.scores = np.zeros(n_rows)
        self._pairs = pairs
        with np.errstate(divide="ignore"):  # (far smaller than the largest: 0)
            self._log_weight = log(pairs.weight)
        self._drawn: Bools | None = None
        self._start = log(exact_sum(pairs.weight))
        self._d: Floats | None = None  # weights of the pairs drawn, the largest of all 1
        self._total = 0.0
        self._units: Ints | None = None  # the same, as whole numbers

    def _logs(self) -> Floats:
        """Return the logarithm of the weight of every pair."""
        return self._log_weight + self.scores[self._pairs.low] - self.scores[self._pairs.high]

    def _weigh(self, logs: Floats) -> Floats:
        """Return the weights of the pairs drawn, over the largest of them."""
        peak = -math.inf
        if self._drawn is not None:
            peak = float(logs[self._drawn].max(initial=-math.inf))
        if self._drawn is None or peak == -math.inf:  # (no pair drawn weighs anything: all count)
            self._d = exp(logs - float(logs.max(initial=-math.inf)))
        else:
            self._d = exp(np.where(self._drawn, logs - peak, -math.inf))
        self._total = exact_sum(self._d)
        return self._d

    def _current(self) -> Floats:
        """Return the weights of the pairs drawn at the current scores."""
        return self._weigh(self._logs()) if self._d is None else self._d

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Write the potentials by one pass over the pairs."""
        logs = self._logs()
        self._pairs.write_potentials(self._weigh(logs), len(self.scores), pi)
        self._units = None
        every, peak = self._total, float(logs.max(initial=-math.inf))
        if self._drawn is not None:
            every = exact_sum(exp(logs - peak))
        return 1.0 / self._total, peak + log(every) - self._start

    def advance(self, output: Output, alpha: float) -> None:
        """Add ``alpha * output`` to the scores."""
        self.scores += alpha * output[: len(self.scores)]
        self._d = self._units = None

    @property
    def curvature(self) -> Floats:
        """Weight of all pairs that a row is in."""
        n, (high, low, _), d = len(self.scores), self._pairs, self._current()
        return np.add(np.bincount(high, d, n), np.bincount(low, d, n))

    def binary_weights(self, output: Output) -> tuple[float, float]:
        """Return W+ and W- of a {0, 1} ranker."""
        d, high, low = self._current(), output[self._pairs.high], output[self._pairs.low]
        return exact_sum(d[high > low]) / self._total, exact_sum(d[high < low]) / self._total

    def moments(self, output: Output) -> tuple[float, float]:
        """Return mean and mean square of the margins gained."""
        d, margin = self._current(), self._pairs.margins(output)
        gained, value = d * margin, exact_sum(d)
        return exact_sum(gained) / value, exact_sum(gained * margin) / value

    def wrong_weights(self, codes: Codes, n_bins: int, missing_rank: int, out: Floats) -> None:
        """Write W- of every threshold: a pair is wrong between the codes of its rows."""
        place = codes[: len(self.scores)].astype(np.int64) + 1
        if not missing_rank:
            place[place == n_bins + 1] = 0
        high, low = place[self._pairs.high], place[self._pairs.low]
        wrong, (begin, end) = high < low, np.zeros((2, n_bins + 2), np.int64)
        units = self._in_units()[wrong]
        np.add.at(begin, high[wrong], units)
        np.add.at(end, low[wrong], units)
        # (as in `LabelState.wrong_weights`)
        found = np.maximum(np.cumsum(begin - end)[: n_bins + 1], 0)
        np.multiply(found, wrong_unit_of(self._total) / self._total, out=out)

    def _in_units(self) -> Ints:
        """Return the weights of the pairs as whole numbers of a unit."""
        if self._units is None:
            d = self._current()
            self._units = to_fixed(d, wrong_unit_of(self._total), 1)
        return self._units

    def prepare_scan(self) -> None:
        """Make what `wrong_weights` shares between features, before threads ask for it."""
        self._in_units()

    def risks(self) -> tuple[float, float]:
        """Return R1 and R2 of the current scores."""
        margin, weight = self._pairs.margins(self.scores), self._pairs.weight
        risks = Risks(ExactSum.of(weight[margin < 0]), ExactSum.of(weight[margin == 0]))
        return risks.shares(self._start)

    def subsample(self, fraction: float, random: np.random.Generator) -> None:
        """Use only a random share of the pairs, at least one."""
        n = len(self._log_weight)
        self._drawn = np.zeros(n, bool)
        self._drawn[draw_share(np.arange(n), fraction, random)] = True
        self._d = self._units = None

    def copy(self) -> ExplicitState:
        """Return a copy of the drawn pairs that can be moved without moving this state."""
        other = copy.copy(self)
        other.scores = self.scores.copy()
        if self._drawn is not None:
            other._log_weight = np.where(self._drawn, self._log_weight, -np.inf)
            other._drawn = None
        return other


# --- Feedback from explicit pairs: contradictions and cycles allowed


# Weights of opposite pairs that differ by less than this share are equal.
_ROUNDING = 1e-12


class PairFeedback(Feedback):
    """Weighted pairs (winner, loser) of row numbers.

    Parameters
    ----------
    pairs : int array of shape (n_pairs, 2)
        Row numbers, from 0: the winner, then the loser.
    n_rows : int
        Rows of the instances.
    weight : array of shape (n_pairs,), optional
        Importance of each pair; the weights of a repeated pair add up.
    contradictions : {"keep", "net"}
        If both (a, b) and (b, a) occur: keep both (Freund et al. 2003, footnote 1), or only
        the difference of their weights (the antisymmetric feedback of its text).

    Examples
    --------
    >>> feedback = PairFeedback([(0, 1), (1, 2), (0, 1)], 3)
    >>> feedback.n_pairs, feedback.total
    (2, 3.0)
    """

    def __init__(
        self,
        pairs: ArrayLike,
        n_rows: int,
        *,
        weight: VectorLike | None = None,
        contradictions: str = "keep",
    ) -> None:
        check("PairFeedback", "contradictions", contradictions, one_of("keep", "net"))
        table = _check_pairs(pairs, n_rows)
        weights = check_weights(weight, len(table), "pair_weight")
        w = np.ones(len(table)) if weights is None else weights
        high, low, w = add_up(table, w, n_rows, contradictions)
        if not len(w):
            raise DataError(
                "No comparable pair: every pair is contradicted with the same weight, or has "
                "weight 0."
            )
        self.n_rows = n_rows
        self.weight = None
        self.n_pairs = len(w)
        self.n_queries, self.n_skipped = 0, 0  # (pairs belong to none)
        self.rows = np.unique(np.concatenate((high, low)))
        scale = power_of_two_scale(float(w.max()))
        places = (np.searchsorted(self.rows, high), np.searchsorted(self.rows, low))
        self._pairs = ListedPairs(*places, w * scale)
        self.total = finite_total(exact_sum(self._pairs.weight) / scale)

    def state(self, threads: int = 1) -> PairState:
        """Return the state of ``self.rows`` at scores of 0."""
        return ExplicitState(self._pairs, len(self.rows))

    def pairs_at(self, numbers: Ints) -> ListedPairs:
        """Return the pairs with these numbers."""
        high, low, weight = self._pairs
        return ListedPairs(high[numbers], low[numbers], weight[numbers] / weight.sum())

    def listed(self) -> ListedPairs:
        """Return the distinct pairs; their weights are correct up to a common factor."""
        return self._pairs

    def log_lightest(self) -> float:
        """Return the logarithm of the weight of the lightest pair, as a share of all weight."""
        weight = self._pairs.weight
        return log(float(weight[weight > 0].min())) - log(float(weight.sum()))

    def margins(self, scores: Floats) -> Floats:
        """Return the margin of every distinct pair, for scores like ``rows``."""
        return self._pairs.margins(scores)

    def margin_range(self, scores: Floats) -> tuple[float, float]:
        """Return the smallest and largest margin, for scores like ``rows``."""
        margins = self.margins(scores)
        return float(margins.min()), float(margins.max())

    def margin_counts(self, scores: Floats, threads: int = 1) -> PairMargins:
        """Return the distribution of the margins."""
        return PairMargins(self._pairs, scores)


def _check_pairs(pairs: ArrayLike, n_rows: int) -> Ints:
    """Return pairs of row numbers as a table of two columns."""
    table = as_array(pairs, "pairs")
    if table.size == 0:
        raise DataError("pairs is empty: give at least one (winner, loser) pair of row numbers.")
    if table.ndim != 2 or table.shape[1] != 2:
        raise DataError(
            f"pairs must have two columns (winner, loser). Got an array of shape {table.shape}."
        )
    if table.dtype.kind not in "iu":
        try:
            if table.dtype.kind == "c":
                raise TypeError
            with np.errstate(invalid="ignore"):
                whole = table.astype(np.int64)
            same = bool((whole == table.astype(np.float64)).all())
        except (TypeError, ValueError, OverflowError):
            same = False
        if not same:
            raise DataError(
                f"pairs must be row numbers (integers from 0). Got values of type {table.dtype}."
            )
        table = whole
    outside = (table < 0) | (table >= n_rows)
    if outside.any():
        at = int(np.flatnonzero(outside.any(axis=1))[0])
        raise DataError(
            f"pair {at} is ({table[at, 0]}, {table[at, 1]}), but rows go from 0 to {n_rows - 1}."
        )
    selfish = np.flatnonzero(table[:, 0] == table[:, 1])
    if len(selfish):
        raise DataError(f"pair {selfish[0]} compares row {table[selfish[0], 0]} with itself.")
    return table.astype(np.int64)


def add_up(
    table: Ints, weight: Floats, n_rows: int, contradictions: str
) -> tuple[Ints, Ints, Floats]:
    """Return winner, loser and summed weight of the distinct pairs, contradictions resolved.

    Parameters
    ----------
    table : int array of shape (n_pairs, 2)
    weight : array of shape (n_pairs,)
    n_rows : int
    contradictions : {"keep", "net"}
    """
    key, inverse = np.unique(table[:, 0] * n_rows + table[:, 1], return_inverse=True)
    with np.errstate(over="ignore"):
        summed = np.bincount(inverse, weight, len(key)).astype(np.float64)
    if not np.isfinite(summed).all():
        raise DataError("pair_weight: the weights of a repeated pair add up to infinity.")
    high, low = np.divmod(key, n_rows)
    if contradictions == "net":
        reverse = low * n_rows + high
        at = np.minimum(np.searchsorted(key, reverse), len(key) - 1)
        against = np.where(key[at] == reverse, summed[at], 0.0)
        # Weights that differ by rounding are equal: .1 + .2 against .3 leaves nothing.
        summed = np.where(summed - against > _ROUNDING * against, summed - against, 0.0)
    kept = summed > 0
    return high[kept], low[kept], summed[kept]


# --- Sums of feedbacks: labels and pairs together


_LEAST_SHARE = 1e-300


class SumFeedback(Feedback):
    """The pairs of several feedbacks over the same rows.

    Parameters
    ----------
    parts : sequence of Feedback
    factors : sequence of numbers, optional
        On the weights of the pairs of each part; 1 by default, so that all pairs keep theirs.

    Examples
    --------
    >>> from crucial.feedback.labels import LabelFeedback
    >>> from crucial.feedback.pairs import PairFeedback
    >>> both = SumFeedback([LabelFeedback([1, 0, 0]), PairFeedback([(1, 2)], 3)])
    >>> both.n_pairs, both.total
    (3, 3.0)
    """

    def __init__(
        self, parts: Sequence[Feedback], factors: Sequence[float] | Floats | None = None
    ) -> None:
        if not parts:
            raise DataError("a sum of feedbacks needs at least one part.")
        sizes = {part.n_rows for part in parts}
        if len(sizes) > 1:
            raise DataError(
                f"feedbacks to be added have different numbers of rows: {sorted(sizes)}."
            )
        self.factors = np.ones(len(parts)) if factors is None else np.asarray(factors, np.float64)
        usable = (self.factors > 0) & np.isfinite(self.factors)
        if self.factors.shape != (len(parts),) or not usable.all():
            raise DataError(
                f"factors must be one positive finite number per part. Got {factors!r}."
            )
        own = np.array([finite_total(p.total * f) for p, f in zip(parts, self.factors.tolist())])
        self.parts = tuple(parts)
        # (first: the sum of large ones overflows; and the logarithm of a share is a number)
        shares = np.maximum(own / own.max(), _LEAST_SHARE)
        self.shares = shares / shares.sum()
        self.n_rows = parts[0].n_rows
        # The order of the largest part: it works on contiguous rows, the others gather.
        largest = self._largest = max(parts, key=lambda p: len(p.rows))
        extra = np.setdiff1d(np.concatenate([p.rows for p in parts]), largest.rows)
        self.rows = np.concatenate((largest.rows, extra)) if len(extra) else largest.rows
        self.weight = _row_weights(parts, self.rows)
        self.n_pairs = sum(p.n_pairs for p in parts)
        self.total = finite_total(math.fsum(own.tolist()))
        self.n_queries = sum(p.n_queries for p in parts)
        self.n_skipped = sum(p.n_skipped for p in parts)

    def state(self, threads: int = 1) -> PairState:
        """Return the state of ``self.rows`` at scores of 0."""
        place = self._places()
        at = [
            slice(len(part.rows)) if part is self._largest else place[part.rows]
            for part in self.parts
        ]
        states = [part.state(threads) for part in self.parts]
        return SumState(states, at, self.shares, len(self.rows))

    def _places(self) -> Ints:
        """Return where every row is among ``self.rows``; -1 for those without a pair."""
        place = np.full(self.n_rows, -1, np.int64)
        place[self.rows] = np.arange(len(self.rows))
        return place

    def pairs_at(self, numbers: Ints) -> ListedPairs:
        """Return the pairs with these numbers, those of one part after those of another."""
        place = self._places()
        start = np.concatenate(([0], np.cumsum([part.n_pairs for part in self.parts])))
        owner = np.searchsorted(start, numbers, "right") - 1
        high, low = np.empty(len(numbers), np.int64), np.empty(len(numbers), np.int64)
        weight = np.empty(len(numbers))
        for number, (part, share) in enumerate(zip(self.parts, self.shares)):
            mine = owner == number
            h, l, w = part.pairs_at(numbers[mine] - start[number])
            high[mine], low[mine] = place[part.rows[h]], place[part.rows[l]]
            weight[mine] = share * w
        return ListedPairs(high, low, weight)

    def log_lightest(self) -> float:
        """Return the logarithm of the weight of the lightest pair, as a share of all weight."""
        logs = log(self.shares) + [part.log_lightest() for part in self.parts]
        return float(logs.min())

    def margin_range(self, scores: Floats) -> tuple[float, float]:
        """Return the smallest and largest margin, for scores like ``rows``."""
        ranges = [part.margin_range(own) for part, own in self._parted(scores)]
        return min(low for low, _ in ranges), max(high for _, high in ranges)

    def margin_counts(self, scores: Floats, threads: int = 1) -> SumMargins:
        """Return the distribution of the margins; a part weighs what its own pairs do."""
        parted = self._parted(scores)
        return SumMargins(
            [
                (part.margin_counts(own, threads), finite_total(part.total * factor))
                for (part, own), factor in zip(parted, self.factors.tolist())
            ]
        )

    def _parted(self, scores: Floats) -> list[tuple[Feedback, Floats]]:
        """Return every part with the scores of its rows."""
        everywhere = np.zeros(self.n_rows)
        everywhere[self.rows] = scores
        return [(part, everywhere[part.rows]) for part in self.parts]


def _row_weights(parts: Sequence[Feedback], rows: Ints) -> Floats | None:
    """Return the weights that rows have in the last part that has some; None without weights."""
    if all(part.weight is None for part in parts):
        return None
    per_row = np.ones(parts[0].n_rows)
    for part in parts:
        if part.weight is not None:
            per_row[part.rows] = part.weight
    return per_row[rows]


class SumState:
    """State of the exponential loss over a sum of feedbacks.

    Parameters
    ----------
    states : sequence of PairState
        One per part.
    at : sequence of slices or int arrays
        Where the rows of each part are among those of the sum.
    shares : array
    n_rows : int
        Of the sum.
    """

    def __init__(
        self, states: Sequence[PairState], at: Sequence[slice | Ints], shares: Floats, n_rows: int
    ) -> None:
        self.scores = np.zeros(n_rows)
        self._parts = list(zip(states, at, strict=True))
        self._start = log(shares)
        self._now = shares
        self._scale = shares  # on the potentials of each part

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Write the potentials of the parts, each by its share of the loss."""
        columns = [np.zeros(padded(len(state.scores))) for state, _ in self._parts]
        found = [state.potentials(own) for (state, _), own in zip(self._parts, columns)]
        log_loss = self._start + np.array([f[1] for f in found])
        top = float(log_loss.max())
        now = exp(log_loss - top)
        self._now = now / now.sum()
        pi[:] = 0.0
        self._scale = self._now * [scale for scale, _ in found]
        for scale, own, (state, at) in zip(self._scale, columns, self._parts):
            pi[at] += scale * own[: len(state.scores)]
        return 1.0, top + log(float(now.sum()))

    def advance(self, output: Output, alpha: float) -> None:
        """Add ``alpha * output`` to the scores."""
        self.scores += alpha * output[: len(self.scores)]
        for state, at in self._parts:
            state.advance(output[at], alpha)

    @property
    def curvature(self) -> Floats:
        """Weight of all pairs that a row is in, of all parts."""
        out = np.zeros(len(self.scores))
        for scale, (state, at) in zip(self._scale, self._parts):
            out[at] += scale * state.curvature
        return out

    def binary_weights(self, output: Output) -> tuple[float, float]:
        """Return W+ and W- of a {0, 1} ranker."""
        return _mixed(self._now, [state.binary_weights(output[at]) for state, at in self._parts])

    def moments(self, output: Output) -> tuple[float, float]:
        """Return mean and mean square of the margins gained."""
        return _mixed(self._now, [state.moments(output[at]) for state, at in self._parts])

    def wrong_weights(self, codes: Codes, n_bins: int, missing_rank: int, out: Floats) -> None:
        """Write W- of every threshold of one feature."""
        out[:] = 0.0
        for share, (state, at) in zip(self._now, self._parts):
            own = np.zeros_like(out)
            state.wrong_weights(codes[at], n_bins, missing_rank, own)
            out += share * own

    def prepare_scan(self) -> None:
        """Make what `wrong_weights` shares between features."""
        for state, _ in self._parts:
            state.prepare_scan()

    def risks(self) -> tuple[float, float]:
        """Return R1 and R2 of the current scores."""
        return _mixed(exp(self._start), [state.risks() for state, _ in self._parts])

    def subsample(self, fraction: float, random: np.random.Generator) -> None:
        """Count only a random share of the queries (or pairs) of every part."""
        for state, _ in self._parts:
            state.subsample(fraction, random)

    def copy(self) -> SumState:
        """Return a copy of the drawn pairs that can be moved without moving this state."""
        other = copy.copy(self)
        other.scores = self.scores.copy()
        other._parts = [(state.copy(), at) for state, at in self._parts]
        return other


def _mixed(shares: Floats, values: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the sums of both values of the parts, each times its share."""
    one, other = (shares[:, None] * np.array(values)).sum(axis=0).tolist()
    return one, other


# --- Contradictions between feedbacks, netted: of two opposite pairs only the difference stays
#
# The antisymmetric feedback of Freund et al. (2003, section 2), over all parts of a sum. Pairs that
# labels imply must be listed where another part contradicts them. Of labels and explicit pairs,
# these are the pairs of one row of every contradicted pair; of several judges, who may contradict
# each other in any pair, all pairs.


# Row numbers, weights and what sorting them takes for a moment.
_BYTES_PER_PAIR = 100


def net_feedback(
    labels: Sequence[LabelFeedback],
    explicit: PairFeedback | None = None,
    factors: Sequence[float] | Floats | None = None,
) -> Feedback:
    """Add feedbacks up and net the contradictions between them.

    Parameters
    ----------
    labels : sequence of LabelFeedback
        At least one, all over the same rows.
    explicit : PairFeedback, optional
    factors : sequence of numbers, optional
        Factor on the pairs of each of the labels; 1 by default.

    Raises
    ------
    DataError
        If nothing is left, or the pairs to be listed do not fit into memory.

    Examples
    --------
    >>> left = net_feedback([LabelFeedback([2, 1, 0])], PairFeedback([(2, 0)], 3))
    >>> left.n_pairs, left.potentials([0, 0, 0]).round(9).tolist()
    (2, [0.5, 0.0, -0.5])
    """
    scale = np.ones(len(labels)) if factors is None else np.asarray(factors, np.float64)
    if len(labels) > 1:
        _check_room(sum(part.n_pairs for part in labels))
        parts = [_absolute(part, factor) for part, factor in zip(labels, scale.tolist())]
        if explicit is not None:
            parts.append(_absolute(explicit))
        return _something(_netted(parts, labels))
    if explicit is None:
        return labels[0]
    return _net_with_pairs(labels[0], explicit, float(scale[0]))


def _net_with_pairs(labels: LabelFeedback, explicit: PairFeedback, factor: float) -> Feedback:
    """Net the pairs that labels imply with explicit ones."""
    pairs = _absolute(explicit)
    place = np.full(labels.n_rows, -1, np.int64)
    place[labels.rows] = np.arange(len(labels.rows))
    rows = labels.labelled()
    high, low = place[pairs.low], place[pairs.high]  # (the way that labels would contradict)
    against = rows.are_pairs(high, low)
    if not against.any():
        return SumFeedback([labels, explicit], factors=[factor, 1.0])
    chosen = _cover(high[against], low[against])
    _check_room(rows.count_pairs_of(chosen))
    listed = rows.pairs_of(chosen)
    weight = rows.pair_weights(*listed) * labels.total * factor
    of_labels = ListedPairs(labels.rows[listed[0]], labels.rows[listed[1]], weight)
    rest = labels.without(chosen)
    netted = _netted([pairs, of_labels], [labels])
    if rest is None or netted is None:
        return _something(netted if rest is None else rest)
    return SumFeedback([rest, netted], factors=[factor, 1.0])


def _something(feedback: Feedback | None) -> Feedback:
    """Refuse an empty feedback."""
    if feedback is None:
        raise DataError(
            "No comparable pair: every pair is contradicted with the same weight, by labels or by "
            "other pairs, and contradictions='net' leaves nothing to learn."
        )
    return feedback


def _cover(high: Ints, low: Ints) -> Ints:
    """Return one place of every pair, preferably one of many pairs."""
    degree = np.bincount(np.concatenate((high, low)))
    return np.unique(np.where(degree[high] >= degree[low], high, low))


def _absolute(part: Feedback, factor: float = 1.0) -> ListedPairs:
    """Return all pairs of a feedback, by row number and with their own weights."""
    high, low, share = part.pairs_at(np.arange(part.n_pairs))
    return ListedPairs(part.rows[high], part.rows[low], share * part.total * factor)


def _netted(parts: Sequence[ListedPairs], labels: Sequence[LabelFeedback]) -> PairFeedback | None:
    """Net listed pairs; rows keep the weights that they have among the labels, for the bins."""
    n_rows = labels[0].n_rows
    high = np.concatenate([one.high for one in parts])
    low = np.concatenate([one.low for one in parts])
    weight = np.concatenate([one.weight for one in parts])
    high, low, weight = add_up(np.column_stack((high, low)), weight, n_rows, "net")
    if not len(weight):
        return None
    netted = PairFeedback(np.column_stack((high, low)), n_rows, weight=weight)
    netted.weight = _row_weights(labels, netted.rows)
    return netted


def _check_room(n_pairs: int) -> None:
    """Refuse pairs that would take more than half of the free memory."""
    what = f"contradictions='net': {n_pairs:,} pairs that labels imply and others may contradict"
    check_room(n_pairs * _BYTES_PER_PAIR, what, "Use contradictions='keep', which lists none.")


# --- Labels by several judges over the same rows: one column each


def check_judges(y: VectorLike, n_rows: int) -> Floats:
    """Return labels of several judges as floats, one column each; NaN is a row without a label."""
    table = as_array(y, "y")
    if len(table) != n_rows:
        check_labels(table[:, 0], n_rows)  # (refuses the number of rows)
    columns = []
    for j in range(table.shape[1]):
        labels = table[:, j]
        there = ~_missing(labels)
        column = np.full(len(labels), np.nan)
        with about(f"judge {j} (column {j} of y)"):
            if there.any():
                column[there] = check_labels(labels[there])
        columns.append(column)
    return np.column_stack(columns)


def _missing(labels: NDArray[Any]) -> Bools:
    """Return which labels are NaN, None or another mark of a missing value."""
    if labels.dtype.kind == "f":
        return np.asarray(np.isnan(labels))
    return np.array([one is None or _differs_from_itself(one) for one in labels.tolist()], bool)


def _differs_from_itself(value: Any) -> bool:
    try:
        return bool(value != value)
    except TypeError:  # (pandas' NA has no truth value)
        return True


def check_judge_weights(weight: VectorLike | None, n_judges: int) -> Floats:
    """Return one positive weight per judge."""
    if weight is None:
        return np.ones(n_judges)
    values = as_reals(weight, "judge_weight")
    if values.shape != (n_judges,):
        raise DataError(
            f"judge_weight must be one number for each of the {n_judges} judges, the columns of "
            f"y. Got an array of shape {values.shape}.",
            parameter="judge_weight",
        )
    wrong = np.flatnonzero(~((values > 0) & np.isfinite(values)))
    if len(wrong):
        raise DataError(
            f"judge_weight must be positive and finite. Judge {wrong[0]} has {values[wrong[0]]}; "
            "leave the columns of judges out who should not count.",
            parameter="judge_weight",
        )
    check_sum(values, "judge_weight")
    return values


def judge_parts(
    labels: Floats, weight: Floats | None, make: Callable[[Floats, Floats | None], LabelFeedback]
) -> dict[int, LabelFeedback]:
    """Return the feedback of every judge whose labels imply a pair, by the judge's number.

    Parameters
    ----------
    labels : array of shape (n_rows, n_judges)
        As `check_judges` returns them.
    weight : array of shape (n_rows,), or None
        Instance weights.
    make : function of labels and weights
        Returns the feedback of one judge.
    """
    parts: dict[int, LabelFeedback] = {}
    for j, column in enumerate(labels.T):
        there = ~np.isnan(column)
        if not there.any():
            continue
        own = weight
        if not there.all():
            own = np.where(there, 1.0 if weight is None else weight, 0.0)
        with about(f"judge {j} (column {j} of y)"), suppress(NoPairError):
            parts[j] = make(np.where(there, column, 0.0), own)
    return parts


def add_feedback(
    labels: Sequence[LabelFeedback],
    judge_weight: Floats,
    explicit: PairFeedback | None,
    contradictions: str,
) -> Feedback:
    """Return the sum of what judges and explicit pairs say.

    Parameters
    ----------
    labels : sequence of LabelFeedback
        One per judge.
    judge_weight : array of shape (n_judges,)
        Factor on the pairs of each judge.
    explicit : PairFeedback or None
    contradictions : {"keep", "net"}
        Whether opposite pairs, also of different parts, are all kept, or netted.
    """
    if not labels:
        assert explicit is not None
        return explicit
    if contradictions == "net":
        return net_feedback(labels, explicit, judge_weight)
    parts: list[Feedback] = list(labels)
    factors = judge_weight.tolist()
    if explicit is not None:
        parts, factors = [*parts, explicit], [*factors, 1.0]
    if len(parts) == 1:
        return parts[0]
    added = SumFeedback(parts, factors=factors)
    # Judges look at the same queries.
    queries = [part.labelled().layout.queries for part in labels]
    added.n_queries = len(np.unique(np.concatenate(queries)))
    added.n_skipped = labels[0].groups.n_groups - added.n_queries
    return added
