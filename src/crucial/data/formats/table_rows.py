"""Rows of a table from the texts of its cells, whatever file they came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Protocol

import numpy as np

from crucial.data.dataset import Dataset
from crucial.data.formats.cell_format import DECIMAL_NOTE, CellFormat, has_decimal_comma
from crucial.data.formats.cell_kinds import Kind, column_kind, moments, unit_of
from crucial.data.formats.columns import Roles
from crucial.data.formats.feature_columns import DISTINCT, all_differ, set_features
from crucial.data.formats.text_tables import NO_ROW
from crucial.data.formats.unusable import UnusableColumn, cell_error, unusable_error
from crucial.data.frame_columns import NumberColumn, text_column
from crucial.data.words import as_ids, as_objects, shown
from crucial.errors import FileError
from crucial.types import Floats

__all__ = [
    "SAMPLE",
    "ColumnPlan",
    "ParsedRows",
    "Record",
    "has_dates",
    "parse_records",
    "to_dataset",
]

_ROWS_AT_A_TIME = 4096

# Kinds of columns that cannot be features, and why.
_REFUSED: dict[str, str] = {
    "ambiguous": "day or month may be first; write dates as 2024-01-31",
    "nested": "lists and objects are no values",
}

SAMPLE = 1000
"""Rows that are looked at to find out how cells are written."""

#: The line in which a row begins, and its cells.
Record = tuple[int, list[str]]


@dataclass
class ColumnPlan:
    """Where the cells of a row go, and how they are written."""

    path: str
    names: list[str]
    roles: Roles
    sep: str
    form: CellFormat = field(default_factory=CellFormat)
    kinds: dict[int, Kind] = field(default_factory=dict)

    @property
    def n_number_features(self) -> int:
        """Number of features that are numbers."""
        return len(self.roles.features) - len(self.kinds)

    @property
    def number_columns(self) -> list[int]:
        """Columns read as numbers: features, then label and weight where there are."""
        extra = (self.roles.label, self.roles.weight)
        features = [place for place in self.roles.features if place not in self.kinds]
        return features + [place for place in extra if place is not None]

    @property
    def text_columns(self) -> list[int]:
        """Columns read as text: query id and item, where there are, and features of ``kinds``."""
        own = [place for place in (self.roles.qid, self.roles.item) if place is not None]
        return own + list(self.kinds)

    def for_rows(self, records: Sequence[Record]) -> ColumnPlan:
        """Return the plan with what the first rows show about how cells are written.

        Raises
        ------
        FileError
            Several columns cannot be features; it names them all.
        """
        found = self._with_decimal(records)
        found = replace(found, kinds=found._text_kinds(records))
        unusable = [found._unusable(place, records) for place in self.roles.features]
        bad = [one for one in unusable if one is not None]
        if len(bad) > 1 or any(found.kinds.get(p) in _REFUSED for p in self.roles.features):
            order = [self.names[place] for place in self.roles.features]
            bad = sorted([*bad, *found._ids(records)], key=lambda one: order.index(one.name))
            raise unusable_error(self.path, bad)
        return found

    def _with_decimal(self, records: Sequence[Record]) -> ColumnPlan:
        """Return the plan with the decimal sign that numbers have."""
        if self.form.decimal is not None:
            return self
        cells = (cells[place] for _, cells in records for place in self.number_columns)
        comma = has_decimal_comma(cells, self.sep)
        notes = [*self.roles.notes, *([DECIMAL_NOTE] if comma else [])]
        return replace(
            self,
            roles=replace(self.roles, notes=notes),
            form=replace(self.form, decimal="," if comma else "."),
        )

    def known_cells(self, place: int, records: Sequence[Record]) -> list[str]:
        """Return the cells of a column that are not missing."""
        cells = (cells[place].strip() for _, cells in records)
        return [cell for cell in cells if not self.form.is_missing(cell)]

    def _text_kinds(self, records: Sequence[Record]) -> dict[int, Kind]:
        """Return the features that are not numbers, with what they are."""
        kinds: dict[int, Kind] = {}
        for place in self.roles.features:
            if place in self.roles.categories:
                kinds[place] = "text"
                continue
            cells = self.known_cells(place, records)
            if any(self.form.number(cell) is not None for cell in cells):
                continue
            kind = column_kind(cells)
            if kind != "number":
                kinds[place] = kind
        return kinds

    def _unusable(self, place: int, records: Sequence[Record]) -> UnusableColumn | None:
        """Return why a column cannot be a feature, None if it can."""
        kind = self.kinds.get(place, "number")
        name = self.names[place]
        if kind in _REFUSED:
            return UnusableColumn(name, f"{self.known_cells(place, records)[0]}: {_REFUSED[kind]}")
        if kind != "number":
            return None
        _, bad = _numbers([cells[place] for _, cells in records], self.form, careful=True)
        if bad < 0:
            return None
        line, cells = records[bad]
        return UnusableColumn(name, f"line {line}: {shown(cells[place])}")

    def _ids(self, records: Sequence[Record]) -> list[UnusableColumn]:
        """Return the columns of text in which every value differs from the others."""
        return [
            UnusableColumn(self.names[place], DISTINCT)
            for place, kind in self.kinds.items()
            if kind == "text"
            and place not in self.roles.categories
            and all_differ(self.known_cells(place, records))
        ]


@dataclass
class ParsedRows:
    """Some rows: numbers, and texts column by column, in the order of the plan."""

    numbers: Floats
    texts: list[list[str]]


def _numbers(cells: Sequence[str], form: CellFormat, careful: bool) -> tuple[Floats, int]:
    """Make numbers of cells; the second is the place of the first that is none, or -1."""
    if not careful:
        try:
            quick = np.fromiter(map(float, form.quick_numbers(cells)), np.float64, len(cells))
        except ValueError:
            pass
        else:
            if not np.isinf(quick).any():
                return form.without_missing(quick), -1
    values = np.empty(len(cells))
    for row, cell in enumerate(cells):
        value = form.number(cell)
        if value is None or np.isinf(value):
            return values, row
        values[row] = value
    return values, -1


def _parse_some(plan: ColumnPlan, records: list[Record], careful: bool) -> ParsedRows:
    """Parse records that all have the right number of cells."""
    columns = list(zip(*(record for _, record in records)))
    roles, path, names = plan.roles, plan.path, plan.names
    errors: list[tuple[int, int, FileError]] = []
    part = ParsedRows(np.empty((len(records), len(plan.number_columns))), [])
    for slot, place in enumerate(plan.number_columns):
        what = "label" if place == roles.label else "weight" if place == roles.weight else "feature"
        values, bad = _numbers(columns[place], plan.form, careful)
        if bad < 0 and what != "feature" and np.isnan(values).any():
            bad = int(np.flatnonzero(np.isnan(values))[0])
        if bad >= 0:
            line, cell = records[bad][0], columns[place][bad]
            errors.append((bad, place, cell_error(path, line, place + 1, names[place], what, cell)))
        part.numbers[:, slot] = values
    for place in plan.text_columns:
        texts = [cell.strip(" \t") for cell in columns[place]]
        if place == roles.qid and "" in texts:
            bad = texts.index("")
            problem = f"the query id {names[place]!a} is empty; every row must have one."
            errors.append((bad, place, FileError(path, problem, records[bad][0], place + 1)))
        if plan.kinds.get(place, "text") != "text":
            _, bad = moments(plan.form.known(texts))
            if bad >= 0:
                time = plan.kinds[place] == "time"
                kind = "a time such as 23:59" if time else "a date such as 2024-01-31"
                what = f"feature {shown(names[place])} must be {kind}, or empty"
                problem = f"{what}. Got {shown(texts[bad])}."
                errors.append((bad, place, FileError(path, problem, records[bad][0], place + 1)))
        part.texts.append(texts)
    if errors:
        raise min(errors, key=lambda found: found[:2])[2]
    return part


def _next_records(
    plan: ColumnPlan, records: Iterator[Record]
) -> tuple[list[Record], FileError | None]:
    """Take some records, up to the first that cannot be read, and the error for that one."""
    width = len(plan.names)
    taken: list[Record] = []
    try:
        for line, cells in islice(records, _ROWS_AT_A_TIME):
            if len(cells) != width:
                problem = f"expected {width} cells, as in the first line. Got {len(cells)}."
                return taken, FileError(plan.path, problem, line)
            taken.append((line, cells))
    except FileError as error:
        return taken, error
    return taken, None


class CellWatch(Protocol):
    """What sees the text of the cells before they are parsed, such as `CellReader`."""

    #: Whether a cell may be one that ``float`` accepts and a table does not.
    unusual: bool


def parse_records(
    plan: ColumnPlan, records: Iterator[Record], watch: CellWatch | None = None
) -> list[ParsedRows]:
    """Parse records with everything a table may have: words for numbers, any text.

    Parameters
    ----------
    plan : ColumnPlan
    records : iterator of (line, cells)
    watch : Watch, optional
        Without, every cell is read carefully.
    """
    parts = []
    while True:
        if watch is not None:
            watch.unusual = False
        taken, error = _next_records(plan, records)
        if taken:
            parts.append(_parse_some(plan, taken, watch is None or watch.unusual))
        if error is not None:
            raise error  # (only now: errors in earlier lines come first)
        if not taken:
            return parts


def has_dates(plan: ColumnPlan, part: ParsedRows) -> bool:
    """Return whether all cells of columns of dates are dates, or missing."""
    own = part.texts[len(plan.text_columns) - len(plan.kinds) :]
    dates = (texts for kind, texts in zip(plan.kinds.values(), own, strict=True) if kind != "text")
    return all(moments(plan.form.known(texts))[1] < 0 for texts in dates)


def to_dataset(plan: ColumnPlan, parts: list[ParsedRows]) -> Dataset:
    """Put the parts together."""
    if sum(len(part.numbers) for part in parts) == 0:
        raise FileError(plan.path, NO_ROW)
    roles, width = plan.roles, plan.n_number_features
    numbers = np.concatenate([part.numbers[:, :width] for part in parts])
    extra = np.concatenate([part.numbers[:, width:] for part in parts])
    texts = [list(chain.from_iterable(column)) for column in zip(*(part.texts for part in parts))]
    data = Dataset(numbers, notes=list(roles.notes))
    data.feature_names = [plan.names[place] for place in roles.features]
    if roles.label is not None:
        data.y = extra[:, 0].copy()
    if roles.weight is not None:
        data.weight = extra[:, -1].copy()
    if roles.qid is not None:
        data.qid = as_ids(texts[0])
    if roles.item is not None:
        data.item = as_objects(texts[len(plan.text_columns) - len(plan.kinds) - 1])
    if plan.kinds:
        own = texts[len(plan.text_columns) - len(plan.kinds) :]
        columns = {
            place: _feature_column(plan, place, cells)
            for place, cells in zip(plan.kinds, own, strict=True)
        }
        rest = iter(numbers.T)
        whole = [columns[p] if p in columns else NumberColumn(next(rest)) for p in roles.features]
        declared = {slot for slot, p in enumerate(roles.features) if p in roles.categories}
        set_features(plan.path, data, whole, declared)
    return data


def _feature_column(plan: ColumnPlan, place: int, cells: list[str]) -> NumberColumn:
    """Return a feature whose cells are dates, or texts that are categories."""
    known = plan.form.known(cells)
    if plan.kinds[place] == "text":
        return text_column(known, place in plan.roles.categories)
    return NumberColumn(moments(known)[0], unit=unit_of(plan.kinds[place]))
