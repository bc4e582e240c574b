"""The grammar of svmlight lines, plainly: the parser of small files, and what is wrong.

::

    file    = [BOM] line { newline line }
    line    = [ row ] [ "#" comment ]
    row     = label [ "qid:" id ] { index ":" value }       (spaces between, and around)
    label   = finite number
    value   = finite number | "nan" | "null"         (in any case: the value is missing)
    index   = digits, ascending from token to token
    spaces  = blanks, tabs, carriage returns, vertical tabs, form feeds

Lines that are empty or only a comment are skipped. The compiled twin of
`parse_lines` is in `crucial.kernels.text`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.words import decode, shown, to_number
from crucial.errors import Argument, Message
from crucial.kernels.text import (
    FEATURE,
    FINE,
    INDEX,
    LABEL,
    MAX_INDEX,
    ORDER,
    QID_EMPTY,
    QID_MISSING,
    QID_UNEXPECTED,
    VALUE,
)
from crucial.types import Floats, Ints

__all__ = ["Piece", "Rules", "first_row", "item_of_comment", "parse_lines", "problem"]

_TOKEN = re.compile(rb"[^\s#]+")
_FIRST_ROW = re.compile(rb"^[ \t\r\f\v]*[^\s#]+[ \t\r\f\v]*(qid:)?", re.MULTILINE)
_DOCID = re.compile(rb"docid\s*=\s*(\S+)")


@dataclass
class Rules:
    """What a line must keep to besides the grammar.

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
    high_index: int = MAX_INDEX
    limit: float = math.inf
    with_qid: bool = False
    first_line: int = 1
    n_features: int | None = None


@dataclass
class Piece:
    """The content of some lines.

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
    code: int = FINE
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
    return int(digits or b"0") if len(digits) < 12 else MAX_INDEX + 1


def _parse_line(
    line: bytes, rules: Rules, indices: list[int], values: list[float]
) -> tuple[float, bytes]:
    """Parse one row up to its comment, append its entries, and return label and qid."""
    tokens = _TOKEN.finditer(line)
    first = next(tokens)
    label = to_number(first.group().decode("latin-1"))
    if label is None or not math.isfinite(label):
        raise _BadLine(LABEL, first.start())
    token = next(tokens, None)
    qid = b""
    if token is not None and token.group().startswith(b"qid:"):
        qid = token.group()[4:]
        if not rules.with_qid:
            raise _BadLine(QID_UNEXPECTED, token.start())
        if not qid:
            raise _BadLine(QID_EMPTY, token.start())
        token = next(tokens, None)
    elif rules.with_qid:
        raise _BadLine(QID_MISSING, first.end())
    previous = -1
    while token is not None:
        digits, colon, written = token.group().partition(b":")
        if not (digits.isdigit() and colon):
            raise _BadLine(FEATURE, token.start())
        index = _to_index(digits)
        if not rules.low_index <= index <= rules.high_index:
            raise _BadLine(INDEX, token.start())
        if index <= previous:
            raise _BadLine(ORDER, token.start())
        value = to_number(written.decode("latin-1"))
        if value is None or abs(value) >= rules.limit:
            raise _BadLine(VALUE, token.start() + len(digits) + 1)
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
    code, place, position = FINE, -1, 0
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
    if code == LABEL:
        return _label_problem(token)
    if code == QID_MISSING:
        return (
            f"no 'qid:' after the label, but the first row (line {rules.first_line}) has one. "
            "Give a qid to every line or to none."
        )
    if code == QID_UNEXPECTED:
        return (
            f"there is a qid, but the first row (line {rules.first_line}) has none. "
            "Give a qid to every line or to none."
        )
    if code == QID_EMPTY:
        return "expected an id right after 'qid:'. Got nothing."
    if code == FEATURE:
        return _feature_problem(token)
    if code == INDEX:
        return _index_problem(token, rules)
    if code == ORDER:
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
