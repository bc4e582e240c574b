"""Losses of whole queries, with minus their gradient and their curvature per row.

A row of weight u counts as u rows. Of the u copies of a row, each has its own diagonal entry in
the curvature, so that a row of weight 2 and the same row twice give the same sums; a weight
below 1 is one row that counts less.
"""

from __future__ import annotations

import numpy as np

from crucial.kernels.elementary import exp, log
from crucial.types import Floats, Ints

__all__ = ["cross_entropy", "squares", "xendcg"]

# 1 - r is at least this, where exponentials underflow.
_LEAST = 1e-300


def squares(
    scores: Floats,
    target: Floats,
    weight: Floats,
    coefficient: Floats,
    row_start: Ints,
    pi: Floats,
    curvature: Floats,
    loss: Floats,
) -> None:
    """Write the squared error up to a shift per query.

    With ``e = target - score`` less its weighted mean in the query, ``loss[q]`` is
    ``sum u e^2 / 2``, ``pi = c u e`` and ``curvature = c u``: the Hessian is
    ``diag(u) - u u' / sum(u)``, which ``diag(u)`` bounds, so that a Newton step never overshoots.

    Parameters
    ----------
    scores, target, weight : arrays of shape (n_rows,)
    coefficient : array of shape (n_queries,)
        Factor c on potentials and curvature, not on the loss.
    row_start : int array of shape (n_queries + 1,)
    pi, curvature : arrays of shape (n_rows,)  # OUT
    loss : array of shape (n_queries,)  # OUT
    """
    first, sizes = row_start[:-1], np.diff(row_start)
    error = target - scores
    mean = np.add.reduceat(weight * error, first) / np.add.reduceat(weight, first)
    error = error - np.repeat(mean, sizes)
    curvature[:] = np.repeat(coefficient, sizes) * weight
    pi[:] = curvature * error
    loss[:] = np.add.reduceat(weight * error * error, first) / 2.0


def cross_entropy(
    scores: Floats,
    target: Floats,
    weight: Floats,
    coefficient: Floats,
    row_start: Ints,
    pi: Floats,
    curvature: Floats,
    loss: Floats,
) -> None:
    """Write the cross entropy of the targets and a softmax of the scores.

    With ``P = u e^score / sum(u e^score)``, ``loss[q] = -sum t ln(P / u)``, ``pi = c (t - P)``
    and ``curvature = c P (1 - P / max(u, 1))``.

    Parameters
    ----------
    target : array of shape (n_rows,)
        t; sums to 1 over a query, all copies of a row included.
    scores, weight, coefficient, row_start, pi, curvature, loss
        As in `squares`.
    """
    first, sizes = row_start[:-1], np.diff(row_start)
    top = np.maximum.reduceat(scores, first)
    centred = scores - np.repeat(top, sizes)
    share = weight * exp(centred)
    whole = np.add.reduceat(share, first)
    share /= np.repeat(whole, sizes)
    factor = np.repeat(coefficient, sizes)
    pi[:] = factor * (target - share)
    curvature[:] = factor * share * (1.0 - share / np.maximum(weight, 1.0))
    loss[:] = log(whole) - np.add.reduceat(target * centred, first)


def xendcg(
    scores: Floats,
    worth: Floats,
    unit: Floats,
    noise: Floats,
    weight: Floats,
    coefficient: Floats,
    row_start: Ints,
    pi: Floats,
    curvature: Floats,
    loss: Floats,
) -> None:
    """Write XE-NDCG, with the second and third order terms of its Newton step (Bruch 2021).

    With ``t = u (worth - unit noise)`` over its sum, P as in `cross_entropy`, copies
    ``m = max(u, 1)``, ``r = P / m`` and ``g1 = r - t / m``: ``g2 = r (S1 - p1)`` with
    ``p1 = g1 / (1 - r)`` and ``S1 = sum(m p1)``, ``g3`` from g2 in the same way,
    ``pi = -c m (g1 + g2 + g3)`` and ``curvature = c m r (1 - r)``. ``loss[q]`` is the cross
    entropy with all noise 1/2, its mean.

    Parameters
    ----------
    worth : array of shape (n_rows,)
        ``2^y``, in any unit.
    unit : array of shape (n_queries,)
        What 1 is in the units of ``worth``.
    noise : array of shape (n_rows,)
        Numbers in [0, 1).
    scores, weight, coefficient, row_start, pi, curvature, loss
        As in `squares`.
    """
    first, sizes = row_start[:-1], np.diff(row_start)
    query = np.repeat(np.arange(len(sizes)), sizes)
    centred = scores - np.maximum.reduceat(scores, first)[query]
    mass = weight * exp(centred)
    top = _first_largest(mass, first, query)
    copies = np.maximum(weight, 1.0)
    other = mass.copy()
    other[top] = 0.0
    others = np.add.reduceat(other, first)
    whole = others + mass[top]
    r = mass / copies / whole[query]
    # 1 - r without cancellation: only that of the largest share can be small.
    rest = 1.0 - r
    rest[top] = np.maximum((others + mass[top] * (1.0 - 1.0 / copies[top])) / whole, _LEAST)
    target = weight * (worth - unit[query] * noise)
    more = r - target / np.add.reduceat(target, first)[query] / copies
    gradient = more
    for _ in range(2):
        ratio = more / rest
        counted = copies * ratio
        counted[top] = 0.0
        without = np.add.reduceat(counted, first)
        left = (without + copies[top] * ratio[top])[query] - ratio
        left[top] = without + (copies[top] - 1.0) * ratio[top]
        more = r * left
        gradient = gradient + more
    factor = coefficient[query] * copies
    pi[:] = -factor * gradient
    curvature[:] = factor * r * rest
    expected = weight * (worth - 0.5 * unit[query])
    right = np.add.reduceat(expected * centred, first) / np.add.reduceat(expected, first)
    loss[:] = log(whole) - right


def _first_largest(values: Floats, first: Ints, query: Ints) -> Ints:
    """Return the first row of each query with its largest value."""
    at = np.flatnonzero(values == np.maximum.reduceat(values, first)[query])
    return at[np.unique(query[at], return_index=True)[1]]
