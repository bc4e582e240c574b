"""Ranking inside queries; twins of ``plain.ranks``."""

from __future__ import annotations

import numpy as np

from crucial.kernels.jit import kernel

__all__ = ["interval_sums", "order_rows", "rank_rows"]


@kernel
def rank_rows(
    values,
    weight,
    cuts,
    by_interval,
    direction,
    starts,
    first_query,
    last_query,
    out,
):
    """Middle of the positions that every row of a range of queries takes, bottom first."""
    weighted = len(weight) > 0
    n_regions = len(by_interval)
    mass = np.empty(n_regions)
    offset = np.empty(n_regions)
    longest = 0
    for q in range(first_query, last_query):
        longest = max(longest, starts[q + 1] - starts[q])
    rows = np.empty(longest, np.int64)
    keys = np.empty(longest)
    for q in range(first_query, last_query):
        n = 0
        missing = 0.0
        for i in range(starts[q], starts[q + 1]):
            if values[i] == values[i]:
                keys[n] = values[i]
                rows[n] = i
                n += 1
            else:
                missing += weight[i] if weighted else 1.0
        # One sort by value; every region is a stretch of it.
        order = np.argsort(keys[:n])
        mass[:] = 0.0
        region = 0
        for k in range(n):
            while region < len(cuts) and keys[order[k]] > cuts[region]:
                region += 1
            mass[region] += weight[rows[order[k]]] if weighted else 1.0
        present = 0.0
        for k in range(n_regions):
            offset[by_interval[k]] = present
            present += mass[by_interval[k]]
        half = present / 2.0
        region = 0
        before = 0.0
        k = 0
        while k < n:
            value = keys[order[k]]
            while region < len(cuts) and value > cuts[region]:
                region += 1
                before = 0.0
            same = 0.0
            last = k
            while last < n and keys[order[last]] == value:
                same += weight[rows[order[last]]] if weighted else 1.0
                last += 1
            below = offset[region]
            width = same
            if direction[region] > 0.0:
                below += before
            elif direction[region] < 0.0:
                below += mass[region] - before - same
            else:
                width = mass[region]
            before += same
            above = min(max((below + width - half) / width, 0.0), 1.0)
            middle = below + width / 2.0 + missing * above
            for j in range(k, last):
                out[rows[order[j]]] = middle
            k = last
        for i in range(starts[q], starts[q + 1]):
            if values[i] != values[i]:
                out[i] = (present + missing) / 2.0


@kernel
def order_rows(scores, starts, first_query, last_query, out):
    """Rows of every query by falling score, for a range of queries."""
    for q in range(first_query, last_query):
        a, b = starts[q], starts[q + 1]
        order = np.argsort(-scores[a:b])
        for k in range(b - a):
            out[a + k] = a + order[k]


@kernel
def interval_sums(values, codes, weight, scale, sums, counts):
    """Sum and weight of the values of every interval; the largest absolute value met."""
    weighted = len(weight) > 0
    top = 0.0
    for i in range(len(values)):
        x = values[i]
        if codes[i] >= 0 and x == x:
            w = weight[i] if weighted else 1.0
            top = max(top, abs(x * w))
            sums[codes[i]] += x * w * scale
            counts[codes[i]] += w
    return top
