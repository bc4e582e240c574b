"""Lines of a run to arrays, and words to numbers."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from crucial.types import Bytes, Floats, Ints

__all__ = ["FIELDS", "WordTable", "split_lines"]

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
    from crucial.kernels.compiled.run_text import split_lines as compiled

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
        from crucial.kernels.compiled.run_text import number_words

        codes = np.empty(len(places), np.int32)
        length = int((places[:, 2 * field + 1] - places[:, 2 * field]).sum())
        self._make_room(len(places), length)
        table = (self._slots, self._arena, self._starts, self._hashes)
        self._n = number_words(text, places, field, codes, *table, self._n)
        return codes

    def _make_room(self, n_words: int, n_bytes: int) -> None:
        """Make room for the next words, even if all of them are new."""
        from crucial.kernels.compiled.run_text import place_words

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
