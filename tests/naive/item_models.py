"""EASE and item neighbours by their definitions; ``X[user][item]`` is a weight, 0 for none."""

import math

import numpy as np


def ease_weights(X, penalty):
    """Steck (2019, equation 8), by the dense inverse."""
    X = np.asarray(X, float)
    inverse = np.linalg.inv(X.T @ X + penalty * np.eye(X.shape[1]))
    weights = -inverse / np.diag(inverse)
    np.fill_diagonal(weights, 0.0)
    return weights


def ease_by_regressions(X, penalty):
    """Every item by ridge regression on all the others."""
    X = np.asarray(X, float)
    n_items = X.shape[1]
    weights = np.zeros((n_items, n_items))
    for item in range(n_items):
        others = [one for one in range(n_items) if one != item]
        A = X[:, others]
        found = np.linalg.solve(A.T @ A + penalty * np.eye(len(others)), A.T @ X[:, item])
        weights[others, item] = found
    return weights


def neighbour_weights(X, k):
    """Cosines of every item with its k nearest; of equals the first."""
    n_items = len(X[0])
    columns = [[row[item] for row in X] for item in range(n_items)]
    weights = [[0.0] * n_items for _ in range(n_items)]
    for item, column in enumerate(columns):
        cosines = []
        for other, values in enumerate(columns):
            lengths = math.hypot(*column) * math.hypot(*values)
            product = math.fsum(a * b for a, b in zip(column, values))
            if other != item and lengths and product > 0.0:
                cosines.append((-round(product / lengths, 12), other))
        for near, other in sorted(cosines)[:k]:
            weights[other][item] = -near
    return np.array(weights)


def ndcg(best, gains):
    """NDCG of one list of items; ``gains`` by item."""
    found = sum(gains.get(item, 0.0) / math.log2(place + 2) for place, item in enumerate(best))
    ideal = sorted(gains.values(), reverse=True)[: len(best)]
    return found / sum(gain / math.log2(place + 2) for place, gain in enumerate(ideal))
