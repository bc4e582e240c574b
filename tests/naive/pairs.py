"""Feedback by listing its pairs, in exact or compensated sums."""

import math
from dataclasses import dataclass

import numpy as np


@dataclass
class Pairs:
    """Pairs (lo, hi) with weights that need not sum to 1."""

    lo: list[int]
    hi: list[int]
    weight: list[float]
    n_rows: int

    def __len__(self):
        return len(self.weight)

    def __add__(self, other):
        return Pairs(
            self.lo + other.lo, self.hi + other.hi, self.weight + other.weight, self.n_rows
        )

    def times(self, factor):
        return Pairs(self.lo, self.hi, [factor * w for w in self.weight], self.n_rows)

    @property
    def total(self):
        return math.fsum(self.weight)

    def logs(self, scores):
        """Logarithm of every ``w exp(H(lo) - H(hi))``."""
        return [
            math.log(w) + (scores[a] - scores[b]) for a, b, w in zip(self.lo, self.hi, self.weight)
        ]

    def log_loss(self, scores):
        """Logarithm of E1."""
        return log_sum(self.logs(scores)) - log_sum([math.log(w) for w in self.weight])

    def distribution(self, scores):
        """D: the pair weights under these scores, summing to 1."""
        logs = self.logs(scores)
        top = log_sum(logs)
        return [math.exp(one - top) for one in logs]

    def potentials(self, scores):
        gained = [[] for _ in range(self.n_rows)]
        for a, b, d in zip(self.lo, self.hi, self.distribution(scores)):
            gained[b].append(d)
            gained[a].append(-d)
        return np.array([math.fsum(parts) for parts in gained])

    def risks(self, scores):
        """R1 and R2."""
        wrong = math.fsum(
            w for a, b, w in zip(self.lo, self.hi, self.weight) if scores[b] < scores[a]
        )
        tied = math.fsum(
            w for a, b, w in zip(self.lo, self.hi, self.weight) if scores[b] == scores[a]
        )
        return (wrong + tied) / self.total, (wrong + tied / 2) / self.total

    def split(self, scores, output):
        """W+, W-, W0 of a {0, 1} ranker."""
        right, wrong, level = [], [], []
        for a, b, d in zip(self.lo, self.hi, self.distribution(scores)):
            kind = right if output[b] > output[a] else wrong if output[b] < output[a] else level
            kind.append(d)
        return math.fsum(right), math.fsum(wrong), math.fsum(level)

    def moments(self, scores, output):
        """Mean and mean square of the margins that a weak ranker adds."""
        d = self.distribution(scores)
        margins = [output[b] - output[a] for a, b in zip(self.lo, self.hi)]
        return (
            math.fsum(x * m for x, m in zip(d, margins)),
            math.fsum(x * m * m for x, m in zip(d, margins)),
        )


def log_sum(logs):
    """Logarithm of the sum of exponentials."""
    top = max(logs)
    return top + math.log(math.fsum(math.exp(one - top) for one in logs))


def from_labels(y, qid=None, weight=None, balance="pairs", query_weight=None, gain=None):
    """All pairs of rows of one query with different labels.

    ``query_weight`` maps a query to its factor, ``gain`` a label to its gain.
    """
    n = len(y)
    qid = [0] * n if qid is None else list(qid)
    weight = [1.0] * n if weight is None else list(weight)
    made = Pairs([], [], [], n)
    for query in sorted(set(qid)):
        rows = [i for i in range(n) if qid[i] == query]
        part = Pairs([], [], [], n)
        for a in rows:
            for b in rows:
                w = weight[a] * weight[b]
                if y[a] < y[b] and w > 0:
                    part.lo.append(a)
                    part.hi.append(b)
                    part.weight.append(w * (gain(y[b]) - gain(y[a]) if gain else 1.0))
        if not len(part):
            continue
        factor = 1.0 if query_weight is None else query_weight[query]
        if balance == "queries":
            factor /= part.total
        if factor > 0:
            made = made + part.times(factor)
    return made


def from_list(pairs, n_rows, weight=None, contradictions="keep"):
    """Explicit (winner, loser) pairs; repeated ones add up."""
    weight = [1.0] * len(pairs) if weight is None else weight
    table = {}
    for (b, a), w in zip(pairs, weight):
        table[a, b] = table.get((a, b), 0.0) + w
    if contradictions == "net":
        table = {(a, b): w - table.get((b, a), 0.0) for (a, b), w in table.items()}
    kept = [(a, b, w) for (a, b), w in sorted(table.items()) if w > 0]
    return Pairs([a for a, _, _ in kept], [b for _, b, _ in kept], [w for *_, w in kept], n_rows)
