"""The function of a feature cut into bins: of numbers by edges, of categories by groups."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from crucial.data.arrays import DAYS, number_text
from crucial.data.instances import Encodings
from crucial.inspection.scorecards.merging import merge_cells, short_edge
from crucial.inspection.shape_functions import FeatureShape
from crucial.model.tree_table import value_text
from crucial.types import Floats, Ints

__all__ = ["BinnedFeature", "bin_feature", "sums_by"]

_CELLS = 256  # cells that are merged, at most
_MINUTES = 1440  # per day


def sums_by(places: Ints, values: Floats, count: int = 0) -> Floats:
    """Return the sums of values by place."""
    return np.bincount(places, values, minlength=count).astype(np.float64)


@dataclass(frozen=True, eq=False)
class BinnedFeature:
    """A feature cut into bins; the last bin is for missing values.

    Attributes
    ----------
    feature : int
    name : str
    edges : array of shape (n_bins - 2,)
        A value is in bin c where exactly c edges are below it; empty for categories.
    categories : tuple of tuples of str
        Categories of each bin; empty for numbers.
    numbers, bin_of : arrays of shape (n_numbers,)
        For categories: their numbers, ascending, and the bin of each.
    values : array of shape (n_bins,)
        What each bin adds to the score of the model.
    weight : array of shape (n_bins,)
        Weight of the rows in each bin.
    texts : tuple of str
        Each bin in words.
    """

    feature: int
    name: str
    edges: Floats
    categories: tuple[tuple[str, ...], ...]
    numbers: Floats
    bin_of: Ints
    values: Floats
    weight: Floats
    texts: tuple[str, ...]

    @property
    def n_bins(self) -> int:
        """Number of bins, with the one for missing values."""
        return len(self.values)

    def bins(self, column: Floats) -> Ints:
        """Return the bin of each value; a category that is not known is a missing value."""
        if not self.categories:
            return np.where(np.isnan(column), self.n_bins - 1, self.edges.searchsorted(column))
        place = np.minimum(self.numbers.searchsorted(column), len(self.numbers) - 1)
        return np.where(self.numbers[place] == column, self.bin_of[place], self.n_bins - 1)

    def merged(self, groups: Ints) -> BinnedFeature:
        """Return the feature with neighbouring bins of the same group merged.

        Parameters
        ----------
        groups : int array of shape (n_bins - 1,)
            Group of each bin, from 0 on and never falling.
        """
        last = int(groups[-1])
        to = np.append(groups, last + 1)
        mass = sums_by(to, self.weight)
        plain = sums_by(to, self.values) / np.bincount(to)
        means = sums_by(to, self.weight * self.values) / np.where(mass > 0, mass, 1.0)
        return BinnedFeature(
            self.feature,
            self.name,
            self.edges[np.diff(groups) > 0] if not self.categories else self.edges,
            tuple(
                tuple(text for b in np.flatnonzero(groups == g) for text in self.categories[b])
                for g in range(last + 1)
            )
            if self.categories
            else (),
            self.numbers,
            to[self.bin_of] if self.categories else self.bin_of,
            np.where(mass > 0, means, plain),
            mass,
            (),
        )

    def described(self, encodings: Encodings) -> BinnedFeature:
        """Return the feature with the texts of its bins."""
        if self.categories:
            texts = [", ".join(sorted(part)) for part in self.categories]
            missing = "missing or new (abstains)"
        else:
            ends = [_edge_text(encodings, self.feature, edge) for edge in self.edges.tolist()]
            texts = ["any value"] if not ends else [f"up to {ends[0]}"]
            texts += [f"above {low} to {high}" for low, high in pairwise(ends)]
            texts += [f"above {ends[-1]}"] if ends else []
            missing = "missing (abstains)"
        return replace(self, texts=(*texts, missing))


def _edge_text(encodings: Encodings, feature: int, value: float) -> str:
    """Return an edge with all its digits: what is printed is what is applied."""
    if encodings.times.get(feature) == DAYS:
        return value_text(encodings, feature, value)
    if value.is_integer() and abs(value) < 1e15:
        return number_text(value)
    return repr(value)


def bin_feature(
    shape: FeatureShape,
    column: Floats,
    weight: Floats,
    unit: str,
    max_bins: int | None,
    min_share: float,
) -> BinnedFeature:
    """Cut the function of a feature into bins.

    Parameters
    ----------
    shape : FeatureShape
    column, weight : arrays of shape (n_rows,)
        Values of the feature and weights of the rows.
    unit : str
        What the numbers of a date or time count, else "".
    max_bins : int or None
        Most bins besides the one for missing values; None keeps each step of the function that
        has rows.
    min_share : float
        Least share of the rows in a bin; not used if ``max_bins`` is None.
    """
    least = min_share * float(weight.sum())
    absent = np.isnan(column)
    silent = float(weight[absent].sum())
    if shape.categories:
        return _bin_categories(shape, column, weight, max_bins, least, silent)
    there = ~absent & (weight > 0)  # (rows without weight move no edge)
    values, mass = column[there], weight[there]
    distinct, cells = np.unique(values, return_inverse=True)
    if not shape.ramps:
        cells = shape.thresholds.searchsorted(values)
    # Cells without rows belong to no bin of their own.
    steps, cells = np.unique(cells, return_inverse=True)
    if not len(cells):
        known = np.array([float(shape.values.mean()), shape.missing])
        return _numbers(shape, np.zeros(0), known, np.array([0.0, silent]))
    counts = sums_by(cells, mass)
    means = shape.values[steps] if not shape.ramps else _added(shape, distinct)
    lowest, highest = np.full(len(counts), np.inf), np.full(len(counts), -np.inf)
    np.minimum.at(lowest, cells, values)
    np.maximum.at(highest, cells, values)
    begins = _begins(counts, means, max_bins, least)
    edges = [
        _edge(float(highest[b - 1]), float(lowest[b]), shape.thresholds, unit) for b in begins[1:]
    ]
    return _numbers(
        shape,
        np.array(edges),
        np.append(_bin_means(counts, means, begins), shape.missing),
        np.append(np.add.reduceat(counts, begins), silent),
    )


def _numbers(shape: FeatureShape, edges: Floats, values: Floats, weight: Floats) -> BinnedFeature:
    nothing, none = np.zeros(0), np.zeros(0, np.int64)
    return BinnedFeature(shape.feature, shape.name, edges, (), nothing, none, values, weight, ())


def _begins(counts: Floats, means: Floats, max_bins: int | None, least: float) -> Ints:
    """Return the first cell of each bin; many cells are first joined into parts of equal weight."""
    if max_bins is None:
        return np.arange(len(counts))
    starts = np.arange(len(counts))
    if len(counts) > _CELLS:
        share = np.cumsum(counts) / max(float(counts.sum()), 1e-300)
        part = np.minimum((share * _CELLS).astype(np.int64), _CELLS - 1)
        starts = np.flatnonzero(np.append(True, np.diff(part) > 0))
    joined = np.add.reduceat(counts, starts)
    merged = merge_cells(joined, _bin_means(counts, means, starts), max_bins, least)
    return np.asarray(starts[merged])


def _bin_means(counts: Floats, means: Floats, begins: Ints) -> Floats:
    """Return the mean value of each bin over its rows."""
    alone = np.diff(np.append(begins, len(counts))) == 1
    total = np.add.reduceat(counts, begins)
    pooled = np.add.reduceat(counts * means, begins) / np.where(total > 0, total, 1.0)
    plain = np.add.reduceat(means, begins) / np.diff(np.append(begins, len(counts)))
    # (a bin of one cell has its value exactly)
    return np.where(alone, means[begins], np.where(total > 0, pooled, plain))


def _added(shape: FeatureShape, values: Floats) -> Floats:
    """Return what a function adds at values that are not missing."""
    out = shape.values[shape.thresholds.searchsorted(values)].astype(np.float64)
    for ramp in shape.ramps:
        part = (np.clip(values, ramp.low, ramp.high) - ramp.low) / (ramp.high - ramp.low)
        out = out + ramp.weight * part
    return out


def _edge(low: float, high: float, thresholds: Floats, unit: str) -> float:
    """Return the edge between two neighbouring values, close to the threshold of the model."""
    inside = thresholds[(thresholds >= low) & (thresholds < high)]
    near = float(inside[len(inside) // 2]) if len(inside) else low / 2 + high / 2
    if unit != DAYS:
        return short_edge(low, high, near)
    if math.ceil(low) < high:
        return short_edge(low, high, near, unit=0)
    minute = math.ceil(low * _MINUTES) / _MINUTES
    return minute if low <= minute < high else low


def _bin_categories(
    shape: FeatureShape,
    column: Floats,
    weight: Floats,
    max_bins: int | None,
    least: float,
    silent: float,
) -> BinnedFeature:
    """Group categories that add about the same, in the order of what they add."""
    numbers = np.unique(np.array(list(shape.categories.values())))
    added = _added(shape, numbers)
    order = np.lexsort((numbers, added))
    known = ~np.isnan(column)
    places = numbers.searchsorted(column[known])
    counts = sums_by(places, weight[known], len(numbers))[order]
    begins = _begins(counts, added[order], max_bins, least)
    in_bin = np.zeros(len(numbers), np.int64)
    in_bin[order] = np.searchsorted(begins, np.arange(len(numbers)), side="right") - 1
    groups: list[list[str]] = [[] for _ in begins]
    for text, number in shape.categories.items():
        groups[in_bin[numbers.searchsorted(number)]].append(text)
    return BinnedFeature(
        shape.feature,
        shape.name,
        np.zeros(0),
        tuple(tuple(sorted(group)) for group in groups),
        numbers,
        in_bin,
        np.append(_bin_means(counts, added[order], begins), shape.missing),
        np.append(np.add.reduceat(counts, begins), silent),
        (),
    )
