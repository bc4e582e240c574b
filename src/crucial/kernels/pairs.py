"""Sums over the pairs that labels imply, which are never listed.

The exponential loss, the p-norm push, hinges, surrogates of the hard ranking loss, counts of
concordant pairs and of margins, and the loops of RankBoost+.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crucial.kernels import plain, runtime
from crucial.kernels.elementary import ExactSum, exp, log
from crucial.kernels.plain import log_shift as log_shift
from crucial.kernels.plain import running as running
from crucial.kernels.plain import sums_below as sums_below
from crucial.kernels.runtime import (
    Levels,
    cut_evenly,
    cut_lists,
    in_all,
    is_small,
    over_ranges,
    run_all,
)
from crucial.types import Bytes, Codes, Floats, Ints

# --- Sums over the pairs that labels imply, by the kernel that suits the size, on several threads


#: ``up`` and ``down`` of the rows and the coefficients of the queries, as in `kernels.plain`.
RowWeights: TypeAlias = tuple[Floats, Floats, Floats]
# Up to this many levels a query's sums are kept level by level (the compiled scan has
# this number built in), beyond it in trees.
_FEW_LEVELS = 5


class PairSums:
    """Sums over the pairs of rows of one query with different labels, never listed.

    The arguments and the meaning of each sum are documented in `crucial.kernels.plain`.

    Parameters
    ----------
    levels : Levels
    gains : array over the segments, or of length 0 where all pairs count the same
    threads : int
    """

    def __init__(self, levels: Levels, gains: Floats, threads: int) -> None:
        self._levels, self._gains, self._threads = levels, gains, threads
        self._small = is_small(in_all("rows", levels.n_rows))
        self._segments = in_all("segments", levels.n_segments)
        self._few = in_all("deepest", levels.deepest) <= _FEW_LEVELS
        self._gap = levels.gaps(gains)
        self._orders: dict[tuple[int, int], tuple[object, Codes]] = {}

    @cached_property
    def _bounds(self) -> list[int]:
        return cut_lists(self._levels.row_start, self._threads)

    def _over_queries(self, call: Callable[[int, int], None]) -> None:
        over_ranges(self._bounds, self._threads, call)

    def potentials(self, weights: RowWeights, pi: Floats, loss: Floats, sign: float = -1.0) -> None:
        """Write what every row wins, and loses times a sign, and the loss of every query."""
        up, down, coefficient = weights
        inputs = (up, down, self._gap, coefficient, sign)
        if self._small and sign < 0.0:  # (trees ask for curvature; they are compiled anyway)
            plain.potentials(*inputs, self._levels, pi, loss)
            return
        from crucial.kernels.compiled.pairs import potentials

        levels = self._levels.arrays
        self._over_queries(lambda a, b: potentials(*inputs, levels, a, b, pi, loss))

    def curvature(self, weights: RowWeights) -> Floats:
        """Return the second derivative of the loss by the score of each row."""
        out, loss = np.empty(self._levels.n_rows), np.empty(self._levels.n_queries)
        self.potentials(weights, out, loss, 1.0)
        return out

    def log_potentials(
        self, weights: RowWeights, pi: Floats, log_loss: Floats, top: float | None = None
    ) -> None:
        """Write the same for scores whose exponentials overflow.

        ``weights`` are the scores and weights of the rows and the coefficients. ``pi`` is divided
        by the largest loss that counts, see `log_shift`; ``log_loss`` is the logarithm of the loss
        of every query.
        """
        n = self._levels.n_rows
        positive, negative, factor = self._log_halves(weights, log_loss, top)
        pi[:n] = factor * (positive - negative)
        pi[n:] = 0.0

    def log_curvature(self, weights: RowWeights, top: float | None = None) -> Floats:
        """Return `curvature` for scores whose exponentials overflow; see `log_potentials`."""
        log_loss = np.empty(self._levels.n_queries)
        positive, negative, factor = self._log_halves(weights, log_loss, top)
        return factor * (positive + negative)

    def _log_halves(
        self, weights: RowWeights, log_loss: Floats, top: float | None
    ) -> tuple[Floats, Floats, Floats]:
        """Return what every row wins and loses, divided by the largest loss, and its factor."""
        scores, weight, coefficient = weights
        with np.errstate(divide="ignore"):
            log_weight, log_gap = log(weight), log(self._gap)
        levels, n = self._levels, self._levels.n_rows
        out = (np.empty(n), np.empty(n), log_loss)
        if self._small:
            plain.log_halves(scores, log_weight, log_gap, levels, *out)
        else:
            from crucial.kernels.compiled.pairs import log_halves

            inputs = (scores, log_weight, log_gap, levels.arrays)
            self._over_queries(lambda a, b: log_halves(*inputs, a, b, *out))
        sizes = np.diff(levels.row_start)
        shift = np.repeat(log_shift(log_loss, coefficient, top), sizes)
        factor = np.repeat(coefficient, sizes)
        return exp(out[0] - shift), exp(out[1] - shift), factor

    def binary_weights(self, weights: RowWeights, output: Bytes) -> tuple[ExactSum, ...]:
        """Return the weight of the pairs that a {0, 1} ranker orders right, and wrong."""
        up, down, coefficient = weights
        inputs = (up, down, self._gap, coefficient, output)
        if self._small:
            return _added_up(plain.binary_weights(*inputs, self._levels))
        from crucial.kernels.compiled.pairs import binary_weights

        out = np.zeros((self._levels.n_queries, 2))
        levels = self._levels.arrays
        self._over_queries(lambda a, b: binary_weights(*inputs, levels, a, b, out))
        return _added_up(out)

    def moments(
        self, weights: RowWeights, output: Floats, span: tuple[float, float] | None = None
    ) -> tuple[ExactSum, ...]:
        """Return the zeroth, first and second moment of the margins that a ranker gains.

        Parameters
        ----------
        span : (float, float), optional
            Smallest and largest output, where these rows are some of many.
        """
        from crucial.kernels.compiled.pairs import moments

        up, down, coefficient = weights
        low, high = (output.min(), output.max()) if span is None else span
        # (only differences count, and around 0 they lose the least to cancellation)
        inputs = (up, down, self._gap, coefficient, output - (low + high) / 2)
        out = np.zeros((self._levels.n_queries, 3))
        levels = self._levels.arrays
        self._over_queries(lambda a, b: moments(*inputs, levels, a, b, out))
        return _added_up(out)

    def prepare_scan(self, down: Floats) -> Floats:
        """Return the sum of ``down`` over every segment, which all scans of a round share.

        Call it before threads call `wrong_weights`.
        """
        self._places  # noqa: B018 (computed once, here)
        starts = self._levels.level_start[:-1]
        return np.asarray(np.add.reduceat(down[: self._levels.n_rows], starts))

    @cached_property
    def _places(self) -> tuple[NDArray[np.integer], NDArray[np.int32] | None]:
        """Level and query of every row; no queries where a scan goes query by query."""
        level = self._levels.level_of_row()
        if self._few:
            return level.astype(np.uint8), None
        return level, self._levels.query_of_row()

    def wrong_weights(
        self,
        weights: RowWeights,
        level_sums: Floats,
        codes: Codes,
        n_bins: int,
        missing_rank: int,
        unit: float,
    ) -> Ints:
        """Return the weight of wrongly ordered pairs for every threshold of a feature.

        Parameters
        ----------
        level_sums : what `prepare_scan` returned
        unit : float
            A power of two. Weights are returned as whole numbers of it: those of parts of the
            queries add up to those of all. Rounding may leave less than nothing.
        """
        levels, (up, down, coefficient) = self._levels, weights
        out = np.zeros(n_bins + 1, np.int64)
        rest = (codes, n_bins, missing_rank)
        if self._small and self._segments * (n_bins + 2) <= runtime.SCAN_PLAIN:
            inputs = (up, down, self._gap, coefficient, 1.0 / unit)
            plain.wrong_weights(*inputs, *rest, levels, out)
            return out
        from crucial.kernels.compiled import pairs

        rest = (codes[: levels.n_rows], n_bins, missing_rank)
        inputs = (up, down, self._gains, coefficient, 1.0 / unit)
        level, query = self._places
        if query is None and codes.dtype == np.uint8:
            order = self._order(codes, n_bins)
            places = (order, level, level_sums, levels.row_start, levels.query_first)
            pairs.wrong_weights_few(*inputs, *rest, *places, out)
        else:
            if query is None:
                level, query = levels.level_of_row(), levels.query_of_row()
            pairs.wrong_weights(*inputs, *rest, level, query, levels.query_first, out)
        return out

    def _order(self, codes: Codes, n_bins: int) -> Codes:
        """Return the rows of every query by falling code; kept for codes inside a table.

        Codes do not change, and sorting takes as long as the rest of a scan. Queries too long
        for numbers of two bytes are sorted each time, as four bytes per row and feature are
        too much to keep.
        """
        from crucial.kernels.compiled.pairs import order_by_code

        levels, table = self._levels, codes.base
        at = codes.__array_interface__["data"][0]
        known = self._orders.get((at, n_bins))
        if known is not None and known[0] is table:
            return known[1]
        longest = int(np.diff(levels.row_start).max(initial=1))
        order = np.empty(levels.n_rows, np.min_scalar_type(longest - 1))
        order_by_code(codes, n_bins, levels.row_start, order)
        if table is not None and order.itemsize <= 2:
            # (with the table, so that no other one can take its place in memory)
            self._orders[at, n_bins] = table, order
        return order

    def misordered(self, scores: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Return the weight of pairs in the wrong order, and of tied ones, for every query."""
        from crucial.kernels.compiled.pairs import misordered

        levels = self._levels
        out = np.zeros((levels.n_queries, 2))
        order = np.lexsort((-scores, levels.query_of_row()))
        level = levels.level_of_row()[order]
        inputs = (scores[order], level, weight[order], self._gains, levels.query_first)
        self._over_queries(lambda a, b: misordered(*inputs, levels.row_start, a, b, out))
        return out[:, 0], out[:, 1]


def _added_up(columns: Floats) -> tuple[ExactSum, ...]:
    """Return the sum of every column, without rounding."""
    return tuple(ExactSum.of(column) for column in columns.T)


def advance_binary(
    output: Bytes,
    alpha: float,
    factors: tuple[float, float],
    scores: Floats,
    up: Floats,
    down: Floats,
    threads: int,
    rows: tuple[int, int] | None = None,
) -> None:
    """Add alpha to the scores of rows with output 1; multiply their ``up`` and ``down``.

    Parameters
    ----------
    factors : (float, float)
        On ``up`` and on ``down``: ``exp(alpha)`` and ``exp(-alpha)``, or 1.
    rows : (int, int), optional
        First row and end of the range to change; all rows by default.
    """
    if is_small(in_all("rows", len(scores))):
        if rows is not None:
            part = slice(*rows)
            output, scores, up, down = output[part], scores[part], up[part], down[part]
        plain.advance_binary(output, alpha, *factors, scores, up, down)
        return
    from crucial.kernels.compiled.pairs import advance_binary as compiled

    over_ranges(
        cut_evenly(*(rows or (0, len(scores))), threads),
        threads,
        lambda a, b: compiled(output, alpha, *factors, a, b, scores, up, down),
    )


def class_sums(codes: Codes, weight: Floats, n_first: int, size: int) -> Floats:
    """Return the weight of the rows of every code, in two classes of rows.

    Parameters
    ----------
    codes : unsigned array of shape (at least n_rows,)
        Codes below ``size``.
    weight : array of shape (n_rows,)
    n_first : int
        Rows of the first class, which come first.

    Returns
    -------
    array of shape (2, size)
    """
    classes = ((0, n_first), (n_first, len(weight)))
    if is_small(len(weight)):
        return np.stack([np.bincount(codes[a:b], weight[a:b], size) for a, b in classes])
    from crucial.kernels.compiled.stumps import histogram_wide

    tables = np.zeros((2, size))
    for table, (a, b) in zip(tables, classes, strict=True):
        histogram_wide(codes[a:b], weight[a:b], table)
    return tables


# --- Sums for the p-norm push over labels


class PushSums:
    """Sums over the pairs of rows of one query with different labels, to the p-th power.

    Parameters
    ----------
    levels : Levels
    weight : array over the rows, or None where all are 1
    gap : array over the segments, or of length 0 where all pairs count the same
        Gain of a level minus that of the level below it; see `Levels.gaps`.
    threads : int
    """

    def __init__(self, levels: Levels, weight: Floats | None, gap: Floats, threads: int) -> None:
        self._levels, self._threads = levels, threads
        with np.errstate(divide="ignore"):
            self._log_weight = np.zeros(levels.n_rows) if weight is None else log(weight)
            self._log_gap = log(gap)
        self._bounds = cut_lists(levels.row_start, threads)

    def _over_queries(self, call: Callable[[int, int], None]) -> None:
        over_ranges(self._bounds, self._threads, call)

    def logs(self, scores: Floats, p: float) -> tuple[Floats, Floats, Floats]:
        """Return logarithms of both halves of the potentials, and of the loss of every query.

        See `crucial.kernels.compiled.pairs.push_logs`.
        """
        from crucial.kernels.compiled.pairs import push_logs

        n = len(scores)
        out = np.empty(n), np.empty(n), np.empty(self._levels.n_queries)
        inputs = (scores, self._log_weight, self._log_gap, p)
        levels = self._levels.arrays
        self._over_queries(lambda a, b: push_logs(*inputs, levels, a, b, *out))
        return out

    def split(self, scores: Floats, p: float, output: Bytes) -> tuple[Floats, Floats]:
        """Return the sums behind the push, apart for rows where a ranker scores 0 and 1.

        ``log_above`` and ``log_inside`` of `crucial.kernels.compiled.pairs.push_split`.
        """
        from crucial.kernels.compiled.pairs import push_split

        segments = self._levels.n_segments
        out = np.empty((segments, 2)), np.empty((segments, 2))
        inputs = (scores, self._log_weight, self._log_gap, p, output)
        levels = self._levels.arrays
        self._over_queries(lambda a, b: push_split(*inputs, levels, a, b, *out))
        return out


# --- Sums of hinges over the pairs that labels imply
#
# A pair (lo, hi) asks for a margin, and falls short of it by ::
#
#     short = asked - (score_hi - score_lo)
#
# Only pairs that fall short count. Where ``margin`` is
#
# "sign"
#     1 is asked of every pair;
# "gap"
#     the difference of the labels is asked;
# "product"
#     the difference of the scores times that of the labels must reach 1: what is asked is one over
#     the difference d of the labels, and the pair counts d times in a hinge and d^2 times in a
#     squared hinge, which is ``power`` 1 or 2.
#
# ``cut`` lowers what is asked of every pair (of the product, in the third case).


# Sums that are kept for the same scores: solvers ask for value, gradient and curvature in turn, at
# two cuts.
_KEPT = 2


@dataclass(frozen=True)
class ShortPairs:
    """Sums over the pairs that fall short, from the side of every row.

    Attributes
    ----------
    wins : array of shape (n_rows, 3)
        Of the pairs a row should win, times the weight of the loser: their number, how short they
        fall together, and the sum of squares of that.
    losses : array of shape (n_rows, 2)
        Of the pairs a row should lose, times the weight of the winner: number and shortfall.
    """

    wins: Floats
    losses: Floats


class HingeSums:
    """Sums over the pairs of rows of one query with different labels.

    Parameters
    ----------
    levels : Levels
    weight : array over the rows, or None where all are 1
    values : array over the segments
        Label of every level.
    margin : {"sign", "gap", "product"}
    threads : int
        They share out queries and cannot change a result.
    """

    def __init__(
        self, levels: Levels, weight: Floats | None, values: Floats, margin: str, threads: int
    ) -> None:
        self._levels, self._values, self._margin = levels, values, margin
        self._weight = np.ones(levels.n_rows) if weight is None else weight
        self._threads = threads
        self._level, self._depth = levels.level_of_row(), np.diff(levels.query_first)
        self._label = np.repeat(values, np.diff(levels.level_start)) if margin == "gap" else None
        self._bounds = cut_lists(levels.row_start, 4 * threads)
        self._order: tuple[Floats, Ints] | None = None
        self._found: dict[tuple[float, int], ShortPairs] = {}

    def at(self, scores: Floats, cut: float = 0.0, power: int = 1) -> ShortPairs:
        """Return the sums at these scores; those of the last scores are kept.

        Parameters
        ----------
        scores : array of shape (n_rows,)
        cut : float
            Lowers what is asked of every pair.
        power : {1, 2}
            How often a pair counts with margin "product"; see above.
        """
        from crucial.kernels.compiled import pairs as compiled

        keys, order = self._sorted(scores)
        wanted = cut, power if self._margin == "product" else 0
        if wanted in self._found:
            return self._found[wanted]
        out = np.zeros((len(scores), 5))
        if self._margin == "product":
            inputs = (keys, self._weight, self._values, power, cut, *self._levels.arrays, order)
            self._over_queries(lambda a, b: compiled.graded_sums(*inputs, a, b, out))
        else:
            one = (keys, self._weight, *self._places(cut), order)
            self._over_queries(lambda a, b: compiled.same_sums(*one, a, b, out))
        out.setflags(write=False)
        if len(self._found) == _KEPT:
            del self._found[next(iter(self._found))]
        self._found[wanted] = ShortPairs(out[:, :3], out[:, 3:])
        return self._found[wanted]

    def moved(self, scores: Floats, move: Floats, cut: float = 0.0, power: int = 1) -> Floats:
        """Return the weighted sum of a move over the partners of every row in short pairs.

        Parameters
        ----------
        scores, cut, power : see `at`
        move : array of shape (n_rows,)
        """
        values, out = self._weight * move, np.zeros(len(scores))
        from crucial.kernels.compiled import pairs as compiled

        keys, order = self._sorted(scores)
        if self._margin == "product":
            inputs = (keys, values, self._values, power, cut, *self._levels.arrays, order)
            self._over_queries(lambda a, b: compiled.graded_moved(*inputs, a, b, out))
        else:
            one = (keys, values, *self._places(cut), order)
            self._over_queries(lambda a, b: compiled.same_moved(*one, a, b, out))
        return out

    def _places(self, cut: float) -> tuple[NDArray[np.int32], Ints, Ints, float]:
        asked = (1.0 if self._margin == "sign" else 0.0) - cut
        return self._level, self._levels.row_start, self._depth, asked

    def _sorted(self, scores: Floats) -> tuple[Floats, Ints]:
        """Return the keys to compare and the rows by rising key; those of the last call are kept.

        A gap asked of a pair is asked of keys ``score - label`` as a margin of 0.
        """
        keys = scores if self._label is None else scores - self._label
        if self._order is not None and np.array_equal(self._order[0], keys):
            return self._order
        from crucial.kernels.compiled.pairs import sort_segments

        graded = self._margin == "product"
        starts = self._levels.level_start if graded else self._levels.row_start
        order = np.empty(len(keys), np.int64)
        bounds = cut_lists(starts, 4 * self._threads)
        over_ranges(bounds, self._threads, lambda a, b: sort_segments(keys, starts, a, b, order))
        self._order = keys.copy(), order
        self._found.clear()
        return self._order

    def _over_queries(self, call: Callable[[int, int], None]) -> None:
        over_ranges(self._bounds, self._threads, call)


# --- Counting ordered pairs without making them: concordant, discordant, tied
#
# Both ways of `count_pairs` count, list by list, the weight of the pairs whose levels differ:
# *concordant* where the item of the higher level is ranked first, *discordant* where it is ranked
# last, *tied* where both are in one block of equal scores. Equivalent to, and much faster than::
#
#     for a, b in pairs of one list, a ranked no later than b, level[a] != level[b]:
#         kind = tied if block[a] == block[b] else (level[a] > level[b] ? concordant : discordant)
#         counts[list, kind] += weight[a] * weight[b]
#
# Without weights every count is a whole number, so both ways give the same bytes.


def count_pairs(
    level: Ints, weight: Floats | None, block_starts: Ints, list_blocks: Ints, threads: int = 1
) -> Floats:
    """Return the weights of concordant, discordant and tied pairs of every list.

    Parameters
    ----------
    level : int array of shape (n_items,)
        Level of every item from 0, list after list, best rank first.
    weight : array of shape (n_items,) or None
        Weight of every item, not negative; None is 1 each. A pair weighs their product.
    block_starts : int array of shape (n_blocks + 1,)
        Items ``block_starts[b]:block_starts[b + 1]`` have one score.
    list_blocks : int array of shape (n_lists + 1,)
        Blocks ``list_blocks[l]:list_blocks[l + 1]`` make list ``l``.
    threads : int
        They share out lists and cannot change a result.

    Returns
    -------
    array of shape (n_lists, 3)
        Concordant, discordant, tied.
    """
    if len(level) < runtime.COUNT_COMPILED:
        return plain.count_pairs(level, weight, block_starts, list_blocks)
    from crucial.kernels.compiled.pairs import count_pairs as compiled

    counts = np.zeros((len(list_blocks) - 1, 3))
    weight = np.ones(len(level)) if weight is None else weight
    inputs = (level, weight, block_starts, list_blocks)
    bounds = cut_lists(block_starts[list_blocks], threads)
    over_ranges(bounds, threads, lambda a, b: compiled(*inputs, a, b, counts))
    return counts


def sum_higher(
    level: Ints, values: Floats, block_starts: Ints, list_blocks: Ints, threads: int = 1
) -> Floats:
    """Return per item the sums of values over items of higher level that rank before it.

    An item of the same block counts half. Equivalent to, and much faster than::

        for a, b in pairs of one list, level[a] > level[b]:
            out[b] += values[a] * (1 if a ranks before b, 1/2 if both are in one block)

    Parameters
    ----------
    level, block_starts, list_blocks, threads
        As in `count_pairs`.
    values : array of shape (n_items, n_values)

    Returns
    -------
    array of shape (n_items, n_values)
    """
    from crucial.kernels.compiled.pairs import sum_higher as compiled

    out = np.zeros(values.shape)
    values = np.ascontiguousarray(values)
    bounds = cut_lists(block_starts[list_blocks], threads)
    over_ranges(
        bounds, threads, lambda a, b: compiled(level, values, block_starts, list_blocks, a, b, out)
    )
    return out


# --- Counting pairs by their margin without making them
#
# For every threshold t, the weight of the pairs whose margin is at most t is added up.
# Equivalent to, and much faster than::
#
#     for a, b in pairs of one list with level[a] > level[b]:
#         counts[t <= thresholds and score[a] - score[b] <= t] += weight[a] * weight[b]
#
# The difference is compared as it is rounded, so that a threshold that is itself a margin
# counts its own pair. Rounding a difference keeps the order of differences, so the items b
# of one a are always the first ones of the list, and more of them for a lower score of a.


def count_margins(
    score: Floats, level: Ints, weight: Floats, starts: Ints, thresholds: Floats, threads: int = 1
) -> Floats:
    """Return the weight of the pairs with a margin of at most each threshold.

    Parameters
    ----------
    score, level, weight : arrays of shape (n_items,)
        List after list, highest score first. Items are paired with those of a lower level
        in their list.
    starts : int array of shape (n_lists + 1,)
        Items ``starts[l]:starts[l + 1]`` make list l.
    thresholds : array of shape (n_thresholds,)
    threads : int
        They share out thresholds and cannot change a result.

    Returns
    -------
    array of shape (n_thresholds,)
    """
    from crucial.kernels.compiled.pairs import count_margins as compiled

    inputs = (score, level, weight, starts, thresholds)
    counts = np.zeros(len(thresholds))
    bounds = range(len(thresholds) + 1)
    over_ranges(bounds, threads, lambda at, _: compiled(*inputs, at, counts))
    return counts


# --- Surrogates of the hard ranking loss, summed over the pairs that labels imply


#: Losses of ``z = (y_i - y_j) (f_i - f_j)``, and their numbers in the compiled kernel.
SURROGATES = {"exp": 0, "hinge": 1, "piecewise": 2}


class SurrogateSums:
    """Loss and gradient of a surrogate, by pairs of label levels.

    A pair (i above j) costs ``c_q u_i u_j phi(z)`` with ``z = (y_i - y_j) (f_i - f_j)``::

        exp         e^-z
        hinge       max(0, 1 - z)
        piecewise   1 below 0, 1 - z / width up to width, 0 beyond

    Rows are sorted inside their level, and every two levels of a query are merged: a query of n
    rows and d labels takes O(n log n + n d).

    Parameters
    ----------
    surrogate : {"exp", "hinge", "piecewise"}
    width : float
        Of the sloping part of the piecewise linear loss.
    levels : Levels
    values : array over the segments
        Their labels y.
    weight : array over the rows, or None
        u; None where all are 1.
    coefficient : array over the queries
        c.
    """

    def __init__(
        self,
        surrogate: str,
        width: float,
        levels: Levels,
        values: Floats,
        weight: Floats | None,
        coefficient: Floats,
    ) -> None:
        self._surrogate, self._width = surrogate, width
        self._levels, self._values, self._coefficient = levels, values, coefficient
        self._weight = np.ones(levels.n_rows) if weight is None else weight

    def loss(self, scores: Floats) -> float:
        """Return the sum of the loss over all pairs; infinite where it overflows."""
        return self._sum(scores, np.zeros(0))

    def gradient(self, scores: Floats) -> tuple[float, Floats]:
        """Return the loss, and ``sum_j c_q u_j (y_i - y_j) (-phi'(z))`` for every row i."""
        out = np.zeros(len(scores))
        return self._sum(scores, out), out

    def _sum(self, scores: Floats, gradient: Floats) -> float:
        """Return the loss; write the gradient, unless it is of length 0."""
        from crucial.kernels.compiled.pairs import surrogate_sums

        if not math.isfinite(float(scores.sum())):
            return math.nan
        order = np.lexsort((scores, self._levels.segment_of_row))
        found = np.zeros(len(gradient))
        total: float = surrogate_sums(
            SURROGATES[self._surrogate],
            self._width,
            scores[order],
            self._weight[order],
            self._values,
            self._coefficient,
            *self._levels.arrays,
            found,
        )
        if len(gradient):
            gradient[order] = found
        return total


# --- The loops of RankBoost+ over pairs and stumps


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
        from crucial.kernels.compiled import pairs

        self._kernels = pairs

    def pair_step(
        self, output: Bytes, factors: Floats, d: Floats, e: Floats
    ) -> tuple[Floats, Floats]:
        """Multiply pair weights by the factors of a {0, 1} ranker.

        See `crucial.kernels.compiled.pairs.pair_step` for the parameters.

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

        See `crucial.kernels.compiled.pairs.stump_sums` for the parameters.
        """
        sums = partial(self._kernels.stump_sums, codes, n_rows, first)
        if n_rows * len(features) <= _SHARED:
            sums(features, *rest)
            return
        parts = np.array_split(features, self._threads)
        run_all(self._threads, [partial(sums, part, *rest) for part in parts])


def stump_sums(codes: Codes, *rest: Any) -> None:
    """Write the sum of values over the ones of every stump; see ``compiled.plus.stump_sums``."""
    from crucial.kernels.compiled.pairs import stump_sums as compiled

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
