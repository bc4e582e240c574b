"""Small tables with labels and queries, to be learned from."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from naive.pairs import from_labels


@dataclass
class Table:
    """What goes into a fit."""

    X: Any
    y: Any
    qid: Any
    weight: Any = None

    @property
    def n_rows(self):
        return len(self.y)

    def pairs(self, **how):
        weight = None if self.weight is None else self.weight.tolist()
        return from_labels(self.y.tolist(), self.qid.tolist(), weight, **how)

    def fit(self, estimator, **more):
        return estimator.fit(self.X, self.y, sample_weight=self.weight, qid=self.qid, **more)

    def take(self, rows):
        weight = None if self.weight is None else self.weight[rows]
        return Table(self.X[rows], self.y[rows], self.qid[rows], weight)

    def changed(self, **what):
        return replace(self, **what)


@st.composite
def tables(
    draw,
    max_rows=14,
    max_features=4,
    max_queries=3,
    missing=True,
    weighted=None,
    labels=(0, 1, 2),
    values=6,
):
    """A table with at least one pair; values are halves, so that middles are exact."""
    n = draw(st.integers(2, max_rows))
    n_features = draw(st.integers(1, max_features))
    cell = st.integers(0, values - 1).map(lambda v: v / 2)
    if missing:
        cell = st.one_of(cell, cell, cell, st.just(np.nan))
    X = np.array(draw(st.lists(cell, min_size=n * n_features, max_size=n * n_features)))
    y = np.array(draw(st.lists(st.sampled_from(labels), min_size=n, max_size=n)), float)
    qid = np.array(draw(st.lists(st.integers(0, max_queries - 1), min_size=n, max_size=n)))
    weight = None
    if weighted or (weighted is None and draw(st.booleans())):
        weight = np.array(
            draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0]), min_size=n, max_size=n))
        )
    made = Table(X.reshape(n, n_features), y, qid, weight)
    assume(len(made.pairs()) > 0)
    return made
