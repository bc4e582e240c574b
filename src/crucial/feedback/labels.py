"""Feedback from labels: every row above the rows of its query with a lower label, never listed."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from crucial.data.arrays import as_array, as_reals, check_sum, complex_error
from crucial.data.groups import Groups
from crucial.errors import DataError, NoPairError, in_short
from crucial.feedback.base import (
    DrawnShare,
    Feedback,
    LabelledRows,
    LabelMargins,
    Layout,
    Least,
    ListedPairs,
    Most,
    Output,
    PairState,
    TwoClasses,
    finite_total,
    log_lightest_pairs,
    margin_range,
    padded,
    power_of_two_scale,
    risks_of,
)
from crucial.kernels.elementary import ExactSum, exp, exp2, log, unit_for
from crucial.kernels.pairs import PairSums, advance_binary, log_shift, sums_below
from crucial.parameters import check, lookup, one_of
from crucial.types import Bools, Codes, Floats, Ints, VectorLike
from crucial.wording import counted

# --- Label feedback under changing scores, without its pairs


# While sums of |alpha| stay under this, products of two exponentials stay finite.
_LINEAR_RANGE = 200.0
# Exponents of a query beyond this are cut off where only the choice of a stump is at stake.
_CLIP = 345.0
# A query whose pairs weigh less is near underflow: its weights are far apart in size.
_TINY = 1e-250


class Peaks(NamedTuple):
    """Logarithms of the largest loss of a query, of those drawn and of all."""

    drawn: Most
    every: Most


class QueryTotals(NamedTuple):
    """Losses of queries, added up without rounding.

    Attributes
    ----------
    drawn, every : ExactSum
        What the pairs drawn weigh, and all pairs.
    least : Least
        The smallest loss of a query, before coefficients.
    log_unit : Most
        Logarithm of what ``every`` is a multiple of.
    """

    drawn: ExactSum
    every: ExactSum
    least: Least
    log_unit: Most = Most(0.0)

    def finish(self, log_total: float) -> tuple[float, float]:
        """Return the scale of potentials and the logarithm of the loss.

        Parameters
        ----------
        log_total : float
            Logarithm of the weight of all pairs at scores of 0.
        """
        return 1.0 / self.drawn.value, self.log_unit + log(self.every.value) - log_total

    @property
    def underflows(self) -> bool:
        """Whether the weights of some query are so far apart that logarithms are needed."""
        return self.least < _TINY


class Risks(NamedTuple):
    """Weight of the pairs in the wrong order and of tied ones, added up without rounding."""

    wrong: ExactSum
    tied: ExactSum

    def shares(self, log_total: float) -> tuple[float, float]:
        """Return R1 and R2, for the logarithm of the weight of all pairs."""
        whole = exp(log_total)
        return risks_of(self.wrong.value / whole, self.tied.value / whole)


def wrong_unit_of(total: float) -> float:
    """Return the unit of W- where the pairs drawn weigh so much.

    Examples
    --------
    >>> wrong_unit_of(1.0) == 2.0**-58
    True
    """
    return unit_for(2.0 * total)  # (a pair may come and go again)


class LabelState(DrawnShare):
    """State of the exponential loss over the pairs that labels imply.

    ``u e^{H}`` and ``u e^{-H}`` are kept per row and multiplied round by round, so no
    exponential is computed; once scores could overflow them, potentials move to the
    logarithmic domain.

    Parameters
    ----------
    rows : LabelledRows
    threads : int
    """

    def __init__(self, rows: LabelledRows, threads: int) -> None:
        n = len(rows.layout.rows)
        self._labelled = rows
        self.layout, self._start, self._threads = rows.layout, rows.log_total, threads
        self.scores = np.zeros(n)
        self.up, self.down = np.zeros(padded(n)), np.zeros(padded(n))
        self.up[:n] = self.down[:n] = 1.0 if rows.weight is None else rows.weight
        self._row_weight = rows.weight
        self._all = self._drawn = rows.coefficient
        self._range = 0.0
        self._sums = PairSums(rows.layout, rows.gains, threads)
        self._total = 0.0  # of the weights drawn, at the current scores
        self._log_loss = np.zeros(0)  # of every query, in the logarithmic domain
        self._peaks = Peaks(Most(0.0), Most(0.0))  # the largest of them
        self._linear: tuple[Floats, Floats, Floats] | None = None
        self._level_sums: Floats | None = None

    @property
    def _weight(self) -> Floats:
        return np.ones(len(self.scores)) if self._row_weight is None else self._row_weight

    @property
    def logarithmic(self) -> bool:
        """Whether weights are computed from the logarithms of exponentials."""
        return self._range > _LINEAR_RANGE

    def use_logarithms(self) -> None:
        """Compute weights from the logarithms of exponentials from now on."""
        self._range = math.inf

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Write the potentials by prefix sums over the levels of each query: O(n)."""
        if not self.logarithmic:
            totals = self.sums(pi)
            if not totals.underflows:
                return self.finish(totals)
            self.use_logarithms()
        return self.finish(self.log_sums(pi))

    def sums(self, pi: Floats) -> QueryTotals:
        """Write the potentials and add up the losses of all queries."""
        self._linear = self._level_sums = None
        loss = np.zeros(self.layout.n_queries)
        self._sums.potentials((self.up, self.down, self._drawn), pi, loss)
        drawn, every = self._totals(loss, loss)
        return QueryTotals(drawn, every, Least(loss.min(initial=math.inf)))

    def _totals(self, drawn: Floats, every: Floats) -> tuple[ExactSum, ExactSum]:
        """Return the losses of the queries drawn, and of all, added up."""
        total = ExactSum.of(self._drawn * drawn)
        if self._all is self._drawn and drawn is every:
            return total, total
        return total, ExactSum.of(self._all * every)

    def peaks(self) -> Peaks:
        """Return the largest losses, which `log_sums` divides by."""
        log_loss = np.empty(self.layout.n_queries)
        weights = (self.scores, self._weight, self._drawn)
        self._sums.log_potentials(weights, np.empty_like(self.up), log_loss)
        return self._peaks_of(log_loss)

    def _peaks_of(self, log_loss: Floats) -> Peaks:
        drawn, every = (log_loss[c > 0] for c in (self._drawn, self._all))
        return Peaks(Most(drawn.max(initial=-math.inf)), Most(every.max(initial=-math.inf)))

    def log_sums(self, pi: Floats, peaks: Peaks | None = None) -> QueryTotals:
        """Do as `sums` does, for scores whose exponentials overflow.

        Parameters
        ----------
        peaks : Peaks, optional
            Of all queries, where these are some of many.
        """
        self._linear = self._level_sums = None
        log_loss = self._log_loss = np.empty(self.layout.n_queries)
        weights = (self.scores, self._weight, self._drawn)
        top = None if peaks is None else peaks.drawn
        self._sums.log_potentials(weights, pi, log_loss, top)
        self._peaks = peaks = self._peaks_of(log_loss) if peaks is None else peaks
        loss = exp(log_loss - log_shift(log_loss, self._drawn, peaks.drawn))
        # The queries that were not drawn may be far worse, or far better, than the others.
        every = exp(np.minimum(log_loss - peaks.every, 0.0))
        return QueryTotals(*self._totals(loss, every), Least(math.inf), peaks.every)

    def finish(self, totals: QueryTotals) -> tuple[float, float]:
        """Return the scale of the potentials and the logarithm of the loss."""
        self._total = totals.drawn.value
        return totals.finish(self._start)

    def advance(
        self, output: Output, alpha: float, span: tuple[float, float] | None = None
    ) -> None:
        """Add ``alpha * output`` to the scores.

        Parameters
        ----------
        span : (float, float), optional
            Smallest and largest step, where these rows are some of many.
        """
        self._linear = self._level_sums = None
        n = len(self.scores)
        if output.dtype == np.uint8:
            self._range += abs(alpha)
            within = self._range <= _LINEAR_RANGE
            grow, shrink = (exp(alpha), exp(-alpha)) if within else (1.0, 1.0)
            rows = (self.scores, self.up, self.down)
            advance_binary(output, alpha, (grow, shrink), *rows, self._threads)
            return
        step = alpha * output
        self.scores += step
        if span is None:
            span = (float(step.min()), float(step.max())) if n else (0.0, 0.0)
        self._range += span[1] - span[0]
        if self._range <= _LINEAR_RANGE:
            # Only differences count: centred, neither exponential can overflow.
            step -= (span[1] + span[0]) / 2
            factor = exp(step)
            self.up[:n] *= factor
            self.down[:n] /= factor

    def _current(self) -> tuple[Floats, Floats, Floats]:
        """Return ``up``, ``down`` and coefficients under which the drawn pairs weigh ``_total``."""
        if not self.logarithmic:
            return self.up, self.down, self._drawn
        if self._linear is None:
            # Each query around its middle, its pairs made to weigh 1; the coefficients give
            # it its share again. Beyond a range of 690 inside one query, pairs at its far
            # ends count more than they should in the choice of a stump.
            n, starts = len(self.scores), self.layout.row_start
            top = np.maximum.reduceat(self.scores, starts[:-1])
            bottom = np.minimum.reduceat(self.scores, starts[:-1])
            known = np.isfinite(self._log_loss)
            half = np.where(known, self._log_loss, 0.0) / 2
            sizes = np.diff(starts)
            centred = self.scores - np.repeat((top + bottom) / 2, sizes)
            with np.errstate(divide="ignore"):
                base = log(self._weight) - np.repeat(half, sizes)
            up, down = np.zeros_like(self.up), np.zeros_like(self.down)
            up[:n] = exp(np.clip(base + centred, -_CLIP, _CLIP)) * np.isfinite(base)
            down[:n] = exp(np.clip(base - centred, -_CLIP, _CLIP)) * np.isfinite(base)
            loss = np.zeros(self.layout.n_queries)
            self._sums.potentials((up, down, self._drawn), np.zeros_like(up), loss)
            shift = log_shift(self._log_loss, self._drawn, self._peaks.drawn)
            share = exp(self._log_loss - shift)
            share = np.divide(share, loss, out=np.zeros_like(loss), where=known & (loss > 0))
            self._linear = up, down, self._drawn * share
        return self._linear

    @property
    def curvature(self) -> Floats:
        """Weight of all pairs that a row is in: O(n)."""
        if not self.logarithmic:
            return self._sums.curvature((self.up, self.down, self._drawn))
        weights = (self.scores, self._weight, self._drawn)
        return self._sums.log_curvature(weights, self._peaks.drawn)

    def binary_weights(self, output: Output) -> tuple[float, float]:
        """Return W+ and W- of a {0, 1} ranker: O(n)."""
        right, wrong = self.weight_sums(output)
        return right.value / self._total, wrong.value / self._total

    def weight_sums(self, output: Output) -> tuple[ExactSum, ...]:
        """Return W+ and W- of a {0, 1} ranker in the units of the potentials."""
        return self._sums.binary_weights(self._current(), output)

    def moments(self, output: Output) -> tuple[float, float]:
        """Return mean and mean square of the margins gained: O(n)."""
        value, slope, curvature = (one.value for one in self.moment_sums(output))
        return slope / value, curvature / value

    def moment_sums(
        self, output: Output, span: tuple[float, float] | None = None
    ) -> tuple[ExactSum, ...]:
        """Return the sums of weights, margins and squares; ``span`` as in `PairSums.moments`."""
        return self._sums.moments(self._current(), output, span)

    def wrong_weights(self, codes: Codes, n_bins: int, missing_rank: int, out: Floats) -> None:
        """Write W- of every threshold of one feature: O(n) for few levels, else O(n log levels)."""
        # The scan adds and takes away: what is left of nothing may be slightly negative.
        units = np.maximum(self.wrong_units(codes, n_bins, missing_rank), 0)
        np.multiply(units, self.wrong_unit / self._total, out=out)

    @property
    def wrong_unit(self) -> float:
        """What a unit of `wrong_units` is worth, where the pairs drawn weigh their total."""
        return wrong_unit_of(self._total)

    def wrong_units(
        self, codes: Codes, n_bins: int, missing_rank: int, unit: float | None = None
    ) -> Ints:
        """Return W- of every threshold of one feature, as whole numbers of a unit.

        Parameters
        ----------
        unit : float, optional
            `wrong_unit_of` the pairs of all queries, where these are some of many.
        """
        self.prepare_scan()
        assert self._level_sums is not None
        inputs = (self._current(), self._level_sums, codes, n_bins, missing_rank)
        return self._sums.wrong_weights(*inputs, self.wrong_unit if unit is None else unit)

    def prepare_scan(self) -> None:
        """Make what `wrong_weights` shares between features, before threads ask for it."""
        if self._level_sums is None:
            self._level_sums = self._sums.prepare_scan(self._current()[1])

    def risks(self) -> tuple[float, float]:
        """Return R1 and R2, by counting inversions: O(n log n)."""
        return self.risk_sums().shares(self._start)

    def risk_sums(self) -> Risks:
        """Return R1 and R2 as exact sums."""
        wrong, tied = self._sums.misordered(self.scores, self._weight)
        return Risks(ExactSum.of(self._all * wrong), ExactSum.of(self._all * tied))

    def count_only(self, chosen: Ints) -> None:
        """Count only some queries until the next draw."""
        super().count_only(chosen)
        self._linear = self._level_sums = None

    def copy(self) -> LabelState:
        """Return a copy of the drawn pairs that can be moved without moving this state."""
        other = copy.copy(self)
        other._all = self._drawn
        other.scores, other.up, other.down = self.scores.copy(), self.up.copy(), self.down.copy()
        return other


# --- Weights of the pairs that labels imply: gains, instance weights, balance of the queries


# Pairs whose sum of weights is below this are scaled up.
_TINY_WEIGHT = 1e-100

GAINS: dict[str, Callable[[Floats], Floats]] = {
    "linear": lambda y: y,
    "exp": lambda y: exp2(y) - 1.0,
}


def gains_of(gain: str | Callable[[Floats], Floats] | None, layout: Layout) -> Floats:
    """Return the gain of every segment, or an empty array where all pairs count the same."""
    if gain is None:
        return np.zeros(0)
    function = lookup(GAINS, gain, "gain") if isinstance(gain, str) else gain
    with np.errstate(over="ignore", invalid="ignore"):
        found = function(layout.values)
    try:
        gains = np.asarray(found, np.float64)
    except (TypeError, ValueError, OverflowError):
        gains = np.zeros(0)
    if gains.shape != layout.values.shape:
        raise DataError(
            f"the 'gain' must return one number for each of {len(layout.values)} labels. Got "
            f"{in_short(repr(found))}."
        )
    rising = np.diff(gains)
    rising[layout.query_first[1:-1] - 1] = 1.0
    if not np.isfinite(gains).all() or not (rising > 0).all():
        raise DataError(
            "the 'gain' of labels must be finite and rise with the label. Labels here go from "
            f"{layout.values.min():g} to {layout.values.max():g}; use gain='linear' or None."
        )
    # Only differences count: from 0 in every query, a large offset costs no digits.
    return gains - np.repeat(gains[layout.query_first[:-1]], np.diff(layout.query_first))


class Largest(NamedTuple):
    """The largest weights, of all rows whose pairs are weighed together.

    Attributes
    ----------
    weight : Most
        Of a row.
    factor : Most
        Of a query.
    """

    weight: Most
    factor: Most

    @classmethod
    def of(cls, weight: Floats | None, factor: Floats | None) -> Largest:
        """Return the largest of the weights at hand."""
        return cls(*(Most(1.0 if one is None else one.max()) for one in (weight, factor)))


class PairMass(NamedTuple):
    """What the pairs of some queries weigh, without rounding.

    Attributes
    ----------
    total : ExactSum
        Unscaled and before any balancing.
    scaled : ExactSum
        Before any balancing.
    whole : ExactSum
        With the coefficients of the queries.
    """

    total: ExactSum
    scaled: ExactSum
    whole: ExactSum

    @property
    def log_total(self) -> float:
        """Logarithm of what all pairs weigh."""
        whole = self.whole.value
        if not whole > 0:
            raise DataError(
                "the weights of all pairs are too small to distinguish from 0; use weights of a "
                "similar size."
            )
        return log(whole)

    @property
    def too_light(self) -> bool:
        """Whether weights are so far apart that what pairs weigh is far below 1."""
        return self.scaled.value < _TINY_WEIGHT


def weigh(
    layout: Layout,
    weight: Floats | None,
    gains: Floats,
    balanced: bool,
    factor: Floats | None,
    largest: Largest,
    more: float = 1.0,
) -> tuple[LabelledRows, PairMass]:
    """Scale the weights so that no sum over pairs overflows, and balance the queries.

    Parameters
    ----------
    weight : array over the rows of the layout, or None
        Instance weights.
    gains : as `gains_of` returns them
    balanced : bool
        Whether all queries weigh the same.
    factor : array over the queries, or None
        A further weight of each query.
    largest : Largest
        Of these rows and of all that they are weighed together with.
    more : float
        A power of two, to scale unbalanced weights by beside.

    Returns
    -------
    rows : LabelledRows
        Without the weight of all pairs.
    mass : PairMass
    """
    sizes = np.diff(layout.row_start)
    scale = np.ones(layout.n_queries)
    scaled, mass = None, np.diff(layout.level_start).astype(np.float64)
    if weight is not None:
        if balanced:
            tops = np.maximum.reduceat(weight, layout.row_start[:-1])
            scale = np.array([power_of_two_scale(float(top)) for top in tops])
        else:
            scale *= power_of_two_scale(largest.weight)
        scaled = weight * np.repeat(scale, sizes) * more
        mass = np.add.reduceat(scaled, layout.level_start[:-1])
    with np.errstate(over="ignore"):
        pairs = mass * sums_below(mass, layout.gaps(gains), layout.query_first)
        per_query = np.add.reduceat(pairs, layout.query_first[:-1])
        total = ExactSum.of(per_query / scale / scale)
    if not np.isfinite(per_query).all():
        raise DataError("the gains of the labels add up to infinity; use gain='linear' or None.")
    if scaled is not None and balanced and per_query.min() < _TINY_WEIGHT:
        lift = np.ldexp(1.0, -np.frexp(per_query)[1] // 2)
        scaled *= np.repeat(lift, sizes)
        per_query = per_query * lift * lift
    coefficient = np.ones(layout.n_queries)
    if balanced:
        with np.errstate(divide="ignore"):
            coefficient = np.where(per_query > 0, 1.0 / per_query, 0.0)
    relative = None if factor is None else factor / largest.factor
    if relative is not None:
        coefficient = coefficient * relative
    rows = LabelledRows(
        layout, scaled, gains, coefficient, balanced, math.nan, query_weight=relative
    )
    light = ExactSum.of(per_query)
    return rows, PairMass(total, light, ExactSum.of(coefficient * per_query))


def weighed(
    layout: Layout, weight: Floats | None, gains: Floats, balanced: bool, factor: Floats | None
) -> tuple[LabelledRows, float]:
    """Return the rows with all that their pairs weigh, and the weight of all pairs.

    That weight is unscaled and before any balancing; parameters as in `weigh`.
    """
    inputs = (layout, weight, gains, balanced, factor, Largest.of(weight, factor))
    rows, mass = weigh(*inputs)
    total = finite_total(mass.total.value)
    if weight is not None and not balanced and mass.too_light:
        rows, mass = weigh(*inputs, math.ldexp(1.0, -math.frexp(mass.scaled.value)[1] // 2))
    return replace(rows, log_total=mass.log_total), total


# --- Feedback from labels: every row above the rows of its query with a lower label
#
# Two levels (good and bad), grades, real numbers and strict orders are one case. The
# pairs are never listed: sums over them become prefix sums over the levels of a query.


#: One weight per row, constant inside a query, or one per query id.
QueryWeight: TypeAlias = VectorLike | Mapping[Any, float]


def check_labels(y: VectorLike, n_rows: int | None = None) -> Floats:
    """Return labels as floats; refuse what has no order or no value."""
    values = as_array(y, "y")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise DataError(f"y should be a 1d array, got an array of shape {values.shape} instead.")
    if n_rows is not None and len(values) != n_rows:
        raise DataError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, "
            f"y has {len(values)}."
        )
    if values.dtype.kind == "c":
        raise complex_error("labels")
    if values.dtype.kind in "mM":  # (NumPy would count ticks, and take NaT for a large number)
        raise DataError(f"Unknown label type: labels must be numbers, not {values.dtype}.")
    if values.dtype.kind not in "fiub":
        bad = next(((i, v) for i, v in enumerate(values.tolist()) if not _is_number(v)), None)
        if bad is not None:
            raise DataError(
                f"Unknown label type: labels must be numbers, higher is better. Row {bad[0]} is "
                f"{bad[1]!r}. Map names of grades to numbers first."
            )
    values = as_reals(values, "y")
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise DataError(
            f"Input y contains NaN or infinity: row {row} is {values[row]}. Leave rows without a "
            "label out."
        )
    return values + 0.0  # (one zero: see `crucial.data.arrays`)


def _is_number(value: Any) -> bool:
    # (text is refused even where it reads as a number: "10" would sort before "9")
    if isinstance(value, str | bytes):
        return False
    try:
        with suppress(OverflowError):
            float(value)
    except (TypeError, ValueError):
        return False
    return True


def check_labels_of_weights(
    y: VectorLike | None, sample_weight: VectorLike | None, query_weight: QueryWeight | None
) -> None:
    """Refuse weights of rows and queries without labels, where a ranker learns from pairs alone."""
    if y is None and not (sample_weight is None and query_weight is None):
        raise DataError(
            "sample_weight and query_weight weigh the pairs that labels imply, and there is no y; "
            "use pair_weight."
        )


def check_weights(weight: VectorLike | None, n: int, name: str = "sample_weight") -> Floats | None:
    """Return weights as floats, or None where all are 1; refuse negative and infinite ones.

    Weights whose sum is infinite are refused too: no share of it can be computed.
    """
    if weight is None:
        return None
    values = as_reals(weight, name)
    if values.ndim == 0:
        values = np.full(n, float(values))
    if values.ndim != 1:
        raise DataError(f"{name} must be 1D. Got an array of shape {values.shape}.")
    if len(values) != n:
        raise DataError(f"{name}.shape == ({len(values)},), expected ({n},)!")
    wrong = ~((values >= 0) & (values < np.inf))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise DataError(f"{name} must be finite and not negative. Row {row} is {values[row]}.")
    if n and not values.any():
        raise DataError(f"{name} must be positive somewhere. All of the {n} are zero.")
    check_sum(values, name)
    return None if np.all(values == 1.0) else values


class LabelFeedback(Feedback):
    """All pairs of rows of one query with different labels.

    Pair (lo, hi) weighs ``c_q u_lo u_hi (g(y_hi) - g(y_lo))``, with instance weights u,
    gains g (without ``gain``, their difference counts as 1) and c_q set by ``balance``.

    Parameters
    ----------
    y : array of shape (n_rows,)
        Labels; higher is better.
    groups : Groups, optional
        The queries; by default all rows are one.
    weight : array of shape (n_rows,), optional
        Instance weights u. A row of weight 2 counts as two rows, of weight 0 as none.
    balance : {"pairs", "queries"}
        Whether all pairs weigh the same, as in the papers, or all queries do.
    query_weight : array of shape (n_rows,) or mapping from query id, optional
        A further factor on the pairs of each query; an array is constant inside a query.
    gain : {None, "linear", "exp"} or callable
        Weigh a pair by the difference of the gains of its labels.

    Examples
    --------
    >>> feedback = LabelFeedback([2, 0, 1, 1], Groups.from_qid(["a", "a", "a", "b"], 4))
    >>> feedback.n_pairs, feedback.n_queries, feedback.n_skipped
    (3, 1, 1)
    >>> feedback.r2([3.0, 1.0, 2.0, 0.0])
    0.0
    """

    def __init__(
        self,
        y: VectorLike,
        groups: Groups | None = None,
        *,
        weight: VectorLike | None = None,
        balance: str = "pairs",
        query_weight: QueryWeight | None = None,
        gain: str | Callable[[Floats], Floats] | None = None,
    ) -> None:
        check("LabelFeedback", "balance", balance, one_of("pairs", "queries"))
        labels = check_labels(y)
        self.n_rows = len(labels)
        groups = groups or Groups.single(self.n_rows)
        if groups.n_rows != self.n_rows:
            raise DataError(f"y has {self.n_rows} rows, and groups were made for {groups.n_rows}.")
        weights = check_weights(weight, self.n_rows)
        factor = query_factors(query_weight, groups)
        keep = kept_rows(weights, factor, groups)
        layout = Layout.of(labels, groups, keep)
        self.rows = layout.rows
        self.weight = None if weights is None else weights[self.rows]
        if self.weight is not None and np.all(self.weight == 1.0):
            self.weight = None
        self.n_queries = layout.n_queries
        self.n_skipped = groups.n_groups - layout.n_queries
        self.groups = groups
        if not len(self.rows):
            raise NoPairError(_no_pair(labels, groups, keep))
        self.n_pairs = layout.n_pairs
        per_query = None if factor is None else factor[layout.queries]
        self._labelled, self.total = weighed(
            layout, self.weight, gains_of(gain, layout), balance == "queries", per_query
        )

    @property
    def n_levels(self) -> int:
        """Number of different labels in pairs."""
        return self._labelled.layout.n_levels

    def labelled(self) -> LabelledRows:
        """Return the rows by query and label, with their weights."""
        return self._labelled

    def two_classes(self) -> TwoClasses | None:
        """Return both classes; None where there are more labels, or more queries."""
        layout = self._labelled.layout
        if self.groups.n_groups > 1 or len(layout.values) != 2:
            return None
        low, high = layout.values.tolist()
        return TwoClasses(low, high, int(layout.level_start[1]))

    def state(self, threads: int = 1) -> PairState:
        """Return the state of ``self.rows`` at scores of 0."""
        return LabelState(self._labelled, threads)

    def pairs_at(self, numbers: Ints) -> ListedPairs:
        """Return the pairs with these numbers.

        Examples
        --------
        >>> high, low, weight = LabelFeedback([2, 0, 1]).pairs_at(np.arange(3))
        >>> [(int(h), int(l)) for h, l in zip(high, low)]  # (rows by rising label)
        [(1, 0), (2, 0), (2, 1)]
        >>> weight.round(3).tolist()
        [0.333, 0.333, 0.333]
        """
        return self._labelled.pairs_at(numbers)

    def without(self, places: Ints) -> LabelFeedback | None:
        """Return the pairs in which none of these places occurs, with their weights.

        None if there are none. ``total`` is what the pairs weigh here.
        """
        rows, layout = self._labelled, self._labelled.layout
        kept = np.ones(len(self.rows), bool)
        kept[places] = False
        labels, keep = np.zeros(self.n_rows), np.zeros(self.n_rows, bool)
        labels[self.rows], keep[self.rows] = layout.values[layout.segment_of_row], kept
        fewer = Layout.of(labels, self.groups, keep)
        place = np.empty(self.n_rows, np.int64)
        place[self.rows] = np.arange(len(self.rows))
        left = place[fewer.rows]
        labelled = rows.taken(fewer, left) if len(left) else None
        if labelled is None:
            return None
        other = copy.copy(self)
        other._labelled, other.rows = labelled, fewer.rows
        other.weight = None if self.weight is None else self.weight[left]
        other.n_pairs, other.n_queries = fewer.n_pairs, fewer.n_queries
        other.n_skipped = self.groups.n_groups - fewer.n_queries
        other.total = finite_total(self.total * exp(labelled.log_total - rows.log_total))
        return other

    def log_lightest(self) -> float:
        """Return the logarithm of the weight of the lightest pair, as a share of all weight."""
        rows = self._labelled
        first = rows.layout.row_start[:-1]
        scale = np.zeros(len(first))
        if self.weight is not None and rows.weight is not None:
            heaviest = np.maximum.reduceat(self.weight, first)  # (a light row may be 0 as a share)
            scale = 2.0 * (log(np.maximum.reduceat(rows.weight, first)) - log(heaviest))
        with np.errstate(divide="ignore"):
            logs = log(rows.coefficient) + scale
            logs += log_lightest_pairs(rows.layout, self.weight, rows.gains)
        return float(logs[rows.coefficient > 0].min(initial=math.inf)) - rows.log_total

    def margin_range(self, scores: Floats) -> tuple[float, float]:
        """Return the smallest and largest margin, for scores like ``rows``: O(n)."""
        return margin_range(self._labelled.layout, scores)

    def margin_counts(self, scores: Floats, threads: int = 1) -> LabelMargins:
        """Return the distribution of the margins, without gains and balance."""
        return LabelMargins(self._labelled, scores, threads)


def query_factors(query_weight: QueryWeight | None, groups: Groups) -> Floats | None:
    """Return the weight of every query, or None where all weigh the same."""
    if query_weight is None:
        return None
    if isinstance(query_weight, Mapping):
        missing = [q for q in groups.ids.tolist() if q not in query_weight]
        if missing:
            raise DataError(f"query_weight has no weight for query {missing[0]!r}.")
        values = [query_weight[q] for q in groups.ids.tolist()]
        return check_weights(values, groups.n_groups, "query_weight")
    per_row = check_weights(query_weight, groups.n_rows, "query_weight")
    if per_row is None:
        return None
    ordered = per_row[groups.order]
    per_group: Floats = ordered[groups.starts[:-1]]
    differs = np.flatnonzero(ordered != np.repeat(per_group, groups.sizes))
    if len(differs):
        query = np.repeat(groups.ids, groups.sizes)[differs[:1]].tolist()[0]
        raise DataError(f"query_weight must be constant inside a query. It is not in {query!r}.")
    return per_group


def kept_rows(weights: Floats | None, factor: Floats | None, groups: Groups) -> Bools | None:
    """Return which rows weigh anything; None where all do."""
    keep = None if weights is None else weights > 0
    if factor is not None and not factor.all():
        counts = factor[groups.codes] > 0
        keep = counts if keep is None else keep & counts
    return keep


def _no_pair(labels: Floats, groups: Groups, keep: Bools | None) -> str:
    """Return why no row can be compared with another."""
    if len(labels) == 1:
        return (
            "No comparable pair: n_samples = 1, and it takes two rows with different labels to "
            "learn an order."
        )
    if len(np.unique(labels)) == 1:
        return (
            f"No comparable pair: all {len(labels)} labels are {labels[0]:g} (one class), so "
            "no row should rank above another."
        )
    if keep is not None and len(Layout.of(labels, groups, None).rows):
        return (
            "No comparable pair: sample_weight or query_weight is zero for one row of every pair, "
            "or too small to distinguish from 0 beside the largest (or a judge left it without a "
            "label, or it was set aside for early stopping, folds or bags)."
        )
    hint = ""
    if groups.n_groups == len(labels):
        hint = " Every row has a different qid: are these row numbers?"
    return (
        f"No comparable pair: none of the {counted(groups.n_groups, 'query')} has two rows of "
        f"different labels.{hint}"
    )


# --- Feedback from labels about the first positions of every query only


def top_labels(
    labels: Floats, groups: Groups, first: int | float, weight: Floats | None = None
) -> Floats:
    """Return labels whose pairs are those with the better row among the first of its query.

    The other rows have no pair among themselves and lose to all of the first: with one
    label for all of them, the lowest of the query, the pairs of different labels are the
    right ones, and none need be listed.

    Parameters
    ----------
    labels : array over the rows
    groups : Groups
    first : int or float
        Number of positions, or share of them. Rows of one label share the best of their
        positions, so all of them are in or none.
    weight : array over the rows, optional
        A row of weight 2 takes two positions, one of weight 0 none.

    Examples
    --------
    >>> top_labels(np.array([1.0, 4.0, 3.0, 2.0]), Groups.single(4), 2).tolist()
    [1.0, 4.0, 3.0, 1.0]
    """
    mass = np.ones(len(labels)) if weight is None else weight
    order, query, ties = groups.ranked(labels)
    sorted_mass, sorted_labels = mass[order], labels[order]
    whole = np.bincount(query, sorted_mass, groups.n_groups)
    before = np.cumsum(sorted_mass) - sorted_mass
    before -= np.repeat(before[groups.starts[:-1]], groups.sizes)
    above = before[ties]
    limit = first if isinstance(first, int | np.integer) else first * whole[query]
    lowest = sorted_labels[groups.starts[1:] - 1][query]
    out = np.empty(len(labels))
    # (a sum of weights may come out a rounding below what it is)
    out[order] = np.where(above < limit * (1.0 - 1e-12), sorted_labels, lowest)
    return out


class TopFeedback(LabelFeedback):
    """Pairs of different labels whose better row is among the first of its query.

    Parameters
    ----------
    y, groups, weight, balance, query_weight
        As in `LabelFeedback`.
    first : int, float or None
        See `top_labels`; None is all pairs.

    Examples
    --------
    >>> TopFeedback([1, 4, 3, 2], first=2).n_pairs
    5
    """

    def __init__(
        self,
        y: VectorLike,
        groups: Groups | None = None,
        *,
        first: int | float | None = None,
        weight: VectorLike | None = None,
        balance: str = "pairs",
        query_weight: QueryWeight | None = None,
    ) -> None:
        labels = cut = check_labels(y)
        groups = groups or Groups.single(len(labels))
        if first is not None:
            cut = top_labels(labels, groups, first, check_weights(weight, len(labels)))
        super().__init__(cut, groups, weight=weight, balance=balance, query_weight=query_weight)
        self._labelled = replace(self._labelled, uncut_labels=labels[self.rows])
