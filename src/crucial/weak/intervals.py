"""Queries cut into intervals by relevance, and the centres of a feature in them."""

from __future__ import annotations

import math

import numpy as np

from crucial.boosting.stump_search import TIE
from crucial.errors import ParameterError
from crucial.feedback.base import power_of_two_scale
from crucial.kernels.predict import interval_sums, run_starts
from crucial.types import Bools, Floats, Ints

__all__ = ["CENTRES", "centres_of", "interval_codes"]


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


def interval_codes(
    labels: Floats,
    starts: Ints,
    n_intervals: int,
    weight: Floats | None = None,
    kind: str = "mean",
    owner: str = "QuasiKNN",
    unit: float = 1.0,
) -> Ints:
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
    labels : array, rows query after query
    starts : int array of shape (n_queries + 1,)
        Query ``q`` is rows ``starts[q]:starts[q + 1]``.
    n_intervals : int
    weight : array like labels, optional
        A row takes ``weight * unit`` positions.
    kind : {"mean", "prior", "middle", "posterior"}
    owner : str
        Name for the message if every query is too short.
    unit : float
        Of the weights: sums of whole numbers of it are exact.

    Examples
    --------
    >>> interval_codes(np.array([5.0, 4.0, 3.0, 2.0, 1.0]), np.array([0, 5]), 2).tolist()
    [1, 1, 0, 0, 0]
    """
    mass = np.ones(len(labels)) if weight is None else weight
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
