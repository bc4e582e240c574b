"""The infinite push on linear scores, as a smooth problem that gets sharper and sharper.

The limit of the p-norm push is the maximum over the rows lo that should lose of a sum over the
rows hi that should win (Agarwal 2011; Rudin 2009, section 6). With a loss that falls with the
margin, the largest of these sums belongs to the highest lo of all, so that the loss of a query
is ``sum_hi u_hi l(s_hi - max_lo s_lo)``: O(n), not O(pairs). With ``s = A w``, the logistic
loss and a ridge this is convex::

    J(w) = sum_q c_q sum_hi u_hi ln(1 + e^(max_lo s_lo - s_hi)) + (l2 / 2) |w|^2

The maximum is replaced by ``(1/b) ln sum_lo m_lo e^(b s_lo)`` with the rows' shares m of the
weight, which is smooth and less than the maximum by ``ln(1/m) / b`` at most, and b grows until
a dual bound says that J is close to its minimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator, cg

from crucial.feedback.layout import Layout
from crucial.types import Floats

__all__ = ["Solution", "TopProblem", "solve"]


_SHARPER = 4.0
_SHARPEST = 1e9


@dataclass(frozen=True)
class Solution:
    """A minimum.

    Attributes
    ----------
    weights : array over the columns
    value : float
        J there.
    gap : float
        J is at most this far above its minimum, proven by a point of the dual problem.
    n_iter : int
        Newton's steps.
    """

    weights: Floats
    value: float
    gap: float
    n_iter: int


class TopProblem:
    """J and its smooth forms.

    Parameters
    ----------
    matrix : array or sparse matrix of shape (n_rows, n_columns)
        Rows in the order of the layout.
    layout : Layout
        Every query has two levels.
    weight : array over the rows
        Of the rows that should win: their weight, query factors included; all sum to 1. Of the
        others: their share of the weight in their query, which smooths the maximum.
    l2 : float
    """

    def __init__(self, matrix: Any, layout: Layout, weight: Floats, l2: float) -> None:
        self._a, self._l2 = matrix, l2
        low = np.zeros(len(layout.rows), bool)
        sizes = np.diff(layout.level_start)
        low[:] = np.repeat(np.arange(len(sizes)) % 2 == 0, sizes)
        self._low, self._high = np.flatnonzero(low), np.flatnonzero(~low)
        self._low_start = np.concatenate(([0], np.cumsum(sizes[::2])))
        self._high_start = np.concatenate(([0], np.cumsum(sizes[1::2])))
        self._of_low = np.repeat(np.arange(layout.n_queries), sizes[::2])
        self._of_high = np.repeat(np.arange(layout.n_queries), sizes[1::2])
        self._v, self._log_m = weight[self._high], np.log(weight[self._low])

    @property
    def n_columns(self) -> int:
        """Number of weights."""
        return int(self._a.shape[1])

    def _top(self, low_scores: Floats, sharp: float) -> tuple[Floats, Floats]:
        """Smooth maximum of every query's losers, and the share of each of them in it."""
        logs = self._log_m + sharp * low_scores
        highest = np.maximum.reduceat(logs, self._low_start[:-1])
        grown = np.exp(logs - highest[self._of_low])
        total = np.add.reduceat(grown, self._low_start[:-1])
        return (highest + np.log(total)) / sharp, grown / total[self._of_low]

    def value(self, w: Floats) -> float:
        """J itself."""
        scores = self._a @ w
        top = np.maximum.reduceat(scores[self._low], self._low_start[:-1])
        margin = scores[self._high] - top[self._of_high]
        return float(np.dot(self._v, np.logaddexp(0.0, -margin))) + self._ridge(w)

    def _ridge(self, w: Floats) -> float:
        return 0.5 * self._l2 * float(np.dot(w, w))

    def smooth(self, w: Floats, sharp: float) -> tuple[float, Floats]:
        """The smooth form of J, and its gradient."""
        scores = self._a @ w
        top, share = self._top(scores[self._low], sharp)
        margin = scores[self._high] - top[self._of_high]
        value = float(np.dot(self._v, np.logaddexp(0.0, -margin))) + self._ridge(w)
        _, slope = self._pull(margin, share, len(scores))
        return value, self._a.T @ slope + self._l2 * w

    def _pull(self, margin: Floats, share: Floats, n: int) -> tuple[Floats, Floats]:
        """What every winner pulls, and the derivative by all scores."""
        pull = self._v * _sigmoid(-margin)
        slope = np.zeros(n)
        slope[self._high] = -pull
        slope[self._low] = share * np.add.reduceat(pull, self._high_start[:-1])[self._of_low]
        return pull, slope

    def curvature(self, w: Floats, sharp: float, direction: Floats) -> Floats:
        """Product of the smooth form's second derivative with a direction."""
        scores, moved = self._a @ w, self._a @ direction
        top, share = self._top(scores[self._low], sharp)
        margin = scores[self._high] - top[self._of_high]
        pull = self._v * _sigmoid(-margin)
        mean = np.add.reduceat(share * moved[self._low], self._low_start[:-1])
        bend = pull * _sigmoid(margin) * (moved[self._high] - mean[self._of_high])
        total = np.add.reduceat(pull, self._high_start[:-1])
        out = np.zeros(len(scores))
        out[self._high] = bend
        back = np.add.reduceat(bend, self._high_start[:-1])[self._of_low]
        spread = sharp * total[self._of_low] * (moved[self._low] - mean[self._of_low])
        out[self._low] = share * (spread - back)
        product: Floats = self._a.T @ out + self._l2 * direction
        return product

    def gap(self, w: Floats, sharp: float) -> float:
        """J minus a lower bound of its minimum.

        For winners' pulls a in [0, v] and shares p of the losers, J is never below ``sum v
        H(a/v) - |A^T g|^2 / (2 l2)``, with the entropy H and g the derivative by the scores.
        """
        scores = self._a @ w
        top, share = self._top(scores[self._low], sharp)
        margin = scores[self._high] - top[self._of_high]
        pull, slope = self._pull(margin, share, len(scores))
        # v H(s) = v (s ln(1/s) + (1-s) ln(1/(1-s))), s = 1 / (1 + e^margin)
        entropy = pull * np.logaddexp(0.0, margin)
        entropy += (self._v - pull) * np.logaddexp(0.0, -margin)
        force = self._a.T @ slope
        bound = float(entropy.sum()) - float(np.dot(force, force)) / (2.0 * self._l2)
        return max(0.0, self.value(w) - bound)


def _sigmoid(x: Floats) -> Floats:
    tail = np.exp(-np.abs(x))
    return np.where(x > 0, 1.0, tail) / (1.0 + tail)


def solve(problem: TopProblem, tolerance: float, max_iter: int) -> Solution:
    """Minimise J up to ``tolerance`` by Newton's method in a trust region.

    It returns what it has where ``max_iter`` steps are not enough; ``gap`` tells.
    """
    w = np.zeros(problem.n_columns)
    sharp, steps = _SHARPER, 0
    while True:
        how: dict[str, Any] = {
            "method": "trust-ncg",
            "jac": True,
            "hessp": lambda x, direction, at: problem.curvature(x, at, direction),
            "options": {"gtol": 1e-11, "maxiter": max_iter - steps},
        }
        found = minimize(problem.smooth, w, (sharp,), **how)
        w, steps = _polished(problem, found.x, sharp), steps + int(found.nit)
        gap = problem.gap(w, sharp)
        if gap <= tolerance or steps >= max_iter or sharp >= _SHARPEST:
            return Solution(w, problem.value(w), gap, steps)
        sharp *= _SHARPER


def _polished(problem: TopProblem, w: Floats, sharp: float) -> Floats:
    """The last digits, so that rows given twice or in another order make the same model.

    A trust region ends where the objective no longer changes, half of the digits of w before
    the gradient does; plain Newton steps go on from there.
    """
    slope = problem.smooth(w, sharp)[1]
    for _ in range(5):
        product = partial(problem.curvature, w, sharp)
        step, _ = cg(LinearOperator((len(w), len(w)), matvec=product), -slope, rtol=1e-10)
        after = problem.smooth(w + step, sharp)[1]
        if not np.linalg.norm(after) < 0.5 * np.linalg.norm(slope):
            break
        w, slope = w + step, after
    return w
