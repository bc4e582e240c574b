"""The loops of RankBoost+ over pairs and stumps."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.kernels.threads import run_all
from crucial.types import Bytes, Codes, Floats, Ints

__all__ = ["PlusSums", "stump_sums"]

# Pairs per block. Blocks depend on the pairs alone, so that threads cannot change a sum.
_BLOCK = 200_000
# Rows times features from which threads share out the features.
_SHARED = 400_000


class PlusSums:
    """Sums over pairs and over the ones of stumps, of one fit.

    Parameters
    ----------
    start : int array of shape (n_rows + 1,)
        The pairs that row x should win are ``start[x]:start[x + 1]``.
    low : int32 array of shape (n_pairs,)
        The loser of each pair.
    threads : int
    """

    def __init__(self, start: Ints, low: NDArray[np.int32], threads: int) -> None:
        self._start, self._low, self._threads = start, low, threads
        self._blocks = _cut(start)
        n_rows = len(start) - 1
        self._win, self._lose = np.zeros(n_rows), np.zeros((len(self._blocks), n_rows))
        self._sums = np.zeros((len(self._blocks), 4))
        from crucial.kernels.compiled import plus

        self._kernels = plus

    def pair_step(
        self, output: Bytes, factors: Floats, d: Floats, e: Floats
    ) -> tuple[Floats, Floats]:
        """Multiply pair weights by the factors of a {0, 1} ranker.

        See `crucial.kernels.compiled.plus.pair_step` for the parameters.

        Returns
        -------
        net : array of shape (n_rows,)
            Weight d of the pairs that a row should win minus that of those it should lose.
        sums : array of shape (4,)
            The sums of d, of e, and of d over the tied and over the right pairs.
        """
        step = partial(self._kernels.pair_step, self._start, self._low, output, factors, d, e)
        out = zip(self._blocks, self._lose, self._sums)
        tasks = [partial(step, a, b, self._win, lose, sums) for (a, b), lose, sums in out]
        run_all(self._threads, tasks)
        return self._win - _added(self._lose), _added(self._sums)

    def pair_ties(self, d: Floats, used: Floats) -> Floats:
        """Return the weight d of the pairs that each ranker, a column of 0 and 1, ties."""
        size = used.shape[1]
        tied = np.zeros((len(self._blocks), size))
        ties = partial(self._kernels.pair_ties, self._start, self._low, d, used, size)
        tasks = [partial(ties, a, b, out) for (a, b), out in zip(self._blocks, tied)]
        run_all(self._threads, tasks)
        return _added(tied)

    def column_sums(self, values: Floats, columns: Floats, size: int) -> Floats:
        """Return the sum of values over the ones of each of the first ``size`` columns."""
        out = np.empty(size)
        self._kernels.column_sums(values, columns, out)
        return out

    def stump_sums(
        self, codes: Codes, n_rows: int, first: Ints, features: Ints, *rest: NDArray[np.generic]
    ) -> None:
        """Write the sum of values over the ones of every stump of the features.

        See `crucial.kernels.compiled.plus.stump_sums` for the parameters.
        """
        sums = partial(self._kernels.stump_sums, codes, n_rows, first)
        if n_rows * len(features) <= _SHARED:
            sums(features, *rest)
            return
        parts = np.array_split(features, self._threads)
        run_all(self._threads, [partial(sums, part, *rest) for part in parts])


def stump_sums(codes: Codes, *rest: Any) -> None:
    """Write the sum of values over the ones of every stump; see ``compiled.plus.stump_sums``."""
    from crucial.kernels.compiled.plus import stump_sums as compiled

    compiled(np.ascontiguousarray(codes), *rest)


def _cut(start: Ints) -> list[tuple[int, int]]:
    """Return ranges of winners with about the same number of pairs."""
    count = max(1, -(-int(start[-1]) // _BLOCK))
    goals = np.linspace(0, start[-1], count + 1)[1:-1]
    inner = np.searchsorted(start, goals)
    return list(pairwise(np.unique([0, *inner.tolist(), len(start) - 1]).tolist()))


def _added(parts: Floats) -> Floats:
    """Add up rows one after the other: the same sum always."""
    total: Floats = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
