"""Runs and judgements: the documents a system returned per query, and how relevant they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from crucial.types import Floats, Ints

__all__ = ["Qrels", "Run"]


@dataclass
class Run:
    """What a system returned.

    Attributes
    ----------
    qid, doc : object arrays of str
        Query and document of each row.
    score : float64 array
        The higher, the better.
    tag : object array of str, or str
        Name of the system.
    """

    qid: NDArray[Any]
    doc: NDArray[Any]
    score: Floats
    tag: NDArray[Any] | str = "crucial"


@dataclass
class Qrels:
    """What was judged.

    Attributes
    ----------
    qid, doc : object arrays of str
        Query and document of each row.
    relevance : int64 array
        The higher, the better; below 0 for what TREC marks as spam or junk.
    """

    qid: NDArray[Any]
    doc: NDArray[Any]
    relevance: Ints
