"""Extrema of smooth functions: L-BFGS, and Newton's method with shortened steps.

L-BFGS has the same bytes on every machine. SciPy's calls BLAS, and ends where the value no longer
falls, half of the digits of the gradient before its last. Here a step is also accepted where the
value stands still but for rounding and the derivative along it has fallen (the approximate Wolfe
conditions; Hager & Zhang 2005).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from crucial.kernels.elementary import dot
from crucial.types import Floats

__all__ = ["Objective", "damped_newton", "quasi_newton"]

#: Returns the value and the gradient.
Objective: TypeAlias = Callable[[Floats], tuple[float, Floats]]

# Steps that are remembered.
_MEMORY = 10
# Lengths of a step that are tried, at most.
_TRIALS = 30
# Share of the predicted decrease that a step must reach, and share of the derivative along it that
# may be left.
_ENOUGH, _LEFT = 1e-4, 0.9
# A change of the value below this share of it is rounding.
_ROUNDING = 1e-14
# Times that a step of Newton's method is halved, at most.
_HALVED = 60


def quasi_newton(
    objective: Objective,
    start: Floats,
    tol: float,
    max_iter: int,
    after: Callable[[Floats, float], bool] = lambda w, value: False,
) -> tuple[Floats, int]:
    """Return where no entry of the gradient is above ``tol``, and the number of steps.

    It ends before, after ``max_iter`` steps, or where rounding hides any way down.

    Parameters
    ----------
    objective : callable
    start : array
    tol : float
    max_iter : int
    after : callable
        Called with the weights and the value after every step; returns whether to stop.

    Examples
    --------
    >>> w, _ = quasi_newton(lambda w: (dot(w, w - 2.0), 2.0 * w - 2.0), np.zeros(2), 1e-9, 50)
    >>> w.tolist()
    [1.0, 1.0]
    """
    w = start
    value, slope = objective(w)
    memory: deque[tuple[Floats, Floats, float]] = deque(maxlen=_MEMORY)
    steps = 0
    while steps < max_iter and float(np.abs(slope).max(initial=0.0)) > tol:
        step = -_scaled(slope, memory)
        rate = 1.0 if memory else min(1.0, 1.0 / float(np.abs(slope).max()))
        found = _along(objective, w, value, step, dot(slope, step), rate)
        if found is None:
            if not memory:
                break
            memory.clear()  # (once more along the gradient itself)
            continue
        new, value, new_slope = found
        moved, bent = new - w, new_slope - slope
        w, slope = new, new_slope
        if dot(moved, bent) > 0.0:
            memory.append((moved, bent, dot(moved, bent)))
        steps += 1
        if after(w, value):
            break
    return w, steps


def _scaled(slope: Floats, memory: deque[tuple[Floats, Floats, float]]) -> Floats:
    """Return the product of the inverse curvature, as far as it is remembered, with a gradient."""
    out, shares = slope.copy(), []
    for moved, bent, along in reversed(memory):
        shares.append(dot(moved, out) / along)
        out -= shares[-1] * bent
    if memory:
        _, bent, along = memory[-1]
        out *= along / dot(bent, bent)
    for (moved, bent, along), share in zip(memory, reversed(shares), strict=True):
        out += (share - dot(bent, out) / along) * moved
    return out


def _along(
    objective: Objective, w: Floats, value: float, step: Floats, falls: float, rate: float
) -> tuple[Floats, float, Floats] | None:
    """Return a point along a step with its value and gradient; None if none is lower.

    Parameters
    ----------
    falls : float
        The derivative along the step.
    rate : float
        Length to try first.
    """
    if not falls < 0.0:
        return None
    low, low_slope, high, high_slope = 0.0, falls, np.inf, np.inf
    for _ in range(_TRIALS):
        at = w + rate * step
        after, slope = objective(at)
        bend = dot(slope, step)
        still = after <= value + _ROUNDING * abs(value) and bend <= (2.0 * _ENOUGH - 1.0) * falls
        if not (after <= value + _ENOUGH * rate * falls or still):
            high, high_slope = rate, bend
        elif bend < _LEFT * falls:
            low, low_slope = rate, bend
        else:
            return at, after, slope
        if high == np.inf:
            rate *= 4.0
            continue
        # (a secant of the derivative, kept away from both ends)
        secant = low_slope / (low_slope - high_slope) if high_slope > low_slope else 0.5
        share = secant if np.isfinite(high_slope) else 0.1
        rate = low + min(0.9, max(0.1, share)) * (high - low)
    return None


def damped_newton(
    value: Callable[[Floats], float],
    step_at: Callable[[Floats], Floats],
    start: Floats,
    tol: float,
    *,
    longest: float = np.inf,
    max_iter: int = 100,
) -> tuple[Floats, float]:
    """Return where a concave function is largest, and its value there.

    Every step is halved until the value does not fall.

    Parameters
    ----------
    value : callable
    step_at : callable
        Returns Newton's step from a point.
    start : array
    tol : float
        Ends after a step of which no entry is above this share of 1 plus the largest of the point.
    longest : float
        Larger entries of a step are shortened to this first: a far start overshoots.
    max_iter : int

    Examples
    --------
    >>> top = damped_newton(lambda x: -float(x @ x), lambda x: -x, np.array([3.0]), 1e-9)
    >>> top[0].tolist(), top[1]
    ([0.0], -0.0)
    """
    p, now = start, value(start)
    for _ in range(max_iter):
        step = step_at(p)
        size = float(np.abs(step).max(initial=0.0))
        if not np.isfinite(size):
            break
        scale = min(1.0, longest / size) if size else 1.0
        for _ in range(_HALVED):
            reached = value(p + scale * step)
            # (near the maximum, rounding hides the last improvements)
            if reached >= now - 1e-12 * (1.0 + abs(now)):
                break
            scale /= 2.0
        p, now = p + scale * step, reached
        if size <= tol * (1.0 + float(np.abs(p).max(initial=0.0))):
            break
    return p, now
