"""Search engines over handwritten digits, as runs and judgements."""

import pytest

from crucial.data.dataset import Qrels, Run
from crucial.data.problems import load_digits_search


@pytest.fixture(scope="session")
def search():
    """Forty queries: runs by name, judgements; scores fall with the position."""
    problem = load_digits_search(n_queries=40, top=20)

    def texts(values):
        return values.astype(str).astype(object)

    runs = {
        name: Run(texts(run.qid), texts(run.doc), 100.0 + run.score.astype(float), name)
        for name, run in problem.runs().items()
    }
    return runs, Qrels(texts(problem.qid), texts(problem.item), problem.y)
