"""Text to arrays: svmlight lines."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crucial.kernels import runtime
from crucial.kernels.runtime import count_threads, run_all
from crucial.types import Floats, Ints, Reals

# --- Text to arrays: lines of ``label [qid:Q] index:value ... [# comment]``
#
# The parser in Python, for small files, is in `crucial.io`; it has the same results and
# codes.


MAX_INDEX = 2**31 - 2
"""Largest feature index: columns are counted in int32."""

# What is wrong with a line.
FINE = 0
LABEL = 1  # the first token is not a finite number
QID_MISSING = 2  # no qid, and the file's first row has one
QID_UNEXPECTED = 3  # a qid, and the file's first row has none
QID_EMPTY = 4  # nothing after "qid:"
FEATURE = 5  # a token that is not index:value
INDEX = 6  # an index below the base or above the largest allowed
ORDER = 7  # an index not above the one before
VALUE = 8  # a value that is neither a finite number nor a word for "missing"


class Lines(NamedTuple):
    """Parsed lines; see `crucial.kernels.compiled.text.parse_lines`.

    Attributes
    ----------
    labels, row_starts, indices, values, qids, places : arrays
        Longer than needed.
    lines : int
        Line ends in the text.
    rows, entries, runs : int
        Rows parsed, their entries, and places where the qid changed.
    code, position : int
        FINE, or what is wrong with the first bad line and where.
    """

    labels: Floats
    row_starts: Ints
    indices: NDArray[np.int32]
    values: Floats
    qids: Ints
    places: Ints
    lines: int
    rows: int
    entries: int
    runs: int
    code: int
    position: int


def parse_lines(
    text: bytes, start: int, stop: int, with_qid: bool, bounds: tuple[int, int], limit: float
) -> Lines:
    """Parse the lines ``text[start:stop]``, the last of which ends in a line end.

    Parameters
    ----------
    with_qid : bool
        Whether every row must have a qid, or none may.
    bounds : (int, int)
        Smallest and largest index allowed.
    limit : float
        Values of this size or more are refused (infinity, or what a float32 rounds to it).
    """
    from crucial.kernels.compiled import text as compiled

    raw = np.frombuffer(text, np.uint8)
    lines, colons = compiled.count_marks(raw, start, stop)
    out = (
        np.empty(lines),
        np.empty(lines + 1, np.int64),
        np.empty(colons, np.int32),
        np.empty(colons),
        np.empty((lines, 3), np.int64),
        np.empty((lines, 3), np.int64),
    )
    found = compiled.parse_lines(raw, start, stop, with_qid, bounds, limit, *out)
    return Lines(*out, lines, *found)


def fill_dense(
    parts: Sequence[tuple[Ints, NDArray[np.int32], Reals]],
    base: int,
    table: Reals,
    n_jobs: int | None,
) -> None:
    """Write the entries of parts of a text, one below the other, into the table (# OUT).

    Parameters
    ----------
    parts : sequence of (row_starts, indices, values)
        Row ``r`` of a part has entries ``row_starts[r]:row_starts[r + 1]``.
    base : int
        Index of the first column.
    """
    ends = np.cumsum([0, *(len(starts) - 1 for starts, _, _ in parts)]).tolist()
    pieces = [table[a:b] for a, b in pairwise(ends)]
    if sum(len(indices) for _, indices, _ in parts) <= runtime.FILL_PLAIN:
        for (starts, indices, values), rows in zip(parts, pieces):
            at = np.repeat(np.arange(len(rows)), np.diff(starts))
            rows[at, indices - base] = values
        return
    from crucial.kernels.compiled.text import fill_dense as compiled

    tasks = [partial(compiled, *part, base, rows) for part, rows in zip(parts, pieces)]
    run_all(count_threads(n_jobs), tasks)
