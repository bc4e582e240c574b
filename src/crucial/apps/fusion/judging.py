"""Judgements beside a pool: what is relevant, what nobody judged, how good a ranking is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.apps.fusion.inputs import as_qrels
from crucial.apps.fusion.pool import Listing, Pool
from crucial.data.groups import Groups
from crucial.data.words import shown
from crucial.errors import DataError
from crucial.measures.base import Measure, Prepared
from crucial.measures.evaluation import measure_ranking
from crucial.measures.judged import Judged, Ranking, as_numbers
from crucial.measures.names import get_measure
from crucial.types import Bools, Floats, Ints

__all__ = ["Judging", "judged_topics"]


def judged_topics(pool: Pool, qrels: Any) -> Bools:
    """Which topics of the pool have a judgement."""
    known = set(as_qrels(qrels).qid.tolist())
    found = np.array([topic in known for topic in pool.topics.tolist()], bool)
    if not found.any():
        theirs = next(iter(known), "")
        raise DataError(
            f"no topic of the runs is judged: the runs have topics such as "
            f"{shown(pool.topics[0])}, the qrels such as {shown(theirs)}."
        )
    return found


@dataclass(frozen=True, eq=False)
class Judging:
    """A pool and what was judged of its topics.

    Attributes
    ----------
    pool : Pool
    relevance : float64 array of shape (n_rows,)
        As judged; 0 where nobody judged the document.
    is_judged : bool array of shape (n_rows,)
    lost_topic : int array
        Topic of every judged document that no run returned.
    lost_relevance : float64 array
        What they were judged.
    """

    pool: Pool
    relevance: Floats
    is_judged: Bools
    lost_topic: Ints
    lost_relevance: Floats

    @classmethod
    def of(cls, pool: Pool, qrels: Any) -> Judging:
        """Put judgements beside a pool; those of other topics are left out."""
        table = as_qrels(qrels)
        label = as_numbers(table.relevance, "qrels.relevance")
        numbers = {topic: at for at, topic in enumerate(pool.topics.tolist())}
        topic = np.array([numbers.get(one, -1) for one in table.qid.tolist()], np.int64)
        mine = topic >= 0
        topic, label, docs = topic[mine], label[mine], table.doc[mine]
        codes, n_docs = pool.codes_of(docs.tolist())
        _refuse_twice(topic * n_docs + codes, docs)
        # Rows go by topic, then by the number of the document: their keys ascend.
        keys = pool.topic_of_row * n_docs + pool.doc_code
        wanted = topic * n_docs + codes
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        found = keys[at] == wanted
        relevance, judged = np.zeros(pool.n_rows), np.zeros(pool.n_rows, bool)
        relevance[at[found]] = label[found]
        judged[at[found]] = True
        return cls(pool, relevance, judged, topic[~found], label[~found])

    def of_topics(self, wanted: Bools) -> Judging:
        """The part that these topics of the pool make (a bool a topic)."""
        rows = wanted[self.pool.topic_of_row]
        lost = wanted[self.lost_topic]
        number = np.cumsum(wanted) - 1
        return Judging(
            self.pool.of_topics(wanted),
            self.relevance[rows],
            self.is_judged[rows],
            number[self.lost_topic[lost]],
            self.lost_relevance[lost],
        )

    @property
    def labels(self) -> Floats:
        """Label of every row of the pool: 0 where nobody judged it, or below 0."""
        return np.maximum(self.relevance, 0.0)

    @cached_property
    def judged(self) -> Judged:
        """The rows of the pool, then the judged documents that no run returned."""
        topic = np.concatenate((self.pool.topic_of_row, self.lost_topic))
        there = np.arange(len(topic)) < self.pool.n_rows
        return Judged(
            np.concatenate((self.relevance, self.lost_relevance)),
            Groups.from_qid(topic, len(topic)),
            retrieved=there,
            judged=np.concatenate((self.is_judged, np.ones(len(self.lost_topic), bool))),
        )

    def values(self, measure: str | Measure, ranking: Floats | Listing) -> Floats:
        """The measure of each topic of the pool; NaN where it has none.

        Parameters
        ----------
        measure : str or Measure
        ranking : array of scores of the pool's rows, or Listing
            Of a run, only what it returned has a position.
        """
        judged, scores = self._ranked(ranking)
        prepared = Prepared(get_measure(measure), judged)
        return prepared.bound.values(Ranking(judged, scores))

    def unjudged(self, depth: int, ranking: Floats | Listing) -> float:
        """Share of the first ``depth`` documents that nobody judged."""
        judged, scores = self._ranked(ranking)
        name = f"p@{depth}"
        found = measure_ranking(
            judged, scores, [name], ties="expected", empty="skip", intervals=False, resamples=1,
            random_state=0,
        )  # fmt: skip
        share = found.results[name].unjudged
        return float("nan") if share is None else share

    def _ranked(self, ranking: Floats | Listing) -> tuple[Judged, Floats]:
        judged = self.judged
        scores = np.zeros(len(judged.y))
        if not isinstance(ranking, Listing):
            scores[: self.pool.n_rows] = ranking
            return judged, scores
        retrieved = np.zeros(len(judged.y), bool)
        retrieved[ranking.rows] = True
        scores[ranking.rows] = -ranking.position
        return replace(judged, retrieved=retrieved), scores


def _refuse_twice(keys: Ints, docs: NDArray[Any]) -> None:
    order = np.argsort(keys, kind="stable")
    again = np.flatnonzero(np.diff(keys[order]) == 0)
    if len(again):
        name = docs[order[again[0]]]
        raise DataError(f"the qrels have document {shown(str(name))} twice in a query.")
