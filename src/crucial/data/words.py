"""Numbers, ids and cells in text: the rules that all readers share, and the table they make."""

from __future__ import annotations

import contextlib
import difflib
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crucial.errors import DataError, FileError
from crucial.types import Ids, Ints, Objects

BOM = b"\xef\xbb\xbf"

# (no digit can match two parts: a long token that is no number must not take long)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_MISSING = re.compile(r"[+-]?(?:nan|null)", re.IGNORECASE | re.ASCII)
_PLAIN_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")


def to_number(text: str) -> float | None:
    """Return the number that a text is: NaN for ``nan`` or ``null``, None if it is none.

    Stricter than ``float()``, which also accepts ``1_000``, ``infinity`` and digits of every
    script; infinite only where the number is too large.

    Examples
    --------
    >>> to_number("-2.5e-3"), to_number("NULL"), to_number("1_000")
    (-0.0025, nan, None)
    """
    if _NUMBER.fullmatch(text):
        return float(text)
    return float("nan") if _MISSING.fullmatch(text) else None


def finite_number(field: bytes) -> float | None:
    """Read a finite number of ASCII, faster than `to_number`; None if it is none."""
    try:
        value = float(field)
    except ValueError:
        return None
    return value if math.isfinite(value) and b"_" not in field else None


class OddObjectError(ValueError):
    """A JSON object that readers would disagree on, or that could not be written again."""

    @property
    def msg(self) -> str:
        """The problem, as in the errors of the `json` module."""
        return str(self)


def is_unicode(text: str) -> bool:
    """Return whether a text can be written; half of a surrogate pair cannot.

    Examples
    --------
    >>> is_unicode("tea"), is_unicode("\\ud800")
    (True, False)
    """
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def keys_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return a JSON object whose keys are all different; the last of equal ones would win.

    Raises
    ------
    OddObjectError
        Two keys are equal, or a text has half of a surrogate pair.
    """
    found = dict(pairs)
    for pair in pairs:
        for one in pair:
            if isinstance(one, str) and not is_unicode(one):
                raise OddObjectError(f"{one[:40]!a} has half of a surrogate pair")
    if len(found) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise OddObjectError(f"it has the key {shown(twice)} twice")
    return found


def number_rule(low: float, high: float) -> str:
    """Return in words which numbers are accepted.

    Examples
    --------
    >>> number_rule(0.0, math.inf), number_rule(-1.0, 1e9)
    ('a finite number of at least 0', 'a number from -1 to 1e+09')
    """
    if high < math.inf:
        return f"a number from {low:g} to {high:g}"
    return "a finite number" + (f" of at least {low:g}" if low > -math.inf else "")


def decode(raw: bytes) -> str:
    r"""Decode an id; a byte that is not UTF-8 becomes ``\xNN``, so that ids stay distinct."""
    return raw.decode("utf-8", "backslashreplace")


def shown(token: str | bytes, width: int = 40) -> str:
    """Quote a token for a message, shortened and without control characters."""
    text = token.decode("utf-8", "replace") if isinstance(token, bytes) else token
    return f"{text!a}" if len(text) <= width else f"{text[:width]!a}..."


def shown_name(name: str, width: int = 40) -> str:
    """Quote a name for a message, without escaping the letters of any language.

    Examples
    --------
    >>> shown_name("région"), shown_name("a\\x1b")
    ("'région'", "'a\\\\x1b'")
    """
    return repr(name) if len(name) <= width else f"{name[:width]!r}..."


def one_line(error: BaseException | str) -> str:
    """Return another library's error, or text of it, as one line without control characters.

    Examples
    --------
    >>> one_line(ValueError("names must differ:\\n- a\\x1b"))
    'names must differ: - a?'
    """
    text = " ".join(str(error).split())
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def numbered(words: Sequence[str], known: dict[str, int]) -> Ints:
    """Return the number of each word; new words are added to the known ones."""
    return np.fromiter((known.setdefault(w, len(known)) for w in words), np.int64, len(words))


def as_objects(texts: Sequence[str]) -> Objects:
    """Return strings as an object array: one long string must not widen all the others."""
    array = np.empty(len(texts), object)
    array[:] = texts
    return array


def name_places(names: Sequence[str]) -> Ints:
    """Return the place of each name among the distinct ones, ascending; equal names share one.

    Python compares the names: an array of text would be as wide as the longest for every name, and
    would lose NUL at the end of a name.

    Examples
    --------
    >>> name_places(["b", "a", "b", "a\\0"]).tolist()
    [2, 0, 2, 1]
    """
    place = {name: at for at, name in enumerate(sorted(set(names)))}
    return np.fromiter(map(place.__getitem__, names), np.int64, len(names))


def as_ids(texts: Sequence[str], lengths: Sequence[int] | Ints | None = None) -> Ids:
    """Return ids of rows: int64 if all are whole numbers as Python writes them, else str.

    ``007`` and ``+7`` are not: they would become another id. Nor are numbers beyond int64.

    Parameters
    ----------
    texts : sequence of str
    lengths : sequence of int, optional
        Number of consecutive rows with each id; one each by default.

    Examples
    --------
    >>> as_ids(["7", "10"], [2, 1]).tolist(), as_ids(["007", "10"]).tolist()
    ([7, 7, 10], ['007', '10'])
    """
    ids: Ids = as_objects(texts)
    if all(map(_PLAIN_INTEGER.fullmatch, texts)):
        with contextlib.suppress(OverflowError):  # (some of 19 digits are beyond int64)
            ids = np.array([int(text) for text in texts], np.int64)
    return ids if lengths is None else np.repeat(ids, lengths)


def place_of(text: bytes, position: int) -> tuple[int, int]:
    """Return line and column of a position, both from 1, columns counted in characters."""
    line_start = text.rfind(b"\n", 0, position) + 1
    column = len(text[line_start:position].decode("utf-8", "replace")) + 1
    return text.count(b"\n", 0, position) + 1, column


def nul_error(path: str, text: bytes, position: int, lines_before: int = 0) -> FileError:
    """Return the error for a NUL byte."""
    line, column = place_of(text, position)
    return FileError(
        path,
        "there is a NUL byte: this is not plain text. Is it a binary file, or UTF-16?",
        lines_before + line,
        column,
    )


# --- A table of text: names, columns of cells, and the lines that they came from
#
# Every reader of tables makes one, and so does a frame: comparisons, items and data sets are made
# of its columns, and errors name its cells.


@dataclass(eq=False)
class CellTable:
    """Cells as text, by columns.

    Attributes
    ----------
    names : list of str
        Of the columns.
    columns : list of columns
        Each a list of str, or an array of floats where a quick reader made numbers of it.
    path : str
        The file; empty for a frame.
    lines : sequence of int
        The line in which each row begins, from 1; of an array of JSON, the number of the entry.
    names_line : int or None
        The line of the names; None where they are not in a line.
    notes : list of str
        How the text was read, if that is not obvious.
    """

    names: list[str]
    columns: list[Any]
    path: str = ""
    lines: Sequence[int] = ()
    names_line: int | None = None
    notes: list[str] = field(default_factory=list)

    @classmethod
    def from_columns(cls, columns: Mapping[str, Sequence[object]]) -> CellTable:
        """Return the columns of a frame; missing values are empty cells."""
        texts = [
            ["" if cell is None or cell != cell else str(cell) for cell in column]
            for column in columns.values()
        ]
        return cls(list(columns), texts)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0]) if self.columns else 0

    def place(self, name: str) -> int | None:
        """Return the number of a column, by its name in any case; None if there is none."""
        wanted = name.strip()
        names = [own.strip() for own in self.names]
        places = [k for k, own in enumerate(names) if own.lower() == wanted.lower()]
        places = [k for k in places if names[k] == wanted] or places
        if len(places) > 1:
            raise self._error(f"two columns are called {shown(name)}.", 1)
        return places[0] if places else None

    def require(self, name: str) -> int:
        """Return the number of a column that must be there."""
        place = self.place(name)
        if place is None:
            raise missing_column(self.path, 1, self.names, name)
        return place

    def column(self, place: int) -> list[str]:
        """Return the cells of a column, without the spaces around them."""
        cells: list[str] = self.columns[place]
        if any(cell != cell.strip() for cell in set(cells)):
            cells = [cell.strip() for cell in cells]
        return cells

    def _error(self, problem: str, line: int | None, **fields: Any) -> DataError:
        if not self.path:
            return DataError(problem, remedy=fields.get("remedy", ""))
        return FileError(self.path, problem, line, **fields)

    def error(self, row: int, place: int, problem: str, remedy: str = "") -> DataError:
        """Return the error about a cell."""
        if not self.path:
            problem = f"row {row} (from 0), column {shown(self.names[place])}: {problem}"
            return self._error(problem, None, remedy=remedy)
        cell = self.columns[place][row].strip()
        return self._error(problem, self.lines[row], column=place + 1, value=cell, remedy=remedy)

    def numbers(
        self,
        place: int,
        what: str,
        *,
        missing: bool = False,
        low: float = -math.inf,
        high: float = math.inf,
    ) -> list[float]:
        """Return the cells of a column as finite numbers from ``low`` to ``high``.

        With ``missing``, cells that are empty or ``NA``, ``nan`` or ``null`` are NaN.
        """
        cells = self.column(place)
        known: dict[str, float] = {}
        for cell in dict.fromkeys(cells):  # each distinct cell once, in order: the first is named
            value = math.nan if missing and cell in ("", "NA") else to_number(cell)
            fits = value is not None and low <= value <= high and math.isfinite(value)
            if value is None or not (fits or (missing and value != value)):
                problem = f"the {what} must be {number_rule(low, high)}. Got {shown(cell)}."
                raise self.error(cells.index(cell), place, problem)
            known[cell] = value
        return [known[cell] for cell in cells]


def missing_column(
    path: object,
    line: int | None,
    names: Sequence[str],
    wanted: str,
    role: str = "",
    remedy: str = "",
) -> DataError:
    """Return the error for a column that a file, or a frame without path, does not have."""
    if not path:
        known = ", ".join(map(shown, names))
        return DataError(
            f"the frame has no column {shown(wanted)}; columns: {known}.", value=wanted
        )
    inside = [name for name in names if name.startswith(f"{wanted}.")][:8]
    close = inside or difflib.get_close_matches(wanted, names, n=3)
    listed = close or list(names[:20])
    end = ", ..." if not close and len(names) > len(listed) else "."
    of_role = f" ({role})" if role and role != wanted else ""
    which = "close ones" if close else "columns"
    return FileError(
        path,
        f"there is no column {shown_name(wanted)}{of_role}; {which}: "
        f"{', '.join(map(shown_name, listed))}{end}",
        line,
        remedy=remedy,
        value=wanted,
    )
