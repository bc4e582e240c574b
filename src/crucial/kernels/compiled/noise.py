"""Uniform numbers by hashing places."""

from __future__ import annotations

import numpy as np

from crucial.kernels.jit import kernel

__all__ = ["mix", "uniform", "uniforms"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_A, _B, _C, _DROPPED = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_UNIT = 2.0**-53


@kernel
def mix(value):
    """Return a hash of a number (the finaliser of SplitMix64)."""
    z = (value ^ (value >> _A)) * _FIRST
    z = (z ^ (z >> _B)) * _SECOND
    return z ^ (z >> _C)


@kernel
def uniform(key, place):
    """Return the number in [0, 1) of a place under a key."""
    return (mix(key + _GOLDEN * np.uint64(place + 1)) >> _DROPPED) * _UNIT


@kernel
def uniforms(keys, row_start, first_query, last_query, out):
    """Write one number in [0, 1) per row of a range of queries.

    Row i of a query gets the upper 53 bits of ``mix(key + (i + 1) * GOLDEN)``.

    Parameters
    ----------
    keys : uint64 array of shape (n_queries,)
    row_start : int array of shape (n_queries + 1,)
    out : array of shape (n_rows,)  # OUT
    """
    for q in range(first_query, last_query):
        begin = row_start[q]
        for i in range(begin, row_start[q + 1]):
            out[i] = uniform(keys[q], i - begin)
