"""Step functions by tables that need no search: quick for the rows of one query, in NumPy.

Every feature has its values cut into buckets of equal width so small that a bucket has at most one
threshold. A value is multiplied and shifted to the number of its bucket, and one comparison with
the threshold there finds its cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crucial.kernels.predict import look_up, searchable
from crucial.types import Floats, Ints, Numbers

__all__ = ["StepGrid"]

_MAX_BUCKETS = 2048  # per feature: 32 kB
_BLOCK_ROWS = 256  # so that what is computed stays in the cache
_NEGATIVE = -4e18  # as integers, the bits of no number below -1 are above it


@dataclass(frozen=True, eq=False)
class StepGrid:
    """The step functions of all used features, one bucket after the other.

    The bucket of ``x`` is ``int(clip(x, low, high) * scale + shift)``: each operation is monotone,
    so values in a lower bucket are smaller, rounding included. Features whose thresholds are close
    together at small values and far apart at large ones have buckets of the bits of ``x``, which
    grow like its logarithm.

    Attributes
    ----------
    columns : int64 array of shape (n_used,)
        The used features, ascending.
    by_bits : int64 array
        Those of them, as places in ``columns``, whose buckets are of bits.
    low, high, scale, shift : float64 arrays of shape (n_used, 1)
    thresholds : float64 array
        The threshold in every bucket. Minus infinity in the first of a feature, where abstentions
        are; infinity where there is none.
    values : float64 array
        What is added up to the threshold of a bucket. Above it, it is what the next entry says.
    searched : list of (place, thresholds, values)
        Features that no buckets fit; see `crucial.kernels.predict.look_up`.
    """

    columns: Ints
    by_bits: Ints
    low: Floats
    high: Floats
    scale: Floats
    shift: Floats
    thresholds: Floats
    values: Floats
    searched: list[tuple[int, Floats, Floats]]

    @classmethod
    def of(cls, steps: Sequence[tuple[int, Floats, Floats]]) -> StepGrid:
        """Return the grid of step functions.

        Parameters
        ----------
        steps : sequence of (feature, thresholds, values)
            Ascending by feature, as of `AdditiveRanker.step_tables`.

        Examples
        --------
        >>> grid = StepGrid.of([(0, np.array([-np.inf, 1.0, 5.0]), np.array([9.0, 0.0, 0.5, 1.0]))])
        >>> grid.scores(np.array([[1.0], [1.5], [7.0], [np.nan]])).tolist()
        [0.0, 0.5, 1.0, 9.0]
        """
        rows: list[tuple[float, float, float, float]] = []
        by_bits: list[int] = []
        searched: list[tuple[int, Floats, Floats]] = []
        all_thresholds: list[Floats] = []
        all_values: list[Floats] = []
        base = 0
        for place, (_, cuts, values) in enumerate(steps):
            plain = _buckets(cuts[1:], base)
            if plain is None and cuts[1] >= 0.0:
                plain = _buckets(_bits(cuts[1:]), base)
                if plain is not None and plain[1][0] > _NEGATIVE:
                    by_bits.append(place)
                else:
                    plain = None
            if plain is None:
                searched.append((place, *searchable(cuts, values)))
                cuts, values = cuts[:1], values[:2]
                plain = _buckets(cuts[1:], base)
                assert plain is not None
            places, row = plain
            size = int(places[-1]) - base + 2
            own = np.full(size, np.inf)
            own[places - base] = cuts
            cell = np.concatenate(([0], np.cumsum(own[:-1] < np.inf)))
            all_thresholds.append(own)
            all_values.append(values[cell])
            rows.append(row)
            base += size
        table = np.array(rows).reshape(-1, 4)
        low, high, scale, shift = (table[:, one : one + 1].copy() for one in range(4))
        return cls(
            np.array([feature for feature, _, _ in steps], np.int64),
            np.array(by_bits, np.int64),
            low,
            high,
            scale,
            shift,
            np.concatenate([np.zeros(0), *all_thresholds]),
            np.concatenate([np.zeros(0), *all_values]),
            searched,
        )

    def scores(self, X: Numbers, n_jobs: int | None = 1) -> Floats:
        """Return the sum over features of every row, added in ascending order of features.

        Parameters
        ----------
        X : array of numbers of shape (n_rows, n_features)
        n_jobs : int, optional
            Ignored: it is for few rows.
        """
        del n_jobs
        if not len(self.columns) or not len(X):
            return np.zeros(len(X))
        if len(X) <= _BLOCK_ROWS:
            return self._block(X)
        begins = range(0, len(X), _BLOCK_ROWS)
        return np.concatenate([self._block(X[begin : begin + _BLOCK_ROWS]) for begin in begins])

    def entries(self, X: Numbers) -> Floats:
        """Return what every feature has for every row, of shape (n_used, n_rows)."""
        every = len(self.columns) == X.shape[1]
        x = (X.T if every else X.T[self.columns]).astype(np.float64, order="C", copy=False)
        if len(self.by_bits):
            at = x.copy()
            # (fmax also replaces NaN)
            at[self.by_bits] = np.fmax(x[self.by_bits], -1.0).view(np.int64)
            np.fmax(at, self.low, out=at)
        else:
            at = np.fmax(x, self.low)
        np.fmin(at, self.high, out=at)
        at *= self.scale
        at += self.shift
        bucket = at.astype(np.int64)
        bucket += x > self.thresholds.take(bucket)
        added: Floats = self.values.take(bucket)
        for place, thresholds, values in self.searched:
            added[place] = look_up(x[place], thresholds, values)
        return added

    def _block(self, X: Numbers) -> Floats:
        added = self.entries(X)
        # (a single column would be added in pairs, and not from first to last)
        if len(X) == 1:
            return np.add.accumulate(added[:, 0])[-1:].copy()
        total: Floats = np.add.reduce(added, axis=0)
        return total


def _bits(thresholds: Floats) -> Floats:
    """Return the bits of numbers as numbers."""
    return (thresholds + 0.0).view(np.int64).astype(np.float64)


def _buckets(
    thresholds: Floats, base: int
) -> tuple[Ints, tuple[float, float, float, float]] | None:
    """Return the buckets of abstentions and thresholds, and (low, high, scale, shift).

    None if buckets of one width cannot separate the thresholds.
    """
    if not len(thresholds):
        return np.array([base]), (0.0, 0.0, 1.0, base + 0.5)
    first, last = float(thresholds[0]), float(thresholds[-1])
    half = np.diff(thresholds / 2)  # (halves do not overflow)
    gap = 2.0 * min(float(half.min()), 1e300) if len(half) else max(1.0, abs(first))
    if not gap > 1e-300 or (last / 2 - first / 2) / gap > _MAX_BUCKETS / 2:
        return None
    scale = 1.01 / gap
    low = first - 1.5 / scale
    shift = base + 0.5 - low * scale
    places = (np.array([low, *thresholds.tolist()]) * scale + shift).astype(np.int64)
    if not (np.isfinite(low) and np.isfinite(shift) and places[0] == base):
        return None
    return (places, (low, last, scale, shift)) if (np.diff(places) > 0).all() else None
