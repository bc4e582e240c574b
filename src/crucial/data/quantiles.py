"""Thresholds of a feature: weighted quantiles over its distinct values, or a random draw."""

from __future__ import annotations

import numpy as np

from crucial.types import Floats, Ints, Reals

__all__ = ["between", "cut_points", "drawn_cut_points"]

# Masses that should be equal may differ by rounding; a cut must not depend on that.
_SLACK = 1e-12


def between(low: Reals, high: Reals) -> Floats:
    """Return thresholds with ``low <= threshold < high``, in the middle where there is one.

    Examples
    --------
    >>> between(np.array([1.0, -1e308]), np.array([2.0, 1e308])).tolist()
    [1.5, 0.0]
    >>> float(between(np.array([1.0]), np.array([np.nextafter(1.0, 2.0)]))[0])
    1.0
    """
    low = low.astype(np.float64)
    high = high.astype(np.float64)
    middle = low / 2 + high / 2  # halves first: the sum of two large numbers overflows
    # Neighbouring numbers have no middle, and halves of the smallest ones round away.
    return np.where((middle >= low) & (middle < high), middle, low)


def _positions(counts: Reals) -> Ints:
    """Return where the number of values reaches each of these counts."""
    reached: Ints = np.ceil(counts * (1 - _SLACK)).astype(np.int64) - 1
    return reached


class _Ranked:
    """Sorted values and the mass (count or weight) up to each of them."""

    def __init__(self, values: Reals, mass: Floats | None) -> None:
        self.values = values
        self.mass = mass
        self.total = float(mass[-1]) if mass is not None else float(len(values))

    def before(self, position: Ints) -> Floats:
        """Return the mass of the values before each position."""
        if self.mass is None:
            return position.astype(np.float64)
        return np.where(position > 0, self.mass[np.maximum(position, 1) - 1], 0.0)

    def at(self, mass: Reals) -> Reals:
        """Return the value at which the cumulative mass reaches each of these masses."""
        if self.mass is None:
            position = _positions(mass)
        else:
            position = np.searchsorted(self.mass, mass * (1 - _SLACK), "left")
        found: Reals = self.values.take(position, mode="clip")
        return found


def cut_points(values: Reals, mass: Floats | None, max_bins: int | None) -> Floats:
    """Return thresholds that cut sorted values into at most ``max_bins`` bins.

    Every distinct value gets a bin if there are few enough. Otherwise a value with a bin's
    share of the mass or more gets a bin to itself (a feature that is mostly 0
    keeps its bins for the rest), and the others share what is left by equal mass.

    Parameters
    ----------
    values : sorted array without NaN
    mass : cumulative weights of the values, or None where each counts 1
    max_bins : at least 2, or None for a bin per distinct value
    """
    if len(values) < 2 or values[0] == values[-1]:
        return np.zeros(0)
    steps = values[1:] != values[:-1]
    distinct = np.count_nonzero(steps) + 1
    if max_bins is None or distinct <= max_bins:
        last = np.flatnonzero(steps)
        return between(values[last], values[last + 1])
    if mass is None and distinct == len(values):
        # None can have a bin's share: the same cuts without looking for such values.
        after = _positions(len(values) / max_bins * np.arange(1, max_bins)) + 1
        return between(values[after - 1], values[after])
    del steps
    last_values = _coarse_cuts(_Ranked(values, mass), max_bins)
    after = np.searchsorted(values, last_values, "right")
    after = np.unique(after[(after > 0) & (after < len(values))])
    if not len(after):  # (of two or three bins, the largest value may fill all but the first)
        after = np.searchsorted(values, values[-1:], "left")
    return between(values[after - 1], values[after])


def drawn_cut_points(values: Reals, max_bins: int | None, random: np.random.Generator) -> Floats:
    """Return all thresholds between distinct values or, if they are too many, a random draw.

    Every threshold has the same chance, so that the draw does not depend on weights, on
    repeated rows or on the scale of the feature (Connamacher et al. 2019, section 5).

    Parameters
    ----------
    values : sorted array without NaN
    max_bins : at least 2, or None for a bin per distinct value
        At most ``max_bins - 1`` thresholds are drawn.
    random : Generator

    Examples
    --------
    >>> drawn_cut_points(np.array([0.0, 0.0, 1.0, 3.0]), 3, np.random.default_rng(0)).tolist()
    [0.5, 2.0]
    >>> len(drawn_cut_points(np.arange(1000.0), 256, np.random.default_rng(0)))
    255
    """
    last = np.flatnonzero(values[1:] != values[:-1])
    if max_bins is not None and len(last) >= max_bins:
        last = np.sort(random.choice(last, max_bins - 1, replace=False))
    return between(values[last], values[last + 1])


def _coarse_cuts(ranked: _Ranked, max_bins: int) -> Reals:
    """Return the values after which to cut."""
    share = ranked.total / max_bins
    # A value with a share of the mass spans one of these points.
    candidates = np.unique(ranked.at(share * np.arange(1, max_bins + 1)))
    start = np.searchsorted(ranked.values, candidates, "left")
    stop = np.searchsorted(ranked.values, candidates, "right")
    held = ranked.before(stop) - ranked.before(start)
    heavy = held >= share * (1 - _SLACK)
    if not heavy.any() or 2 * np.count_nonzero(heavy) + 2 > max_bins:
        return ranked.at(share * np.arange(1, max_bins))
    start, stop, held = start[heavy], stop[heavy], held[heavy]
    # Stretches between heavy values; each gets whole bins, so one may be lost per stretch.
    first = ranked.before(np.append(0, stop))
    last = ranked.before(np.append(start, len(ranked.values)))
    light = np.maximum(last - first, 0.0)
    bins = max_bins - 2 * len(start) - 1
    size = light.sum() / bins if light.sum() > 0 else 1.0
    pieces = np.ceil(light / size * (1 - _SLACK)).astype(np.int64)
    cuts = [ranked.values[stop - 1]]
    before_heavy = start[start > 0]
    cuts.append(ranked.values[before_heavy - 1])
    for a, width, count in zip(first, light, pieces):
        if count > 1:
            cuts.append(ranked.at(a + width * np.arange(1, count) / count))
    return np.unique(np.concatenate(cuts))
