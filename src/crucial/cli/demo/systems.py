"""The systems that the demo compares: every engine, rank fusion, and the model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.data.dataset import Qrels, Run
from crucial.data.problems import SearchProblem
from crucial.fusion import fuse
from crucial.measures.evaluation import Evaluation, evaluate_run
from crucial.measures.intervals import bootstrap_interval
from crucial.model.additive import AdditiveRanker
from crucial.wording import digits_that_stand

__all__ = ["MEASURES", "System", "compare_systems", "differences", "judgements"]

MEASURES = ("ndcg@10", "map", "mrr", "p@10")


@dataclass(frozen=True, eq=False)
class System:
    """One system's lists.

    Attributes
    ----------
    run : Run
        Its documents and their scores.
    found : Evaluation
        Its measures, against every relevant document, returned or not.
    """

    run: Run
    found: Evaluation

    def first(self, query: int, count: int) -> list[int]:
        """Return the images it ranks first, best first; equal scores by number."""
        mine = np.flatnonzero(self.run.qid.astype(np.int64) == query)
        documents = self.run.doc[mine].astype(np.int64)
        order = np.lexsort((documents, -self.run.score[mine]))[:count]
        return [int(one) for one in documents[order]]


def judgements(test: SearchProblem) -> Qrels:
    """Return every relevant document of every query of the collection."""
    queries, documents = np.nonzero(test.digit[test.queries, None] == test.digit)
    queries = test.queries[queries]
    others = queries != documents  # (an image does not answer its own query)
    return Qrels(queries[others], documents[others], np.ones(int(others.sum()), np.int64))


def compare_systems(test: SearchProblem, model: AdditiveRanker) -> dict[str, System]:
    """Measure every engine, reciprocal rank fusion and the model on held-out queries."""
    engines = test.runs()
    runs = {
        **engines,
        "rank fusion": fuse(engines, "rrf", k=60, depth=None),
        "RankBoost": Run(test.qid, test.item, model.predict(test.X), "rankboost"),
    }
    qrels = judgements(test)
    return {name: System(run, evaluate_run(qrels, run, MEASURES)) for name, run in runs.items()}


def differences(better: System, base: System) -> list[tuple[str, str, str]]:
    """Return the mean difference of each measure, and the ends of its interval, as text."""
    found = []
    for measure in MEASURES:
        change = better.found.per_query[measure] - base.found.per_query[measure]
        interval = bootstrap_interval(change)
        ends = ("none", "none")
        if interval is not None:
            digits = digits_that_stand(interval.error)
            ends = (f"{interval.low:+.{digits}f}", f"{interval.high:+.{digits}f}")
        found.append((f"{np.nanmean(change):+.4f}", *ends))
    return found
