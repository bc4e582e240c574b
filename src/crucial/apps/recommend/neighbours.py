"""What a viewer says of films not rated, learned so that his or her order suits the user's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.data.opinions import Opinions
from crucial.types import Floats, Ints

__all__ = ["Defaults", "learn_defaults"]


@dataclass(frozen=True)
class Defaults:
    """The best default of every viewer, and the ranking loss with it."""

    default: Floats
    loss: Floats


@dataclass(frozen=True)
class _Bins:
    """Distinct values of every column, with counts of the user's rating levels."""

    column: Ints
    value: Floats
    first: Ints
    counts: Floats  # bins x levels
    missing: Floats  # columns x levels

    @classmethod
    def of(cls, opinions: Opinions, labels: Floats) -> _Bins:
        levels, level = np.unique(labels, return_inverse=True)
        order = np.lexsort((opinions.value, opinions.column))
        column, value = opinions.column[order], opinions.value[order]
        new = np.ones(len(value), bool)
        new[1:] = (column[1:] != column[:-1]) | (value[1:] != value[:-1])
        n_levels, n_bins = len(levels), int(new.sum())
        key = (np.cumsum(new) - 1) * n_levels + level[opinions.row[order]]
        counts = np.bincount(key, minlength=n_bins * n_levels).reshape(n_bins, n_levels)
        by_column = np.zeros((opinions.n_columns, n_levels))
        np.add.at(by_column, column[new], counts)
        missing = np.bincount(level, minlength=n_levels) - by_column
        first = np.searchsorted(column[new], np.arange(opinions.n_columns + 1))
        return cls(column[new], value[new], first, counts.astype(np.float64), missing)

    @property
    def last(self) -> Ints:
        """End of every column's bins."""
        return self.first[1:]

    def before(self, values: Floats) -> Floats:
        """Sum over the earlier bins of the same column."""
        total = np.zeros((len(values) + 1, *values.shape[1:]))
        np.cumsum(values, axis=0, out=total[1:])
        return total[:-1] - total[self.first[self.column]]

    def by_column(self, values: Floats) -> Floats:
        """Sum over the bins of every column."""
        sums: Floats = np.bincount(self.column, values, len(self.first) - 1).astype(np.float64)
        return sums


def _lower(counts: Floats) -> Floats:
    """Number of films at lower levels."""
    return np.asarray(np.cumsum(counts, axis=-1) - counts)


def learn_defaults(opinions: Opinions, labels: Floats, club: Opinions) -> Defaults:
    """Find the default score of every viewer that makes the ranking loss least.

    The loss is that of Freund et al. (2003, equation 21) over pairs of different labels, a tie
    counting half. It depends only on between which of the viewer's values the default lies; on
    such a value it is the mean of its neighbours', so the best one lies strictly between, or at
    an end. All counts are whole and halves: equal losses are equal to the bit.
    """
    bins = _Bins.of(opinions, labels)
    n_columns = opinions.n_columns
    counts, missing = bins.counts, bins.missing
    # Pairs in which both are rated, and both are not.
    lower = _lower(counts)
    wrong = (bins.before(counts) * lower).sum(axis=1) + (counts * lower).sum(axis=1) / 2
    known = bins.by_column(wrong) + (missing * _lower(missing)).sum(axis=1) / 2
    # A rated film against one that is not: wrong if the default is above, or below.
    absent = missing[bins.column]
    if_above = (counts * _lower(absent)).sum(axis=1)
    if_below = (absent * lower).sum(axis=1)
    # Places for the default: below bin k, for k = 0 ... number of bins.
    place_column = np.concatenate((bins.column, np.arange(n_columns)))
    place_k = np.concatenate((np.arange(len(bins.column)), bins.last)) - bins.first[place_column]
    total_below = bins.by_column(if_below)
    under = np.concatenate((bins.before(if_above), bins.by_column(if_above)))
    over = np.concatenate((bins.before(if_below), total_below))
    loss = known[place_column] + under + total_below[place_column] - over
    value = _representatives(bins, place_column, place_k, club)
    away = np.abs(value - club.mean[place_column])
    order = np.lexsort((place_k, away, loss, place_column))
    best = order[np.searchsorted(place_column[order], np.arange(n_columns))]
    n_pairs = float((_level_counts(labels) * _lower(_level_counts(labels))).sum())
    # Nothing to learn from for a viewer who rated all: the mean, as in the paper.
    default = np.where(missing.sum(axis=1) > 0, value[best], club.mean)
    return Defaults(default, loss[best] / max(n_pairs, 1.0))


def _level_counts(labels: Floats) -> Floats:
    return np.unique(labels, return_counts=True)[1].astype(np.float64)


def _representatives(bins: _Bins, column: Ints, k: Ints, club: Opinions) -> Floats:
    """A default for every place: the viewer's mean if it lies there, else a middle."""
    at = bins.first[column] + k
    values = np.append(bins.value, 0.0)  # (a place behind the last bin reads it, and is masked)
    low = np.where(k > 0, values[at - 1], -np.inf)
    high = np.where(at < bins.last[column], values[at], np.inf)
    mean = club.mean[column]
    inside = (low < mean) & (mean < high)
    step = _steps(club)[column] / 2
    with np.errstate(invalid="ignore"):  # (a viewer without values: the mean is inside)
        middle = np.where(np.isinf(low), high - step, low / 2 + high / 2)
        middle = np.where(np.isinf(high), low + step, middle)
    return np.where(inside, mean, middle)


def _steps(club: Opinions) -> Floats:
    """Mean distance between neighbouring values of every viewer; 1 where there is one only."""
    order = np.lexsort((club.value, club.column))
    column, value = club.column[order], club.value[order]
    new = np.ones(len(value), bool)
    new[1:] = (column[1:] != column[:-1]) | (value[1:] != value[:-1])
    distinct = np.bincount(column[new], minlength=club.n_columns)
    low, high = np.full(club.n_columns, np.inf), np.full(club.n_columns, -np.inf)
    np.minimum.at(low, column, value)
    np.maximum.at(high, column, value)
    with np.errstate(invalid="ignore"):
        return np.where(distinct > 1, (high - low) / np.maximum(distinct - 1, 1), 1.0)
