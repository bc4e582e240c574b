"""Features that look like the number, id or date of a row, which a ranker must not learn from."""

from __future__ import annotations

import re

import numpy as np

from crucial.data.instances import Instances
from crucial.types import Bools, Floats

__all__ = ["suspicious_features"]

_FEWEST_ROWS = 20
_LOOK = 64  # rows looked at first: most features are no suspects there
_ID_NAME = re.compile(r"(?:^|.*[_\W])(?:id|ids|idx|index|key|rownum|row_number)|.*[a-z](?:Id|ID)")
_FIRST_DATE, _LAST_DATE = 19000101, 21001231
_FEWEST_DATES = 10
_SHARE_OF_IDS = 0.9  # distinct values per row, from which whole numbers under such a name are ids


def suspicious_features(instances: Instances) -> dict[int, str]:
    """Return the features that look like ids or dates, with what each of them looks like.

    Looked at are tables of at least 20 rows and two features that are neither sparse nor coded.
    A feature is suspicious if its values are whole numbers and

    - all distinct, and rising or falling from row to row: numbers of rows, or of orders;
    - nearly all distinct under a name such as ``id`` or ``user_id``;
    - dates written as numbers, 20240131.

    Examples
    --------
    >>> rows = np.arange(20.0)
    >>> table = np.column_stack([100 + 3 * rows, rows % 7, 20240101 + rows])
    >>> suspicious_features(Instances(table, ("order", "day", "date")))
    {0: 'distinct, rising whole numbers', 2: 'dates written as whole numbers'}
    """
    if (
        not isinstance(instances.table, np.ndarray)
        or instances.n_rows < _FEWEST_ROWS
        or instances.n_features < 2
    ):
        return {}
    found = {}
    for feature in range(instances.n_features):
        name = None if instances.names is None else instances.names[feature]
        reason = _suspicion(instances.table[:, feature], name)
        if reason is not None:
            found[feature] = reason
    return found


def _suspicion(column: Floats, name: str | None) -> str | None:
    """Return what a feature looks like, None if it is ordinary."""
    start = column[:_LOOK]
    with np.errstate(invalid="ignore"):
        if start.dtype.kind == "b" or not (start == np.floor(start)).all():
            return None
        if _is_date(start).all() and _is_date(column).all():
            if len(np.unique(column)) >= _FEWEST_DATES:
                return "dates written as whole numbers"
            return None
        for word, sign in (("rising", 1), ("falling", -1)):
            rises = _rises(sign * start.astype(np.float64))  # (most features end here)
            rises = rises and _rises(sign * column.astype(np.float64))
            if rises and (column == np.floor(column)).all():
                return f"distinct, {word} whole numbers"
        if name is not None and _ID_NAME.fullmatch(name):
            known = column[~np.isnan(column)]
            if (known == np.floor(known)).all():
                share = len(np.unique(known)) / len(column)
                return "ids, nearly all distinct" if share >= _SHARE_OF_IDS else None
    return None


def _rises(values: Floats) -> bool:
    """Whether every value is above the one before it (their difference may overflow)."""
    return bool((values[1:] > values[:-1]).all())


def _is_date(values: Floats) -> Bools:
    """Whether whole numbers read as year, month and day."""
    inside = (values >= _FIRST_DATE) & (values <= _LAST_DATE)
    month, day = values // 100 % 100, values % 100
    return np.asarray(inside & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31))
