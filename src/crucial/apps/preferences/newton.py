"""Maximise a concave likelihood by Newton's method, freely or on a line."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np

from crucial.types import Floats, Ints

__all__ = ["Likelihood", "maximise", "maximise_at"]

_MOST_STEPS = 100
_FACTORED = 1000  # rows of a dense system that is solved by factors
#: Dense, or sparse for many items.
Matrix: TypeAlias = Any


class Likelihood(Protocol):
    """What is maximised: strengths of items first, then other parameters."""

    n: int
    size: int
    prior: float
    part: Ints

    def start(self) -> Floats:
        """Return the parameters to start from."""
        ...

    def value(self, p: Floats) -> float:
        """Return the value at the parameters."""
        ...

    def derivatives(self, p: Floats) -> tuple[Floats, Matrix]:
        """Return the slope and the negative curvature."""
        ...


def held(model: Likelihood, curve: Matrix) -> Matrix:
    """Return the curvature with what it does not determine held: rounding, and free means."""
    if isinstance(curve, np.ndarray):
        matrix = curve.copy()
        if model.prior == 0:
            sizes = np.bincount(model.part)
            same = (model.part[:, None] == model.part) / sizes[model.part]
            matrix[: model.n, : model.n] += same
        matrix[np.diag_indices(len(matrix))] += 1e-12 * float(matrix.diagonal().max(initial=1.0))
        return matrix
    from scipy.sparse import diags_array

    tiny = np.full(model.size, 1e-12 * float(curve.diagonal().max(initial=1.0)))
    if model.prior == 0:  # (a light hold on every item keeps the mean of its part)
        tiny[: model.n] += 1e-9 * float(curve.diagonal().max(initial=1.0))
    return (curve + diags_array(tiny)).tocsr()


def solved(matrix: Matrix, right: Floats) -> Floats:
    """Solve a positive definite system: by factors, or by conjugate gradients if it is large."""
    if isinstance(matrix, np.ndarray) and (len(matrix) <= _FACTORED or right.ndim > 1):
        from scipy.linalg import solve

        return np.asarray(solve(matrix, right, assume_a="sym"), np.float64)
    from scipy.sparse.linalg import LinearOperator, cg

    inverse = 1.0 / matrix.diagonal()
    rough = LinearOperator(matrix.shape, matvec=lambda x: inverse * x, dtype=np.float64)
    return np.asarray(cg(matrix, right, rtol=1e-10, maxiter=2000, M=rough)[0], np.float64)


def maximise(model: Likelihood, start: Floats | None = None, tol: float = 1e-10) -> Floats:
    """Return the parameters of largest value."""
    p = model.start() if start is None else np.array(start, np.float64)
    value = model.value(p)
    for _ in range(_MOST_STEPS):
        slope, curve = model.derivatives(p)
        step = solved(held(model, curve), slope)
        p, value, size = _moved(model, p, value, step)
        if size <= tol * (1.0 + float(np.abs(p).max(initial=0.0))):
            break
    return p


def maximise_at(
    model: Likelihood, start: Floats, direction: Floats, target: float, tol: float = 1e-6
) -> tuple[Floats, float]:
    """Return the parameters of largest value with ``direction @ p == target``, and the value."""
    p = start + (target - direction @ start) * direction / float(direction @ direction)
    value = model.value(p)
    for _ in range(_MOST_STEPS):
        slope, curve = model.derivatives(p)
        found = solved(held(model, curve), np.column_stack((slope, direction)))
        step = found[:, 0] - found[:, 1] * float(direction @ found[:, 0]) / float(
            direction @ found[:, 1]
        )
        p, value, size = _moved(model, p, value, step)
        if size <= tol * (1.0 + float(np.abs(p).max(initial=0.0))):
            break
    return p, value


def _moved(model: Likelihood, p: Floats, value: float, step: Floats) -> tuple[Floats, float, float]:
    """Take a step, shortened until the value does not fall; also return its full size."""
    size = float(np.abs(step).max(initial=0.0))
    scale = min(1.0, 10.0 / size) if size else 1.0  # (a far start overshoots)
    reached = value
    for _ in range(60):
        reached = model.value(p + scale * step)
        # (near the maximum, rounding hides the last improvements)
        if reached >= value - 1e-12 * (1.0 + abs(value)):
            break
        scale /= 2
    return p + scale * step, reached, size
