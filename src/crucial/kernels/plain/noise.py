"""Uniform numbers by hashing a seed, the round, the query and the row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crucial.types import Floats, Ints

__all__ = ["GOLDEN", "keys", "mix", "uniforms"]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_A, _B, _C = np.uint64(30), np.uint64(27), np.uint64(31)


def mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a hash of every number (the finaliser of SplitMix64)."""
    z = (values ^ (values >> _A)) * _FIRST
    z = (z ^ (z >> _B)) * _SECOND
    return z ^ (z >> _C)


def keys(seed: int, number: int, queries: Ints) -> NDArray[np.uint64]:
    """Return a key for every query, from the seed and the number of the round."""
    first = mix(np.array([seed % 2**64], np.uint64) + GOLDEN)
    second = mix(first + GOLDEN * np.array([number + 1], np.uint64))
    return mix(second + GOLDEN * (queries.astype(np.uint64) + np.uint64(1)))


def uniforms(keys: NDArray[np.uint64], row_start: Ints, out: Floats) -> None:
    """Write one number in [0, 1) per row.

    Row i of a query gets the upper 53 bits of ``mix(key + (i + 1) * GOLDEN)``.

    Parameters
    ----------
    keys : uint64 array of shape (n_queries,)
    row_start : int array of shape (n_queries + 1,)
    out : array of shape (n_rows,)  # OUT
    """
    sizes = np.diff(row_start)
    within = np.arange(len(out)) - np.repeat(row_start[:-1], sizes) + 1
    drawn = mix(np.repeat(keys, sizes) + GOLDEN * within.astype(np.uint64))
    out[:] = (drawn >> np.uint64(11)) * 2.0**-53
