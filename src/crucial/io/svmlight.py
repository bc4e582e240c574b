"""svmlight / LETOR files: ``label [qid:Q] index:value ... [# comment]``.

Small texts are parsed plainly, large ones by compiled code in threads; the plain parser names the
line and column of whatever is wrong.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from crucial.data.arrays import FloatType, float_type
from crucial.data.dataset import Dataset
from crucial.data.files import ByteSource, atomic_write, open_bytes
from crucial.data.words import (
    BOM,
    as_ids,
    as_objects,
    decode,
    nul_error,
    place_of,
    shown,
    to_number,
)
from crucial.errors import Argument, DataError, FileError, Message, ParameterError
from crucial.kernels import runtime
from crucial.kernels import text as text_kernels
from crucial.kernels.runtime import count_threads, run_all
from crucial.parameters import check, int_between, none_or, one_of, refuse
from crucial.types import Floats, Ints, PathLike
from crucial.wording import counted

# --- The grammar of svmlight lines, plainly: the parser of small files, and what is wrong
#
# ::
#
#     file    = [BOM] line { newline line }
#     line    = [ row ] [ "#" comment ]
#     row     = label [ "qid:" id ] { index ":" value }       (spaces between, and around)
#     label   = finite number
#     value   = finite number | "nan" | "null"         (in any case: the value is missing)
#     index   = digits, ascending from token to token
#     spaces  = blanks, tabs, carriage returns, vertical tabs, form feeds
#
# Lines that are empty or only a comment are skipped. The compiled twin of
# `parse_lines` is in `crucial.kernels.compiled.text`.


_TOKEN = re.compile(rb"[^\s#]+")
_FIRST_ROW = re.compile(rb"^[ \t\r\f\v]*[^\s#]+[ \t\r\f\v]*(qid:)?", re.MULTILINE)
_DOCID = re.compile(rb"docid\s*=\s*(\S+)")


@dataclass
class Rules:
    """Limits of the lines of a file besides the grammar.

    Attributes
    ----------
    low_index, high_index : int
        Smallest and largest index allowed.
    limit : float
        Values of this size or more are refused.
    with_qid : bool
        Whether every row must have a qid, as the first row does, or none may.
    first_line : int
        Line of that first row.
    n_features : int or None
        The requested number of columns, for messages.
    """

    low_index: int = 0
    high_index: int = text_kernels.MAX_INDEX
    limit: float = math.inf
    with_qid: bool = False
    first_line: int = 1
    n_features: int | None = None


@dataclass
class Piece:
    """Labels, queries, entries and items of some lines of svmlight.

    Attributes
    ----------
    labels : float64 array
    row_starts : int64 array, one longer
        Row ``i`` has the entries from ``row_starts[i]`` to ``row_starts[i + 1]``.
    indices, values : arrays
        Index in the file (base not taken off) and value of each entry.
    qids : list of (row, bytes)
        The qid, wherever it differs from the row before.
    items : list of str or None
        The item ids, None if there is no comment in any row.
    code, position : int
        FINE, or what is wrong with the first bad line and where in the text; the arrays
        then contain the rows before it.
    lines : int
        Number of lines, including those without a row.
    """

    labels: Floats
    row_starts: Ints
    indices: NDArray[np.int32]
    values: NDArray[Any]
    qids: list[tuple[int, bytes]] = field(default_factory=list)
    items: list[str] | None = None
    code: int = text_kernels.FINE
    position: int = -1
    lines: int = 0


class _BadLine(Exception):
    """Code and position of what is wrong in a line."""


def first_row(text: bytes) -> tuple[int, bool] | None:
    """Find where the first row begins, and whether it has a qid; None if there is no row."""
    found = _FIRST_ROW.search(text)
    return None if found is None else (found.start(), found.group(1) is not None)


def item_of_comment(comment: bytes) -> bytes:
    """Take the item id from what follows ``#``.

    This is TOKEN in ``docid = TOKEN ...`` (as LETOR writes it), else the whole comment,
    without the spaces around it.
    """
    comment = comment.strip()
    found = _DOCID.match(comment)
    return found.group(1) if found else comment


def _to_index(digits: bytes) -> int:
    """Return the index that digits represent; if they are too many, one that is too large."""
    digits = digits.lstrip(b"0")
    return int(digits or b"0") if len(digits) < 12 else text_kernels.MAX_INDEX + 1


def _parse_line(
    line: bytes, rules: Rules, indices: list[int], values: list[float]
) -> tuple[float, bytes]:
    """Parse one row up to its comment, append its entries, and return label and qid."""
    tokens = _TOKEN.finditer(line)
    first = next(tokens)
    label = to_number(first.group().decode("latin-1"))
    if label is None or not math.isfinite(label):
        raise _BadLine(text_kernels.LABEL, first.start())
    token = next(tokens, None)
    qid = b""
    if token is not None and token.group().startswith(b"qid:"):
        qid = token.group()[4:]
        if not rules.with_qid:
            raise _BadLine(text_kernels.QID_UNEXPECTED, token.start())
        if not qid:
            raise _BadLine(text_kernels.QID_EMPTY, token.start())
        token = next(tokens, None)
    elif rules.with_qid:
        raise _BadLine(text_kernels.QID_MISSING, first.end())
    previous = -1
    while token is not None:
        digits, colon, written = token.group().partition(b":")
        if not (digits.isdigit() and colon):
            raise _BadLine(text_kernels.FEATURE, token.start())
        index = _to_index(digits)
        if not rules.low_index <= index <= rules.high_index:
            raise _BadLine(text_kernels.INDEX, token.start())
        if index <= previous:
            raise _BadLine(text_kernels.ORDER, token.start())
        value = to_number(written.decode("latin-1"))
        if value is None or abs(value) >= rules.limit:
            raise _BadLine(text_kernels.VALUE, token.start() + len(digits) + 1)
        indices.append(index)
        values.append(value)
        previous = index
        token = next(tokens, None)
    return label, qid


def parse_lines(text: bytes, rules: Rules) -> Piece:
    """Parse whole lines, plainly; what the compiled parser does, for small texts."""
    labels: list[float] = []
    row_starts = [0]
    indices: list[int] = []
    values: list[float] = []
    qids: list[tuple[int, bytes]] = []
    items: list[str] = []
    code, place, position = text_kernels.FINE, -1, 0
    for line in text.split(b"\n"):
        body, _, comment = line.partition(b"#")
        if body.strip():
            try:
                label, qid = _parse_line(body, rules, indices, values)
            except _BadLine as bad:
                code, place = bad.args[0], position + bad.args[1]
                del indices[row_starts[-1] :], values[row_starts[-1] :]
                break
            if qid and (not qids or qids[-1][1] != qid):
                qids.append((len(labels), qid))
            labels.append(label)
            row_starts.append(len(indices))
            items.append(decode(item_of_comment(comment)))
        position += len(line) + 1
    return Piece(
        np.array(labels, np.float64),
        np.array(row_starts, np.int64),
        np.array(indices, np.int32),
        np.array(values, np.float64),
        qids,
        items if any(items) else None,
        code,
        place,
        text.count(b"\n"),
    )


def problem(code: int, line: bytes, at: int, rules: Rules) -> str:
    """Say what is wrong with the line at this place."""
    found = _TOKEN.match(line, at)
    token = found.group() if found else b""
    if code == text_kernels.LABEL:
        return _label_problem(token)
    if code == text_kernels.QID_MISSING:
        return (
            f"no 'qid:' after the label, but the first row (line {rules.first_line}) has one. "
            "Give a qid to every line or to none."
        )
    if code == text_kernels.QID_UNEXPECTED:
        return (
            f"there is a qid, but the first row (line {rules.first_line}) has none. "
            "Give a qid to every line or to none."
        )
    if code == text_kernels.QID_EMPTY:
        return "expected an id right after 'qid:'. Got nothing."
    if code == text_kernels.FEATURE:
        return _feature_problem(token)
    if code == text_kernels.INDEX:
        return _index_problem(token, rules)
    if code == text_kernels.ORDER:
        index = _to_index(token.partition(b":")[0])
        before = _to_index(re.findall(rb"([0-9]+):", line[:at])[-1])
        return (
            f"index {index} comes after {before}; "
            "indices must ascend within a line, each at most once."
        )
    return _value_problem(token, rules)


def _label_problem(token: bytes) -> str:
    if b":" in token:
        return (
            f"a line must begin with its label, as in '2 qid:7 1:0.5'. Got {shown(token)}. "
            "Where labels are not known, write 0."
        )
    return f"the label must be a finite number. Got {shown(token)}."


def _feature_problem(token: bytes) -> str:
    if token.startswith(b"qid:"):
        return f"'qid:' must come once, right after the label. Got {shown(token)} here."
    if re.match(rb"-[0-9]+:", token):
        return f"a feature index must not be negative. Got {shown(token)}."
    hint = " Features with names go into a CSV file." if b":" in token else ""
    return f"expected index:value, as in '3:0.25'. Got {shown(token)}.{hint}"


def _index_problem(token: bytes, rules: Rules) -> str:
    """Return the problem with an index that is out of range."""
    index = _to_index(token.partition(b":")[0])
    if index < rules.low_index:
        return Message(
            f"index {index} is below the first index of this file (",
            Argument("index_base", rules.low_index),
            ").",
        )
    why = (
        "the largest this library counts"
        if rules.n_features is None
        else f"the last of the {rules.n_features:,} features expected"
    )
    return f"the index in {shown(token)} is above {rules.high_index}, {why}."


def _value_problem(token: bytes, rules: Rules) -> str:
    if not token:
        return "expected a value right after ':'. Got nothing."
    number = to_number(token.decode("latin-1"))
    if number is not None:
        kind = "float64" if math.isinf(rules.limit) else "float32"
        return f"the value {shown(token)} is too large for {kind}."
    if re.fullmatch(rb"[+-]?inf(inity)?", token, re.IGNORECASE):
        return f"a value must be finite, or 'nan' for missing. Got {shown(token)}."
    return f"a value must be a number, or 'nan' for missing. Got {shown(token)}."


# --- svmlight text block by block: small texts plainly, large ones compiled and in threads


BLOCK = 16 << 20
"""Bytes read at a time from larger ones."""


def text_blocks(source: ByteSource, text: bytes) -> Iterator[bytes]:
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
            piece.code, piece.position = (
                text_kernels.VALUE if row < 0 else text_kernels.LABEL,
                place,
            )
            return
        if row >= 0:
            piece.labels[row] = value
        else:
            piece.values[entry] = value
            piece.indices[entry] = -1 - piece.indices[entry]


def parse_compiled(text: bytes, start: int, stop: int, rules: Rules) -> Piece:
    """Parse the whole lines ``text[start:stop]`` with the kernel; positions are in ``text``."""
    bounds = (rules.low_index, rules.high_index)
    lines, labels, row_starts, indices, values, qids, places, found = text_kernels.parse_lines(
        text, start, stop, rules.with_qid, bounds, rules.limit
    )
    rows, entries, runs, code, position = found
    # The bad row may have numbers to finish too, and one of those may be the first bad one.
    begun = rows + (code != text_kernels.FINE)
    piece = Piece(labels[:begun], row_starts[: rows + 1], indices[:entries], values[:entries])
    piece.lines = lines
    if code != text_kernels.FINE:
        piece.code, piece.position = code, position
    _finish(text, piece, places[:begun, 2], rules)
    piece.labels = labels[:rows]
    piece.indices, piece.values = indices[: row_starts[rows]], values[: row_starts[rows]]
    piece.qids = [(row, text[a:b]) for row, a, b in qids[:runs].tolist()]
    if bool(np.any(places[:rows, 0] < places[:rows, 1])):
        piece.items = [decode(text[a:b]) for a, b, _ in places[:rows].tolist()]
    return piece


def _check(path: str, block: bytes, piece: Piece, rules: Rules, lines_before: int) -> None:
    """Raise the error of a piece, if it has one."""
    if piece.code == text_kernels.FINE:
        return
    line_start = block.rfind(b"\n", 0, piece.position) + 1
    line = block[line_start : block.find(b"\n", piece.position)]
    number, column = place_of(block, piece.position)
    text = problem(piece.code, line, piece.position - line_start, rules)
    raise FileError(path, text, lines_before + number, column)


def read_pieces(source: ByteSource, rules: Rules, n_jobs: int | None = None) -> list[Piece]:
    """Parse the lines of a source, piece after piece.

    ``rules.with_qid`` and ``rules.first_line`` are set from the first row.

    Raises
    ------
    FileError
        At the first line with something wrong.
    """
    start = source.read(runtime.TEXT_PLAIN + 1)
    plain = len(start) <= runtime.TEXT_PLAIN  # (that is all of it)
    threads = 1 if plain else count_threads(n_jobs)
    blocks = text_blocks(source, start.removeprefix(BOM))
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


# --- From parsed pieces to the columns of a `Dataset`


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


# --- svmlight / LETOR files: ``label [qid:Q] index:value ... [# comment]``


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
    feature_names: PathLike | Sequence[str] | None = None,
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
    feature_names : str, path or sequence of str, optional
        Names of the features, the first one first; or a file with one name per line, or with
        lines ``index name``.
    n_jobs : int, optional
        Threads for files above 1 MiB; all cores by default.

    Returns
    -------
    Dataset
        Columns are named by their index in the file (``"1"``, ``"2"``, ...), as LETOR's
        documents name them, unless they are given names. ``qid`` is int64 if all ids are
        whole numbers, else str. ``item`` comes from the comments: TOKEN of
        ``docid = TOKEN ...``, else the whole comment without the spaces around it; None if
        there is no comment at all. Bytes of ids that are not UTF-8 become ``\\xNN``.

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
    check(owner, "n_features", n_features, none_or(int_between(1, text_kernels.MAX_INDEX)))
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
    cells, size = n_rows * n_columns, n_rows * n_columns * kind.itemsize
    forced = sparse is False or absent == "missing"
    share = _DENSE_SHARE_MISSING if forced else _DENSE_SHARE
    fits = size <= _SMALL_TABLE or entries * share >= cells
    X: Any
    if sparse is True or not (fits or forced):
        X = _compressed(pieces, base, shape, kind)
    elif not fits:
        raise FileError(
            path,
            f"a dense table of {n_rows} rows and {n_columns} columns would take "
            f"{size / 2**30:,.1f} GiB for {entries} values (less than 1 cell in "
            f"{_DENSE_SHARE_MISSING}).",
            remedy=Message(
                "Read it with ", Argument("absent", "zero"), ", which allows a sparse table, or "
                "number the features without gaps.",
            ),
        )  # fmt: skip
    else:  # (zeros cost nothing until they are written to, by the threads)
        X = np.zeros(shape, kind) if absent == "zero" else np.full(shape, np.nan, kind)
        parts = [(piece.row_starts, piece.indices, piece.values) for piece in pieces]
        text_kernels.fill_dense(parts, base, X, n_jobs)
    data = Dataset(X, y, qid, item, index_base=base, complete=entries == n_rows * n_columns)
    if n_features is not None:
        data.occurs = np.zeros(n_columns, bool)
        for piece in pieces:
            data.occurs[piece.indices - base] = True
    if n_columns <= _MOST_NAMES:
        data.feature_names = [str(base + column) for column in range(n_columns)]
    if feature_names is not None:
        data.feature_names = _given_names(feature_names, n_columns, base)
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
    notes = []
    if data.feature_names is None:  # (else they are the indices)
        notes.append(f"feature indices begin at {base}: column 0 is feature {base}")
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


def _given_names(names: PathLike | Sequence[str], n_features: int, base: int) -> list[str]:
    """Return names of features, of a file or a sequence."""
    if isinstance(names, str | os.PathLike):
        return read_names(names, n_features, base)
    if len(names) != n_features or len({*names}) < len(names):
        raise ParameterError(
            f"feature_names must be {n_features} different names, one for each feature. Got "
            f"{len(names)}, of which {len({*names})} differ.",
            parameter="feature_names",
        )
    return list(names)


def read_names(path: PathLike, n_features: int, base: int | None) -> list[str]:
    """Return names of features: one per line, or an index before each; others have their index."""
    with open_bytes(path) as source:
        lines = [line.decode("utf-8", "replace").strip() for line in source.lines()]
    pairs = [re.fullmatch(r"(\d{1,9})[\s:,;=]+(\S.*)", line) for line in lines]
    indexed = any(lines) and all(pair or not line for pair, line in zip(pairs, lines))
    indices = [int(pair[1]) if pair else None for pair in pairs]
    base = int(not (indexed and 0 in indices)) if base is None else base
    names, given = [str(base + column) for column in range(n_features)], dict[str, int]()
    for number, (line, pair) in enumerate(zip(lines, pairs), 1):
        place = int(pair[1]) - base if pair and indexed else number - 1
        name = pair[2] if pair and indexed else line
        if name in given:
            raise FileError(path, f"the name {name!a} is also in line {given[name]}.", number)
        if line and not 0 <= place < n_features:
            problem = f"there is no feature {place + base}: there are {n_features}, from {base} on."
            raise FileError(path, problem, number)
        if line:
            names[place], given[name] = name, number
    return names


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
