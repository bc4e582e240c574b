"""RankRLS by listing every pair, and cross-validation by fitting again."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from crucial.types import Bools, Floats, Ints

__all__ = ["fit_kernel", "fit_linear", "left_out_pairs", "left_out_queries", "objective"]


def _differences(y: Floats, qid: Ints, weight: Floats) -> tuple[Floats, Floats, float]:
    """Return a row of +1 and -1 per pair, the root of its weight, and the weight of all pairs."""
    rows, roots, whole = [], [], 0.0
    for i, j in combinations(range(len(y)), 2):
        if qid[i] == qid[j]:
            row = np.zeros(len(y))
            row[i], row[j] = 1.0, -1.0
            rows.append(row)
            roots.append(np.sqrt(weight[i] * weight[j]))
            whole += weight[i] * weight[j]
    whole += sum(max(0.0, u * (u - 1.0) / 2.0) for u in weight.tolist())
    return np.array(rows).reshape(-1, len(y)), np.array(roots), whole


def fit_linear(X: Floats, y: Floats, qid: Ints, weight: Floats, l2: float) -> Floats:
    """Return the weights by least squares over listed pairs and one row per weight."""
    pairs, roots, whole = _differences(y, qid, weight)
    if not len(pairs):
        return np.zeros(X.shape[1])
    top = (roots[:, None] * (pairs @ X)) / np.sqrt(whole)
    ridge = np.sqrt(l2 / 2.0) * np.eye(X.shape[1])
    right = np.concatenate([roots * (pairs @ y) / np.sqrt(whole), np.zeros(X.shape[1])])
    return np.asarray(np.linalg.lstsq(np.vstack([top, ridge]), right, rcond=None)[0])


def fit_kernel(gram: Floats, y: Floats, qid: Ints, l2: float) -> Floats:
    """Return coefficients by the equations ``(L K / N + lambda I) a = L y / N``."""
    pairs, _, whole = _differences(y, qid, np.ones(len(y)))
    laplacian = pairs.T @ pairs
    system = laplacian @ gram / whole + l2 / 2.0 * np.eye(len(y))
    return np.asarray(np.linalg.solve(system, laplacian @ y / whole))


def objective(
    scores: Floats, square: float, y: Floats, qid: Ints, weight: Floats, l2: float
) -> float:
    """Return the mean over pairs of the squared error, and the ridge of the squared length."""
    pairs, roots, whole = _differences(y, qid, weight)
    error = roots * (pairs @ (scores - y))
    return float(np.dot(error, error)) / whole + l2 / 2.0 * square


def left_out_queries(X: Floats, y: Floats, qid: Ints, weight: Floats, l2: float) -> Floats:
    """Return centred scores of every query by a fit to all others."""
    out = np.zeros(len(y))
    for query in np.unique(qid).tolist():
        inside: Bools = qid == query
        rest = ~inside
        w = fit_linear(X[rest], y[rest], qid[rest], weight[rest], l2)
        scores = X[inside] @ w
        out[inside] = scores - np.average(scores, weights=weight[inside])
    return out


def left_out_pairs(X: Floats, y: Floats, qid: Ints, l2: float) -> dict[tuple[int, int], float]:
    """Return ``f_i - f_j`` of every two rows of a query by a fit to all others."""
    found = {}
    for i, j in combinations(range(len(y)), 2):
        if qid[i] == qid[j]:
            rest = np.delete(np.arange(len(y)), [i, j])
            w = fit_linear(X[rest], y[rest], qid[rest], np.ones(len(rest)), l2)
            found[i, j] = float((X[i] - X[j]) @ w)
    return found
