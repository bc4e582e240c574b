"""Random numbers that depend on a seed, the round, the query and the row, and on nothing else.

Each number is a hash of its place (SplitMix64, Steele, Lea & Flood 2014), so that threads, the
order of the queries and earlier rounds change nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crucial.kernels.plain import noise as plain
from crucial.kernels.sizes import in_all, is_small
from crucial.kernels.threads import cut_lists, over_ranges
from crucial.types import Floats, Ints

__all__ = ["QueryNoise"]


class QueryNoise:
    """Uniform numbers for the rows of queries, anew in every round.

    Parameters
    ----------
    seed : int
    numbers : int array of shape (n_queries,)
        A number of its own for each query.
    row_start : int array of shape (n_queries + 1,)
    threads : int

    Examples
    --------
    >>> noise = QueryNoise(0, np.array([5]), np.array([0, 3]), 1)
    >>> bool(((noise.uniforms(1) >= 0) & (noise.uniforms(1) < 1)).all())
    True
    >>> bool((noise.uniforms(1) == noise.uniforms(2)).any())
    False
    """

    def __init__(self, seed: int, numbers: Ints, row_start: Ints, threads: int) -> None:
        self._seed, self._numbers = seed, numbers
        self._row_start, self._threads = row_start, threads
        self._small = is_small(in_all("rows", int(row_start[-1])))
        self._bounds = cut_lists(row_start, threads)

    def keys(self, number: int) -> NDArray[np.uint64]:
        """Return the key of every query in a round."""
        return plain.keys(self._seed, number, self._numbers)

    def uniforms(self, number: int) -> Floats:
        """Return one number in [0, 1) per row for a round."""
        out = np.empty(int(self._row_start[-1]))
        keys = self.keys(number)
        if self._small:
            plain.uniforms(keys, self._row_start, out)
            return out
        from crucial.kernels.compiled.noise import uniforms

        def fill(begin: int, end: int) -> None:
            with np.errstate(over="ignore"):  # (without the JIT, NumPy warns of wrapping around)
                uniforms(keys, self._row_start, begin, end, out)

        over_ranges(self._bounds, self._threads, fill)
        return out
