"""Sheets of Excel files, through openpyxl."""

from __future__ import annotations

import datetime
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from crucial.data.dataset import Dataset
from crucial.data.files import check_unpacked
from crucial.data.formats.cell_format import CellFormat
from crucial.data.formats.cells import missing_column
from crucial.data.formats.columns import RoleNames
from crucial.data.formats.record_tables import read_records
from crucial.data.formats.table_rows import Record
from crucial.data.formats.text_tables import NO_ROW
from crucial.data.words import shown
from crucial.errors import Argument, CrucialError, FileError, Message
from crucial.types import PathLike

__all__ = ["read_excel"]

_MOST_ROWS = 1 << 20  # Excel's own bound; openpyxl fills all rows up to one of any number


def read_excel(path: PathLike, sheet: str | None, form: CellFormat, wanted: RoleNames) -> Dataset:
    """Read a table from a sheet: the values that formulas had when it was saved.

    Empty rows and the empty columns around the table are left out.
    """
    rows, note = _rows(path, sheet)
    if not rows:
        raise FileError(path, "the sheet is empty.")
    used = sorted({column for _, row in rows for column, cell in enumerate(row) if cell})
    check_unpacked(path, 8 * len(rows) * len(used))
    records: Iterator[Record] = (
        (line, [row[column] if column < len(row) else "" for column in used]) for line, row in rows
    )
    line: int | None = None
    if form.header:
        line, names = next(records)
        if len(rows) == 1:
            raise FileError(path, NO_ROW)
    else:
        names = [str(number) for number in range(1, len(used) + 1)]
    data = read_records(path, line, names, records, form, wanted)
    data.notes += [note] if note else []
    return data


@contextmanager
def _refused(path: PathLike) -> Iterator[None]:
    """Say in one line that openpyxl cannot read a file: a damaged one may raise anything."""
    try:
        yield
    except (CrucialError, MemoryError):
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise FileError(path, f"cannot be read: {reason[:1].lower()}{reason[1:]}.") from error
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        problem = "this is not an Excel file of the kind .xlsx; save it as such, or as CSV."
        raise FileError(path, problem) from error
    except Exception as error:
        kind = type(error).__name__
        problem = f"the Excel file is damaged ({kind} in openpyxl); save it again, or as CSV."
        raise FileError(path, problem) from error


def _rows(path: PathLike, sheet: str | None) -> tuple[list[Record], str]:
    """Return the rows that are not empty, and a note on other sheets."""
    try:
        import openpyxl
    except ImportError as error:
        raise FileError(path, "Excel needs openpyxl: pip install crucial[excel].") from error
    with _refused(path), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # (about styles and extensions, which are not read)
        with zipfile.ZipFile(path) as parts:
            check_unpacked(path, sum(part.file_size for part in parts.infolist()))
        book: Any = openpyxl.load_workbook(path, read_only=True, data_only=True)
        try:
            names: list[str] = [one.title for one in book.worksheets]
            if sheet is not None and sheet not in names:
                raise missing_column(path, None, names, sheet, "sheet")
            chosen = book.worksheets[0 if sheet is None else names.index(sheet)]
            chosen.reset_dimensions()  # (some programs write wrong ones)
            rows, size = [], 0
            for line, values in enumerate(chosen.iter_rows(values_only=True), 1):
                if line > _MOST_ROWS:
                    raise FileError(path, f"a sheet has at most {_MOST_ROWS:,} rows.", line)
                if not values:
                    continue
                # (a cell can be far away from the one before, and its text be in the file once)
                cells = [_sheet_cell(value) for value in values]
                size += sum(max(8, len(cell)) for cell in cells)
                check_unpacked(path, size)
                if any(cells):
                    rows.append((line, cells))
        finally:
            book.close()
    return rows, _other_sheets(names, chosen.title) if sheet is None else ""


def _other_sheets(names: Sequence[str], chosen: str) -> str:
    if len(names) == 1:
        return ""
    others = ", ".join(shown(name) for name in names if name != chosen)
    return Message(
        f"the sheet {shown(chosen)} was read, not {others} (", Argument("sheet"), " chooses)"
    )


def _sheet_cell(value: object) -> str:
    """Return a value as the text of a cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return repr(value.total_seconds())
    return str(value).strip()
