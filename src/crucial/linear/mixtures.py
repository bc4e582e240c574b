"""Find the best mixture of planes: a small quadratic problem over shares that sum to 1."""

from __future__ import annotations

import numpy as np

from crucial.types import Floats

__all__ = ["best_mixture"]


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
    z = start.copy()
    used = z > 0.0
    scale = float(np.abs(heights).max()) + float(np.abs(gram).max())
    for _ in range(20 * len(z) + 20):
        z, used = _on_active(gram, heights, z, used)
        slack = heights - gram @ z
        level = float(np.dot(slack, z))
        slack[used] = -np.inf
        enters = int(np.argmax(slack))
        if not slack[enters] > level + 1e-14 * scale:
            break
        used[enters] = True
    shares: Floats = z / z.sum()
    return shares


def _on_active(
    gram: Floats, heights: Floats, z: Floats, used: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> tuple[Floats, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Return the best shares of the planes in use, and which of them stay in use."""
    z, used = z.copy(), used.copy()
    while True:
        at = np.flatnonzero(used)
        n = len(at)
        system = np.ones((n + 1, n + 1))
        system[:n, :n], system[n, n] = gram[np.ix_(at, at)], 0.0
        right = np.append(heights[at], 1.0)
        answer = np.linalg.lstsq(system, right, rcond=1e-13)[0]
        rest = (right - system @ answer)[:n]
        if np.abs(rest).max() > 1e-9 * (1.0 + np.abs(right).max()):
            # No solution: the planes depend on each other, and the objective rises along the
            # rest, in which they cancel, until a share is used up.
            target = z[at] + rest * (2.0 * z[at].sum() / max(1e-300, -rest.min()))
        else:
            target = answer[:n]
        if (target > 0.0).all():
            z[at] = target
            return z, used
        falls = target <= 0.0
        length = z[at] - target
        ratio = np.where(falls & (length > 0), z[at] / np.where(length > 0, length, 1.0), np.inf)
        ratio[falls & (length <= 0)] = 0.0
        leaves = int(np.argmin(ratio))
        z[at] = np.maximum(0.0, z[at] + min(1.0, float(ratio[leaves])) * (target - z[at]))
        z[at[leaves]] = 0.0
        used[at[leaves]] = False
