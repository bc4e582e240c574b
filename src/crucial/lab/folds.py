"""Folds: which rows to train on and which to test on, whole queries together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from crucial.data.groups import Groups, deal
from crucial.errors import DataError, ParameterError
from crucial.parameters import refuse
from crucial.types import Floats, Ints

__all__ = [
    "ALWAYS_TRAIN",
    "Fold",
    "FoldName",
    "folds_by_number",
    "make_folds",
]

#: The number of a fold, or what the user calls it.
FoldName: TypeAlias = int | str | float

_RULE = (
    "an int of at least 2, a splitter of scikit-learn's, one fold number per row, or pairs of "
    "(train rows, test rows)"
)

#: In an array of fold numbers: rows that are in the training part of every fold.
ALWAYS_TRAIN = -1


@dataclass(frozen=True, eq=False)
class Fold:
    """One way to divide the rows.

    Attributes
    ----------
    name : int or str
    train, test : int arrays
        Row numbers. No query has rows in both.
    """

    name: FoldName
    train: Ints
    test: Ints


def make_folds(
    cv: object,
    y: Floats,
    groups: Groups,
    has_qid: bool,
    random: np.random.Generator,
) -> list[Fold]:
    """Make the folds that ``cv`` asks for, and check that none divides a query.

    Parameters
    ----------
    cv : int, splitter, array of fold numbers, or iterable of (train, test)
        As in `crucial.cross_validate`.
    y : array of shape (n_rows,)
        Labels.
    groups : Groups
        The queries.
    has_qid : bool
        Whether there are queries at all; without, rows are dealt out by label.
    random : Generator
        Deals, where ``cv`` is a number.

    Examples
    --------
    >>> groups = Groups.from_qid(["a", "b", "a", "c"], 4)
    >>> folds = make_folds([1, 2, 1, 2], np.array([1.0, 0, 0, 1]), groups, True, None)
    >>> [(one.name, one.train.tolist(), one.test.tolist()) for one in folds]
    [(1, [1, 3], [0, 2]), (2, [0, 2], [1, 3])]
    """
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        if cv < 2:
            raise refuse("cross_validate", "cv", _RULE, cv)
        return folds_by_number(deal(int(cv), y, groups, has_qid, random))
    if isinstance(cv, str | bytes):  # (they have a method split)
        raise refuse("cross_validate", "cv", _RULE, cv)
    split = getattr(cv, "split", None)
    if callable(split):
        pairs = split(np.zeros((len(y), 1)), y, groups.codes if has_qid else None)
        folds = [_from_pair(at, pair, len(y)) for at, pair in enumerate(pairs)]
    else:
        folds = _from_user(cv, len(y))
    for fold in folds:
        _check_leak(fold, groups, has_qid)
    return folds


def folds_by_number(numbers: NDArray[np.generic]) -> list[Fold]:
    """Return one fold per distinct fold number, given one number per row."""
    names = [one for one in np.unique(numbers).tolist() if one != ALWAYS_TRAIN]
    folds = []
    for name in names:
        test = np.asarray(numbers == name)
        if test.all():
            raise DataError(f"cv: all rows are in fold {name!r}, so that none is left to train on.")
        folds.append(Fold(name, np.flatnonzero(~test), np.flatnonzero(test)))
    if not folds:
        raise DataError(f"cv: all fold numbers are {ALWAYS_TRAIN}, so that no row is tested.")
    return folds


def _from_user(cv: object, n_rows: int) -> list[Fold]:
    """Read folds that the user made: one number per row, or pairs of row numbers."""
    if hasattr(cv, "to_numpy"):
        cv = cv.to_numpy()
    if not isinstance(cv, Iterable):
        raise refuse("cross_validate", "cv", _RULE, cv)
    items = list(cv)
    if not items:
        raise ParameterError("cv is empty: give at least one pair (train rows, test rows).")
    if all(isinstance(item, str) or not hasattr(item, "__len__") for item in items):
        if len(items) != n_rows:
            raise DataError(
                f"cv must have one fold number for each of the {n_rows} rows. Got {len(items)}."
            )
        numbers = np.asarray(items)
        if numbers.dtype.kind == "f" and np.isnan(numbers).any():
            row = int(np.flatnonzero(np.isnan(numbers))[0])
            raise DataError(f"cv: the fold number of row {row} is NaN.")
        return folds_by_number(numbers)
    return [_from_pair(at, item, n_rows) for at, item in enumerate(items)]


def _from_pair(number: int, pair: object, n_rows: int) -> Fold:
    if not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:
        raise ParameterError(f"cv: fold {number} must be a pair (train rows, test rows).")
    train, test = (_rows(number, part, rows, n_rows) for part, rows in zip(("train", "test"), pair))
    if len(np.unique(test)) < len(test):
        raise DataError(f"cv: fold {number} has a test row twice.")
    return Fold(number, train, test)


def _rows(number: int, part: str, rows: object, n_rows: int) -> Ints:
    """Return row numbers, given as such or as a mask."""
    found = np.asarray(rows)
    if found.dtype.kind == "b" and found.shape == (n_rows,):
        found = np.flatnonzero(found)
    if found.ndim != 1 or len(found) == 0:
        raise DataError(
            f"cv: the {part} rows of fold {number} must be a list of at least one row number. "
            f"Got shape {found.shape}."
        )
    if found.dtype.kind not in "iu" or found.min() < 0 or found.max() >= n_rows:
        raise DataError(
            f"cv: the {part} rows of fold {number} must be ints in [0, {n_rows - 1}]. Got "
            f"{found.dtype} values from {found.min()} to {found.max()}."
        )
    return found.astype(np.int64)


def _check_leak(fold: Fold, groups: Groups, has_qid: bool) -> None:
    """Refuse a fold that has a query, or a row, in both parts."""
    codes = groups.codes if has_qid else np.arange(groups.n_rows)
    shared = np.intersect1d(codes[fold.train], codes[fold.test])
    if not len(shared):
        return
    if has_qid:
        query = groups.ids[[shared[0]]].tolist()[0]
        raise DataError(
            f"cv: query {query!r} has train rows and test rows in fold {fold.name!r}. All rows of "
            "a query must be in the same part; pass cv=5 to have the queries dealt out."
        )
    raise DataError(f"cv: row {shared[0]} is both a train row and a test row in fold "
                    f"{fold.name!r}.")  # fmt: skip
