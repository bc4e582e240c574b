"""Default scores for films that a viewer did not rate, learned to fit the user's order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.apps.recommend.opinions import DistinctValues, Opinions
from crucial.types import Floats, Ints

__all__ = ["Defaults", "agreements", "learn_defaults"]


@dataclass(frozen=True)
class Defaults:
    """The best default score of every viewer, and the ranking loss with it."""

    default: Floats
    loss: Floats


@dataclass(frozen=True)
class _Bins:
    """Distinct values of every column, with counts of the user's rating levels."""

    values: DistinctValues
    counts: Floats  # bins x levels
    missing: Floats  # columns x levels

    @classmethod
    def of(cls, opinions: Opinions, labels: Floats) -> _Bins:
        """Count the user's rating levels by value of every viewer, and where viewers abstain."""
        levels, level = np.unique(labels, return_inverse=True)
        values = opinions.distinct
        n_levels, n_bins = len(levels), len(values.value)
        bin_of_entry = np.repeat(np.arange(n_bins), np.diff(values.begins))
        key = bin_of_entry * n_levels + level[opinions.row[values.order]]
        counts = np.bincount(key, minlength=n_bins * n_levels).reshape(n_bins, n_levels)
        by_column = np.zeros((opinions.n_columns, n_levels))
        np.add.at(by_column, values.column, counts)
        missing = np.bincount(level, minlength=n_levels) - by_column
        return cls(values, counts.astype(np.float64), missing)

    def before(self, values: Floats) -> Floats:
        """Return the sum over the earlier bins of the same column."""
        total = np.zeros((len(values) + 1, *values.shape[1:]))
        np.cumsum(values, axis=0, out=total[1:])
        return total[:-1] - total[self.values.first[self.values.column]]

    def by_column(self, values: Floats) -> Floats:
        """Return the sum over the bins of every column."""
        n_columns = len(self.values.first) - 1
        sums: Floats = np.bincount(self.values.column, values, n_columns).astype(np.float64)
        return sums


def _lower(counts: Floats) -> Floats:
    """Return the number of films at lower levels."""
    return np.asarray(np.cumsum(counts, axis=-1) - counts)


def agreements(rated: Opinions, labels: Floats) -> Floats:
    """Return how often every viewer orders two films as the user does, over films that both rated.

    The share of the user's pairs of different ratings, a tie of the viewer counting half; NaN for a
    viewer without such a pair.

    Examples
    --------
    >>> rated = Opinions.from_dense([[5, 1, np.nan], [3, 2, 4], [1, 2, np.nan]])
    >>> agreements(rated, np.array([5.0, 4.0, 1.0])).round(2).tolist()
    [1.0, 0.17, nan]
    """
    bins = _Bins.of(rated, labels)
    wrong = bins.by_column(_wrong(bins))
    both = np.zeros((rated.n_columns, bins.counts.shape[1]))
    np.add.at(both, bins.values.column, bins.counts)
    pairs = (both * _lower(both)).sum(axis=1)
    share = np.divide(wrong, pairs, out=np.full(len(wrong), np.nan), where=pairs > 0.0)
    return np.asarray(1.0 - share)


def _wrong(bins: _Bins) -> Floats:
    """Return by bin the weight of pairs of rated films that the viewer has in the wrong order."""
    lower = _lower(bins.counts)
    before = (bins.before(bins.counts) * lower).sum(axis=1)
    return np.asarray(before + (bins.counts * lower).sum(axis=1) / 2)


def learn_defaults(
    opinions: Opinions, labels: Floats, club: Opinions, on_scale: bool = False
) -> Defaults:
    """Find the default score of every viewer that minimises the ranking loss.

    The loss is that of Freund et al. (2003, equation 21) over pairs of different labels, a tie
    counting half. It depends only on which two of the viewer's values the default lies between; at
    a value it is the mean of the losses on both sides, so the best default lies strictly between
    two values, or beyond all. All counts are whole or quarters: equal losses are equal to the bit.

    Parameters
    ----------
    opinions : Opinions
        Of the films that the user rated.
    labels : array
        The user's ratings.
    club : Opinions
        Of all films.
    on_scale : bool
        Choose among the ratings that occur in the club, which may be a viewer's own values.
    """
    bins = _Bins.of(opinions, labels)
    n_columns, first, column = opinions.n_columns, bins.values.first, bins.values.column
    counts, missing = bins.counts, bins.missing
    # Pairs in which both are rated, and both are not.
    lower = _lower(counts)
    known = bins.by_column(_wrong(bins)) + (missing * _lower(missing)).sum(axis=1) / 2
    # A rated film against one that is not: wrong if the default is above, or below.
    absent = missing[column]
    if_above = (counts * _lower(absent)).sum(axis=1)
    if_below = (absent * lower).sum(axis=1)
    # Places for the default: below bin k, for k = 0 ... number of bins.
    place_column = np.concatenate((column, np.arange(n_columns)))
    place_k = np.concatenate((np.arange(len(column)), first[1:])) - first[place_column]
    total_below = bins.by_column(if_below)
    under = np.concatenate((bins.before(if_above), bins.by_column(if_above)))
    over = np.concatenate((bins.before(if_below), total_below))
    loss = known[place_column] + under + total_below[place_column] - over
    value = _representatives(bins.values, place_column, place_k, club)
    if on_scale:
        scale = np.unique(club.value) if len(club.value) else np.zeros(1)
        below, above = _places_of(scale, bins.values)
        loss = ((loss[below] + loss[above]) / 2).ravel()
        place_column = np.repeat(np.arange(n_columns), len(scale))
        place_k = np.tile(np.arange(len(scale)), n_columns)
        value = scale[place_k]
    away = np.abs(value - club.mean[place_column])
    order = np.lexsort((place_k, away, loss, place_column))
    best = order[np.searchsorted(place_column[order], np.arange(n_columns))]
    n_pairs = float((_level_counts(labels) * _lower(_level_counts(labels))).sum())
    # A viewer who rated all films has the mean as default, as in the paper.
    default = np.where(missing.sum(axis=1) > 0, value[best], club.mean)
    return Defaults(default, loss[best] / max(n_pairs, 1.0))


def _places_of(scale: Floats, bins: DistinctValues) -> tuple[Ints, Ints]:
    """Return the places just below and just above each value of the scale, columns x values.

    Both are the same unless the value is one of the viewer's.
    """
    n_columns = len(bins.first) - 1
    column = np.arange(n_columns)[:, None]
    keys = bins.column * len(scale) + np.searchsorted(scale, bins.value)
    wanted = column * len(scale) + np.arange(len(scale))
    found = []
    for side in ("left", "right"):
        at = np.searchsorted(keys, wanted, side)
        # The place after a viewer's last value is numbered after all values.
        found.append(np.where(at < bins.first[column + 1], at, len(bins.value) + column))
    return found[0], found[1]


def _level_counts(labels: Floats) -> Floats:
    return np.unique(labels, return_counts=True)[1].astype(np.float64)


def _representatives(bins: DistinctValues, column: Ints, k: Ints, club: Opinions) -> Floats:
    """Return a default for every place: the viewer's mean if it lies there, else a middle."""
    at = bins.first[column] + k
    values = np.append(bins.value, 0.0)  # (read and masked for a place after the last bin)
    low = np.where(k > 0, values[at - 1], -np.inf)
    high = np.where(at < bins.first[column + 1], values[at], np.inf)
    mean = club.mean[column]
    inside = (low < mean) & (mean < high)
    step = _steps(club)[column] / 2
    with np.errstate(invalid="ignore"):  # (a viewer without values: the mean is inside)
        middle = np.where(np.isinf(low), high - step, low / 2 + high / 2)
        middle = np.where(np.isinf(high), low + step, middle)
    return np.where(inside, mean, middle)


def _steps(club: Opinions) -> Floats:
    """Return the mean distance between neighbouring values of every viewer; 1 for one value."""
    values = club.distinct
    several = np.flatnonzero(np.diff(values.first) > 1)
    first, last = values.first[several], values.first[several + 1] - 1
    steps = np.ones(club.n_columns)
    steps[several] = (values.value[last] - values.value[first]) / (last - first)
    return steps
