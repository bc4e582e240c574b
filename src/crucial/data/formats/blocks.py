"""Text in blocks of whole lines, so that large files are parsed in parts and in threads."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from crucial.data.files import ByteSource, TextSource
from crucial.data.words import BOM, nul_error
from crucial.errors import FileError
from crucial.kernels import runtime

__all__ = ["BLOCK", "cut_lines", "next_block", "read_start", "text_blocks"]

BLOCK = 16 << 20
"""Bytes read at a time from larger ones."""


def read_start(source: ByteSource | TextSource) -> tuple[bytes, bool]:
    """Read the start of a text, without byte order mark; True if that is all and it is small."""
    start = source.read(runtime.TEXT_PLAIN + 1)
    return start.removeprefix(BOM), len(start) <= runtime.TEXT_PLAIN


def text_blocks(source: ByteSource | TextSource, text: bytes) -> Iterator[bytes]:
    """Give whole lines, some at a time; at a NUL byte those before it, then its error.

    ``text`` is what was read already. The last line gets an end if it has none.
    """
    lines, known = 0, 0
    while True:
        nul = text.find(b"\0", known)
        cut = text.rfind(b"\n", 0, nul if nul >= 0 else len(text)) + 1
        if cut:
            yield text[:cut]
        if nul >= 0:
            raise nul_error(source.path, text, nul, lines)
        lines += text.count(b"\n")
        text = text[cut:]
        known = len(text)
        # A line longer than a block is read in ever larger parts, not to copy it too often.
        part = source.read(max(BLOCK, known))
        if not part:
            break
        text += part
    if text:
        yield text + b"\n"


def next_block(blocks: Iterator[bytes]) -> bytes | FileError:
    """Take the next block, or the error that ends them: lines already read come first."""
    try:
        return next(blocks, b"")
    except FileError as error:
        return error


def cut_lines(text: bytes, pieces: int) -> list[tuple[int, int]]:
    """Cut a text into about as many pieces of whole lines; starts and stops."""
    ends = [0]
    for i in range(1, pieces):
        ends.append(max(ends[-1], text.find(b"\n", len(text) * i // pieces) + 1))
    ends.append(len(text))
    return [(start, stop) for start, stop in pairwise(ends) if start < stop]
