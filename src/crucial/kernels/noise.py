"""Random numbers that depend on a seed, the round, the query and the row, and on nothing else.

Each number is a hash of its place (SplitMix64, Steele, Lea & Flood 2014), so that threads, the
order of the queries and earlier rounds change nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crucial.kernels.threads import cut_lists, over_ranges
from crucial.types import Floats, Ints

__all__ = ["QueryNoise"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_A, _B, _C = np.uint64(30), np.uint64(27), np.uint64(31)


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a hash of every number (the finaliser of SplitMix64)."""
    z = (values ^ (values >> _A)) * _FIRST
    z = (z ^ (z >> _B)) * _SECOND
    return z ^ (z >> _C)


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
        self._bounds = cut_lists(row_start, threads)

    def keys(self, number: int) -> NDArray[np.uint64]:
        """Return the key of every query in a round."""
        first = _mix(np.array([self._seed % 2**64], np.uint64) + _GOLDEN)
        second = _mix(first + _GOLDEN * np.array([number + 1], np.uint64))
        return _mix(second + _GOLDEN * (self._numbers.astype(np.uint64) + np.uint64(1)))

    def uniforms(self, number: int) -> Floats:
        """Return one number in [0, 1) per row for a round."""
        from crucial.kernels.compiled.noise import uniforms

        out = np.empty(int(self._row_start[-1]))
        keys = self.keys(number)

        def fill(begin: int, end: int) -> None:
            with np.errstate(over="ignore"):  # (without the JIT, NumPy warns of wrapping around)
                uniforms(keys, self._row_start, begin, end, out)

        over_ranges(self._bounds, self._threads, fill)
        return out
