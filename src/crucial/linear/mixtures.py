"""Find the best mixture of planes: a small quadratic problem over shares that sum to 1."""

from __future__ import annotations

import numpy as np

from crucial.kernels.elementary import dot, row_sums
from crucial.types import Bools, Floats

__all__ = ["best_mixture", "where_planes_meet"]

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
