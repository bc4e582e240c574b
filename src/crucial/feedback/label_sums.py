"""Sums over the pairs of label feedback: the right kernel for the size, spread over threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.feedback.layout import Layout
from crucial.kernels import plain
from crucial.kernels.threads import run_all
from crucial.types import Bytes, Floats

__all__ = ["LabelSums"]

# Up to this many levels a query's sums are kept level by level (the compiled scan has
# this number built in), beyond it in trees.
_FEW_LEVELS = 5
# Tables of the NumPy search for the exact Z: segments times bins.
_PLAIN_TABLE = 200_000


class LabelSums:
    """Asks the kernels; what they mean is said in `crucial.kernels.plain`.

    Parameters
    ----------
    layout : Layout
    gains : array over the segments, or of length 0 where all pairs count the same
    small : bool
        Use the NumPy kernels.
    threads : int
    """

    def __init__(self, layout: Layout, gains: Floats, small: bool, threads: int) -> None:
        self.layout, self.gains, self.small, self.threads = layout, gains, small, threads
        self.gap = np.zeros(0)
        if len(gains):
            self.gap = np.diff(gains, prepend=gains[:1])
            self.gap[layout.query_first[:-1]] = 0.0
        self._shape = (layout.level_start, layout.query_first)
        self._place: tuple[Any, Any] | None = None

    def _over_queries(self, call: Callable[..., Any], *before: Any, after: tuple[Any, ...]) -> None:
        """Give every thread a range of queries, cut by their rows."""
        bounds = self.layout.row_start
        marks = bounds[-1] * np.arange(1, self.threads) // self.threads
        cuts = np.concatenate(([0], np.searchsorted(bounds, marks), [len(bounds) - 1]))
        spans = pairwise(np.unique(cuts).tolist())
        run_all(self.threads, [partial(call, *before, a, b, *after) for a, b in spans])

    def potentials(
        self, up: Floats, down: Floats, coefficient: Floats, pi: Floats, loss: Floats
    ) -> None:
        """Potential of every row and loss of every query."""
        if self.small:
            plain.potentials(up, down, self.gap, coefficient, *self._shape, pi, loss)
            return
        from crucial.kernels import compiled

        given = (up, down, self.gap, coefficient, *self._shape)
        self._over_queries(compiled.potentials, *given, after=(pi, loss))

    def log_potentials(
        self, scores: Floats, weight: Floats, coefficient: Floats, pi: Floats, log_loss: Floats
    ) -> None:
        """The same for scores whose exponentials overflow; see `plain.log_shift`."""
        with np.errstate(divide="ignore"):
            log_weight, log_gap = np.log(weight), np.log(self.gap)
        if self.small:
            plain.log_potentials(
                scores, log_weight, log_gap, coefficient, *self._shape, pi, log_loss
            )
            return
        from crucial.kernels import compiled

        n = len(scores)
        negative = np.empty(n)
        given = (scores, log_weight, log_gap, *self._shape)
        self._over_queries(compiled.log_potentials, *given, after=(pi, negative, log_loss))
        sizes = np.diff(self.layout.row_start)
        shift = np.repeat(plain.log_shift(log_loss, coefficient), sizes)
        factor = np.repeat(coefficient, sizes)
        pi[:n] = factor * (np.exp(pi[:n] - shift) - np.exp(negative - shift))

    def binary_weights(
        self, up: Floats, down: Floats, coefficient: Floats, output: Bytes
    ) -> tuple[float, float]:
        """Weight of the pairs that a {0, 1} ranker orders right, and wrong."""
        given = (up, down, self.gap, coefficient, output, *self._shape)
        if self.small:
            return plain.binary_weights(*given)
        from crucial.kernels import compiled

        out = np.zeros((self.layout.n_queries, 2))
        self._over_queries(compiled.binary_weights, *given, after=(out,))
        right, wrong = out.sum(axis=0).tolist()
        return right, wrong

    def moments(
        self, up: Floats, down: Floats, coefficient: Floats, output: Floats
    ) -> tuple[float, float, float]:
        """Zeroth, first and second moment of the margins gained."""
        if self.small:
            return plain.moments(up, down, self.gap, coefficient, output, *self._shape)
        from crucial.kernels import compiled

        out = np.zeros((self.layout.n_queries, 3))
        given = (up, down, self.gap, coefficient, output - output.mean(), *self._shape)
        self._over_queries(compiled.moments, *given, after=(out,))
        value, slope, curvature = out.sum(axis=0).tolist()
        return value, slope, curvature

    def level_sums(self, down: Floats) -> Floats:
        """Sum over every segment, which all scans of a round share."""
        sums: Floats = np.add.reduceat(
            down[: self.layout.level_start[-1]], self.layout.level_start[:-1]
        )
        return sums

    def wrong_weights(
        self,
        up: Floats,
        down: Floats,
        coefficient: Floats,
        level_sums: Floats,
        codes: NDArray[Any],
        n_bins: int,
        missing_rank: int,
        out: Floats,
    ) -> None:
        """Weight of wrongly ordered pairs for every threshold of a feature."""
        lay = self.layout
        if self.small and len(lay.values) * (n_bins + 2) <= _PLAIN_TABLE:
            plain.wrong_weights(
                up, down, self.gap, coefficient, codes, n_bins, missing_rank, *self._shape, out
            )
            return
        from crucial.kernels import compiled

        given = (up, down, self.gains, coefficient, codes[: len(lay.rows)], n_bins, missing_rank)
        level, query = self.places()
        if query is None and codes.dtype == np.uint8:
            compiled.wrong_weights_few(
                *given, level, level_sums, lay.row_start, lay.query_first, out
            )
        else:
            if query is None:
                level, query = lay.level_of_row(), lay.query_of_row()
            compiled.wrong_weights(*given, level, query, lay.query_first, out)
        # The scan adds and takes away: what is left of nothing may be slightly negative.
        np.maximum(out, 0.0, out=out)

    def places(self) -> tuple[Any, Any]:
        """Level and query of every row; no queries where a scan goes query by query."""
        if self._place is None:
            lay = self.layout
            if lay.deepest <= _FEW_LEVELS:
                self._place = lay.level_of_row().astype(np.uint8), None
            else:
                self._place = lay.level_of_row(), lay.query_of_row()
        return self._place

    def advance_binary(
        self,
        output: Bytes,
        alpha: float,
        factors: tuple[float, float],
        scores: Floats,
        up: Floats,
        down: Floats,
    ) -> None:
        """Rows with output 1: add alpha to the score, multiply ``up`` and ``down``."""
        if self.small:
            plain.advance_binary(output, alpha, *factors, scores, up, down)
            return
        from crucial.kernels import compiled

        cuts = np.linspace(0, len(scores), self.threads + 1).astype(np.int64).tolist()
        work = partial(compiled.advance_binary, output, alpha, *factors)
        run_all(self.threads, [partial(work, a, b, scores, up, down) for a, b in pairwise(cuts)])

    def misordered(self, scores: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Weight of pairs in the wrong order, and of tied ones, for every query."""
        lay = self.layout
        out = np.zeros((lay.n_queries, 2))
        if self.small:
            plain.misordered(scores, weight, self.gap, *self._shape, out[:, 0], out[:, 1])
        else:
            from crucial.kernels import compiled

            order = np.lexsort((-scores, lay.query_of_row()))
            level = lay.level_of_row()[order]
            given = (scores[order], level, weight[order], self.gains, lay.query_first)
            self._over_queries(compiled.misordered, *given, lay.row_start, after=(out,))
        return out[:, 0], out[:, 1]
