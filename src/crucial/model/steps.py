"""An ensemble of stumps as one step function per feature.

All stumps on a feature cut its values into cells, and every cell has one score. The
score of an instance is the sum of its cells' scores, feature after feature in ascending
order. Three ways to compute it, chosen by size alone, add the same numbers in the same
order and so give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.kernels.threads import count_threads, run_all
from crucial.model.weak import Presence, Stump, Vote
from crucial.types import Floats, Ints

__all__ = ["Ladder", "StepFunctions"]


# Beyond this many (row, used feature) cells a compiled kernel repays loading it:
# NumPy needs about 15 ns for each.
KERNEL_CELLS = 2_000_000
# Measured: comparing with all thresholds at once costs 4.5 ns for each (row, threshold);
# searching costs 1.5 us for each feature and 14 ns for each (row, feature).
COMPARE_ROWS = 128
COMPARE_CELLS = 12_000  # (row, threshold) pairs in one go: 96 kB, which malloc keeps at hand
BLOCK_ROWS = 4096  # rows of one task, a few megabytes


@dataclass
class Ladder:
    """The step function of one feature while it is being added up.

    The score of a cell is the score of the cell below plus the summed weights of the
    stumps at the threshold between them. Adding in this order keeps a function whose
    summed weights are all positive exactly monotone, rounding included.
    """

    missing: float = 0.0
    lowest: float = 0.0
    jumps: dict[float, float] = field(default_factory=dict)

    def add(self, ranker: Stump | Presence | Vote, weight: float) -> None:
        """Add one round."""
        if isinstance(ranker, Vote):  # 2 h - 1
            self.missing -= weight
            self.lowest -= weight
            ranker, weight = ranker.ranker, 2.0 * weight
        if ranker.default == 1:
            self.missing += weight
        if isinstance(ranker, Stump):
            self.jumps[ranker.threshold] = self.jumps.get(ranker.threshold, 0.0) + weight
        elif ranker.default == 0:
            self.lowest += weight

    def thresholds(self) -> Floats:
        """-inf, then the thresholds, ascending.

        Every value is greater than -inf and NaN is not, so the number of thresholds
        below a value is the number of its cell, and 0 where the feature abstains.
        """
        return np.array([-np.inf, *sorted(self.jumps)])

    def values(self) -> Floats:
        """Score where the feature abstains, then the score of every cell, ascending."""
        steps = [self.lowest, *(self.jumps[threshold] for threshold in sorted(self.jumps))]
        return np.concatenate(([self.missing], np.add.accumulate(steps)))

    def scores(self, column: NDArray[Any]) -> Floats:
        """Score the values of the feature."""
        return _look_up(column, *_searchable(self.thresholds(), self.values()))


def _searchable(thresholds: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Add +inf at the end, which no value is greater than: a search puts NaN behind it."""
    return np.append(thresholds, np.inf), np.append(values, values[0])


def _look_up(column: NDArray[Any], thresholds: Floats, values: Floats) -> Floats:
    return values.take(thresholds.searchsorted(column.astype(np.float64)))


@dataclass(frozen=True, eq=False)
class StepFunctions:
    """The step functions of all used features, laid out one after the other.

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

    @classmethod
    def compile(
        cls, rankers: Sequence[Stump | Presence | Vote], weights: Sequence[float]
    ) -> StepFunctions:
        """Add up an ensemble; weights of the same threshold are added in the order given."""
        ladders: dict[int, Ladder] = {}
        for ranker, weight in zip(rankers, weights, strict=True):
            ladders.setdefault(ranker.feature, Ladder()).add(ranker, weight)
        used = sorted(ladders)
        thresholds = [ladders[feature].thresholds() for feature in used]
        values = [ladders[feature].values() for feature in used]
        made = cls(
            np.array(used, np.int64),
            np.concatenate([np.zeros(0), *thresholds]),
            np.cumsum([0, *map(len, thresholds)], dtype=np.int64),
            np.concatenate([np.zeros(0), *values]),
        )
        for array in (made.features, made.thresholds, made.starts, made.values):
            array.flags.writeable = False
        return made

    def shape_of(self, slot: int) -> tuple[Floats, Floats]:
        """Thresholds (with the leading -inf) and values of the used feature number ``slot``."""
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
            (feature, *_searchable(*self.shape_of(slot)))
            for slot, feature in enumerate(self.features.tolist())
        ]

    def scores(self, X: NDArray[Any], n_jobs: int | None = 1) -> Floats:
        """Score every row of ``X``: real numbers without infinities, NaN where abstaining."""
        n, used, rungs = len(X), len(self.features), len(self.thresholds)
        if n * used >= KERNEL_CELLS:
            return self.by_kernel(X, n_jobs)
        if used and n <= COMPARE_ROWS and n * (rungs - 3 * used) <= 200 * used:
            return self.by_comparison(X)
        return self.by_search(X)

    def by_comparison(self, X: NDArray[Any]) -> Floats:
        """Compare with all thresholds at once: quickest for a few rows."""
        step = max(1, COMPARE_CELLS // len(self.thresholds))
        if len(X) <= step:
            return self._compared(X)
        blocks = range(0, len(X), step)
        return np.concatenate([self._compared(X[begin : begin + step]) for begin in blocks])

    def _compared(self, X: NDArray[Any]) -> Floats:
        above = X.take(self._columns, axis=1) > self.thresholds
        cells = np.add.reduceat(above.view(np.uint8), self._firsts, axis=1, dtype=np.int64)
        cells += self._offsets
        # (accumulate adds from left to right; sum would add in pairs)
        return np.add.accumulate(self.values.take(cells), axis=1)[:, -1].copy()

    def by_search(self, X: NDArray[Any]) -> Floats:
        """Search one feature after the other."""
        out = np.zeros(len(X))
        for feature, thresholds, values in self._tables:
            out += _look_up(X[:, feature], thresholds, values)
        return out

    def by_kernel(self, X: NDArray[Any], n_jobs: int | None = 1) -> Floats:
        """Run the compiled kernel over blocks of rows."""
        from crucial.kernels.predict import add_steps

        out = np.empty(len(X))
        direct = (
            X.dtype in (np.float32, np.float64)
            and X.flags.aligned
            and (X.flags.c_contiguous or X.flags.f_contiguous)
        )
        flat = X.ravel(order="K") if direct else np.zeros(0)
        flat.flags.writeable = False  # (Numba compiles anew for writable arrays)
        by_row, by_column = (X.shape[1], 1) if X.flags.c_contiguous else (1, X.shape[0])

        def block(begin: int) -> None:
            target = out[begin : begin + BLOCK_ROWS]
            tables = (self.thresholds, self.starts, self.values, target)
            if direct:
                add_steps(flat, by_row, by_column, begin, self.features, *tables)
                return
            part = X[begin : begin + BLOCK_ROWS].take(self.features, axis=1)
            dense = np.ascontiguousarray(part, np.float64).ravel()
            dense.flags.writeable = False
            slots = np.arange(len(self.features))
            slots.flags.writeable = False
            add_steps(dense, len(slots), 1, 0, slots, *tables)

        tasks = [partial(block, begin) for begin in range(0, len(X), BLOCK_ROWS)]
        run_all(count_threads(n_jobs), tasks)
        return out
