"""The loops of RankBoost+ over pairs and stumps."""

from __future__ import annotations

from functools import partial
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from crucial.kernels.plain import plus as plain
from crucial.kernels.plain.plus import stump_sums
from crucial.kernels.sizes import is_small
from crucial.kernels.threads import run_all
from crucial.types import Bools, Bytes, Codes, Floats, Ints

__all__ = ["PlusSums", "stump_sums"]

# Rows times features from which threads share out the features.
_SHARED = 400_000


class PlusSums:
    """Sums over pairs and over the ones of stumps, of one fit.

    The arguments of each method are documented in `crucial.kernels.plain.plus`.

    Parameters
    ----------
    n_pairs, rounds : int
        Every pair is visited in every round: their product decides which kernels run.
    threads : int
    """

    def __init__(self, n_pairs: int, rounds: int, threads: int) -> None:
        self._threads = threads
        self._kernels: ModuleType = plain
        if not is_small(n_pairs, rounds):
            from crucial.kernels.compiled import plus as compiled

            self._kernels = compiled

    def pair_step(
        self,
        blocks: list[tuple[int, int]],
        start: Ints,
        low: NDArray[np.int32],
        output: Bytes,
        factors: Floats,
        d: Floats,
        e: Floats,
        win: Floats,
        lose: Floats,
        sums: Floats,
    ) -> None:
        """Multiply pair weights by a ranker's factors; add them up block by block.

        ``lose`` and ``sums`` have one row per block, a range of winners.
        """
        step = partial(self._kernels.pair_step, start, low, output, factors, d, e)
        run_all(
            self._threads,
            [partial(step, a, b, win, lose[i], sums[i]) for i, (a, b) in enumerate(blocks)],
        )

    def pair_ties(
        self,
        blocks: list[tuple[int, int]],
        start: Ints,
        low: NDArray[np.int32],
        d: Floats,
        used: Floats,
    ) -> Floats:
        """Return the weight of the pairs that each ranker ties, one row per block."""
        size = used.shape[1]
        tied = np.zeros((len(blocks), size))
        ties = partial(self._kernels.pair_ties, start, low, d, used, size)
        run_all(self._threads, [partial(ties, a, b, out) for (a, b), out in zip(blocks, tied)])
        return tied

    def column_sums(self, values: Floats, columns: Floats, size: int) -> Floats:
        """Return the sum of values over the ones of each of the first ``size`` columns."""
        out = np.empty(size)
        self._kernels.column_sums(values, columns, out)
        return out

    def stump_sums(
        self,
        codes: Codes,
        n_rows: int,
        first: Ints,
        features: Ints,
        values: Floats,
        offered: Bools,
        out: Floats,
        peak: Floats,
    ) -> None:
        """Write the sum of values over the ones of every stump of the features."""
        sums, rest = self._kernels.stump_sums, (values, offered, out, peak)
        if self._kernels is plain or n_rows * len(features) <= _SHARED:
            sums(codes, n_rows, first, features, *rest)
            return
        parts = np.array_split(features, self._threads)
        tasks = [partial(sums, codes, n_rows, first, part, *rest) for part in parts]
        run_all(self._threads, tasks)
