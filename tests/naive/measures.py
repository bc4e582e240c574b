"""Every measure by its plain meaning: of one order, or by listing pairs.

A new measure gets its twin here, and `test_measures_properties.py` holds it to everything.
"""

import itertools
import math

import numpy as np

from naive import losses


def discount(i, base=None):
    if base is None:
        return 1 / math.log2(i + 1)
    return 1.0 if i < base else 1 / math.log(i, base)


def dcg(labels, gain, k, base):
    return sum(gain(y) * discount(i, base) for i, y in enumerate(labels, 1) if k is None or i <= k)


def ndcg(k=None, gain=lambda y: y, base=None):
    def value(ranked, lost):
        best = dcg(sorted(ranked + lost, reverse=True), gain, k, base)
        return dcg(ranked, gain, k, base) / best if best > 0 else None

    return value


def exponential(y):
    return 2**y - 1


def binary(compute, relevant=lambda labels: [y > 0 for y in labels]):
    """A measure of (which of the ranked are good, how many good there are)."""

    def value(ranked, lost):
        good = relevant(ranked + lost)
        return compute(good[: len(ranked)], sum(good)) if any(good) else None

    return value


def at_least(bar):
    return lambda labels: [y >= bar for y in labels]


def best_of_all(labels):
    return [y == max(labels) and max(labels) > min(labels) for y in labels]


def average_precision(k=None):
    def compute(good, total):
        hits = [sum(good[:i]) / i for i in range(1, len(good) + 1) if good[i - 1] and i <= (k or i)]
        return sum(hits) / total

    return compute


def first(good):
    return good.index(True) + 1 if any(good) else math.inf


def last_precision(good, total):
    if sum(good) < total:
        return 0.0
    return total / (len(good) - good[::-1].index(True))


def rbp(p, k=None):
    return lambda good, total: (1 - p) * sum(p**i for i, g in enumerate(good[:k]) if g)


def err(highest, k=None):
    def value(ranked, lost):
        if max(ranked + lost) <= 0:
            return None
        reach, found = 1.0, 0.0
        for i, y in enumerate(ranked[:k], 1):
            stop = (2**y - 1) / 2**highest
            found += reach * stop / i
            reach *= 1 - stop
        return found

    return value


def persistence(k):
    def value(ranked, lost):
        labels = ranked + lost
        if len(set(labels)) < 2:
            return None

        def chance(y):
            above, same = sum(z > y for z in labels), labels.count(y)
            return min(max((k - above) / same, 0), 1)

        return sum(chance(y) for y in ranked[:k]) / min(k, len(labels))

    return value


def bpref(good, total):
    """The number of others before each relevant item; here all others are judged."""

    def worth(place):
        before = min(sum(not g for g in good[:place]), total)
        return 1 - before / min(total, bad) if bad else 1

    bad = len(good) - sum(good)
    return sum(worth(i) for i, g in enumerate(good) if g) / total


def top_loss(k, ordered):
    def value(ranked, lost):
        if len(set(ranked)) < 2:
            return None
        return losses.top_loss(ranked, range(len(ranked)), k, ordered)

    return value


#: Values of one order, from its labels and those of judged items that were not retrieved; tied
#: scores count by their mean over all orders.
BY_ORDER = {
    "ndcg": ndcg(),
    "ndcg@3": ndcg(3),
    "ndcg_exp": ndcg(gain=exponential),
    "ndcg_exp@2(letor)": ndcg(2, exponential, 2),
    "ndcg@4(b=3)": ndcg(4, base=3),
    "map": binary(average_precision()),
    "map@3": binary(average_precision(3)),
    "map(rel=2)": binary(average_precision(), at_least(2)),
    "gm_map": binary(lambda good, total: max(average_precision()(good, total), 1e-5)),
    "rprec": binary(lambda good, total: sum(good[:total]) / total),
    "bpref": binary(bpref),
    "judged@3": lambda ranked, lost: 1.0,
    "success@2": binary(lambda good, total: float(first(good) <= 2)),
    "freund_ap": binary(average_precision(), best_of_all),
    "mrr": binary(lambda good, total: 1 / first(good)),
    "mrr@2": binary(lambda good, total: 1 / first(good) if first(good) <= 2 else 0),
    "prot": binary(lambda good, total: 1 / first(good), best_of_all),
    "coverage": binary(last_precision, best_of_all),
    "coverage(rel=1)": binary(last_precision, at_least(1)),
    "top@2": binary(lambda good, total: float(first(good) <= 2), best_of_all),
    "avg_rank": binary(lambda good, total: min(first(good), 31), best_of_all),
    "avg_rank(cap=3)": binary(lambda good, total: min(first(good), 3), best_of_all),
    "p@3": binary(lambda good, total: sum(good[:3]) / 3),
    "recall@3": binary(lambda good, total: sum(good[:3]) / total),
    "persistence@1": persistence(1),
    "persistence@3": persistence(3),
    "rbp": binary(rbp(0.8)),
    "rbp@3(p=0.4)": binary(rbp(0.4, 3)),
    "err(max=3)": err(3),
    "err@3(max=4)": err(4, 3),
    "profit@2": lambda ranked, lost: sum(ranked[:2]),
    "profit@3(cost=1.5)": lambda ranked, lost: sum(y - 1.5 for y in ranked[:3]),
    "weak_loss@2": top_loss(2, False),
    "localised_loss@2": top_loss(2, True),
}


def share(kind, tied):
    """Share of the pairs with different labels that are wrong, right, or right less wrong."""

    def value(y, s, u=None):
        u = [1.0] * len(y) if u is None else u
        right = wrong = ties = 0.0
        for i, j in itertools.permutations(range(len(y)), 2):
            if y[i] > y[j]:
                weight = u[i] * u[j]
                right += weight * (s[i] > s[j])
                wrong += weight * (s[i] < s[j])
                ties += weight * (s[i] == s[j])
        total = right + wrong + ties
        if not total:
            return np.nan
        balance = {
            "wrong": wrong + tied * ties,
            "right": right + (1 - tied) * ties,
            "balance": right - wrong,
        }
        return balance[kind] / total

    return value


#: Values of labels, scores and weights; the measure says how a tie counts.
BY_PAIRS = {
    "auc": share("right", 0.5),
    "r1": share("wrong", 1.0),
    "r2": share("wrong", 0.5),
    "disagreement": share("wrong", 0.5),
    "kendall": share("wrong", 0.5),
    "kendall(tied=0)": share("wrong", 0.0),
    "kendall(tau)": share("balance", 0.5),
    "hard_loss": lambda y, s, u=None: losses.hard_loss(y, s, 0.5, "all", u),
    "hard_loss(tied=0)": lambda y, s, u=None: losses.hard_loss(y, s, 0.0, "all", u),
    "hard_loss(tied=1,pairs=comparable)": share("wrong", 1.0),
    "vus": losses.vus,
    "iauc": lambda y, s, u=None: losses.iauc(y, s, False, u),
    "iauc(triples)": lambda y, s, u=None: losses.iauc(y, s, True, u),
    "neighbour_auc": losses.neighbour_auc,
}

#: Smallest and largest values; 0 and 1 where none are named.
RANGES = {
    "avg_rank": (1, 31),
    "kendall(tau)": (-1, 1),
    "profit": (-math.inf, math.inf),
    "localised_loss@2(standard=attained)": (0, 1 + 1e-12),
}
