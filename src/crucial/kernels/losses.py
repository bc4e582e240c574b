"""Losses of queries with gradients: logistic pairs, LambdaMART, YetiRank, softmax, squares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from crucial.kernels.elementary import exp, log1p
from crucial.kernels.runtime import Levels, cut_evenly, cut_lists, over_ranges, run_all
from crucial.types import Floats, Ints

# --- Sums of the logistic loss over the pairs of large queries, without visiting every pair
#
# The pairs of two sets of rows, all of one above all of the other, are the sums
# ``S(x) = sum_j u_j K(s_j - x)`` of a smooth function K at the scores of either set. Weights are
# spread over a grid of scores by Lagrange polynomials of degree 7, the sums are made on the grid by
# convolution, and read off by the same polynomials. The levels of a query are cut into blocks, of
# about as many rows as the grid has nodes m: the pairs inside a block are visited, and a block is
# compared with all blocks below it at once, and with all above it. That is O(n m) for n rows, and m
# depends on the range of the scores alone: 16 nodes per unit.
#
# **Error.** With nodes 1/16 apart, interpolation by eight of them is off by at most
# ``max|K^(8)| (1/16)^8 (105/16)^2 / 8!``: 6e-13 for the logistic function, 2e-12 for its
# derivative,
# 3e-13 for ``ln(1 + e^x)``; both ways together by less than 1e-11 per unit of weight. Where that
# is smaller, the sum is ``e^-x sum_j u_j e^(s_j) L(s_j - x)`` with ``L(d) = K(d) e^-d``, which
# is bounded for negative d. The error of a row is therefore below 1e-11 times the smaller of
# ``sum_j u_j`` and ``sum_j u_j e^(s_j - x)``, so that sums in the tail keep their digits.


#: Queries with more pairs are summed up on grids.
GRID_PAIRS = 1 << 24

_PER_UNIT = 16.0
_NODES = 8
# Rows of a block, at least and per node; and rows that are spread and read together.
_BLOCK_ROWS = 32
_ROWS_PER_NODE = 1.0
_PIECE_ROWS = 1 << 14
# Pairs whose cost equals that of a row and a node.
_NODE_COST = 1
# Scores further apart than this overflow as exponentials; up to `NARROW`, products of eight of
# them do not.
_WIDEST = 600.0
# Whether every pair needs a logarithm of its own, or eight pairs of the same weight share one.
_OWN, _SHARED = 1, 2


class GridSums:
    """Sums over the pairs of one large query.

    Parameters
    ----------
    level_start : int array
        Where the levels of the query begin, as row numbers, and its end.
    gain : array over all rows, or of length 0 where all pairs count the same
    weighted : bool
        Whether rows differ in weight.
    threads : int
    """

    def __init__(self, level_start: Ints, gain: Floats, weighted: bool, threads: int) -> None:
        self._starts, self._gain, self._threads = level_start, gain, threads
        self._weighted = weighted
        self._level_begin = np.repeat(level_start[:-1], np.diff(level_start))
        sizes = np.diff(level_start).astype(np.float64)
        self._pairs = (sizes.sum() ** 2 - (sizes**2).sum()) / 2.0

    def add(
        self,
        scores: Floats,
        winners: Floats,
        losers: Floats,
        shift: float,
        out: Floats,
        won_only: bool = False,
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
        won_only : bool
            Only the first two are of use.
        """
        begin, end = int(self._starts[0]), int(self._starts[-1])
        own = scores[begin:end]
        lowest, highest = float(own.min()), float(own.max())
        nodes = int(min(highest - lowest, _WIDEST) * _PER_UNIT) + _NODES + 1
        fits = highest - lowest <= _WIDEST
        if not fits or _NODE_COST * float(nodes) * len(own) > self._pairs:
            self._visit(scores, winners, losers, shift, self._starts[[0, -1]], won_only, out)
            return
        blocks = _Blocks.of(self._starts, max(_BLOCK_ROWS, int(_ROWS_PER_NODE * nodes)))
        grid = _Grid(lowest, (lowest + highest) / 2.0, _kernels(nodes))
        self._one_way(
            scores, (losers, winners), shift, 1.0, blocks, grid, 2 if won_only else 3, out
        )
        if not won_only:
            self._one_way(scores, (winners, losers), shift, -1.0, blocks, grid, 2, out[3:])
        self._visit(scores, winners, losers, shift, blocks.starts, won_only, out)

    def _visit(
        self,
        scores: Floats,
        winners: Floats,
        losers: Floats,
        shift: float,
        block_start: Ints,
        won_only: bool,
        out: Floats,
    ) -> None:
        """Add the pairs inside blocks, one by one."""
        from crucial.kernels.compiled.losses import exact_pairs

        own = scores[block_start[0] : block_start[-1]]
        low, high = float(own.min()), float(own.max())
        narrow = shift == 0.0 and high - low <= NARROW
        grown = exp(scores - (low + high) / 2.0) if narrow else scores
        alike = not (self._weighted or len(self._gain))
        logs = 0 if won_only else (_SHARED if alike else _OWN)
        inputs = (scores, grown, winners, losers, self._gain, self._level_begin, shift)
        over_ranges(
            cut_evenly(0, len(block_start) - 1, self._threads),
            self._threads,
            lambda a, b: exact_pairs(*inputs, narrow, logs, block_start, a, b, out),
        )

    def _one_way(
        self,
        scores: Floats,
        weights: tuple[Floats, Floats],
        shift: float,
        sign: float,
        blocks: _Blocks,
        grid: _Grid,
        n_sums: int,
        out: Floats,
    ) -> None:
        """Add sums over the rows of lower blocks to those of each block; of higher, if sign is -1.

        Parameters
        ----------
        weights : of the others, and of the rows
        n_sums : int
            How many of the kernels are summed up.
        """
        from crucial.kernels.compiled.losses import read_pieces, spread_pieces

        pieces, place = blocks.pieces, (grid.lowest, grid.middle, _PER_UNIT)
        n = len(pieces) - 1
        cuts = cut_evenly(0, n, self._threads)
        # (the others of a piece are a sum of pieces from one end)
        mass = np.zeros((n + 1, 4, grid.nodes))
        parts = mass[1:] if sign > 0 else mass[:-1]
        over_ranges(
            cuts,
            self._threads,
            lambda a, b: spread_pieces(
                scores, weights[0], self._gain, sign, pieces, a, b, *place, parts
            ),
        )
        summed = mass if sign > 0 else mass[::-1]
        np.cumsum(summed, axis=0, out=summed)
        others = blocks.first if sign > 0 else blocks.last
        # Kernels are functions of loser minus winner.
        lines = np.ascontiguousarray(grid.kernels[:, :n_sums, :: -int(sign)])
        inputs = (scores, weights[1], self._gain, sign, shift, pieces, others, mass, lines)
        over_ranges(cuts, self._threads, lambda a, b: read_pieces(*inputs, a, b, *place, out))


@dataclass(frozen=True)
class _Blocks:
    """Blocks of whole levels, and the pieces of at most `_PIECE_ROWS` rows that they consist of.

    Attributes
    ----------
    starts : int array
        Where blocks begin, as row numbers, and the end of the last.
    pieces : int array
        The same for pieces.
    first, last : int arrays over the pieces
        The first piece of the block that a piece is in, and the one after its last.
    """

    starts: Ints
    pieces: Ints
    first: Ints
    last: Ints

    @classmethod
    def of(cls, level_start: Ints, rows: int) -> _Blocks:
        """Cut levels into blocks of at least one level each, or of up to so many rows."""
        from crucial.kernels.compiled.losses import cut_levels

        starts = np.empty(len(level_start), np.int64)
        starts = starts[: cut_levels(level_start, rows, starts)]
        counts = -(-np.diff(starts) // _PIECE_ROWS)
        ends = np.cumsum(counts)
        first, last = np.repeat(ends - counts, counts), np.repeat(ends, counts)
        within = np.arange(len(first)) - first
        pieces = np.append(np.repeat(starts[:-1], counts) + _PIECE_ROWS * within, starts[-1])
        return cls(starts, pieces, first, last)


@dataclass(frozen=True)
class _Grid:
    """Nodes over a range of scores, and the kernels at their distances."""

    lowest: float
    middle: float
    kernels: Floats

    @property
    def nodes(self) -> int:
        return (int(self.kernels.shape[2]) + 1) // 2


def _kernels(nodes: int) -> Floats:
    """Return the logistic function, its derivative and ``ln(1 + e^d)`` at distances of nodes.

    First as they are, then divided by ``e^d``; shape (2, 3, 2 nodes - 1), distances rising.
    """
    d = np.arange(1 - nodes, nodes) / _PER_UNIT
    tail = exp(-np.abs(d))
    share = np.where(d > 0, 1.0, tail) / (1.0 + tail)
    against = np.where(d > 0, tail, 1.0) / (1.0 + tail)
    cost = log1p(tail) + np.maximum(d, 0.0)
    small = tail < 1e-8
    ratio = np.where(small, 1.0 - tail / 2.0, log1p(tail) / np.where(small, 1.0, tail))
    per_grown = np.where(d > 0, cost * tail, ratio)
    return np.array([[share, share * against, cost], [against, against * against, per_grown]])


# --- Sums of the logistic loss over the pairs that labels imply


#: Scores of a query closer together than this have exponentials whose products stay finite;
#: the compiled kernel multiplies eight of them.
NARROW = 60.0


class LogisticSums:
    """Sums over the pairs of rows of one query with different labels.

    Every pair is visited in queries of up to `logistic_grid.GRID_PAIRS` pairs (8,000 rows of two
    labels); larger ones are interpolated, with an error below 1e-11 of the weight of the pairs,
    in O(n) times the range of the scores. Rows are spread over threads, and each is summed up by
    itself.

    Parameters
    ----------
    levels : Levels
    weight : array over the rows, or None where all are 1
    gains : array over the segments, or of length 0 where all pairs count the same
    threads : int
    """

    def __init__(self, levels: Levels, weight: Floats | None, gains: Floats, threads: int) -> None:
        self._levels, self._gains, self._threads = levels, gains, threads
        self._weighted = weight is not None
        self._weight = np.ones(levels.n_rows) if weight is None else weight
        self._query, own = levels.query_of_row(), levels.level_of_row()
        self._places = (*levels.arrays, self._query, own)
        # Rows are cut by the pairs they are in.
        size = np.diff(levels.row_start)[self._query]
        level = np.diff(levels.level_start)[levels.query_first[self._query] + own]
        work = (size - level).astype(np.float64)
        large = np.flatnonzero(np.bincount(self._query, work) / 2.0 > GRID_PAIRS)
        self._grids = self._make_grids(large)
        exact = ~np.isin(self._query, large)
        work = np.cumsum(work * exact)
        marks = work[-1] * np.arange(1, 4 * threads) / (4 * threads)
        borders = levels.row_start[large], levels.row_start[large + 1]
        cuts = np.concatenate(([0], np.searchsorted(work, marks), [levels.n_rows], *borders))
        bounds: list[int] = np.unique(cuts).tolist()
        self._ranges = [(a, b) for a, b in pairwise(bounds) if exact[a]]

    def _make_grids(self, large: Ints) -> list[GridSums]:
        """Return what sums up queries that are too large to visit every pair."""
        levels, gain = self._levels, self._gains
        if len(large) and len(gain):
            gain = gain[levels.segment_of_row]
        grids = []
        for q in large.tolist():
            starts = levels.level_start[levels.query_first[q] : levels.query_first[q + 1] + 1]
            grids.append(GridSums(starts, gain, self._weighted, self._threads))
        return grids

    def _over_rows(self, call: Callable[[int, int], None]) -> None:
        run_all(self._threads, [partial(call, a, b) for a, b in self._ranges])

    def _ends(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the lowest and highest score of every query."""
        starts = self._levels.row_start[:-1]
        return np.minimum.reduceat(scores, starts), np.maximum.reduceat(scores, starts)

    def widest(self, scores: Floats) -> float:
        """Return the largest distance of two scores of a query: `NARROW` ones never underflow."""
        low, high = self._ends(scores)
        return float((high - low).max(initial=0.0))

    def _exponentials(
        self, scores: Floats, shift: float, narrow: bool | None
    ) -> tuple[Floats, bool]:
        """Return ``e^{H}``, each query around its middle, and whether all of them are of use."""
        low, high = self._ends(scores)
        if narrow is None:
            narrow = float((high - low).max(initial=0.0)) <= NARROW
        if shift != 0.0 or not narrow:
            return np.ones(len(scores)), False
        return exp(scores - ((high + low) / 2)[self._query]), True

    def sums(
        self, scores: Floats, shift: float, narrow: bool | None = None
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Return, for every row, the weight it wins and loses, its curvature and its loss.

        All times ``e^shift``; see `crucial.kernels.compiled.losses.logistic_sums`.

        Parameters
        ----------
        narrow : bool, optional
            Whether no query is wider than `NARROW`, where these are some of many.
        """
        from crucial.kernels.compiled.losses import logistic_sums

        n = len(scores)
        out = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
        grown, narrow = self._exponentials(scores, shift, narrow)
        inputs = (scores, grown, self._weight, self._gains, shift, narrow, self._weighted)
        self._over_rows(lambda a, b: logistic_sums(*inputs, self._places, a, b, out))
        if self._grids:
            sums = np.zeros((5, n))
            for grid in self._grids:
                grid.add(scores, self._weight, self._weight, shift, sums)
            for one, more in zip(out, (sums[0], sums[3], sums[1] + sums[4], sums[2]), strict=True):
                one += more
        return out

    def along(self, scores: Floats, shift: float, output: Floats) -> Floats:
        """Return what a {0, 1} ranker gains in the pairs that every row should win.

        See `crucial.kernels.compiled.losses.logistic_along`; shape (n_rows, 3).
        """
        from crucial.kernels.compiled.losses import logistic_along

        out = np.zeros((len(scores), 3))
        grown, narrow = self._exponentials(scores, shift, None)
        inputs = (scores, grown, self._weight, self._gains, shift, narrow, output)
        self._over_rows(lambda a, b: logistic_along(*inputs, self._places, a, b, out))
        if self._grids:
            ones = np.where(output > 0.5, self._weight, 0.0)
            others = self._weight - ones
            for column, (winners, losers) in enumerate(((ones, others), (others, ones))):
                sums = np.zeros((5, len(scores)))
                for grid in self._grids:
                    grid.add(scores, winners, losers, shift, sums, won_only=True)
                out[:, column] += sums[0]
                out[:, 2] += sums[1]
        return out


# --- Losses of whole queries with their gradients, on several threads


#: Measures of ``lambda_sums``.
NDCG, AVERAGE_PRECISION, RECIPROCAL_RANK = 0, 1, 2


def query_losses(
    kernel: str,
    inputs: tuple[Any, ...],
    row_start: Ints,
    threads: int,
    out: tuple[Floats, Floats, Floats],
) -> None:
    """Write potentials, curvature and loss of every query; no query is split.

    Parameters
    ----------
    kernel : {"cross_entropy", "lambda_sums", "squares", "xendcg", "yeti_sums"}
        Of `crucial.kernels.compiled.losses`, which documents what each takes.
    inputs : tuple
        What the kernel takes before ``row_start``.
    row_start : int array of shape (n_queries + 1,)
    threads : int
    out : potentials and curvature over the rows, loss over the queries  # OUT
    """
    from crucial.kernels.compiled import losses

    call = getattr(losses, kernel)

    def sums(begin: int, end: int) -> None:
        with np.errstate(over="ignore"):  # (without the JIT, NumPy warns of wrapping around)
            call(*inputs, row_start, begin, end, *out)

    over_ranges(cut_lists(row_start, 4 * threads), threads, sums)
