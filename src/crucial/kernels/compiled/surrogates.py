"""Surrogates of the hard ranking loss, two label levels at a time."""

from __future__ import annotations

import numpy as np

from crucial.kernels.compiled.elementary import exp
from crucial.kernels.jit import kernel

__all__ = ["surrogate_sums"]

_EXP, _HINGE = 0, 1
# Where a loss has a corner, its slope at a z so close to it is that of the corner: rounding does
# not decide.
_EDGE = 1e-12


@kernel
def _pair(surrogate, width, z):
    """Return the loss of one pair and minus its derivative, as levels of one row each have."""
    if surrogate == _EXP:
        loss = exp(-z)
        return loss, loss
    if surrogate == _HINGE:
        return max(0.0, 1.0 - z), 1.0 if z < 1.0 - _EDGE else 0.0
    edge = _EDGE * width
    pull = 1.0 / width if edge < z <= width + edge else 0.0
    if z < 0.0:
        return 1.0, pull
    return (0.0 if z > width else 1.0 - z / width), pull


@kernel
def surrogate_sums(surrogate, width, f, u, values, coefficient, level_start, query_first, gradient):
    """Return the loss over all pairs; write minus its gradient by every row over its weight.

    Parameters
    ----------
    surrogate : int
        See `crucial.kernels.surrogates.SURROGATES`.
    f, u : scores and weights, rising by score inside every segment
    gradient : array over the rows, zeros, or of length 0  # OUT
    """
    n = len(f)
    # Sums over a run of rows are differences of these.
    up_to = np.zeros(n + 1)
    moved = np.zeros(n + 1)
    for i in range(n):
        up_to[i + 1] = up_to[i] + u[i]
        moved[i + 1] = moved[i] + u[i] * f[i]
    total = 0.0
    for q in range(len(coefficient)):
        part = 0.0
        c = coefficient[q]
        for high in range(query_first[q] + 1, query_first[q + 1]):
            a, b = level_start[high], level_start[high + 1]
            for low in range(query_first[q], high):
                begin, end = level_start[low], level_start[low + 1]
                gap = values[high] - values[low]
                if b - a == 1 and end - begin == 1:
                    loss, pull = _pair(surrogate, width, gap * (f[a] - f[begin]))
                    part += u[a] * u[begin] * loss
                    if len(gradient):
                        gradient[a] += c * gap * u[begin] * pull
                        gradient[begin] -= c * gap * u[a] * pull
                elif surrogate == _EXP:
                    part += _exponential(gap, c, f, u, a, b, begin, end, gradient)
                elif surrogate == _HINGE:
                    part += _hinge(gap, c, f, u, up_to, moved, a, b, begin, end, gradient)
                else:
                    part += _piecewise(
                        gap, width, c, f, u, up_to, moved, a, b, begin, end, gradient
                    )
        total += c * part
    return total


@kernel
def _exponential(gap, c, f, u, a, b, begin, end, gradient):
    """The sum over i of two levels is a product of two sums, each scaled to be near 1."""
    lowest, highest = f[a], f[end - 1]
    above = 0.0
    for i in range(a, b):
        above += u[i] * exp(gap * (lowest - f[i]))
    below = 0.0
    for j in range(begin, end):
        below += u[j] * exp(gap * (f[j] - highest))
    unit = exp(gap * (highest - lowest))
    if len(gradient):
        for i in range(a, b):
            gradient[i] += c * gap * exp(gap * (lowest - f[i])) * below * unit
        for j in range(begin, end):
            gradient[j] -= c * gap * exp(gap * (f[j] - highest)) * above * unit
    return above * below * unit


@kernel
def _hinge(gap, c, f, u, up_to, moved, a, b, begin, end, gradient):
    """For a higher row, the pairs with z < 1 are those with the highest of the lower rows."""
    part = 0.0
    k = begin
    for i in range(a, b):
        while k < end and not gap * (f[i] - f[k]) < 1.0 - _EDGE:
            k += 1
        mass = up_to[end] - up_to[k]
        part += u[i] * ((1.0 - gap * f[i]) * mass + gap * (moved[end] - moved[k]))
        if len(gradient):
            gradient[i] += c * gap * mass
    if len(gradient):
        k = a
        for j in range(begin, end):
            while k < b and gap * (f[k] - f[j]) < 1.0 - _EDGE:
                k += 1
            gradient[j] -= c * gap * (up_to[k] - up_to[a])
    return part


@kernel
def _piecewise(gap, width, c, f, u, up_to, moved, a, b, begin, end, gradient):
    """Lower rows by rising score: z beyond the width, on the slope, at most 0."""
    part = 0.0
    slope = begin  # first lower row with z <= width
    flat = begin  # first with z <= 0
    wrong = begin  # first with z < 0
    edge = _EDGE * width
    for i in range(a, b):
        while slope < end and gap * (f[i] - f[slope]) > width + edge:
            slope += 1
        while flat < end and gap * (f[i] - f[flat]) > edge:
            flat += 1
        while wrong < end and not gap * (f[i] - f[wrong]) < 0.0:
            wrong += 1
        mass = up_to[wrong] - up_to[slope]
        shift = moved[wrong] - moved[slope]
        part += u[i] * (up_to[end] - up_to[wrong])
        part += u[i] * ((1.0 - gap * f[i] / width) * mass + gap / width * shift)
        if len(gradient):
            gradient[i] += c * gap / width * (up_to[flat] - up_to[slope])
    if len(gradient):
        first = a  # first higher row with z > 0
        last = a  # first with z > width
        for j in range(begin, end):
            while first < b and not gap * (f[first] - f[j]) > edge:
                first += 1
            while last < b and not gap * (f[last] - f[j]) > width + edge:
                last += 1
            gradient[j] -= c * gap / width * (up_to[last] - up_to[first])
    return part
