"""Judgements beside a pool: which documents are relevant, and how good a ranking is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from crucial.apps.fusion.inputs import Runs
from crucial.apps.fusion.methods import DEPTH
from crucial.apps.fusion.pool import Listing, Pool
from crucial.data.groups import Groups
from crucial.data.words import shown
from crucial.errors import DataError
from crucial.io.runs import as_qrels
from crucial.measures.base import Measure, Prepared
from crucial.measures.evaluation import measure_ranking
from crucial.measures.lists import JudgedLists, Ranking, as_numbers
from crucial.measures.names import get_measure
from crucial.types import Bools, Floats, Ids, Ints

__all__ = ["MEASURED", "Judging"]

#: What is measured, for the notes of tables.
MEASURED = (
    f"a fusion is measured as the run that it writes, up to {DEPTH:,} documents per query, a run "
    "with all its documents"
)


@dataclass(frozen=True, eq=False)
class Judging:
    """A pool and the judgements of its queries.

    Attributes
    ----------
    pool : Pool
    relevance : float64 array of shape (n_rows,)
        As judged; 0 where nobody judged the document.
    is_judged : bool array of shape (n_rows,)
    lost_query : int array
        Query of every judged document that no run returned.
    lost_relevance : float64 array
        Relevance of these documents.
    n_unknown_queries : int
        Number of judged queries that no run has.
    """

    pool: Pool
    relevance: Floats
    is_judged: Bools
    lost_query: Ints
    lost_relevance: Floats
    n_unknown_queries: int = 0

    @classmethod
    def of(cls, runs: Runs | Pool, qrels: object) -> Judging:
        """Put judgements beside the pool of runs; those of other queries are left out.

        Raises
        ------
        DataError
            No query of the runs is judged, or a document is judged twice in a query.
        """
        pool, table = Pool.of(runs), as_qrels(qrels)
        label = as_numbers(table.relevance, "qrels.relevance")
        numbers = {query: at for at, query in enumerate(pool.queries.tolist())}
        qids = table.qid.tolist()
        query = np.array([numbers.get(one, -1) for one in qids], np.int64)
        known = query >= 0
        if not known.any():
            raise DataError(
                f"no query of the runs is judged: the runs have queries such as "
                f"{shown(pool.queries[0])}, the qrels such as {shown(next(iter(qids), ''))}."
            )
        query, label, docs = query[known], label[known], table.doc[known]
        codes, n_docs = pool.codes_of(docs.tolist())
        wanted = query * n_docs + codes
        _refuse_twice(wanted, docs)
        # Rows go by query, then by the number of the document: their keys ascend.
        keys = pool.query_of_row * n_docs + pool.doc_code
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        found = keys[at] == wanted
        relevance, judged = np.zeros(pool.n_rows), np.zeros(pool.n_rows, bool)
        relevance[at[found]] = label[found]
        judged[at[found]] = True
        n_unknown = len(set(qids).difference(numbers))
        return cls(pool, relevance, judged, query[~found], label[~found], n_unknown)

    @cached_property
    def judged_queries(self) -> Bools:
        """Which queries of the pool have a judgement."""
        out = np.zeros(self.pool.n_queries, bool)
        out[self.pool.query_of_row[self.is_judged]] = True
        out[self.lost_query] = True
        return out

    def of_queries(self, wanted: Bools) -> Judging:
        """Return the part of some queries of the pool, selected by one bool per query."""
        rows = wanted[self.pool.query_of_row]
        lost = wanted[self.lost_query]
        number = np.cumsum(wanted) - 1
        return Judging(
            self.pool.of_queries(wanted),
            self.relevance[rows],
            self.is_judged[rows],
            number[self.lost_query[lost]],
            self.lost_relevance[lost],
        )

    def only_judged(self) -> Judging:
        """Return the part of the judged queries."""
        wanted = self.judged_queries
        return self if wanted.all() else self.of_queries(wanted)

    @property
    def labels(self) -> Floats:
        """Label of every row of the pool: 0 where nobody judged it, or below 0."""
        return np.maximum(self.relevance, 0.0)

    @cached_property
    def judged(self) -> JudgedLists:
        """The rows of the pool, then the judged documents that no run returned."""
        query = np.concatenate((self.pool.query_of_row, self.lost_query))
        return JudgedLists(
            np.concatenate((self.relevance, self.lost_relevance)),
            Groups.from_qid(query, len(query)),
            retrieved=np.arange(len(query)) < self.pool.n_rows,
            judged=np.concatenate((self.is_judged, np.ones(len(self.lost_query), bool))),
        )

    def values(self, measure: str | Measure, ranking: Floats | Listing) -> Floats:
        """Return the measure of each query of the pool; NaN where it has none.

        The values are those of `crucial.evaluate_run` on the run of the ranking.

        Parameters
        ----------
        measure : str or Measure
        ranking : array of scores of the pool's rows, or Listing
            Scores are of a fusion, whose run has the first `DEPTH` documents of each query. Of a
            listing, all returned documents have a position.
        """
        judged, scores = self._ranked(ranking)
        prepared = Prepared(get_measure(measure), judged)
        out = np.full(self.pool.n_queries, np.nan)
        out[judged.groups.ids] = prepared.bound.values(Ranking(judged, scores))
        return out

    def unjudged(self, depth: int, ranking: Floats | Listing) -> float:
        """Return the share of unjudged documents among the first ``depth``."""
        judged, scores = self._ranked(ranking)
        name = f"p@{depth}"
        measured = measure_ranking(
            judged, scores, [name], ties="expected", empty="skip", intervals=False, resamples=None,
            random_state=0,
        )  # fmt: skip
        share = measured.results[name].unjudged
        return float("nan") if share is None else share

    def _ranked(self, ranking: Floats | Listing) -> tuple[JudgedLists, Floats]:
        """Return the documents that the run of a ranking has or that are judged, with scores."""
        scores = np.zeros(self.pool.n_rows + len(self.lost_query))
        if isinstance(ranking, Listing):
            rows = ranking.rows
            scores[rows] = ranking.score
        else:
            scores[: self.pool.n_rows] = ranking
            if self.pool.sizes.max(initial=0) <= DEPTH:
                return self.judged, scores
            rows = self.pool.best_first(ranking)
            rows = rows[self.pool.place_in_query(rows) < DEPTH]
        retrieved = np.zeros(len(scores), bool)
        retrieved[rows] = True
        judged = self.judged
        assert judged.judged is not None
        keep = retrieved | judged.judged  # (others are not in the pool of this run)
        query = judged.groups.ids[judged.codes[keep]]
        groups = Groups.from_qid(query, len(query))
        parts = {"retrieved": retrieved[keep], "judged": judged.judged[keep]}
        return JudgedLists(judged.y[keep], groups, **parts), scores[keep]


def _refuse_twice(keys: Ints, docs: Ids) -> None:
    """Raise an error if two judgements have the same key of query and document."""
    order = np.argsort(keys, kind="stable")
    again = np.flatnonzero(np.diff(keys[order]) == 0)
    if len(again):
        name = docs[order[again[0]]]
        raise DataError(f"the qrels have document {shown(str(name))} twice in a query.")
