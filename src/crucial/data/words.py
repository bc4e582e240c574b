"""Small rules that all text readers share: numbers, ids, tokens in messages."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.errors import FileError

__all__ = [
    "BOM",
    "as_ids",
    "as_objects",
    "decode",
    "finite_number",
    "nul_error",
    "place_of",
    "shown",
    "to_number",
]

BOM = b"\xef\xbb\xbf"

# (no digit can belong to two parts of it: a long token that is no number must not take long)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_MISSING = re.compile(r"[+-]?(?:nan|null)", re.IGNORECASE | re.ASCII)
_PLAIN_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")


def to_number(text: str) -> float | None:
    """Read a number as it is written in a file: NaN for ``nan`` or ``null``, None if it is none.

    Narrower than ``float()``, which also takes ``1_000``, ``infinity`` and digits of
    every script; infinite only where the number is too large.

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


def decode(raw: bytes) -> str:
    r"""Make text of an id; a byte that is not UTF-8 becomes ``\xNN``, so that ids stay apart."""
    return raw.decode("utf-8", "backslashreplace")


def shown(token: str | bytes, width: int = 40) -> str:
    """Quote a token for a message, shortened and with nothing that acts on a terminal."""
    text = token.decode("utf-8", "replace") if isinstance(token, bytes) else token
    return f"{text!a}" if len(text) <= width else f"{text[:width]!a}..."


def as_objects(texts: Sequence[str]) -> NDArray[Any]:
    """Put strings into an object array: one long string must not widen all the others."""
    array = np.empty(len(texts), object)
    array[:] = texts
    return array


def as_ids(
    texts: Sequence[str], lengths: Sequence[int] | NDArray[Any] | None = None
) -> NDArray[Any]:
    """Ids of rows: int64 if every one is a whole number as Python writes it, else str.

    ``007`` and ``+7`` are not: they would come back as another id.

    Parameters
    ----------
    texts : sequence of str
    lengths : sequence of int, optional
        How many rows in a row have that id; one each by default.

    Examples
    --------
    >>> as_ids(["7", "10"], [2, 1]).tolist(), as_ids(["007", "10"]).tolist()
    ([7, 7, 10], ['007', '10'])
    """
    if all(map(_PLAIN_INTEGER.fullmatch, texts)):
        ids: NDArray[Any] = np.array([int(text) for text in texts], np.int64)
    else:
        ids = as_objects(texts)
    return ids if lengths is None else np.repeat(ids, lengths)


def place_of(text: bytes, position: int) -> tuple[int, int]:
    """Line and column of a position, both from 1, columns counted in characters."""
    line_start = text.rfind(b"\n", 0, position) + 1
    column = len(text[line_start:position].decode("utf-8", "replace")) + 1
    return text.count(b"\n", 0, position) + 1, column


def nul_error(path: str, text: bytes, position: int, lines_before: int = 0) -> FileError:
    """Make the error for a NUL byte."""
    line, column = place_of(text, position)
    return FileError(
        path,
        "there is a NUL byte: this is not plain text. Is it a binary file, or UTF-16?",
        lines_before + line,
        column,
    )
