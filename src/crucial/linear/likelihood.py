"""The likelihood of lists under Plackett and Luce's model (Xia et al. 2008, ListMLE).

A list is made by choosing one row after the other, each among those that are left, with
probability proportional to ``e^s``. The loss of a strict order is minus the logarithm of its
probability. In a query whose labels tie, every row i above the lowest label is chosen among
itself and the rows of lower labels, so that equal labels are not compared::

    sum_i u_i (ln(e^s_i + sum_{k below i} u_k e^s_k) - s_i)

which is ListMLE where the order is strict, convex in s, and the same for a row of weight 2 as
for two rows. Value and gradient take O(n log n), all in logarithms: sums over the rows below are
running sums over label levels from the lowest up, and the gradient of these rows is made of running
sums from the highest down.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from crucial.feedback.layout import Layout
from crucial.kernels.elementary import dot, exp, log, logaddexp
from crucial.linear.solution import sigmoid
from crucial.types import Floats, Ints

__all__ = ["ListLikelihood", "running_log_sums"]

# Sums of terms up to the square root of e^600 have all digits, and so have their logarithms.
_UNIT = 600.0


def running_log_sums(logs: Floats, first: Ints) -> Floats:
    """Return the logarithms of running sums, which restart at every index in ``first``.

    Terms are divided by a power of e^600 that follows the largest so far: no difference of large
    sums is taken, so that small terms keep their digits next to large ones.

    Examples
    --------
    >>> running_log_sums(np.log([1.0, 2.0, 3.0, 5.0]), np.array([0, 3])).round(3).tolist()
    [0.0, 1.099, 1.792, 1.609]
    >>> np.log([1.0, 3.0, 6.0, 5.0]).round(3).tolist()
    [0.0, 1.099, 1.792, 1.609]
    """
    unit = np.zeros(len(logs))
    if logs.max() > _UNIT / 2.0 or logs[first].min() < -_UNIT / 2.0:
        for start, end in pairwise([*first.tolist(), len(logs)]):
            np.maximum.accumulate(logs[start:end], out=unit[start:end])
        unit = _UNIT * np.round(np.where(np.isfinite(unit), unit, 0.0) / _UNIT)
    sums = exp(logs - unit)
    begins = np.zeros(len(logs) + 1, bool)
    begins[first] = True
    grows = np.flatnonzero((unit[1:] != unit[:-1]) & ~begins[1:-1]) + 1
    begins[grows] = True
    before = set(grows.tolist())
    for start, end in pairwise([*np.flatnonzero(begins).tolist(), len(logs)]):
        if start in before and sums[start - 1] > 0.0:
            sums[start] += sums[start - 1] * exp(float(unit[start - 1] - unit[start]))
        np.add.accumulate(sums[start:end], out=sums[start:end])
    return unit + log(sums)


class ListLikelihood:
    """The mean loss per choice, as a function of scores; a `SmoothLoss`.

    Parameters
    ----------
    layout : Layout
        Rows by query and rising label.
    weight : array of shape (n_rows,), or None
        A row of weight 2 counts as two.
    factor : array of shape (n_queries,)
        Factor on the loss of each query.
    """

    def __init__(self, layout: Layout, weight: Floats | None, factor: Floats) -> None:
        self._starts = layout.level_start[:-1]
        self._segment = np.repeat(np.arange(len(self._starts)), np.diff(layout.level_start))
        self._first = layout.query_first[:-1]
        lengths = np.diff(layout.query_first)
        self._reversed = len(self._starts) - (self._first + lengths)[::-1]
        u = np.ones(len(layout.rows)) if weight is None else weight
        self._log_u = log(u)
        lowest = np.zeros(len(self._starts), bool)
        lowest[self._first] = True
        self._chosen = np.flatnonzero(~lowest[self._segment])
        value = u[self._chosen] / u.max() * factor[layout.query_of_row()[self._chosen]]
        self._value = value / value.sum()

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return the loss, and its gradient by the scores."""
        logs = self._log_u + scores
        highest = np.maximum.reduceat(logs, self._starts)
        shares = np.add.reduceat(exp(logs - highest[self._segment]), self._starts)
        running = running_log_sums(highest + log(shares), self._first)
        below = np.empty_like(running)
        below[1:] = running[:-1]
        below[self._first] = -np.inf

        at = self._chosen
        margin = scores[at] - below[self._segment[at]]
        loss = dot(self._value, logaddexp(0.0, -margin))
        pull = self._value * sigmoid(-margin)
        gradient = np.zeros(len(scores))
        gradient[at] = -pull

        # A row below level l has the share e^(ln u + s - below_l) in the pull on that level.
        pulled = np.bincount(self._segment[at], pull, len(self._starts))
        back = np.full(len(pulled), -np.inf)
        some = np.flatnonzero(pulled > 0)
        back[some] = log(pulled[some]) - below[some]
        above = running_log_sums(back[::-1], self._reversed)[::-1]
        after = np.full(len(above), -np.inf)
        after[:-1] = above[1:]
        after[self._first[1:] - 1] = -np.inf
        gradient += exp(logs + after[self._segment])
        return loss, gradient
