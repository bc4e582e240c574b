"""Hinge losses by listing every pair."""

from collections.abc import Iterator

import numpy as np

from crucial.types import Floats, Ints


def listed_pairs(y: Floats, qid: Ints, weight: Floats) -> Iterator[tuple[int, int, float]]:
    """Yield (winner, loser, weight) of every pair of one query with different labels."""
    for i in range(len(y)):
        for j in range(len(y)):
            if qid[i] == qid[j] and y[i] > y[j]:
                yield i, j, float(weight[i] * weight[j])


def shortfalls(scores, y, qid, weight, margin):
    """Yield (winner, loser, weight, what the hinge is taken of) of every pair."""
    for i, j, c in listed_pairs(y, qid, weight):
        apart, gap = scores[i] - scores[j], y[i] - y[j]
        short = {"sign": 1.0 - apart, "gap": gap - apart, "product": 1.0 - gap * apart}[margin]
        yield i, j, c, float(short)


def hinge_value(scores, y, qid, weight, margin, squared):
    """Return the weighted mean over pairs of the hinge, or of half of its square."""
    total, whole = 0.0, 0.0
    for _, _, c, short in shortfalls(scores, y, qid, weight, margin):
        hinge = max(0.0, short)
        total += c * (0.5 * hinge * hinge if squared else hinge)
        whole += c
    return float(np.float64(total / whole))


def hinge_sums(scores, y, qid, weight, move, margin, cut):
    """Return ``wins``, ``losses`` and ``moved`` of `HingeSums` at power 2, column by column."""
    gap = np.where(qid[:, None] == qid, y[:, None] - y, 0.0)
    apart = scores[:, None] - scores
    with np.errstate(divide="ignore"):
        asked = {"sign": 1.0 - cut, "gap": gap - cut, "product": (1.0 - cut) / gap}[margin]
    short = np.where(gap > 0.0, asked - apart, 0.0)
    factor = np.where(short > 0.0, gap**2 if margin == "product" else 1.0, 0.0)
    wins = [(factor * short**k * weight).sum(axis=1) for k in range(3)]
    losses = [(factor * short**k * weight[:, None]).sum(axis=0) for k in range(2)]
    partners = factor + factor.T
    return np.column_stack((*wins, *losses, (partners * (weight * move)).sum(axis=1)))
