"""Large run files: fields by kernels, words as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.files import open_bytes
from crucial.data.formats.trec import warn_reversed
from crucial.data.words import BOM, as_objects
from crucial.kernels.text import WordTable, split_lines
from crucial.types import Bytes, Floats, Ints, PathLike

__all__ = ["CodedRun", "Words", "read_coded_runs"]

_QID_FIELD, _DOC_FIELD, _TAG = 0, 2, 5


class Words(WordTable):
    """Words and their numbers, in the order in which they came; bytes, as files have them."""

    def numbers_of(self, words: list[str]) -> NDArray[np.int32]:
        """Number words that are at hand as text."""
        raw = [word.encode("utf-8", "surrogatepass") for word in words]
        lengths = np.array([len(one) for one in raw], np.int64)
        ends = np.cumsum(lengths)
        text = np.frombuffer(b"".join(raw) + b"\n", np.uint8)
        places = np.stack((ends - lengths, ends), axis=1)
        return self.numbers(text, places, 0)

    def __getitem__(self, codes: NDArray[Any]) -> NDArray[Any]:
        """The words of numbers, as text; each word is made once."""
        distinct, inverse = np.unique(codes, return_inverse=True)
        return as_objects(self.words(distinct))[inverse.ravel()]


@dataclass
class CodedRun:
    """A run whose queries and documents are numbers.

    Attributes
    ----------
    qid, doc : int arrays
    score : float64 array
    tag : str
        Empty where the lines have several.
    """

    qid: NDArray[np.int32] | Ints
    doc: NDArray[np.int32] | Ints
    score: Floats
    tag: str


@dataclass
class _RunLines:
    """The lines of a file, cut into fields."""

    text: Bytes
    places: Ints
    scores: Floats


def _cut(path: PathLike) -> _RunLines | None:
    """Cut a file into fields; None where anything about it is unusual."""
    with open_bytes(path) as source:
        raw = source.read().removeprefix(BOM)
    if not raw.endswith(b"\n"):
        raw += b"\n"
    if not raw.isascii():
        try:  # (words that are no text get other names, and could then be the same)
            raw.decode("utf-8")
        except UnicodeDecodeError:
            return None
    found = split_lines(raw)
    if found is None:
        return None
    places, scores, odd = found[0], found[1].copy(), found[2]
    for row in odd.tolist():
        scores[row] = float(raw[places[row, 8] : places[row, 9]])
    text = np.frombuffer(raw, np.uint8)
    return _RunLines(text, places, scores) if np.isfinite(scores).all() else None


def read_coded_runs(
    paths: Sequence[PathLike], queries: Words, docs: Words
) -> list[CodedRun] | None:
    """Read runs fast; None where anything about one is unusual, for `read_run` to see to.

    Documents that occur twice are not looked for.
    """
    runs = []
    with ThreadPoolExecutor(1) as ahead:
        # (the next file is cut while the words of this one are numbered)
        upcoming = ahead.submit(_cut, paths[0])
        for path, following in zip(paths, (*paths[1:], None)):
            lines = upcoming.result()
            if lines is None:
                return None
            if following is not None:
                upcoming = ahead.submit(_cut, following)
            tags = Words()
            tags.numbers(lines.text, lines.places, _TAG)
            tag = str(tags[np.zeros(1, np.int64)][0]) if len(tags) == 1 else ""
            qid = queries.numbers(lines.text, lines.places, _QID_FIELD)
            doc = docs.numbers(lines.text, lines.places, _DOC_FIELD)
            warn_reversed(path, qid.astype(np.int64), lines.scores)
            runs.append(CodedRun(qid, doc, lines.scores, tag))
    return runs
