"""Scores of a large batch from the trees of a model, in Numba; twins in ``plain.tree_scores``."""

from __future__ import annotations

import numpy as np

from crucial.kernels.jit import kernel

__all__ = ["add_tables", "add_trees"]

_ROWS = 256  # rows whose cells stay in the first two caches


@kernel
def _write_cells(data, row_stride, column_stride, first, m, features, thresholds, starts, cells):
    """Write, for a few rows, the number of thresholds below each value: 0 where it is missing."""
    x = np.empty(_ROWS, np.float64)
    for u in range(len(features)):
        origin = first * row_stride + features[u] * column_stride
        own = cells[u]
        for i in range(m):
            x[i] = data[origin + i * row_stride]
            own[i] = 0
        if starts[u + 1] - starts[u] <= 64:
            for t in range(starts[u], starts[u + 1]):
                threshold = thresholds[t]
                for i in range(m):
                    own[i] += x[i] > threshold
        else:
            for i in range(m):
                low = starts[u]
                left = starts[u + 1] - low
                while left > 0:
                    half = left >> 1
                    if x[i] > thresholds[low + half]:
                        low += half + 1
                        left -= half + 1
                    else:
                        left = half
                own[i] = low - starts[u]


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
        ``left << 33 | missing << 32 | slot << 16 | cut``: a row goes to ``left + 1`` if its cell
        of the feature is greater than the cut, or 0 and ``missing`` is 1; else to ``left``. A
        leaf leads to itself.
    values : float64 array like nodes
        Of the leaves.
    roots, depths : int arrays, one entry per tree
    """
    cells = np.empty((len(features), _ROWS), np.uint16)
    at = np.empty(_ROWS, np.uint64)
    n = len(scores)
    one = np.uint64(1)
    for begin in range(0, n, _ROWS):
        m = min(_ROWS, n - begin)
        _write_cells(
            data, row_stride, column_stride, first + begin, m, features, thresholds, starts, cells
        )
        out = scores[begin : begin + m]
        for t in range(len(roots)):
            for i in range(m):
                at[i] = np.uint64(roots[t])
            for _ in range(depths[t]):
                for i in range(m):
                    node = nodes[at[i]]
                    cell = np.uint64(
                        cells[(node >> np.uint64(16)) & np.uint64(0xFFFF), np.uint64(i)]
                    )
                    lost = (node >> np.uint64(32)) & one & np.uint64(cell == 0)
                    right = np.uint64(cell > (node & np.uint64(0xFFFF))) | lost
                    at[i] = (node >> np.uint64(33)) + right
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
