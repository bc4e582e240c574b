"""How databases write names, numbers, text and dates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from crucial.data.arrays import DAYS, SECONDS

__all__ = ["DIALECTS", "Dialect"]


@dataclass(frozen=True)
class Dialect:
    """How a database writes things.

    Attributes
    ----------
    double : str
        Type of double numbers.
    literal : callable
        Returns a literal that is a double, not a decimal number.
    is_nan : str
        Test for NaN of ``{x}``; "" where a database has none.
    quote : str
        Sign around names.
    longest : int
        Longest name in bytes.
    escapes : bool
        Whether a backslash in text begins an escape.
    refused : str
        Signs that no name of a column can have.
    times : mapping from unit to str
        The number that the model makes of a date or time ``{x}``, to the last bit; empty where
        none is known.
    walks : bool
        Whether many trees are walked by `crucial.model.export.sql_walk`.
    """

    double: str
    literal: Callable[[float], str]
    is_nan: str
    quote: str = '"'
    longest: int = 255
    escapes: bool = False
    refused: str = ""
    times: Mapping[str, str] = field(default_factory=dict)
    walks: bool = False

    def name(self, word: str) -> str:
        """Return the name of a column or table, quoted.

        Examples
        --------
        >>> DIALECTS["duckdb"].name('5" screen'), DIALECTS["sqlite"].name("price")
        ('"5"" screen"', '`price`')
        """
        return self.quote + word.replace(self.quote, self.quote * 2) + self.quote

    def text(self, word: str) -> str:
        """Return text as a literal, which nothing in it can end.

        Examples
        --------
        >>> DIALECTS["duckdb"].text("it's"), DIALECTS["snowflake"].text("it's")
        ("'it''s'", "'it\\\\'s'")
        """
        if not self.escapes:
            return "'" + word.replace("'", "''") + "'"
        for sign, written in _ESCAPES.items():
            word = word.replace(sign, written)
        return f"'{word}'"


def _exponent(value: float) -> str:
    """Return a literal with an exponent, which makes it a double."""
    text = repr(value)
    return text if "e" in text else f"{text}e0"


# (the backslash first, as the others are written with one)
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r"}
# SQLite has dates as ISO text, with a time zone or without; its own functions count milliseconds,
# so the fraction of a second is read apart. A number is taken as it is, as in Python.
_SQLITE_TIME = (
    "CASE typeof({x}) WHEN 'text' THEN (CAST(strftime('%s', SECOND || ltrim(substr({x}, AFTER), "
    "'.0123456789')) AS INTEGER) * 1000000 + CAST(ROUND(CAST('0' || substr({x}, AFTER, 7) AS REAL) "
    "* 1e6) AS INTEGER)) / PER ELSE CAST({x} AS REAL) END"
)


def _sqlite_time(second: str, after: int, per: str) -> str:
    replaced = _SQLITE_TIME.replace("SECOND", second).replace("AFTER", str(after))
    return replaced.replace("PER", per)


_TIMES = {
    "sqlite": {
        DAYS: _sqlite_time("substr({x}, 1, 19)", 20, "86400e6"),
        SECONDS: _sqlite_time("'1970-01-01 ' || substr({x}, 1, 8)", 9, "1e6"),
    },
    "duckdb": {
        DAYS: "CAST(epoch_us({x}) AS DOUBLE) / 86400e6",
        SECONDS: "CAST(epoch_us({x}) AS DOUBLE) / 1e6",
    },
    "postgres": {
        DAYS: "CAST(EXTRACT(EPOCH FROM {x}) * 1000000 AS float8) / '86400e6'::float8",
        SECONDS: "CAST(EXTRACT(EPOCH FROM {x}) * 1000000 AS float8) / '1e6'::float8",
    },
}
#: The dialects that can be written. SQLite takes a name in double quotes for text if there is no
#: such column; one in backticks it refuses.
DIALECTS: Mapping[str, Dialect] = {
    "ansi": Dialect("DOUBLE PRECISION", _exponent, "{x} <> {x}"),
    "postgres": Dialect(
        "DOUBLE PRECISION",
        lambda value: f"'{value!r}'::float8",
        "{x} = 'NaN'::float8",
        longest=63,
        times=_TIMES["postgres"],
    ),
    "sqlite": Dialect("REAL", _exponent, "", "`", times=_TIMES["sqlite"]),
    "duckdb": Dialect("DOUBLE", _exponent, "isnan({x})", times=_TIMES["duckdb"], walks=True),
    "bigquery": Dialect(
        "FLOAT64",
        _exponent,
        "IS_NAN({x})",
        "`",
        300,
        True,
        '!"$()*,./;?@[\\]^`{}~\n',
    ),
    "snowflake": Dialect("DOUBLE", _exponent, "{x} = 'NaN'::float", escapes=True),
}
