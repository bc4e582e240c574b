"""Label feedback under changing scores, without its pairs."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.feedback.base import Floats
from crucial.feedback.layout import Layout
from crucial.kernels import plain
from crucial.kernels.threads import run_all

__all__ = ["LabelState"]

# While sums of |alpha| stay under this, products of two exponentials stay finite.
_LINEAR_RANGE = 200.0
# Exponents of a query beyond this are cut off where only the choice of a stump is at stake.
_CLIP = 345.0
# A query whose pairs weigh less is near underflow: its weights are far apart in size.
_TINY = 1e-250
# Up to this many levels a query's sums are kept level by level (the compiled scan has
# this number built in), beyond it in trees.
_FEW_LEVELS = 5
# Tables of the NumPy search for the exact Z: segments times bins.
_PLAIN_TABLE = 200_000


class LabelState:
    """See `crucial.feedback.base.PairState`.

    ``u e^{H}`` and ``u e^{-H}`` are kept per row and multiplied round by round, so no
    exponential is computed; once scores could overflow them, potentials move to the
    logarithmic domain.

    Parameters
    ----------
    layout : Layout
    weight : array over the rows of the layout, or None
        Instance weights, scaled; None where all are 1.
    gains : array over the segments, or of length 0
    coefficient : array over the queries
        Factor on the pairs of each query.
    start : float
        Logarithm of the total weight: the loss of all-equal scores is 1.
    small : bool
        Use the NumPy kernels.
    """

    def __init__(
        self,
        layout: Layout,
        weight: Floats | None,
        gains: Floats,
        coefficient: Floats,
        start: float,
        small: bool,
        threads: int,
    ) -> None:
        n = len(layout.rows)
        padded = -(-n // 8) * 8
        self.layout, self.gains, self._start = layout, gains, start
        self.scores = np.zeros(n)
        self.up, self.down = np.zeros(padded), np.zeros(padded)
        self.up[:n] = self.down[:n] = 1.0 if weight is None else weight
        self._given_weight = weight
        self._all = self._coefficient = coefficient
        self._range = 0.0
        self._small, self._threads = small, threads
        self._gap = np.zeros(0)
        if len(gains):
            self._gap = np.diff(gains, prepend=gains[:1])
            self._gap[layout.query_first[:-1]] = 0.0
        self._total = 0.0  # of the weights drawn, at the current scores
        self._log_loss = np.zeros(0)  # of every query, in the logarithmic domain
        self._linear: tuple[Floats, Floats, Floats] | None = None
        self._place: tuple[Any, Any] | None = None
        self._sums: Floats | None = None

    @property
    def _weight(self) -> Floats:
        return np.ones(len(self.scores)) if self._given_weight is None else self._given_weight

    # -- threads ------------------------------------------------------------------

    def _ranges(self, bounds: NDArray[np.int64]) -> list[tuple[int, int]]:
        """Cut queries into one range a thread, by their rows."""
        if self._threads == 1 or len(bounds) <= 2:
            return [(0, len(bounds) - 1)]
        marks = bounds[-1] * np.arange(1, self._threads) // self._threads
        cuts = np.unique(np.concatenate(([0], np.searchsorted(bounds, marks), [len(bounds) - 1])))
        return list(zip(cuts[:-1].tolist(), cuts[1:].tolist()))

    def _over_queries(self, work: Callable[..., Any]) -> None:
        spans = self._ranges(self.layout.row_start)
        run_all(self._threads, [partial(work, a, b) for a, b in spans])

    # -- what the loop asks -------------------------------------------------------

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Potentials by prefix sums over the levels of each query: O(n)."""
        self._linear = self._sums = None
        if self._range > _LINEAR_RANGE:
            return self._log_potentials(pi)
        loss = np.zeros(self.layout.n_queries)
        self._linear_potentials(self.up, self.down, pi, loss)
        if float(loss.min()) < _TINY:
            self._range = math.inf
            return self._log_potentials(pi)
        self._total = float(np.dot(self._coefficient, loss))
        whole = (
            float(np.dot(self._all, loss)) if self._all is not self._coefficient else self._total
        )
        return 1.0 / self._total, math.log(whole) - self._start

    def _linear_potentials(self, up: Floats, down: Floats, pi: Floats, loss: Floats) -> None:
        lay = self.layout
        if self._small:
            plain.potentials(
                up, down, self._gap, self._coefficient, lay.level_start, lay.query_first, pi, loss
            )
            return
        from crucial.kernels import compiled

        def work(a: int, b: int) -> None:
            compiled.potentials(
                up,
                down,
                self._gap,
                self._coefficient,
                lay.level_start,
                lay.query_first,
                a,
                b,
                pi,
                loss,
            )

        self._over_queries(work)

    def _log_potentials(self, pi: Floats) -> tuple[float, float]:
        lay, n = self.layout, len(self.scores)
        log_loss = np.empty(lay.n_queries)
        with np.errstate(divide="ignore"):
            log_weight = np.log(self._weight)
            log_gap = np.log(self._gap)
        if self._small:
            plain.log_potentials(
                self.scores,
                log_weight,
                log_gap,
                self._coefficient,
                lay.level_start,
                lay.query_first,
                pi,
                log_loss,
            )
        else:
            from crucial.kernels import compiled

            negative = np.empty(n)

            def work(a: int, b: int) -> None:
                compiled.log_potentials(
                    self.scores,
                    log_weight,
                    log_gap,
                    lay.level_start,
                    lay.query_first,
                    a,
                    b,
                    pi,
                    negative,
                    log_loss,
                )

            self._over_queries(work)
            sizes = np.diff(lay.row_start)
            shift = np.repeat(plain.log_shift(log_loss, self._coefficient), sizes)
            factor = np.repeat(self._coefficient, sizes)
            pi[:n] = factor * (np.exp(pi[:n] - shift) - np.exp(negative - shift))
        self._log_loss = log_loss
        loss = np.exp(log_loss - plain.log_shift(log_loss, self._coefficient))
        self._total = float(np.dot(self._coefficient, loss))
        # The queries that were not drawn may be far worse, or far better, than the others.
        top = float(log_loss[self._all > 0].max())
        whole = float(np.dot(self._all, np.exp(np.minimum(log_loss - top, 0.0))))
        return 1.0 / self._total, top + math.log(whole) - self._start

    def advance(self, output: NDArray[Any], alpha: float) -> None:
        """Add ``alpha * output`` to the scores."""
        self._linear = self._sums = None
        n = len(self.scores)
        if output.dtype == np.uint8:
            self._range += abs(alpha)
            within = self._range <= _LINEAR_RANGE
            grow, shrink = (math.exp(alpha), math.exp(-alpha)) if within else (1.0, 1.0)
            if self._small:
                plain.advance_binary(output, alpha, grow, shrink, self.scores, self.up, self.down)
                return
            from crucial.kernels import compiled

            cuts = np.linspace(0, n, self._threads + 1).astype(np.int64).tolist()

            def work(a: int, b: int) -> None:
                compiled.advance_binary(
                    output, alpha, grow, shrink, a, b, self.scores, self.up, self.down
                )

            run_all(self._threads, [partial(work, a, b) for a, b in pairwise(cuts)])
            return
        step = alpha * output
        self.scores += step
        self._range += float(np.ptp(step)) if n else 0.0
        if self._range <= _LINEAR_RANGE:
            # Only differences count: centred, neither exponential can overflow.
            step -= (step.max() + step.min()) / 2
            factor = np.exp(step)
            self.up[:n] *= factor
            self.down[:n] /= factor

    def _current(self) -> tuple[Floats, Floats, Floats]:
        """``up``, ``down`` and coefficients under which the drawn pairs weigh ``_total``."""
        if self._range <= _LINEAR_RANGE:
            return self.up, self.down, self._coefficient
        if self._linear is None:
            # Each query around its middle, its pairs made to weigh 1; the coefficients give
            # it its share again. Beyond a range of 690 inside one query, pairs at its far
            # ends count more than they should in the choice of a stump.
            n, starts = len(self.scores), self.layout.row_start
            top = np.maximum.reduceat(self.scores, starts[:-1])
            bottom = np.minimum.reduceat(self.scores, starts[:-1])
            known = np.isfinite(self._log_loss)
            half = np.where(known, self._log_loss, 0.0) / 2
            sizes = np.diff(starts)
            centred = self.scores - np.repeat((top + bottom) / 2, sizes)
            with np.errstate(divide="ignore"):
                base = np.log(self._weight) - np.repeat(half, sizes)
            up, down = np.zeros_like(self.up), np.zeros_like(self.down)
            up[:n] = np.exp(np.clip(base + centred, -_CLIP, _CLIP)) * np.isfinite(base)
            down[:n] = np.exp(np.clip(base - centred, -_CLIP, _CLIP)) * np.isfinite(base)
            loss = np.zeros(self.layout.n_queries)
            self._linear_potentials(up, down, np.zeros_like(up), loss)
            share = np.exp(self._log_loss - plain.log_shift(self._log_loss, self._coefficient))
            share = np.divide(share, loss, out=np.zeros_like(loss), where=known & (loss > 0))
            self._linear = up, down, self._coefficient * share
        return self._linear

    def binary_weights(self, output: NDArray[np.uint8]) -> tuple[float, float]:
        """W+ and W- of a {0, 1} ranker: O(n)."""
        up, down, coefficient = self._current()
        lay = self.layout
        if self._small:
            right, wrong = plain.binary_weights(
                up, down, self._gap, coefficient, output, lay.level_start, lay.query_first
            )
            return right / self._total, wrong / self._total
        from crucial.kernels import compiled

        out = np.zeros((lay.n_queries, 2))

        def work(a: int, b: int) -> None:
            compiled.binary_weights(
                up,
                down,
                self._gap,
                coefficient,
                output,
                lay.level_start,
                lay.query_first,
                a,
                b,
                out,
            )

        self._over_queries(work)
        right, wrong = out.sum(axis=0) / self._total
        return float(right), float(wrong)

    def moments(self, output: Floats) -> tuple[float, float]:
        """Mean and mean square of the margins gained: O(n)."""
        up, down, coefficient = self._current()
        lay = self.layout
        if self._small:
            value, slope, curvature = plain.moments(
                up, down, self._gap, coefficient, output, lay.level_start, lay.query_first
            )
            return slope / value, curvature / value
        from crucial.kernels import compiled

        out = np.zeros((lay.n_queries, 3))
        centred = output - output.mean()

        def work(a: int, b: int) -> None:
            compiled.moments(
                up,
                down,
                self._gap,
                coefficient,
                centred,
                lay.level_start,
                lay.query_first,
                a,
                b,
                out,
            )

        self._over_queries(work)
        value, slope, curvature = out.sum(axis=0)
        return float(slope / value), float(curvature / value)

    def wrong_weights(
        self, codes: NDArray[Any], n_bins: int, missing_rank: int, out: Floats
    ) -> None:
        """W- of every threshold of one feature: O(n) for few levels, else O(n log levels)."""
        up, down, coefficient = self._current()
        lay = self.layout
        n = len(self.scores)
        if self._small and len(lay.values) * (n_bins + 2) <= _PLAIN_TABLE:
            plain.wrong_weights(
                up,
                down,
                self._gap,
                coefficient,
                codes,
                n_bins,
                missing_rank,
                lay.level_start,
                lay.query_first,
                out,
            )
            out /= self._total
            return
        from crucial.kernels import compiled

        level, query = self._places()
        if query is None and codes.dtype == np.uint8:
            compiled.wrong_weights_few(
                up,
                down,
                self.gains,
                coefficient,
                codes[:n],
                n_bins,
                missing_rank,
                level,
                self._level_sums(down),
                lay.row_start,
                lay.query_first,
                out,
            )
        else:
            if query is None:
                level, query = lay.level_of_row(), lay.query_of_row()
            compiled.wrong_weights(
                up,
                down,
                self.gains,
                coefficient,
                codes[:n],
                n_bins,
                missing_rank,
                level,
                query,
                lay.query_first,
                out,
            )
        # The scan adds and takes away: what is left of nothing may be slightly negative.
        np.maximum(out, 0.0, out=out)
        out /= self._total

    def prepare_scan(self) -> None:
        """Make what `wrong_weights` shares between features, before threads ask for it."""
        self._current()
        if not self._small:
            self._places()
            self._level_sums(self._current()[1])

    def _level_sums(self, down: Floats) -> Floats:
        """Sum of ``down`` over every segment."""
        if self._sums is None:
            self._sums = np.add.reduceat(down[: len(self.scores)], self.layout.level_start[:-1])
        return self._sums

    def _places(self) -> tuple[Any, Any]:
        """Level and query of every row; no queries where the scan goes query by query."""
        if self._place is None:
            lay = self.layout
            if lay.deepest <= _FEW_LEVELS:
                self._place = lay.level_of_row().astype(np.uint8), None
            else:
                self._place = lay.level_of_row(), lay.query_of_row()
        return self._place

    def risks(self) -> tuple[float, float]:
        """R1 and R2, by counting inversions: O(n log n)."""
        lay = self.layout
        wrong, tied = np.zeros(lay.n_queries), np.zeros(lay.n_queries)
        if self._small:
            plain.misordered(
                self.scores, self._weight, self._gap, lay.level_start, lay.query_first, wrong, tied
            )
        else:
            from crucial.kernels import compiled

            query = lay.query_of_row()
            order = np.lexsort((-self.scores, query))
            scores, level = self.scores[order], lay.level_of_row()[order]
            weight = self._weight[order]
            out = np.zeros((lay.n_queries, 2))
            starts = lay.row_start

            def work(a: int, b: int) -> None:
                compiled.misordered(
                    scores, level, weight, self.gains, lay.query_first, starts, a, b, out
                )

            self._over_queries(work)
            wrong, tied = out[:, 0], out[:, 1]
        whole = math.exp(self._start)
        w = float(np.dot(self._all, wrong)) / whole
        t = float(np.dot(self._all, tied)) / whole
        # Fully wrong rankings may come out a rounding above 1.
        return min(1.0, w + t), min(1.0, w + t / 2)

    def draw(self, fraction: float, random: np.random.Generator) -> None:
        """Count only a random share of the queries, at least one."""
        live = np.flatnonzero(self._all > 0)
        chosen = random.permutation(live)[: max(1, round(fraction * len(live)))]
        mask = np.zeros(self.layout.n_queries)
        mask[chosen] = 1.0
        self._coefficient = self._all * mask
        self._linear = self._sums = None

    def fork(self) -> LabelState:
        """A copy of the drawn pairs that can be moved without moving this state."""
        made = copy.copy(self)
        made._all = self._coefficient
        made.scores, made.up, made.down = self.scores.copy(), self.up.copy(), self.down.copy()
        return made
