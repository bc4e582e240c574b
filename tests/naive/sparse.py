"""Objectives of sparse linear rankers by listing pairs, and their minima by general solvers."""

import math

import numpy as np
from scipy.optimize import linprog, minimize


def pairs_of(y, qid):
    """All (winner, loser)."""
    rows = range(len(y))
    return [(i, j) for i in rows for j in rows if qid[i] == qid[j] and y[i] > y[j]]


def ndcg_weights(y, qid, ties="mean"):
    """Weight of every pair: what exchanging the rows takes off NDCG in the ideal order; sum 1."""
    discount, ideal = {}, {}
    for q in set(qid.tolist()):
        rows = [i for i in range(len(y)) if qid[i] == q]
        order = sorted(rows, key=lambda i: -y[i])
        value = {i: 1 / math.log2(2 + at) for at, i in enumerate(order)}
        if ties == "mean":
            value = {i: np.mean([value[k] for k in rows if y[k] == y[i]]) for i in rows}
        discount |= value
        ideal[q] = sum((2.0 ** y[i] - 1) * value[i] for i in rows)
    weights = {(i, j): (2.0 ** y[i] - 2.0 ** y[j]) * abs(discount[i] - discount[j]) / ideal[qid[i]]
               for i, j in pairs_of(y, qid)}  # fmt: skip
    total = sum(weights.values())
    return {pair: weight / total for pair, weight in weights.items()}


def huber(z):
    """Modified Huber loss of a margin."""
    return 0.0 if z >= 1 else (1 - z) ** 2 if z >= -1 else -4 * z


def weighted_huber(scores, weights):
    """Sum over pairs of weight times loss."""
    return sum(c * huber(scores[i] - scores[j]) for (i, j), c in weights.items())


def push_hinge(scores, y, qid):
    """Mean over queries of the mean over relevant rows of the hinge against the worst loser."""
    values = []
    for q in set(qid.tolist()):
        hi = [i for i in range(len(y)) if qid[i] == q and y[i] == 1]
        lo = [i for i in range(len(y)) if qid[i] == q and y[i] == 0]
        if hi and lo:
            values.append(
                max(np.mean([max(0.0, 1 - scores[h] + scores[b]) for h in hi]) for b in lo)
            )
    return float(np.mean(values))


def push_program(A, y, qid, weight):
    """Minimum of the sparse infinite push, as one linear program over all rows."""
    queries = [q for q in sorted(set(qid.tolist())) if len(set(y[qid == q].tolist())) == 2]
    d, n_queries = A.shape[1], len(queries)
    hi = [i for i in range(len(y)) if qid[i] in queries and y[i] == 1]
    # Columns: w+, w-, the highest loser of every query, the hinge of every winner.
    cost = np.concatenate([np.full(2 * d, weight), np.zeros(n_queries), np.zeros(len(hi))])
    rows, right = [], []
    for at, q in enumerate(queries):
        count = sum(qid[i] == q for i in hi)
        for i in np.flatnonzero((qid == q) & (y == 0)):
            row = np.zeros(len(cost))
            row[:d], row[d : 2 * d], row[2 * d + at] = A[i], -A[i], -1.0
            rows.append(row)
            right.append(0.0)
        for number, i in enumerate(hi):
            if qid[i] == q:
                row = np.zeros(len(cost))
                row[:d], row[d : 2 * d] = -A[i], A[i]
                row[2 * d + at], row[2 * d + n_queries + number] = 1.0, -1.0
                rows.append(row)
                right.append(-1.0)
                cost[2 * d + n_queries + number] = 1.0 / count / n_queries
    bounds = [(0, None)] * (2 * d) + [(None, None)] * n_queries + [(0, None)] * len(hi)
    return linprog(cost, np.array(rows), np.array(right), bounds=bounds, method="highs").fun


def minimum_l1(value, d, weight):
    """Minimum of a smooth function and an l1 norm, with every weight split into two of one sign."""

    def objective(v):
        return value(v[:d] - v[d:]) + weight * v.sum()

    options = {"ftol": 1e-14, "gtol": 1e-9, "maxiter": 3000, "maxfun": 100_000}
    start, bounds = np.full(2 * d, 0.01), [(0, None)] * (2 * d)
    return minimize(objective, start, bounds=bounds, options=options).fun
