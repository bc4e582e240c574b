"""Which weak ranker RankBoost+ takes next: all directions (Connamacher et al. 2019, section 4).

A candidate outside the span of the rankers in use enters as in the efficient search. One
inside is a direction beta over them: ``B h = B S beta``. The slope of F2 along it is
compared as ``|grad F2 . beta| / (|beta| F2)`` with ``|delta|``: equations 32 and 33 drop the
factor F2, which would put both on different scales.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crucial.boosting.plus.candidates import Candidates, Offer
from crucial.boosting.plus.search import Direction, lowest
from crucial.boosting.plus.span import Span
from crucial.boosting.plus.weights import PlusWeights, log_cosh
from crucial.boosting.steps import newton_root
from crucial.boosting.stump_search import worst_tied
from crucial.kernels.elementary import dot, exp, matrix_product, row_sums, tanh
from crucial.kernels.pairs import stump_sums
from crucial.types import Bytes, Floats

__all__ = ["OptimalSearch", "line_search"]


# Share of a candidate's square that is left outside the span, as kept up to date by
# subtraction, below which it is tested anew: rounding of the former is far smaller.
_SCREEN = 1e-6
# Cells of a table of pairs and rankers that is kept during one line search.
_CELLS = 1 << 23
_BLOCK = 256
# A slope of the logarithm of a pair's weight, far along a direction, that is rounding.
_LEVEL = 1e-9
# Exponents whose sums stay finite.
_FINITE = 600.0


class OptimalSearch:
    """The steepest of all candidates, new, in use, or in the span of those in use.

    Parameters and attributes as of `EfficientSearch`; S is never static.
    """

    static_round = None

    def __init__(
        self, candidates: Candidates, weights: PlusWeights, component: NDArray[np.integer]
    ) -> None:
        self._candidates, self._weights = candidates, weights
        self._offer = Offer(candidates, candidates.distinct)
        self._span = Span(component)
        self.members: list[int] = []
        self._square = _squares(candidates, component)
        self._left = self._square.copy()
        self._inside: list[int] = []
        self._betas = np.zeros((0, 8))
        self._lengths = np.zeros(0)

    def propose(self, number: int) -> Direction | None:
        """Return the best choice for a round; None if nothing helps."""
        delta, slope = self._weights.deltas()
        along = row_sums(self._betas[:, : len(delta)], delta)
        steep = np.concatenate((delta, along / self._lengths))
        top = float(np.abs(steep).max(initial=0.0))
        while True:
            self._offer.renew(self._weights.potentials)
            new = self._offer.best()
            if new is None or not worst_tied(abs(new[1])) > top:
                break
            self._offer.withdraw(new[0])
            output = self._candidates.output(new[0])
            if self._span.add(output):
                self.members.append(new[0])
                self._sort_out()
                return Direction(new[0], -new[1], new[1])
            # (kept by subtraction, its rest looked larger than it is)
            self._settle(np.array([new[0]]))
        at = lowest(steep, self.members + self._inside, top)
        if at is None:
            return None
        if at < len(delta):
            return Direction(self.members[at], float(delta[at]), float(slope[at]), at)
        row = at - len(delta)
        beta = self._betas[row, : len(delta)].copy()
        # Normalised by the sum of |beta|, it bounds Z as delta does: F2 along beta is a mean
        # of exponentials with slopes of no more than that sum.
        delta_of = float(along[row] / np.abs(beta).sum())
        return Direction(self._inside[row], delta_of, None, beta=beta)

    def _sort_out(self) -> None:
        """Find the candidates that the newest member made dependent."""
        size, width = self._span.size, self._betas.shape[1]
        if size > width:
            wider = np.zeros((len(self._betas), 2 * size))
            wider[:, :width] = self._betas
            self._betas = wider
        self._offer.renew(self._span.newest)
        self._left -= self._offer.sums**2
        if self._span.size == self._span.largest:
            close = np.flatnonzero(self._offer.offered)
        else:
            close = np.flatnonzero(self._offer.offered & (self._left < _SCREEN * self._square))
        for begin in range(0, len(close), _BLOCK):
            self._settle(close[begin : begin + _BLOCK])

    def _settle(self, numbers: NDArray[np.integer]) -> None:
        """Move the dependent ones of these candidates to those inside."""
        dependent, betas = self._span.coordinates(self._candidates.outputs(numbers))
        if self._span.size == self._span.largest:
            dependent[:] = True
        size = self._span.size
        found = numbers[dependent]
        for number in found.tolist():
            self._offer.withdraw(number)
        rows = np.zeros((len(found), self._betas.shape[1]))
        rows[:, :size] = betas[dependent]
        rows[np.abs(rows) < 1e-9] = 0.0  # (so that a line search need not look there)
        self._inside += found.tolist()
        self._betas = np.concatenate((self._betas, rows))
        self._lengths = np.concatenate((self._lengths, np.sqrt((rows**2).sum(axis=1))))


def _squares(candidates: Candidates, component: NDArray[np.integer]) -> Floats:
    """Return the squared length of every candidate, centred in each component."""
    first, codes = candidates.first, candidates.bins.codes
    total = np.zeros(len(candidates.distinct))
    peak, out = np.zeros(len(first) - 1), np.zeros_like(total)
    features = np.arange(len(first) - 1)
    order = np.argsort(component, kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(component))[:-1]):
        n = len(rows)
        stump_sums(codes[:, rows], n, first, features, np.ones(n), candidates.distinct, out, peak)
        total += out - out**2 / n
    return total


def line_search(
    weights: PlusWeights, beta: Floats, output: Bytes, smoothing: float
) -> float | None:
    """Return the alpha that minimises ``F2(eta + alpha beta)``; None if there is none.

    Parameters
    ----------
    beta : array over the rankers in use
    output : uint8 array of shape (n_rows,)
        The candidate that beta makes up: over pairs, both are the same ranker.
    smoothing : float
        Share of all weight added to both sides where no finite alpha is best; 0 for none.
    """
    along = _Direction(weights, beta, output)
    alpha = newton_root(lambda at: along.slopes(at, 0.0), turns=along.turns)
    if alpha is None and smoothing > 0.0:
        alpha = newton_root(lambda at: along.slopes(at, smoothing))
    return alpha


class _Direction:
    """F2 along a direction, with its derivatives."""

    def __init__(self, weights: PlusWeights, beta: Floats, output: Bytes) -> None:
        self._weights = weights
        self._places = np.flatnonzero(beta)
        self._beta, self._eta = beta[self._places], weights.eta[self._places]
        self._columns = weights.used[:, self._places].astype(np.uint8)
        self._output = output.astype(np.float64)
        count = max(1, _CELLS // max(1, len(self._places)))
        n = weights.pairs.n_pairs
        self._parts = [slice(a, min(a + count, n)) for a in range(0, n, count)]
        self._kept = self._table(self._parts[0]) if len(self._parts) == 1 else None

    def _table(self, part: slice) -> tuple[Floats, Floats, Floats]:
        """Return which rankers tie a pair, its margin under the candidate, and its weight."""
        high, low = self._weights.pairs.high[part], self._weights.pairs.low[part]
        tied = (self._columns[high] == self._columns[low]).astype(np.float64)
        return tied, self._output[high] - self._output[low], self._weights.share_of(part)

    def turns(self, sign: float) -> bool:
        """Return whether any pair weighs ever more along a weight of that sign."""
        size, way = np.abs(self._beta), np.sign(sign)
        for part in self._parts:
            tied, margin, share = self._kept or self._table(part)
            if (row_sums(tied, size) - way * margin > _LEVEL)[share > 0.0].any():
                return True
        return False

    def slopes(self, alpha: float, smoothing: float) -> tuple[float, float]:
        """Return the first and second derivative of ln F2 at alpha."""
        now = self._eta + alpha * self._beta
        bent = tanh(now)
        per_ranker = np.stack(
            (
                log_cosh(now) - log_cosh(self._eta),
                self._beta * bent,
                self._beta**2 * (1.0 - bent * bent),
            ),
            axis=1,
        )
        top = 0.0
        if float(np.abs(per_ranker[:, 0]).sum()) + abs(alpha) > _FINITE:
            top = max(self._exponents(part, per_ranker[:, 0], alpha) for part in self._parts)
        grown, shrunk = exp(alpha), exp(-alpha)
        value, first, second = smoothing * (grown + shrunk), 0.0, 0.0
        first += smoothing * (grown - shrunk)
        second += value
        for part in self._parts:
            tied, margin, share = self._kept or self._table(part)
            sums = matrix_product(tied, per_ranker)
            d = share * exp(sums[:, 0] - alpha * margin - top)
            tilt = sums[:, 1] - margin
            value += float(d.sum())
            first += dot(d, tilt)
            second += dot(d, tilt**2 + sums[:, 2])
        return first / value, max(second / value - (first / value) ** 2, 0.0)

    def _exponents(self, part: slice, grown: Floats, alpha: float) -> float:
        """Return the largest logarithm of what a pair's weight is multiplied by."""
        tied, margin, share = self._kept or self._table(part)
        logs = row_sums(tied, grown) - alpha * margin
        return float(logs[share > 0.0].max(initial=-_FINITE))
