"""Text to arrays: svmlight lines."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

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


def parse_lines(
    text: bytes, start: int, stop: int, with_qid: bool, bounds: tuple[int, int], limit: float
) -> tuple[
    int, Floats, Ints, NDArray[np.int32], Floats, Ints, Ints, tuple[int, int, int, int, int]
]:
    """Parse the lines ``text[start:stop]``, the last of which ends in a line end.

    Returns the number of lines, and what the parameters and results of
    `crucial.kernels.compiled.text.parse_lines` contain; the arrays are longer than needed.
    """
    from crucial.kernels.compiled import text as compiled

    raw = np.frombuffer(text, np.uint8)
    lines, colons = compiled.count_marks(raw, start, stop)
    labels, row_starts = np.empty(lines), np.empty(lines + 1, np.int64)
    indices, values = np.empty(colons, np.int32), np.empty(colons)
    qids, places = np.empty((2, lines, 3), np.int64)
    out = (labels, row_starts, indices, values, qids, places)
    return lines, *out, compiled.parse_lines(raw, start, stop, with_qid, bounds, limit, *out)


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
