"""Sums of hinges over pairs, which are not visited; twins of ``plain.hinge``.

Where all pairs ask for the same margin the rows of a query are sorted by score. The partners of a
row then are those beyond a threshold that moves with it, and Fenwick trees over the levels add up
those of a lower or a higher label: O(n log n). Sums only grow, so no digits are lost in
differences. Where the margin depends on the labels of a pair, two pointers go through each two
levels of a query: O(n levels).
"""

from __future__ import annotations

import numpy as np

from crucial.kernels.compiled.trees import tree_add, tree_sum
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
    deepest = 0
    for q in range(first, last):
        deepest = max(deepest, depth[q])
    mass, shift, square = np.zeros(deepest), np.zeros(deepest), np.zeros(deepest)
    for q in range(first, last):
        a, b = row_start[q], row_start[q + 1]
        top = depth[q]
        middle = 0.5 * (keys[order[a]] + keys[order[b - 1]])
        mass[:top] = 0.0
        shift[:top] = 0.0
        square[:top] = 0.0
        at = b - 1
        for place in range(b - 1, a - 1, -1):
            i = order[place]
            own = keys[i] - middle
            while at >= a and keys[order[at]] + threshold > keys[i]:
                j = order[at]
                if level[j] + 1 < top:
                    bar = keys[j] - middle + threshold
                    tree_add(mass, 0, top, level[j] + 1, weight[j])
                    tree_add(shift, 0, top, level[j] + 1, weight[j] * bar)
                    tree_add(square, 0, top, level[j] + 1, weight[j] * bar * bar)
                at -= 1
            found = tree_sum(mass, 0, level[i])
            moved = tree_sum(shift, 0, level[i])
            out[i, 0] = found
            out[i, 1] = moved - own * found
            out[i, 2] = tree_sum(square, 0, level[i]) - own * (2.0 * moved - own * found)
        mass[:top] = 0.0
        shift[:top] = 0.0
        at = a
        for place in range(a, b):
            j = order[place]
            bar = keys[j] - middle + threshold
            while at < b and keys[order[at]] < keys[j] + threshold:
                i = order[at]
                if level[i] > 0:
                    tree_add(mass, 0, top, top - level[i], weight[i])
                    tree_add(shift, 0, top, top - level[i], weight[i] * (keys[i] - middle))
                at += 1
            above = top - 1 - level[j]
            found = tree_sum(mass, 0, above)
            out[j, 3] = found
            out[j, 4] = bar * found - tree_sum(shift, 0, above)


@kernel
def same_moved(keys, values, level, row_start, depth, threshold, order, first, last, out):
    """Write the sums of values over the partners of every row of queries ``first:last``."""
    deepest = 0
    for q in range(first, last):
        deepest = max(deepest, depth[q])
    tree = np.zeros(deepest)
    for q in range(first, last):
        a, b = row_start[q], row_start[q + 1]
        top = depth[q]
        tree[:top] = 0.0
        at = b - 1
        for place in range(b - 1, a - 1, -1):
            i = order[place]
            while at >= a and keys[order[at]] + threshold > keys[i]:
                j = order[at]
                if level[j] + 1 < top:
                    tree_add(tree, 0, top, level[j] + 1, values[j])
                at -= 1
            out[i] = tree_sum(tree, 0, level[i])
        tree[:top] = 0.0
        at = a
        for place in range(a, b):
            j = order[place]
            while at < b and keys[order[at]] < keys[j] + threshold:
                i = order[at]
                if level[i] > 0:
                    tree_add(tree, 0, top, top - level[i], values[i])
                at += 1
            out[j] += tree_sum(tree, 0, top - 1 - level[j])


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
