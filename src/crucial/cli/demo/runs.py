"""The lists that the demo compares, and how good they are."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from crucial.data.problems.digits import SearchProblem, reciprocal_rank_fusion
from crucial.measures.evaluation import Evaluation
from crucial.measures.runs import evaluate_run
from crucial.model.additive import AdditiveRanker
from crucial.types import Floats, Ints

__all__ = ["MEASURES", "ListedRun", "all_runs", "relevant_documents"]

MEASURES = ("ndcg@10", "map", "mrr", "p@10")


@dataclass(frozen=True, eq=False)
class ListedRun:
    """One system's lists.

    Attributes
    ----------
    rows : int array
        The rows of the problem that it returns.
    scores : float64 array
        Their scores.
    found : Evaluation
        How good they are, against every relevant document, returned or not.
    """

    rows: Ints
    scores: Floats
    found: Evaluation

    def first(self, problem: SearchProblem, query: int, count: int) -> list[int]:
        """The images it puts first, best first; equal scores by number."""
        mine = np.flatnonzero(problem.qid[self.rows] == query)
        order = mine[np.argsort(-self.scores[mine], kind="stable")][:count]
        return [int(one) for one in problem.item[self.rows[order]]]


def relevant_documents(test: SearchProblem) -> tuple[Ints, Ints]:
    """Query and document of every relevant document of the collection."""
    queries, documents = np.nonzero(test.digit[test.queries, None] == test.digit)
    queries = test.queries[queries]
    others = queries != documents  # (an image does not answer its own query)
    return queries[others], documents[others]


def all_runs(test: SearchProblem, model: AdditiveRanker) -> dict[str, ListedRun]:
    """Every engine alone, reciprocal rank fusion, and the model, on held-out queries."""
    qid, doc = relevant_documents(test)
    qrels = SimpleNamespace(qid=qid, doc=doc, relevance=np.ones(len(qid)))

    def measured(rows: Ints, scores: Floats) -> ListedRun:
        run = SimpleNamespace(qid=test.qid[rows], doc=test.item[rows], score=scores)
        return ListedRun(rows, scores, evaluate_run(qrels, run, MEASURES))

    runs = {}
    for engine, name in enumerate(test.feature_names):
        rows = np.flatnonzero(~np.isnan(test.X[:, engine]))
        runs[name] = measured(rows, test.X[rows, engine].astype(np.float64))
    everything = np.arange(len(test.y))
    runs["rank fusion"] = measured(everything, reciprocal_rank_fusion(test.X))
    runs["RankBoost"] = measured(everything, model.predict(test.X))
    return runs
