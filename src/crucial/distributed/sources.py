"""Where the rows come from: the blocks of a Dask collection, delayed tables, or files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from crucial.distributed.columns import ColumnRoles, RankingPart
from crucial.distributed.results import failed, result_of
from crucial.errors import CrucialError, DataError, DataTypeError
from crucial.io.parquet import ParquetRows
from crucial.io.parts import list_parts, read_part, split_parts
from crucial.io.tables import find_format

__all__ = ["Source", "is_dask", "list_sources", "with_one_width"]

_ROLES = ("label", "qid", "weight", "query_weight")


@dataclass(frozen=True)
class Source:
    """One part of the input, which any worker can read.

    Attributes
    ----------
    name : str
        As messages call it.
    value : str, or Delayed or Future of the rows
        The path of a file, or what Dask computes before the worker reads it.
    columns : Columns
    options : dict
        Those of `read_data`, for a file.
    """

    name: str
    value: Any
    columns: ColumnRoles
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_file(self) -> bool:
        """Whether this is a file."""
        return isinstance(self.value, str)

    def without_value(self) -> Source:
        """Return the source as `read` needs it; the value is an argument of its own for Dask."""
        return replace(self, value=None)

    def read(self, value: Any, compact: bool = False) -> RankingPart | None:
        """Return the rows, or None if there are none; errors name the part.

        Parameters
        ----------
        value : what Dask made of the value of the source
        compact : bool
            As in `read_part`.
        """
        try:
            if isinstance(value, str):
                _, table = read_part(value, 0, self._reader_options(value), compact)
            else:
                table = value
            part = None if table is None else self.columns.of_part(table)
        except DataError as error:
            raise error.about(self.name) from None
        except CrucialError:
            raise
        except Exception as error:
            raise failed(self.name, error) from error
        return part if part is not None and part.data.n_rows else None

    def _reader_options(self, path: str) -> dict[str, Any]:
        """Return the options of the reader of this file."""
        options = {"n_jobs": 1, **self.options}
        if not os.path.exists(path) or not os.path.getsize(path):
            return options  # (the reader reports the first, and leaves out the second)
        kind = options.get("format", "auto")
        own = self.columns
        if (find_format(path) if kind == "auto" else kind) == "svmlight":
            if own.n_features is not None:
                options.setdefault("n_features", own.n_features)
        else:
            options.setdefault("label", own.label)
            options.setdefault("qid", own.qid)
            options.setdefault("weight", own.weight)
            options.setdefault("ignore", own.ignore)
            if own.features is not None:
                extra = [] if own.query_weight is None else [own.query_weight]
                options.setdefault("features", [*own.features, *extra])
        return options


def with_one_width(client: Any, sources: Sequence[Source]) -> list[Source]:
    """Return svmlight files with the features of all of them, counted from the same index.

    A file may lack the last features, or the first. Unless the options have ``n_features``, the
    files are read once to see which there are.
    """
    listed = list(sources)
    if not all(one.is_file and "n_features" not in one.options for one in listed):
        return listed
    futures = client.map(_width, listed, pure=False)
    found = [result_of(one.name, future) for one, future in zip(listed, futures)]
    ranges = [one for one in found if one is not None]
    if not ranges:
        return listed
    base = min(first for first, _ in ranges)
    width = max(last for _, last in ranges) + 1 - base
    options = {"n_features": width, "index_base": base}
    return [
        one if own is None else replace(one, options={**one.options, **options})
        for one, own in zip(listed, found)
    ]


def _width(source: Source) -> tuple[int, int] | None:
    """Return the first and the last index of a svmlight file with rows; None for other files."""
    path, options = source.value, dict(source.options)
    if not os.path.exists(path) or not os.path.getsize(path):
        return None
    if options.get("format", "auto") == "table" or find_format(path) != "svmlight":
        return None
    part = source.read(path)
    if part is None or part.data.index_base is None:
        return None
    base = part.data.index_base
    return base, base + part.data.n_features - 1


def is_dask(value: object) -> bool:
    """Return whether a value is a Dask collection: a frame, a series, an array or a delayed."""
    return hasattr(value, "__dask_graph__") and hasattr(value, "dask")


def list_sources(
    data: Any,
    roles: Mapping[str, Any],
    columns: ColumnRoles,
    options: Mapping[str, Any],
    client: Any = None,
) -> list[Source]:
    """Return the parts of the input, in order.

    Parameters
    ----------
    data : Dask frame or array, sequence of delayed tables, futures or data sets, str or path
        Of a folder or a pattern, the files are listed by a worker.
    roles : mapping
        ``label``, ``qid``, ``weight`` and ``query_weight``: names of columns, or Dask series and
        arrays with as many blocks as ``data``.
    columns : Columns
        The roles that are names, and which columns are features.
    options : mapping
        Those of `read_data`, for files.
    client : distributed.Client, optional
        Without, files are listed in this process.
    """
    others = {role: one for role, one in roles.items() if not (one is None or isinstance(one, str))}
    if options and not _are_files(data):
        listed = ", ".join(sorted(options))
        raise DataError(f"the parts are no files: {listed} cannot apply to them.")
    if isinstance(data, str | os.PathLike):
        return _files(os.path.abspath(os.fspath(data)), columns, options, client)
    if is_dask(data) and hasattr(data, "columns"):
        names: dict[str, Any] = {role: beside(role) for role in others}
        data = data.assign(**{names[role]: values for role, values in others.items()})
        columns = replace(columns, **names)
        values: Sequence[Any] = data.to_delayed()
    elif is_dask(data):
        values = _blocks(data, others)
    elif others:
        raise DataTypeError(
            f"{next(iter(others))} must be the name of a column, since the parts are no Dask "
            "collection."
        )
    elif isinstance(data, list | tuple):
        values = _split(data, client)
    else:
        raise DataTypeError(
            "the rows must be a Dask frame or array, a list of delayed tables or files, a folder, "
            f"or a pattern of file names. Got {type(data).__name__}."
        )
    if not len(values):
        raise DataError("there are no parts: the sequence is empty.")
    return [_source(number, value, columns, options) for number, value in enumerate(values)]


def beside(role: str) -> str:
    """Return the name of the column of labels, ids or weights that lie beside a frame."""
    return f"__{role}__"


def column_of(role: str, value: Any) -> str | None:
    """Return the name of the column of a role, which is given by name, beside the rows or not."""
    return value if value is None or isinstance(value, str) else beside(role)


def _are_files(data: Any) -> bool:
    if isinstance(data, list | tuple) and data:
        return all(isinstance(one, str | os.PathLike) for one in data)
    return isinstance(data, str | os.PathLike)


def _source(number: int, value: Any, columns: ColumnRoles, options: Mapping[str, Any]) -> Source:
    if isinstance(value, str):
        return Source(_name(value), value, columns, options)
    return Source(f"part {number} (from 0)", value, columns)


def _files(
    path: str, columns: ColumnRoles, options: Mapping[str, Any], client: Any
) -> list[Source]:
    """Return the files of a folder or pattern, as a worker sees them."""
    if client is None:
        found = _listed(path)
    else:
        found = result_of(path, client.submit(_listed, path, pure=False))
    return [Source(_name(one), one, columns, options) for one in found]


def _listed(path: str) -> list[Any]:
    return list(split_parts(list_parts(path, once=False)))


def _split(values: Sequence[Any], client: Any) -> list[Any]:
    """Return parts, where large files are several, as a worker sees them."""
    full = [os.path.abspath(one) if isinstance(one, str | os.PathLike) else one for one in values]
    if not _are_files(values):
        return full
    if client is None:
        return list(split_parts(full))
    found: list[Any] = result_of("the files", client.submit(_split, full, None, pure=False))
    return found


def _name(path: str) -> str:
    return path.name if isinstance(path, ParquetRows) else path


def _blocks(data: Any, others: Mapping[str, Any]) -> list[Any]:
    """Return the blocks of rows of an array, each with the blocks of what lies beside it."""
    from dask import delayed

    if getattr(data, "ndim", 0) != 2:
        raise DataTypeError(
            f"the rows must be a table: a Dask frame, or an array of two dimensions. Got "
            f"{type(data).__name__}."
        )
    tables = list(data.rechunk({1: -1}).to_delayed().ravel())
    chunks = data.chunks[0]
    blocks = []
    for role in _ROLES:
        own = others.get(role)
        found = [None] * len(tables) if own is None else _aligned(own, role, chunks)
        if len(found) != len(tables):
            raise DataError(
                f"the rows have {len(tables)} blocks, and {role} has {len(found)}. Rechunk them "
                "alike."
            )
        blocks.append(found)
    together = delayed(_together)
    return [together(*block) for block in zip(tables, *blocks)]


def _together(*block: Any) -> tuple[Any, ...]:
    return block


def _aligned(values: Any, role: str, chunks: tuple[Any, ...]) -> list[Any]:
    """Return one block of labels, ids or weights per block of rows."""
    import dask.array as da
    import numpy as np

    if not is_dask(values):
        values = da.from_array(np.asarray(values))
    if hasattr(values, "to_dask_array"):  # (a series)
        values = values.to_dask_array()
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise DataError(f"{role} must be 1D. Got an array of shape {values.shape}.")
    known = all(size == size for size in (*chunks, *values.chunks[0]))
    if known and values.shape[0] != sum(chunks):
        raise DataError(f"X has {sum(chunks):,} rows, and {role} has {values.shape[0]:,}.")
    if known and values.chunks[0] != chunks:
        values = values.rechunk((chunks,))
    return list(values.to_delayed().ravel())
