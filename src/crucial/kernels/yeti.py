"""Logistic pairs of neighbours in noisy orders, on several threads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crucial.kernels.threads import cut_lists, over_ranges
from crucial.types import Floats, Ints

__all__ = ["YetiSums"]


class YetiSums:
    """Sums over neighbours in noisy orders; see `crucial.kernels.compiled.yeti`.

    O(permutations n log n) per query.

    Parameters
    ----------
    row_start : int array of shape (n_queries + 1,)
    worth : array over the rows
    weight : array over the rows, or None where all are 1
    permutations : int
    decay : float
    threads : int
    """

    def __init__(
        self,
        row_start: Ints,
        worth: Floats,
        weight: Floats | None,
        permutations: int,
        decay: float,
        threads: int,
    ) -> None:
        self._row_start, self._worth, self._threads = row_start, worth, threads
        self._weight = np.ones(len(worth)) if weight is None else weight
        self._permutations, self._decay = permutations, decay
        self._bounds = cut_lists(row_start, 4 * threads)

    def sums(
        self,
        scores: Floats,
        coefficient: Floats,
        keys: NDArray[np.uint64],
        pi: Floats,
        curvature: Floats,
        loss: Floats,
    ) -> None:
        """Write potentials, curvature and loss of every query."""
        from crucial.kernels.compiled.yeti import yeti_sums

        inputs = (scores, self._worth, self._weight, coefficient, keys)
        more = (self._permutations, self._decay, self._row_start)

        def sums(begin: int, end: int) -> None:
            with np.errstate(over="ignore"):  # (without the JIT, NumPy warns of wrapping around)
                yeti_sums(*inputs, *more, begin, end, pi, curvature, loss)

        over_ranges(self._bounds, self._threads, sums)
