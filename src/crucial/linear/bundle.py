"""Minimise a mean of hinges and a ridge, to a proven distance from the minimum.

    min over w of  L(scores(w)) + (l2 / 2) <w, w>

Newton's method minimises smooth forms of the hinge, each four times sharper than the one before.
Their gradients are planes below the hinge, and a plane with a ridge has a known minimum: that is a
lower bound on the minimum sought. Where more digits are asked for than smooth forms give, cutting
planes go on from there (Joachims 2006): the best mixture of all planes so far gives the next bound
and the direction of the next step, whose length is found by a line search (Franc & Sonnenburg
2008).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.kernels.elementary import dot, row_sums
from crucial.linear.hinge import Hinges, SmoothHinge
from crucial.linear.mixtures import best_mixture
from crucial.linear.spaces import Space
from crucial.linear.truncated_newton import truncated_newton
from crucial.types import Bools, Floats

__all__ = ["HingeMinimum", "minimise_hinge"]

# By how much a smooth form is sharper than the one before, and how sharp it gets at most: beyond,
# the difference of two squared hinges has too few digits.
_SHARPER = 4.0
_SHARPEST = 1e5
# A plane without a share in so many mixtures is dropped.
_PATIENCE = 60
# So many cuts in a row that lift no bound and lower no value are the end of all digits.
_IN_VAIN = 3
# How far from the best weights towards the mixture the next plane touches.
_AHEAD = 0.1


@dataclass(frozen=True)
class HingeMinimum:
    """How far the solver got.

    Attributes
    ----------
    weights : array
    value : float
        Loss and ridge.
    gap : float
        The value is proven to be at most this far above the minimum.
    n_iter : int
        Newton's steps and planes.
    """

    weights: Floats
    value: float
    gap: float
    n_iter: int


def minimise_hinge(
    hinges: Hinges, space: Space, l2: float, tol: float, max_iter: int
) -> HingeMinimum:
    """Minimise the hinge and a ridge up to ``tol``, in at most ``max_iter`` steps.

    Parameters
    ----------
    hinges : Hinges
    space : Space
    l2 : float
        Above 0.
    tol : float
        Ends where the proven gap is at most this.
    max_iter : int
        Newton's steps and cutting planes at most, together.
    """
    planes = _Planes(hinges, space, l2)
    # (the first form bends at every pair that falls short by 1 or less: all, at scores of 0)
    sharp, steps = 1.0, 0
    while steps < max_iter and planes.gap > tol and sharp <= _SHARPEST:
        smooth = SmoothHinge(hinges, sharp)
        # (a fraction of what the smooth form itself is off is enough)
        enough = max(0.01 * tol, 1e-3 / (sharp * sharp))
        found = truncated_newton(smooth, space, l2, enough, max_iter - steps, planes.weights)
        steps += max(1, found.n_iter)
        planes.offer(found.weights)
        planes.add(*smooth.plane(found.scores))
        sharp *= _SHARPER
    in_vain = 0
    while steps < max_iter and planes.gap > max(tol, 1e-15 * abs(planes.value)):
        before = planes.gap
        planes.cut()
        steps += 1
        # (a plane that lifts the bound by less than its last digit still turns the next step)
        in_vain = in_vain + 1 if planes.stuck and planes.gap >= before else 0
        if in_vain == _IN_VAIN:
            break
    return HingeMinimum(planes.weights, planes.value, planes.gap, steps)


class _Planes:
    """Planes below the hinge, their best mixture, and the best weights so far."""

    def __init__(self, hinges: Hinges, space: Space, l2: float) -> None:
        self._hinges, self._space, self._l2 = hinges, space, l2
        self.weights = np.zeros(space.n_weights)
        self._scores = space.scores(self.weights)
        self._norm = 0.0
        self.value, by_score = hinges.hinge(self._scores)
        self._slopes: list[Floats] = []
        self._pulls: list[Floats] = []
        self._heights = np.zeros(0)
        self._gram = np.zeros((0, 0))
        self._shares = np.zeros(0)
        self._unused = np.zeros(0, np.int64)
        self.bound, self.stuck = 0.0, False  # (no hinge is below 0)
        self.add(self.value - dot(by_score, self._scores), by_score)

    @property
    def gap(self) -> float:
        """How far the best value may be above the minimum."""
        return max(0.0, self.value - self.bound)

    def offer(self, w: Floats) -> None:
        """Keep weights if they are the best so far."""
        scores = self._space.scores(w)
        norm = self._space.dot(w, w, scores)
        value = self._hinges.hinge(scores)[0] + 0.5 * self._l2 * norm
        if value < self.value:
            self.weights, self._scores, self._norm, self.value = w, scores, norm, value

    def add(self, height: float, by_score: Floats) -> None:
        """Add the plane ``height + by_score . s``, and mix the planes again."""
        slope = self._space.back(by_score)
        pull = self._space.scores(slope)
        products = [self._space.dot(one, slope, pull) for one in self._slopes]
        own = self._space.dot(slope, slope, pull)
        n = len(self._heights)
        gram = np.empty((n + 1, n + 1))
        gram[:n, :n], gram[n, n] = self._gram, own
        gram[n, :n] = gram[:n, n] = products
        self._gram, self._heights = gram, np.append(self._heights, height)
        self._slopes.append(slope)
        self._pulls.append(pull)
        self._unused = np.append(self._unused, 0)
        first = np.append(self._shares, 0.0) if n else np.ones(1)
        self._shares = best_mixture(self._gram / self._l2, self._heights, first)
        force = dot(self._shares, row_sums(self._gram, self._shares))
        dual = dot(self._shares, self._heights) - force / (2.0 * self._l2)
        self.stuck = dual <= self.bound
        self.bound = max(self.bound, dual)
        self._unused = np.where(self._shares > 0.0, 0, self._unused + 1)
        self._drop(self._unused < _PATIENCE)

    def _drop(self, keep: Bools) -> None:
        if keep.all():
            return
        at = np.flatnonzero(keep)
        self._slopes = [self._slopes[i] for i in at.tolist()]
        self._pulls = [self._pulls[i] for i in at.tolist()]
        self._heights, self._gram = self._heights[at], self._gram[np.ix_(at, at)]
        self._shares, self._unused = self._shares[at], self._unused[at]

    def cut(self) -> None:
        """Step towards the mixture, and add the plane that touches a little further on."""
        target, scores = np.zeros_like(self.weights), np.zeros_like(self._scores)
        for share, slope, pull in zip(self._shares.tolist(), self._slopes, self._pulls):
            if share > 0.0:
                target -= (share / self._l2) * slope
                scores -= (share / self._l2) * pull
        step, moved = target - self.weights, scores - self._scores
        rate = self._line_search(step, moved)
        self.offer(self.weights + rate * step)
        self.offer(target)
        at = self._scores + _AHEAD * (scores - self._scores)
        for touched in (at, scores):
            value, by_score = self._hinges.hinge(touched)
            self.add(value - dot(by_score, touched), by_score)

    def _line_search(self, step: Floats, moved: Floats) -> float:
        """Return how far along a step the objective falls, by bisecting its derivative."""
        along = self._space.dot(self.weights, step, moved)
        length = self._space.dot(step, step, moved)
        low, high = 0.0, 1.0
        for _ in range(8):
            rate = 0.5 * (low + high)
            by_score = self._hinges.hinge(self._scores + rate * moved)[1]
            rises = dot(by_score, moved) + self._l2 * (along + rate * length)
            low, high = (low, rate) if rises > 0 else (rate, high)
        return low
