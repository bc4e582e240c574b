"""Weights of the pairs that labels imply: gains, instance weights, balance of the queries."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from crucial.errors import DataError, in_short
from crucial.feedback.base import finite_total, power_of_two_scale
from crucial.feedback.layout import LabelledRows, Layout
from crucial.kernels.elementary import exp2, log
from crucial.kernels.pairs import sums_below
from crucial.kernels.sums import ExactSum
from crucial.parameters import lookup
from crucial.types import Floats

__all__ = ["GAINS", "Largest", "PairMass", "gains_of", "weigh", "weighed"]

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


@dataclass(frozen=True)
class Largest:
    """The largest weights, of all rows whose pairs are weighed together.

    Attributes
    ----------
    weight : float
        Of a row.
    factor : float
        Of a query.
    """

    weight: float
    factor: float

    @classmethod
    def of(cls, weight: Floats | None, factor: Floats | None) -> Largest:
        """Return the largest of the weights at hand."""
        return cls(*(1.0 if one is None else float(one.max()) for one in (weight, factor)))

    def merge(self, other: Largest) -> Largest:
        """Return the largest of two parts of the rows."""
        return Largest(max(self.weight, other.weight), max(self.factor, other.factor))


@dataclass(frozen=True)
class PairMass:
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

    def merge(self, other: PairMass) -> PairMass:
        """Return what the pairs of both weigh."""
        return PairMass(
            self.total + other.total, self.scaled + other.scaled, self.whole + other.whole
        )

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
