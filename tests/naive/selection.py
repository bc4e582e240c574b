"""Selection of features by listing pairs and sets."""

from itertools import combinations

import numpy as np


def agreement(a, b, qid):
    """Mean over queries of the share of pairs that a and b order alike, ties half."""
    shares = []
    for q in np.unique(qid):
        rows = np.flatnonzero(qid == q)
        pairs = list(combinations(rows, 2))
        if pairs:
            signs = [np.sign(a[i] - a[j]) * np.sign(b[i] - b[j]) for i, j in pairs]
            shares.append(np.mean([(1 + s) / 2 for s in signs]))
    return float(np.mean(shares)) if shares else 0.5


def greedy(scores, similarity, c, count):
    """Take the best by what is left of its score after all that were taken before."""
    taken = []
    for _ in range(count):
        left = {k: scores[k] - 2 * c * sum(similarity[j][k] for j in taken)
                for k in range(len(scores)) if k not in taken}  # fmt: skip
        top = max(left.values())
        taken.append(next(k for k in left if left[k] >= top - 1e-10 * (abs(top) + 1e-4)))
    return taken
