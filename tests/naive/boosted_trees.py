"""RankBoost with trees over listed pairs: every pair and every split, one after the other."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from naive.gradient_trees import NaiveTree, Node


@dataclass
class NaiveRound:
    """The tree of a round, its weight for values that span 1, and Z at weight times rate."""

    root: Node
    alpha: float
    z: float


def boost(X, pairs, weight, rounds, rate, **limits):
    """Return the rounds and the scores."""
    high, low = np.array(pairs.hi), np.array(pairs.lo)
    w = np.array(pairs.weight) / np.sum(pairs.weight)
    used = np.unique(np.concatenate((high, low)))
    scores, made = np.zeros(len(X)), []
    for _ in range(rounds):
        d = w * np.exp(scores[low] - scores[high])
        d /= d.sum()
        pi, curvature = np.zeros(len(X)), np.zeros(len(X))
        for i, j, share in zip(high, low, d, strict=True):
            pi[i] += share
            pi[j] -= share
            curvature[i] += share
            curvature[j] += share
        root = NaiveTree(X[used], pi[used], curvature[used], weight[used], **limits).grow()
        if root is None:
            break
        h = np.zeros(len(X))
        for leaf in root.leaves():
            h[used[leaf.rows]] = leaf.value
        h /= np.ptp(h[used])
        gained = h[high] - h[low]
        alpha = _zero(lambda a, d=d, g=gained: float((d * g * np.exp(-a * g)).sum()))
        made.append(NaiveRound(root, alpha, float((d * np.exp(-rate * alpha * gained)).sum())))
        scores += rate * alpha * h
    return made, scores


def _zero(falling: Any, low: float = -20.0, high: float = 20.0) -> float:
    """Return where a falling function is 0, by halving."""
    for _ in range(80):
        middle = (low + high) / 2.0
        low, high = (middle, high) if falling(middle) > 0.0 else (low, middle)
    return (low + high) / 2.0
