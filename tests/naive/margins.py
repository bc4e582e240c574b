"""Margins by listing all pairs."""

import math

import numpy as np


def naive_smooth_margin(matrix, weight, rounds):
    """Smooth margin ranking of Rudin & Schapire (2009, figure 1 and equation 12).

    ``matrix[i, j] = h_j(hi) - h_j(lo)`` of pair i; the lightest pair weighs 1 in F.
    Returns the columns chosen, their weights, and G and the margin after every round.
    """
    log_weight = np.log(np.asarray(weight) / np.min(weight))
    total = np.zeros(matrix.shape[1])
    chosen, alphas, smooth, margins = [], [], [], []
    for _ in range(rounds):
        g, d = _smooth(matrix, log_weight, total)
        slope = d @ matrix
        at = int(np.flatnonzero(slope >= slope.max() - 1e-10)[0])
        column = matrix[:, at]
        right, wrong, tied = (d[test].sum() for test in (column > 0, column < 0, column == 0))
        if g <= 0:
            alpha = 0.5 * math.log(right / wrong)
        else:  # equation 12 as it is written there
            root = math.sqrt(g**2 * tied**2 + (1 + g) * (1 - g) * 4 * right * wrong)
            alpha = math.log((-g * tied + root) / ((1 + g) * 2 * wrong))
        total[at] += alpha
        chosen.append(at)
        alphas.append(alpha)
        smooth.append(_smooth(matrix, log_weight, total)[0])
        margins.append(float((matrix @ total).min() / total.sum()))
    return chosen, alphas, smooth, margins


def _smooth(matrix, log_weight, total):
    """G, and the weights of the pairs."""
    logs = log_weight - matrix @ total
    log_f = float(np.logaddexp.reduce(logs))
    norm = float(total.sum())
    return (-log_f / norm if norm > 0 else -math.inf), np.exp(logs - log_f)


def naive_margins(pairs, scores):
    """Margin and weight of every pair of a `naive.pairs.Pairs`, by rising margin."""
    margin = np.array([scores[b] - scores[a] for a, b in zip(pairs.lo, pairs.hi)])
    order = np.argsort(margin, kind="stable")
    return margin[order], np.array(pairs.weight)[order]
