"""Minimise smooth convex losses over weights of a bounded l1 norm (Lai et al. 2013, FenchelRank).

    min over w of  L(A w)  subject to  |w|_1 <= radius

Every step moves towards the corner of the l1 ball that the gradient favours, one column up or
down, so that after t steps at most t weights are not 0. The gap ``w.g + radius max|g|`` bounds
the distance from the minimum. Such steps alone need about 1/gap of them: close to the minimum they
go to and fro between the same corners. Now and then Newton's method therefore finds the lowest
point of the current face of the ball (Jaggi 2013 calls such methods corrective).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from crucial.boosting.stump_search import first_largest
from crucial.kernels.elementary import dot
from crucial.linear.design import Matrix
from crucial.linear.l1 import BoundedLoss, SparseMinimum
from crucial.linear.newton_steps import conjugate_gradients, lowest_along
from crucial.linear.spaces import FeatureSpace
from crucial.types import Floats

__all__ = ["Steps", "frank_wolfe"]

#: How far to go towards a corner; see `frank_wolfe`.
Steps: TypeAlias = Literal["corrective", "exact", "decay"]

# Steps between two corrections, and Newton's steps in one.
_EVERY, _NEWTON = 10, 20
# How far to go along a step of Newton's method, at most.
_LONGEST = 4.0


def frank_wolfe(
    loss: BoundedLoss,
    matrix: Matrix,
    radius: float,
    tol: float,
    max_iter: int,
    how: Steps = "corrective",
) -> SparseMinimum:
    """Minimise a loss over an l1 ball up to ``tol``, in at most ``max_iter`` steps.

    Parameters
    ----------
    loss : BoundedLoss
    matrix : array or sparse matrix of shape (n_rows, n_columns)
    radius : float
    tol : float
        Ends where the proven gap is at most this.
    max_iter : int
    how : {"corrective", "exact", "decay"}
        Go the exact distance to the lowest point on the way to a corner, with corrections after
        every tenth step or without; or go ``2 / (t + 2)`` of the way in step t from 0.

    Returns
    -------
    SparseMinimum
        Its path has the value after every step.
    """
    columns = sp.csc_array(matrix) if sp.issparse(matrix) else matrix
    space = FeatureSpace(matrix)
    w, scores = np.zeros(matrix.shape[1]), np.zeros(matrix.shape[0])
    value, by_score = loss(scores)
    path: list[float] = []
    gap, steps = 0.0, 0
    while len(w):
        slope = space.back(by_score)
        steep = np.abs(slope)
        best = first_largest(steep)
        gap = max(0.0, dot(w, slope) + radius * float(steep.max()))
        if gap <= tol or steps >= max_iter:
            break
        corner = -np.copysign(radius, slope[best])
        move = corner * _column(columns, best) - scores
        rate = 2.0 / (steps + 2.0)
        if how != "decay":
            rate = lowest_along(loss, scores, move, dot(by_score, move))
        w = (1.0 - rate) * w
        w[best] += rate * corner
        scores = scores + rate * move
        steps += 1
        if steps % _EVERY == 0:
            w = _corrected(loss, FeatureSpace(columns), w, radius) if how == "corrective" else w
            scores = space.scores(w)  # (so that rounding does not add up)
        value, by_score = loss(scores)
        path.append(value)
    return SparseMinimum(w, value, gap, gap, steps, tuple(path))


def _column(columns: Matrix, j: int) -> Floats:
    one = columns[:, [j]]
    return np.asarray(one.toarray() if isinstance(one, sp.csc_array) else one)[:, 0]


def _corrected(loss: BoundedLoss, space: FeatureSpace, w: Floats, radius: float) -> Floats:
    """Return the weights of the lowest point with the same signs, or some lower one.

    It lies inside the ball, or on its face: where it does not, the weights are scaled to the face
    and moved along it.
    """
    inside = _newton(loss, space, w, radius, on_face=False)
    if np.abs(inside).sum() < radius:
        return inside
    face = _newton(loss, space, w * (radius / np.abs(w).sum()), radius, on_face=True)
    options = [w, inside, face]
    values = [loss(space.scores(one))[0] for one in options]
    return options[int(np.argmin(values))]


def _newton(
    loss: BoundedLoss, space: FeatureSpace, w: Floats, radius: float, *, on_face: bool
) -> Floats:
    """Take Newton's steps in the weights that are not 0; one that reaches 0 stays there.

    On the face the sum of the absolute weights is kept; elsewhere it ends at the face.
    """
    scores = space.scores(w)
    value, by_score = loss(scores)
    for _ in range(_NEWTON):
        used = np.flatnonzero(w)
        if len(used) < 1 + on_face:
            break
        part, sign = space.some(used), np.sign(w[used])
        slope = part.back(by_score)
        slope = _along(slope, sign) if on_face else slope
        step = _step(loss, part, scores, slope, sign if on_face else None)
        falls = dot(slope, step)
        if not falls < 0.0:
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.where(step * sign < 0.0, -w[used] / step, np.inf)
        longest, outwards = min(_LONGEST, float(ends.min())), dot(sign, step)
        if not on_face and outwards > 0.0:
            longest = min(longest, (radius - float(np.abs(w).sum())) / outwards)
        rate = lowest_along(loss, scores, part.scores(step), falls, 0.0, longest)
        new = w.copy()
        new[used] += rate * step
        new[used[ends <= rate]] = 0.0
        new_scores = space.scores(new)
        new_value, new_by_score = loss(new_scores)
        if not new_value < value:
            break
        w, scores, value, by_score = new, new_scores, new_value, new_by_score
    return w


def _along(slope: Floats, sign: Floats) -> Floats:
    """Return the part of a direction that keeps the sum of the absolute weights."""
    return np.asarray(slope - sign * (dot(sign, slope) / len(sign)))


def _step(
    loss: BoundedLoss, part: FeatureSpace, scores: Floats, slope: Floats, sign: Floats | None
) -> Floats:
    """Return Newton's step in some columns, along the face if signs are given."""
    curvature = loss.curvature(scores)

    def product(direction: Floats) -> Floats:
        if sign is not None:
            direction = _along(direction, sign)
        image = part.back(curvature(part.scores(direction)))
        return image if sign is None else _along(image, sign)

    step = conjugate_gradients(product, -slope, 1e-12, 3 * len(slope) + 10)
    return step if sign is None else _along(step, sign)
