"""Values and tests of features as text: categories by name, dates as dates."""

from __future__ import annotations

import datetime
import math

from crucial.data.encodings import Encodings
from crucial.data.frame_columns import DAYS
from crucial.data.instances import Instances
from crucial.model.text import printable

__all__ = ["cell_text", "question_text", "value_text"]

_NAMED = 5  # categories that a question names
_WIDTH = 30


def value_text(encodings: Encodings, feature: int, value: float) -> str:
    """Return a value of a feature that has no categories: a date where it is one.

    Examples
    --------
    >>> value_text(Encodings(times={0: DAYS}), 0, 18262.5)
    '2020-01-01 12:00'
    """
    if math.isnan(value):
        return "missing"
    if encodings.times.get(feature) == DAYS and -700_000 < value < 2_900_000:
        moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(days=value)
        return f"{moment:%Y-%m-%d}" if value == int(value) else f"{moment:%Y-%m-%d %H:%M}"
    return f"{value:.6g}"


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
