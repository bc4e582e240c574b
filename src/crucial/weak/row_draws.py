"""Which rows a tree is grown on, if it sees a share of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crucial.kernels.sums import QueryNoise
from crucial.types import Floats, Ints

__all__ = ["RowDraws", "drawn_rows"]

# Keeps these numbers apart from those of losses that add noise under the same seed.
_OWN = 20047 << 32


class RowDraws:
    """One random number per row and round, by which rows are drawn.

    It depends on the seed, the round, the number of the query and the place of the row in it
    alone: rows in parts of whole queries get the numbers that they have in one table.

    Parameters
    ----------
    query : int array over the rows
        Number of the query of every row; at least one row.
    seed : int
    threads : int

    Examples
    --------
    >>> draws = RowDraws(np.array([3, 3, 8]), 0, 1)
    >>> bool(draws.uniforms(5)[2] == RowDraws(np.array([8, 9]), 0, 1).uniforms(5)[0])
    True
    """

    def __init__(self, query: Ints, seed: int, threads: int) -> None:
        self._order: Ints | None = None
        if np.any(query[1:] < query[:-1]):
            self._order = np.argsort(query, kind="stable")
            query = query[self._order]
        starts = np.flatnonzero(np.concatenate(([True], query[1:] != query[:-1])))
        row_start = np.append(starts, len(query))
        self._noise = QueryNoise(seed + _OWN, query[starts], row_start, threads)

    def uniforms(self, number: int) -> Floats:
        """Return the number in [0, 1) of every row in a round."""
        found = self._noise.uniforms(number)
        if self._order is None:
            return found
        out = np.empty_like(found)
        out[self._order] = found
        return out


def drawn_rows(uniforms: Floats, share: float, least: float | None = None) -> NDArray[np.int32]:
    """Return the rows whose number is below a share.

    Parameters
    ----------
    least : float, optional
        The smallest number of all rows, which are drawn where none is below the share.

    Examples
    --------
    >>> drawn_rows(np.array([0.4, 0.2, 0.9]), 0.5).tolist()
    [0, 1]
    >>> drawn_rows(np.array([0.4, 0.2, 0.9]), 0.1, least=0.2).tolist()
    [1]
    """
    found = np.flatnonzero(uniforms < share)
    if not len(found) and least is not None:
        found = np.flatnonzero(uniforms <= least)
    return found.astype(np.int32)
