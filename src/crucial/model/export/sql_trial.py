"""Run an exported SQL expression on rows."""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crucial.errors import NotRankedError
from crucial.model.export.form import ScoreForm
from crucial.model.export.row_values import UNSEEN, text_of
from crucial.model.export.settings import ExportSettings
from crucial.model.export.sqlite_numbers import exact_numbers
from crucial.types import Floats

__all__ = ["by_database", "by_sqlite"]

_TABLE = "rows"
# Names in either quotes; text, in which a quote is doubled or a backslash escapes; its cast.
_NAME = r"""(?P<name>"(?:[^"]|"")*"|`(?:[^`]|``)*`)"""
_DOUBLED = re.compile(_NAME + r"|'(?P<text>(?:[^']|'')*)'(?P<cast>::float8?)?")
_ESCAPED = re.compile(_NAME + r"|'(?P<text>(?:[^'\\]|\\.)*)'(?P<cast>::float8?)?")
_SIGNS = {"n": "\n", "r": "\r", "'": "''"}


def _for_sqlite(text: str, escapes: bool) -> str:
    """Return an expression of another dialect with text and numbers as SQLite reads them."""

    def written(token: re.Match[str]) -> str:
        if token["name"] is not None:
            return token[0]
        word = token["text"]
        if token["cast"]:  # (NaN equals no number there)
            return "'NaN'" if word == "NaN" else word if "e" in word else f"{word}e0"
        if escapes:
            word = re.sub(r"\\(.)", lambda sign: _SIGNS.get(sign[1], sign[1]), word)
        return f"'{word}'"

    return (_ESCAPED if escapes else _DOUBLED).sub(written, text)


def _columns(
    X: Floats, form: ScoreForm, settings: ExportSettings
) -> dict[str, NDArray[np.object_]]:
    """Return the columns that the expression names; text where the model has categories."""
    out = {}
    for feature in form.used or (0,):
        values = X[:, feature].astype(object)
        known = None if settings.encoded else form.encodings.categories.get(feature)
        if known is not None:
            words = text_of(known)
            values = np.array([words.get(value, UNSEEN) for value in values.tolist()], object)
        out[form.names[feature]] = values
    return out


def by_sqlite(content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings) -> Floats:
    """Score rows by SQLite, which reads all dialects but for their casts and tests for NaN."""
    escapes = settings.dialect in ("bigquery", "snowflake")
    text = exact_numbers(_for_sqlite(content.decode(), escapes))
    columns = _columns(X, form, settings)
    rows = list(zip(*(column.tolist() for column in columns.values()), strict=True))
    connection = sqlite3.connect(":memory:")
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, 10**9)
        for name in ("isnan", "is_nan"):
            connection.create_function(name, 1, lambda value: False)
        connection.create_function("exp", 1, math.exp)
        return _selected(connection, text, list(columns), rows, settings)
    except sqlite3.Error as error:
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
) -> Floats:
    cursor = connection.cursor()
    table = _quoted(settings.name or _TABLE)
    cursor.execute(f"CREATE TABLE {table} ({', '.join(map(_quoted, columns))})")
    marks = ", ".join("?" * len(columns))
    cursor.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # (NaN becomes NULL)
    query = text if settings.name else f"SELECT (\n{text}) AS score FROM {table}"
    return np.array([row[-1] for row in cursor.execute(query)], np.float64)


def by_database(
    content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings
) -> tuple[Floats | None, str]:
    """Score rows by the database of the dialect, where it can be had; None: `by_sqlite` did."""
    if settings.dialect in ("ansi", "sqlite"):
        return None, f"sqlite {sqlite3.sqlite_version}"
    if settings.dialect != "duckdb":
        raise ImportError(f"sqlite reads the {settings.dialect} dialect")
    import duckdb

    columns = {
        f"c{at}": column if isinstance(column[0], str) else column.astype(np.float64)
        for at, column in enumerate(_columns(X, form, settings).values())
    }
    names = [form.names[feature] for feature in form.used or (0,)]
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
