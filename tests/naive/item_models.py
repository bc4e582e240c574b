"""EASE by its definitions; ``X[user][item]`` is a weight, 0 for none."""

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


def ndcg(best, gains):
    """NDCG of one list of items; ``gains`` by item."""
    found = sum(gains.get(item, 0.0) / math.log2(place + 2) for place, item in enumerate(best))
    ideal = sorted(gains.values(), reverse=True)[: len(best)]
    return found / sum(gain / math.log2(place + 2) for place, gain in enumerate(ideal))
