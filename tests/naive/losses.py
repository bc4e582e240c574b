"""The review's losses by their definitions: pairs, triples and choices are enumerated."""

from itertools import combinations, pairwise, permutations, product
from math import factorial

import numpy as np


def half(low, high):
    """1 if low < high, half if they are equal."""
    return 1.0 if low < high else 0.5 if low == high else 0.0


def hard_loss(y, s, tied, among, u=None):
    """Share of pairs in the wrong order, of all pairs or those with different labels."""
    u = [1.0] * len(y) if u is None else u
    wrong = total = 0.0
    for i, j in combinations(range(len(y)), 2):
        weight = u[i] * u[j]
        if y[i] == y[j]:
            total += weight * (among == "all")
            continue
        total += weight
        turned = (y[i] - y[j]) * (s[i] - s[j])
        wrong += weight * (1.0 if turned < 0 else tied if turned == 0 else 0.0)
    return wrong / total if len(set(y)) > 1 and total > 0 else np.nan


def top_loss(y, order, k, ordered, u=None):
    """The weak or localised loss of one order; labels that tie at K are taken in every way."""
    n = len(y)
    u = [1.0] * n if u is None else u
    k = min(k, n)
    found = list(order[:k])
    bar = sorted(y, reverse=True)[k - 1]
    sure = [i for i in range(n) if y[i] > bar]
    ways = list(combinations([i for i in range(n) if y[i] == bar], k - len(sure)))
    missed = np.mean([sum(u[i] for i in {*sure, *way} - set(found)) for way in ways])
    outside = np.mean([sum(u) - sum(u[i] for i in [*sure, *way]) for way in ways])
    weak = 2 * missed / sum(u)
    if not ordered:
        return weak
    two = len(set(y)) == 2
    negatives = sum(w for w, one in zip(u, y, strict=True) if one == min(y)) if two else outside
    wrong = sum(u[a] * u[b] for a, b in combinations(found, 2) if y[a] < y[b])
    pairs = sum(u[a] * u[b] for a, b in combinations(range(n), 2))
    return negatives / sum(u) * weak + wrong / pairs


def largest_top_loss(y, k, ordered, u=None):
    """The largest loss over all orders."""
    return max(top_loss(y, order, k, ordered, u) for order in permutations(range(len(y))))


def vus(y, s, u=None):
    """Chance that one random row per label is in order, a run of m ties counting 1/m!."""
    u = [1.0] * len(y) if u is None else u
    labels = sorted(set(y))
    rows = [[i for i in range(len(y)) if y[i] == label] for label in labels]
    found = total = 0.0
    for chosen in product(*rows):
        weight = np.prod([u[i] for i in chosen])
        total += weight
        scores = [s[i] for i in chosen]
        if scores == sorted(scores):
            runs = [scores.count(one) for one in set(scores)]
            found += weight / np.prod([factorial(m) for m in runs])
    return found / total if len(labels) > 1 else np.nan


def iauc(y, s, triples=False, u=None):
    """Mean over thresholds of the AUC of both sides, or share of triples."""
    u = [1.0] * len(y) if u is None else u
    found = total = 0.0
    for t in range(len(y)):
        low = [i for i in range(len(y)) if y[i] < y[t]]
        high = [i for i in range(len(y)) if y[i] > y[t]]
        sides = sum(u[i] for i in low) * sum(u[j] for j in high)
        if sides == 0:
            continue
        won = sum(u[i] * u[j] * half(s[i], s[j]) for i in low for j in high)
        found += u[t] * (won if triples else won / sides)
        total += u[t] * (sides if triples else 1.0)
    return found / total if total else np.nan


def neighbour_auc(y, s, u=None):
    """Mean AUC of neighbouring labels."""
    u = [1.0] * len(y) if u is None else u
    labels = sorted(set(y))
    values = []
    for lower, upper in pairwise(labels):
        low = [i for i in range(len(y)) if y[i] == lower]
        high = [i for i in range(len(y)) if y[i] == upper]
        weight = sum(u[i] for i in low) * sum(u[j] for j in high)
        won = sum(u[i] * u[j] * half(s[i], s[j]) for i in low for j in high)
        if weight:
            values.append(won / weight)
    return np.mean(values) if values else np.nan
