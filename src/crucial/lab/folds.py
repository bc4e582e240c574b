"""Which rows to learn from and which to judge by: whole queries, dealt into folds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.groups import Groups
from crucial.errors import DataError, ParameterError
from crucial.types import Floats, Ints
from crucial.validation import refuse

__all__ = ["Fold", "deal", "deal_at_random", "folds_by_number", "make_folds"]


_RULE = (
    "an int of at least 2, a splitter of scikit-learn's, one fold number a row, or pairs of "
    "(train rows, test rows)"
)

#: In an array of fold numbers: rows that are learned from in every fold and never judged.
ALWAYS_TRAIN = -1


@dataclass(frozen=True, eq=False)
class Fold:
    """One way to divide the rows.

    Attributes
    ----------
    name : object
        What to call it: its number, or as the user did.
    train, test : int arrays
        Numbers of the rows to learn from and to judge by. No query has rows in both.
    """

    name: Any
    train: Ints
    test: Ints


def make_folds(
    cv: Any,
    y: Floats,
    groups: Groups,
    has_qid: bool,
    random: np.random.Generator,
) -> list[Fold]:
    """Make folds as ``cv`` asks for, none of which leaks a query.

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
    if isinstance(cv, str | bytes):  # (which have a split of their own)
        raise refuse("cross_validate", "cv", _RULE, cv)
    if callable(getattr(cv, "split", None)):
        pairs = cv.split(np.zeros((len(y), 1)), y, groups.codes if has_qid else None)
        folds = [_from_pair(at, pair, len(y)) for at, pair in enumerate(pairs)]
    else:
        folds = _given(cv, len(y))
    for fold in folds:
        _check_leak(fold, groups, has_qid)
    return folds


def deal(
    n_folds: int,
    y: Floats,
    groups: Groups,
    has_qid: bool,
    random: np.random.Generator,
    parameter: str = "cv",
) -> Ints:
    """Number of the fold of every row, from 0: whole queries, or without any the rows.

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
        return _deal_queries(n_folds, y, groups, random)
    return _deal_rows(n_folds, y, random)


def deal_at_random(n_folds: int, n_queries: int, random: np.random.Generator) -> Ints:
    """Return the fold of every query, from 0, whatever its labels are."""
    return random.permutation(n_queries) % n_folds


def _deal_queries(n_folds: int, y: Floats, groups: Groups, random: np.random.Generator) -> Ints:
    """Fold of every row: whole queries, those with something to tell apart spread evenly."""
    inside, first = y[groups.order], groups.starts[:-1]
    alike = np.maximum.reduceat(inside, first) == np.minimum.reduceat(inside, first)
    fold = np.empty(groups.n_groups, np.int64)
    fold[np.lexsort((random.random(groups.n_groups), alike))] = np.arange(groups.n_groups) % n_folds
    return fold[groups.codes]


def _deal_rows(n_folds: int, y: Floats, random: np.random.Generator) -> Ints:
    """Fold of every row, such that each fold has its share of every label.

    Ints are lined up by label and dealt out in that order, a round of all folds at a
    time, each round in an order of its own. Two labels and real numbers are one case.
    """
    rounds = -(-len(y) // n_folds)
    dealt = np.concatenate([random.permutation(n_folds) for _ in range(rounds)])
    # The first round is the short one: the lowest labels are rarely the rare ones.
    dealt = dealt[len(dealt) - len(y) :]
    fold = np.empty(len(y), np.int64)
    fold[np.lexsort((random.random(len(y)), y))] = dealt
    return fold


def folds_by_number(numbers: NDArray[Any]) -> list[Fold]:
    """Return one fold for every distinct fold number, given one number per row."""
    names = [one for one in np.unique(numbers).tolist() if one != ALWAYS_TRAIN]
    folds = []
    for name in names:
        test = numbers == name
        if test.all():
            raise DataError(
                f"cv: all rows are in fold {name!r}, so that there is nothing to learn from."
            )
        folds.append(Fold(name, np.flatnonzero(~test), np.flatnonzero(test)))
    if not folds:
        raise DataError(f"cv: all fold numbers are {ALWAYS_TRAIN}, so that no row is judged.")
    return folds


def _given(cv: Any, n_rows: int) -> list[Fold]:
    """Folds that the user made."""
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


def _from_pair(number: int, pair: Any, n_rows: int) -> Fold:
    if not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:
        raise ParameterError(f"cv: fold {number} must be a pair (train rows, test rows).")
    train, test = (_rows(number, what, rows, n_rows) for what, rows in zip(("train", "test"), pair))
    if len(np.unique(test)) < len(test):
        raise DataError(f"cv: fold {number} has a test row twice.")
    return Fold(number, train, test)


def _rows(number: int, what: str, rows: Any, n_rows: int) -> Ints:
    """Row numbers, given as such or as a mask."""
    found = np.asarray(rows)
    if found.dtype.kind == "b" and found.shape == (n_rows,):
        found = np.flatnonzero(found)
    if found.ndim != 1 or len(found) == 0:
        raise DataError(
            f"cv: the {what} rows of fold {number} must be a list of at least one row number. "
            f"Got shape {found.shape}."
        )
    if found.dtype.kind not in "iu" or found.min() < 0 or found.max() >= n_rows:
        raise DataError(
            f"cv: the {what} rows of fold {number} must be ints in [0, {n_rows - 1}]. Got "
            f"{found.dtype} values from {found.min()} to {found.max()}."
        )
    return found.astype(np.int64)


def _check_leak(fold: Fold, groups: Groups, has_qid: bool) -> None:
    """Refuse a fold that learns from what it is judged by."""
    codes = groups.codes if has_qid else np.arange(groups.n_rows)
    shared = np.intersect1d(codes[fold.train], codes[fold.test])
    if not len(shared):
        return
    if has_qid:
        label = groups.ids[[shared[0]]].tolist()[0]
        raise DataError(
            f"cv: query {label!r} has rows to learn from and rows to judge by in fold "
            f"{fold.name!r}. A query must stand whole on one side; pass cv=5 to have them dealt."
        )
    raise DataError(
        f"cv: row {shared[0]} is to be learned from and judged by in fold {fold.name!r}."
    )
