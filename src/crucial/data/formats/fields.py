"""Lines of a few fields: what pairs, runs and judgements have in common."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from crucial.data.files import PathLike, open_bytes
from crucial.data.words import BOM, refuse_nul, shown
from crucial.errors import DataError, FileError

__all__ = ["check_word", "field_error", "filled_lines", "finite_number"]

_FIELD = re.compile(rb"\S+")


def filled_lines(path: PathLike) -> Iterator[tuple[int, bytes]]:
    """Give the number and the bytes of every line that holds something."""
    with open_bytes(path) as source:
        for number, raw in enumerate(source.lines(), 1):
            if number == 1:
                raw = raw.removeprefix(BOM)
            nul = raw.find(b"\0")
            if nul >= 0:
                raise refuse_nul(source.path, raw, nul, number - 1)
            if raw and not raw.isspace():
                yield number, raw


def finite_number(field: bytes) -> float | None:
    """Read a finite number; None if it is none."""
    try:
        value = float(field)
    except ValueError:
        return None
    return value if math.isfinite(value) and b"_" not in field else None


def field_error(
    path: PathLike,
    number: int,
    line: bytes,
    field: int,
    rule: str,
    words: re.Pattern[bytes] = _FIELD,
) -> FileError:
    """Make the error for the field (from 0) of a line."""
    found = list(words.finditer(line))[field]
    column = len(line[: found.start()].decode("utf-8", "replace")) + 1
    return FileError(path, f"{rule}. Got {shown(found.group().strip())}.", number, column)


def check_word(value: object, what: str, row: int) -> str:
    """Refuse an id that cannot stand between spaces."""
    text = str(value)
    raw = text.encode()
    if raw.split() != [raw] or b"\0" in raw:
        raise DataError(
            f"the {what} {shown(text)} of row {row} cannot be written: it must not be empty "
            "or contain spaces or NUL."
        )
    return text
