"""Search engines over handwritten digits, as runs and judgements."""

from __future__ import annotations

import numpy as np
import pytest

from crucial.data.dataset import Qrels, Run
from crucial.data.problems import load_digits_search


def as_runs(problem):
    """Every engine as a run; scores fall with the position, the rank column is of no use."""
    runs = {}
    for column, name in enumerate(problem.feature_names):
        rows = np.flatnonzero(~np.isnan(problem.X[:, column]))
        score = 100.0 + problem.X[rows, column].astype(float)
        qid, doc = problem.qid[rows].astype(str), problem.item[rows].astype(str)
        runs[name] = Run(qid.astype(object), doc.astype(object), score, name)
    return runs


def as_qrels(problem):
    return Qrels(
        problem.qid.astype(str).astype(object), problem.item.astype(str).astype(object), problem.y
    )


@pytest.fixture(scope="session")
def search():
    """Forty queries: runs by name, judgements."""
    problem = load_digits_search(n_queries=40, top=20)
    return as_runs(problem), as_qrels(problem)
