"""From parsed pieces to the columns of a `Dataset`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.dtypes import FloatType
from crucial.data.formats.svmlight_lines import Piece
from crucial.data.words import as_ids, as_objects, decode
from crucial.errors import Argument, FileError, Message
from crucial.kernels.text import fill_dense
from crucial.types import PathLike

__all__ = ["index_range", "join_ids", "join_items", "make_table"]

_SMALL_TABLE = 64 << 20  # bytes: up to here a dense array is never too large
_DENSE_SHARE = 4  # dense where at least one cell in so many is in the file
_DENSE_SHARE_MISSING = 32  # the same where there is no sparse form to choose


def index_range(pieces: list[Piece]) -> tuple[int, int]:
    """Smallest and largest index in the file; (1, 0) where there is no entry."""
    lowest, highest = [], []
    for piece in pieces:
        # Indices ascend within a row: only the ends of its entries need a look.
        filled = piece.row_starts[1:] > piece.row_starts[:-1]
        if filled.any():
            lowest.append(int(piece.indices[piece.row_starts[:-1][filled]].min()))
            highest.append(int(piece.indices[piece.row_starts[1:][filled] - 1].max()))
    return (min(lowest), max(highest)) if lowest else (1, 0)


def join_ids(pieces: list[Piece]) -> NDArray[Any]:
    """Query id of every row."""
    texts: list[str] = []
    begins: list[int] = []
    rows = 0
    decoded: dict[bytes, str] = {}
    for piece in pieces:
        for row, qid in piece.qids:
            begins.append(rows + row)
            if qid not in decoded:
                decoded[qid] = decode(qid)
            texts.append(decoded[qid])
        rows += len(piece.labels)
    return as_ids(texts, np.diff([*begins, rows]))


def join_items(pieces: list[Piece]) -> NDArray[Any] | None:
    """Item id of every row, "" where it has none; None where no row has one."""
    if all(piece.items is None for piece in pieces):
        return None
    items: list[str] = []
    for piece in pieces:
        items += piece.items if piece.items is not None else [""] * len(piece.labels)
    return as_objects(items)


def _compressed(pieces: list[Piece], base: int, shape: tuple[int, int], dtype: FloatType) -> Any:
    """Make the CSR array; pieces give up their arrays on the way."""
    from scipy.sparse import csr_array

    starts, before = [np.zeros(1, np.int64)], 0
    for piece in pieces:  # (a piece of blank lines has no row)
        starts.append(piece.row_starts[1:] + before)
        before += len(piece.indices)
    values = np.concatenate([piece.values.astype(dtype, copy=False) for piece in pieces])
    for piece in pieces:
        piece.values = np.empty(0)
    indices = np.concatenate([piece.indices for piece in pieces])
    indices -= np.int32(base)
    row_starts = np.concatenate(starts)
    if row_starts[-1] < 2**31:
        row_starts = row_starts.astype(np.int32)
    return csr_array((values, indices, row_starts), shape=shape)


def make_table(
    path: PathLike,
    pieces: list[Piece],
    base: int,
    shape: tuple[int, int],
    absent: str,
    dtype: FloatType,
    sparse: bool | str,
    n_jobs: int | None,
) -> Any:
    """Make ``X``, dense or compressed as `read_svmlight` documents."""
    cells = shape[0] * shape[1]
    entries = sum(len(piece.indices) for piece in pieces)
    size = cells * dtype.itemsize
    forced = sparse is False or absent == "missing"
    share = _DENSE_SHARE_MISSING if forced else _DENSE_SHARE
    fits = size <= _SMALL_TABLE or entries * share >= cells
    if sparse is True or not (fits or forced):
        return _compressed(pieces, base, shape, dtype)
    if not fits:
        raise FileError(
            path,
            f"a dense table of {shape[0]} rows and {shape[1]} columns would take "
            f"{size / 2**30:,.1f} GiB for {entries} values (less than 1 cell in "
            f"{_DENSE_SHARE_MISSING}).",
            remedy=Message(
                "Read it with ", Argument("absent", "zero"), ", which allows a sparse table, or "
                "number the features without gaps.",
            ),
        )  # fmt: skip
    # (zeros cost nothing until they are written to, by the threads)
    table = np.zeros(shape, dtype) if absent == "zero" else np.full(shape, np.nan, dtype)
    parts = [(piece.row_starts, piece.indices, piece.values) for piece in pieces]
    fill_dense(parts, base, table, n_jobs)
    return table
