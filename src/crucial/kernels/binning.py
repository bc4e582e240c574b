"""Sorting and coding the values of features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crucial.kernels.sizes import is_small
from crucial.types import Codes, Floats, Reals

__all__ = ["ColumnCutter"]

# Sorting by bits goes through tables of 2,048 counts, which costs more than sorting so few.
_FEW_VALUES = 2000


class ColumnCutter:
    """Works on one column after the other, in memory that is used again.

    Parameters
    ----------
    n_rows : int
        Values of a column.
    n_features : int
        Columns of the whole table.
    dtype : float32 or float64
        Of the values.

    Attributes
    ----------
    gathers : bool
        Whether columns of a table that is stored by row are worth fetching by `gather`.
    """

    def __init__(self, n_rows: int, n_features: int, dtype: np.dtype[np.floating]) -> None:
        self.gathers = not is_small(n_rows, n_features)
        if self.gathers:
            self._ranked, self._spare = np.empty(n_rows, dtype), np.empty(n_rows, dtype)

    def gather(self, table: Reals, rows: NDArray[np.integer], first: int, out: Reals) -> None:
        """Write neighbouring columns of some rows: ``out[c, i] = table[rows[i], first + c]``."""
        from crucial.kernels.compiled.binning import gather_columns

        gather_columns(table, rows, first, out)

    def ranked(self, values: Reals) -> tuple[Reals, bool]:
        """Return the values that are not NaN, ascending, and whether all of them are finite.

        They stay until the next call; not sorted where one is infinite.
        """
        if not self.gathers:
            order = np.argsort(values, kind="stable")  # NaN comes last
            ranked = values[order[: len(values) - np.count_nonzero(np.isnan(values))]]
            return ranked, not np.isinf(ranked[[0, -1]] if len(ranked) else ranked).any()
        from crucial.kernels.compiled.binning import copy_ranked, sort_bits

        count = copy_ranked(values, self._ranked)
        ranked = self._ranked[:count]
        if 0 <= count <= _FEW_VALUES:
            ranked.sort()
        elif count >= 0:
            bits = np.dtype(np.uint32 if ranked.dtype.itemsize == 4 else np.uint64)
            sign = bits.type(1) << bits.type(8 * bits.itemsize - 1)
            shifts = np.arange(0, 8 * bits.itemsize, 11).astype(bits)
            spare = self._spare[:count].view(bits)
            sort_bits(ranked.view(bits), spare, sign, bits.type(2047), shifts)
        return ranked, count >= 0

    def code(self, values: Reals, thresholds: Floats, out: Codes) -> None:
        """Write the code of every value: how many thresholds are below it.

        NaN gets the number after the last bin, ``len(thresholds) + 1``.
        """
        absent = len(thresholds) + 1
        if not self.gathers:
            codes = np.searchsorted(thresholds, values.astype(np.float64), "left")
            codes[np.isnan(values)] = absent
            out[: len(values)] = codes
            return
        from crucial.kernels.compiled.binning import bin_column, bin_column8

        if out.dtype == np.uint8:
            padded = np.full(255, np.inf)
            padded[: len(thresholds)] = thresholds
            bin_column8(values, padded, absent, out)
        else:
            bin_column(values, thresholds, absent, out)
