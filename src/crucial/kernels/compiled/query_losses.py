"""Losses of whole queries, with minus their gradient and their curvature per row.

A row of weight u counts as u rows. Of the u copies of a row, each has its own diagonal entry in
the curvature, so that a row of weight 2 and the same row twice give the same sums; a weight
below 1 is one row that counts less.
"""

from __future__ import annotations

from crucial.kernels.compiled.elementary import exp, log
from crucial.kernels.jit import kernel

__all__ = ["cross_entropy", "squares", "xendcg"]

# 1 - r is at least this, where exponentials underflow.
_LEAST = 1e-300


@kernel
def squares(
    scores, target, weight, coefficient, row_start, first_query, last_query, pi, curvature, loss
):
    """Write the squared error up to a shift per query, for a range of queries.

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
    for q in range(first_query, last_query):
        a, b = row_start[q], row_start[q + 1]
        total = 0.0
        mass = 0.0
        for i in range(a, b):
            total += weight[i] * (target[i] - scores[i])
            mass += weight[i]
        mean = total / mass
        factor = coefficient[q]
        paid = 0.0
        for i in range(a, b):
            error = target[i] - scores[i] - mean
            weighted = weight[i] * error
            pi[i] = factor * weighted
            curvature[i] = factor * weight[i]
            paid += weighted * error
        loss[q] = paid / 2.0


@kernel
def cross_entropy(
    scores, target, weight, coefficient, row_start, first_query, last_query, pi, curvature, loss
):
    """Write the cross entropy of the targets and a softmax, for a range of queries.

    With ``P = u e^score / sum(u e^score)``, ``loss[q] = -sum t ln(P / u)``, ``pi = c (t - P)``
    and ``curvature = c P (1 - P / max(u, 1))``.

    Parameters
    ----------
    target : array of shape (n_rows,)
        t; sums to 1 over a query, all copies of a row included.
    scores, weight, coefficient, row_start, pi, curvature, loss
        As in `squares`.
    """
    for q in range(first_query, last_query):
        a, b = row_start[q], row_start[q + 1]
        top = scores[a]
        for i in range(a + 1, b):
            top = max(top, scores[i])
        whole = 0.0
        right = 0.0
        for i in range(a, b):
            centred = scores[i] - top
            share = weight[i] * exp(centred)
            pi[i] = share
            whole += share
            right += target[i] * centred
        loss[q] = log(whole) - right
        inverse = 1.0 / whole
        factor = coefficient[q]
        for i in range(a, b):
            share = pi[i] * inverse
            pi[i] = factor * (target[i] - share)
            curvature[i] = factor * share * (1.0 - share / max(weight[i], 1.0))


@kernel
def xendcg(
    scores,
    worth,
    unit,
    noise,
    weight,
    coefficient,
    row_start,
    first_query,
    last_query,
    pi,
    curvature,
    loss,
):
    """Write XE-NDCG for a range of queries.

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
    for q in range(first_query, last_query):
        a, b = row_start[q], row_start[q + 1]
        highest = scores[a]
        for i in range(a + 1, b):
            highest = max(highest, scores[i])
        targets = 0.0
        expected = 0.0
        right = 0.0
        top = a  # the row of the largest share
        for i in range(a, b):
            centred = scores[i] - highest
            curvature[i] = weight[i] * exp(centred)
            top = i if curvature[i] > curvature[top] else top
            pi[i] = weight[i] * (worth[i] - unit[q] * noise[i])
            targets += pi[i]
            weighted = weight[i] * (worth[i] - 0.5 * unit[q])
            expected += weighted
            right += weighted * centred
        others = 0.0
        for i in range(a, b):
            others += curvature[i] if i != top else 0.0
        whole = others + curvature[top]
        loss[q] = log(whole) - right / expected
        copies = max(weight[top], 1.0)
        rest_top = max((others + curvature[top] * (1.0 - 1.0 / copies)) / whole, _LEAST)
        without = 0.0  # sum of p1 over all rows but the top one
        ratio_top = 0.0
        for i in range(a, b):
            m = max(weight[i], 1.0)
            r = curvature[i] / m / whole
            curvature[i] = r
            pi[i] = r - pi[i] / targets / m
            if i == top:
                ratio_top = pi[i] / rest_top
            else:
                without += m * pi[i] / (1.0 - r)
        sum_first = without + copies * ratio_top
        left_first = without + (copies - 1.0) * ratio_top
        without = 0.0  # the same of p2
        for i in range(a, b):
            if i != top:
                r = curvature[i]
                more = r * (sum_first - pi[i] / (1.0 - r))
                without += max(weight[i], 1.0) * more / (1.0 - r)
        second_top = curvature[top] * left_first / rest_top
        sum_second = without + copies * second_top
        left_second = without + (copies - 1.0) * second_top
        factor = coefficient[q]
        for i in range(a, b):
            r = curvature[i]
            if i == top:
                gradient = pi[i] + r * left_first + r * left_second
                bend = r * rest_top
            else:
                more = r * (sum_first - pi[i] / (1.0 - r))
                gradient = pi[i] + more + r * (sum_second - more / (1.0 - r))
                bend = r * (1.0 - r)
            m = factor * max(weight[i], 1.0)
            pi[i] = -m * gradient
            curvature[i] = m * bend
