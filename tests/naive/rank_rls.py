"""RankRLS by listing every pair, and cross-validation by fitting again."""

from fractions import Fraction
from itertools import combinations

import numpy as np

from crucial.types import Bools, Floats, Ints

__all__ = [
    "exact_left_out_margins", "fit_kernel", "fit_linear", "left_out_pairs", "left_out_queries",
    "objective",
]  # fmt: skip


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


def objective(scores, square, y, qid, weight, l2):
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


def exact_left_out_margins(X, y, qid, l2, standardise):
    """Return ``f_i - f_j`` where y_i > y_j of a query, by a fit to all others, in fractions.

    A standard feature has its weight times its standard deviation in the ridge, whose square is
    a fraction: the variance of all rows that are in a pair.
    """
    n, p = X.shape
    rows = [[Fraction(value) for value in row] for row in X.tolist()]
    ridge = []
    paired = [k for k in range(n) if sum(qid == qid[k]) > 1]
    for column in zip(*(rows[k] for k in paired), strict=True):
        mean = sum(column) / len(paired)
        variance = sum((value - mean) ** 2 for value in column) / len(paired)
        ridge.append(Fraction(l2) / 2 * (variance if standardise and variance else 1))
    found = {}
    for i in range(n):
        for j in range(n):
            if qid[i] != qid[j] or not y[i] > y[j]:
                continue
            kept = [k for k in range(n) if k not in (i, j)]
            pairs = [(a, b) for a, b in combinations(kept, 2) if qid[a] == qid[b]]
            system = [[Fraction(0)] * (p + 1) for _ in range(p)]
            for a, b in pairs:
                apart = [u - v for u, v in zip(rows[a], rows[b], strict=True)]
                for r, step in enumerate(apart):
                    for c, other in enumerate([*apart, Fraction(y[a] - y[b])]):
                        system[r][c] += step * other
            for r in range(p):
                system[r][r] += len(pairs) * ridge[r]
            w = _solved(system) if pairs else [Fraction(0)] * p
            found[i, j] = sum(
                (f * (u - v) for f, u, v in zip(w, rows[i], rows[j], strict=True)), Fraction(0)
            )
    return found


def _solved(system: list[list[Fraction]]) -> list[Fraction]:
    """Return the solution of positive definite equations, by elimination."""
    p = len(system)
    for k in range(p):
        for r in range(p):
            if r != k:
                factor = system[r][k] / system[k][k]
                system[r] = [u - factor * v for u, v in zip(system[r], system[k], strict=True)]
    return [system[k][p] / system[k][k] for k in range(p)]
