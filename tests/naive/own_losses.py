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


def _pair_table(scores, weight, gains, shift, levels):
    """Weight w, margin and d = w s e^shift of every (winner, loser); 0 where there is no pair."""
    segment = levels.segment_of_row
    query = levels.query_of_segment[segment]
    paired = (query[:, None] == query) & (segment[:, None] > segment)
    gap = gains[segment][:, None] - gains[segment] if len(gains) else 1.0
    w = np.where(paired, weight[:, None] * weight * gap, 0.0)
    margin = np.where(paired, scores[:, None] - scores, 0.0)
    return w, margin, w * np.exp(np.minimum(0.0, -margin) + shift) / (1.0 + np.exp(-abs(margin)))


def logistic_sums(scores, weight, gains, shift, levels):
    """What every row wins and loses, its curvature and its loss, times e^shift: four rows."""
    w, margin, d = _pair_table(scores, weight, gains, shift, levels)
    tail = np.exp(-abs(margin))
    bend = d * np.where(margin > 0, 1.0, tail) / (1.0 + tail)
    # ln(1 + t) e^shift = (ln(1 + t) / t) e^(shift - margin) where t underflows
    ratio = np.where(tail < 1e-8, 1.0 - tail / 2, np.log1p(tail) / np.maximum(tail, 1e-8))
    paid = w * (np.exp(shift - abs(margin)) * ratio + np.maximum(0.0, -margin))
    return np.stack((d.sum(1), d.sum(0), bend.sum(1) + bend.sum(0), paid.sum(1)))


def logistic_along(scores, weight, gains, shift, output, levels):
    """What a {0, 1} ranker gains, loses and bends in the pairs each row should win: (n, 3)."""
    _, margin, d = _pair_table(scores, weight, gains, shift, levels)
    gained = output[:, None] - output
    bend = d / (1.0 + np.exp(-margin)) * (gained != 0)
    return np.stack(((d * (gained > 0)).sum(1), (d * (gained < 0)).sum(1), bend.sum(1)), axis=1)
