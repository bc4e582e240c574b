"""Largest margins over orders of lists, by cutting planes (Joachims, Finley & Yu 2009).

    min over w of  (l2 / 2) |w|^2 + sum_q c_q max over orders of (loss - w.(Psi_right - Psi_order))

The sum is convex and piecewise linear. At every w the worst orders of all queries make one plane
under it; the planes so far and the ridge are a small quadratic problem, whose solution is the
next w. Its value is a lower bound on the minimum: the difference to the best value met is a proven
gap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

from crucial.errors import CrucialError, MissingExtraError
from crucial.feedback.layout import Layout
from crucial.linear.average_precision import most_violated
from crucial.types import Floats

__all__ = ["PrecisionMargins", "Solution", "load_solver", "solve"]


#: A plane that no solution leaned on for so long is dropped.
_PATIENCE = 60


def load_solver() -> Any:
    """The solver of quadratic problems, or an error that says how to get it."""
    try:
        return import_module("clarabel")
    except ImportError as error:
        raise MissingExtraError(
            "SVMMap needs clarabel, a solver of quadratic problems: pip install crucial[qp]. "
            "ListMLE, RankCosine and RankBoost do without."
        ) from error


class PrecisionMargins:
    """Planes under the mean loss in average precision.

    Parameters
    ----------
    matrix : array or sparse matrix of shape (n_rows, n_columns)
        Rows in the order of the layout.
    layout : Layout
        Every query has two levels, of which the upper is relevant.
    factor : array over the queries
        Weight of each.
    """

    def __init__(self, matrix: Any, layout: Layout, factor: Floats) -> None:
        self._matrix = matrix
        self._factor = factor / factor.sum()
        starts = layout.row_start
        self._lists = [
            (slice(int(a), int(b)), int(m - a))
            for a, m, b in zip(starts[:-1], layout.level_start[1::2], starts[1:])
        ]

    @property
    def n_columns(self) -> int:
        """Number of weights."""
        return int(self._matrix.shape[1])

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Height and slope of the plane: the mean loss is ``height - slope . w`` at w itself."""
        scores = np.asarray(self._matrix @ w)
        pull = np.empty(len(scores))
        height = 0.0
        for (rows, n_other), factor in zip(self._lists, self._factor.tolist()):
            loss, pull[rows] = most_violated(scores[rows], n_other)
            height += factor * loss
            pull[rows] *= factor
        return height, np.asarray(self._matrix.T @ pull)


@dataclass(frozen=True)
class Solution:
    """A minimum.

    Attributes
    ----------
    weights : array over the columns
    value : float
        Objective there.
    gap : float
        At most so far above the minimum, proven.
    n_iter : int
        Planes that were made.
    """

    weights: Floats
    value: float
    gap: float
    n_iter: int


def solve(
    plane: Callable[[Floats], tuple[float, Floats]],
    n_columns: int,
    l2: float,
    tol: float,
    max_iter: int,
) -> Solution:
    """Minimise the ridge and the highest plane up to ``tol``.

    It returns the best it has where ``max_iter`` planes are not enough; ``gap`` tells.
    """
    solver = load_solver()
    w = np.zeros(n_columns)
    best, best_value, bound = w, np.inf, 0.0
    slopes, heights = np.zeros((1, n_columns)), np.zeros(1)  # (no loss is below 0)
    unused = np.zeros(1, np.int64)
    made = 0
    while True:
        height, slope = plane(w)
        made += 1
        value = height - float(np.dot(slope, w)) + 0.5 * l2 * float(np.dot(w, w))
        if value < best_value:
            best, best_value = w, value
        if best_value - bound <= tol or made >= max_iter:
            break
        slopes, heights = np.vstack([slopes, slope]), np.append(heights, height)
        shares = _shares(solver, slopes, heights, l2)
        w = shares @ slopes / l2
        bound = max(bound, float(shares @ heights) - 0.5 * l2 * float(np.dot(w, w)))
        unused = np.where(shares > 1e-9, 0, np.append(unused, 0) + 1)
        keep = unused < _PATIENCE
        keep[0] = True
        slopes, heights, unused = slopes[keep], heights[keep], unused[keep]
    return Solution(best, best_value, max(0.0, best_value - bound), made)


def _shares(solver: Any, slopes: Floats, heights: Floats, l2: float) -> Floats:
    """How much every plane holds the lowest point up: weights of the dual, which sum to 1.

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
    # Any shares are a bound on the minimum, so it need not have ended well; but with numbers.
    if not np.isfinite(shares).all() or not shares.sum() > 0:
        raise CrucialError(
            f"the quadratic problem of {n} planes was not solved ({answer.status}); raise l2, "
            f"which is {l2:g}."
        )
    return _polished(shares / shares.sum(), slopes, heights, l2)


def _polished(shares: Floats, slopes: Floats, heights: Floats, l2: float) -> Floats:
    """The same to the last digits: the planes leaned on meet in the solution.

    On these the problem is a linear system. Its answer is taken where it is no worse.
    """
    leaned = np.flatnonzero(shares > 1e-7)
    n = len(leaned)
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = slopes[leaned] @ slopes[leaned].T / l2
    system[:n, n] = system[n, :n] = 1.0
    answer = np.linalg.lstsq(system, np.append(heights[leaned], 1.0), rcond=1e-13)[0][:n]
    if answer.min() < 0.0 or not abs(answer.sum() - 1.0) < 1e-9:
        return shares
    exact = np.zeros_like(shares)
    exact[leaned] = answer / answer.sum()
    better = _dual(exact, slopes, heights, l2) >= _dual(shares, slopes, heights, l2) - 1e-12
    return exact if better else shares


def _dual(shares: Floats, slopes: Floats, heights: Floats, l2: float) -> float:
    force = shares @ slopes
    return float(shares @ heights) - float(np.dot(force, force)) / (2.0 * l2)
