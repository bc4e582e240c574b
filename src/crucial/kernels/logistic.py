"""Sums of the logistic loss over the pairs that labels imply."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np

from crucial.kernels import logistic_grid
from crucial.kernels.elementary import exp
from crucial.kernels.levels import Levels
from crucial.kernels.threads import run_all
from crucial.types import Floats, Ints

__all__ = ["NARROW", "LogisticSums"]

#: Scores of a query closer together than this have exponentials whose products stay finite;
#: the compiled kernel multiplies eight of them.
NARROW = 60.0


class LogisticSums:
    """Sums over the pairs of rows of one query with different labels.

    Every pair is visited in queries of up to `logistic_grid.GRID_PAIRS` pairs (8,000 rows of two
    labels); larger ones are interpolated, with an error below 1e-11 of the weight of the pairs,
    in O(n) times the range of the scores. Rows are spread over threads, and each is summed up by
    itself.

    Parameters
    ----------
    levels : Levels
    weight : array over the rows, or None where all are 1
    gains : array over the segments, or of length 0 where all pairs count the same
    threads : int
    """

    def __init__(self, levels: Levels, weight: Floats | None, gains: Floats, threads: int) -> None:
        self._levels, self._gains, self._threads = levels, gains, threads
        self._weighted = weight is not None
        self._weight = np.ones(levels.n_rows) if weight is None else weight
        self._query, own = levels.query_of_row(), levels.level_of_row()
        self._places = (*levels.arrays, self._query, own)
        # Rows are cut by the pairs they are in.
        size = np.diff(levels.row_start)[self._query]
        level = np.diff(levels.level_start)[levels.query_first[self._query] + own]
        work = (size - level).astype(np.float64)
        large = np.flatnonzero(np.bincount(self._query, work) / 2.0 > logistic_grid.GRID_PAIRS)
        self._grids = self._make_grids(large)
        exact = ~np.isin(self._query, large)
        work = np.cumsum(work * exact)
        marks = work[-1] * np.arange(1, 4 * threads) / (4 * threads)
        borders = levels.row_start[large], levels.row_start[large + 1]
        cuts = np.concatenate(([0], np.searchsorted(work, marks), [levels.n_rows], *borders))
        bounds: list[int] = np.unique(cuts).tolist()
        self._ranges = [(a, b) for a, b in pairwise(bounds) if exact[a]]

    def _make_grids(self, large: Ints) -> list[logistic_grid.GridSums]:
        """Return what sums up queries that are too large to visit every pair."""
        levels, gain = self._levels, self._gains
        if len(large) and len(gain):
            gain = gain[levels.segment_of_row]
        grids = []
        for q in large.tolist():
            starts = levels.level_start[levels.query_first[q] : levels.query_first[q + 1] + 1]
            grids.append(logistic_grid.GridSums(starts, gain, self._weighted, self._threads))
        return grids

    def _over_rows(self, call: Callable[[int, int], None]) -> None:
        run_all(self._threads, [partial(call, a, b) for a, b in self._ranges])

    def _ends(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the lowest and highest score of every query."""
        starts = self._levels.row_start[:-1]
        return np.minimum.reduceat(scores, starts), np.maximum.reduceat(scores, starts)

    def widest(self, scores: Floats) -> float:
        """Return the largest distance of two scores of a query: `NARROW` ones never underflow."""
        low, high = self._ends(scores)
        return float((high - low).max(initial=0.0))

    def _exponentials(
        self, scores: Floats, shift: float, narrow: bool | None
    ) -> tuple[Floats, bool]:
        """Return ``e^{H}``, each query around its middle, and whether all of them are of use."""
        low, high = self._ends(scores)
        if narrow is None:
            narrow = float((high - low).max(initial=0.0)) <= NARROW
        if shift != 0.0 or not narrow:
            return np.ones(len(scores)), False
        return exp(scores - ((high + low) / 2)[self._query]), True

    def sums(
        self, scores: Floats, shift: float, narrow: bool | None = None
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Return, for every row, the weight it wins and loses, its curvature and its loss.

        All times ``e^shift``; see `crucial.kernels.compiled.logistic.logistic_sums`.

        Parameters
        ----------
        narrow : bool, optional
            Whether no query is wider than `NARROW`, where these are some of many.
        """
        from crucial.kernels.compiled.logistic import logistic_sums

        n = len(scores)
        out = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
        grown, narrow = self._exponentials(scores, shift, narrow)
        inputs = (scores, grown, self._weight, self._gains, shift, narrow, self._weighted)
        self._over_rows(lambda a, b: logistic_sums(*inputs, self._places, a, b, out))
        if self._grids:
            sums = np.zeros((5, n))
            for grid in self._grids:
                grid.add(scores, self._weight, self._weight, shift, sums)
            for one, more in zip(out, (sums[0], sums[3], sums[1] + sums[4], sums[2]), strict=True):
                one += more
        return out

    def along(
        self, scores: Floats, shift: float, output: Floats, narrow: bool | None = None
    ) -> Floats:
        """Return what a {0, 1} ranker gains in the pairs that every row should win.

        See `crucial.kernels.compiled.logistic.logistic_along`; shape (n_rows, 3). ``narrow`` as
        in `sums`.
        """
        from crucial.kernels.compiled.logistic import logistic_along

        out = np.zeros((len(scores), 3))
        grown, narrow = self._exponentials(scores, shift, narrow)
        inputs = (scores, grown, self._weight, self._gains, shift, narrow, output)
        self._over_rows(lambda a, b: logistic_along(*inputs, self._places, a, b, out))
        if self._grids:
            ones = np.where(output > 0.5, self._weight, 0.0)
            others = self._weight - ones
            for column, (winners, losers) in enumerate(((ones, others), (others, ones))):
                sums = np.zeros((5, len(scores)))
                for grid in self._grids:
                    grid.add(scores, winners, losers, shift, sums, won_only=True)
                out[:, column] += sums[0]
                out[:, 2] += sums[1]
        return out
