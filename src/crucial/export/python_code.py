"""A Python module with one function of a row, which imports nothing but the standard library."""

from __future__ import annotations

import platform
import pprint
from typing import Any

import numpy as np

from crucial.export.export import function_name, numbers_named, row_dicts
from crucial.export.targets import Target
from crucial.export.trees import ExportSettings, ProgramTables
from crucial.model.form import ScoreForm
from crucial.types import Floats

_CODE = '''"""Scores of a ranker: the higher, the better.

``{name}(row)`` scores one row: a mapping from names of features to values, or a sequence of values
in the order of ``FEATURES``. None, NaN and a name that is not there are "no opinion".{missing}
"""

from bisect import bisect_left
from math import exp

FEATURES = {features}
CATEGORIES = {categories}
_T = {tables}
_INTERCEPT, _DIVISOR, _OFFSET, _SLOPE = {end}


def _numbers(row):
    values = [row.get(name) for name in FEATURES] if hasattr(row, "get") else list(row)
    if len(values) != len(FEATURES):
        raise ValueError(f"a row has {{len(FEATURES)}} values. Got {{len(values)}}.")
    for place, numbers in CATEGORIES.items():
        values[place] = numbers.get(values[place])
    return [float("nan") if value is None else float(value) for value in values]


def {name}(row):
    x = _numbers(row)
    steps = 0.0
    start, thresholds, values = _T["step_start"], _T["thresholds"], _T["values"]
    for i, feature in enumerate(_T["steps"]):
        begin, at, value = start[i], start[i] + 2 * i, x[feature]
        if value == value:
            at += 1 + bisect_left(thresholds, value, begin, start[i + 1]) - begin
        steps += values[at]
    trees = 0.0
    features, cuts, missing = _T["node_feature"], _T["node_threshold"], _T["node_missing"]
    for node in _T["roots"]:
        while node >= 0:
            value, cut = x[features[node]], cuts[node]
            if value != value:
                right = missing[node]
            else:
                right = cut is not None and value > cut
            node = _T["node_right" if right else "node_left"][node]
        trees += _T["leaves"][~node]
    pieces = 0.0
    for feature, low, high, unit, default, weight in _T["pieces"]:
        value = x[feature]
        if value == value:
            value = min(max(value, low), high)
            pieces += weight * ((value * unit - low * unit) / (high * unit - low * unit))
        else:
            pieces += weight * default
    total = (((steps + trees) + pieces) + _INTERCEPT) / _DIVISOR + _OFFSET
    {result}
'''
_WIDTH = 92
_SCORE = "return total"
_PROBABILITY = """t = _SLOPE * total
    return 1.0 / (1.0 + exp(-t)) if t > 0.0 else exp(t) / (1.0 + exp(t))"""


def _write(form: ScoreForm, settings: ExportSettings) -> bytes:
    name = function_name(settings, "Python")
    categories = {} if settings.encoded else form.encodings.categories
    used = {
        feature: {**numbers, **numbers_named(numbers)} for feature, numbers in categories.items()
    }
    tables = ProgramTables.of(form).plain()
    end = (form.intercept, form.divisor, form.offset, form.slope)
    text = _CODE.format(
        name=name,
        missing=f"\n{settings.missing_note}" if settings.missing_note else "",
        features=_plain(form.names),
        categories=_plain(used),
        tables=_tables_text(tables),
        end=repr(end),
        result=_PROBABILITY if settings.probability else _SCORE,
    )
    return text.encode()


def _plain(value: object) -> str:
    return pprint.pformat(value, width=98, compact=True, sort_dicts=False)


def _tables_text(tables: dict[str, list[Any]]) -> str:
    """Return lists by their names, as many items in a line as fit."""
    parts = []
    for name, items in tables.items():
        lines, line = [], f"[{', '.join(map(repr, items[:1]))}"
        for item in map(repr, items[1:]):
            if len(line) + len(item) > _WIDTH:
                lines.append(line + ",")
                line = item
            else:
                line += f", {item}"
        parts.append(f"    {name!r}: " + "\n    ".join([*lines, line + "]"]))
    return "{\n" + ",\n".join(parts) + "\n}"


def _run(content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings) -> Floats:
    space: dict[str, Any] = {}
    exec(compile(content, "export", "exec"), space)  # (what was written here a moment ago)
    score = space[function_name(settings, "Python")]
    return np.array([score(row) for row in row_dicts(X, form, settings)], np.float64)


def _engine(
    content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings
) -> tuple[None, str]:
    return None, f"Python {platform.python_version()}"


TARGET = Target(
    name="python",
    title="a Python module with one function of a row, which imports nothing else",
    numbers="float64",
    write=_write,
    twin=_run,
    engine=_engine,
    engine_name="Python",
    holds=frozenset({"trees", "pieces", "probability", "text"}),
    takes=frozenset({"shift", "probability"}),
    trial_cells=1_000_000,
    shares_nodes=True,
)
