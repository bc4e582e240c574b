"""Values and tests of features as text: categories by name, dates as dates."""

from __future__ import annotations

import math

import numpy as np

from crucial.data.arrays import DAYS
from crucial.data.instances import Encodings, Instances
from crucial.wording import printable

__all__ = ["cell_text", "question_text", "value_text"]

_NAMED = 5  # categories that a question names
_WIDTH = 30
_DAY, _MINUTE, _SECOND, _THOUSANDTH = 86_400_000_000, 60_000_000, 1_000_000, 1_000  # microseconds


def value_text(encodings: Encodings, feature: int, value: float) -> str:
    """Return a value of a feature that has no categories: a date where it is one.

    A time of day has the digits that it needs, up to microseconds.

    Examples
    --------
    >>> dates = Encodings(times={0: DAYS})
    >>> value_text(dates, 0, 18262.5), value_text(dates, 0, 18262.00001)
    ('2020-01-01 12:00', '2020-01-01 00:00:00.864')
    """
    if math.isnan(value):
        return "missing"
    if encodings.times.get(feature) == DAYS and -700_000 < value < 2_900_000:
        return _moment_text(value)
    return f"{value:.6g}"


def _moment_text(days: float) -> str:
    """Return days since 1970 as a date, with the time of day where they are not whole."""
    ticks = round(days * _DAY)
    # Far from 1970 a float is coarser than a microsecond: of several times, the shortest text.
    for unit in (_MINUTE, _SECOND, _THOUSANDTH):
        near = round(days * _DAY / unit) * unit
        if float(near) / _DAY == days:
            ticks = near
            break
    date, time = str(np.datetime64(ticks, "us")).split("T")
    if ticks % _DAY == 0:
        return date
    return f"{date} {time[:5] if ticks % _MINUTE == 0 else time.rstrip('0').rstrip('.')}"


def question_text(encodings: Encodings, name: str, feature: int, threshold: float) -> str:
    """Return the test whether a feature is above a threshold: for categories, which are.

    Examples
    --------
    >>> encodings = Encodings({0: {"red": 0.5, "blue": -0.5, "pink": 0.1}})
    >>> question_text(encodings, "colour", 0, 0.0)
    'colour is pink or red'
    """
    if feature not in encodings.categories:
        return f"{name} > {value_text(encodings, feature, threshold)}"
    above = sorted(text for text, v in encodings.categories[feature].items() if v > threshold)
    if not above:
        return f"{name} is none of the categories"
    few = [printable(text, _WIDTH) for text in above[:_NAMED]]
    more = [f"{len(above) - len(few)} others"] if len(above) > len(few) else []
    *first, last = [*few, *more]
    return f"{name} is {', '.join(first)}{' or ' if first else ''}{last}"


def cell_text(encodings: Encodings, instances: Instances, row: int, feature: int) -> str:
    """Return a cell of encoded rows as it was before, with a word if its category is new."""
    source = instances if instances.origin is None else instances.origin
    value = float(instances.column(feature, None)[row])
    if feature not in encodings.categories:
        return value_text(encodings, feature, value)
    text = source.text(row, feature)
    if text is None:
        return "missing"
    return printable(text, _WIDTH) + (" (unseen)" if math.isnan(value) else "")
