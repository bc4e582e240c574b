"""JSON lines: one object per line, whose keys name the columns; or one list of such objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

from crucial.data.dataset import Dataset
from crucial.data.files import atomic_write, first_bytes, open_bytes
from crucial.data.formats.cell_format import CellFormat
from crucial.data.formats.cells import filled_lines
from crucial.data.formats.columns import RoleNames
from crucial.data.formats.record_tables import read_records
from crucial.data.formats.table_rows import Record
from crucial.data.words import BOM, keys_once, shown
from crucial.errors import FileError
from crucial.parameters import refuse
from crucial.types import PathLike

__all__ = ["read_json_lines", "write_json_lines"]


def _objects(path: PathLike) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield the number and the object of every line that is not blank, or of a list of objects."""
    is_list = first_bytes(path, 64).removeprefix(BOM).lstrip().startswith(b"[")
    if is_list:
        yield from _listed(path)
        return
    for number, raw in filled_lines(path):
        try:
            found = json.loads(raw, object_pairs_hook=keys_once)
        except (ValueError, RecursionError) as error:
            reason = str(error).split(":", maxsplit=1)[0]
            problem = f"every line must be one JSON object ({reason}). Got {shown(raw.strip())}."
            raise FileError(path, problem, number) from error
        if not isinstance(found, dict):
            problem = f"every line must be one JSON object. Got {shown(raw.strip())}."
            raise FileError(path, problem, number)
        yield number, found


def _listed(path: PathLike) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield the objects of a file that is one list of them, numbered from 1."""
    with open_bytes(path) as source:
        raw = source.read().removeprefix(BOM)
    try:
        found = json.loads(raw, object_pairs_hook=keys_once)
    except (ValueError, RecursionError) as error:
        problem = f"this is not one list of JSON objects: {error}."
        raise FileError(path, problem) from error
    for number, one in enumerate(found, 1):
        if not isinstance(one, dict):
            problem = f"entry {number} must be a JSON object. Got {shown(json.dumps(one))}."
            raise FileError(path, problem)
        yield number, one


def _json_cell(value: object) -> str:
    """Return a value as the text of a cell; lists and objects as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value)


def read_json_lines(path: PathLike, form: CellFormat, wanted: RoleNames) -> Dataset:
    """Read a table from JSON lines; a key that an object lacks is a missing value."""
    if not form.header:
        raise refuse("read_table", "header", "True for JSON lines: keys name the columns", False)
    rows = list(_objects(path))
    names = list(dict.fromkeys(key for _, row in rows for key in row))
    if not names:
        raise FileError(path, "there is no row with a key in this file.")
    records: Iterator[Record] = (
        (number, [_json_cell(row.get(name)) for name in names]) for number, row in rows
    )
    return read_records(path, None, names, records, form, wanted)


def write_json_lines(path: PathLike, columns: dict[str, NDArray[Any]], *, as_list: bool) -> None:
    """Write columns as one object per row, or as one list of them; whole or not at all."""
    begin, between, end = ("[\n", ",\n", "\n]\n") if as_list else ("", "\n", "\n")
    with atomic_write(path) as file:
        file.write(begin.encode())
        for number, row in enumerate(zip(*(column.tolist() for column in columns.values()))):
            # (NaN is no JSON)
            cells = {name: cell if cell == cell else None for name, cell in zip(columns, row)}
            text = json.dumps(cells, ensure_ascii=False, allow_nan=False)
            file.write(((between if number else "") + text).encode())
        file.write(end.encode())
