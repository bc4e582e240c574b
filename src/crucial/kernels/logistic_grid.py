"""Sums of the logistic loss over the pairs of large queries, without visiting every pair.

The pairs of two sets of rows, all of one above all of the other, are the sums
``S(x) = sum_j u_j K(s_j - x)`` of a smooth function K at the scores of either set. Weights are
spread over a grid of scores by Lagrange polynomials of degree 7, the sums are made on the grid by
convolution, and read off by the same polynomials. The levels of a query are halved again and
again, so that every pair belongs to one such product of sets: O(n log n) for n rows and O(n) for
few levels, beside the work on grids, which depends on the range of the scores alone.

**Error.** With nodes 1/16 apart, interpolation by eight of them is off by at most
``max|K^(8)| (1/16)^8 (105/16)^2 / 8!``: 6e-13 for the logistic function, 2e-12 for its derivative,
3e-13 for ``ln(1 + e^x)``; both ways together by less than 1e-11 per unit of weight. Where that
is smaller, the sum is ``e^-x sum_j u_j e^(s_j) L(s_j - x)`` with ``L(d) = K(d) e^-d``, which
is bounded for negative d. The error of a row is therefore below 1e-11 times the smaller of
``sum_j u_j`` and ``sum_j u_j e^(s_j - x)``, so that sums in the tail keep their digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from crucial.kernels.threads import cut_evenly, over_ranges
from crucial.types import Floats, Ints

__all__ = ["GRID_PAIRS", "GridSums"]

#: Queries with more pairs are summed up on grids.
GRID_PAIRS = 1 << 24

_PER_UNIT = 16.0
_NODES = 8
# Ranges of rows up to this length, and products of sets of up to this many pairs, are exact.
_LEAF_ROWS = 512
_EXACT_PAIRS = 1 << 18
# Pairs whose cost equals that of two nodes of a grid together.
_NODE_COST = 40
# Scores further apart than this overflow as exponentials.
_WIDEST = 600.0


class GridSums:
    """Sums over the pairs of one large query.

    Parameters
    ----------
    level_start : int array
        Where the levels of the query begin, as row numbers, and its end.
    gain : array over all rows, or of length 0 where all pairs count the same
    threads : int
    """

    def __init__(self, level_start: Ints, gain: Floats, threads: int) -> None:
        self._starts, self._gain, self._threads = level_start, gain, threads

    def add(
        self, scores: Floats, winners: Floats, losers: Floats, shift: float, out: Floats
    ) -> None:
        """Add the sums of every row over the pairs that it should win, and lose.

        Parameters
        ----------
        scores : array over all rows
        winners, losers : arrays over all rows
            What a row weighs in pairs that it should win and lose.
        shift : float
            All sums are times ``e^shift``.
        out : array of shape (5, n_rows)  # OUT
            Weight, curvature and loss of the pairs a row should win; weight and curvature of
            those it should lose.
        """
        from crucial.kernels.compiled.logistic_grid import exact_pairs

        starts = self._starts
        begin_of = np.repeat(starts[:-1], np.diff(starts))
        level_begin = np.concatenate((np.zeros(starts[0], np.int64), begin_of))
        inputs = (scores, winners, losers, self._gain, level_begin, shift)
        for begin, middle, end in _halves(starts):
            few = middle == 0 or (middle - begin) * (end - middle) <= _EXACT_PAIRS
            rows = (begin, middle, end)
            if few or not self._on_grid(scores, (losers, winners), shift, rows, out):
                exact_pairs(*inputs, *rows, out)

    def _on_grid(
        self,
        scores: Floats,
        weights: tuple[Floats, Floats],
        shift: float,
        rows: tuple[int, int, int],
        out: Floats,
    ) -> bool:
        """Add the pairs of the rows from the middle with those before; False if not worth it."""
        begin, middle, end = rows
        lowest, highest = float(scores[begin:end].min()), float(scores[begin:end].max())
        nodes = int((highest - lowest) * _PER_UNIT) + _NODES + 1
        work = _NODE_COST * nodes * nodes
        if highest - lowest > _WIDEST or work > (middle - begin) * (end - middle):
            return False
        grid = _Grid(lowest, (lowest + highest) / 2.0, _kernels(nodes))
        lower, upper = (begin, middle), (middle, end)
        self._one_way(scores, weights, shift, 1.0, lower, upper, grid, 3, 0, out)
        self._one_way(scores, weights[::-1], shift, -1.0, upper, lower, grid, 2, 3, out)
        return True

    def _one_way(
        self,
        scores: Floats,
        weights: tuple[Floats, Floats],
        shift: float,
        sign: float,
        others: tuple[int, int],
        own: tuple[int, int],
        grid: _Grid,
        n_sums: int,
        first_out: int,
        out: Floats,
    ) -> None:
        """Add sums over other rows to those of some, which are winners if the sign is 1.

        Parameters
        ----------
        weights : of the others, and of the rows
        n_sums : int
            How many of the kernels are summed up.
        first_out : int
            Where their sums go in ``out``.
        """
        from crucial.kernels.compiled.logistic_grid import read_grid, spread

        part, nodes = slice(*others), grid.nodes
        total = float(weights[0][part].sum())
        if total == 0.0:
            return
        place = (grid.lowest, grid.middle, _PER_UNIT)
        mass = np.zeros((4, nodes))
        spread(scores, weights[0], self._gain, sign, *others, *place, mass)
        tables = np.zeros((2, n_sums, 2, nodes))
        for form in (0, 1):
            for what in range(n_sums):
                # Kernels are functions of loser minus winner.
                line = grid.kernels[form, what, :: -int(sign)]
                for gain in range(2 if len(self._gain) else 1):
                    made = np.convolve(mass[2 * form + gain], line)
                    tables[form, what, gain] = made[nodes - 1 : 2 * nodes - 1]
        grown = float(np.dot(weights[0][part], np.exp(sign * (scores[part] - grid.middle))))
        inputs = (scores, weights[1], self._gain, sign, float(np.log(grown / total)), shift)
        over_ranges(
            cut_evenly(*own, self._threads),
            self._threads,
            lambda a, b: read_grid(*inputs, a, b, *place, tables, first_out, out),
        )


@dataclass(frozen=True)
class _Grid:
    """Nodes over a range of scores, and the kernels at their distances."""

    lowest: float
    middle: float
    kernels: Floats

    @property
    def nodes(self) -> int:
        return (int(self.kernels.shape[2]) + 1) // 2


def _halves(starts: Ints) -> Iterator[tuple[int, int, int]]:
    """Yield products of rows ``(begin, middle, end)`` that have every pair once.

    The middle is 0 where a range is so short that all its pairs are meant.
    """
    waiting = [(0, len(starts) - 1)]
    while waiting:
        a, b = waiting.pop()
        begin, end = int(starts[a]), int(starts[b])
        if b - a < 2:
            continue
        if end - begin <= _LEAF_ROWS:
            yield begin, 0, end
            continue
        half = int(np.searchsorted(starts, (begin + end) / 2))
        half = min(max(half, a + 1), b - 1)
        yield begin, int(starts[half]), end
        waiting += [(a, half), (half, b)]


def _kernels(nodes: int) -> Floats:
    """Return the logistic function, its derivative and ``ln(1 + e^d)`` at distances of nodes.

    First as they are, then divided by ``e^d``; shape (2, 3, 2 nodes - 1), distances rising.
    """
    d = np.arange(1 - nodes, nodes) / _PER_UNIT
    tail = np.exp(-np.abs(d))
    share = np.where(d > 0, 1.0, tail) / (1.0 + tail)
    against = np.where(d > 0, tail, 1.0) / (1.0 + tail)
    cost = np.log1p(tail) + np.maximum(d, 0.0)
    small = tail < 1e-8
    ratio = np.where(small, 1.0 - tail / 2.0, np.log1p(tail) / np.where(small, 1.0, tail))
    per_grown = np.where(d > 0, cost * tail, ratio)
    return np.array([[share, share * against, cost], [against, against * against, per_grown]])
