"""Cutting and coding one feature after the other, in memory that is used again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from crucial.data.instances import Instances
from crucial.data.quantiles import cut_points
from crucial.kernels.threads import run_all
from crucial.types import Floats, Ints

__all__ = ["PLAIN_CELLS", "Cutter", "is_small", "over_features"]

T = TypeVar("T")

# Up to here NumPy bins and boosts faster than Numba compiles. By size alone: the choice
# must not depend on what happens to be cached.
PLAIN_CELLS = 300_000

# Bytes of one row that are fetched together: neighbours share a cache line.
_BLOCK = 16


def is_small(n_rows: int, n_features: int) -> bool:
    """Whether a problem is solved without compiled kernels."""
    return n_rows * n_features <= PLAIN_CELLS


def over_features(
    instances: Instances,
    features: Ints,
    rows: NDArray[np.integer],
    threads: int,
    work: Callable[[int, Cutter], T],
) -> list[T]:
    """Call ``work(place, cutter)`` for every place in ``features``; results in order.

    Each thread has a cutter of its own. On large inputs at most two of them work, since
    each takes up to 40 bytes a row.
    """
    n_cutters = max(1, min(threads if len(rows) < 200_000 else min(threads, 2), len(features)))
    results: list[Any] = [None] * len(features)
    # Neighbours stay together, since they are fetched together.
    blocks = np.array_split(np.arange(len(features)), n_cutters)

    def run(places: Ints) -> None:
        cutter = Cutter(instances, features[places], rows)
        for place in places.tolist():
            results[place] = work(place, cutter)

    run_all(n_cutters, [partial(run, places) for places in blocks])
    return results


class Cutter:
    """Works on one feature at a time.

    Parameters
    ----------
    instances : Instances
    features : int array
        The features it will be asked for, in that order.
    rows : int array
        The rows, in the order in which they are wanted.
    """

    def __init__(self, instances: Instances, features: Ints, rows: NDArray[np.integer]) -> None:
        self._instances, self._rows = instances, rows
        self._small = is_small(len(rows), instances.n_features)
        table = instances.table
        self._stored_by_row = (
            not self._small
            and not instances.is_sparse
            and table.flags.c_contiguous
            and table.dtype in (np.float32, np.float64)
        )
        self._values: NDArray[Any] = np.zeros(0)
        if self._small:
            return
        kind = table.dtype if table.dtype == np.float32 else np.dtype(np.float64)
        self._ranked = np.empty(len(rows), kind)
        self._spare = np.empty(len(rows), kind)
        if self._stored_by_row:
            self._block = np.empty((_BLOCK // kind.itemsize, len(rows)), kind)
            self._fetched = range(0)
            self._last = int(features.max(initial=-1)) + 1

    def fetch(self, feature: int) -> NDArray[Any]:
        """Values of a feature, as floats; they stay until the next is fetched."""
        if not self._stored_by_row:
            self._values = self._instances.column(feature, self._rows)
            return self._values
        from crucial.kernels import compiled

        if feature not in self._fetched:
            self._fetched = range(feature, min(feature + len(self._block), self._last))
            part = self._block[: len(self._fetched)]
            compiled.gather_columns(self._instances.table, self._rows, feature, part)
        self._values = self._block[feature - self._fetched.start]
        return self._values

    def cut(self, feature: int, weight: Floats | None, max_bins: int | None) -> tuple[Floats, int]:
        """Thresholds of a feature and the number of its abstentions."""
        values = self.fetch(feature)
        if weight is not None or self._small:
            self._instances.checked(values, feature, self._rows)
            order = np.argsort(values, kind="stable")  # NaN comes last
            missing = int(np.count_nonzero(np.isnan(values)))
            order = order[: len(values) - missing]
            mass = None
            if weight is not None:
                mass = weight[order]
                np.cumsum(mass, out=mass)
            return cut_points(values[order], mass, max_bins), missing
        from crucial.kernels import compiled

        count = compiled.copy_ranked(values, self._ranked)
        if count < 0:
            self._instances.checked(values, feature, self._rows)  # says where
        ranked = self._ranked[:count]
        kind: Any = np.uint32 if ranked.dtype.itemsize == 4 else np.uint64
        sign = kind(1) << kind(8 * ranked.dtype.itemsize - 1)
        shifts = np.arange(0, 8 * ranked.dtype.itemsize, 11).astype(kind)
        spare = self._spare[:count].view(kind)
        compiled.sort_bits(ranked.view(kind), spare, sign, kind(2047), shifts)
        return cut_points(ranked, None, max_bins), len(values) - count

    def code(self, thresholds: Floats, out: NDArray[Any]) -> None:
        """Write the codes of the feature that was fetched last."""
        values = self._values
        absent = len(thresholds) + 1
        if self._small:
            codes = np.searchsorted(thresholds, values.astype(np.float64), "left")
            codes[np.isnan(values)] = absent
            out[: len(values)] = codes
            return
        from crucial.kernels import compiled

        if out.dtype == np.uint8:
            padded = np.full(255, np.inf)
            padded[: len(thresholds)] = thresholds
            compiled.bin_column8(values, padded, absent, out)
        else:
            compiled.bin_column(values, thresholds, absent, out)
