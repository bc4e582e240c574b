"""Small problems of labelled rows in queries, laid out as the kernels want them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from crucial.data.groups import Groups
from crucial.feedback.base import Layout
from naive.pairs import Pairs


@dataclass
class Labelled:
    """Rows sorted by query and label, their weights and scores, and their pairs."""

    layout: Layout
    weight: Any
    scores: Any
    gains: Any  # of every segment, or nothing
    coefficient: Any  # of every query

    @property
    def n(self):
        return len(self.layout.rows)

    @property
    def n_queries(self):
        return self.layout.n_queries

    @property
    def gap(self):
        if not len(self.gains):
            return np.zeros(0)
        gap = np.diff(self.gains, prepend=self.gains[:1])
        gap[self.layout.query_first[:-1]] = 0.0
        return gap

    def padded(self, values):
        out = np.zeros(-(-self.n // 8) * 8)
        out[: self.n] = values
        return out

    @property
    def up(self):
        with np.errstate(over="ignore"):  # (what overflows is for the logarithms alone)
            return self.padded(self.weight * np.exp(self.scores))

    @property
    def down(self):
        with np.errstate(over="ignore"):
            return self.padded(self.weight * np.exp(-self.scores))

    @property
    def query(self):
        return self.layout.query_of_row()

    @property
    def level(self):
        return self.layout.level_of_row()

    def pairs_of(self, query):
        """Pairs of one query, without its coefficient; None for all, with coefficients."""
        first = self.layout.query_first.tolist()
        queries, levels = self.query.tolist(), self.level.tolist()
        weight, gains = self.weight.tolist(), self.gains.tolist()
        made = Pairs([], [], [], self.n)
        for b in range(self.n):
            for a in range(self.n):
                q = queries[a]
                if queries[b] != q or levels[b] <= levels[a]:
                    continue
                if query is not None and q != query:
                    continue
                w = weight[a] * weight[b]
                if gains:
                    w *= gains[first[q] + levels[b]] - gains[first[q] + levels[a]]
                made.lo.append(a)
                made.hi.append(b)
                made.weight.append(w * (float(self.coefficient[q]) if query is None else 1.0))
        return made


@st.composite
def labelled(draw, max_queries=4, max_levels=5, spread=3.0):
    """Draw a problem whose every query has a pair."""
    labels, qid = [], []
    for q in range(draw(st.integers(1, max_queries))):
        for level in range(draw(st.integers(2, max_levels))):
            count = draw(st.integers(1, 3))
            labels += [float(level)] * count
            qid += [q] * count
    n = len(labels)
    layout = Layout.of(np.array(labels), Groups.from_qid(np.array(qid), n), None)
    few = st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]).map(lambda x: x * spread)
    score = few | st.floats(-spread, spread)
    weights = st.just(1.0) if draw(st.booleans()) else st.floats(0.1, 10.0)
    gains = np.zeros(0)
    if draw(st.booleans()):
        steps = st.sampled_from([1.0, 2.0, 0.25]) | st.floats(0.01, 100.0)
        rises = [draw(steps) for _ in layout.values]
        gains = np.cumsum(rises)
        # (0 at the lowest level of every query, as feedback has them)
        gains -= np.repeat(gains[layout.query_first[:-1]], np.diff(layout.query_first))
    return Labelled(
        layout,
        np.array([draw(weights) for _ in range(n)]),
        np.array([draw(score) for _ in range(n)]) + 0.0,  # (no -0)
        gains,
        np.array([draw(st.sampled_from([1.0, 0.5, 3.0])) for _ in range(layout.n_queries)]),
    )
