"""Text in other encodings than UTF-8."""

from __future__ import annotations

import codecs

from crucial.data.formats.cell_format import LATIN, CellFormat
from crucial.errors import FileError
from crucial.types import PathLike

__all__ = ["as_utf8", "from_utf16", "is_utf16"]


_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def is_utf16(encoding: str) -> bool:
    """Return whether a name means UTF-16, in any order of its bytes.

    Examples
    --------
    >>> is_utf16("UTF16"), is_utf16("utf_16_le"), is_utf16("utf-8"), is_utf16("none")
    (True, True, False, False)
    """
    try:
        return codecs.lookup(encoding).name.startswith("utf-16")
    except (LookupError, ValueError):
        return False


def from_utf16(path: PathLike, raw: bytes, encoding: str = "utf-16") -> bytes:
    """Return a text of UTF-16 as UTF-8, without the mark at its start.

    Raises
    ------
    FileError
        It is not UTF-16.
    """
    try:
        return raw.decode(encoding).removeprefix("\ufeff").encode()
    except UnicodeError as error:
        seen = ", as it begins" if raw.startswith(_MARKS) else ""
        raise FileError(path, f"this is not UTF-16 text{seen} ({error}).") from error


def as_utf8(path: PathLike, raw: bytes) -> tuple[bytes, str]:
    """Return a text as UTF-8, and a note on how it was read; empty if it is UTF-8.

    UTF-16 is recognised by the mark at its start. What is not UTF-8 is read as Latin-1 with the
    signs of Windows, unless it contains control characters, as texts do not: that is returned as
    it is.

    Raises
    ------
    FileError
        It begins as UTF-16 and is not.

    Examples
    --------
    >>> as_utf8("x.csv", b"caf\\xe9")
    (b'caf\\xc3\\xa9', 'the text is not UTF-8 and was read as Latin-1 (Windows-1252)')
    >>> as_utf8("x.csv", b"tea")
    (b'tea', '')
    """
    if raw.startswith(_MARKS):
        return from_utf16(path, raw), "the text was read as UTF-16"
    try:
        raw.decode()
    except UnicodeDecodeError:
        if any(code in raw for code in range(9)):
            return raw, ""
        text = CellFormat(encoding=LATIN).decode(raw)
        return text.encode(), "the text is not UTF-8 and was read as Latin-1 (Windows-1252)"
    return raw, ""
