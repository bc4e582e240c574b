"""Rows as an engine that knows text gets them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from crucial.data.arrays import DAYS, SECONDS, number_text
from crucial.model.export.form import ScoreForm
from crucial.model.export.settings import ExportSettings
from crucial.types import Floats, Objects

__all__ = [
    "UNSEEN",
    "as_written",
    "numbers_named",
    "row_dicts",
    "text_of",
    "time_texts",
    "time_ticks",
    "whole_ticks",
]

#: A category that no model has seen: the feature abstains.
UNSEEN = "a category that was not seen"

# Microseconds of one unit, and those of the years 1 to 9999.
_TICKS = {DAYS: 86_400e6, SECONDS: 1e6}
_FIRST, _LAST = -62_135_596_800_000_000, 253_402_300_799_999_999


def time_ticks(values: Floats, unit: str) -> np.ndarray:
    """Return dates or times as whole microseconds; NaT where a value is missing.

    Examples
    --------
    >>> time_ticks(np.array([1.5, np.nan]), DAYS)
    array(['1970-01-02T12:00:00.000000',                        'NaT'],
          dtype='datetime64[us]')
    """
    present = ~np.isnan(values)
    scaled = np.where(present, values, 0.0) * _TICKS[unit]
    ticks = np.clip(np.rint(scaled), float(_FIRST), float(_LAST - 100)).astype(np.int64)
    kind = "datetime64[us]" if unit == DAYS else "timedelta64[us]"
    out: np.ndarray = ticks.astype(kind)
    out[~present] = np.array("NaT", kind)
    return out


def whole_ticks(values: Floats, unit: str) -> Floats:
    """Return the numbers that a model has of the microseconds nearest to some values."""
    ticks = time_ticks(values, unit)
    return np.where(np.isnat(ticks), np.nan, ticks.astype(np.int64) / _TICKS[unit])


def time_texts(values: Floats, unit: str) -> Objects:
    """Return dates and times of day as ISO text, durations as seconds; None where missing."""
    ticks = time_ticks(values, unit)
    if unit == DAYS:
        return np.array([None if one is None else one.isoformat(" ") for one in ticks.tolist()])
    out = values.astype(object)
    for at, number in enumerate(ticks.astype(np.int64).tolist()):
        if not np.isnat(ticks[at]) and 0 <= number < 86_400_000_000:
            second, tick = divmod(number, 1_000_000)
            clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
            out[at] = f"{clock}.{tick:06}"
    return out


def text_of(numbers: Mapping[str, float]) -> dict[float, str]:
    """Return a category of every number."""
    return {number: category for category, number in numbers.items()}


def numbers_named(
    categories: Mapping[str, float], floats: bool = False
) -> dict[int | float, float]:
    """Return the numbers that categories are the names of, where they are, and what each has.

    Parameters
    ----------
    categories : mapping from name to number
    floats : bool
        Leave out whole numbers that are no floats.

    Examples
    --------
    >>> numbers_named({"red": 0.1, "7": 0.2, "0.5": 0.3, "07": 0.4})
    {7: 0.2, 0.5: 0.3}
    """
    found: dict[int | float, float] = {}
    for name, own in categories.items():
        for kind in (int, float):
            try:
                number = kind(name)
            except ValueError:
                continue
            if number - number == 0 and number_text(number) == name:
                if not floats or (abs(number) < 2**1023 and float(number) == number):
                    found.setdefault(number, own)
                break
    return found


def row_dicts(X: Floats, form: ScoreForm, settings: ExportSettings) -> Iterator[dict[str, object]]:
    """Yield rows by the names of features; columns of text with a category of each number.

    The categories are those of the model, not what an export says they are: it is on trial. In
    every other row a category that is the name of a number is that number, and one that is missing
    is None and not one that was never seen.

    Parameters
    ----------
    X : float64 array of shape (n_rows, n_features)
    form : ScoreForm
    settings : ExportSettings
    """
    texts = _texts(form, settings)
    numbers = {
        feature: {own: number for number, own in numbers_named(known, floats=True).items()}
        for feature, known in form.encodings.categories.items()
    }
    for at, row in enumerate(X.tolist()):
        values: dict[str, object] = dict(zip(form.names, row, strict=True))
        for feature, text in texts.items():
            own, plain = row[feature], text.get(row[feature])
            if at % 2:
                values[form.names[feature]] = numbers[feature].get(own, plain)
            else:
                values[form.names[feature]] = UNSEEN if plain is None else plain
        yield values


def as_written(
    X: Floats,
    form: ScoreForm,
    settings: ExportSettings,
    written: Mapping[int, Mapping[str, float]],
) -> Floats:
    """Return rows with the numbers that an export has for the text of each category.

    Parameters
    ----------
    X, form, settings : as in `row_dicts`
    written : mapping from feature to mapping from category to number
        What the export says.
    """
    out = X.copy()
    for feature, text in _texts(form, settings).items():
        numbers = written[feature]
        seen = [numbers.get(text.get(value, UNSEEN), np.nan) for value in X[:, feature].tolist()]
        out[:, feature] = seen
    return out


def _texts(form: ScoreForm, settings: ExportSettings) -> dict[int, dict[float, str]]:
    """Return a category of every number of each column that the engine gets as text."""
    known = {} if settings.encoded else form.encodings.categories
    return {feature: text_of(numbers) for feature, numbers in known.items()}
