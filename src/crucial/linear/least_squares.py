"""Solve RankRLS: normal equations, a kernel's equations, or conjugate gradients.

With ``lambda = l2 / 2`` and N the weight of all pairs, RankRLS minimises ::

    (1 / N) sum_q c_q sum_{i < j in q} ((f_i - f_j) - (y_i - y_j))^2 + lambda |f|^2

(Pahikkala et al. 2009), which linear f solve by ``(X'LX / N + lambda I) w = X'Ly / N``, and
kernel expansions by ``(C'KC / N + lambda I) a~ = C'y / N`` with ``a = C a~``. Linear f of more
columns than rows are solved by the second with ``K = XX'``, and ``w = X'a``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError

from crucial.data.arrays import check_room
from crucial.errors import DataError
from crucial.feedback.base import Feedback
from crucial.feedback.differences import DifferenceFeedback
from crucial.kernels.elementary import column_sums, dot, row_sums
from crucial.kernels.runtime import gram_of, solve_positive
from crucial.linear.differences import Centring, DifferenceLoss, differences_of
from crucial.linear.solution import Solution, rounded
from crucial.linear.spaces import KernelSpace, Space
from crucial.linear.truncated_newton import truncated_newton
from crucial.types import Floats

__all__ = ["NormalEquations", "check_memory", "conjugate_gradients", "solve_kernel", "solve_rows"]


@dataclass(frozen=True)
class NormalEquations:
    """The objective as a quadratic form of the weights, without the ridge.

    Attributes
    ----------
    gram : array of shape (n_columns, n_columns)
        ``X'LX``.
    right : array of shape (n_columns,)
        ``X'Ly``.
    square : float
        ``y'Ly``.
    whole : float
        N, the weight of all pairs.
    """

    gram: Floats
    right: Floats
    square: float
    whole: float

    @classmethod
    def of_columns(
        cls, matrix: Floats, centring: Centring, feedback: DifferenceFeedback
    ) -> NormalEquations:
        """Return the equations of columns that are in memory."""
        centred, target = centring.factor(matrix), centring.factor(feedback.labels)
        gram, right = gram_of(centred), column_sums(centred, target)
        return cls(gram, right, dot(target, target), feedback.whole)

    def solve(self, l2: float) -> Solution:
        """Return the minimum with a ridge; its gap is what rounding left."""
        n = len(self.right)
        system = self.gram / self.whole
        system[np.diag_indices(n)] += 0.5 * l2
        right = self.right / self.whole
        w = solve_positive(system, right)
        image = row_sums(system, w)
        w = rounded(w, math.sqrt(max(0.0, dot(w, image) - 0.5 * l2 * dot(w, w))))
        image = row_sums(system, w)
        value = self.square / self.whole + dot(w, image - 2.0 * right)
        slope = 2.0 * (image - right)
        return Solution(w, max(0.0, value), dot(slope, slope) / (2.0 * l2), 1)


def check_memory(n_rows: int, n_columns: int) -> None:
    """Refuse columns whose equations do not fit into memory."""
    fewer = min(n_rows, n_columns)
    # (the equations, what they are made of and their factors; two copies of rows of more columns)
    cells = 4 * fewer**2 + (2 * n_rows * n_columns if n_rows < n_columns else 0)
    check_room(
        8 * cells,
        f"RankRLS of {n_rows:,} rows of {n_columns:,} features",
        "Use RankingSVM, fewer features (such as by SelectByRanking), sparse features, or another "
        "kernel with n_landmarks.",
    )


def solve_rows(matrix: Floats, feedback: DifferenceFeedback, l2: float) -> Solution:
    """Return the weights of columns by equations of the rows: O(n^2 p) for n rows, p columns."""
    centring = Centring(feedback)
    centred, target = centring.factor(matrix), centring.factor(feedback.labels)
    system = gram_of(np.ascontiguousarray(centred.T)) / feedback.whole
    system[np.diag_indices_from(system)] += 0.5 * l2
    w = column_sums(centred, solve_positive(system, target / feedback.whole))
    image = row_sums(centred, w)
    w = rounded(w, math.sqrt(dot(image, image) / feedback.whole))
    rest = target - row_sums(centred, w)
    value = dot(rest, rest) / feedback.whole + 0.5 * l2 * dot(w, w)
    slope = l2 * w - (2.0 / feedback.whole) * column_sums(centred, rest)
    return Solution(w, value, dot(slope, slope) / (2.0 * l2), 1)


def solve_kernel(gram: Floats, feedback: DifferenceFeedback, l2: float) -> Solution:
    """Return the coefficients of rows that minimise the objective; they sum to 0 in a query."""
    centring = Centring(feedback)
    centred = centring.factor(centring.factor(gram).T)
    centred /= feedback.whole
    centred[np.diag_indices_from(centred)] += 0.5 * l2
    target = centring.factor(feedback.labels) / feedback.whole
    try:
        coefficients = centring.back(solve_positive(centred, target))
    except LinAlgError:
        raise DataError(
            "the kernel is not positive semidefinite.",
            remedy="Use another kernel, add a constant to its diagonal, or raise l2.",
            parameter="kernel",
        ) from None
    space = KernelSpace(gram)
    spread = centring.factor(space.scores(coefficients))
    coefficients = rounded(coefficients, math.sqrt(dot(spread, spread) / feedback.whole))
    # (what rounding adds to the sum of a query is taken off its last row)
    coefficients[centring.starts[1:] - 1] -= np.add.reduceat(coefficients, centring.starts[:-1])
    scores = space.scores(coefficients)
    loss, by_score = DifferenceLoss(feedback)(scores)
    length = space.dot(coefficients, coefficients, scores)
    slope = by_score + l2 * coefficients
    rest = max(0.0, space.dot(slope, slope, space.scores(slope)))
    return Solution(coefficients, loss + 0.5 * l2 * length, rest / (2.0 * l2), 1)


def conjugate_gradients(
    feedback: Feedback, space: Space, l2: float, tol: float, max_iter: int
) -> tuple[Solution, float]:
    """Return the minimum up to a share ``tol`` of the loss of equal scores, and what that is.

    For sparse columns and explicit pairs: no product of columns with columns is made.
    """
    loss = differences_of(feedback)
    enough = tol * loss(np.zeros(len(feedback.rows)))[0]
    found = truncated_newton(loss, space, l2, enough, max_iter)
    return Solution(found.weights, found.value, found.gap, found.n_iter), enough
