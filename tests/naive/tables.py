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


GAINS = {None: None, "linear": lambda y: y, "exp": lambda y: 2.0**y - 1}


def with_own_gain(how):
    """The same choices of `weightings` for the naive twins, which take a function for a gain."""
    return {**how, "gain": GAINS[how["gain"]]}


@st.composite
def weightings(draw, table):
    """How the pairs of a table count: what `LabelFeedback` takes beside the weights of rows."""
    how = {
        "balance": draw(st.sampled_from(["pairs", "queries"])),
        "gain": draw(st.sampled_from(list(GAINS))),
    }
    if draw(st.booleans()):
        factor = st.sampled_from([0.0, 0.5, 1.0, 4.0])
        how["query_weight"] = {q: draw(factor) for q in np.unique(table.qid).tolist()}
    return how


@st.composite
def scores_of(draw, table, spreads):
    """Scores of the rows of a table, often tied."""
    spread = draw(st.sampled_from(spreads))
    score = st.sampled_from([-1.0, 0.0, 0.25, 1.0]).map(lambda s: s * spread)
    return np.array(draw(st.lists(score, min_size=table.n_rows, max_size=table.n_rows)))


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
