"""NumPy twins of ``compiled.tree_scores``, for small batches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crucial.types import Floats, Ints, Reals

__all__ = ["add_tables", "add_trees", "cells_of"]


def cells_of(X: Reals, features: Ints, thresholds: Floats, starts: Ints) -> NDArray[np.uint16]:
    """Return the number of thresholds below each value, 0 where it is missing: by feature, row."""
    out = np.zeros((len(features), len(X)), np.uint16)
    for u, feature in enumerate(features.tolist()):
        x = X[:, feature].astype(np.float64)
        cell = np.searchsorted(thresholds[starts[u] : starts[u + 1]], x, "left")
        out[u] = np.where(np.isnan(x), 0, cell)
    return out


def add_trees(
    cells: NDArray[np.uint16],
    nodes: NDArray[np.uint64],
    values: Floats,
    roots: Ints,
    depths: Ints,
    scores: Floats,
) -> None:
    """Add the values of the leaves that rows reach, tree after tree."""
    rows = np.arange(len(scores))
    left = (nodes >> np.uint64(33) & np.uint64(0x3FFFFFFF)).astype(np.int64)
    lost = (nodes >> np.uint64(32) & np.uint64(1)).astype(np.int64)
    slot = (nodes >> np.uint64(16) & np.uint64(0xFFFF)).astype(np.int64)
    cut = (nodes & np.uint64(0xFFFF)).astype(np.int64)
    for root, depth in zip(roots.tolist(), depths.tolist(), strict=True):
        at = np.full(len(scores), root)
        for _ in range(depth):
            cell = cells[slot[at], rows].astype(np.int64) - lost[at]
            at = left[at] + ((cell & 0xFFFF) > cut[at])
        scores += values[at]


def add_tables(
    cells: NDArray[np.uint16],
    one_slot: Ints,
    one_start: Ints,
    pair_slots: Ints,
    pair_maps: NDArray[np.uint16],
    map_start: Ints,
    pair_start: Ints,
    pair_width: Ints,
    values: Floats,
    scores: Floats,
) -> None:
    """Add the entries of tables of one and of two features."""
    for slot, start in zip(one_slot.tolist(), one_start.tolist(), strict=True):
        scores += values[start + cells[slot].astype(np.int64)]
    for t, (a, b) in enumerate(pair_slots.tolist()):
        row = pair_maps[map_start[t, 0] + cells[a].astype(np.int64)].astype(np.int64)
        column = pair_maps[map_start[t, 1] + cells[b].astype(np.int64)]
        scores += values[pair_start[t] + row * pair_width[t] + column]
