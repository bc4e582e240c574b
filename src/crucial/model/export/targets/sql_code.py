"""One SQL expression: a sum of CASE, in which NULL is "no opinion"."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from crucial.errors import Argument, Message, NotRankedError, ParameterError
from crucial.model.export.form import ScoreForm
from crucial.model.export.settings import ExportSettings
from crucial.model.export.sql_dialects import DIALECTS, Dialect
from crucial.model.export.sql_trial import by_database, by_sqlite
from crucial.model.export.sql_writer import PLAIN_SUM, SqlWriter
from crucial.model.export.sqlite_numbers import ExactLiterals
from crucial.model.export.target import Target
from crucial.parameters import lookup

__all__ = ["TARGET"]


def _expression(form: ScoreForm, dialect: Dialect, settings: ExportSettings) -> str:
    total = SqlWriter(form, dialect, settings.encoded).total()
    if settings.probability:
        assert form.slope is not None
        number = dialect.literal
        return f"{number(1.0)} / ({number(1.0)} + EXP({number(-form.slope)} * ({total})))"
    return total


def _check_dates(form: ScoreForm, dialect: Dialect, settings: ExportSettings) -> None:
    """Refuse columns of dates in dialects that have no expression for them."""
    dates = [feature for feature in form.used if feature in form.encodings.times]
    if dates and not dialect.times and not settings.encoded:
        able = [name for name, one in DIALECTS.items() if one.times]
        raise NotRankedError(
            Message(
                f"{form.names[dates[0]]!r} is a column of dates, which databases compute with in "
                f"different ways; the dialects {', '.join(able)} can: pass ",
                Argument("dialect", able[0]),
                ", or ",
                Argument("encoded"),
                f" if the column has {form.encodings.times[dates[0]]} as numbers.",
            ),
            parameter="dialect",
        )


def _check_name(name: str, dialect: Dialect, what: str, parameter: str) -> None:
    """Refuse a name of a column or table that a database cannot hold."""
    if len(name.encode()) > dialect.longest or "\0" in name or not name:
        raise ParameterError(
            Message(
                f"a {what} in this dialect has a name of 1 to {dialect.longest} bytes, none of "
                f"them NUL. Got {name[:40]!r} ({len(name.encode())} bytes). Give it another name "
                "there with ",
                Argument(parameter),
                ".",
            ),
            parameter=parameter,
        )
    # (a table is named with its data set, as in data.rows)
    refused = dialect.refused.replace(".", "") if what == "table" else dialect.refused
    bad = next((sign for sign in name if sign in refused), "")
    if bad:
        raise ParameterError(
            Message(
                f"a {what} in this dialect has no {bad!r} in its name. Got {name[:40]!r}. Give it "
                "another name there with ",
                Argument(parameter),
                ".",
            ),
            parameter=parameter,
        )


def _check_names(form: ScoreForm, dialect: Dialect) -> None:
    """Refuse names that a database cannot hold or cannot tell apart."""
    names = [form.names[feature] for feature in form.used]
    for name in names:
        _check_name(name, dialect, "column", "features")
    twice = [name for name, count in Counter(map(str.casefold, names)).items() if count > 1]
    if twice:
        raise ParameterError(
            Message(
                "databases do not tell upper from lower case in names of columns, and two features "
                f"are called {twice[0]!r}: give one of them another name there with ",
                Argument("features"),
                ".",
            ),
            parameter="features",
        )


def _write(form: ScoreForm, settings: ExportSettings) -> bytes:
    dialect = lookup(DIALECTS, settings.dialect, "dialect")
    _check_names(form, dialect)
    if settings.name is not None:
        _check_name(settings.name, dialect, "table", "name")
    _check_dates(form, dialect, settings)
    if settings.dialect in ("ansi", "sqlite"):
        dialect = replace(dialect, literal=ExactLiterals(dialect.literal, form.numbers()))
    expression = _expression(form, dialect, settings)
    lines = [
        '-- The score of a ranker: the higher, the better. NULL and NaN are "no opinion".',
        f"-- Dialect: {settings.dialect}.",
    ]
    if settings.missing_note:
        lines.append(f"-- {settings.missing_note}")
    if settings.name is None:
        lines.append(
            "-- One expression over the columns of a table: SELECT *, <this> AS score FROM ..."
        )
        return "\n".join([*lines, expression, ""]).encode()
    table = dialect.name(settings.name)
    return "\n".join([*lines, f"SELECT *,\n{expression}\nAS score\nFROM {table}", ""]).encode()


TARGET = Target(
    name="sql",
    title="one SQL expression, in the dialect of a database",
    numbers="float64",
    write=_write,
    twin=by_sqlite,
    engine=by_database,
    engine_name="the database",
    by_name=True,
    holds=frozenset({"trees", "pieces", "probability", "text", "dates"}),
    takes=frozenset({"shift", "probability", "dialect"}),
    trial_cells=1_000_000,
    shares_nodes=True,
    reorders=lambda form: max(len(form.steps), len(form.trees), len(form.pieces)) > PLAIN_SUM,
)
