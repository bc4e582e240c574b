"""Feature rankings of Wang et al. the slow, plain way: lists, pairs and loops."""

import itertools
import math
from fractions import Fraction

import numpy as np


def expand(weight):
    """Row numbers, each as often as its (whole) weight says."""
    return [row for row, times in enumerate(weight) for _ in range(int(times))]


def interval_of(y, n_intervals):
    """Interval of every row of one query, 1 the least relevant; None for a short query."""
    n = len(y)
    if n < n_intervals:
        return [None] * n
    base, odd = divmod(n, n_intervals)
    ends = np.cumsum([base + (k < odd) for k in range(n_intervals)])
    out = []
    for label in y:
        below, same = sum(v < label for v in y), sum(v == label for v in y)
        middle = below + same / 2
        out.append(1 + next(k for k, end in enumerate(ends) if middle <= end))
    return out


def chosen(y, intervals, kind):
    """Which rows of one query count for the centre of their interval."""
    if kind == "mean":
        return [True] * len(y)
    out = []
    for label, interval in zip(y, intervals, strict=True):
        inside = [v for v, k in zip(y, intervals, strict=True) if k == interval]
        size, below = len(inside), sum(v < label for v in inside)
        same = sum(v == label for v in inside)
        third, middle = max(1.0, size / 3), below + same / 2
        if kind == "prior":
            out.append(middle > size - third or below + same == size)
        elif kind == "posterior":
            out.append(middle < third or below == 0)
        else:
            covers = below <= size / 2 <= below + same
            out.append(abs(middle - size / 2) <= third / 2 or covers)
    return out


def centres(values, y, qid, n_intervals, kind="mean"):
    """Centre of every interval of a feature, exact; None where it has no value.

    Values are read as the nearest fraction of a small denominator: 0.1 is a tenth.
    """
    gathered = [[] for _ in range(n_intervals)]
    for query in sorted(set(qid)):
        rows = [i for i, q in enumerate(qid) if q == query]
        labels = [y[i] for i in rows]
        intervals = interval_of(labels, n_intervals)
        if intervals[0] is None:
            continue
        for i, k, counts in zip(rows, intervals, chosen(labels, intervals, kind), strict=True):
            if counts and not math.isnan(values[i]):
                gathered[k - 1].append(exact(values[i]))
    return [sum(g) / len(g) if g else None for g in gathered]


def exact(value):
    """The fraction that a floating point number stands for."""
    return Fraction(value).limit_denominator(10**6)


def key(value, centres):
    """What a value is ranked by: its interval, then the value in the interval's direction."""
    there = [(k, exact(c)) for k, c in enumerate(centres) if c is not None]
    value = exact(value)
    _, at = min((abs(value - c), place) for place, (_, c) in enumerate(there))
    differences = [b[1] - a[1] for a, b in itertools.pairwise(there)]
    ahead = differences[max(at - 1, 0) :]
    sign = next(((d > 0) - (d < 0) for d in ahead if d != 0), 0)
    return there[at][0], sign * value


def ranks(keys):
    """Rank of every key, 1 for the smallest; equal keys share the mean, None the middle."""
    n, missing = len(keys), sum(k is None for k in keys)
    present = n - missing
    out = []
    for one in keys:
        if one is None:
            out.append((n + 1) / 2)
            continue
        below = sum(k is not None and k < one for k in keys)
        same = sum(k is not None and k == one for k in keys)
        above = min(max((below + same - present / 2) / same, 0.0), 1.0)
        out.append(below + same / 2 + missing * above + 0.5)
    return out


def rank_feature(values, qid, centres):
    """Rank vector of every query by a feature."""
    out = np.zeros(len(values))
    for query in set(qid):
        rows = [i for i, q in enumerate(qid) if q == query]
        keys = [None if math.isnan(values[i]) else key(values[i], centres) for i in rows]
        out[rows] = ranks(keys)
    return out


def positions(values, sizes, regions, weight):
    """Middle of the positions of every row in its query, from 0, by sorting keys of floats."""
    weight = [1] * len(values) if weight is None else weight
    place = {region: at for at, region in enumerate(regions.by_interval.tolist())}
    out, begin = [], 0
    for size in sizes.tolist():
        rows = range(begin, begin + size)
        begin += size
        region = np.searchsorted(regions.cuts, values[rows.start : rows.stop])
        keys = {
            i: (place[int(g)], float(regions.direction[g] * values[i]))
            for i, g in zip(rows, region) if not math.isnan(values[i])
        }  # fmt: skip
        same = {}
        for i, one in keys.items():
            same[one] = same.get(one, 0) + weight[i]
        below = dict(
            zip(sorted(same), itertools.accumulate((same[k] for k in sorted(same)), initial=0))
        )
        present = sum(same.values())
        missing = sum(weight[i] for i in rows) - present
        for i in rows:
            if i not in keys:
                out.append((present + missing) / 2)
                continue
            own, before = same[keys[i]], below[keys[i]]
            above = min(max((before + own - present / 2) / own, 0.0), 1.0)
            out.append(before + own / 2 + missing * above)
    return out


def agreement(scores, y):
    """E = 1 - 2T of one query; a tie counts half."""
    right = wrong = tied = 0
    for i in range(len(y)):
        for j in range(len(y)):
            if y[i] > y[j]:
                right += scores[i] > scores[j]
                wrong += scores[i] < scores[j]
                tied += scores[i] == scores[j]
    total = right + wrong + tied
    return Fraction(int(right - wrong), int(total)) if total else None


def feature_rank(X, y, qid, n_intervals, cycles=1, balanced=False):
    """Weights (lambda) and final ranks; ``balanced`` adds BL-FeatureRank's control."""
    y, qid = list(y), list(qid)
    queries = {q: [i for i, p in enumerate(qid) if p == q] for q in sorted(set(qid))}
    queries = {q: r for q, r in queries.items() if len({y[i] for i in r}) > 1}
    H, weights, shares = np.zeros(len(y)), [], []
    w = dict.fromkeys(queries, 1.0)
    for _ in range(cycles):
        for j in range(X.shape[1]):
            column = X[:, j].tolist()
            h = rank_feature(column, qid, centres(column, y, qid, n_intervals))
            E, a = {}, {}
            for q, rows in queries.items():
                labels = [y[i] for i in rows]
                own = agreement(h[rows], labels)
                E[q], a[q] = own, 0.0
                if balanced and weights:
                    before = agreement(H[rows], labels)
                    options = [(before, 1.0), (own, 0.0)]
                    if own >= 0 and before >= 0 and own + before > 0:
                        beta = before / (own + before)
                        both = zip(H[rows], h[rows], strict=True)
                        mixed = [beta * Fraction(a) + (1 - beta) * Fraction(b) for a, b in both]
                        options.insert(1, (agreement(mixed, labels), beta))
                    E[q], a[q] = max(options, key=lambda one: one[0])
            top = sum(w[q] * float(1 + E[q]) for q in queries)
            bottom = sum(w[q] * float(1 - E[q]) for q in queries)
            even = abs(top - bottom) < 1e-12 * (top + bottom)
            weight = 0.0 if even else 0.5 * math.log(top / bottom)
            share = float(sum(a.values()) / len(a))
            for rows in ([i for i, p in enumerate(qid) if p == q] for q in set(qid)):
                moved = (1 + weight * share) * H[rows] + weight * (1 - share) * h[rows]
                H[rows] = ranks(moved.tolist())
            w = {q: math.exp(-agreement(H[r], [y[i] for i in r])) for q, r in queries.items()}
            weights.append(weight)
            shares.append(share)
    return weights, H, shares


def diff_rank(X, y, qid, n_intervals, prec=None):
    """Weights, product of Z and scores; every pair is listed."""
    y, qid = list(y), list(qid)
    pairs = []
    for i in range(len(y)):
        above = sum(q == qid[i] and v > y[i] for v, q in zip(y, qid, strict=True))
        size = qid.count(qid[i])
        first = above < (size if prec is None else prec if isinstance(prec, int) else prec * size)
        pairs += [(i, j) for j in range(len(y)) if qid[j] == qid[i] and y[i] > y[j] and first]
    D = np.full(len(pairs), 1 / len(pairs))
    hi, lo = np.array(pairs).T
    H, weights, product = np.zeros(len(y)), [], []
    for j in range(X.shape[1]):
        column = X[:, j].tolist()
        h = rank_feature(column, qid, centres(column, y, qid, n_intervals))
        h = np.array([(r - 1) / max(1, qid.count(q) - 1) for r, q in zip(h, qid, strict=True)])
        r = float(D @ (h[hi] - h[lo]))
        alpha = 0.5 * math.log((1 + r) / (1 - r))
        H += alpha * h
        D = D * np.exp(-alpha * (h[hi] - h[lo]))
        product.append((product[-1] if product else 1.0) * D.sum())
        D /= D.sum()
        weights.append(alpha)
    wrong = float(np.mean(H[hi] < H[lo]))
    return weights, product, H, wrong
