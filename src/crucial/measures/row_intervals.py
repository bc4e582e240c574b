"""Intervals and paired tests without queries: from the rows of one list, or of folds.

Shares of pairs, such as the AUC, get DeLong's interval and test (`crucial.measures.delong`). Where
the variance of a difference is 0 although the shares differ, its interval has the differences of
all values inside the intervals of both. Other measures are computed again on rows drawn with
replacement, those of each label separately, so that every draw has as many rows of a label as the
data; the interval has the percentiles of the draws, and the test asks how often the difference of
two rankings changes its sign.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from crucial.data.groups import Groups
from crucial.measures.base import Measure
from crucial.measures.delong import (
    PairShare,
    delong_applies,
    pair_share,
    row_strata,
    t_quantile,
    t_test,
    variance,
)
from crucial.measures.intervals import Interval, RandomState, drawn_interval, generator
from crucial.measures.judged import JudgedLists, Ranking
from crucial.measures.pairs import PairMeasure
from crucial.types import Floats, Ints

__all__ = ["ROW_TESTS", "RowSampling", "row_difference", "row_interval", "within_folds"]

_DELONG = "DeLong from rows, symmetric on the logit scale"
_SCORE = "Newcombe's score interval from rows"
_JOINT = "differences of both intervals from rows"
_BOOTSTRAP = "bootstrap over rows, label by label"

#: Tests of a difference, as they are named in a result.
ROW_TESTS = {"DeLong": "DeLong's test, from rows", "bootstrap": "bootstrap over rows"}

#: Rows drawn at a time, and in all at most.
_AT_ONCE, _MOST_ROWS = 1_000_000, 12_000_000

_PILOT, _FEWEST = 1000, 100


@dataclass(frozen=True)
class RowSampling:
    """How intervals from rows are found.

    Attributes
    ----------
    level : float
        Confidence level.
    resamples : int or None
        Number of draws, where rows are drawn; None draws as many as the third digit needs, up
        to 12 million rows in all.
    random_state : int, SeedSequence or Generator
        Seed of the draws.
    ties, empty
        As in `crucial.evaluate`.
    """

    level: float = 0.95
    resamples: int | None = None
    random_state: RandomState = 0
    ties: str = "expected"
    empty: str | int = "skip"


_DEFAULTS = RowSampling()


def within_folds(method: str) -> str:
    """Return the name of a method whose rows come from several folds.

    Examples
    --------
    >>> within_folds("DeLong from rows")
    'DeLong from rows within folds'
    """
    return method.replace("rows", "rows within folds", 1)


def _of_measure(measure: PairMeasure, ends: tuple[float, float]) -> tuple[float, float]:
    """Return an interval of the share of right pairs as one of the measure."""
    low, high = ends
    if measure.kind == "wrong":
        return 1.0 - high, 1.0 - low
    return (2.0 * low - 1.0, 2.0 * high - 1.0) if measure.kind == "balance" else ends


def row_interval(
    measure: Measure,
    judged: JudgedLists,
    scores: Floats,
    sampling: RowSampling = _DEFAULTS,
    rows: Ints | None = None,
) -> Interval | None:
    """Return the interval of a measure from the rows of one list, or of folds.

    Parameters
    ----------
    measure : Measure
    judged : Judged
        Labels and weights. A weight says how much a row counts, and not how often it was
        observed: a row of weight 2 moves the value twice as far, and is one row.
    scores : array of shape (n_rows,)
    sampling : RowSampling
    rows : int array of shape (n_rows,), optional
        Which row of the data each one is, where folds test some rows more than once.

    Returns
    -------
    Interval, or None where the measure has no value, or where rows would have to be drawn that
    are tested more than once.

    Examples
    --------
    >>> from crucial.measures.names import get_measure
    >>> judged = Judged.from_labels([1, 1, 1, 0, 0, 0])
    >>> row_interval(get_measure("auc"), judged, np.array([6.0, 5, 3, 4, 2, 1])).text
    '0.0880 to 0.9985'
    """
    if delong_applies(measure) and isinstance(measure, PairMeasure):
        share = pair_share(measure, judged, scores)
        if math.isnan(share.value):
            return None
        share = share if rows is None else share.of_rows(rows)
        ends = _of_measure(measure, share.interval(sampling.level))
        return Interval(*ends, _SCORE if share.is_degenerate else _DELONG)
    if rows is not None and len(np.unique(rows)) < len(rows):
        return None
    draw = _drawer(measure, judged, [scores], sampling)
    if np.isnan(draw(0)).any():
        return None
    pilot, most = _draws(len(scores))
    return drawn_interval(
        lambda count: draw(count)[0],
        sampling.level,
        sampling.resamples,
        _BOOTSTRAP,
        pilot=pilot,
        most=most,
    )


def row_difference(
    measure: Measure,
    judged: JudgedLists,
    first: Floats,
    second: Floats,
    sampling: RowSampling = _DEFAULTS,
    rows: Ints | None = None,
) -> tuple[float, Interval | None, float, str]:
    """Compare two rankings of the same rows.

    Parameters
    ----------
    first, second : arrays of shape (n_rows,)
        The scores of both.
    sampling : RowSampling
    rows : int array of shape (n_rows,), optional
        Which row of the data each one is, where folds test some rows more than once.

    Returns
    -------
    (difference, interval, p, test)
        The second's value minus the first's, its interval, the two-sided p-value, and the key
        of the test in `ROW_TESTS`.

    Examples
    --------
    >>> from crucial.measures.names import get_measure
    >>> judged = Judged.from_labels([1, 1, 1, 0, 0, 0])
    >>> better, worse = np.array([6.0, 5, 3, 4, 2, 1]), np.array([1.0, 5, 3, 4, 2, 6])
    >>> found = row_difference(get_measure("auc"), judged, worse, better)
    >>> round(found[0], 4), round(found[2], 4), found[3]
    (0.5556, 0.1518, 'DeLong')
    """
    if delong_applies(measure) and isinstance(measure, PairMeasure):
        shares = [pair_share(measure, judged, one) for one in (first, second)]
        shares = shares if rows is None else [one.of_rows(rows) for one in shares]
        return _delong_difference(measure, shares[0], shares[1], sampling.level)
    draw = _drawer(measure, judged, [first, second], sampling)
    whole = draw(0)[:, 0]
    if np.isnan(whole).any() or (rows is not None and len(np.unique(rows)) < len(rows)):
        return float(whole[1] - whole[0]), None, math.nan, "bootstrap"
    kept: list[Floats] = []

    def change(count: int) -> Floats:
        drawn = draw(count)
        kept.append(drawn[1] - drawn[0])
        return kept[-1]

    pilot, most = _draws(2 * len(first))
    found = drawn_interval(
        change, sampling.level, sampling.resamples, _BOOTSTRAP, pilot=pilot, most=most
    )
    draws = np.concatenate(kept)
    sides = [int((sign * draws <= 1e-12).sum()) for sign in (1.0, -1.0)]
    p = min(1.0, 2.0 * (1 + min(sides)) / (1 + len(draws)))
    return float(whole[1] - whole[0]), found, p, "bootstrap"


def _delong_difference(
    measure: PairMeasure, first: PairShare, second: PairShare, level: float
) -> tuple[float, Interval | None, float, str]:
    """Return difference, interval, p and test of two shares (DeLong et al. 1988, section 3)."""
    sign = -1.0 if measure.kind == "wrong" else 2.0 if measure.kind == "balance" else 1.0
    value = sign * (second.value - first.value)
    if math.isnan(value):
        return math.nan, None, math.nan, "DeLong"
    spread, freedom = variance(second.moves - first.moves, second.strata)
    error = abs(sign) * math.sqrt(spread)
    reach = t_quantile(level, freedom) * error
    most = abs(sign)
    ends = max(-most, value - reach), min(most, value + reach)
    found = Interval(*ends, "DeLong from rows")
    if error > 1e-12:
        return value, found, t_test(value / error, freedom), "DeLong"
    if abs(value) <= 1e-12:
        return value, found, 1.0, "DeLong"
    # No row differs from the others, as in a perfect order against a constant one: the chance
    # that labels given out at random are ordered perfectly, in one direction or the other.
    m, n = second.sides
    p = min(1.0, 2.0 / math.comb(m + n, m))
    return value, _joint_interval(measure, first, second, level, p), p, "DeLong"


def _joint_interval(
    measure: PairMeasure, first: PairShare, second: PairShare, level: float, p: float
) -> Interval:
    """Return the differences of all values inside the intervals of both shares.

    The variance of the difference says nothing, so the worst case is assumed: that one share is
    too low where the other is too high, as for two opposite orders.
    """
    mine, theirs = (_of_measure(measure, one.interval(level)) for one in (second, first))
    low, high = mine[0] - theirs[1], mine[1] - theirs[0]
    if p > 1.0 - level:  # (an interval without 0 would contradict the test)
        low, high = min(low, 0.0), max(high, 0.0)
    return Interval(low, high, _JOINT)


def _draws(n_rows: int) -> tuple[int, int]:
    """Return the first and the most draws of so many rows."""
    most = max(_FEWEST, _MOST_ROWS // n_rows)
    return min(_PILOT, most), most


def _drawer(
    measure: Measure,
    judged: JudgedLists,
    rankings: Sequence[Floats],
    sampling: RowSampling,
) -> Callable[[int], Floats]:
    """Return a function that returns the values of each ranking on so many draws of rows.

    Every draw is a set of lists of its own, so that many are measured at once. ``draw(0)``
    returns the values on the rows themselves.
    """
    codes, n_lists = judged.codes, judged.n_queries
    strata = row_strata(codes, np.unique(judged.y, return_inverse=True)[1].ravel())
    # Strata are numbered list by list, so that the rows of a list stay together; inside, the order
    # of the rows must not matter.
    weight = () if judged.weight is None else (judged.weight,)
    order = np.lexsort((*weight, *rankings, strata))
    sizes = np.bincount(strata)
    begin = (np.cumsum(sizes) - sizes)[strata[order]]
    length = sizes[strata[order]].astype(np.float64)
    drawing = generator("evaluate", sampling.random_state)
    lists = judged.groups.starts

    def measured(picks: Ints) -> Floats:
        times = len(picks) // len(order)
        starts = np.concatenate(
            ([0], (np.arange(times)[:, None] * lists[-1] + lists[1:]).ravel())
        ).astype(np.int64)
        drawn = replace(
            judged,
            y=judged.y[picks],
            groups=Groups(np.arange(len(starts) - 1), starts),
            weight=None if judged.weight is None else judged.weight[picks],
            ids=None if judged.ids is None else judged.ids[picks],
        )
        bound = measure.bind(drawn)
        weights = None if bound.weights is None else bound.weights.reshape(times, n_lists)
        found = []
        for scores in rankings:
            values = bound.values(Ranking(drawn, scores[picks], sampling.ties)).reshape(
                times, n_lists
            )
            found.append(_aggregated(measure, values, weights, sampling.empty))
        return np.array(found)

    def draw(count: int) -> Floats:
        if count == 0:
            return measured(order)
        at_once = max(1, _AT_ONCE // len(order))
        parts = []
        for start in range(0, count, at_once):
            times = min(at_once, count - start)
            inside = (drawing.random((times, len(order))) * length).astype(np.int64)
            parts.append(measured(order[begin + inside].ravel()))
        return np.concatenate(parts, axis=1)

    return draw


def _aggregated(
    measure: Measure, values: Floats, weights: Floats | None, empty: str | int
) -> Floats:
    """Return one number per draw over its lists, as `summarise` does."""
    there = ~np.isnan(values)
    if empty != "skip":
        values, there = np.where(there, values, float(empty)), np.ones_like(there)
    mass = there.astype(np.float64)
    if measure.aggregate == "pool" and weights is not None:
        mass = np.where(there, weights, 0.0)
    top = (np.where(there, values, 0.0) * mass).sum(axis=1)
    if measure.aggregate == "sum":
        return np.where(there.any(axis=1), top, np.nan)
    bottom = mass.sum(axis=1)
    out = np.full(len(top), np.nan)
    return np.asarray(np.divide(top, bottom, out=out, where=bottom > 0))
