"""Queries: which rows belong together, mapped once to contiguous slices and back."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.errors import DataError
from crucial.types import Bools, Floats, Ints

__all__ = ["Groups", "as_array"]


def as_array(values: Any, name: str) -> NDArray[Any]:
    """Return a list, an array or a column of a frame as an array."""
    if hasattr(values, "to_numpy"):
        return np.asarray(values.to_numpy())
    try:
        return np.asarray(values)
    except ValueError:  # (NumPy's message is about arrays)
        raise DataError(f"{name} is ragged: its rows are of different lengths.") from None


def _missing(name: str, row: int, what: str = "missing") -> DataError:
    problem = f"{name} is {what} in row {row}; every row must belong to a query."
    return DataError(problem, parameter=name)


def _as_ids(qid: Any, n_rows: int, name: str) -> NDArray[Any]:
    """Query ids as a flat array of one sortable kind."""
    ids = as_array(qid, name)
    if ids.ndim == 2 and ids.shape[1] == 1:
        ids = ids[:, 0]
    if ids.ndim != 1:
        raise DataError(
            f"{name} must be one id a row (1 dimension). Got an array of shape {ids.shape}."
        )
    if len(ids) != n_rows:
        hint = ""
        if ids.dtype.kind in "iu" and len(ids) and int(ids.sum()) == n_rows:
            hint = (
                " These look like group sizes, since they add up to the number of rows: "
                f"pass np.repeat(np.arange(len(sizes)), sizes) as {name} instead."
            )
        raise DataError(
            f"{name} must have one id for each of the {n_rows} rows. Got {len(ids)}.{hint}"
        )
    if ids.dtype.kind == "f" and np.isnan(ids).any():
        row = int(np.flatnonzero(np.isnan(ids))[0])
        raise _missing(name, row, "NaN")
    if ids.dtype.kind in "mM" and np.isnat(ids).any():
        row = int(np.flatnonzero(np.isnat(ids))[0])
        raise _missing(name, row)
    if ids.dtype.kind == "O" or type(ids.dtype).__name__ == "StringDType":
        for row, one in enumerate(ids):
            # (pandas' NA cannot be asked whether it differs from itself)
            if one is None or type(one).__name__ == "NAType" or one != one:
                raise DataError(
                    f"{name} is missing in row {row}; every row must belong to a query."
                )
        kinds = {type(one) for one in ids}
        if len(kinds) > 1:
            names = sorted(k.__name__ for k in kinds)
            raise DataError(f"{name} mixes {' and '.join(names)}; use ids of one type.")
        if kinds == {str}:
            ids = ids.astype(str)
    if ids.dtype.kind == "c":
        raise DataError(f"{name} must not be complex numbers.")
    return ids


@dataclass(frozen=True)
class Groups:
    """Rows sorted into queries.

    Attributes
    ----------
    ids : array of shape (n_groups,)
        The id of every query, ascending.
    starts : int64 array of shape (n_groups + 1,)
        Query ``g`` is ``order[starts[g]:starts[g + 1]]``.
    permutation : int array of shape (n_rows,), or None
        The order, where it is not that of the rows.

    Examples
    --------
    >>> groups = Groups.from_qid(["b", "a", "b"], 3)
    >>> groups.ids.tolist(), groups.order.tolist(), groups.starts.tolist()
    (['a', 'b'], [1, 0, 2], [0, 1, 3])
    """

    ids: NDArray[Any]
    starts: Ints
    permutation: Ints | None = None

    @classmethod
    def single(cls, n_rows: int) -> Groups:
        """All rows in one query: what no ``qid`` means."""
        return cls(np.zeros(1, np.int64), np.array([0, n_rows]))

    @classmethod
    def from_qid(cls, qid: Any, n_rows: int, name: str = "qid") -> Groups:
        """Sort rows into queries by an id of any type, in any order; errors call it ``name``."""
        if qid is None:
            return cls.single(n_rows)
        ids = _as_ids(qid, n_rows, name)
        if n_rows == 0:
            return cls(ids, np.zeros(1, np.int64))
        # Files come with their queries in runs: only one id a run needs sorting.
        runs = np.concatenate(([0], np.flatnonzero(ids[1:] != ids[:-1]) + 1))
        distinct, run_codes = np.unique(ids[runs], return_inverse=True)
        lengths = np.diff(np.append(runs, n_rows))
        codes = np.repeat(run_codes.astype(np.int32), lengths)
        ordered = bool(np.all(run_codes[1:] > run_codes[:-1]))
        order = None if ordered else np.argsort(codes, kind="stable")
        sizes = np.bincount(codes, minlength=len(distinct))
        return cls(distinct, np.concatenate(([0], np.cumsum(sizes))).astype(np.int64), order)

    @property
    def order(self) -> Ints:
        """Row numbers, query after query; inside a query in the order they came."""
        return np.arange(self.n_rows) if self.permutation is None else self.permutation

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.starts[-1])

    def one_valued(self, y: Floats) -> Bools:
        """Return which queries have a single value of ``y``, so that nothing can be ranked."""
        values, first = y[self.order], self.starts[:-1]
        return np.asarray(np.maximum.reduceat(values, first) == np.minimum.reduceat(values, first))

    @property
    def labels(self) -> NDArray[Any]:
        """The old name of `ids`."""
        warnings.warn("Groups.labels is now Groups.ids.", DeprecationWarning, stacklevel=2)
        return self.ids

    @property
    def n_groups(self) -> int:
        """Number of queries."""
        return len(self.ids)

    @property
    def sizes(self) -> Ints:
        """Rows in each query."""
        return np.diff(self.starts)

    @property
    def codes(self) -> Ints:
        """Number of the query of every row, in the order the rows came."""
        codes = np.empty(self.n_rows, np.int64)
        codes[self.order] = np.repeat(np.arange(self.n_groups), self.sizes)
        return codes
