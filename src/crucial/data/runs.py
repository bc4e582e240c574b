"""Runs and judgements: the documents a system returned per query, and how relevant they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.types import Floats, Ids, Ints, VectorLike

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

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return ``{query: {doc: score}}``, the best document of each query first.

        Equal scores are ordered by document, last first, as trec_eval does.

        Examples
        --------
        >>> Run(["7", "7"], ["a", "b"], [1.0, 2.5]).to_dict()
        {'7': {'b': 2.5, 'a': 1.0}}
        """
        queries = _nested(self.qid, self.doc, np.asarray(self.score, np.float64).tolist())
        return {
            query: dict(sorted(docs.items(), key=lambda one: (one[1], one[0]), reverse=True))
            for query, docs in queries.items()
        }


@dataclass
class Qrels:
    """Judgements of documents.

    Attributes
    ----------
    qid, doc : object arrays of str
        Query and document of each row.
    relevance : int64 array, or float64 array where grades are not whole numbers
        The higher, the better; below 0 for documents that TREC marks as spam or junk.
    """

    qid: Ids
    doc: Ids
    relevance: Ints | Floats

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return ``{query: {doc: relevance}}``.

        Examples
        --------
        >>> Qrels(["7", "7"], ["a", "b"], [0, 2]).to_dict()
        {'7': {'a': 0, 'b': 2}}
        """
        return _nested(self.qid, self.doc, np.asarray(self.relevance).tolist())


def _nested(qid: VectorLike, doc: VectorLike, values: list[float]) -> dict[str, dict[str, float]]:
    """Return values by query and document, both in the order of their first rows."""
    out: dict[str, dict[str, float]] = {}
    queries, docs = (np.asarray(one, object).tolist() for one in (qid, doc))
    for query, name, value in zip(queries, docs, values):
        out.setdefault(str(query), {})[str(name)] = value
    return out
