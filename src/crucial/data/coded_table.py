"""A table of which only the bins of its cells are known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from crucial.data.memory import check_room
from crucial.types import Floats, Ints

if TYPE_CHECKING:
    from crucial.data.bins import Bins

__all__ = ["CodedTable"]

_BLOCK_CELLS = 1 << 22


class CodedTable:
    """Bins that stand for a table of floats, one byte per cell.

    A cell reads as one number of its bin: the threshold that ends it, or the next number after
    the last threshold. That is enough for whatever compares values with these thresholds, and
    for nothing else. Constant features read as 0.

    Parameters
    ----------
    bins : Bins
        Of all rows.

    Examples
    --------
    >>> from crucial import Bins, Instances
    >>> values = Instances.from_input([[1.0], [3.0], [np.nan]])
    >>> CodedTable(Bins.build(values, np.arange(3)))[:, 0].round(6).tolist()
    [2.0, 2.0, nan]
    """

    ndim = 2
    dtype = np.dtype(np.float64)

    def __init__(self, bins: Bins) -> None:
        self.bins = bins
        self._place = {int(feature): place for place, feature in enumerate(bins.features)}

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of features."""
        return self.bins.n_rows, self.bins.n_features

    def __len__(self) -> int:
        return self.bins.n_rows

    def _values(self, feature: int) -> Floats:
        """Return the number that each code of a kept feature reads as."""
        cuts = self.bins.thresholds[self._place[feature]]
        last = np.nextafter(cuts[-1:], np.inf) if len(cuts) else np.zeros(1)
        return np.concatenate((cuts, last, [np.nan]))

    def _column(self, feature: int, rows: slice) -> Floats:
        if feature in self._place:
            codes = self.bins.column(self._place[feature])[: self.bins.n_rows]
            column: Floats = self._values(feature)[codes[rows]]
            return column
        empty = np.nan if feature in self.bins.all_missing else 0.0
        return np.full(len(range(*rows.indices(len(self)))), empty)

    def __getitem__(self, key: Any) -> Any:
        """Return some rows as a table of codes, ``table[:, j]`` as floats, or one cell."""
        if not isinstance(key, tuple):
            return CodedTable(self.bins.taken(np.arange(len(self))[key]))
        rows, feature = key
        if isinstance(rows, slice):
            return self._column(int(feature), rows)
        row = int(rows)
        return float(self._column(int(feature), slice(row, row + 1))[0])

    def blocks(self) -> Iterator[Floats]:
        """Yield all rows as floats, some at a time."""
        step = max(1, _BLOCK_CELLS // max(1, self.shape[1]))
        for begin in range(0, len(self), step):
            rows = slice(begin, min(begin + step, len(self)))
            yield np.column_stack([self._column(j, rows) for j in range(self.shape[1])])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        n, width = self.shape
        check_room(
            n * width * 8,
            f"A table of {n:,} rows and {width:,} features that is known by its bins, as floats,",
            "Use weak rankers that need only the bins: stumps or trees.",
        )
        return np.concatenate(list(self.blocks()))

    def arrays(self) -> list[Any]:
        """Return what makes the table: codes, features and thresholds."""
        bins = self.bins
        cuts: Floats = np.concatenate((*bins.thresholds, np.zeros(0)))
        features: Ints = bins.features
        return [bins.codes, features, bins.n_bins, cuts]
