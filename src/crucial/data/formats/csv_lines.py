"""Lines of cells: plainly through the csv module, or compiled where they are simple."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np

from crucial.data.dataset import Dataset
from crucial.data.files import ByteSource
from crucial.data.formats.blocks import cut_lines, next_block, read_start, text_blocks
from crucial.data.formats.cells import CellReader, separator_of
from crucial.data.formats.columns import RoleNames, Roles, assign_roles, cell_error, to_cell
from crucial.data.formats.text_tables import NO_ROW
from crucial.data.words import as_ids, as_objects
from crucial.errors import FileError
from crucial.kernels.cells import parse_cells
from crucial.kernels.threads import count_threads, run_all
from crucial.types import Floats

__all__ = ["ColumnPlan", "ParsedRows", "parse_compiled", "parse_plain", "read_csv"]

_NOT_BLANK = re.compile(rb"\S")
_ROWS_AT_A_TIME = 4096
_MOST_LEFT_OVER = 4096  # numbers of a piece that float() may make; with more it is not simple


@dataclass
class ColumnPlan:
    """Where the cells of a row go."""

    path: str
    names: list[str]
    roles: Roles
    sep: str

    @property
    def number_columns(self) -> list[int]:
        """Columns read as numbers: the features, then label and weight where there are."""
        extra = (self.roles.label, self.roles.weight)
        return self.roles.features + [place for place in extra if place is not None]

    @property
    def text_columns(self) -> list[int]:
        """Columns read as text: query id and item, where there are."""
        return [place for place in (self.roles.qid, self.roles.item) if place is not None]


@dataclass
class ParsedRows:
    """Some rows: numbers, and texts column by column, in the order of the plan."""

    numbers: Floats
    texts: list[list[str]]


def _numbers(cells: Sequence[str], careful: bool) -> tuple[Floats, int]:
    """Make numbers of cells; the second is the place of the first that is none, or -1."""
    if not careful:
        try:
            quick = np.fromiter(map(float, cells), np.float64, len(cells))
        except ValueError:
            pass
        else:
            if not np.isinf(quick).any():
                return quick, -1
    values = np.empty(len(cells))
    for row, cell in enumerate(cells):
        value = to_cell(cell)
        if value is None or np.isinf(value):
            return values, row
        values[row] = value
    return values, -1


def _parse_records(
    plan: ColumnPlan, records: list[tuple[int, list[str]]], careful: bool
) -> ParsedRows:
    """Parse records that all have the right number of cells."""
    columns = list(zip(*(record for _, record in records)))
    roles = plan.roles
    errors: list[tuple[int, int, FileError]] = []
    part = ParsedRows(np.empty((len(records), len(plan.number_columns))), [])
    for slot, place in enumerate(plan.number_columns):
        what = "label" if place == roles.label else "weight" if place == roles.weight else "feature"
        values, bad = _numbers(columns[place], careful)
        if bad < 0 and what != "feature" and np.isnan(values).any():
            bad = int(np.flatnonzero(np.isnan(values))[0])
        if bad >= 0:
            error = cell_error(
                plan.path, records[bad][0], place + 1, plan.names[place], what, columns[place][bad]
            )
            errors.append((bad, place, error))
        part.numbers[:, slot] = values
    for place in plan.text_columns:
        texts = [cell.strip(" \t") for cell in columns[place]]
        if place == roles.qid and "" in texts:
            bad = texts.index("")
            problem = f"the query id {plan.names[place]!a} is empty; every row must have one."
            errors.append((bad, place, FileError(plan.path, problem, records[bad][0], place + 1)))
        part.texts.append(texts)
    if errors:
        raise min(errors, key=lambda found: found[:2])[2]
    return part


def _next_records(
    plan: ColumnPlan, records: Iterator[tuple[int, list[str]]]
) -> tuple[list[tuple[int, list[str]]], FileError | None]:
    """Take some records, up to the first that cannot be read, and the error for that one."""
    width = len(plan.names)
    taken: list[tuple[int, list[str]]] = []
    try:
        for line, cells in islice(records, _ROWS_AT_A_TIME):
            if len(cells) != width:
                problem = f"expected {width} cells, as in the first line. Got {len(cells)}."
                return taken, FileError(plan.path, problem, line)
            taken.append((line, cells))
    except FileError as error:
        return taken, error
    return taken, None


def parse_plain(plan: ColumnPlan, lines: Iterator[bytes], lines_before: int) -> list[ParsedRows]:
    """Parse lines with everything CSV may have: quotes, line ends in cells, words for numbers."""
    reader = CellReader(plan.path, lines, plan.sep, lines_before=lines_before)
    records = iter(reader)
    parts = []
    while True:
        taken, error = _next_records(plan, records)
        if taken:
            parts.append(_parse_records(plan, taken, reader.unusual))
        if error is not None:
            raise error  # (only now: errors in earlier lines come first)
        if not taken:
            return parts
        reader.unusual = False


def parse_compiled(plan: ColumnPlan, text: bytes, start: int, stop: int) -> ParsedRows | None:
    """Parse the whole lines ``text[start:stop]`` with the kernel; None if they are not simple."""
    number_columns, text_columns = plan.number_columns, plan.text_columns
    slots = np.full(len(plan.names), -1, np.int64)
    slots[number_columns] = np.arange(len(number_columns))
    slots[text_columns] = -2 - np.arange(len(text_columns))
    found = parse_cells(text, start, stop, plan.sep, slots, _MOST_LEFT_OVER)
    if found is None:
        return None
    numbers, places, left_over = found
    part = ParsedRows(numbers, [])
    ends = (plan.sep.encode(), b"\n")
    for row, slot, begin in left_over.tolist():
        end = min(place for place in (text.find(byte, begin) for byte in ends) if place >= 0)
        numbers[row, slot] = float(text[begin:end])
    for k in range(len(text_columns)):
        part.texts.append([text[a:b].decode() for a, b in places[:, k].tolist()])
    # Invalid values are reported by the plain parser, which knows the lines.
    extra = part.numbers[:, len(plan.roles.features) :]
    bad = np.isinf(part.numbers).any() or np.isnan(extra).any()
    if bad or (plan.roles.qid is not None and "" in part.texts[0]):
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


def _decodes(block: bytes) -> bool:
    try:
        return block.isascii() or bool(block.decode())
    except UnicodeDecodeError:
        return False


def _header(path: str, line: bytes, number: int, sep: str | None, wanted: RoleNames) -> ColumnPlan:
    """Read the line that names the columns."""
    sep = separator_of(path, line) if sep is None else sep
    _, cells = next(iter(CellReader(path, iter([line]), sep, lines_before=number - 1)))
    names = [cell.strip() for cell in cells]
    return ColumnPlan(path, names, assign_roles(path, number, names, wanted), sep)


def _take_header(path: str, blocks: Iterator[bytes]) -> tuple[bytes, bytes, int]:
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


def read_csv(source: ByteSource, sep: str | None, wanted: RoleNames, n_jobs: int | None) -> Dataset:
    """Read a table of numbers from CSV text."""
    start, plain = read_start(source)
    threads = 1 if plain else count_threads(n_jobs)
    blocks = text_blocks(source, start)
    header, rest, lines = _take_header(source.path, blocks)
    plan = _header(source.path, header, lines, sep, wanted)
    parts: list[ParsedRows] = []
    block: bytes | FileError = rest or next_block(blocks)
    while block:
        if isinstance(block, FileError):
            raise block
        if plain or b'"' in block or not _decodes(block):
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
    if sum(len(part.numbers) for part in parts) == 0:
        raise FileError(source.path, NO_ROW)
    return _dataset(plan, parts)


def _dataset(plan: ColumnPlan, parts: list[ParsedRows]) -> Dataset:
    """Put the parts together."""
    roles, width = plan.roles, len(plan.roles.features)
    X = np.concatenate([part.numbers[:, :width] for part in parts])
    data = Dataset(X, notes=list(roles.notes))
    data.feature_names = [plan.names[place] for place in roles.features]
    extra = np.concatenate([part.numbers[:, width:] for part in parts])
    if roles.label is not None:
        data.y = extra[:, 0].copy()
    if roles.weight is not None:
        data.weight = extra[:, -1].copy()
    texts = [list(chain.from_iterable(column)) for column in zip(*(part.texts for part in parts))]
    if roles.qid is not None:
        data.qid = as_ids(texts[0])
    if roles.item is not None:
        data.item = as_objects(texts[-1])
    return data
