"""The push and the logistic loss by listing every pair, in exact or compensated sums."""

import math

import numpy as np

from naive.pairs import log_sum


def push_log_loss(pairs, p, scores, lo_weight, coefficient):
    """``ln F``: ``sum_lo c_lo u_lo (sum_hi w e^{H(lo) - H(hi)})^p``; w without u_lo and c."""
    inner = inner_logs(pairs, scores)
    return log_sum(
        [math.log(coefficient[a]) + math.log(lo_weight[a]) + p * one for a, one in inner.items()]
    )


def inner_logs(pairs, scores):
    """``ln S`` of every row that should lose to something."""
    found = {}
    for a, b, w in zip(pairs.lo, pairs.hi, pairs.weight):
        found.setdefault(a, []).append(math.log(w) + (scores[a] - scores[b]))
    return {a: log_sum(logs) for a, logs in found.items()}


def push_distribution(pairs, p, scores, lo_weight, coefficient):
    """D: weight of every pair in the gradient of ``(1/p) ln F``; sums to 1."""
    inner = inner_logs(pairs, scores)
    total = push_log_loss(pairs, p, scores, lo_weight, coefficient)
    return [
        math.exp(
            math.log(coefficient[a] * lo_weight[a] * w)
            + (scores[a] - scores[b])
            + (p - 1) * inner[a]
            - total
        )
        for a, b, w in zip(pairs.lo, pairs.hi, pairs.weight)
    ]


def spread(pairs, d):
    """Potentials of pair weights."""
    gained = [[] for _ in range(pairs.n_rows)]
    for a, b, one in zip(pairs.lo, pairs.hi, d):
        gained[b].append(one)
        gained[a].append(-one)
    return np.array([math.fsum(parts) for parts in gained])


def softplus(x):
    """``ln(1 + e^x)``."""
    return x + math.log1p(math.exp(-x)) if x > 0 else math.log1p(math.exp(x))


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x > 0 else math.exp(x) / (1 + math.exp(x))


def logistic_loss(pairs, scores):
    """Weighted mean of ``log2(1 + e^-(H(hi) - H(lo)))``."""
    logs = [w * softplus(scores[a] - scores[b]) for a, b, w in listed(pairs)]
    return math.fsum(logs) / (math.log(2) * pairs.total)


def listed(pairs):
    return zip(pairs.lo, pairs.hi, pairs.weight)


def logistic_weights(pairs, scores):
    """Weight of every pair in the gradient, and its curvature; not normalised."""
    shares = [sigmoid(scores[a] - scores[b]) for a, b, _ in listed(pairs)]
    return (
        [w * s for w, s in zip(pairs.weight, shares)],
        [w * s * (1 - s) for w, s in zip(pairs.weight, shares)],
    )
