"""Text to arrays: lines of ``label [qid:Q] index:value ... [# comment]``."""

from __future__ import annotations

import numpy as np

from crucial.kernels.compiled.decimals import BROKEN, FOR_PYTHON, MISSING, parse_number
from crucial.kernels.jit import kernel
from crucial.kernels.text import (
    FEATURE,
    FINE,
    INDEX,
    LABEL,
    ORDER,
    QID_EMPTY,
    QID_MISSING,
    QID_UNEXPECTED,
    VALUE,
)

__all__ = ["count_marks", "fill_dense", "is_space", "parse_lines"]

_NEWLINE, _SPACE, _HASH, _COLON, _EQUALS = 10, 32, 35, 58, 61
_QID = tuple(b"qid:")
_DOCID = tuple(b"docid")


@kernel
def count_marks(text, start, stop):
    """Count the line ends and the colons of ``text[start:stop]``."""
    lines, colons = 0, 0
    for i in range(start, stop):
        lines += text[i] == _NEWLINE
        colons += text[i] == _COLON
    return lines, colons


@kernel
def is_space(byte):
    """Return whether a byte is a space or a line end."""
    return byte == _SPACE or 9 <= byte <= 13


@kernel
def _skip_spaces(text, at):
    """Go to the next byte that is not a space inside a line."""
    while is_space(text[at]) and text[at] != _NEWLINE:
        at += 1
    return at


@kernel
def _ends_token(byte):
    return is_space(byte) or byte == _HASH


@kernel
def _begins(text, at, stop, word):
    """Return whether ``text[at:stop]`` begins with these bytes."""
    for byte in word:
        if at >= stop or text[at] != byte:
            return False
        at += 1
    return True


@kernel
def _item_place(text, start, stop):
    """Find the item id in the comment ``text[start:stop]``.

    TOKEN of ``docid = TOKEN ...``, else the whole comment without the spaces around it.
    """
    while start < stop and is_space(text[start]):
        start += 1
    while start < stop and is_space(text[stop - 1]):
        stop -= 1
    if _begins(text, start, stop, _DOCID):
        at = start + len(_DOCID)
        while at < stop and is_space(text[at]):
            at += 1
        if at < stop and text[at] == _EQUALS:
            at += 1
            while at < stop and is_space(text[at]):
                at += 1
            end = at
            while end < stop and not is_space(text[end]):
                end += 1
            if end > at:
                return at, end
    return start, stop


@kernel
def _parse_features(text, at, bounds, limit, entries, indices, values):
    """Parse ``index:value ...`` up to a comment or the line end.

    Returns where it ended, the number of entries after it, and FINE; or the place and
    the code of an error.
    """
    low, high = bounds
    previous = np.int64(-1)
    while True:
        at = _skip_spaces(text, at)
        if text[at] == _NEWLINE or text[at] == _HASH:
            return at, entries, FINE
        token = at
        index = np.int64(0)
        while 48 <= text[at] <= 57:
            if index <= high:
                index = index * 10 + np.int64(text[at] - 48)
            at += 1
        if at == token or text[at] != _COLON:
            return token, entries, FEATURE
        if index < low or index > high:
            return token, entries, INDEX
        if index <= previous:
            return token, entries, ORDER
        previous = index
        token = at + 1
        value, at, state = parse_number(text, token)
        if state == BROKEN or not _ends_token(text[at]) or abs(value) >= limit:
            return token, entries, VALUE
        indices[entries] = index
        values[entries] = value
        if state == FOR_PYTHON:
            indices[entries] = -1 - index
            values[entries] = token
        entries += 1


@kernel
def parse_lines(
    text, start, stop, with_qid, bounds, limit, labels, row_starts, indices, values, qids, places
):
    """Parse the lines ``text[start:stop]``, the last of which ends in a line end.

    Equivalent to the plain parser of the svmlight reader, and much faster.

    Parameters
    ----------
    with_qid : bool
        Whether every row must have a qid, or none may.
    bounds : (int, int)
        Smallest and largest index allowed.
    limit : float
        Values of this size or more are refused (infinity, or what a float32 rounds to it).
    labels : float64 array, one for every line
        # OUT
    row_starts : int64 array, one more than lines
        # OUT, where the row's entries begin
    indices, values : int32 and float64 arrays, one for every colon
        # OUT; ``float()`` must finish an entry whose index came out as ``-1 - index``,
        from the text at the place that is its value
    qids : int64 array of shape (lines, 3)
        # OUT, (row, start, stop) wherever the qid differs from the row before
    places : int64 array of shape (lines, 3)
        # OUT, start and stop of the item id (the same where there is none), and where the
        label is that ``float()`` must finish, else -1

    Returns
    -------
    rows, entries, runs : int
        Rows parsed, entries (those of a bad row too, up to where it is bad), and places
        where the qid changed.
    code, place : int
        FINE, or what is wrong with the first bad line and where.
    """
    rows, entries, runs = 0, 0, 0
    qid_start, qid_length = start, -1
    row_starts[0] = 0
    at = start
    while at < stop:
        at = _skip_spaces(text, at)
        if text[at] == _HASH:
            while text[at] != _NEWLINE:
                at += 1
        if text[at] == _NEWLINE:
            at += 1
            continue
        label = at
        places[rows, 2] = -1
        value, at, state = parse_number(text, label)
        if state >= MISSING or not _ends_token(text[at]):
            return rows, entries, runs, LABEL, label
        labels[rows] = value
        places[rows, 2] = label if state == FOR_PYTHON else -1
        after_label = at
        at = _skip_spaces(text, at)
        if _begins(text, at, stop, _QID):
            begin = at + len(_QID)
            if not with_qid:
                return rows, entries, runs, QID_UNEXPECTED, at
            if _ends_token(text[begin]):
                return rows, entries, runs, QID_EMPTY, at
            at = begin
            same = True
            while not _ends_token(text[at]):
                same = same and text[at] == text[qid_start + at - begin]
                at += 1
            if not same or at - begin != qid_length:
                qid_start, qid_length = begin, at - begin
                qids[runs, 0] = rows
                qids[runs, 1] = begin
                qids[runs, 2] = at
                runs += 1
        elif with_qid:
            return rows, entries, runs, QID_MISSING, after_label
        at, entries, code = _parse_features(text, at, bounds, limit, entries, indices, values)
        if code != FINE:
            return rows, entries, runs, code, at
        item, item_end = at, at
        if text[at] == _HASH:
            comment = at + 1
            while text[at] != _NEWLINE:
                at += 1
            item, item_end = _item_place(text, comment, at)
        places[rows, 0] = item
        places[rows, 1] = item_end
        at += 1
        rows += 1
        row_starts[rows] = entries
    return rows, entries, runs, FINE, stop


@kernel
def fill_dense(row_starts, indices, values, base, table):
    """Write the entries of a piece into its rows of the table (# OUT).

    Equivalent to ``table[row, indices[k] - base] = values[k]`` for the entries k of each row.
    """
    for row in range(len(row_starts) - 1):
        for k in range(row_starts[row], row_starts[row + 1]):
            table[row, indices[k] - base] = values[k]
