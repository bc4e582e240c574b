"""Lines of cells: plainly through the csv module, or compiled where they are simple."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np

from crucial.data.dataset import Dataset
from crucial.data.files import ByteSource, TextSource
from crucial.data.formats.blocks import cut_lines, next_block, read_start, text_blocks
from crucial.data.formats.cell_format import CellFormat
from crucial.data.formats.cells import CellReader, separator_of
from crucial.data.formats.columns import RoleNames, assign_roles
from crucial.data.formats.table_rows import (
    SAMPLE,
    ColumnPlan,
    ParsedRows,
    Record,
    has_dates,
    parse_records,
    to_dataset,
)
from crucial.errors import FileError
from crucial.kernels.runtime import count_threads, run_all
from crucial.kernels.text import parse_cells

__all__ = ["parse_compiled", "parse_plain", "read_csv"]

_NOT_BLANK = re.compile(rb"\S")
_MOST_LEFT_OVER = 4096  # numbers of a piece that float() may make; with more it is not simple


def parse_plain(plan: ColumnPlan, lines: Iterator[bytes], lines_before: int) -> list[ParsedRows]:
    """Parse lines with everything CSV may have: quotes, line ends in cells, words for numbers."""
    reader = CellReader(
        plan.path, lines, plan.sep, decode=plan.form.decode, lines_before=lines_before
    )
    return parse_records(plan, iter(reader), reader)


def parse_compiled(plan: ColumnPlan, text: bytes, start: int, stop: int) -> ParsedRows | None:
    """Parse the whole lines ``text[start:stop]`` with the kernel; None if they are not simple."""
    number_columns, text_columns = plan.number_columns, plan.text_columns
    slots = np.full(len(plan.names), -1, np.int64)
    slots[number_columns] = np.arange(len(number_columns))
    slots[text_columns] = -2 - np.arange(len(text_columns))
    pointed = plan.form.with_points(text)
    found = parse_cells(pointed, start, stop, plan.sep, slots, _MOST_LEFT_OVER)
    if found is None:
        return None
    numbers, places, left_over = found
    part = ParsedRows(numbers, [])
    ends = (plan.sep.encode(), b"\n")
    for row, slot, begin in left_over.tolist():
        end = min(place for place in (pointed.find(byte, begin) for byte in ends) if place >= 0)
        numbers[row, slot] = float(pointed[begin:end])
    for k in range(len(text_columns)):
        part.texts.append([plan.form.decode(text[a:b]) for a, b in places[:, k].tolist()])
    numbers[:] = plan.form.without_missing(numbers)
    # Invalid values are reported by the plain parser, which knows the lines.
    extra = part.numbers[:, plan.n_number_features :]
    bad = bool(np.isinf(part.numbers).any() or np.isnan(extra).any())
    if bad or not has_dates(plan, part) or (plan.roles.qid is not None and "" in part.texts[0]):
        return None
    return part


def _parse_piece(
    plan: ColumnPlan, block: bytes, start: int, stop: int, before: int
) -> list[ParsedRows]:
    part = parse_compiled(plan, block, start, stop)
    if part is not None:
        return [part]
    before += block.count(b"\n", 0, start)
    return parse_plain(plan, iter(io.BytesIO(block[start:stop])), before)


def _decodes(plan: ColumnPlan, block: bytes) -> bool:
    try:
        return block.isascii() or bool(plan.form.decode(block))
    except UnicodeDecodeError:
        return False


def _first_cells(path: str, line: bytes, number: int, sep: str, form: CellFormat) -> list[str]:
    reader = CellReader(path, iter([line]), sep, decode=form.decode, lines_before=number - 1)
    _, cells = next(iter(reader))
    return [cell.strip() for cell in cells]


def _take_line(path: str, blocks: Iterator[bytes]) -> tuple[bytes, bytes, int]:
    """Return the first line that is not blank, what follows it, and its number."""
    lines = 0
    for block in blocks:
        found = _NOT_BLANK.search(block)
        if found is not None:
            begin = block.rfind(b"\n", 0, found.start()) + 1
            end = block.find(b"\n", begin) + 1
            return block[begin:end], block[end:], lines + block.count(b"\n", 0, end)
        lines += block.count(b"\n")
    raise FileError(path, "the file is empty: it has no line that names the columns.")


def _sample(text: bytes, blocks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return the first lines, as many as are looked at, and all blocks with them in front."""
    taken = [text] if text else []
    more: bytes | FileError = b"?"
    while isinstance(more, bytes) and more and sum(one.count(b"\n") for one in taken) < SAMPLE:
        more = next_block(blocks)
        taken += [more] if more and isinstance(more, bytes) else []
    rest = _raising(more) if isinstance(more, FileError) else blocks
    return b"".join(taken), chain(taken, rest)


def _raising(error: FileError) -> Iterator[bytes]:
    """Raise an error where the next block would come."""
    raise error
    yield b""


def _for_lines(plan: ColumnPlan, text: bytes, lines_before: int) -> ColumnPlan:
    """Return the plan with what the first lines show about how cells are written."""
    reader = CellReader(
        plan.path,
        islice(iter(io.BytesIO(text)), SAMPLE),
        plan.sep,
        quotes="lenient",
        decode=plan.form.decode,
        lines_before=lines_before,
    )
    records: list[Record] = []
    with suppress(FileError):  # (the lines are read again: it is reported there)
        records += ((line, cells) for line, cells in reader if len(cells) == len(plan.names))
    return plan.for_rows(records)


def read_csv(
    source: ByteSource | TextSource, form: CellFormat, wanted: RoleNames, n_jobs: int | None
) -> Dataset:
    """Read a table of numbers from CSV text."""
    path = source.path
    start, plain = read_start(source)
    threads = 1 if plain else count_threads(n_jobs)
    blocks = text_blocks(source, start)
    first, rest, lines = _take_line(path, blocks)
    sep = separator_of(path, first) if form.sep is None else form.sep
    cells = _first_cells(path, first, lines, sep, form)
    if form.header:
        plan = ColumnPlan(path, cells, assign_roles(path, lines, cells, wanted), sep, form)
    else:
        names = [str(number) for number in range(1, len(cells) + 1)]
        plan = ColumnPlan(path, names, assign_roles(path, None, names, wanted), sep, form)
        rest, lines = first + rest, lines - 1
    sample, blocks = _sample(rest, blocks)
    plan = _for_lines(plan, sample, lines)
    block = next_block(blocks)
    parts: list[ParsedRows] = []
    while block:
        if isinstance(block, FileError):
            raise block
        ambiguous = plan.sep == plan.form.decimal
        if plain or ambiguous or b'"' in block or not _decodes(plan, block):
            # A quoted cell may go on in the next block: from here on it is plain.
            remaining = (line for one in chain([block], blocks) for line in io.BytesIO(one))
            parts += parse_plain(plan, remaining, lines)
            break
        tasks: list[Callable[[], Any]] = [partial(next_block, blocks)]
        for cuts in cut_lines(block, 2 * threads):
            tasks.append(partial(_parse_piece, plan, block, *cuts, lines))
        results = run_all(threads, tasks)
        parts += chain.from_iterable(results[1:])
        lines += block.count(b"\n")
        block = results[0]
    return to_dataset(plan, parts)
