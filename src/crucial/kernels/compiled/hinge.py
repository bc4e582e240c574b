"""Sums of hinges over pairs, which are not visited; see `crucial.kernels.hinge`.

Where all pairs ask for the same margin the rows of a query are sorted by score. The partners of a
row then are those beyond a threshold that moves with it, and Fenwick trees over the levels add up
those of a lower or a higher label: O(n log n). Sums only grow, so no digits are lost in
differences. Where the margin depends on the labels of a pair, two pointers go through each two
levels of a query: O(n levels).
"""

from __future__ import annotations

import numpy as np

from crucial.kernels.compiled.trees import tree_add, tree_sum, triple_add, triple_sum
from crucial.kernels.jit import kernel

__all__ = ["graded_moved", "graded_sums", "same_moved", "same_sums", "sort_segments"]


@kernel
def sort_segments(keys, starts, first, last, order):
    """Write the rows of every segment by rising key."""
    for s in range(first, last):
        a, b = starts[s], starts[s + 1]
        order[a:b] = np.argsort(keys[a:b], kind="mergesort") + a


@kernel
def same_sums(keys, weight, level, row_start, depth, threshold, order, first, last, out):
    """Write the sums of queries ``first:last``; ``threshold`` is the margin of every pair."""
    deepest = longest = 0
    for q in range(first, last):
        deepest = max(deepest, depth[q])
        longest = max(longest, row_start[q + 1] - row_start[q])
    sums = np.zeros(3 * deepest)  # (weights, and those times bars and squared bars)
    key, mass, rank = np.empty(longest), np.empty(longest), np.empty(longest, np.int64)
    for q in range(first, last):
        a, n = row_start[q], row_start[q + 1] - row_start[q]
        top = depth[q]
        middle = 0.5 * (keys[order[a]] + keys[order[a + n - 1]])
        for place in range(n):
            i = order[a + place]
            key[place], mass[place], rank[place] = keys[i], weight[i], level[i]
        sums[: 3 * top] = 0.0
        at = n - 1
        for place in range(n - 1, -1, -1):
            while at >= 0 and key[at] + threshold > key[place]:
                if rank[at] + 1 < top:
                    bar = key[at] - middle + threshold
                    heavy = mass[at] * bar
                    triple_add(sums, top, rank[at] + 1, mass[at], heavy, heavy * bar)
                at -= 1
            i, own = order[a + place], key[place] - middle
            found, moved, squared = triple_sum(sums, rank[place])
            out[i, 0] = found
            out[i, 1] = moved - own * found
            out[i, 2] = squared - own * (2.0 * moved - own * found)
        sums[: 3 * top] = 0.0
        at = 0
        for place in range(n):
            while at < n and key[at] < key[place] + threshold:
                if rank[at] > 0:
                    heavy = mass[at] * (key[at] - middle)
                    triple_add(sums, top, top - rank[at], mass[at], heavy, 0.0)
                at += 1
            j, bar = order[a + place], key[place] - middle + threshold
            found, moved, _ = triple_sum(sums, top - 1 - rank[place])
            out[j, 3] = found
            out[j, 4] = bar * found - moved


@kernel
def same_moved(keys, values, level, row_start, depth, threshold, order, first, last, out):
    """Write the sums of values over the partners of every row of queries ``first:last``."""
    deepest = longest = 0
    for q in range(first, last):
        deepest = max(deepest, depth[q])
        longest = max(longest, row_start[q + 1] - row_start[q])
    tree = np.zeros(deepest)
    key, value, rank = np.empty(longest), np.empty(longest), np.empty(longest, np.int64)
    for q in range(first, last):
        a, n = row_start[q], row_start[q + 1] - row_start[q]
        top = depth[q]
        for place in range(n):
            i = order[a + place]
            key[place], value[place], rank[place] = keys[i], values[i], level[i]
        tree[:top] = 0.0
        at = n - 1
        for place in range(n - 1, -1, -1):
            while at >= 0 and key[at] + threshold > key[place]:
                if rank[at] + 1 < top:
                    tree_add(tree, 0, top, rank[at] + 1, value[at])
                at -= 1
            out[order[a + place]] = tree_sum(tree, 0, rank[place])
        tree[:top] = 0.0
        at = 0
        for place in range(n):
            while at < n and key[at] < key[place] + threshold:
                if rank[at] > 0:
                    tree_add(tree, 0, top, top - rank[at], value[at])
                at += 1
            out[order[a + place]] += tree_sum(tree, 0, top - 1 - rank[place])


@kernel
def graded_sums(keys, weight, values, power, cut, starts, segments, order, first, last, out):
    """Write the sums of queries ``first:last``; margins depend on the labels ``values``."""
    for q in range(first, last):
        begin, end = segments[q], segments[q + 1]
        out[starts[begin] : starts[end]] = 0.0
        for s in range(begin + 1, end):
            a, b = starts[s], starts[s + 1]
            for t in range(begin, s):
                c, d = starts[t], starts[t + 1]
                apart = values[s] - values[t]
                threshold = (1.0 - cut) / apart
                factor = apart**power
                mass = shift = square = 0.0
                middle = keys[order[c]]
                at = d - 1
                for place in range(b - 1, a - 1, -1):
                    i = order[place]
                    own = keys[i] - middle
                    while at >= c and keys[order[at]] + threshold > keys[i]:
                        j = order[at]
                        bar = keys[j] - middle + threshold
                        mass += weight[j]
                        shift += weight[j] * bar
                        square += weight[j] * bar * bar
                        at -= 1
                    out[i, 0] += factor * mass
                    out[i, 1] += factor * (shift - own * mass)
                    out[i, 2] += factor * (square - own * (2.0 * shift - own * mass))
                mass = shift = 0.0
                at = a
                for place in range(c, d):
                    j = order[place]
                    bar = keys[j] - middle + threshold
                    while at < b and keys[order[at]] < keys[j] + threshold:
                        i = order[at]
                        mass += weight[i]
                        shift += weight[i] * (keys[i] - middle)
                        at += 1
                    out[j, 3] += factor * mass
                    out[j, 4] += factor * (bar * mass - shift)


@kernel
def graded_moved(keys, moved, values, power, cut, starts, segments, order, first, last, out):
    """Write the sums of ``moved`` over the partners of every row of queries ``first:last``."""
    for q in range(first, last):
        begin, end = segments[q], segments[q + 1]
        out[starts[begin] : starts[end]] = 0.0
        for s in range(begin + 1, end):
            a, b = starts[s], starts[s + 1]
            for t in range(begin, s):
                c, d = starts[t], starts[t + 1]
                apart = values[s] - values[t]
                threshold = (1.0 - cut) / apart
                factor = apart**power
                found = 0.0
                at = d - 1
                for place in range(b - 1, a - 1, -1):
                    i = order[place]
                    while at >= c and keys[order[at]] + threshold > keys[i]:
                        found += moved[order[at]]
                        at -= 1
                    out[i] += factor * found
                found = 0.0
                at = a
                for place in range(c, d):
                    j = order[place]
                    while at < b and keys[order[at]] < keys[j] + threshold:
                        found += moved[order[at]]
                        at += 1
                    out[j] += factor * found
