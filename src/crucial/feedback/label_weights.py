"""Weights of the pairs that labels imply: gains, instance weights, balance of the queries."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from crucial.errors import DataError
from crucial.feedback.base import finite_total, power_of_two_scale
from crucial.feedback.layout import LabelledRows, Layout
from crucial.kernels.pairs import sums_below
from crucial.parameters import lookup
from crucial.types import Floats

__all__ = ["GAINS", "gains_of", "weighed"]

# Pairs whose sum of weights is below this are scaled up.
_TINY = 1e-100

GAINS: dict[str, Callable[[Floats], Floats]] = {
    "linear": lambda y: y,
    "exp": lambda y: np.exp2(y) - 1.0,
}


def gains_of(gain: str | Callable[[Floats], Floats] | None, layout: Layout) -> Floats:
    """Return the gain of every segment, or an empty array where all pairs count the same."""
    if gain is None:
        return np.zeros(0)
    function = lookup(GAINS, gain, "gain") if isinstance(gain, str) else gain
    with np.errstate(over="ignore", invalid="ignore"):
        gains = np.asarray(function(layout.values), np.float64)
    rising = np.diff(gains)
    rising[layout.query_first[1:-1] - 1] = 1.0
    if gains.shape != layout.values.shape or not np.isfinite(gains).all() or not (rising > 0).all():
        raise DataError(
            "the 'gain' of labels must be finite and rise with the label. Labels here go from "
            f"{layout.values.min():g} to {layout.values.max():g}; use gain='linear' or None."
        )
    # Only differences count: from 0 in every query, a large offset costs no digits.
    return gains - np.repeat(gains[layout.query_first[:-1]], np.diff(layout.query_first))


def weighed(
    layout: Layout,
    weight: Floats | None,
    gains: Floats,
    balanced: bool,
    factor: Floats | None,
) -> tuple[LabelledRows, float]:
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

    Returns
    -------
    rows : LabelledRows
    total : float
        Weight of all pairs, unscaled and before any balancing.
    """
    sizes = np.diff(layout.row_start)
    scale = np.ones(layout.n_queries)
    scaled, mass = None, np.diff(layout.level_start).astype(np.float64)
    if weight is not None:
        largest = np.maximum.reduceat(weight, layout.row_start[:-1])
        if not balanced:
            largest = np.full_like(largest, largest.max())
        scale = np.array([power_of_two_scale(float(top)) for top in largest])
        scaled = weight * np.repeat(scale, sizes)
        mass = np.add.reduceat(scaled, layout.level_start[:-1])
    with np.errstate(over="ignore"):
        pairs = mass * sums_below(mass, layout.gaps(gains), layout.query_first)
        per_query = np.add.reduceat(pairs, layout.query_first[:-1])
        total = finite_total(float(np.sum(per_query / scale / scale)))
    if not np.isfinite(per_query).all():
        raise DataError("the gains of the labels add up to infinity; use gain='linear' or None.")
    if scaled is not None:
        size = per_query if balanced else np.full_like(per_query, per_query.sum())
        if size.min() < _TINY:  # (weights far apart: what pairs weigh is far below 1)
            more = np.ldexp(1.0, -np.frexp(size)[1] // 2)
            scaled *= np.repeat(more, sizes)
            per_query = per_query * more * more
    coefficient = np.ones(layout.n_queries)
    if balanced:
        with np.errstate(divide="ignore"):
            coefficient = np.where(per_query > 0, 1.0 / per_query, 0.0)
    relative = None if factor is None else factor / factor.max()
    if relative is not None:
        coefficient = coefficient * relative
    whole = float(np.dot(coefficient, per_query))
    if not whole > 0:
        raise DataError(
            "the weights of all pairs are too small to distinguish from 0; use weights of a "
            "similar size."
        )
    rows = LabelledRows(
        layout, scaled, gains, coefficient, balanced, math.log(whole), query_weight=relative
    )
    return rows, total
