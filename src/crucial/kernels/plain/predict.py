"""Scores of rows from the step functions of a model, in NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from crucial.types import Floats, Ints, Reals

__all__ = ["PlainSteps", "look_up", "searchable"]

# (row, threshold) pairs compared in one go: 96 kB, which malloc keeps at hand.
_COMPARE_CELLS = 12_000


def searchable(thresholds: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Add +inf at the end, which no value is greater than: a search puts NaN behind it."""
    return np.append(thresholds, np.inf), np.append(values, values[0])


def look_up(column: Reals, thresholds: Floats, values: Floats) -> Floats:
    """Return the value of the step function at every number of a column."""
    return values.take(thresholds.searchsorted(column.astype(np.float64)))


@dataclass(frozen=True, eq=False)
class PlainSteps:
    """The step functions of all used features, one after the other.

    Attributes
    ----------
    features : int64 array of shape (n_used,)
        The used features, ascending.
    thresholds : float64 array
        For each used feature -inf and its thresholds, ascending.
    starts : int64 array of shape (n_used + 1,)
        Feature ``features[u]`` has ``thresholds[starts[u]:starts[u + 1]]``.
    values : float64 array
        For each used feature the score where it abstains, then the scores of its cells;
        they begin at ``starts[u] + u``.
    """

    features: Ints
    thresholds: Floats
    starts: Ints
    values: Floats

    def shape_of(self, slot: int) -> tuple[Floats, Floats]:
        """Return the thresholds (with the leading -inf) and values of used feature ``slot``."""
        begin, end = int(self.starts[slot]), int(self.starts[slot + 1])
        return self.thresholds[begin:end], self.values[begin + slot : end + slot + 1]

    @cached_property
    def _firsts(self) -> Ints:
        return self.starts[:-1].copy()

    @cached_property
    def _columns(self) -> Ints:
        return np.repeat(self.features, np.diff(self.starts))

    @cached_property
    def _offsets(self) -> Ints:
        return self.starts[:-1] + np.arange(len(self.features))

    @cached_property
    def _tables(self) -> list[tuple[int, Floats, Floats]]:
        return [
            (feature, *searchable(*self.shape_of(slot)))
            for slot, feature in enumerate(self.features.tolist())
        ]

    def by_comparison(self, X: Reals) -> Floats:
        """Compare with all thresholds at once: quickest for a few rows."""
        step = max(1, _COMPARE_CELLS // len(self.thresholds))
        if len(X) <= step:
            return self._compared(X)
        blocks = range(0, len(X), step)
        return np.concatenate([self._compared(X[begin : begin + step]) for begin in blocks])

    def _compared(self, X: Reals) -> Floats:
        above = X.take(self._columns, axis=1) > self.thresholds
        cells = np.add.reduceat(above.view(np.uint8), self._firsts, axis=1, dtype=np.int64)
        cells += self._offsets
        # (accumulate adds from left to right; sum would add in pairs)
        return np.add.accumulate(self.values.take(cells), axis=1)[:, -1].copy()

    def by_search(self, X: Reals) -> Floats:
        """Search one feature after the other."""
        out = np.zeros(len(X))
        for feature, thresholds, values in self._tables:
            out += look_up(X[:, feature], thresholds, values)
        return out
