"""Points of the bins of a scorecard, and the rows by their points."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from crucial.inspection.calibration import Calibration
from crucial.inspection.curve_parts import equal_parts, read_rows
from crucial.inspection.scorecards.card import CardBin, CardFeature, Scale, ScoreBand
from crucial.inspection.scorecards.cells import BinnedFeature, sums_by
from crucial.model.additive import AdditiveRanker
from crucial.types import Floats, Ints

__all__ = ["card_features", "exact_points", "score_bands"]

_BANDS = 10


def exact_points(
    binned: Sequence[BinnedFeature],
    intercept: float,
    calibration: Calibration,
    scale: Scale,
    anchor: str,
) -> tuple[float, list[Floats]]:
    """Return the points that every row has, and those of the bins, before rounding.

    Parameters
    ----------
    binned : sequence of BinnedFeature
    intercept : float
        What the model adds to every row.
    calibration, scale : how a score becomes log odds, and those points
    anchor : {"lowest", "neutral", "spread"}
    """
    exact = [scale.factor * calibration.slope * one.values for one in binned]
    start = scale.offset + scale.factor * (calibration.intercept + calibration.slope * intercept)
    if anchor == "spread":
        return 0.0, [part + start / len(binned) for part in exact]
    for slot, (part, one) in enumerate(zip(exact, binned, strict=True)):
        shift = part.min() if anchor == "lowest" else np.average(part, weights=one.weight)
        exact[slot] = part - shift
        start += float(shift)
    return start, exact


def card_features(
    binned: Sequence[BinnedFeature],
    exact: Sequence[Floats],
    bins: Sequence[Ints],
    good: Floats,
    weight: Floats,
    unit: float,
    model: AdditiveRanker,
    start: float,
) -> tuple[tuple[CardFeature, ...], Ints]:
    """Return the features with points, and the points of the rows.

    Neighbouring bins of the same points are one bin. A feature whose bins all have 0 points is
    left out. Weights are in a unit, the rows of the bins are not.
    """
    found: list[CardFeature] = []
    total = np.full(len(good), round(start), np.int64)
    for one, part, at in zip(binned, exact, bins, strict=True):
        points = np.rint(part).astype(np.int64)
        total += points[at]
        if not points.any():
            continue
        groups = np.concatenate([[0], np.cumsum(np.diff(points[:-1]) != 0)])
        cut = one.merged(groups).described(model.encodings)
        to = np.append(groups, groups[-1] + 1)
        inside = to[at]
        mass = sums_by(inside, weight, cut.n_bins)
        goods = sums_by(inside, weight * good, cut.n_bins)
        first = np.append(np.searchsorted(groups, np.arange(groups[-1] + 1)), len(groups))
        sums = sums_by(to, one.weight * part)
        means = np.where(mass > 0, sums / np.where(mass > 0, mass, 1.0), part[first])
        code = f"R{len(found) + 1}"
        found.append(_feature(code, cut, points[first], means, mass, goods, unit))
    return tuple(found), total


def _feature(
    code: str,
    cut: BinnedFeature,
    points: Ints,
    exact: Floats,
    mass: Floats,
    goods: Floats,
    unit: float,
) -> CardFeature:
    """Return a feature of the card."""
    last = cut.n_bins - 1
    ends = [-math.inf, *cut.edges.tolist(), math.inf]
    made = tuple(
        CardBin(
            cut.texts[b],
            math.nan if cut.categories or b == last else ends[b],
            math.nan if cut.categories or b == last else ends[b + 1],
            cut.categories[b] if cut.categories and b < last else (),
            b == last,
            int(points[b]),
            float(exact[b]),
            float(mass[b]) * unit,
            float(goods[b]) * unit,
        )
        for b in range(cut.n_bins)
    )
    best = int(points[mass > 0].max())
    return CardFeature(code, cut.name, made, best, float(points @ mass / mass.sum()), cut)


def score_bands(
    points: Ints, good: Floats, weight: Floats, unit: float, scale: Scale
) -> tuple[ScoreBand, ...]:
    """Return the rows in about equal parts, lowest points first; equal points stay together."""
    rows = read_rows(good, points, weight, "scorecard")
    part = equal_parts(rows, _BANDS)
    chance = scale.probabilities(rows.scores)
    found = []
    for number in np.unique(part)[::-1]:
        blocks = np.flatnonzero(part == number)
        inside = np.isin(rows.block, blocks)
        mass = rows.weight[inside]
        found.append(
            ScoreBand(
                int(rows.scores[blocks].min()),
                int(rows.scores[blocks].max()),
                float(mass.sum()) * unit,
                float(mass @ rows.y[inside]) * unit,
                float(mass @ chance[rows.block[inside]] / mass.sum()),
            )
        )
    return tuple(found)
