"""Runs and judgements: the documents a system returned per query, and how relevant they are."""

from __future__ import annotations

from dataclasses import dataclass

from crucial.types import Floats, Ids, Ints

__all__ = ["Qrels", "Run"]


@dataclass
class Run:
    """The documents that a system returned, with scores.

    Attributes
    ----------
    qid, doc : object arrays of str
        Query and document of each row.
    score : float64 array
        The higher, the better.
    tag : object array of str, or str
        Name of the system.
    """

    qid: Ids
    doc: Ids
    score: Floats
    tag: Ids | str = "crucial"


@dataclass
class Qrels:
    """Judgements of documents.

    Attributes
    ----------
    qid, doc : object arrays of str
        Query and document of each row.
    relevance : int64 array
        The higher, the better; below 0 for documents that TREC marks as spam or junk.
    """

    qid: Ids
    doc: Ids
    relevance: Ints
