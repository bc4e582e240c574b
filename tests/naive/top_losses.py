"""Losses of whole queries and pairs weighted by a measure, as their definitions read."""

import math
from functools import partial

import numpy as np

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def query_key(seed, number, query):
    first = mix((seed + GOLDEN) & MASK)
    second = mix((first + GOLDEN * (number + 1)) & MASK)
    return mix((second + GOLDEN * (query + 1)) & MASK)


def uniform_at(key, place):
    return (mix((key + GOLDEN * (place + 1)) & MASK) >> 11) * 2.0**-53


# -- whole queries ------------------------------------------------------------------------


def squares(scores, target, weight):
    """Half of the squared error at the best shift."""
    shift = np.average(target - scores, weights=weight)
    return 0.5 * math.fsum(weight * (target - scores - shift) ** 2)


def cross_entropy(scores, target, weight):
    """``-sum t ln(softmax)``, rows counted as often as they weigh; t sums to 1."""
    top = max(scores)
    whole = top + math.log(math.fsum(weight * np.exp(scores - top)))
    return math.fsum(target * (whole - scores))


def divergence(scores, target, weight):
    """``sum t ln(t / P)`` of the targets from the softmax P of rows that weigh."""
    mass = weight * np.exp(scores - max(scores))
    shares = mass / math.fsum(mass)
    return math.fsum(t * math.log(t / p) for t, p in zip(target, shares, strict=True) if t > 0)


def xendcg_gradient(scores, phi):
    """Gradient with its higher order terms, and curvature (Bruch 2021), rows of weight 1."""
    n = len(scores)
    grown = np.exp(scores - max(scores))
    rho = grown / math.fsum(grown)
    target = phi / math.fsum(phi)
    # 1 - rho by adding up the others
    rest = np.array([math.fsum(rho[j] for j in range(n) if j != i) for i in range(n)])
    first = rho - target
    second = np.zeros(n)
    for i in range(n):
        second[i] = rho[i] * math.fsum(first[j] / rest[j] for j in range(n) if j != i)
    third = np.zeros(n)
    for i in range(n):
        third[i] = rho[i] * math.fsum(second[j] / rest[j] for j in range(n) if j != i)
    return first + second + third, rho * rest


# -- pairs --------------------------------------------------------------------------------


def dcg(gains, depth):
    return math.fsum(g / math.log2(p + 2) for p, g in enumerate(gains[:depth]))


def ndcg(gains, discounted, depth):
    """DCG with discounts down to a position over the best DCG of another depth."""
    return dcg(gains, discounted) / dcg(sorted(gains, reverse=True), depth)


def average_precision(relevant):
    hits = [p for p, one in enumerate(relevant) if one]
    return math.fsum((k + 1) / (p + 1) for k, p in enumerate(hits)) / len(hits)


def reciprocal_rank(relevant):
    return 1.0 / (list(relevant).index(1) + 1)


def measure_of(kind, k, truncation):
    """The function of worths in order whose changes weigh the pairs."""
    if kind == "ndcg":
        return partial(ndcg, discounted=k, depth=truncation if k is None else k)
    return {"map": average_precision, "mrr": reciprocal_rank}[kind]


def lambda_pairs(scores, worth, weight, measure, truncation, sigmoid, normalise):
    """Potentials and curvature of one query, whose rows come by rising label."""
    n = len(scores)
    order = sorted(range(n), key=lambda i: (-scores[i], i))
    ordered = [worth[i] for i in order]
    even = shared(scores, worth, np.ones(n), np.asarray(weight))
    won, curved, total = np.zeros(n), np.zeros(n), 0.0
    if max(worth) <= 0 or min(worth) == max(worth):
        return won, curved
    now = measure(ordered)
    for p in range(min(n, truncation)):
        for q in range(p + 1, n):
            if ordered[p] == ordered[q]:
                continue
            swapped = list(ordered)
            swapped[p], swapped[q] = swapped[q], swapped[p]
            i, j = order[p], order[q]
            change = abs(measure(swapped) - now) * even[i] * even[j]
            if normalise and min(scores) != max(scores):
                change /= 0.01 + abs(scores[i] - scores[j])
            hi, lo = (i, j) if worth[i] > worth[j] else (j, i)
            share = 0.5 * (1.0 - math.tanh(sigmoid * (scores[hi] - scores[lo]) / 2.0))
            other = 0.5 * (1.0 + math.tanh(sigmoid * (scores[hi] - scores[lo]) / 2.0))
            won[hi] += sigmoid * change * share
            won[lo] -= sigmoid * change * share
            curved[hi] += sigmoid**2 * change * share * other
            curved[lo] += sigmoid**2 * change * share * other
            total += 2 * sigmoid * change * share
    factor = math.log2(1 + total) / total if normalise and total > 0 else 1.0
    return factor * shared(scores, worth, weight, won), factor * shared(
        scores, worth, weight, curved
    )


def shared(scores, worth, weight, values):
    """Rows of equal score and worth share what they got, by their weights."""
    out = np.zeros(len(values))
    for i in range(len(values)):
        same = [j for j in range(len(values)) if (scores[j], worth[j]) == (scores[i], worth[i])]
        out[i] = weight[i] * math.fsum(values[same]) / math.fsum(weight[same])
    return out


def yeti_pairs(scores, worth, weight, key, permutations, decay):
    """Potentials, curvature and weight of what is wrong, of one query."""
    n = len(scores)
    won, curved, wrong = np.zeros(n), np.zeros(n), 0.0
    for number in range(permutations):
        own = mix((key + number + 1) & MASK)
        noisy = []
        for i in range(n):
            z = uniform_at(own, i) + 2.0**-54
            noisy.append(scores[i] + math.log(z) - math.log1p(-z))
        order = sorted(range(n), key=lambda i: (-noisy[i], i))
        for p in range(n - 1):
            i, j = order[p], order[p + 1]
            if worth[i] == worth[j]:
                continue
            hi, lo = (i, j) if worth[i] > worth[j] else (j, i)
            w = decay**p * (worth[hi] - worth[lo]) * weight[hi] * weight[lo] / permutations
            share = 0.5 * (1.0 - math.tanh((scores[hi] - scores[lo]) / 2.0))
            won[hi] += w * share
            won[lo] -= w * share
            for row in (hi, lo):
                curved[row] += w * share * (1.0 - share)
            wrong += w * share
    return won, curved, wrong
