"""Cuts and codes one feature after the other, in memory that is used again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from crucial.data.instances import Instances
from crucial.data.quantiles import cut_points, drawn_cut_points
from crucial.kernels.runtime import run_all
from crucial.kernels.stumps import ColumnCutter
from crucial.types import Codes, Floats, Ints, Reals

__all__ = ["Cutter", "over_features"]

T = TypeVar("T")

# Bytes of one row that are fetched together: neighbours share a cache line, which has 64.
_BLOCK, _SMALL_BLOCK = 64, 16
# Rows beyond which memory counts more.
_MANY_ROWS = 200_000


def over_features(
    instances: Instances,
    features: Ints,
    rows: NDArray[np.integer],
    threads: int,
    work: Callable[[int, Cutter], T],
) -> list[T]:
    """Call ``work(place, cutter)`` for every place in ``features``; results in order.

    Each thread has a cutter of its own. On large inputs at most two of them work, since
    each takes up to 40 bytes per row there.
    """
    n_cutters = max(1, min(threads if len(rows) < _MANY_ROWS else min(threads, 2), len(features)))
    results: dict[int, T] = {}
    # Neighbours stay together, since they are fetched together.
    blocks = np.array_split(np.arange(len(features)), n_cutters)

    def run(places: Ints) -> None:
        cutter = Cutter(instances, features[places], rows)
        for place in places.tolist():
            results[place] = work(place, cutter)

    run_all(n_cutters, [partial(run, places) for places in blocks])
    return [results[place] for place in range(len(features))]


class Cutter:
    """Cuts and codes one feature at a time.

    Parameters
    ----------
    instances : Instances
    features : int array
        The features to work on, in that order.
    rows : int array
        The rows, in the order in which they are wanted.
    """

    def __init__(self, instances: Instances, features: Ints, rows: NDArray[np.integer]) -> None:
        self._instances, self._rows = instances, rows
        table = instances.table
        kind = table.dtype if table.dtype == np.float32 else np.dtype(np.float64)
        self._columns = ColumnCutter(len(rows), instances.n_features, kind)
        floats = (
            self._columns.gathers
            and isinstance(table, np.ndarray)
            and table.dtype in (np.float32, np.float64)
        )
        self._stored_by_row = floats and table.flags.c_contiguous
        self._stored_by_column = floats and not self._stored_by_row and table.flags.f_contiguous
        self._values: Reals = np.zeros(0)
        if self._stored_by_column:
            self._values = np.empty(len(rows), kind)
        if self._stored_by_row:
            width = _BLOCK if len(rows) < _MANY_ROWS else _SMALL_BLOCK
            self._block = np.empty((width // kind.itemsize, len(rows)), kind)
            self._fetched = range(0)
            self._last = int(features.max(initial=-1)) + 1

    def fetch(self, feature: int) -> Reals:
        """Return the values of a feature; they stay until the next is fetched."""
        if self._stored_by_column:
            column: Reals = self._instances.table[:, feature]
            # (a mode with which NumPy writes into the memory given)
            column.take(self._rows, out=self._values, mode="clip")
            return self._values
        if not self._stored_by_row:
            self._values = self._instances.column(feature, self._rows)
            return self._values
        if feature not in self._fetched:
            self._fetched = range(feature, min(feature + len(self._block), self._last))
            part = self._block[: len(self._fetched)]
            self._columns.gather(self._instances.table, self._rows, feature, part)
        self._values = self._block[feature - self._fetched.start]
        return self._values

    def ranked(self, feature: int) -> Reals:
        """Return the values of a feature that was fetched, ascending, without abstentions.

        They stay until the next call.
        """
        ranked, finite = self._columns.ranked(self._values)
        if not finite:
            self._instances.checked(self._values, feature, self._rows)  # raises, naming the row
        return ranked

    def cut(
        self,
        feature: int,
        weight: Floats | None,
        max_bins: int | None,
        random: np.random.Generator | None = None,
    ) -> tuple[Floats, int]:
        """Return the thresholds of a feature and the number of its abstentions.

        Parameters
        ----------
        weight : array over the rows, or None
            Not used where thresholds are drawn.
        random : Generator, optional
            Draws thresholds; without it they are quantiles.
        """
        values = self.fetch(feature)
        if weight is None or random is not None:
            ranked = self.ranked(feature)
            if random is not None:
                return drawn_cut_points(ranked, max_bins, random), len(values) - len(ranked)
            return cut_points(ranked, None, max_bins), len(values) - len(ranked)
        self._instances.checked(values, feature, self._rows)
        missing = int(np.count_nonzero(np.isnan(values)))
        order = np.argsort(values, kind="stable")[: len(values) - missing]  # NaN comes last
        mass = weight[order]
        np.cumsum(mass, out=mass)
        return cut_points(values[order], mass, max_bins), missing

    def code(self, thresholds: Floats, out: Codes) -> None:
        """Write the codes of the feature that was fetched last."""
        self._columns.code(self._values, thresholds, out)
