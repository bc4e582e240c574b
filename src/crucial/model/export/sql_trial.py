"""Run an exported SQL expression on rows."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from crucial.errors import NotRankedError
from crucial.model.export.form import ScoreForm
from crucial.model.export.row_values import UNSEEN, text_of, time_texts, time_ticks
from crucial.model.export.settings import ExportSettings
from crucial.model.export.sql_dialects import DIALECTS
from crucial.model.export.sql_walk import FoundWalk, found_walk
from crucial.model.export.sqlite_numbers import exact_numbers, sqlite_module
from crucial.types import Floats

if TYPE_CHECKING:
    import sqlite3

__all__ = ["by_database", "by_sqlite"]

_TABLE = "rows"
# Names in either quotes; text, in which a quote is doubled or a backslash escapes; its cast.
_NAME = r"""(?P<name>"(?:[^"]|"")*"|`(?:[^`]|``)*`)"""
_DOUBLED = re.compile(_NAME + r"|'(?P<text>(?:[^']|'')*)'(?P<cast>::float8?)?")
_ESCAPED = re.compile(_NAME + r"|'(?P<text>(?:[^'\\]|\\.)*)'(?P<cast>::float8?)?")
_SIGNS = {"n": "\n", "r": "\r", "'": "''"}
_EPOCH = re.compile(rf"CAST\(EXTRACT\(EPOCH FROM {_NAME}\) \* 1000000 AS float8\)")
_TREES = "the sum of the trees"


def _for_sqlite(text: str, dialect: str) -> str:
    """Return SQL of any dialect with text and numbers as SQLite reads them."""
    if dialect in ("ansi", "sqlite"):  # (written for it, numbers included)
        return text
    escapes = DIALECTS[dialect].escapes

    def written(token: re.Match[str]) -> str:
        if token["name"] is not None:
            return token[0]
        word = token["text"]
        if token["cast"]:  # (NaN equals no number there)
            return "'NaN'" if word == "NaN" else word if "e" in word else f"{word}e0"
        if escapes:
            word = re.sub(r"\\(.)", lambda sign: _SIGNS.get(sign[1], sign[1]), word)
        return f"'{word}'"

    text = _EPOCH.sub(lambda one: f"epoch_us({one['name']})", text)
    return exact_numbers((_ESCAPED if escapes else _DOUBLED).sub(written, text))


def _sqlite_connection() -> sqlite3.Connection:
    """Return an empty database with the functions that dialects use."""
    lite = sqlite_module()
    connection: sqlite3.Connection = lite.connect(":memory:")
    connection.setlimit(lite.SQLITE_LIMIT_SQL_LENGTH, 10**9)
    for name in ("isnan", "is_nan"):
        connection.create_function(name, 1, lambda value: False)
    connection.create_function("exp", 1, math.exp)
    connection.create_function("epoch_us", 1, _epoch_us)
    return connection


def _epoch_us(value: object) -> int | None:
    """Return the microseconds of a date, of a time of day or of a number of seconds."""
    if isinstance(value, str):
        text = value if "-" in value else f"1970-01-01 {value}"
        return (datetime.fromisoformat(text) - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    return round(value * 1e6) if isinstance(value, float) else None


def _columns(
    X: Floats, form: ScoreForm, settings: ExportSettings
) -> dict[str, NDArray[np.object_]]:
    """Return the columns that the expression names; text where the model has text or dates."""
    out = {}
    times = {} if settings.encoded else form.encodings.times
    for feature in form.used or (0,):
        values = X[:, feature].astype(object)
        known = None if settings.encoded else form.encodings.categories.get(feature)
        if known is not None:
            words = text_of(known)
            values = np.array([words.get(value, UNSEEN) for value in values.tolist()], object)
        elif feature in times:
            values = time_texts(X[:, feature], times[feature])
        out[form.names[feature]] = values
    return out


def by_sqlite(content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings) -> Floats:
    """Score rows by SQLite, which reads all dialects but for their casts and tests for NaN."""
    text = content.decode()
    walk = found_walk(text)
    if walk is not None:
        text = text[: walk.begin] + _quoted(_TREES) + text[walk.end :]
    text = _for_sqlite(text, settings.dialect)
    columns = _columns(X, form, settings)
    rows = list(zip(*(column.tolist() for column in columns.values()), strict=True))
    connection = _sqlite_connection()
    try:
        return _selected(connection, text, list(columns), rows, settings, walk)
    except sqlite_module().Error as error:
        raise NotRankedError(
            f"SQLite cannot run the expression of {len(content):,} bytes ({error}), so that it "
            "cannot be verified here: export fewer rounds (truncate), or skip it with "
            "verify=False."
        ) from error
    finally:
        connection.close()


def _selected(
    connection: sqlite3.Connection,
    text: str,
    columns: Sequence[str],
    rows: Sequence[tuple[object, ...]],
    settings: ExportSettings,
    walk: FoundWalk | None,
) -> Floats:
    cursor = connection.cursor()
    table = _quoted(settings.name or _TABLE)
    cursor.execute(f"CREATE TABLE {table} ({', '.join(map(_quoted, columns))})")
    marks = ", ".join("?" * len(columns))
    cursor.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # (NaN becomes NULL)
    if walk is not None:
        _add_trees(cursor, table, walk)
    query = text if settings.name else f"SELECT (\n{text}) AS score FROM {table}"
    return np.array([row[-1] for row in cursor.execute(query)], np.float64)


def _add_trees(cursor: sqlite3.Cursor, table: str, walk: FoundWalk) -> None:
    """Add a column with the sum of the trees, which are walked by the lists of the file."""
    values = cursor.execute(f"SELECT {walk.values} FROM {table}").fetchall()
    sums = walk.scores(np.array(values, np.float64)).tolist()
    cursor.execute(f"ALTER TABLE {table} ADD COLUMN {_quoted(_TREES)}")
    numbered = [(one, at) for at, one in enumerate(sums, 1)]
    cursor.executemany(f"UPDATE {table} SET {_quoted(_TREES)} = ? WHERE rowid = ?", numbered)


def by_database(
    content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings
) -> tuple[Floats | None, str]:
    """Score rows by the database of the dialect, where it can be had; None: `by_sqlite` did."""
    if settings.dialect in ("ansi", "sqlite"):
        return None, f"sqlite {sqlite_module().sqlite_version}"
    if settings.dialect != "duckdb":
        raise ImportError(f"sqlite reads the {settings.dialect} dialect")
    import duckdb

    used = form.used or (0,)
    times = {} if settings.encoded else form.encodings.times
    columns: dict[str, np.ndarray] = {}
    for feature, column in zip(used, _columns(X, form, settings).values(), strict=True):
        if feature in times:
            column = time_ticks(X[:, feature], times[feature])
        elif not isinstance(column[0], str):
            column = column.astype(np.float64)
        columns[f"c{len(columns)}"] = column
    names = [form.names[feature] for feature in used]
    listed = ", ".join(f"c{at} AS {_quoted(name)}" for at, name in enumerate(names))
    table = _quoted(settings.name or _TABLE)
    with duckdb.connect() as connection:
        connection.register("given", columns)
        connection.execute(f"CREATE TABLE {table} AS SELECT {listed} FROM given")
        text = content.decode()
        query = text if settings.name else f"SELECT (\n{text}) AS score FROM {table}"
        found = connection.execute(query).fetchall()
    return np.array([row[-1] for row in found], np.float64), f"duckdb {duckdb.__version__}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
