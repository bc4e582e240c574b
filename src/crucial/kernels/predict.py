"""Scores of rows from the step functions and trees of a model, and ranks inside queries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.kernels import runtime
from crucial.kernels.runtime import count_threads, cut_lists, over_ranges
from crucial.types import Floats, Ints, Reals

# --- Scores of rows from the step functions of a model
#
# Three ways, chosen by size alone, add the same numbers in the same order and so give the same
# bytes.


# Measured: comparing with all thresholds at once costs 4.5 ns for each (row, threshold);
# searching costs 1.5 us for each feature and 14 ns for each (row, feature).
_COMPARE_ROWS = 128
# (row, threshold) pairs compared in one go: 96 kB, which malloc keeps at hand.
_COMPARE_CELLS = 12_000
BLOCK_ROWS = 4096  # rows of one task, a few megabytes


def searchable(thresholds: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Add +inf at the end, which no value is greater than: a search puts NaN behind it."""
    return np.append(thresholds, np.inf), np.append(values, values[0])


def look_up(column: Reals, thresholds: Floats, values: Floats) -> Floats:
    """Return the value of the step function at every number of a column."""
    return values.take(thresholds.searchsorted(column.astype(np.float64)))


@dataclass(frozen=True, eq=False)
class StepTables:
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
    def _places(self) -> tuple[Ints, Ints, Ints]:
        """The feature of every threshold; of every feature, its first threshold and value."""
        firsts = self.starts[:-1].copy()
        return (
            np.repeat(self.features, np.diff(self.starts)),
            firsts,
            firsts + np.arange(len(self.features)),
        )

    @cached_property
    def _tables(self) -> list[tuple[int, Floats, Floats]]:
        return [
            (feature, *searchable(*self.shape_of(slot)))
            for slot, feature in enumerate(self.features.tolist())
        ]

    def scores(self, X: Reals, n_jobs: int | None = 1) -> Floats:
        """Score every row of ``X``: real numbers without infinities, NaN where abstaining."""
        n, used, rungs = len(X), len(self.features), len(self.thresholds)
        if n * used >= runtime.PREDICT_COMPILED:
            return self.by_kernel(X, n_jobs)
        if used and n <= _COMPARE_ROWS and n * (rungs - 3 * used) <= 200 * used:
            return self.by_comparison(X)
        return self.by_search(X)

    def by_comparison(self, X: Reals) -> Floats:
        """Compare with all thresholds at once: quickest for a few rows."""
        columns, firsts, offsets = self._places
        step = max(1, _COMPARE_CELLS // len(columns))
        parts = []
        for begin in range(0, max(1, len(X)), step):
            above = X[begin : begin + step].take(columns, axis=1) > self.thresholds
            cells = np.add.reduceat(above.view(np.uint8), firsts, axis=1, dtype=np.int64)
            # (accumulate adds from left to right; sum would add in pairs)
            sums = np.add.accumulate(self.values.take(cells + offsets), axis=1)
            parts.append(sums[:, -1].copy())
        return np.concatenate(parts) if len(parts) > 1 else parts[0]

    def by_search(self, X: Reals) -> Floats:
        """Search one feature after the other."""
        out = np.zeros(len(X))
        for feature, thresholds, values in self._tables:
            out += look_up(X[:, feature], thresholds, values)
        return out

    def by_kernel(self, X: Reals, n_jobs: int | None = 1) -> Floats:
        """Run the compiled kernel over blocks of rows."""
        tables = (self.thresholds, self.starts, self.values)
        return _over_blocks("add_steps", X, self.features, tables, n_jobs)


def _over_blocks(
    kernel: str, X: Reals, features: Ints, tables: tuple[Any, ...], n_jobs: int | None
) -> Floats:
    """Return what a kernel of `crucial.kernels.compiled.predict` adds up for every row."""
    from crucial.kernels.compiled import predict as compiled

    call, out = getattr(compiled, kernel), np.zeros(len(X))
    by_row, by_column = (X.shape[1], 1) if X.flags.c_contiguous else (1, X.shape[0])
    direct = X.dtype in (np.float32, np.float64) and X.flags.aligned and X.flags.forc
    flat = X.ravel(order="K") if direct else np.zeros(0)
    slots = np.arange(len(features))
    # (Numba compiles anew for arrays that may be written to)
    flat.flags.writeable, slots.flags.writeable = False, features.flags.writeable

    def block(begin: int, end: int) -> None:
        if direct:
            call(flat, by_row, by_column, begin, features, *tables, out[begin:end])
            return
        part = X[begin:end].take(features, axis=1)
        dense = np.ascontiguousarray(part, np.float64).ravel()
        dense.flags.writeable = False
        call(dense, len(slots), 1, 0, slots, *tables, out[begin:end])

    bounds = [*range(0, len(X), BLOCK_ROWS), len(X)]
    over_ranges(bounds, count_threads(n_jobs), block)
    return out


# --- Scores of rows from the trees of a model, by walking them, by masks of leaves or by tables


MASK_BITS = 32
"""Largest number of leaves of a tree that has masks."""

# A de Bruijn sequence: shifted by 0 to 31 bits, its first five bits are all numbers up to 31.
PLACE_FACTOR, PLACE_SHIFT = 0x077CB531, 27


def leaf_places(n_leaves: int) -> Ints:
    """Return where ``add_masked`` finds the values of leaves: their bits lead there."""
    bits = 1 << np.arange(n_leaves)
    return bits * PLACE_FACTOR % (1 << MASK_BITS) >> PLACE_SHIFT


@dataclass(frozen=True, eq=False)
class ThresholdCells:
    """The thresholds that cut the values of features into cells.

    Attributes
    ----------
    features : int64 array
        Columns of the features.
    thresholds : float64 array
        -inf and the thresholds of each feature, ascending, feature after feature.
    starts : int64 array of shape (n_features + 1,)
        Where the thresholds of a feature begin.
    """

    features: Ints
    thresholds: Floats
    starts: Ints


@dataclass(frozen=True, eq=False)
class TreeTables:
    """The trees of a model as a compiled kernel reads them.

    Attributes
    ----------
    cells : ThresholdCells
    kernel : {"add_trees", "add_masked", "add_tables"}
        Walk the nodes, exclude leaves by masks, or look up tables of one and of two features.
    tables : tuple of arrays
        What the kernel takes after the cells; see ``compiled.predict``.
    """

    cells: ThresholdCells
    kernel: str
    tables: tuple[NDArray[np.generic], ...]

    def scores(self, X: Reals, n_jobs: int | None = 1) -> Floats:
        """Return the sum of the values of the leaves that each row reaches."""
        tables = (self.cells.thresholds, self.cells.starts, *self.tables)
        return _over_blocks(self.kernel, X, self.cells.features, tables, n_jobs)


# --- Ranking rows inside queries, and sums over intervals of relevance


def run_starts(*keys: NDArray[np.generic]) -> Ints:
    """Return where each run of equal keys begins."""
    new = np.ones(len(keys[0]), bool)
    new[1:] = False
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(new)


def rank_rows(
    values: Floats, weight: Floats, regions: tuple[Floats, Ints, Floats], starts: Ints, threads: int
) -> Floats:
    """Return the middle of the positions that every row takes in its query, bottom first.

    See `crucial.kernels.compiled.predict.rank_rows` for the parameters.
    """
    from crucial.kernels.compiled.predict import rank_rows as compiled

    out = np.empty(len(values))
    inputs = (values, weight, regions, starts)
    over_ranges(cut_lists(starts, threads), threads, lambda a, b: compiled(*inputs, a, b, out))
    return out


def order_rows(scores: Floats, starts: Ints, threads: int) -> Ints:
    """Return the rows of every query by falling score, equal ones in any order.

    Parameters
    ----------
    starts : int array
        Query ``q`` is rows ``starts[q]:starts[q + 1]``.
    """
    from crucial.kernels.compiled.predict import order_rows as compiled

    out = np.empty(len(scores), np.int64)
    bounds = cut_lists(starts, threads)
    over_ranges(bounds, threads, lambda a, b: compiled(scores, starts, a, b, out))
    return out


def interval_sums(
    values: Floats, codes: Ints, weight: Floats, scale: float, n_intervals: int
) -> tuple[Floats, Floats, float]:
    """Return the sum and the weight of every interval, and the largest absolute value added.

    See `crucial.kernels.compiled.predict.interval_sums` for the parameters.
    """
    from crucial.kernels.compiled.predict import interval_sums as compiled

    sums, counts = np.zeros(n_intervals), np.zeros(n_intervals)
    return sums, counts, compiled(values, codes, weight, scale, sums, counts)


# --- Sorting documents by majority


#: Position of a document that a run did not return: behind every other.
NOT_RETURNED = np.iinfo(np.int32).max


def sort_by_majority(positions: NDArray[np.int32], starts: Ints, order: Ints) -> None:
    """Merge sort every query by majority of the runs, in place.

    See `crucial.kernels.compiled.predict.sort_by_majority` for the parameters.
    """
    from crucial.kernels.compiled.predict import sort_by_majority as compiled

    compiled(positions, starts, order, np.empty_like(order))


# --- RankBoost over columns of which most cells abstain, whole ensembles in one call


def boost_opinions(
    row: Ints,
    bin_start: Ints,
    first_bin: Ints,
    level_start: Ints,
    rounds: int,
    step: tuple[float, float],
    ties: tuple[float, float, float],
) -> tuple[Ints, Floats]:
    """Learn an ensemble of stumps with positive cumulative weights, always compiled.

    Parameters
    ----------
    row, bin_start, first_bin, level_start : int arrays
        See `crucial.kernels.compiled.predict.boost_opinions`.
    rounds : int
        At most so many.
    step : (float, float)
        Of the step rule: smoothing, snap.
    ties : (float, float, float)
        Of the tie rule: tie, slack, noise.

    Returns
    -------
    place : int array of shape (rounds done, 3)
        Column, number of bins below the threshold, default.
    weights : array of shape (rounds done,)
    """
    from crucial.kernels.compiled.predict import boost_opinions as compiled

    place, weights = np.zeros((rounds, 3), np.int64), np.zeros(rounds)
    done = compiled(row, bin_start, first_bin, level_start, *step, *ties, place, weights)
    return place[:done], weights[:done]
