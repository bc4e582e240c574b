"""Rows of a table by their positions, or by their labels in the index of a frame."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np

from crucial.errors import DataError, ParameterError
from crucial.parameters import plain, refuse
from crucial.wording import printable

__all__ = ["two_rows"]


def two_rows(
    X: object, a: object, b: object, loc: Iterable[object] | None
) -> tuple[int, int, tuple[str, str]]:
    """Return the positions of two rows, and their labels as text.

    Labels are empty where X has no index, or one that counts from 0. A position is refused
    where the index of X has other whole numbers, since it might be meant as a label.

    Examples
    --------
    >>> import pandas
    >>> frame = pandas.DataFrame({"age": [3.0, 5.0]}, index=["d7", "d9"])
    >>> two_rows(frame, None, None, ("d9", "d7"))
    (1, 0, ('d9', 'd7'))
    >>> two_rows(frame, 0, 1, None)
    (0, 1, ('d7', 'd9'))
    """
    index = _index_of(X)
    if loc is not None:
        if a is not None or b is not None:
            raise ParameterError("why takes two positions (a and b) or two labels (loc), not both.")
        labels = list(loc) if isinstance(loc, Iterable) and not isinstance(loc, str) else []
        if len(labels) != 2:
            raise refuse("why", "loc", "a pair of labels", loc)
        if index is None:
            raise DataError(
                f"loc names rows by the index of a frame, and {type(X).__name__} has none: pass "
                "positions as a and b."
            )
        first, second = (_position(index, label) for label in labels)
        return first, second, (_text(labels[0]), _text(labels[1]))
    if a is None or b is None:
        raise ParameterError("why needs two rows: positions a and b, or labels loc=(a, b).")
    if index is None or _counts(index):
        return _whole("a", a, X), _whole("b", b, X), ("", "")
    if index.dtype.kind in "iuf" or any(isinstance(one, numbers.Real) for one in index):
        raise ParameterError(
            f"the index of X has other numbers than the positions of its rows, so that {a!r} and "
            f"{b!r} may be either: pass labels as loc=({a!r}, {b!r}), or the labels of the "
            f"positions as loc=X.index[[{a!r}, {b!r}]]."
        )
    first, second = _whole("a", a, X), _whole("b", b, X)
    inside = [_text(index[row]) if 0 <= row < len(index) else "" for row in (first, second)]
    return first, second, (inside[0], inside[1])


def _index_of(X: object) -> Any:
    """Return the index of a pandas frame; None of anything else."""
    return getattr(X, "index", None) if hasattr(X, "iloc") else None


def _counts(index: Any) -> bool:
    """Return whether labels are positions: 0, 1, 2 and so on."""
    return index.dtype.kind in "iu" and bool(np.array_equal(index, np.arange(len(index))))


def _whole(name: str, row: object, X: object) -> int:
    if not isinstance(row, numbers.Integral) or isinstance(row, bool):
        remedy = "Pass labels of rows as loc=(a, b)." if _index_of(X) is not None else ""
        raise refuse("why", name, "the position of a row, an int", row, remedy)
    return int(row)


def _position(index: Any, label: object) -> int:
    """Return the position of the one row that has the label."""
    from pandas.errors import InvalidIndexError

    try:
        found = index.get_loc(label)
    except (KeyError, TypeError, InvalidIndexError):
        known = ", ".join(repr(_plain(one)) for one in index[:3].tolist())
        raise DataError(
            f"loc: no row has the label {_plain(label)!r}. The index begins with {known}."
        ) from None
    if not isinstance(found, numbers.Integral):
        raise DataError(
            f"loc: several rows have the label {_plain(label)!r}. Make the index unique, or pass "
            "positions as a and b of X.reset_index(drop=True)."
        )
    return int(found)


def _plain(label: object) -> object:
    """Return a label with Python's values in the place of NumPy's, also inside a tuple."""
    return tuple(map(plain, label)) if isinstance(label, tuple) else plain(label)


def _text(label: object) -> str:
    return printable(str(_plain(label)), 60)
