"""Scores of rows from the trees of a model, by walking them or by tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crucial.kernels.predict import BLOCK_ROWS
from crucial.kernels.threads import count_threads, over_ranges
from crucial.types import Floats, Ints, Reals

__all__ = ["NodeTable", "ThresholdCells", "ValueTables"]


@dataclass(frozen=True, eq=False)
class ThresholdCells:
    """The thresholds that cut the values of features into cells.

    Attributes
    ----------
    features : int64 array
        Columns of the features.
    thresholds : float64 array
        -inf and the thresholds of each feature, ascending, feature after feature.
    starts : int64 array of shape (n_features + 1,)
        Where the thresholds of a feature begin.
    """

    features: Ints
    thresholds: Floats
    starts: Ints


@dataclass(frozen=True, eq=False)
class NodeTable:
    """The nodes of all trees; see ``compiled.tree_scores.add_trees``."""

    cells: ThresholdCells
    nodes: NDArray[np.uint64]
    values: Floats
    roots: Ints
    depths: Ints

    def scores(self, X: Reals, n_jobs: int | None = 1) -> Floats:
        """Return the sum of the values of the leaves that each row reaches."""
        return _scores(self.cells, X, n_jobs, "add_trees", self._tables)

    @property
    def _tables(self) -> tuple[NDArray[np.generic], ...]:
        return self.nodes, self.values, self.roots, self.depths


@dataclass(frozen=True, eq=False)
class ValueTables:
    """Tables of one and of two features; see ``compiled.tree_scores.add_tables``."""

    cells: ThresholdCells
    one_slot: Ints
    one_start: Ints
    pair_slots: Ints
    pair_maps: NDArray[np.uint16]
    map_start: Ints
    pair_start: Ints
    pair_width: Ints
    values: Floats

    def scores(self, X: Reals, n_jobs: int | None = 1) -> Floats:
        """Return the sum of the entries that belong to each row."""
        return _scores(self.cells, X, n_jobs, "add_tables", self._tables)

    @property
    def _tables(self) -> tuple[NDArray[np.generic], ...]:
        return (
            self.one_slot, self.one_start, self.pair_slots, self.pair_maps, self.map_start,
            self.pair_start, self.pair_width, self.values,
        )  # fmt: skip


def _scores(
    cells: ThresholdCells,
    X: Reals,
    n_jobs: int | None,
    kernel: str,
    tables: tuple[NDArray[np.generic], ...],
) -> Floats:
    """Score rows in blocks."""
    from crucial.kernels.compiled import tree_scores as compiled

    out = np.zeros(len(X))
    where = (cells.features, cells.thresholds, cells.starts)
    call = getattr(compiled, kernel)
    direct = X.dtype in (np.float32, np.float64) and X.flags.aligned and X.flags.c_contiguous
    flat = X.ravel() if direct else np.zeros(0)
    flat.flags.writeable = False  # (Numba compiles anew for writable arrays)
    slots = np.arange(len(cells.features))

    def block(begin: int, end: int) -> None:
        if direct:
            call(flat, X.shape[1], 1, begin, *where, *tables, out[begin:end])
            return
        part = X[begin:end].take(cells.features, axis=1)
        dense = np.ascontiguousarray(part, np.float64).ravel()
        dense.flags.writeable = False
        call(dense, len(slots), 1, 0, slots, *where[1:], *tables, out[begin:end])

    bounds = [*range(0, len(X), BLOCK_ROWS), len(X)]
    over_ranges(bounds, count_threads(n_jobs), block)
    return out
