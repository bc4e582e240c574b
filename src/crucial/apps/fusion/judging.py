"""Judgements beside a pool: what is relevant, what nobody judged, how good a ranking is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.apps.fusion.inputs import as_qrels
from crucial.apps.fusion.pool import Listing, Pool
from crucial.data.trec import Qrels, Run
from crucial.errors import DataError
from crucial.measures.base import Measure, Prepared
from crucial.measures.evaluation import measure_ranking
from crucial.measures.judged import Judged, Ranking
from crucial.measures.names import get_measure
from crucial.measures.runs import judge_run

__all__ = ["Judging", "judged_topics"]

Floats = NDArray[np.float64]


def judged_topics(pool: Pool, qrels: Any) -> NDArray[np.bool_]:
    """Which topics of the pool have a judgement."""
    known = set(as_qrels(qrels).qid.tolist())
    found = np.array([topic in known for topic in pool.topics.tolist()], bool)
    if not found.any():
        theirs = next(iter(known), "")
        raise DataError(
            f"no topic of the runs is judged: the runs have topics such as {pool.topics[0]!r}, "
            f"the qrels such as {theirs!r}."
        )
    return found


@dataclass(frozen=True, eq=False)
class Judging:
    """A pool whose topics are all judged, with the judgements.

    Attributes
    ----------
    pool : Pool
    judged : Judged
        The rows of the pool in their order, then the judged documents that no run returned.
    topic_at : int array of shape (n_topics,)
        Where the topics of the pool are among the lists of ``judged``.
    """

    pool: Pool
    judged: Judged
    topic_at: NDArray[np.int64]

    @classmethod
    def of(cls, pool: Pool, qrels: Any) -> Judging:
        """Judge a pool; every topic of it must have a judgement."""
        table = as_qrels(qrels)
        mine = np.isin(table.qid.astype(str), pool.topics.astype(str))
        table = Qrels(table.qid[mine], table.doc[mine], np.asarray(table.relevance)[mine])
        everything = Run(pool.topics[pool.topic_of_row], pool.doc, np.zeros(pool.n_rows))
        judged = judge_run(table, everything)[0]
        places = {label: at for at, label in enumerate(judged.groups.labels.tolist())}
        at = np.array([places[topic] for topic in pool.topics.tolist()], np.int64)
        return cls(pool, judged, at)

    def of_topics(self, wanted: NDArray[np.bool_]) -> Judging:
        """The part that these topics of the pool make (a bool a topic)."""
        assert self.judged.ids is not None
        lists = np.zeros(self.judged.n_queries, bool)
        lists[self.topic_at[wanted]] = True
        rows = lists[self.judged.codes]
        known = np.arange(len(rows)) < self.pool.n_rows
        mine = self.judged.judged
        assert mine is not None
        qid = self.judged.groups.labels[self.judged.codes]
        use = rows & (mine | ~known)
        table = Qrels(qid[use], self.judged.ids[use], self.judged.y[use].astype(np.int64))
        return Judging.of(self.pool.of_topics(wanted), table)

    @property
    def labels(self) -> Floats:
        """Label of every row of the pool: 0 where nobody judged it, or below 0."""
        return np.maximum(self.judged.y[: self.pool.n_rows], 0.0)

    @property
    def is_judged(self) -> NDArray[np.bool_]:
        """Whether each row of the pool was judged."""
        assert self.judged.judged is not None
        return self.judged.judged[: self.pool.n_rows]

    def values(self, measure: str | Measure, scores: Floats) -> Floats:
        """The measure of each topic of the pool, in its order; NaN where it has none."""
        prepared = Prepared(get_measure(measure), self.judged)
        return prepared.bound.values(self._ranking(self.judged, scores))[self.topic_at]

    def values_of_list(self, measure: str | Measure, one: Listing) -> Floats:
        """The same for one run: only what it returned has a position."""
        judged, scores = self._of_list(one)
        prepared = Prepared(get_measure(measure), judged)
        return prepared.bound.values(self._ranking(judged, scores))[self.topic_at]

    def unjudged(self, depth: int, ranking: Floats | Listing) -> float:
        """Share of the first ``depth`` documents that nobody judged, of scores or of a run."""
        if isinstance(ranking, Listing):
            judged, scores = self._of_list(ranking)
        else:
            judged, scores = self.judged, ranking
        found = measure_ranking(
            judged, self._padded(scores), [f"p@{depth}"], ties="expected", empty="skip",
            intervals=False, resamples=1, random_state=0,
        )  # fmt: skip
        share = found.results[f"p@{depth}"].unjudged
        return float("nan") if share is None else share

    def _of_list(self, one: Listing) -> tuple[Judged, Floats]:
        retrieved = np.zeros(len(self.judged.y), bool)
        retrieved[one.rows] = True
        scores = np.zeros(self.pool.n_rows)
        scores[one.rows] = -one.position.astype(np.float64)
        return replace(self.judged, retrieved=retrieved), scores

    def _padded(self, scores: Floats) -> Floats:
        return np.concatenate((scores, np.zeros(len(self.judged.y) - self.pool.n_rows)))

    def _ranking(self, judged: Judged, scores: Floats) -> Ranking:
        return Ranking(judged, self._padded(scores))
