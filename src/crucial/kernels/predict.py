"""Scores of rows from the step functions and trees of a model, and ranks inside queries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crucial.kernels import runtime
from crucial.kernels.plain.predict import PlainSteps
from crucial.kernels.plain.predict import look_up as look_up
from crucial.kernels.plain.predict import searchable as searchable
from crucial.kernels.runtime import count_threads, cut_lists, over_ranges
from crucial.types import Floats, Ints, Reals

# --- Scores of rows from the step functions of a model
#
# Three ways, chosen by size alone, add the same numbers in the same order and so give the same
# bytes.


# Measured: comparing with all thresholds at once costs 4.5 ns for each (row, threshold);
# searching costs 1.5 us for each feature and 14 ns for each (row, feature).
_COMPARE_ROWS = 128
BLOCK_ROWS = 4096  # rows of one task, a few megabytes


@dataclass(frozen=True, eq=False)
class StepTables(PlainSteps):
    """The step functions of all used features, and the quickest way to add them up."""

    def scores(self, X: Reals, n_jobs: int | None = 1) -> Floats:
        """Score every row of ``X``: real numbers without infinities, NaN where abstaining."""
        n, used, rungs = len(X), len(self.features), len(self.thresholds)
        if n * used >= runtime.PREDICT_COMPILED:
            return self.by_kernel(X, n_jobs)
        if used and n <= _COMPARE_ROWS and n * (rungs - 3 * used) <= 200 * used:
            return self.by_comparison(X)
        return self.by_search(X)

    def by_kernel(self, X: Reals, n_jobs: int | None = 1) -> Floats:
        """Run the compiled kernel over blocks of rows."""
        from crucial.kernels.compiled.predict import add_steps

        out = np.empty(len(X))
        direct = (
            X.dtype in (np.float32, np.float64)
            and X.flags.aligned
            and (X.flags.c_contiguous or X.flags.f_contiguous)
        )
        flat = X.ravel(order="K") if direct else np.zeros(0)
        flat.flags.writeable = False  # (Numba compiles anew for writable arrays)
        by_row, by_column = (X.shape[1], 1) if X.flags.c_contiguous else (1, X.shape[0])

        def block(begin: int, end: int) -> None:
            tables = (self.thresholds, self.starts, self.values, out[begin:end])
            if direct:
                add_steps(flat, by_row, by_column, begin, self.features, *tables)
                return
            part = X[begin:end].take(self.features, axis=1)
            dense = np.ascontiguousarray(part, np.float64).ravel()
            dense.flags.writeable = False
            slots = np.arange(len(self.features))
            slots.flags.writeable = False
            add_steps(dense, len(slots), 1, 0, slots, *tables)

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
        from crucial.kernels.compiled import predict as compiled

        out, features = np.zeros(len(X)), self.cells.features
        where = (self.cells.thresholds, self.cells.starts, *self.tables)
        call = getattr(compiled, self.kernel)
        direct = X.dtype in (np.float32, np.float64) and X.flags.aligned and X.flags.c_contiguous
        flat = X.ravel() if direct else np.zeros(0)
        flat.flags.writeable = False  # (Numba compiles anew for writable arrays)
        slots = np.arange(len(features))

        def block(begin: int, end: int) -> None:
            if direct:
                call(flat, X.shape[1], 1, begin, features, *where, out[begin:end])
                return
            part = X[begin:end].take(features, axis=1)
            dense = np.ascontiguousarray(part, np.float64).ravel()
            dense.flags.writeable = False
            call(dense, len(slots), 1, 0, slots, *where, out[begin:end])

        bounds = [*range(0, len(X), BLOCK_ROWS), len(X)]
        over_ranges(bounds, count_threads(n_jobs), block)
        return out


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
