"""What a part is made from: codes, labels, queries and weights of whole queries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.data.bins import Bins
from crucial.errors import DataError
from crucial.types import Floats, Ints

__all__ = ["PartRows"]


@dataclass(frozen=True)
class PartRows:
    """Rows of whole queries, by the bins that all parts share.

    Attributes
    ----------
    bins : Bins
        The thresholds of all parts, with the codes of these rows: one byte each, of shape
        (n_kept, n_rows padded to a multiple of 8).
    labels : float64 array of shape (n_rows,)
    query : int64 array of shape (n_rows,)
        The place of the id of the row's query among the sorted ids of all parts. Rows of one
        query keep the order that they had in the input.
    weight : float64 array of shape (n_rows,), optional
        A row of weight 2 counts as two rows. All parts have weights, or none.
    query_weight : float64 array of shape (n_rows,), optional
        Factor on the pairs of the row's query. All parts have these, or none.
    """

    bins: Bins
    labels: Floats
    query: Ints
    weight: Floats | None = None
    query_weight: Floats | None = None

    def __post_init__(self) -> None:
        n = self.bins.n_rows
        for name in ("labels", "query", "weight", "query_weight"):
            values = getattr(self, name)
            if values is not None and values.shape != (n,):
                raise DataError(f"a part of {n} rows has {name} of shape {values.shape}.")
        if self.bins.codes.dtype != np.uint8 or self.bins.stored is not None:
            raise DataError("parts need codes of one byte: use at most 255 bins per feature.")

    def taken(self, places: Ints) -> PartRows:
        """Return some of the rows, in this order."""
        weight, factor = self.weight, self.query_weight
        return PartRows(
            self.bins.taken(places),
            self.labels[places],
            self.query[places],
            None if weight is None else weight[places],
            None if factor is None else factor[places],
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.bins.n_rows
