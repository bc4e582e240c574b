"""Queries: rows grouped by an id, mapped once to contiguous slices, and dealt into folds."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.arrays import as_array, is_missing
from crucial.errors import DataError
from crucial.types import Bools, Floats, Ids, Ints, VectorLike

# --- Queries: rows grouped by an id, mapped once to contiguous slices and back


def _refused(name: str, problem: str) -> DataError:
    return DataError(f"{name} {problem}", parameter=name)


def _as_ids(qid: VectorLike, n_rows: int, name: str) -> Ids:
    """Return query ids as a flat array of one type."""
    ids = as_array(_unmixed(qid), name)
    if ids.ndim == 2 and ids.shape[1] == 1:
        ids = ids[:, 0]
    if ids.ndim != 1:
        raise _refused(name, f"must be one id per row (1 dimension). Got shape {ids.shape}.")
    if len(ids) != n_rows:
        hint = ""
        if ids.dtype.kind in "iu" and len(ids) and int(ids.sum()) == n_rows:
            hint = (
                " These look like group sizes, since they add up to the number of rows: "
                f"pass np.repeat(np.arange(len(sizes)), sizes) as {name} instead."
            )
        raise _refused(
            name, f"must have one id for each of the {n_rows} rows. Got {len(ids)}.{hint}"
        )
    missing = _first_missing(ids)
    if missing is not None:
        what = "NaN" if ids.dtype.kind == "f" else "missing"
        raise _refused(name, f"is {what} in row {missing}; every row must belong to a query.")
    if ids.dtype.kind == "T":
        ids = np.fromiter(ids, object, len(ids))
    if ids.dtype.kind == "O":
        kinds = {type(one) for one in ids}
        if len(kinds) > 1:
            names = sorted(kind.__name__ for kind in kinds)
            raise _refused(name, f"mixes {' and '.join(names)}; use ids of one type.")
        if kinds == {str} and not _ends_in_null(ids):
            ids = ids.astype(str)
    if ids.dtype.kind == "c" or (ids.dtype.kind == "O" and complex in map(type, ids[:1])):
        raise _refused(name, "must not be complex numbers.")
    return ids + 0.0 if ids.dtype.kind == "f" else ids  # (one zero: see `crucial.data.arrays`)


def _unmixed(qid: VectorLike) -> VectorLike:
    """Return the ids; those of a list as an array of objects where NumPy would change them.

    NumPy would make them one type: of NaN the text "nan", of 1 the text "1", and floats, which are
    the same beyond 2^53, of whole numbers beside fractions and on both sides of 2^63. From texts it
    takes the null characters at their ends.
    """
    if not isinstance(qid, list | tuple):
        return qid
    kinds = {type(one) for one in qid}
    if kinds and all(issubclass(kind, int | np.integer | np.bool_) for kind in kinds):
        if np.asarray(qid).dtype.kind in "iub":
            return qid
        return np.fromiter(map(int, qid), object, len(qid))
    if len(kinds) < 2:
        return np.fromiter(qid, object, len(qid)) if _ends_in_null(qid) else qid
    whole = [int(one) for one in qid if isinstance(one, int | np.integer)]
    numbers = all(issubclass(kind, int | float | complex | np.number) for kind in kinds)
    if numbers and max(map(abs, whole), default=0) <= 2**53:
        return qid
    return np.fromiter(qid, object, len(qid))


def _ends_in_null(ids: Sequence[Any] | NDArray[Any]) -> bool:
    """Return whether NumPy would shorten one of the texts, which are of one type."""
    if not len(ids) or not isinstance(ids[0], str | bytes):
        return False
    null = "\0" if isinstance(ids[0], str) else b"\0"
    return any(one.endswith(null) for one in ids)


def _first_missing(ids: NDArray[Any]) -> int | None:
    """Return the first row without an id: NaN, NaT, None or pandas' NA."""
    if ids.dtype.kind in "fmM":
        rows = np.flatnonzero(np.isnan(ids))
        return int(rows[0]) if len(rows) else None
    if ids.dtype.kind not in "OT":  # (T is NumPy's StringDType)
        return None
    return next((row for row, one in enumerate(ids) if is_missing(one)), None)


def _by_value(ids: Ids) -> tuple[Ids, NDArray[np.int32]]:
    """Return the different ids of one of NumPy's types, ascending, and the place of every row's."""
    # Rows of a query mostly follow each other: only one id per run needs sorting.
    runs = np.concatenate(([0], np.flatnonzero(ids[1:] != ids[:-1]) + 1))
    distinct, run_codes = np.unique(ids[runs], return_inverse=True)
    lengths = np.diff(np.append(runs, len(ids)))
    return distinct, np.repeat(run_codes.astype(np.int32), lengths)


def _by_hash(ids: Ids, name: str) -> tuple[Ids, NDArray[np.int32]]:
    """Return the different objects, and the place of every row's.

    Equality decides, not the order: sets have one, by inclusion, in which most are not compared.
    """
    keys = map(tuple, ids) if isinstance(ids[0], list) else ids
    place: dict[Any, int] = {}
    try:
        codes = np.fromiter((place.setdefault(one, len(place)) for one in keys), np.int32, len(ids))
    except TypeError:
        raise _refused(
            name,
            f"has ids of type {type(ids[0]).__name__}, which cannot be compared by their hash. Use "
            "whole numbers or text.",
        ) from None
    distinct = ids[np.unique(codes, return_index=True)[1]]
    order = _ascending(list(place))
    if order is None:
        return distinct, codes
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order))
    return distinct[order], rank[codes]


def _ascending(values: list[Any]) -> list[int] | None:
    """Return the order of different values; None where they have none."""
    try:
        order = sorted(range(len(values)), key=values.__getitem__)
        total = all(values[a] < values[b] for a, b in itertools.pairwise(order))
    except TypeError:
        return None
    return order if total else None


@dataclass(frozen=True)
class Groups:
    """Rows grouped into queries.

    Attributes
    ----------
    ids : array of shape (n_groups,)
        The id of every query, ascending; in the order of their first rows where ids have no order,
        as sets and members of an enumeration.
    starts : int64 array of shape (n_groups + 1,)
        Query ``g`` is ``order[starts[g]:starts[g + 1]]``.
    permutation : int array of shape (n_rows,), or None
        The order, unless it is that of the rows.

    Examples
    --------
    >>> groups = Groups.from_qid(["b", "a", "b"], 3)
    >>> groups.ids.tolist(), groups.order.tolist(), groups.starts.tolist()
    (['a', 'b'], [1, 0, 2], [0, 1, 3])
    """

    ids: Ids
    starts: Ints
    permutation: Ints | None = None

    @classmethod
    def single(cls, n_rows: int) -> Groups:
        """Return one query of all rows, as for no ``qid``."""
        return cls(np.zeros(1, np.int64), np.array([0, n_rows]))

    @classmethod
    def from_qid(cls, qid: VectorLike | None, n_rows: int, name: str = "qid") -> Groups:
        """Group rows by an id of any type, in any order; errors call it ``name``."""
        if qid is None:
            return cls.single(n_rows)
        ids = _as_ids(qid, n_rows, name)
        if n_rows == 0:
            return cls(ids, np.zeros(1, np.int64))
        distinct, codes = _by_hash(ids, name) if ids.dtype.kind == "O" else _by_value(ids)
        order = None if np.all(codes[1:] >= codes[:-1]) else np.argsort(codes, kind="stable")
        sizes = np.bincount(codes, minlength=len(distinct))
        return cls(distinct, np.concatenate(([0], np.cumsum(sizes))).astype(np.int64), order)

    @property
    def order(self) -> Ints:
        """Row numbers, query after query; inside a query in the order of the rows."""
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
    def n_groups(self) -> int:
        """Number of queries."""
        return len(self.ids)

    @property
    def sizes(self) -> Ints:
        """Number of rows of each query."""
        return np.diff(self.starts)

    @property
    def codes(self) -> Ints:
        """Number of the query of every row, in the order of the rows."""
        codes = np.empty(self.n_rows, np.int64)
        codes[self.order] = np.repeat(np.arange(self.n_groups), self.sizes)
        return codes

    def ranked(self, scores: Floats) -> tuple[Ints, Ints, Ints]:
        """Return the rows by query and falling score, their queries, and where ties begin.

        The last has, for every place in that order, the first place with the same score.
        """
        query = np.repeat(np.arange(self.n_groups), self.sizes)
        order = self.order[np.lexsort((-scores[self.order], query))]
        ranked, places = scores[order], np.arange(len(order))
        new = np.ones(len(order), bool)
        new[1:] = (ranked[1:] != ranked[:-1]) | (query[1:] != query[:-1])
        return order, query, np.maximum.accumulate(np.where(new, places, 0))


# --- Deal queries, or rows where there are none, into folds


def deal(
    n_folds: int,
    y: Floats,
    groups: Groups,
    has_qid: bool,
    random: np.random.Generator,
    parameter: str = "cv",
) -> Ints:
    """Return the fold of each row, from 0: whole queries, or without any the rows.

    ``parameter`` is what the caller's number of folds is called, for errors.
    """
    needed = groups.n_groups if has_qid else len(y)
    if n_folds > needed:
        what = "queries, since none is divided" if has_qid else "rows"
        remedy = f"Use {parameter}={needed} or less." if needed > 1 else ""
        if has_qid and needed == 1:
            remedy = "Leave qid out to divide the rows themselves."
        problem = f"{parameter}={n_folds} folds need as many {what}. Got {needed}."
        raise DataError(problem, remedy=remedy, parameter=parameter, value=n_folds)
    if has_qid:
        # Queries with different labels are spread evenly, then those of one label alone.
        order = np.lexsort((random.random(groups.n_groups), groups.one_valued(y)))
        fold = np.empty(groups.n_groups, np.int64)
        fold[order] = np.arange(groups.n_groups) % n_folds
        return fold[groups.codes]
    return _deal_rows(n_folds, y, random)


def deal_at_random(n_folds: int, count: int, random: np.random.Generator) -> Ints:
    """Return the fold of each of ``count`` queries (or other things), whatever their labels are.

    Examples
    --------
    >>> np.bincount(deal_at_random(3, 7, np.random.default_rng(0))).tolist()
    [3, 2, 2]
    """
    return random.permutation(count) % n_folds


def _deal_rows(n_folds: int, y: Floats, random: np.random.Generator) -> Ints:
    """Deal out single rows, such that each fold has its share of every label.

    Rows are sorted by label and dealt out in that order, one to each fold per round, with a new
    order of the folds in each round. This works for two labels and for real numbers alike.
    """
    rounds = -(-len(y) // int(n_folds))  # (a whole number of NumPy may have no sign)
    dealt = np.concatenate([random.permutation(n_folds) for _ in range(rounds)])
    # The first round is the short one: the lowest labels are rarely the rare ones.
    dealt = dealt[len(dealt) - len(y) :]
    fold = np.empty(len(y), np.int64)
    fold[np.lexsort((random.random(len(y)), y))] = dealt
    return fold
