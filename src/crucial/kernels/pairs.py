"""Sums over the pairs that labels imply, by the kernel that suits the size, on several threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crucial.kernels import sizes
from crucial.kernels.elementary import exp, log
from crucial.kernels.exact_sums import ExactSum
from crucial.kernels.levels import Levels
from crucial.kernels.plain import pairs as plain
from crucial.kernels.plain.pairs import log_shift, sums_below
from crucial.kernels.sizes import in_all, is_small
from crucial.kernels.threads import cut_evenly, cut_lists, over_ranges
from crucial.types import Bytes, Codes, Floats, Ints

__all__ = ["PairSums", "advance_binary", "class_sums", "log_shift", "sums_below"]

# Up to this many levels a query's sums are kept level by level (the compiled scan has
# this number built in), beyond it in trees.
_FEW_LEVELS = 5


class PairSums:
    """Sums over the pairs of rows of one query with different labels, never listed.

    The arguments and the meaning of each sum are documented in `crucial.kernels.plain.pairs`.

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
        self._orders: dict[tuple[int, int], tuple[object, NDArray[np.unsignedinteger]]] = {}

    @cached_property
    def _bounds(self) -> list[int]:
        return cut_lists(self._levels.row_start, self._threads)

    def _over_queries(self, call: Callable[[int, int], None]) -> None:
        over_ranges(self._bounds, self._threads, call)

    def potentials(
        self, up: Floats, down: Floats, coefficient: Floats, pi: Floats, loss: Floats
    ) -> None:
        """Write the potential of every row and the loss of every query."""
        inputs = (up, down, self._gap, coefficient)
        if self._small:
            plain.potentials(*inputs, self._levels, pi, loss)
            return
        from crucial.kernels.compiled.pairs import potentials

        levels = self._levels.arrays
        self._over_queries(lambda a, b: potentials(*inputs, levels, a, b, pi, loss))

    def curvature(self, up: Floats, down: Floats, coefficient: Floats) -> Floats:
        """Return the second derivative of the loss by the score of each row."""
        from crucial.kernels.compiled.pairs import curvature

        inputs = (up, down, self._gap, coefficient)
        out = np.empty(self._levels.n_rows)
        levels = self._levels.arrays
        self._over_queries(lambda a, b: curvature(*inputs, levels, a, b, out))
        return out

    def log_potentials(
        self,
        scores: Floats,
        weight: Floats,
        coefficient: Floats,
        pi: Floats,
        log_loss: Floats,
        top: float | None = None,
    ) -> None:
        """Write the same for scores whose exponentials overflow.

        ``pi`` is divided by the largest loss that counts, see `log_shift`; ``log_loss`` is the
        logarithm of the loss of every query.
        """
        n = self._levels.n_rows
        inputs = (scores, weight, coefficient, log_loss, top)
        positive, negative, factor = self._log_halves(*inputs)
        pi[:n] = factor * (positive - negative)
        pi[n:] = 0.0

    def log_curvature(
        self, scores: Floats, weight: Floats, coefficient: Floats, top: float | None = None
    ) -> Floats:
        """Return `curvature` for scores whose exponentials overflow; see `log_shift`."""
        log_loss = np.empty(self._levels.n_queries)
        inputs = (scores, weight, coefficient, log_loss, top)
        positive, negative, factor = self._log_halves(*inputs)
        return factor * (positive + negative)

    def _log_halves(
        self,
        scores: Floats,
        weight: Floats,
        coefficient: Floats,
        log_loss: Floats,
        top: float | None,
    ) -> tuple[Floats, Floats, Floats]:
        """Return what every row wins and loses, divided by the largest loss, and its factor."""
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

    def binary_weights(
        self, up: Floats, down: Floats, coefficient: Floats, output: Bytes
    ) -> tuple[ExactSum, ...]:
        """Return the weight of the pairs that a {0, 1} ranker orders right, and wrong."""
        inputs = (up, down, self._gap, coefficient, output)
        if self._small:
            return _added_up(plain.binary_weights(*inputs, self._levels))
        from crucial.kernels.compiled.pairs import binary_weights

        out = np.zeros((self._levels.n_queries, 2))
        levels = self._levels.arrays
        self._over_queries(lambda a, b: binary_weights(*inputs, levels, a, b, out))
        return _added_up(out)

    def moments(
        self,
        up: Floats,
        down: Floats,
        coefficient: Floats,
        output: Floats,
        span: tuple[float, float] | None = None,
    ) -> tuple[ExactSum, ...]:
        """Return the zeroth, first and second moment of the margins that a ranker gains.

        Parameters
        ----------
        span : (float, float), optional
            Smallest and largest output, where these rows are some of many.
        """
        from crucial.kernels.compiled.pairs import moments

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
        sums: Floats = np.add.reduceat(down[: self._levels.n_rows], self._levels.level_start[:-1])
        return sums

    @cached_property
    def _places(self) -> tuple[NDArray[np.integer], NDArray[np.int32] | None]:
        """Level and query of every row; no queries where a scan goes query by query."""
        level = self._levels.level_of_row()
        if self._few:
            return level.astype(np.uint8), None
        return level, self._levels.query_of_row()

    def wrong_weights(
        self,
        up: Floats,
        down: Floats,
        coefficient: Floats,
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
        levels = self._levels
        out = np.zeros(n_bins + 1, np.int64)
        rest = (codes, n_bins, missing_rank)
        if self._small and self._segments * (n_bins + 2) <= sizes.SCAN_PLAIN:
            inputs = (up, down, self._gap, coefficient, 1.0 / unit)
            plain.wrong_weights(*inputs, *rest, levels, out)
            return out
        from crucial.kernels.compiled import scans

        rest = (codes[: levels.n_rows], n_bins, missing_rank)
        inputs = (up, down, self._gains, coefficient, 1.0 / unit)
        level, query = self._places
        if query is None and codes.dtype == np.uint8:
            order = self._order(codes, n_bins)
            places = (order, level, level_sums, levels.row_start, levels.query_first)
            scans.wrong_weights_few(*inputs, *rest, *places, out)
        else:
            if query is None:
                level, query = levels.level_of_row(), levels.query_of_row()
            scans.wrong_weights(*inputs, *rest, level, query, levels.query_first, out)
        return out

    def _order(self, codes: Codes, n_bins: int) -> NDArray[np.unsignedinteger]:
        """Return the rows of every query by falling code; kept for codes inside a table.

        Codes do not change, and sorting takes as long as the rest of a scan. Queries too long
        for numbers of two bytes are sorted each time, as four bytes per row and feature are
        too much to keep.
        """
        from crucial.kernels.compiled.scans import order_by_code

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
    from crucial.kernels.compiled.features import histogram_wide

    tables = np.zeros((2, size))
    for table, (a, b) in zip(tables, classes, strict=True):
        histogram_wide(codes[a:b], weight[a:b], table)
    return tables
