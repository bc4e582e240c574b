"""Type aliases used throughout: arrays inside the library, and what callers may pass in."""

from __future__ import annotations

import os
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]
Singles: TypeAlias = NDArray[np.float32]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Bytes: TypeAlias = NDArray[np.uint8]
#: Values of a feature: float32 or float64.
Reals: TypeAlias = NDArray[np.floating]
#: Bins of the values of a feature, as numbers of one, two or four bytes.
Codes: TypeAlias = NDArray[np.unsignedinteger]
#: A table of numbers of any type.
Numbers: TypeAlias = NDArray[np.number | np.bool_]
#: Ids of queries, items, users or judges: whole numbers, or text.
Ids: TypeAlias = NDArray[np.generic]
#: Ids and names: one long string does not widen the others, as it would in a text array.
Objects: TypeAlias = NDArray[np.object_]

#: A user, an item or a judge.
Id: TypeAlias = int | str

PathLike: TypeAlias = str | os.PathLike[str]


class SparseLike(Protocol):
    """A scipy sparse matrix or array."""

    shape: tuple[int, int]

    def tocsr(self) -> Any:
        """Return the matrix in compressed sparse rows."""


class FrameLike(Protocol):
    """A pandas, polars or pyarrow table: anything with named columns."""

    @property
    def columns(self) -> Any:
        """The columns or their names."""


class RowsLike(Protocol):
    """Rows that were checked before: `crucial.data.Instances`."""

    @property
    def table(self) -> Any:
        """The array or sparse matrix."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """The feature names, if there are any."""


#: Rows by features, as callers pass them.
TableLike: TypeAlias = ArrayLike | SparseLike | FrameLike | RowsLike
#: One entry per row: labels, query ids or weights, as callers pass them.
VectorLike: TypeAlias = ArrayLike
