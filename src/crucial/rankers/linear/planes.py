"""Minimise convex, piecewise linear losses and a ridge by cutting planes."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from crucial.errors import CrucialError, MissingExtraError
from crucial.kernels.elementary import column_sums, dot, row_products, row_sums
from crucial.rankers.linear.columns import FeatureSpace, Matrix, Space
from crucial.rankers.linear.losses import Hinges, SmoothHinge
from crucial.rankers.linear.newton import Solution, ridge, truncated_newton
from crucial.types import Bools, Floats

# --- Find the best mixture of planes: a small quadratic problem over shares that sum to 1


# Curvature that every plane gets, as a share of the largest.
_FIRM = 1e-15
# Differences below this share of the largest number are rounding.
_DIGITS = 1e-14


def best_mixture(gram: Floats, heights: Floats, start: Floats) -> Floats:
    """Maximise ``heights . z - z'Gz / 2`` over z >= 0 that sum to 1, to the last digits.

    An active set method (after Wolfe 1976): on the planes in use the problem is a linear system;
    a plane whose share would become negative leaves, and the most violated one enters.

    Parameters
    ----------
    gram : array of shape (n, n)
        G, positive semidefinite.
    heights : array of shape (n,)
    start : array of shape (n,)
        Shares to begin with; not negative, and they sum to 1.

    Examples
    --------
    >>> best_mixture(np.eye(2), np.array([0.0, 0.5]), np.array([1.0, 0.0])).round(9)
    array([0.25, 0.75])
    """
    scale = _scale(gram, heights)
    z, used = start.copy(), start > 0.0
    best, best_value, seen = z, -np.inf, set[bytes]()
    for _ in range(5 * len(z) + 20):
        z, used = _on_active(gram, heights, z, used)
        slack = heights - row_sums(gram, z)
        level = dot(slack, z)
        value = 0.5 * (level + dot(heights, z))
        # (a plane may have much to say and yet add less to the value than its last digit)
        if value < best_value - _DIGITS * scale or used.tobytes() in seen:
            break
        best, best_value = z, max(value, best_value)
        seen.add(used.tobytes())
        slack[used] = -np.inf
        enters = int(np.argmax(slack))
        if not slack[enters] > level + _DIGITS * scale:
            break
        used[enters] = True
    shares: Floats = best / best.sum()
    return shares


def _on_active(gram: Floats, heights: Floats, z: Floats, used: Bools) -> tuple[Floats, Bools]:
    """Return the best shares of the planes in use, and which of them stay in use."""
    z, used = z.copy(), used.copy()
    while True:
        at = np.flatnonzero(used)
        n = len(at)
        target = where_planes_meet(gram[np.ix_(at, at)], heights[at])
        if (target > 0.0).all():
            z[at] = target / target.sum()
            return z, used
        falls = target <= 0.0
        # (where a share falls, z - target is not below 0; 0 only if both are)
        ratio = np.full(n, np.inf)
        ratio[falls] = z[at][falls] / np.maximum(z[at][falls] - target[falls], 1e-300)
        leaves = int(np.argmin(ratio))
        z[at] = np.maximum(0.0, z[at] + min(1.0, float(ratio[leaves])) * (target - z[at]))
        z[at[leaves]] = 0.0
        used[at[leaves]] = False


def where_planes_meet(gram: Floats, heights: Floats) -> Floats:
    """Return shares that sum to 1, some maybe below 0, with which all planes have one height."""
    n = len(heights)
    system = np.ones((n + 1, n + 1))
    # (planes that depend on each other: a little more curvature makes their shares unique)
    system[:n, :n] = gram + _FIRM * _scale(gram, heights) * np.eye(n)
    system[n, n] = 0.0
    return _solved(system, np.append(heights, 1.0))[:n]


def _scale(gram: Floats, heights: Floats) -> float:
    return float(np.abs(heights).max()) + float(np.abs(gram).max())


def _solved(system: Floats, right: Floats) -> Floats:
    """Solve a small linear system by elimination, with the largest pivot of each column.

    LAPACK's digits depend on the CPU, and so would the planes in use.
    """
    n = len(right)
    table = np.column_stack([system, right])
    for k in range(n):
        pivot = k + int(np.argmax(np.abs(table[k:, k])))
        if table[pivot, k] == 0.0:
            raise np.linalg.LinAlgError("singular system")
        table[[k, pivot]] = table[[pivot, k]]
        share = table[k + 1 :, k] / table[k, k]
        table[k + 1 :, k + 1 :] -= share[:, None] * table[k, k + 1 :]
    out = np.zeros(n)
    for k in reversed(range(n)):
        out[k] = (table[k, n] - dot(table[k, k + 1 : n], out[k + 1 :])) / table[k, k]
    return out


# --- Minimise convex, piecewise linear losses with a ridge by cutting planes
#
#     min over w of  (l2 / 2) |w|^2 + L(A w)
#
# At every w a plane touches the loss from below (Joachims, Finley & Yu 2009). The planes so far and
# the ridge are a small quadratic problem, whose solution is the next w. Its value is a lower bound
# on
# the minimum: the difference from the best value found is a proven gap.


#: A plane that was not active in so many solutions is dropped.
_PATIENCE = 60


class PlaneLoss(Protocol):
    """A convex loss, never below 0, of which a plane is known at any scores."""

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return height and slope: the loss is nowhere below ``height - slope . s``, and equals
        it at these scores.
        """


def load_solver() -> ModuleType:
    """Import the solver of quadratic problems, or raise an error that says how to install it."""
    try:
        return import_module("clarabel")
    except ImportError as error:
        raise MissingExtraError(
            "SVMMap needs clarabel, a solver of quadratic problems: pip install crucial[qp]. "
            "ListMLE, RankCosine and RankBoost do without."
        ) from error


def cutting_planes(
    loss: PlaneLoss, matrix: Matrix, l2: float, tol: float, max_iter: int
) -> Solution:
    """Minimise a loss and a ridge up to ``tol``, with at most ``max_iter`` planes.

    If the planes are not enough, the best weights so far are returned, and the gap says how far
    they may be from the minimum.
    """
    solver = load_solver()
    n_columns = matrix.shape[1]
    w = np.zeros(n_columns)
    best, best_value, bound = w, np.inf, 0.0
    slopes, heights = np.zeros((1, n_columns)), np.zeros(1)  # (no loss is below 0)
    unused = np.zeros(1, np.int64)
    n_planes = 0
    space = FeatureSpace(matrix)
    while True:
        height, by_score = loss(space.scores(w))
        slope = space.back(by_score)
        n_planes += 1
        value = height - dot(slope, w) + ridge(w, l2)
        if value < best_value:
            best, best_value = w, value
        if best_value - bound <= tol or n_planes >= max_iter:
            break
        slopes, heights = np.vstack([slopes, slope]), np.append(heights, height)
        shares = _shares(solver, slopes, heights, l2)
        w = column_sums(slopes, shares) / l2
        bound = max(bound, dot(shares, heights) - ridge(w, l2))
        unused = np.where(shares > 1e-9, 0, np.append(unused, 0) + 1)
        keep = unused < _PATIENCE
        keep[0] = True
        slopes, heights, unused = slopes[keep], heights[keep], unused[keep]
    return Solution(best, best_value, max(0.0, best_value - bound), n_planes)


def _shares(solver: ModuleType, slopes: Floats, heights: Floats, l2: float) -> Floats:
    """Return the weights of the planes in the dual problem, which sum to 1.

    The primal, with one slack: ``min (l2/2) |w|^2 + x`` with ``heights - slopes w <= x``.
    """
    n, d = slopes.shape
    curvature = sp.diags_array(np.append(np.full(d, l2), 0.0), format="csc")
    rows = sp.csc_array(np.column_stack([-slopes, -np.ones(n)]))
    settings = solver.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas"):
        setattr(settings, name, 1e-12)
    cost = np.append(np.zeros(d), 1.0)
    cones = [solver.NonnegativeConeT(n)]
    problem = solver.DefaultSolver(
        sp.csc_matrix(curvature), cost, sp.csc_matrix(rows), -heights, cones, settings
    )
    answer = problem.solve()
    shares = np.maximum(np.asarray(answer.z), 0.0)
    # Any shares give a bound on the minimum, so the solver need not have converged, but its
    # answer must be finite.
    if not np.isfinite(shares).all() or not shares.sum() > 0:
        raise CrucialError(
            f"the quadratic problem of {n} planes was not solved ({answer.status}); raise l2, "
            f"which is {l2:g}."
        )
    return _polished(shares / shares.sum(), slopes, heights, l2)


def _polished(shares: Floats, slopes: Floats, heights: Floats, l2: float) -> Floats:
    """Return the shares to the last digits: the active planes meet in the solution.

    The answer is used where it is no worse.
    """
    active = np.flatnonzero(shares > 1e-7)
    gram = row_products(slopes[active], slopes[active]) / l2
    answer = where_planes_meet(gram, heights[active])
    if answer.min() < 0.0:
        return shares
    exact = np.zeros_like(shares)
    exact[active] = answer / answer.sum()
    better = _dual(exact, slopes, heights, l2) >= _dual(shares, slopes, heights, l2) - 1e-12
    return exact if better else shares


def _dual(shares: Floats, slopes: Floats, heights: Floats, l2: float) -> float:
    force = column_sums(slopes, shares)
    return dot(shares, heights) - dot(force, force) / (2.0 * l2)


# --- Minimise a mean of hinges and a ridge, to a proven distance from the minimum
#
#     min over w of  L(scores(w)) + (l2 / 2) <w, w>
#
# Newton's method minimises smooth forms of the hinge, each four times sharper than the one before.
# Their gradients are planes below the hinge, and a plane with a ridge has a known minimum: that is
# a
# lower bound on the minimum sought. Where more digits are asked for than smooth forms give, cutting
# planes go on from there (Joachims 2006): the best mixture of all planes so far gives the next
# bound
# and the direction of the next step, whose length is found by a line search (Franc & Sonnenburg
# 2008).


# By how much a smooth form is sharper than the one before, and how sharp it gets at most: beyond,
# the difference of two squared hinges has too few digits.
_SHARPER = 4.0
_SHARPEST = 1e5
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
