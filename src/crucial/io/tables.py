"""Tables with named columns as data sets: which column is what, and cells as features."""

from __future__ import annotations

import datetime
import inspect
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal

import numpy as np

from crucial.data.arrays import DAYS, SECONDS, NumberColumn, text_column
from crucial.data.dataset import Dataset
from crucial.data.files import first_bytes
from crucial.data.instances import Instances
from crucial.data.words import (
    BOM,
    CellTable,
    as_ids,
    as_objects,
    missing_column,
    one_line,
    shown,
    shown_name,
    to_number,
)
from crucial.errors import Argument, FileError, Message, ParameterError
from crucial.io.options import TableOptions, with_options
from crucial.io.svmlight import read_svmlight
from crucial.io.text import (
    EXCEL,
    JSON,
    MISSING_WORDS,
    NO_ROW,
    PARQUET,
    CellFormat,
    TextFile,
    excel_table,
    has_decimal_comma,
    json_table,
    table_kind,
)
from crucial.kernels import runtime
from crucial.kernels.runtime import count_threads
from crucial.parameters import at_least, check, either, flag, one_of, refuse
from crucial.progress import reading_lines, reading_status
from crucial.types import Floats, PathLike
from crucial.wording import counted

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
class Roles:
    """Number of the column of each role, None where there is none."""

    features: list[int]
    notes: list[str]
    label: int | None = None
    qid: int | None = None
    item: int | None = None
    weight: int | None = None
    categories: frozenset[int] = frozenset()
    may_lack_label: bool = False


def _check_names(
    path: PathLike, line: int | None, names: Sequence[str], default_label: bool
) -> None:
    """Refuse a first line that does not name the columns, or names two alike."""
    filled = [name for name in names if name.strip()]
    numbers = sum(to_number(name) is not None for name in filled)
    known = {"label", "qid", *_LIKELY_LABELS, *_LIKELY_QUERIES}
    what = "only" if numbers == len(names) else "mostly"
    if 2 * numbers > len(filled) and default_label and known.isdisjoint(map(str.lower, names)):
        raise FileError(
            path,
            f"the first line must name the columns; this one has {what} numbers. Add a line such "
            "as label,qid,feature_a,feature_b,",
            line,
            remedy=Message(
                "or say that there is none with ",
                Argument("header", False),
                ": columns are then known by their numbers, from 1.",
            ),
        )
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


def _separator_remedy(line: int | None, names: Sequence[str]) -> str:
    """Return the remedy for a table of text with one column only; empty if it has more."""
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


def _known_categories(wanted: TableOptions, names: Sequence[str]) -> list[str]:
    """Return the columns that are categories; those of a model may be absent from a table."""
    if wanted.missing_features == "allow":
        return [name for name in wanted.categories if name in names]
    return list(wanted.categories)


def _present(
    path: PathLike, line: int | None, names: Sequence[str], wanted: TableOptions
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
    path: PathLike, line: int | None, names: Sequence[str], wanted: TableOptions
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
    drop = wanted.unlabelled == "drop"
    return Roles(features, notes, **places, categories=categories, may_lack_label=drop)


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
    """Return the kind of cells that are not missing; a number among them makes all numbers.

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


def _cell_problem(name: str, what: str, cell: str) -> tuple[str, str]:
    """Return the problem of a cell that is not the number it must be, and a remedy."""
    rule, remedy = "a finite number", ""
    if what == "label":
        remedy = "Write a number for each label, higher for rows that should rank higher"
        drop = (", or leave rows without one out with ", Argument("unlabelled", "drop"))
        remedy = Message(remedy, *(drop if cell.strip() in ("", *MISSING_WORDS) else ()), ".")
    if what == "feature":
        rule = "a finite number, or empty for missing"
        remedy = Message("Leave the column out with ", Argument("ignore", [name]),
                         ", make it the item with ", Argument("item", name),
                         ", or categories with ", Argument("categories", [name]), ".")  # fmt: skip
    return f"{what} {shown(name)} must be {rule}. Got {shown(cell)}.", remedy


def unusable_error(path: PathLike, reasons: Mapping[str, str]) -> FileError:
    """Return one error for columns that cannot be features, by name, each with its reason.

    Examples
    --------
    >>> reasons = {"url": "line 2 is 'a.org'", "day": "..."}
    >>> print(unusable_error("x.csv", reasons))  # doctest: +ELLIPSIS
    x.csv: 2 columns cannot be features: 'url' (line 2 is 'a.org'), 'day' (...). Leave them out ...
    """
    columns = list(reasons)
    named = columns[:_MOST_NAMED]
    listed = ", ".join(f"{shown(name)} ({one_line(reasons[name])})" for name in named)
    more = f" and {len(columns) - len(named)} more" if len(columns) > len(named) else ""
    several = len(columns) > 1
    remedy = Message(
        f"Leave {'them' if several else 'it'} out with ",
        Argument("ignore", columns),
        f"; {'one of them' if several else 'it'} may be the item, with ",
        Argument("item", columns[0]),
        ", or have categories, with ",
        Argument("categories", [columns[0]]),
        ".",
    )
    count = f"{len(columns)} columns" if several else "a column"
    problem = f"{count} cannot be {'features' if several else 'a feature'}: {listed}{more}."
    return FileError(path, problem, remedy=remedy, value=columns)


# --- The features of a table of which some are text or dates


_DISTINCT = "every value differs: an id, or free text"

_MOST_EXAMPLES = 8


def set_features(path: PathLike, data: Dataset, columns: Sequence[NumberColumn]) -> None:
    """Set the features of a data set, with notes on those that are categories or dates.

    Parameters
    ----------
    path : str or path
        The file, for errors.
    data : Dataset
        With the names of the features.
    columns : sequence of NumberColumn

    Raises
    ------
    FileError
        Every value of a column of text differs; it names all such columns.
    """
    names = data.feature_names
    assert names is not None
    table = np.column_stack([column.values for column in columns]).astype(np.float64)
    rows = Instances.of_columns(table, tuple(names), columns)
    levels, times = rows.levels or {}, rows.times or {}
    unusable = {
        names[j]: _DISTINCT
        for j, texts in levels.items()
        if j not in rows.declared and 1 < len(texts) == np.count_nonzero(~np.isnan(table[:, j]))
    }
    if unusable:
        raise unusable_error(path, unusable)
    if levels:
        sizes = [f"{names[j]} ({len(texts)})" for j, texts in levels.items()]
        data.notes.append(f"categories, with how many there are: {_few(sizes)}")
    if times:
        units = [f"{names[j]} ({unit})" for j, unit in times.items()]
        data.notes.append(f"dates and times, as numbers: {_few(units)}")
    data.X = rows


def _few(parts: list[str]) -> str:
    return ", ".join(parts[:_MOST_EXAMPLES]) + (", ..." if len(parts) > _MOST_EXAMPLES else "")


# --- From cells to a data set, block by block


# Kinds of columns that cannot be features, and why.
_REFUSED: dict[str, str] = {
    "ambiguous": "day or month may be first; write dates as 2024-01-31",
    "nested": "lists and objects are no values",
}
_SAMPLE = 1000  # rows that are looked at to find out how cells are written


@dataclass
class _Plan:
    """The roles, kinds and format of the cells of a row.

    Attributes
    ----------
    table : CellTable
        The first rows.
    roles : Roles
    form : CellFormat
    kinds : dict from int to Kind
        The features that are not numbers.
    """

    table: CellTable
    roles: Roles
    form: CellFormat
    kinds: dict[int, Kind]

    @property
    def number_columns(self) -> list[int]:
        """Columns read as numbers: features, then label and weight where there are."""
        extra = (self.roles.label, self.roles.weight)
        features = [place for place in self.roles.features if place not in self.kinds]
        return features + [place for place in extra if place is not None]

    @property
    def text_columns(self) -> list[int]:
        """Columns read as text: query id and item, where there are, and features of ``kinds``."""
        ids = [place for place in (self.roles.qid, self.roles.item) if place is not None]
        return ids + list(self.kinds)


def _find_plan(sample: CellTable, roles: Roles, options: TableOptions, sep: str) -> _Plan:
    """Return how the first rows show cells to be written.

    Raises
    ------
    FileError
        Several columns cannot be features; it names them all.
    """
    numbers = [*roles.features, *(p for p in (roles.label, roles.weight) if p is not None)]
    decimal: str | None = options.decimal
    if decimal is None:
        comma = has_decimal_comma(chain.from_iterable(sample.columns[p] for p in numbers), sep)
        decimal = "," if comma else "."
        roles.notes.extend(["numbers have a decimal comma"] if comma else [])
    form = CellFormat(decimal, frozenset(options.missing))
    known = {
        place: [cell for cell in form.known(sample.columns[place]) if cell is not None]
        for place in roles.features
    }
    kinds: dict[int, Kind] = {}
    for place, cells in known.items():
        if place in roles.categories:
            kinds[place] = "text"
        elif all(form.number(cell) is None for cell in cells):
            kind = column_kind(cells)
            kinds |= {} if kind == "number" else {place: kind}
    reasons: dict[int, str] = {}
    for place, cells in known.items():
        kind = kinds.get(place, "number")
        row = form.numbers(sample.columns[place])[1] if kind == "number" else -1
        if kind in _REFUSED:
            reasons[place] = f"{cells[0]}: {_REFUSED[kind]}"
        elif row >= 0:
            reasons[place] = f"line {sample.lines[row]}: {shown(sample.columns[place][row])}"
    if len(reasons) > 1 or any(kind in _REFUSED for kind in kinds.values()):
        for place, kind in kinds.items():
            all_differ = 1 < len(set(known[place])) == len(known[place])
            if kind == "text" and place not in roles.categories and all_differ:
                reasons[place] = _DISTINCT
        ordered = [place for place in roles.features if place in reasons]
        named = {sample.names[place]: reasons[place] for place in ordered}
        raise unusable_error(sample.path, named)
    return _Plan(sample, roles, form, kinds)


def _parse(plan: _Plan, block: CellTable) -> tuple[list[Floats], list[list[str]]]:
    """Return the number columns and the text columns of some rows.

    Raises
    ------
    FileError
        About the first cell, row by row, that is not what its column needs.
    """
    roles, path, names = plan.roles, block.path, block.names
    errors: list[tuple[int, int, FileError]] = []

    def wrong(row: int, place: int, problem: str, remedy: str = "") -> None:
        line = block.lines[row] if block.lines else None
        cell = str(block.columns[place][row])
        error = FileError(path, problem, line, place + 1, remedy=remedy, value=cell)
        errors.append((row, place, error))

    numbers = []
    for place in plan.number_columns:
        what = "label" if place == roles.label else "weight" if place == roles.weight else "feature"
        values, bad = plan.form.numbers(block.columns[place])
        may_lack = what == "feature" or (what == "label" and roles.may_lack_label)
        if bad < 0 and not may_lack and np.isnan(values).any():
            bad = int(np.flatnonzero(np.isnan(values))[0])
        if bad >= 0:
            wrong(bad, place, *_cell_problem(names[place], what, str(block.columns[place][bad])))
        numbers.append(values)
    texts = []
    for place in plan.text_columns:
        cells = [cell.strip(" \t") for cell in block.columns[place]]
        if place == roles.qid and "" in cells:
            problem = f"the query id {names[place]!a} is empty; every row must have one."
            wrong(cells.index(""), place, problem)
        if plan.kinds.get(place, "text") != "text":
            _, bad = moments(plan.form.known(cells))
            if bad >= 0:
                is_time = plan.kinds[place] == "time"
                kind = "a time such as 23:59" if is_time else "a date such as 2024-01-31"
                what = f"feature {shown(names[place])} must be {kind}, or empty"
                wrong(bad, place, f"{what}. Got {shown(cells[bad])}.")
        texts.append(cells)
    if errors:
        raise min(errors, key=lambda found: found[:2])[2]
    return numbers, texts


def _to_dataset(plan: _Plan, parts: list[tuple[list[Floats], list[list[str]]]]) -> Dataset:
    """Put parsed rows together."""
    roles, table = plan.roles, plan.table
    columns: dict[int, Floats] = {}
    for place, pieces in zip(plan.number_columns, zip(*(numbers for numbers, _ in parts))):
        columns[place] = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
    texts: dict[int, list[str]] = {}
    for place, lists in zip(plan.text_columns, zip(*(texts for _, texts in parts))):
        texts[place] = list(chain.from_iterable(lists))
    features = [
        NumberColumn(columns[place])
        if place not in plan.kinds
        else _feature_column(plan, place, texts[place])
        for place in roles.features
    ]
    data = Dataset(np.empty((0, 0)), notes=list(roles.notes))
    data.feature_names = [table.names[place] for place in roles.features]
    if plan.kinds:
        set_features(table.path, data, features)
    else:
        data.X = np.empty((len(features[0].values), len(features)))
        for slot, column in enumerate(features):
            data.X[:, slot] = column.values
    data.y = None if roles.label is None else columns[roles.label]
    data.weight = None if roles.weight is None else columns[roles.weight]
    data.qid = None if roles.qid is None else as_ids(texts[roles.qid])
    data.item = None if roles.item is None else as_objects(texts[roles.item])
    data.notes += table.notes
    return data


def _feature_column(plan: _Plan, place: int, cells: list[str]) -> NumberColumn:
    """Return a feature whose cells are dates, or texts that are categories."""
    known = plan.form.known(cells)
    if plan.kinds[place] == "text":
        return text_column(known, place in plan.roles.categories)
    unit = DAYS if plan.kinds[place] == "date" else SECONDS
    return NumberColumn(moments(known)[0], unit=unit)


def _sampled(blocks: Iterator[CellTable]) -> tuple[CellTable, Iterator[CellTable]]:
    """Return the first rows, as many as are looked at, and all blocks again."""
    taken: list[CellTable] = []
    wrong: FileError | None = None
    try:
        for block in blocks:
            taken.append(block)
            if sum(one.n_rows for one in taken) >= _SAMPLE:
                break
    except FileError as error:
        wrong = error

    def again() -> Iterator[CellTable]:
        yield from taken
        if wrong is not None:
            raise wrong
        yield from blocks

    first = taken[0]
    columns = [
        list(chain.from_iterable(column[:_SAMPLE] for column in parts))[:_SAMPLE]
        for parts in zip(*(one.columns for one in taken))
    ]
    lines = list(chain.from_iterable(one.lines[:_SAMPLE] for one in taken))[:_SAMPLE]
    sample = CellTable(first.names, columns, first.path, lines, first.names_line, first.notes)
    return sample, again()


def _arrow_table(file: TextFile, plan: _Plan, n_jobs: int | None) -> CellTable | None:
    """Read all rows by pyarrow; None if it is absent, or if the text is not plain enough.

    Its numbers are those of `float`. Whatever it would read in another way, or refuses, is left to
    the reader that names lines.
    """
    text, decimal = file.text, plan.form.decimal
    odd = file.is_quoted or file.nul is not None or file.sep == decimal
    if odd or len(text) <= runtime.TEXT_PLAIN or text.count(b"\r") != text.count(b"\r\n"):
        return None
    try:
        import pyarrow as pa
        from pyarrow import csv

        from crucial.io.parquet import arrow_values
    except ImportError:
        return None
    number = [str(place) for place in plan.number_columns]
    words = [*MISSING_WORDS, *plan.form.missing, "nan", "NaN", "null", "NULL"]
    names = [str(place) for place in range(len(file.names))]
    kinds = dict.fromkeys(number, pa.float64())
    kinds |= {str(place): pa.string() for place in plan.text_columns}
    try:
        found = csv.read_csv(
            pa.BufferReader(pa.py_buffer(text).slice(file.begin)),
            csv.ReadOptions(
                use_threads=count_threads(n_jobs) > 1, block_size=1 << 22, column_names=names
            ),
            csv.ParseOptions(delimiter=file.sep, quote_char=False),
            csv.ConvertOptions(
                column_types=kinds,
                include_columns=list(kinds),
                null_values=words,
                strings_can_be_null=False,
                decimal_point=decimal,
            ),
        )
    except pa.ArrowException:
        return None
    columns: list[Any] = [[] for _ in names]
    for place in plan.number_columns:
        column = found.column(str(place))
        columns[place] = arrow_values(column)
        known = len(column) - column.null_count
        if np.count_nonzero(np.isfinite(columns[place])) != known:  # (nan(1), inf)
            return None
    for place in plan.text_columns:
        columns[place] = found.column(str(place)).to_pylist()
    return CellTable(file.names, columns, file.path)


def _read_cells(path: PathLike, kind: str, options: TableOptions, n_jobs: int | None) -> Dataset:
    """Read a table of text."""
    file: TextFile | None = None
    if kind == "excel":
        blocks = iter([excel_table(path, options.sheet, header=options.header)])
    elif kind == "json":
        if not options.header:
            rule = "True for JSON lines: keys name the columns"
            raise refuse("read_table", "header", rule, options.header)
        blocks = iter([json_table(path, encoding=options.encoding)])
    else:
        ways = [one for one in inspect.signature(TextFile).parameters if hasattr(options, one)]
        file = TextFile(path, **{one: getattr(options, one) for one in ways})
        blocks = file.blocks()
    sample, blocks = _sampled(blocks)
    if not sample.names:
        raise FileError(path, "there is no row with a key in this file.")
    roles = assign_roles(path, sample.names_line, sample.names, options)
    plan = _find_plan(sample, roles, options, "\t" if file is None else file.sep)
    table = None if file is None else _arrow_table(file, plan, n_jobs)
    if table is not None and table.n_rows:
        with suppress(FileError):  # (which the other way raises again, with its line)
            return _to_dataset(plan, [_parse(plan, table)])
    parts = [_parse(plan, block) for block in blocks if block.n_rows]
    if not parts:
        raise FileError(path, NO_ROW)
    return _to_dataset(plan, parts)


# --- Tables with named columns: CSV, TSV and JSON lines (plain or gzip), parquet and Excel


SVMLIGHT = (".svm", ".svmlight", ".libsvm", ".letor")


@with_options(TableOptions)
def read_table(path: PathLike, *, n_jobs: int | None = None, **options: Any) -> Dataset:
    """Read a table whose columns have names.

    ===============  ======================================================================
    file             recognised by
    ===============  ======================================================================
    parquet          its content; needs ``pip install crucial[parquet]``
    Excel            a name that ends in ``.xlsx`` or ``.xlsm``; needs
                     ``pip install crucial[excel]``
    JSON lines       a ``{`` at its start: one object per line, whose keys name the columns;
                     or one list of such objects, in a file whose name ends in ``.json``
    CSV and TSV      all else: the first line names the columns, cells may be quoted with
                     ``"``, spaces around a cell are dropped
    ===============  ======================================================================

    An empty cell, ``NA``, ``N/A``, ``?``, ``nan`` or ``null`` is a missing value; ``true`` and
    ``false`` are 1 and 0. A column without any number is text, whose values are categories, or
    dates (2024-01-31, 31.1.2024, with or without a time), which become days since 1970; the
    notes say so. The columns that cannot be features are all named in one error. CSV above 1 MiB
    is read by pyarrow where it is installed: the same values and errors in less time.

    Parameters
    ----------
    path : str or path
        The file; gzip is recognised by its content.
    **options
    n_jobs : int, optional
        1 reads text in one thread, where pyarrow is installed and the file is above 1 MiB; by
        default it uses all cores.

    Returns
    -------
    Dataset
        ``X`` is dense float64, or `Instances` if a feature is text or dates, which every ranker
        takes; ``qid`` is int64 if all ids are whole numbers, else str.

    Raises
    ------
    FileError
        Naming file, line and column (the number of the cell in its line).

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "train.csv")
    ...     with open(name, "w") as file:
    ...         _ = file.write("qid,label,bm25,clicks\\nq1,2,0.5,7\\nq1,0,0.1,\\n")
    ...     data = read_table(name)
    >>> data.X
    array([[0.5, 7. ],
           [0.1, nan]])
    >>> data.y.tolist(), data.qid.tolist(), data.feature_names
    ([2.0, 0.0], ['q1', 'q1'], ['bm25', 'clicks'])
    """
    chosen = TableOptions.checked("read_table", options)
    kind = table_kind(path)
    if chosen.sheet is not None and kind != "excel":
        rule = f"None, for {os.fspath(path)} is no Excel file"
        raise refuse("read_table", "sheet", rule, chosen.sheet)
    with nullcontext() if kind == "text" else reading_status(path):
        if kind == "parquet":
            from crucial.io.parquet import read_parquet

            data = read_parquet(path, chosen)
        else:
            data = _read_cells(path, kind, chosen, n_jobs)
    data = _labelled(path, data) if chosen.unlabelled == "drop" else data
    return data if chosen.features is None else _with_features(data, list(chosen.features))


def _labelled(path: PathLike, data: Dataset) -> Dataset:
    """Return the rows that have a label, with a note on the others."""
    rows = np.arange(data.n_rows) if data.y is None else np.flatnonzero(~np.isnan(data.y))
    if len(rows) == data.n_rows:
        return data
    if not len(rows):
        raise FileError(path, "no row has a label.")
    names = ("y", "qid", "item", "weight")
    columns = {name: getattr(data, name) for name in names if getattr(data, name) is not None}
    note = f"{counted(data.n_rows - len(rows), 'row')} without a label left out"
    X = data.X.take_rows(rows) if isinstance(data.X, Instances) else data.X[rows]
    columns = {name: values[rows] for name, values in columns.items()}
    return replace(data, X=X, **columns, notes=[*data.notes, note])


def _with_features(data: Dataset, features: list[str]) -> Dataset:
    """Add the features that a table lacks, as missing values."""
    names = data.feature_names or []
    if names == features:
        return data
    place = [features.index(name) for name in names]
    own = data.instances()
    X = np.full((data.n_rows, len(features)), np.nan)
    X[:, place] = own.table
    absent = len(features) - len(names)
    data.notes.append(f"{absent} of the {len(features)} features never occur, and abstain")
    data.feature_names = features
    data.X = X
    if own.levels or own.times:
        data.X = Instances(
            X,
            tuple(features),
            {place[j]: texts for j, texts in (own.levels or {}).items()} or None,
            {place[j]: unit for j, unit in (own.times or {}).items()} or None,
            frozenset(place[j] for j in own.declared),
        )
    return data


# --- One reader for all files with rows to rank: the kind is seen from name and content


_TABLES = (".csv", ".tsv", ".tab", ".xls", ".json", *PARQUET, *EXCEL, *JSON)
_ROW = re.compile(rb"^[ \t]*[^\s#:,;]+(?:[ \t]+(?:qid|[0-9]+):[^\s]+)", re.MULTILINE)
_LOOK = 1 << 16  # bytes of the start that are looked at


def find_format(
    path: PathLike, otherwise: Literal["svmlight", "table"] | None = None
) -> Literal["svmlight", "table"]:
    """Find out what kind of file this is.

    By its name (before ``.gz``): .csv, .tsv, .tab, .parquet, .pq, .xlsx, .xlsm, .jsonl and .ndjson
    are tables, .svm, .svmlight, .libsvm and .letor are svmlight. Else by its start: ``PAR1`` and
    ``{`` begin a table; the first line that is neither empty nor comment is svmlight if it goes
    ``label qid:...`` or ``label index:...``, and the head of a table if it has a comma, tab or
    semicolon. What is neither is ``otherwise``, if that is given.

    Raises
    ------
    FileError
        It is neither, or cannot be read.
    """
    name = os.fspath(path).lower().removesuffix(".gz")
    if name.endswith(_TABLES):
        return "table"
    if name.endswith(SVMLIGHT):
        return "svmlight"
    start = first_bytes(path, _LOOK).removeprefix(BOM)
    if start.startswith((b"PAR1", b"\xff\xfe", b"\xfe\xff")) or start.lstrip().startswith(b"{"):
        return "table"
    lines = (
        line for line in start.split(b"\n") if line.strip() and not line.strip().startswith(b"#")
    )
    first = next(lines, b"")
    if not first:
        raise FileError(path, "there is no row at the start of this file.")
    if _ROW.match(first):
        return "svmlight"
    if any(mark in first.split(b"#")[0] for mark in (b",", b"\t", b";")):
        return "table"
    if otherwise is not None:
        return otherwise
    raise FileError(
        path,
        "this is neither svmlight (label qid:Q index:value ...) nor a table with named columns.",
        remedy=Message(
            "Say which it is with ",
            Argument("format", "svmlight"),
            " or ",
            Argument("format", "table"),
            ".",
        ),
    )


def read_data(
    path: PathLike,
    format: Literal["auto", "svmlight", "table"] = "auto",
    *,
    verbose: int = 0,
    **options: Any,
) -> Dataset:
    """Read rows to rank from a file of any kind.

    Parameters
    ----------
    path : str or path
        The file, plain or gzip.
    format : {"auto", "svmlight", "table"}
        The kind of file; "auto" as in `find_format`.
    verbose : int
        1 or True writes lines about the progress of large files where standard error is no
        terminal; a terminal shows a bar in any case.
    **options
        Those of `read_svmlight` or `read_table`.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "train.txt")
    ...     with open(name, "w") as file:
    ...         _ = file.write("1 qid:7 1:0.5\\n0 qid:7 1:0.25\\n")
    ...     data = read_data(name)
    >>> data.X.tolist(), data.y.tolist(), data.qid.tolist()
    ([[0.5], [0.25]], [1.0, 0.0], [7, 7])
    """
    check("read_data", "format", format, one_of("auto", "svmlight", "table"))
    check("read_data", "verbose", verbose, either(at_least(0), flag))
    readers: dict[str, Any] = {"svmlight": read_svmlight, "table": read_table}
    found = find_format(path) if format == "auto" else format
    known = [one for one in inspect.signature(readers[found]).parameters if one != "path"]
    for option in options:
        if option not in known:
            raise ParameterError(
                f"{os.fspath(path)} is read as {found}, which has no option {option!r}; "
                f"it has: {', '.join(known)}."
            )
    with reading_lines(bool(verbose)):
        data: Dataset = readers[found](path, **options)
    return data


# --- Read several files of rows with the same columns


def _categories(first: Instances, options: dict[str, Any]) -> list[str]:
    """Return the features that are categories in the first file, or are said to be."""
    own = [first.names[j] for j in first.levels or () if first.names is not None]
    return list(dict.fromkeys([*options.get("categories", ()), *own]))


def read_alike(
    paths: Sequence[PathLike],
    format: Literal["auto", "svmlight", "table"] = "auto",
    *,
    group_sizes: Sequence[PathLike | None] | None = None,
    **options: Any,
) -> list[Dataset]:
    """Read files of one format with the same columns.

    Parameters
    ----------
    paths : sequence of str or path
        The first of several tables determines the features. Of svmlight files the widest
        determines their number, and index 0 in any of them makes all begin at 0.
    format : {"auto", "svmlight", "table"}
        The kind of all files; "auto" as in `find_format`, of the first one.
    group_sizes : sequence of str or path, optional
        Of svmlight files: the file of group sizes of each.
    **options
        Those of `read_data`.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = [os.path.join(folder, name) for name in ("train.txt", "test.txt")]
    ...     for path, line in zip(paths, ["1 qid:1 1:5\\n", "0 qid:2 0:3 2:7\\n"]):
    ...         with open(path, "w") as file:
    ...             _ = file.write(line)
    ...     [data.X.tolist() for data in read_alike(paths)]
    [[[0.0, 5.0, 0.0]], [[3.0, 0.0, 7.0]]]
    """
    form = find_format(paths[0]) if format == "auto" else format
    each: list[dict[str, Any]] = [{} for _ in paths]
    if group_sizes is not None:
        each = [{"group_sizes": one} for one in group_sizes]

    def read(number: int, **columns: Any) -> Dataset:
        return read_data(paths[number], form, **{**options, **each[number], **columns})

    others = range(1, len(paths))
    data = [read(0)]
    if form == "table":
        first = data[0].instances()
        same = {"features": data[0].feature_names, "categories": _categories(first, options)}
        return data + [read(number, **same) for number in others]
    data += [read(number) for number in others]
    base = min(one.index_base or 0 for one in data)
    width = max(one.n_features + (one.index_base or 0) for one in data) - base
    return [
        one
        if (one.index_base, one.n_features) == (base, width)
        else read(number, index_base=base, n_features=width)
        for number, one in enumerate(data)
    ]


def joined(paths: Sequence[PathLike], parts: Sequence[Dataset]) -> Dataset:
    """Return the rows of several files, as `read_alike` reads them, as those of one.

    Rows of a query may be in several files; the notes say so.

    Raises
    ------
    FileError
        One file has labels, queries or weights that another has not.
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    columns: dict[str, Any] = {}
    for name, noun in (("y", "labels"), ("qid", "query ids"), ("weight", "weights")):
        found = [getattr(one, name) for one in parts]
        absent = [path for path, one in zip(paths, found) if one is None]
        if absent and len(absent) < len(parts):
            raise FileError(absent[0], f"its rows have no {noun}, and those of other files have.")
        columns[name] = None if absent else found
    notes = list(dict.fromkeys(note for one in parts for note in one.notes))
    if columns["qid"] is not None:
        ids = columns["qid"]
        if len({one.dtype.kind for one in ids}) > 1:
            columns["qid"] = ids = [one.astype(str).astype(object) for one in ids]
        each = np.concatenate([np.unique(one) for one in ids])
        shared = len(each) - len(np.unique(each))
        if shared:
            notes.append(f"{counted(shared, 'query')} in more than one file, ranked as one")
    if any(one.item is not None for one in parts):
        empty = [np.full(one.n_rows, "", object) for one in parts]
        columns["item"] = [old if one.item is None else one.item for one, old in zip(parts, empty)]
    tables = [one.X for one in parts]
    X: Any
    if any(isinstance(one, Instances) for one in tables):
        X = first.instances().join([one.instances() for one in parts[1:]])
    elif all(hasattr(one, "tocsr") for one in tables):
        from scipy.sparse import vstack

        X = vstack(tables, "csr")
    else:
        X = np.concatenate([one.toarray() if hasattr(one, "tocsr") else one for one in tables])
    occurs = [one.occurs for one in parts if one.occurs is not None]
    changes: dict[str, Any] = {
        name: None if of is None else np.concatenate(of) for name, of in columns.items()
    }
    changes["occurs"] = np.any(occurs, axis=0) if occurs else None
    complete = all(one.complete for one in parts)
    return replace(first, X=X, notes=notes, complete=complete, **changes)
