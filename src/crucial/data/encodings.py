"""Columns of categories and of dates as numbers, the same at training and afterwards."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from crucial.data.frame_columns import number_text
from crucial.data.instances import Instances
from crucial.errors import DataTypeError
from crucial.parameters import refuse
from crucial.types import Floats

__all__ = ["Encodings"]

_RULE = (
    "a mapping from the number of a feature to {'kind': 'category', 'values': {...}} or "
    "{'kind': 'time', 'unit': ...}"
)


@dataclass(frozen=True)
class Encodings:
    """How a model reads the columns that are not numbers.

    Attributes
    ----------
    categories : mapping from feature to mapping from category to number
        A category that is not in it was not seen at training: the feature abstains.
    times : mapping from feature to str
        Features that are dates or times, with what their numbers count.

    Examples
    --------
    >>> encodings = Encodings({0: {"red": 0.5, "blue": -0.5}})
    >>> texts = Instances(np.array([[1.0], [0.0], [2.0]]), levels={0: ("blue", "red", "pink")})
    >>> encodings.encode(texts).table.tolist()
    [[0.5], [-0.5], [nan]]
    """

    categories: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    times: Mapping[int, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.categories or self.times)

    @classmethod
    def from_plain(cls, plain: object, n_features: int, owner: str) -> Encodings:
        """Return what `to_plain` wrote, checked; None is no encoding."""
        if plain is None:
            return cls()
        if not isinstance(plain, dict):
            raise refuse(owner, "columns", _RULE, plain)
        categories: dict[int, dict[str, float]] = {}
        times: dict[int, str] = {}
        for key, one in plain.items():
            kind = one.get("kind") if isinstance(one, dict) else None
            known = isinstance(key, str) and key.isdecimal() and int(key) < n_features
            values = one.get("values") if kind == "category" else None
            if known and isinstance(values, dict) and all(map(_is_number, values.values())):
                categories[int(key)] = {str(text): float(v) for text, v in values.items()}
            elif known and kind == "time" and isinstance(one.get("unit"), str):
                times[int(key)] = one["unit"]
            else:
                raise refuse(owner, "columns", _RULE, f"{key!r}: {str(one)[:80]}")
        return cls(categories, times)

    def to_plain(self) -> dict[str, object]:
        """Return the encodings as a model file stores them, by the number of the feature."""
        found: dict[int, object] = {
            feature: {"kind": "category", "values": dict(values)}
            for feature, values in self.categories.items()
        }
        found |= {feature: {"kind": "time", "unit": unit} for feature, unit in self.times.items()}
        return {str(feature): found[feature] for feature in sorted(found)}

    def encode(self, instances: Instances) -> Instances:
        """Return rows of numbers; rows that are encoded already come back as they are.

        Raises
        ------
        DataTypeError
            Columns have text or dates where the model was trained on numbers; it names them all.
        """
        if instances.origin is not None:
            return instances
        self._check_kinds(instances)
        if not self.categories:
            return replace(instances, origin=instances) if self.times else instances
        if instances.is_sparse:
            raise DataTypeError("Input X is sparse, and the model has categories; pass a frame.")
        table = np.array(instances.table, np.float64, order="F")
        for feature, values in self.categories.items():
            table[:, feature] = _numbers(instances, feature, values)
        return replace(instances, table=table, levels=None, origin=instances)

    def _check_kinds(self, instances: Instances) -> None:
        """Refuse text or dates in place of numbers."""
        text = [f for f in instances.levels or () if f not in self.categories]
        times = instances.times or {}
        dates = [f for f in times if f not in self.times]
        for found, what in ((text, "text"), (dates, "dates")):
            if found:
                names = ", ".join(instances.name(feature) for feature in sorted(found))
                raise DataTypeError(
                    f"Input X has {what} in {names}, where the model was trained on other values."
                )
        for feature, unit in times.items():
            if self.times[feature] != unit:
                raise DataTypeError(
                    f"Input X has {unit} in {instances.name(feature)}, where the model was trained "
                    f"on {self.times[feature]}."
                )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _numbers(instances: Instances, feature: int, values: Mapping[str, float]) -> Floats:
    """Return the numbers of the categories of a column; NaN for those not seen at training."""
    levels = (instances.levels or {}).get(feature)
    if levels is not None:
        codes = np.asarray(instances.table[:, feature], np.float64)
    else:
        numbers, inverse = np.unique(instances.table[:, feature], return_inverse=True)
        spelled = _by_number(values)
        levels = tuple(_category_of(one, values, spelled) for one in numbers.tolist())
        codes = inverse.astype(np.float64)
        codes[np.isnan(numbers[inverse])] = np.nan
    of_level = np.array([values.get(level, math.nan) for level in levels] + [math.nan])
    places = np.where(np.isnan(codes), len(levels), codes).astype(np.int64)
    return of_level[places]


def _category_of(
    number: float, values: Mapping[str, float], spelled: Mapping[float, str | None]
) -> str:
    """Return the category that a number is: written the usual way, or in the only other one.

    A part of the rows may have no text but "007", which then is read as 7.
    """
    usual = number_text(number)
    return usual if usual in values else spelled.get(number) or usual


def _by_number(values: Mapping[str, float]) -> dict[float, str | None]:
    """Return categories by the numbers that they can be read as; None where two are the same."""
    found: dict[float, str | None] = {}
    for text in values:
        try:
            number = float(text)
        except ValueError:
            continue
        found[number] = None if number in found else text
    return found
