"""The parts of a table: files, data sets, or functions that return one."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from typing import Any

from crucial.data.dataset import Dataset
from crucial.data.formats.parquet_rows import ParquetRows, is_parquet, split_file
from crucial.data.formats.reading import read_data
from crucial.errors import DataError, DataTypeError

__all__ = ["list_parts", "read_part", "split_parts"]


def list_parts(parts: Any, once: bool) -> Iterable[Any]:
    """Return the parts that a folder, a pattern or a sequence names.

    Parameters
    ----------
    parts : str, path or sequence
    once : bool
        Whether they are read only once, so that an iterator will do.
    """
    if isinstance(parts, str | os.PathLike):
        return _files(os.fspath(parts))
    if isinstance(parts, Dataset) or not isinstance(parts, Iterable):
        raise DataTypeError(
            "parts must be a folder, a pattern of file names, or a sequence of files, data sets "
            f"or functions. Got {type(parts).__name__}."
        )
    if isinstance(parts, Iterator):
        if not once:
            raise DataError(
                "parts are read twice, and an iterator can be read once. Pass a list of files or "
                "of functions that return a Dataset, or the bins to use."
            )
        return parts
    listed = list(parts)
    if not listed:
        raise DataError("there are no parts: the sequence is empty.")
    return listed


def split_parts(parts: Iterable[Any]) -> Iterator[Any]:
    """Yield the parts, of large parquet files several; see `split_file`."""
    for one in parts:
        if isinstance(one, str | os.PathLike):
            yield from split_file(os.fspath(one))
        else:
            yield one


def _files(path: str) -> list[str]:
    """Return the files of a folder or pattern, in the order of their names."""
    folder = os.path.isdir(path)
    pattern = os.path.join(glob.escape(path), "*") if folder else path
    if not folder and os.path.exists(path):
        return [path]
    found = sorted(
        name
        for name in glob.glob(pattern, recursive=True)
        if os.path.isfile(name) and os.path.basename(name)[0] not in "._"
    )
    if not found:
        raise DataError(
            f"{path}: there is no file in this folder."
            if folder
            else f"{path}: no file has such a name."
        )
    return found


def read_part(
    part: Any, number: int, options: dict[str, Any], compact: bool = False
) -> tuple[str, Dataset | None]:
    """Return what messages call a part, and its rows; None for a file without rows.

    Parameters
    ----------
    part : str, path, Dataset or function
    number : int
        Of the part.
    options : dict
        Those of `read_data`.
    compact : bool
        Whether the features will be looked at one by one; see `ParquetRows`.
    """
    if isinstance(part, str | os.PathLike):
        path = os.fspath(part)
        name = path.name if isinstance(path, ParquetRows) else path
        if _is_empty(path):
            return name, None
        if compact and is_parquet(path):
            path = ParquetRows.compacted(path)
        return name, read_data(path, **options)
    name = f"part {number} (from 0)"
    if options:
        raise DataError(f"{name} is no file: {', '.join(sorted(options))} cannot apply to it.")
    data = part() if callable(part) else part
    if not isinstance(data, Dataset):
        raise DataTypeError(
            f"{name} must be a file, a Dataset, or a function that returns one. Got "
            f"{type(data).__name__}."
        )
    return name, data if data.n_rows else None


def _is_empty(name: str) -> bool:
    """Whether a file has no rows, as writers of many parts leave some."""
    if os.path.isfile(name) and os.path.getsize(name) == 0:
        return True
    if not is_parquet(name) or isinstance(name, ParquetRows):
        return False
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import read_metadata
    except ImportError:  # (the reader says what to install)
        return False
    try:
        return int(read_metadata(name).num_rows) == 0
    except (ArrowException, OSError):  # (the reader says what is wrong)
        return False
