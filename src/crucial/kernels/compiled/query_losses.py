"""Losses of whole queries; twins of ``plain.query_losses``."""

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
    """Write the squared error up to a shift per query, for a range of queries."""
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
    """Write the cross entropy of the targets and a softmax, for a range of queries."""
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
    """Write XE-NDCG for a range of queries."""
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
