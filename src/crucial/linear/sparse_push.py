"""The sparse infinite push (Rakotomamonjy 2012): hinges against the highest loser, an l1 norm.

    min over w of  sum_q c_q sum_hi u_hi [1 - (s_hi - max_lo s_lo)]_+  +  weight |w|_1

The loss is a maximum of planes, and with the l1 norm the problem is a linear program. At every w a
plane touches the loss from below; the planes so far and the l1 norm are a small linear program,
whose solution is the next w and whose dual is a lower bound on the minimum.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from crucial.errors import CrucialError
from crucial.feedback.layout import Layout
from crucial.kernels.elementary import column_sums, dot
from crucial.linear.cutting_planes import PlaneLoss
from crucial.linear.design import Matrix
from crucial.linear.l1 import SparseMinimum
from crucial.linear.spaces import FeatureSpace
from crucial.types import Floats

__all__ = ["HingePush", "l1_planes"]

# Share of the best weights in the point between them and those of the program.
_INSIDE = 0.5
# A plane without a share in so many solutions is dropped.
_PATIENCE = 30


class HingePush:
    """The loss of the infinite push with hinges; a `PlaneLoss`.

    Parameters
    ----------
    layout : Layout
        Every query has two levels.
    weight : array of shape (n_rows,)
        Weights of the rows that should win, query factors included.
    """

    def __init__(self, layout: Layout, weight: Floats) -> None:
        sizes = np.diff(layout.level_start)
        low = np.repeat(np.arange(len(sizes)) % 2 == 0, sizes)
        self._low, self._high = np.flatnonzero(low), np.flatnonzero(~low)
        self._low_start = np.concatenate(([0], np.cumsum(sizes[::2])[:-1]))
        self._of_low = np.repeat(np.arange(layout.n_queries), sizes[::2])
        self._of_high = np.repeat(np.arange(layout.n_queries), sizes[1::2])
        self._v = weight[self._high]

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return height and slope of the plane that touches at these scores."""
        lowered = scores[self._low]
        top = np.maximum.reduceat(lowered, self._low_start)
        at_top = np.flatnonzero(lowered == top[self._of_low])
        first = at_top[np.unique(self._of_low[at_top], return_index=True)[1]]
        short = 1.0 - scores[self._high] + top[self._of_high]
        pull = np.where(short > 0.0, self._v, 0.0)
        slope = np.zeros(len(scores))
        slope[self._high] = pull
        slope[self._low[first]] = -np.bincount(self._of_high, pull, len(top))
        return float(pull.sum()), slope


def l1_planes(
    loss: PlaneLoss, matrix: Matrix, weight: float, tol: float, max_iter: int
) -> SparseMinimum:
    """Minimise a maximum of planes and an l1 norm up to ``tol``, in at most ``max_iter`` programs.

    Every program adds two planes: where its own solution is, and half way from there to the best
    weights so far, which keeps the search from jumping between far corners. Only solutions of
    programs are returned: they are corners, and so have more weights of 0 than points between.
    """
    space = FeatureSpace(matrix)
    w = np.zeros(matrix.shape[1])
    found, found_value = w, np.inf
    centre, centre_value = w, np.inf
    bound, steps = 0.0, 0
    planes = _PushPlanes(len(w))
    while True:
        for at in (w, _INSIDE * centre + (1.0 - _INSIDE) * w)[: 2 if steps else 1]:
            height, by_score = loss(space.scores(at))
            slope = space.back(by_score)
            value = height - dot(slope, at) + weight * float(np.abs(at).sum())
            planes.add(height, slope)
            if value < centre_value:
                centre, centre_value = at, value
            if at is w and value < found_value:
                found, found_value = at, value
        if found_value - bound <= tol or steps >= max_iter or not len(w):
            break
        w, shares = _program(planes.slopes, planes.heights, weight)
        steps += 1
        bound = max(bound, _bound(shares, planes.slopes, planes.heights, weight))
        planes.forget(shares)
    gap = max(0.0, found_value - bound)
    return SparseMinimum(found, found_value, gap, gap, steps)


class _PushPlanes:
    """Planes below the loss, ``heights - slopes w``."""

    def __init__(self, n_columns: int) -> None:
        self.slopes, self.heights = np.zeros((0, n_columns)), np.zeros(0)
        self._unused = np.zeros(0, np.int64)

    def add(self, height: float, slope: Floats) -> None:
        """Add a plane."""
        self.slopes, self.heights = np.vstack([self.slopes, slope]), np.append(self.heights, height)
        self._unused = np.append(self._unused, 0)

    def forget(self, shares: Floats) -> None:
        """Drop the planes that have had no share in a solution for long."""
        self._unused = np.where(shares > 1e-12, 0, self._unused + 1)
        keep = self._unused < _PATIENCE
        self.slopes, self.heights = self.slopes[keep], self.heights[keep]
        self._unused = self._unused[keep]


def _program(slopes: Floats, heights: Floats, weight: float) -> tuple[Floats, Floats]:
    """Minimise ``max(0, heights - slopes w) + weight |w|_1``; return w and the planes' shares."""
    n, d = slopes.shape
    rows = np.column_stack([-slopes, slopes, -np.ones(n)])
    cost = np.append(np.full(2 * d, weight), 1.0)
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(cost, rows, -heights, method="highs", options=options)
    if found.x is None:
        raise CrucialError(
            f"the linear program of {n} planes was not solved ({found.message}); raise l1, which "
            f"is {weight:g}."
        )
    return np.asarray(found.x[:d] - found.x[d : 2 * d]), np.maximum(-found.ineqlin.marginals, 0.0)


def _bound(shares: Floats, slopes: Floats, heights: Floats, weight: float) -> float:
    """Return a lower bound on the minimum from shares of the planes, however exact they are.

    Shares of at most 1 together mix the planes to one below the loss. Where no entry of its slope
    is larger than the weight of the l1 norm, norm and plane are together at least its height.
    """
    total = float(shares.sum())
    if not total > 0.0:
        return 0.0
    mixed = shares / max(1.0, total)
    steep = float(np.abs(column_sums(slopes, mixed)).max(initial=0.0))
    return dot(mixed, heights) * min(1.0, weight / steep if steep > 0.0 else 1.0)
