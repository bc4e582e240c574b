"""Pairs: which row or item should rank above which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from crucial.data.arrays import as_array
from crucial.data.words import shown
from crucial.errors import Argument, DataError, Message
from crucial.parameters import check, one_of
from crucial.types import Floats, Ids, Ints, VectorLike

__all__ = ["PairTable"]


@dataclass
class PairTable:
    """Which row or item should rank above which.

    Attributes
    ----------
    winner, loser : int64 arrays, or object arrays of str
        Row numbers (from 0) or item ids; both of one kind.
    weight : float64 array or None
        Importance of each pair.
    """

    winner: Ids
    loser: Ids
    weight: Floats | None = None

    def rows(
        self,
        n_rows: int,
        item: VectorLike | None = None,
        *,
        by: Literal["auto", "row", "item"] = "auto",
    ) -> Ints:
        """Return the pairs as row numbers of a table.

        Parameters
        ----------
        n_rows : int
            Number of rows of the table.
        item : array of shape (n_rows,), optional
            Item ids of its rows.
        by : {"auto", "row", "item"}
            Whether pairs name row numbers or items; "auto": items where ``item`` is given.

        Returns
        -------
        int64 array of shape (n_pairs, 2)
            Winner and loser.

        Examples
        --------
        >>> pairs = PairTable(np.array(["b"], object), np.array(["a"], object))
        >>> pairs.rows(3, ["a", "b", "c"]).tolist()
        [[1, 0]]
        """
        check("rows", "by", by, one_of("auto", "row", "item"))
        if by == "item" and item is None:
            raise DataError("pairs by item need the item ids of the rows; pass them as item.")
        if by == "row" or item is None:
            return self._by_number(n_rows)
        return self._by_item(n_rows, as_array(item, "item"))

    def _by_number(self, n_rows: int) -> Ints:
        """Return pairs that name row numbers."""
        ids = np.column_stack([self.winner, self.loser])
        if ids.dtype.kind not in "iu":
            text = next(name for name in ids.ravel() if isinstance(name, str))
            raise DataError(
                f"pairs must name row numbers where rows have no item ids. Got {shown(text)}."
            )
        table = ids.astype(np.int64)
        outside = (table < 0) | (table >= n_rows)
        if outside.any():
            pair, side = np.argwhere(outside)[0].tolist()
            raise DataError(
                f"pair {pair} (from 0) names row {table[pair, side]}, but rows go from 0 to "
                f"{n_rows - 1}."
            )
        return table

    def _by_item(self, n_rows: int, item: Ids) -> Ints:
        """Return the rows of pairs that name items, each of exactly one row."""
        if len(item) != n_rows:
            raise DataError(f"item must have an id for each of the {n_rows} rows. Got {len(item)}.")
        places: dict[str, list[int]] = {}
        for row, name in enumerate(item):
            places.setdefault(str(name), []).append(row)
        table = np.empty((len(self.winner), 2), np.int64)
        for side, names in enumerate((self.winner, self.loser)):
            for pair, name in enumerate(names):
                found = places.get(str(name), [])
                if len(found) != 1:
                    what = f"rows {found[0]} and {found[1]} have both" if found else "no row has"
                    raise DataError(
                        f"pair {pair} (from 0) names item {shown(str(name))}, which {what}.",
                        remedy=Message("Use ", Argument("by", "row"), " if these are row numbers."),
                    )
                table[pair, side] = found[0]
        return table
