"""svmlight / LETOR files: ``label [qid:Q] index:value ... [# comment]``."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from crucial.data.dataset import Dataset
from crucial.data.dtypes import float_type
from crucial.data.files import atomic_write, open_bytes
from crucial.data.formats.svmlight_blocks import read_pieces
from crucial.data.formats.svmlight_lines import Rules, item_of_comment
from crucial.data.formats.svmlight_table import index_range, join_ids, join_items, make_table
from crucial.data.words import shown
from crucial.errors import Argument, DataError, FileError, Message
from crucial.kernels.text import MAX_INDEX
from crucial.parameters import check, int_between, none_or, one_of, refuse
from crucial.types import Ints, PathLike
from crucial.wording import counted

__all__ = ["read_svmlight", "write_svmlight"]

_FLOAT32_LIMIT = 2.0**128 - 2.0**103  # the smallest double that a float32 rounds to infinity
_MOST_NAMES = 1 << 20  # columns that get names: a few bytes of text may claim billions


def read_svmlight(
    path: PathLike,
    *,
    absent: Literal["zero", "missing"] = "zero",
    index_base: Literal["auto", 0, 1] = "auto",
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    sparse: Literal["auto"] | bool = "auto",
    group_sizes: PathLike | None = None,
    n_jobs: int | None = None,
) -> Dataset:
    """Read svmlight or LETOR lines, plain or gzip.

    A line is ``label [qid:Q] index:value ... [# comment]``.
    Numbers are read as Python's ``float()`` reads them. ``nan`` and ``null`` (in any
    case) are missing values; infinite values and labels that are not finite are refused.
    Indices must ascend in a line. Either every line has a qid or none. Empty lines and
    lines of comment alone are skipped.

    Parameters
    ----------
    path : str or path
        The file; gzip is recognised by its content.
    absent : {"zero", "missing"}
        What a feature is that a line does not mention.
    index_base : {"auto", 0, 1}
        The index of the first column. ``"auto"``: 0 if index 0 occurs anywhere in the
        file, else 1. Give it when several files must agree, since one of them may happen
        not to mention feature 0.
    n_features : int, optional
        Number of columns; by default as many as the largest index asks for. Give it when
        a file must match a model.
    dtype : float64 or float32
        Type of the values in ``X``.
    sparse : {"auto", True, False}
        Whether ``X`` is a scipy CSR array. ``"auto"``: if absent features are 0, a
        dense array would take more than 64 MiB, and fewer than one cell in 4 is in the
        file.
    group_sizes : str or path, optional
        A file with the number of rows of each query, one per line, in the order of the rows
        (LightGBM's ``.query``), where the lines themselves have no qid. Queries are then
        numbered from 0.
    n_jobs : int, optional
        Threads for files above 1 MiB; all cores by default.

    Returns
    -------
    Dataset
        Columns are named by their index in the file (``"1"``, ``"2"``, ...), as LETOR's
        documents name them. ``qid`` is int64 if all ids are whole numbers, else str.
        ``item`` comes from the comments: TOKEN of ``docid = TOKEN ...``, else the whole
        comment without the spaces around it; None if there is no comment at all. Bytes
        of ids that are not UTF-8 become ``\\xNN``.

    Raises
    ------
    FileError
        Naming file, line and column, both counted from 1.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "train.txt")
    ...     with open(name, "w") as file:
    ...         _ = file.write("2 qid:7 1:0.5 3:1 # docid = A\\n0 qid:7 2:-4 # docid = B\\n")
    ...     data = read_svmlight(name, absent="missing")
    >>> data.X
    array([[ 0.5,  nan,  1. ],
           [ nan, -4. ,  nan]])
    >>> data.y.tolist(), data.qid.tolist(), data.item.tolist(), data.feature_names
    ([2.0, 0.0], [7, 7], ['A', 'B'], ['1', '2', '3'])
    """
    owner = "read_svmlight"
    check(owner, "absent", absent, one_of("zero", "missing"))
    check(owner, "index_base", index_base, one_of("auto", 0, 1))
    check(owner, "sparse", sparse, one_of("auto", True, False))
    check(owner, "n_features", n_features, none_or(int_between(1, MAX_INDEX)))
    if sparse is True and absent == "missing":
        raise refuse(owner, "sparse", "'auto' or False when absent='missing'", sparse)
    kind = float_type(owner, dtype)
    rules = Rules(low_index=1 if index_base == 1 else 0, n_features=n_features)
    rules.limit = math.inf if kind == np.float64 else _FLOAT32_LIMIT
    if n_features is not None:
        rules.high_index = n_features - (1 if index_base == 0 else 0)
    with open_bytes(path) as source:
        pieces = read_pieces(source, rules, n_jobs)
    n_rows = sum(len(piece.labels) for piece in pieces)
    if n_rows == 0:
        raise FileError(path, "there is no row in this file: it is empty or all comment.")
    lowest, highest = index_range(pieces)
    base = int(lowest != 0) if index_base == "auto" else index_base
    if n_features is not None and highest - base >= n_features:
        # Only now is it known that the file counts from 0: find the line to name.
        return read_svmlight(path, index_base=0, n_features=n_features, n_jobs=n_jobs)
    n_columns = highest - base + 1 if n_features is None else n_features
    if n_columns <= 0:
        raise FileError(path, "there is no feature in any row; every line is a label alone.")

    entries = sum(len(piece.indices) for piece in pieces)
    n_missing = sum(int(np.isnan(piece.values).sum()) for piece in pieces)
    y = np.concatenate([piece.labels for piece in pieces])
    qid = join_ids(pieces) if rules.with_qid else None
    item = join_items(pieces)
    shape = (n_rows, n_columns)
    X = make_table(path, pieces, base, shape, absent, kind, sparse, n_jobs)
    data = Dataset(X, y, qid, item, index_base=base, complete=entries == n_rows * n_columns)
    if n_features is not None:
        data.occurs = np.zeros(n_columns, bool)
        for piece in pieces:
            data.occurs[piece.indices - base] = True
    if n_columns <= _MOST_NAMES:
        data.feature_names = [str(base + column) for column in range(n_columns)]
    data.notes = _notes(path, data, base, absent, entries, n_missing)
    if group_sizes is not None:
        data.qid = _qid_from_sizes(path, data, group_sizes)
        data.notes.append(f"queries are as in {os.fspath(group_sizes)}, numbered from 0")
    elif qid is None:
        data.notes.append(Message("no qid: all rows are ranked together", _hint_of_sizes(path)))
    return data


def _notes(
    path: PathLike, data: Dataset, base: int, absent: str, entries: int, n_missing: int
) -> list[str]:
    """Return the assumptions made in reading."""
    notes = [f"feature indices begin at {base}: column 0 is feature {base}"]
    cells = data.n_rows * data.n_features
    if entries < cells:
        as_what = "0" if absent == "zero" else "missing"
        note = f"features absent from a line are read as {as_what} ("
        notes.append(Message(note, Argument("absent", absent), ")"))
    if n_missing:
        are = "is" if n_missing == 1 else "are"
        text = counted(n_missing, "value")
        notes.append(f"{text} written 'nan' or 'null' {are} read as missing")
    if not isinstance(data.X, np.ndarray):
        notes.append(f"X is sparse: {entries} of {cells} cells are in the file")
    if data.feature_names is None:
        notes.append(f"features have no names: there are {data.n_features} of them")
    return notes


def _hint_of_sizes(path: PathLike) -> str:
    """Return a hint at the file of group sizes beside the file, if there is one."""
    beside = f"{os.fspath(path)}.query"
    if not os.path.exists(beside):
        return ""
    return Message(f" (if {beside} has the group sizes, pass it as ", Argument("group_sizes"), ")")


def _qid_from_sizes(path: PathLike, data: Dataset, sizes_path: PathLike) -> Ints:
    """Number the queries whose sizes are in a file, one per line."""
    if data.qid is not None:
        raise FileError(path, "the lines have their own qid.",
                        remedy=Message("Leave out ", Argument("group_sizes"), "."))  # fmt: skip
    sizes: list[int] = []
    with open_bytes(sizes_path) as source:
        for number, line in enumerate(source.lines(), 1):
            token = line.strip()
            if token.isdigit() and len(token) < 18 and int(token) > 0:
                sizes.append(int(token))
            elif token:
                problem = f"a group size must be a whole number of at least 1. Got {shown(token)}."
                raise FileError(sizes_path, problem, number, 1)
    if sum(sizes) != data.n_rows:
        problem = f"the {len(sizes)} group sizes add up to {sum(sizes)}"
        rows = f"{os.fspath(path)} has {counted(data.n_rows, 'row')}"
        raise FileError(sizes_path, f"{problem}, but {rows}.")
    return np.repeat(np.arange(len(sizes)), sizes)


def write_svmlight(
    path: PathLike,
    data: Dataset,
    *,
    absent: Literal["zero", "missing"] = "zero",
    index_base: Literal["auto", 0, 1] = "auto",
) -> None:
    """Write a file that `read_svmlight` reads back the same, to the last bit.

    Lost are weights, and names of features that are not their numbers; columns at the
    end that no row mentions must be asked for with ``n_features`` when reading.

    Parameters
    ----------
    path : str or path
        Replaced whole or not at all; packed with gzip if the name ends in ``.gz``.
    data : Dataset
        ``y`` is needed; where labels are not known, give zeros.
    absent : {"zero", "missing"}
        Which values are left out. With "zero", missing ones are written ``nan``.
    index_base : {"auto", 0, 1}
        The index of the first column. ``"auto"``: 0 if the first feature is named "0",
        else 1.
    """
    check("write_svmlight", "absent", absent, one_of("zero", "missing"))
    check("write_svmlight", "index_base", index_base, one_of("auto", 0, 1))
    if data.y is None or len(data.y) != data.n_rows or not np.isfinite(data.y).all():
        raise DataError("write_svmlight needs a finite label in data.y for every row.")
    base = index_base
    if base == "auto":
        base = 0 if data.feature_names and data.feature_names[0] == "0" else 1
    with atomic_write(path) as file:
        for row, features in enumerate(_rows(data.X, absent, base)):
            words = [repr(float(data.y[row]))]
            if data.qid is not None:
                words.append(f"qid:{_token(data.qid[row], row)}")
            words += features
            if data.item is not None and data.item[row] != "":
                words.append(f"# {_comment(data.item[row], row)}")
            file.write((" ".join(words) + "\n").encode())


def _rows(X: Any, absent: str, base: int) -> Iterator[list[str]]:
    """Give the tokens of each row."""
    dense = isinstance(X, np.ndarray)
    if not dense:
        if absent == "missing":
            remedy = Message("Use ", Argument("absent", "zero"), ".")
            raise DataError("a sparse X has no missing cells to leave out.", remedy=remedy)
        X = X.tocsr().sorted_indices()
    columns: NDArray[Any]
    for row in range(X.shape[0]):
        if dense:
            values = X[row]
            if absent == "zero":
                # (-0.0 is written: it would come back as 0.0)
                columns = np.flatnonzero((values != 0) | np.signbit(values))
            else:
                columns = np.flatnonzero(~np.isnan(values))
            values = values[columns]
        else:
            span = slice(X.indptr[row], X.indptr[row + 1])
            columns, values = X.indices[span], X.data[span]
        if np.isinf(values).any():
            column = int(columns[np.isinf(values)][0])
            raise DataError(f"X is infinite in row {row}, column {column}; it must be finite.")
        yield [
            f"{column + base}:{value!r}" for column, value in zip(columns.tolist(), values.tolist())
        ]


def _token(qid: Any, row: int) -> str:
    """Check that a qid can be written in a line."""
    text = str(qid)
    if not text or "#" in text or "\0" in text or text.encode().split() != [text.encode()]:
        raise DataError(
            f"the qid {shown(text)} of row {row} cannot be written: it must not be empty "
            "or contain spaces, '#' or NUL."
        )
    return text


def _comment(item: Any, row: int) -> str:
    """Check that an item id comes back from a comment as it is."""
    raw = str(item).encode()
    if b"\n" in raw or b"\0" in raw or item_of_comment(raw) != raw:
        raise DataError(
            f"the item {shown(raw)} of row {row} cannot be written: it must not begin or "
            "end with a space, begin with 'docid =', or contain a line end or NUL."
        )
    return str(item)
