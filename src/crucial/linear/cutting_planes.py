"""Minimise convex, piecewise linear losses with a ridge by cutting planes.

    min over w of  (l2 / 2) |w|^2 + L(A w)

At every w a plane touches the loss from below (Joachims, Finley & Yu 2009). The planes so far and
the ridge are a small quadratic problem, whose solution is the next w. Its value is a lower bound on
the minimum: the difference from the best value found is a proven gap.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from crucial.errors import CrucialError, MissingExtraError
from crucial.kernels.elementary import column_sums, dot, row_products
from crucial.linear.design import Matrix
from crucial.linear.mixtures import where_planes_meet
from crucial.linear.solution import Solution, ridge
from crucial.linear.spaces import FeatureSpace
from crucial.types import Floats

__all__ = ["PlaneLoss", "cutting_planes", "load_solver"]


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
