"""Margins that are counted against margins that are listed."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from crucial.data.groups import Groups
from crucial.feedback import LabelFeedback, PairFeedback
from crucial.feedback.base import quantiles
from crucial.kernels import pairs as kernel
from naive.pairs import from_list
from naive.sweep import holds_for
from naive.tables import tables

REACH = {"quick": 60, "full": 1_000}


# Scores with many ties, and scores whose differences round.
score_kinds = st.sampled_from(["few", "thirds", "normal", "wide"])


def scores_of(kind, n, seed):
    random = np.random.default_rng(seed)
    return {
        "few": random.integers(-2, 3, n).astype(float),
        "thirds": random.integers(-3, 4, n) / 3 + random.integers(0, 2, n) * 1e-16,
        "normal": random.normal(size=n),
        "wide": random.normal(size=n) * 10.0 ** random.integers(-18, 18, n),
    }[kind]


def labelled(table, scores):
    groups = Groups.from_qid(table.qid, table.n_rows)
    feedback = LabelFeedback(table.y, groups, weight=table.weight)
    return feedback.margin_counts(scores[feedback.rows])


def naive_margins(pairs, scores):
    """Margin and weight of every pair of a `naive.pairs.Pairs`, by rising margin."""
    margin = np.array([scores[b] - scores[a] for a, b in zip(pairs.lo, pairs.hi)])
    order = np.argsort(margin, kind="stable")
    return margin[order], np.array(pairs.weight)[order]


def naive_quantile(margin, weight, q):
    """The first margin at which the exact sum of weights reaches the share."""
    whole = sum(map(Fraction, weight))
    upto = Fraction(0)
    for m, w in zip(margin, weight):
        upto += Fraction(w)
        if upto >= Fraction(q) * whole:
            return m + 0.0
    raise AssertionError


@pytest.mark.kernels
@holds_for(
    tables(labels=(0, 1, 2, 3, 7)), score_kinds, st.integers(0, 10**6), **REACH, interpreted=15
)
def test_counts_and_quantiles_are_those_of_the_list(table, kind, seed):
    scores = scores_of(kind, table.n_rows, seed)
    margin, weight = naive_margins(table.pairs(), scores)
    counts = labelled(table, scores)
    assert (counts.minimum, counts.maximum) == (margin[0], margin[-1])
    thresholds = np.concatenate(
        (margin, np.nextafter(margin, -np.inf), [-np.inf, 0.0, np.inf], margin + 1e-3)
    )
    found = counts.at_most(thresholds) / counts.total
    for t, share in zip(thresholds, found):
        assert share == pytest.approx(weight[margin <= t].sum() / weight.sum(), rel=1e-13)
    q = np.array([0.0, 2**-30, 0.125, 0.25, 0.5, 0.75, 1.0])
    values = quantiles(counts, q)
    assert values[0] == margin[0]
    assert values[1:].tolist() == [naive_quantile(margin, weight, one) for one in q[1:]]


@pytest.mark.kernels
@holds_for(
    tables(labels=(0, 1, 2, 3, 7)), score_kinds, st.integers(0, 10**6), **REACH, interpreted=15
)
def test_threads_share_out_thresholds(table, kind, seed):
    counts = labelled(table, scores_of(kind, table.n_rows, seed))
    given = (counts._score, counts._level, counts._weight, counts._starts)
    thresholds = np.linspace(counts.minimum, counts.maximum, 7)
    alone, threaded = (kernel.count_margins(*given, thresholds, n) for n in (1, 3))
    assert threaded.tobytes() == alone.tobytes()


@holds_for(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.sampled_from([0.5, 1.0, 3.0])),
             min_size=1, max_size=12).filter(lambda few: any(a != b for a, b, _ in few)),
    score_kinds,
    st.integers(0, 10**6),
    **REACH,
)  # fmt: skip
def test_explicit_pairs(few, kind, seed):
    few = [one for one in few if one[0] != one[1]]
    listed, weights = [(a, b) for a, b, _ in few], [w for *_, w in few]
    scores = scores_of(kind, 6, seed)
    feedback = PairFeedback(listed, 6, weight=weights)
    counts = feedback.margin_counts(scores[feedback.rows])
    margin, weight = naive_margins(from_list(listed, 6, weights), scores)
    assert (counts.minimum, counts.maximum) == (margin[0], margin[-1])
    np.testing.assert_allclose(
        counts.at_most(margin) / counts.total,
        [weight[margin <= t].sum() / weight.sum() for t in margin],
    )
    q = np.array([0.125, 0.5, 1.0])
    assert quantiles(counts, q).tolist() == [naive_quantile(margin, weight, one) for one in q]


def test_no_rows_make_no_pairs():
    none = np.zeros(0)
    found = kernel.count_margins(none, none.astype(np.int64), none, np.zeros(1, int), np.zeros(2))
    assert found.tolist() == [0.0, 0.0]
