"""The loss of the infinite push, and smooth forms of it.

The limit of the p-norm push is the maximum over the rows lo that should lose of a sum over the
rows hi that should win (Agarwal 2011; Rudin 2009, section 6). With a loss that falls with the
margin, the largest of these sums belongs to the highest lo of all, so that the loss of a query
is ``sum_hi u_hi l(s_hi - max_lo s_lo)``: O(n), not O(pairs). With the logistic loss::

    L(s) = sum_q c_q sum_hi u_hi ln(1 + e^(max_lo s_lo - s_hi))

which is convex in the scores s. The maximum is replaced by ``(1/b) ln sum_lo m_lo e^(b s_lo)``
with the rows' shares m of the weight, which is smooth and at most ``ln(1/m) / b`` less than the
maximum; the solver increases b until a dual bound proves that the minimum is close.
"""

from __future__ import annotations

import numpy as np

from crucial.feedback.layout import Layout
from crucial.kernels.elementary import dot, exp, log, logaddexp
from crucial.linear.solution import sigmoid
from crucial.types import Floats

__all__ = ["InfinitePushLoss"]


class InfinitePushLoss:
    """The loss of the infinite push; a `SharpLoss`.

    Parameters
    ----------
    layout : Layout
        Every query has two levels.
    weight : array of shape (n_rows,)
        Of the rows that should win: their weight, query factors included; all sum to 1. Of the
        others: their share of the weight in their query, which smooths the maximum.
    """

    def __init__(self, layout: Layout, weight: Floats) -> None:
        sizes = np.diff(layout.level_start)
        low = np.repeat(np.arange(len(sizes)) % 2 == 0, sizes)
        self._low, self._high = np.flatnonzero(low), np.flatnonzero(~low)
        self._low_start = np.concatenate(([0], np.cumsum(sizes[::2])))
        self._high_start = np.concatenate(([0], np.cumsum(sizes[1::2])))
        self._of_low = np.repeat(np.arange(layout.n_queries), sizes[::2])
        self._of_high = np.repeat(np.arange(layout.n_queries), sizes[1::2])
        self._v = weight[self._high]
        # (a share can be too small for a float, where weights are far apart)
        self._log_m = log(np.maximum(weight[self._low], np.finfo(np.float64).tiny))

    def value(self, scores: Floats) -> float:
        """Return the loss itself."""
        top = np.maximum.reduceat(scores[self._low], self._low_start[:-1])
        return self._loss(scores[self._high] - top[self._of_high])

    def _loss(self, margin: Floats) -> float:
        return dot(self._v, logaddexp(0.0, -margin))

    def smooth(self, scores: Floats, sharp: float) -> tuple[float, Floats]:
        """Return the smooth form of the loss, and its gradient."""
        margin, share = self._margins(scores, sharp)
        return self._loss(margin), self._gradient(self._pull(margin), share)

    def _margins(self, scores: Floats, sharp: float) -> tuple[Floats, Floats]:
        """Return the winners' margins over the smooth maximum, and the losers' shares in it."""
        logs = self._log_m + sharp * scores[self._low]
        highest = np.maximum.reduceat(logs, self._low_start[:-1])
        grown = exp(logs - highest[self._of_low])
        total = np.add.reduceat(grown, self._low_start[:-1])
        top = (highest + log(total)) / sharp
        return scores[self._high] - top[self._of_high], grown / total[self._of_low]

    def _pull(self, margin: Floats) -> Floats:
        """Return minus the derivative of the loss by every winner's margin."""
        return self._v * sigmoid(-margin)

    def _by_loser(self, values: Floats) -> Floats:
        """Return the sum over the winners of its query for every loser."""
        return np.add.reduceat(values, self._high_start[:-1])[self._of_low]

    def _gradient(self, pull: Floats, share: Floats) -> Floats:
        gradient = np.zeros(len(self._low) + len(self._high))
        gradient[self._high] = -pull
        gradient[self._low] = share * self._by_loser(pull)
        return gradient

    def curvature(self, scores: Floats, sharp: float, moved: Floats) -> Floats:
        """Return the product of the smooth form's second derivative with a move of the scores."""
        margin, share = self._margins(scores, sharp)
        pull = self._pull(margin)
        mean = np.add.reduceat(share * moved[self._low], self._low_start[:-1])
        bend = pull * sigmoid(margin) * (moved[self._high] - mean[self._of_high])
        out = np.zeros(len(scores))
        out[self._high] = bend
        spread = sharp * self._by_loser(pull) * (moved[self._low] - mean[self._of_low])
        out[self._low] = share * (spread - self._by_loser(bend))
        return out

    def dual(self, scores: Floats, sharp: float) -> tuple[float, Floats]:
        """Return d and g: ``d - |A^T g|^2 / (2 l2)`` is a lower bound on the minimum.

        For winners' pulls a in [0, v] and shares p of the losers, loss and ridge are never below
        ``sum v H(a/v) - |A^T g|^2 / (2 l2)``, with the entropy H and g the derivative by the
        scores.
        """
        margin, share = self._margins(scores, sharp)
        pull = self._pull(margin)
        # v H(s) = v (s ln(1/s) + (1-s) ln(1/(1-s))), s = 1 / (1 + e^margin)
        entropy = pull * logaddexp(0.0, margin)
        entropy += (self._v - pull) * logaddexp(0.0, -margin)
        return float(entropy.sum()), self._gradient(pull, share)
