"""The columns of a table: which is label, query, item or feature, and cells as numbers."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Literal, Protocol

import numpy as np

from crucial.data.arrays import DAYS, SECONDS, NumberColumn, text_column
from crucial.data.dataset import Dataset
from crucial.data.instances import Instances
from crucial.data.words import as_ids, as_objects, shown, shown_name, to_number
from crucial.errors import Argument, FileError, Message, ParameterError
from crucial.io.text import DECIMAL_NOTE, NO_ROW, CellFormat, has_decimal_comma, missing_column
from crucial.types import Floats, PathLike

# --- Which column of a table is what; for every kind of table


#: Roles whose usual names a file may lack, and what is then assumed.
_MAY_BE_ABSENT = {"label": "rows have no labels", "qid": "all rows are ranked together"}

#: Names that other programs give the column of labels.
_LIKELY_LABELS = frozenset(
    ["y", "target", "class", "relevance", "rel", "grade", "rating", "score", "outcome", "labels"]
)

#: Names that other programs give the column of query ids.
_LIKELY_QUERIES = frozenset(
    ["query", "query_id", "queryid", "q_id", "group", "group_id", "session", "session_id",
     "srch_id", "topic", "topic_id"]
)  # fmt: skip


@dataclass(frozen=True)
class RoleNames:
    """Names of the columns by their roles, as in `crucial.read_table`."""

    label: str | None = "label"
    qid: str | None = "qid"
    item: str | None = None
    weight: str | None = None
    features: Sequence[str] | None = None
    ignore: Sequence[str] = ()
    needs_label: bool = False
    missing_features: str = "refuse"
    categories: Sequence[str] = ()


@dataclass(frozen=True)
class Roles:
    """Number of the column of each role, None where there is none."""

    features: list[int]
    notes: list[str]
    label: int | None = None
    qid: int | None = None
    item: int | None = None
    weight: int | None = None
    categories: frozenset[int] = frozenset()


def _check_names(
    path: PathLike, line: int | None, names: Sequence[str], default_label: bool
) -> None:
    """Refuse a first line that does not name the columns, or names two alike."""
    seen: dict[str, int] = {}
    for number, name in enumerate(names, 1):
        if name and name in seen:
            raise FileError(
                path,
                f"two columns are called {shown_name(name)}: the {seen[name]}. and the {number}.",
                line,
                number,
            )
        seen[name] = number
    if names and all(to_number(name) is not None for name in names) and default_label:
        raise FileError(
            path,
            "the first line must name the columns; this one has only numbers. Add a line "
            "such as label,qid,feature_a,feature_b,",
            line,
            remedy=Message(
                "or say that there is none with ",
                Argument("header", False),
                ": columns are then known by their numbers, from 1.",
            ),
        )


def _separator_remedy(line: int | None, names: Sequence[str]) -> str:
    """Return what to do about a table of text with one column only; empty if it has more."""
    if line is None or len(names) > 1:
        return ""
    return Message(
        "If there are more columns, say what is between cells with ", Argument("sep"), "."
    )


def _no_label(path: PathLike, line: int | None, names: Sequence[str]) -> FileError:
    """Return the error for a table to learn from that has no column of labels."""
    listed = ", ".join(map(shown_name, names[:20])) + (", ..." if len(names) > 20 else "")
    likely = next((name for name in names if name.lower() in _LIKELY_LABELS), names[-1])
    remedy = _separator_remedy(line, names) or Message(
        "Name the column of labels, such as with ", Argument("label", likely), "."
    )
    problem = f"there is no column 'label'; columns: {listed}."
    return FileError(path, problem, line, remedy=remedy, value="label")


def _absent(role: str, names: Sequence[str]) -> str:
    """Return the note that a column is absent, and which one may be meant."""
    said = f"there is no column {role!r}: {_MAY_BE_ABSENT[role]}"
    likely = next((name for name in names if name.lower() in _LIKELY_QUERIES), None)
    if role != "qid" or likely is None:
        return said
    meant = Argument("qid", likely)
    return Message(said, f"; if {shown_name(likely)} names the queries, say so with ", meant)


def _known_categories(wanted: RoleNames, names: Sequence[str]) -> list[str]:
    """Return the columns that are categories; those of a model may be absent from a table."""
    if wanted.missing_features == "allow":
        return [name for name in wanted.categories if name in names]
    return list(wanted.categories)


def _present(
    path: PathLike, line: int | None, names: Sequence[str], wanted: RoleNames
) -> list[str]:
    """Return the wanted features to look for; refuse a table that lacks several of them."""
    all_wanted = list(wanted.features or ())
    absent = [name for name in all_wanted if name not in names]
    if wanted.missing_features == "allow" and len(absent) < len(all_wanted):
        return [name for name in all_wanted if name in names]
    if len(absent) < 2:
        return all_wanted
    listed = ", ".join(map(shown_name, absent[:5])) + (", ..." if len(absent) > 5 else "")
    found = ", ".join(map(shown_name, names[:5])) + (", ..." if len(names) > 5 else "")
    raise FileError(
        path,
        f"{len(absent)} of the {len(all_wanted)} features never occur: {listed}; columns: {found}.",
        line,
        remedy=_separator_remedy(line, names)
        or Message(
            "Is this another table? If not, let them abstain with ",
            Argument("missing_features", "allow"),
            ".",
        ),
        value=absent,
    )


def assign_roles(
    path: PathLike, line: int | None, names: Sequence[str], wanted: RoleNames
) -> Roles:
    """Give every column its role; a column without one is a feature, unless ignored.

    ``line`` is the line of the names, for errors; None where they are not in a line.
    """
    default_label = wanted.label == "label" and wanted.features is None
    _check_names(path, line, names, default_label and line is not None)
    if wanted.needs_label and wanted.label == "label" and "label" not in names:
        raise _no_label(path, line, names)

    def place_of(role: str, name: str) -> int:
        if name not in names:
            raise missing_column(path, line, names, name, role, _separator_remedy(line, names))
        return names.index(name)

    places: dict[str, int] = {}
    notes = []
    for role in ("label", "qid", "item", "weight"):
        name = getattr(wanted, role)
        if name == role and role in _MAY_BE_ABSENT and name not in names:
            notes.append(_absent(role, names))
        elif name is not None:
            place = place_of(role, name)
            for other, taken in places.items():
                if taken == place:
                    raise ParameterError(f"column {name!r} cannot be both {other} and {role}.")
            places[role] = place
    role_of = {place_of("ignore", name): "ignore" for name in wanted.ignore}
    role_of |= {place: role for role, place in places.items()}
    if wanted.features is None:
        features = [place for place in range(len(names)) if place not in role_of]
    else:
        features = []
        for name in _present(path, line, names, wanted):
            place = place_of("features", name)
            if place in role_of or place in features:
                role = role_of.get(place, "feature")
                raise ParameterError(f"features names {name!r}, which is already the {role}.")
            features.append(place)
    if not features:
        raise FileError(path, "no column is left for the features.", line)
    unnamed = next((place for place in features if not names[place]), None)
    if unnamed is not None:
        remedy = Message(
            "If it is a row number written by another program, write the file without it, or "
            "leave it out with ",
            Argument("ignore", [""]),
            ".",
        )
        raise FileError(path, "this column has no name.", line, unnamed + 1, remedy=remedy)
    categories = frozenset(
        place_of("categories", name) for name in _known_categories(wanted, names)
    )
    return Roles(features, notes, **places, categories=categories)


# --- What the cells of a column are: numbers, dates, or texts that are categories


#: What a column has; "ambiguous" dates may have day or month first, "nested" cells are JSON.
Kind = Literal["number", "text", "date", "time", "ambiguous", "nested"]

# Numbers as no table may write them: they are mistakes, not categories.
# (no sign can match two parts, and none is given back: a long cell must not take long)
_ODD_NUMBER = re.compile(
    r"[$€£]?\s*+[+-]?[_ .,']*+\d[\d_ .,']*+(?:[eE][+-]?\d++)?\s*+[%$€£]?"
    r"|0[xX][0-9a-fA-F]+|[+-]?inf(?:inity)?",
    re.IGNORECASE,
)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ].*)?|\d{1,2}\.\d{1,2}\.\d{4}(?: .*)?")
_GERMAN = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?: +(\d{1,2}:\d{2}(?::\d{2})?))?")
_SLASHES = re.compile(r"\d{1,2}/\d{1,2}/\d{2,4}(?: .*)?")
_TIME = re.compile(r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?")
_EPOCH = datetime.datetime(1970, 1, 1)
_DAY = datetime.timedelta(days=1)


def column_kind(cells: Sequence[str]) -> Kind:
    """Return what cells are that are not missing; a number among them makes all numbers.

    Examples
    --------
    >>> column_kind(["red", "blue"]), column_kind(["2024-01-31"]), column_kind(["red", "7"])
    ('text', 'date', 'number')
    >>> column_kind(["18-25", "26-35"]), column_kind(["1 000", "x"]), column_kind(["3/4/2024"])
    ('text', 'number', 'ambiguous')
    """
    if not cells or any(_ODD_NUMBER.fullmatch(cell) for cell in cells if not _DATE.fullmatch(cell)):
        return "number"
    kinds: tuple[tuple[re.Pattern[str], Kind], ...] = (
        (_DATE, "date"),
        (_TIME, "time"),
        (_SLASHES, "ambiguous"),
    )
    for pattern, kind in kinds:
        if all(pattern.fullmatch(cell) for cell in cells):
            return kind
    return "nested" if all(cell[:1] in "[{" for cell in cells) else "text"


def to_moment(cell: str) -> float | None:
    """Return a date as days since 1970 (UTC), a time of day as seconds; None if it is neither.

    Examples
    --------
    >>> to_moment("1970-01-02T12:00"), to_moment("02.01.1970"), to_moment("01:00"), to_moment("x")
    (1.5, 1.0, 3600.0, None)
    """
    if _TIME.fullmatch(cell):
        hours, minutes, *more = cell.split(":")
        seconds = float(more[0]) if more else 0.0
        if int(hours) > 23 or int(minutes) > 59 or seconds >= 60.0:
            return None
        return int(hours) * 3600 + int(minutes) * 60 + seconds
    german = _GERMAN.fullmatch(cell)
    if german is not None:
        day, month, year, clock = german.groups()
        time = "" if clock is None else "T" + (clock if clock[1] != ":" else f"0{clock}")
        cell = f"{year}-{int(month):02}-{int(day):02}{time}"
    try:
        moment = datetime.datetime.fromisoformat(cell)
    except ValueError:
        return None
    # (in UTC, the first and last days of the calendar may have no name; their distance is known)
    epoch = _EPOCH if moment.tzinfo is None else _EPOCH.replace(tzinfo=datetime.UTC)
    return (moment - epoch) / _DAY


def unit_of(kind: Kind) -> str:
    """Return what the numbers of dates, or of times of day, count."""
    return DAYS if kind == "date" else SECONDS


def moments(cells: Sequence[str | None]) -> tuple[Floats, int]:
    """Return dates or times as numbers, and the place of the first that is none, or -1."""
    values = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells):
        if cell is not None:
            value = to_moment(cell)
            if value is None:
                return values, row
            values[row] = value
    return values, -1


# --- Columns that cannot be features, all named in one error


_MOST_NAMED = 12


@dataclass(frozen=True)
class UnusableColumn:
    """A column that cannot be a feature.

    Attributes
    ----------
    name : str
    reason : str
        Why, such as "line 3 is 'x'".
    """

    name: str
    reason: str


def cell_error(
    path: PathLike, line: int | None, column: int, name: str, what: str, cell: str
) -> FileError:
    """Return the error for a cell that is not the number it must be."""
    rule, remedy = "a finite number", ""
    if what == "label":
        remedy = "Write a number for each label, higher for rows that should rank higher."
    if what == "feature":
        rule = "a finite number, or empty for missing"
        remedy = Message("Leave the column out with ", Argument("ignore", [name]),
                         ", make it the item with ", Argument("item", name),
                         ", or categories with ", Argument("categories", [name]), ".")  # fmt: skip
    problem = f"{what} {shown(name)} must be {rule}. Got {shown(cell)}."
    return FileError(path, problem, line, column, remedy=remedy, value=cell)


def _plain(text: str) -> str:
    """Return a text without control characters; types of columns have names of the file."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def unusable_error(
    path: PathLike, columns: Sequence[UnusableColumn], line: int | None = None
) -> FileError:
    """Return one error for columns, with what to pass to leave each of them out.

    Examples
    --------
    >>> columns = [UnusableColumn("url", "line 2 is 'a.org'"), UnusableColumn("day", "...")]
    >>> print(unusable_error("x.csv", columns))  # doctest: +ELLIPSIS
    x.csv: 2 columns cannot be features: 'url' (line 2 is 'a.org'), 'day' (...). Leave them out ...
    """
    named = columns[:_MOST_NAMED]
    listed = ", ".join(f"{shown(one.name)} ({_plain(one.reason)})" for one in named)
    more = f" and {len(columns) - len(named)} more" if len(columns) > len(named) else ""
    several = len(columns) > 1
    remedy = Message(
        f"Leave {'them' if several else 'it'} out with ",
        Argument("ignore", [one.name for one in columns]),
        f"; {'one of them' if several else 'it'} may be the item, with ",
        Argument("item", columns[0].name),
        ", or have categories, with ",
        Argument("categories", [columns[0].name]),
        ".",
    )
    count = f"{len(columns)} columns" if several else "a column"
    problem = f"{count} cannot be {'features' if several else 'a feature'}: {listed}{more}."
    return FileError(path, problem, line, remedy=remedy, value=[one.name for one in columns])


# --- The features of a table of which some are text or dates


DISTINCT = "every value differs: an id, or free text"
"""Why a column of text cannot be a feature."""

_MOST_EXAMPLES = 8


def all_differ(texts: Sequence[str]) -> bool:
    """Whether there are several texts, and no two are equal."""
    return len(texts) > 1 and len(set(texts)) == len(texts)


def set_features(
    path: PathLike, data: Dataset, columns: Sequence[NumberColumn], declared: set[int]
) -> None:
    """Set the features of a data set, with notes on those that are categories or dates.

    Parameters
    ----------
    path : str or path
        The file, for errors.
    data : Dataset
        With the names of the features.
    columns : sequence of NumberColumn
    declared : set of int
        Features that are categories by the user's word.

    Raises
    ------
    FileError
        Every value of a column of text differs; it names all such columns.
    """
    names = data.feature_names
    assert names is not None
    table = np.column_stack([column.values for column in columns]).astype(np.float64)
    levels = {j: one.levels for j, one in enumerate(columns) if one.levels is not None}
    times = {j: one.unit for j, one in enumerate(columns) if one.unit is not None}
    declared = declared | {j for j, one in enumerate(columns) if one.declared}
    unusable = [
        UnusableColumn(names[j], DISTINCT)
        for j, texts in levels.items()
        if j not in declared and 1 < len(texts) == np.count_nonzero(~np.isnan(table[:, j]))
    ]
    if unusable:
        raise unusable_error(path, unusable)
    if levels:
        counted = [f"{names[j]} ({len(texts)})" for j, texts in levels.items()]
        data.notes.append(f"categories, with how many there are: {_few(counted)}")
    if times:
        units = [f"{names[j]} ({unit})" for j, unit in times.items()]
        data.notes.append(f"dates and times, as numbers: {_few(units)}")
    data.X = Instances(table, tuple(names), levels or None, times or None, frozenset(declared))


def _few(parts: list[str]) -> str:
    return ", ".join(parts[:_MOST_EXAMPLES]) + (", ..." if len(parts) > _MOST_EXAMPLES else "")


# --- Rows of a table from the texts of its cells, whatever file they came from


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
    watch : CellWatch, optional
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


# --- Tables whose rows another library has cut into cells


def read_records(
    path: PathLike,
    line: int | None,
    names: list[str],
    records: Iterator[Record],
    form: CellFormat,
    wanted: RoleNames,
) -> Dataset:
    """Read a table from its rows.

    Parameters
    ----------
    path : str or path
        The file, for errors.
    line : int or None
        The line of the names, for errors; None where they are not in a line.
    names : list of str
        Of the columns.
    records : iterator of (line, cells)
    form : CellFormat
    wanted : RoleNames
    """
    roles = assign_roles(path, line, names, wanted)
    plan = ColumnPlan(os.fspath(path), names, roles, "\t", form)
    sample = list(islice(records, SAMPLE))
    plan = plan.for_rows(sample)
    records = chain(sample, records)
    return to_dataset(plan, parse_records(plan, records))
