"""Large run files: fields by kernels, words as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.files import PathLike, open_bytes
from crucial.data.words import BOM, as_objects
from crucial.types import Bytes, Floats, Ints

__all__ = ["CodedRun", "Words", "read_coded_runs"]

_QID, _DOC, _TAG = 0, 2, 5


class Words:
    """Words and their numbers, in the order in which they came; bytes, as files have them."""

    def __init__(self) -> None:
        self._n = 0
        self._slots = np.full(1024, -1, np.int32)
        self._arena = np.zeros(4096, np.uint8)
        self._starts = np.zeros(257, np.int64)
        self._hashes = np.zeros(256, np.uint64)

    def __len__(self) -> int:
        return self._n

    def numbers(self, text: Bytes, places: Ints, field: int) -> NDArray[np.int32]:
        """Number the words of a field; those that are new join."""
        from crucial.kernels.run_text import number_words

        codes = np.empty(len(places), np.int32)
        length = int((places[:, 2 * field + 1] - places[:, 2 * field]).sum())
        self._make_room(len(places), length)
        self._n = number_words(
            text, places, field, codes, self._slots, self._arena, self._starts, self._hashes,
            self._n,
        )  # fmt: skip
        return codes

    def numbers_of(self, words: list[str]) -> NDArray[np.int32]:
        """Number words that are at hand as text."""
        raw = [word.encode("utf-8", "surrogatepass") for word in words]
        lengths = np.array([len(one) for one in raw], np.int64)
        ends = np.cumsum(lengths)
        text = np.frombuffer(b"".join(raw) + b"\n", np.uint8)
        places = np.stack((ends - lengths, ends), axis=1)
        return self.numbers(text, places, 0)

    def _make_room(self, n_words: int, n_bytes: int) -> None:
        """Grow, so that all words that come may be new."""
        from crucial.kernels.run_text import place_words

        words = self._n + n_words
        if words > len(self._hashes):
            room = max(words, 2 * len(self._hashes))
            self._hashes = np.concatenate((self._hashes, np.zeros(room - len(self._hashes), "u8")))
            more = room + 1 - len(self._starts)
            self._starts = np.concatenate((self._starts, np.zeros(more, np.int64)))
        used = int(self._starts[self._n]) + n_bytes
        if used > len(self._arena):
            room = max(used, 2 * len(self._arena))
            more = room - len(self._arena)
            self._arena = np.concatenate((self._arena, np.zeros(more, np.uint8)))
        if 2 * words >= len(self._slots):
            size = 1 << (2 * words).bit_length()
            self._slots = np.full(size, -1, np.int32)
            place_words(self._hashes, self._n, self._slots)

    def __getitem__(self, codes: NDArray[Any]) -> NDArray[Any]:
        """The words of numbers, as text; each word is made once."""
        distinct, inverse = np.unique(codes, return_inverse=True)
        begin, end = self._starts[distinct].tolist(), self._starts[distinct + 1].tolist()
        arena = self._arena.data
        texts = [str(arena[a:b], "utf-8") for a, b in zip(begin, end)]
        return as_objects(texts)[inverse.ravel()]


@dataclass
class CodedRun:
    """A run whose topics and documents are numbers of `Words`.

    Attributes
    ----------
    qid, doc : int32 arrays
    score : float64 array
    tag : str
        Empty where the lines have several.
    """

    qid: NDArray[np.int32]
    doc: NDArray[np.int32]
    score: Floats
    tag: str


@dataclass
class _Lines:
    """The lines of a file, cut into fields."""

    text: Bytes
    places: Ints
    scores: Floats


def _cut(path: PathLike) -> _Lines | None:
    """Cut a file into fields; None where anything about it is unusual."""
    from crucial.kernels.run_text import FIELDS, split_lines

    with open_bytes(path) as source:
        raw = source.read().removeprefix(BOM)
    if not raw.endswith(b"\n"):
        raw += b"\n"
    if not raw.isascii():
        try:  # (words that are no text get other names, and could then be the same)
            raw.decode("utf-8")
        except UnicodeDecodeError:
            return None
    text = np.frombuffer(raw, np.uint8)
    n_lines = raw.count(b"\n")
    places = np.empty((n_lines, 2 * FIELDS), np.int64)
    scores, odd = np.empty(n_lines), np.empty(n_lines, np.int64)
    n_rows, n_odd = split_lines(text, places, scores, odd)
    if n_rows <= 0:
        return None
    places, scores = places[:n_rows], scores[:n_rows].copy()
    for row in odd[:n_odd].tolist():
        scores[row] = float(raw[places[row, 8] : places[row, 9]])
    return _Lines(text, places, scores) if np.isfinite(scores).all() else None


def read_coded_runs(paths: Sequence[PathLike], topics: Words, docs: Words) -> list[CodedRun] | None:
    """Read runs fast; None where anything about one is unusual, for `read_run` to see to.

    Documents that occur twice are not looked for.
    """
    runs = []
    with ThreadPoolExecutor(1) as ahead:
        # (the next file is cut while the words of this one are numbered)
        upcoming = ahead.submit(_cut, paths[0])
        for following in (*paths[1:], None):
            lines = upcoming.result()
            if lines is None:
                return None
            if following is not None:
                upcoming = ahead.submit(_cut, following)
            tags = Words()
            tags.numbers(lines.text, lines.places, _TAG)
            tag = str(tags[np.zeros(1, np.int64)][0]) if len(tags) == 1 else ""
            qid = topics.numbers(lines.text, lines.places, _QID)
            doc = docs.numbers(lines.text, lines.places, _DOC)
            runs.append(CodedRun(qid, doc, lines.scores, tag))
    return runs
