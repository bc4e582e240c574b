"""How the cells of a table are written: separator, heading, decimal sign, missing values."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from crucial.data.words import to_number
from crucial.parameters import refuse
from crucial.types import Floats

__all__ = ["DECIMAL_NOTE", "LATIN", "MISSING_WORDS", "CellFormat", "has_decimal_comma"]

#: Cells that are a missing value in every table; ``nan`` and ``null`` are too, in any case.
MISSING_WORDS = frozenset(["", "NA", "N/A", "n/a", "#N/A", "?"])

#: What a text that is not UTF-8 is read as: Latin-1 with the signs that Windows puts into its gaps.
LATIN = "cp1252"

DECIMAL_NOTE = "numbers have a decimal comma"
"""What the notes of a data set say where it was found out."""

_TRUTH = {"true": 1.0, "false": 0.0, "True": 1.0, "False": 0.0, "TRUE": 1.0, "FALSE": 0.0}
_COMMA_NUMBER = re.compile(r"[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?")
_POINT_NUMBER = re.compile(r"[+-]?[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?")
_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+")
_SWAP = bytes.maketrans(b",.", b".,")
_SWAP_TEXT = str.maketrans(",.", ".,")


@dataclass(frozen=True)
class CellFormat:
    """How the cells of a table are written, as in `crucial.read_table`.

    Attributes
    ----------
    header : bool
        Whether the first line names the columns.
    sep : str or None
        Between cells; None where it has yet to be found.
    decimal : str or None
        ``.`` or ``,``; None where it has yet to be found.
    missing : frozenset of str
        Cells that are a missing value, besides those of every table.
    encoding : str
        Of the text.
    """

    header: bool = True
    sep: str | None = None
    decimal: str | None = None
    missing: frozenset[str] = frozenset()
    encoding: str = "utf-8"

    def check(self, owner: str) -> None:
        """Refuse settings that no table can have."""
        sep = self.sep
        if sep is not None and (len(sep) != 1 or sep in '"\r\n\0' or not sep.isascii()):
            rule = "one ASCII character other than a quote or line end, or None"
            raise refuse(owner, "sep", rule, sep)
        if self.decimal not in (None, ".", ","):
            raise refuse(owner, "decimal", "'.', ',' or None", self.decimal)
        ascii_bytes = bytes(range(1, 128))
        try:
            extends_ascii = ascii_bytes.decode(self.encoding) == ascii_bytes.decode()
        except (LookupError, UnicodeError, ValueError):
            extends_ascii = False
        if not extends_ascii:
            rule = "UTF-16, or an encoding that contains ASCII, such as 'utf-8' or 'latin-1'"
            raise refuse(owner, "encoding", rule, self.encoding)

    @property
    def is_utf8(self) -> bool:
        """Whether the text is UTF-8."""
        return codecs.lookup(self.encoding).name == "utf-8"

    def decode(self, raw: bytes) -> str:
        """Decode bytes; Latin-1 has a character for each, also for those that Windows has not."""
        try:
            return raw.decode(self.encoding)
        except UnicodeDecodeError:
            if self.encoding != LATIN:
                raise
            return raw.decode("latin-1")

    def is_missing(self, cell: str) -> bool:
        """Return whether a cell without spaces around it is a missing value."""
        return cell in MISSING_WORDS or cell in self.missing or _is_nan(cell)

    def known(self, cells: Sequence[str]) -> list[str | None]:
        """Return cells without spaces around them, None for missing values."""
        stripped = map(str.strip, cells)
        return [None if self.is_missing(cell) else cell for cell in stripped]

    def number(self, cell: str) -> float | None:
        """Read a cell as a number: NaN if missing, None if it is none; true and false are 1 and 0.

        Examples
        --------
        >>> german = CellFormat(decimal=",")
        >>> german.number("-1,5"), german.number("?"), german.number("1.5")
        (-1.5, nan, None)
        """
        cell = cell.strip()
        if cell in MISSING_WORDS or cell in self.missing:
            return float("nan")
        if cell in _TRUTH:
            return _TRUTH[cell]
        return self._plain_number(cell)

    def without_missing(self, values: Floats) -> Floats:
        """Return numbers with NaN in place of those that stand for a missing value."""
        marks = [mark for mark in map(self._plain_number, self.missing) if mark is not None]
        return np.where(np.isin(values, marks), np.nan, values) if marks else values

    def _plain_number(self, cell: str) -> float | None:
        return to_number(cell.translate(_SWAP_TEXT) if self.decimal == "," else cell)

    def with_points(self, text: bytes) -> bytes:
        """Return text of the same length in which numbers have decimal points."""
        return text.translate(_SWAP) if self.decimal == "," else text

    def quick_numbers(self, cells: Sequence[str]) -> Iterable[str]:
        """Return cells that ``float`` reads, where they are plain numbers."""
        return [cell.translate(_SWAP_TEXT) for cell in cells] if self.decimal == "," else cells


def _is_nan(cell: str) -> bool:
    value = to_number(cell)
    return value is not None and value != value


def has_decimal_comma(cells: Iterable[str], sep: str) -> bool:
    """Return whether numbers among cells have a decimal comma, and none a point.

    Between commas a quoted ``1,234`` may as well be one thousand and more; such cells alone
    decide nothing.

    Examples
    --------
    >>> has_decimal_comma(["1,5", "7"], ";"), has_decimal_comma(["1,5", "1.5"], ";")
    (True, False)
    >>> has_decimal_comma(["1,234"], ","), has_decimal_comma(["1,234"], ";")
    (False, True)
    """
    found = False
    for cell in map(str.strip, cells):
        if _POINT_NUMBER.fullmatch(cell):
            return False
        if _COMMA_NUMBER.fullmatch(cell):
            found = found or sep != "," or _THOUSANDS.fullmatch(cell) is None
    return found
