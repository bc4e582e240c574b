"""DeLong's variance, written plainly: all pairs of rows with different labels."""

import numpy as np


def naive_moves(y, scores, weight, tied, lists=None, pool=True):
    """The share of right pairs and how far each row moves it, by a loop over all pairs.

    Of several lists, the pairs inside each: all of them together, or the mean of the lists.
    """
    n = len(y)
    lists = np.zeros(n, int) if lists is None else lists
    right, total = np.zeros(n), np.zeros(n)
    for i in range(n):
        for j in range(n):
            if y[i] == y[j] or lists[i] != lists[j]:
                continue
            high, low = (i, j) if y[i] > y[j] else (j, i)
            credit = 1.0 if scores[high] > scores[low] else 0.0
            credit = tied if scores[high] == scores[low] else credit
            right[i] += weight[j] * credit
            total[i] += weight[j]
    good, pairs = np.bincount(lists, weight * right) / 2, np.bincount(lists, weight * total) / 2
    if pool:
        value, scale = good.sum() / pairs.sum(), np.full(len(pairs), pairs.sum())
    else:
        value, scale = (good / pairs).mean(), pairs * len(pairs)
    return float(value), weight * (right - value * total) / scale[lists]


def naive_variance(y, moves):
    """The sum over labels of n/(n - 1) times the squares around the mean of the label."""
    out = 0.0
    for label in np.unique(y):
        mine = moves[y == label]
        out += len(mine) / (len(mine) - 1) * float(((mine - mine.mean()) ** 2).sum())
    return out
