"""Text to arrays: svmlight lines, and lines of runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from crucial.kernels import runtime
from crucial.kernels.runtime import count_threads, run_all
from crucial.types import Bytes, Floats, Ints, Reals

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


# --- Lines of a run to arrays, and words to numbers


_T = TypeVar("_T", bound=np.generic)

#: Fields of a line of a run.
FIELDS = 6


def split_lines(text: bytes) -> tuple[Ints, Floats, Ints] | None:
    """Find the fields of every line of a run, and read its score; None if one is not regular.

    Parameters
    ----------
    text : bytes
        Whole lines; the last byte is a line end.

    Returns
    -------
    places : int64 array of shape (n_rows, 2 * FIELDS)
        Where each field begins and ends.
    scores : float64 array of shape (n_rows,)
    odd : int64 array
        Rows whose score is a number that ``float()`` must read.
    """
    from crucial.kernels.compiled.text import split_lines as compiled

    n_lines = text.count(b"\n")
    places = np.empty((n_lines, 2 * FIELDS), np.int64)
    scores, odd = np.empty(n_lines), np.empty(n_lines, np.int64)
    n_rows, n_odd = compiled(np.frombuffer(text, np.uint8), places, scores, odd)
    return (places[:n_rows], scores[:n_rows], odd[:n_odd]) if n_rows > 0 else None


class WordTable:
    """Numbers of words, in the order in which they came: a hash table of bytes.

    Equivalent to, and much faster than, ``table.setdefault(word, len(table))`` with a dict.
    """

    def __init__(self) -> None:
        self._n = 0
        self._slots = np.full(1024, -1, np.int32)
        self._arena = np.zeros(4096, np.uint8)
        self._starts = np.zeros(257, np.int64)
        self._hashes = np.zeros(256, np.uint64)

    def __len__(self) -> int:
        return self._n

    def numbers(self, text: Bytes, places: Ints, field: int) -> NDArray[np.int32]:
        """Return the numbers of the words of a field; new words join the table.

        Parameters
        ----------
        places : int64 array of shape (n_rows, at least 2 * field + 2)
            Where each field begins and ends in the text.
        """
        from crucial.kernels.compiled.text import number_words

        codes = np.empty(len(places), np.int32)
        length = int((places[:, 2 * field + 1] - places[:, 2 * field]).sum())
        self._make_room(len(places), length)
        table = (self._slots, self._arena, self._starts, self._hashes)
        self._n = number_words(text, places, field, codes, *table, self._n)
        return codes

    def _make_room(self, n_words: int, n_bytes: int) -> None:
        """Make room for the next words, even if all of them are new."""
        from crucial.kernels.compiled.text import place_words

        words = self._n + n_words
        if words > len(self._hashes):
            room = max(words, 2 * len(self._hashes))
            self._hashes = _longer(self._hashes, room)
            self._starts = _longer(self._starts, room + 1)
        used = int(self._starts[self._n]) + n_bytes
        if used > len(self._arena):
            self._arena = _longer(self._arena, max(used, 2 * len(self._arena)))
        if 2 * words >= len(self._slots):
            self._slots = np.full(1 << (2 * words).bit_length(), -1, np.int32)
            place_words(self._hashes, self._n, self._slots)

    def words(self, numbers: NDArray[np.integer]) -> list[str]:
        """Return the words of numbers as text."""
        begin, end = self._starts[numbers].tolist(), self._starts[numbers + 1].tolist()
        arena = self._arena.data
        return [str(arena[a:b], "utf-8") for a, b in zip(begin, end)]


def _longer(array: NDArray[_T], size: int) -> NDArray[_T]:
    """Return the array with zeros at its end."""
    return np.concatenate((array, np.zeros(size - len(array), array.dtype)))
