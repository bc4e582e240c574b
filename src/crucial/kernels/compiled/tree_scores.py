"""Scores of rows from the trees of a model."""

from __future__ import annotations

import numpy as np

from crucial.kernels.jit import kernel

__all__ = ["add_tables", "add_trees"]

_ROWS = 256  # rows whose cells stay in the first two caches
_LINEAR = 64  # thresholds that are all compared, several rows at a time
_SHARED = 4  # levels of a tree that all rows walk together, whether at a leaf already or not

_ONE, _LOW, _WRAP = np.uint64(1), np.uint64(0xFFFF), np.uint64(0x10000)
_TO_BASE, _BASE = np.uint64(8), np.uint64(0xFFFF00)  # (256 times the slot)
_TO_LOST, _TO_LEFT, _LEFT, _TO_LEAF = map(np.uint64, (32, 33, 0x3FFFFFFF, 63))


@kernel
def _write_cells(data, row_stride, column_stride, first, m, features, thresholds, starts, cells):
    """Write, for a few rows, the number of thresholds below each value: 0 where it is missing."""
    x = np.empty(_ROWS, np.float64)
    at = np.empty(_ROWS, np.uint64)
    for u in range(len(features)):
        origin = first * row_stride + features[u] * column_stride
        own = cells[u]
        begin = np.uint64(starts[u])
        left = starts[u + 1] - starts[u]
        for i in range(m):
            x[i] = data[origin + i * row_stride]
            own[i] = 0
            at[i] = begin
        if left <= _LINEAR:
            for t in range(starts[u], starts[u + 1]):
                threshold = thresholds[t]
                for i in range(m):
                    own[i] += x[i] > threshold
            continue
        # All rows halve the thresholds together, without branches to guess.
        while left > 1:
            half = np.uint64(left >> 1)
            for i in range(m):
                more = half if x[i] > thresholds[at[i] + half - _ONE] else np.uint64(0)
                at[i] += more
            left -= left >> 1
        for i in range(m):
            own[i] = at[i] - begin + np.uint64(x[i] > thresholds[at[i]])


@kernel
def _next(node, cells, i):
    """Return the node that a row goes to."""
    cell = np.uint64(cells[((node >> _TO_BASE) & _BASE) + i])
    right = ((_WRAP + cell - ((node >> _TO_LOST) & _ONE)) & _LOW) > (node & _LOW)
    return ((node >> _TO_LEFT) & _LEFT) + np.uint64(right)


@kernel
def _walk(nodes, root, depth, cells, m, at, rest):
    """Write the leaves that a few rows reach in one tree."""
    node = nodes[root]
    for i in range(m):
        at[i] = _next(node, cells, i)
    for _ in range(min(depth, _SHARED) - 1):
        for i in range(m):
            at[i] = _next(nodes[at[i]], cells, i)
    if depth <= _SHARED:
        return
    # Few rows go deeper. Each is written to the list, and counts if it is not at a leaf.
    left = np.uint64(0)
    for i in range(m):
        rest[left] = i
        left += _ONE - (nodes[at[i]] >> _TO_LEAF)
    while left > 0:
        kept = np.uint64(0)
        for j in range(left):
            i = rest[j]
            to = _next(nodes[at[i]], cells, i)
            at[i] = to
            rest[kept] = i
            kept += _ONE - (nodes[to] >> _TO_LEAF)
        left = kept


@kernel
def add_trees(
    data, row_stride, column_stride, first, features, thresholds, starts, nodes, values, roots,
    depths, scores,
):  # fmt: skip
    """Add the values of the leaves that consecutive rows reach, tree after tree.

    Parameters
    ----------
    data, row_stride, column_stride, first, features, thresholds, starts
        As in ``compiled.predict.add_steps``.
    nodes : uint64 array
        ``leaf << 63 | left << 33 | lost << 32 | slot << 16 | cut``: a row goes to ``left + 1``
        if its cell of the feature minus ``lost`` is greater than the cut, else to ``left``. The
        difference is taken in 16 bits: where ``lost`` is 1, cell 0 (missing) becomes the
        greatest. A leaf leads to itself.
    values : float64 array like nodes
        Of the leaves.
    roots, depths : int arrays, one entry per tree
    """
    cells = np.empty((len(features), _ROWS), np.uint16)
    flat = cells.ravel()
    at = np.empty(_ROWS, np.uint64)
    rest = np.empty(_ROWS, np.uint64)
    n = len(scores)
    for begin in range(0, n, _ROWS):
        m = min(_ROWS, n - begin)
        _write_cells(
            data, row_stride, column_stride, first + begin, m, features, thresholds, starts, cells
        )
        out = scores[begin : begin + m]
        for t in range(len(roots)):
            _walk(nodes, roots[t], depths[t], flat, np.uint64(m), at, rest)
            for i in range(m):
                out[i] += values[at[i]]


@kernel
def add_tables(
    data, row_stride, column_stride, first, features, thresholds, starts, one_slot, one_start,
    pair_slots, pair_maps, map_start, pair_start, pair_width, values, scores,
):  # fmt: skip
    """Add the entries of tables of one and of two features for consecutive rows.

    Parameters
    ----------
    one_slot, one_start : int arrays, one entry per feature with a table
        The feature, and where its table begins in ``values``.
    pair_slots : int array of shape (n_pairs, 2)
    pair_maps : uint16 array
        From the cell of a feature to the row or column of a table of a pair.
    map_start : int array of shape (n_pairs, 2)
        Where both maps of a pair begin.
    pair_start, pair_width : int arrays, one entry per pair
        Where the table of a pair begins in ``values``, and the length of its rows.
    """
    cells = np.empty((len(features), _ROWS), np.uint16)
    n = len(scores)
    for begin in range(0, n, _ROWS):
        m = min(_ROWS, n - begin)
        _write_cells(
            data, row_stride, column_stride, first + begin, m, features, thresholds, starts, cells
        )
        out = scores[begin : begin + m]
        for t in range(len(one_slot)):
            own = cells[one_slot[t]]
            base = np.uint64(one_start[t])
            for i in range(m):
                out[i] += values[base + np.uint64(own[i])]
        for t in range(len(pair_slots)):
            a = cells[pair_slots[t, 0]]
            b = cells[pair_slots[t, 1]]
            map_a = np.uint64(map_start[t, 0])
            map_b = np.uint64(map_start[t, 1])
            base = np.uint64(pair_start[t])
            width = np.uint64(pair_width[t])
            for i in range(m):
                row = np.uint64(pair_maps[map_a + np.uint64(a[i])])
                column = np.uint64(pair_maps[map_b + np.uint64(b[i])])
                out[i] += values[base + row * width + column]
