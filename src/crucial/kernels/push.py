"""Sums for the p-norm push over labels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from crucial.kernels.elementary import log
from crucial.kernels.levels import Levels
from crucial.kernels.threads import cut_lists, over_ranges
from crucial.types import Bytes, Floats

__all__ = ["PushSums"]


class PushSums:
    """Sums over the pairs of rows of one query with different labels, to the p-th power.

    Parameters
    ----------
    levels : Levels
    weight : array over the rows, or None where all are 1
    gap : array over the segments, or of length 0 where all pairs count the same
        Gain of a level minus that of the level below it; see `Levels.gaps`.
    threads : int
    """

    def __init__(self, levels: Levels, weight: Floats | None, gap: Floats, threads: int) -> None:
        self._levels, self._threads = levels, threads
        with np.errstate(divide="ignore"):
            self._log_weight = np.zeros(levels.n_rows) if weight is None else log(weight)
            self._log_gap = log(gap)
        self._bounds = cut_lists(levels.row_start, threads)

    def _over_queries(self, call: Callable[[int, int], None]) -> None:
        over_ranges(self._bounds, self._threads, call)

    def logs(self, scores: Floats, p: float) -> tuple[Floats, Floats, Floats]:
        """Return logarithms of both halves of the potentials, and of the loss of every query.

        See `crucial.kernels.compiled.push.push_logs`.
        """
        from crucial.kernels.compiled.push import push_logs

        n = len(scores)
        out = np.empty(n), np.empty(n), np.empty(self._levels.n_queries)
        inputs = (scores, self._log_weight, self._log_gap, p)
        levels = self._levels.arrays
        self._over_queries(lambda a, b: push_logs(*inputs, levels, a, b, *out))
        return out

    def split(self, scores: Floats, p: float, output: Bytes) -> tuple[Floats, Floats]:
        """Return the sums behind the push, apart for rows where a ranker scores 0 and 1.

        ``log_above`` and ``log_inside`` of `crucial.kernels.compiled.push.push_split`.
        """
        from crucial.kernels.compiled.push import push_split

        segments = self._levels.n_segments
        out = np.empty((segments, 2)), np.empty((segments, 2))
        inputs = (scores, self._log_weight, self._log_gap, p, output)
        levels = self._levels.arrays
        self._over_queries(lambda a, b: push_split(*inputs, levels, a, b, *out))
        return out
