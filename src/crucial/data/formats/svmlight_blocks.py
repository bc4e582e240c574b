"""svmlight text block by block: small texts plainly, large ones compiled and in threads."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from crucial.data.files import ByteSource
from crucial.data.formats.blocks import cut_lines, next_block, read_start, text_blocks
from crucial.data.formats.svmlight_lines import Piece, Rules, first_row, parse_lines, problem
from crucial.data.words import decode, place_of
from crucial.errors import FileError
from crucial.kernels import text as text_kernels
from crucial.kernels.runtime import count_threads, run_all
from crucial.kernels.text import FINE, LABEL, VALUE
from crucial.types import Ints

__all__ = ["parse_compiled", "read_pieces"]

_TOKEN = re.compile(rb"[^\s#]+")


def _finish(text: bytes, piece: Piece, labels_at: Ints, rules: Rules) -> None:
    """Make the numbers that the kernel left to ``float()``; too large ones are errors."""
    todo = [(int(labels_at[row]), int(row), -1) for row in np.flatnonzero(labels_at >= 0)]
    todo += [(int(piece.values[k]), -1, int(k)) for k in np.flatnonzero(piece.indices < 0)]
    for place, row, entry in sorted(todo):
        found = _TOKEN.match(text, place)
        assert found is not None
        value = float(found.group())
        if abs(value) >= (rules.limit if row < 0 else math.inf):
            # Everything left to do lies before what the kernel itself may have refused.
            piece.code, piece.position = VALUE if row < 0 else LABEL, place
            return
        if row >= 0:
            piece.labels[row] = value
        else:
            piece.values[entry] = value
            piece.indices[entry] = -1 - piece.indices[entry]


def parse_compiled(text: bytes, start: int, stop: int, rules: Rules) -> Piece:
    """Parse the whole lines ``text[start:stop]`` with the kernel; positions are in ``text``."""
    bounds = (rules.low_index, rules.high_index)
    found = text_kernels.parse_lines(text, start, stop, rules.with_qid, bounds, rules.limit)
    labels, row_starts, indices, values, qids, places = found[:6]
    rows, entries, code = found.rows, found.entries, found.code
    # The bad row may have numbers to finish too, and one of those may be the first bad one.
    begun = rows + (code != FINE)
    piece = Piece(labels[:begun], row_starts[: rows + 1], indices[:entries], values[:entries])
    piece.lines = found.lines
    if code != FINE:
        piece.code, piece.position = code, found.position
    _finish(text, piece, places[:begun, 2], rules)
    piece.labels = labels[:rows]
    piece.indices, piece.values = indices[: row_starts[rows]], values[: row_starts[rows]]
    piece.qids = [(row, text[a:b]) for row, a, b in qids[: found.runs].tolist()]
    if bool(np.any(places[:rows, 0] < places[:rows, 1])):
        piece.items = [decode(text[a:b]) for a, b, _ in places[:rows].tolist()]
    return piece


def _check(path: str, block: bytes, piece: Piece, rules: Rules, lines_before: int) -> None:
    """Raise the error of a piece, if it has one."""
    if piece.code == FINE:
        return
    line_start = block.rfind(b"\n", 0, piece.position) + 1
    line = block[line_start : block.find(b"\n", piece.position)]
    number, column = place_of(block, piece.position)
    text = problem(piece.code, line, piece.position - line_start, rules)
    raise FileError(path, text, lines_before + number, column)


def read_pieces(source: ByteSource, rules: Rules, n_jobs: int | None = None) -> list[Piece]:
    """Parse all there is in a source, piece after piece.

    ``rules.with_qid`` and ``rules.first_line`` are set from the first row.

    Raises
    ------
    FileError
        At the first line with something wrong.
    """
    start, plain = read_start(source)
    threads = 1 if plain else count_threads(n_jobs)
    blocks = text_blocks(source, start)
    pieces: list[Piece] = []
    lines = 0
    block = next_block(blocks)
    while block:
        if isinstance(block, FileError):
            raise block
        found = None if pieces else first_row(block)
        if found is not None:
            rules.first_line = lines + place_of(block, found[0])[0]
            rules.with_qid = found[1]
        # The next block is read (and unpacked) while this one is parsed.
        tasks: list[Callable[[], Any]] = [partial(next_block, blocks)]
        if found is None and not pieces:
            pass  # only comments so far
        elif plain:
            tasks.append(partial(parse_lines, block, rules))
        else:
            cuts = cut_lines(block, 2 * threads)
            tasks += [partial(parse_compiled, block, *cut, rules) for cut in cuts]
        results = run_all(threads, tasks)
        following, parsed = results[0], results[1:]
        for piece in parsed:
            _check(source.path, block, piece, rules, lines)
        pieces += parsed
        lines += sum(piece.lines for piece in parsed) if parsed else block.count(b"\n")
        block = following
    return pieces
