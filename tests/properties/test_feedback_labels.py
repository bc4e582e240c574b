"""Label feedback answers what its listed pairs answer."""

import math

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from crucial import Groups, LabelFeedback, PairFeedback
from naive.paths import PATHS, using
from naive.sweep import holds_for
from naive.tables import GAINS, scores_of, tables, weightings, with_own_gain


@st.composite
def cases(draw, **shape):
    table = draw(tables(max_features=1, **shape))
    how = draw(weightings(table))
    pairs = table.pairs(**with_own_gain(how))
    assume(len(pairs) > 0)
    # Up to a range of 600; beyond 690 in one query, weights of a ranker are approximate.
    scores = draw(scores_of(table, [0.0, 1.0, 3.0, 300.0]))
    return table, how, pairs, scores


def feedback_of(table, how):
    groups = Groups.from_qid(table.qid, table.n_rows)
    return LabelFeedback(table.y, groups, weight=table.weight, **how)


@holds_for(cases(), quick=60, full=3_000)
def test_questions_about_scores(case):
    table, how, pairs, scores = case
    reach = max(1.0, float(np.ptp(scores)))
    for path in PATHS:
        with using(path):
            feedback = feedback_of(table, how)
            assert feedback.log_loss(scores) == pytest.approx(
                pairs.log_loss(scores), rel=1e-13, abs=2e-15 * reach
            )
            np.testing.assert_allclose(
                feedback.potentials(scores), pairs.potentials(scores), atol=4e-15 * reach
            )
            assert (feedback.r1(scores), feedback.r2(scores)) == pytest.approx(
                pairs.risks(scores), abs=1e-13
            )
            assert 0.0 <= feedback.r2(scores) <= feedback.r1(scores) <= 1.0
            assert feedback.loss(np.zeros(table.n_rows)) == pytest.approx(1.0, abs=1e-14)


@holds_for(cases(), st.floats(-2, 2), st.data(), quick=40, full=1_000)
def test_questions_about_a_step(case, alpha, data):
    table, how, pairs, scores = case
    n = table.n_rows
    binary = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)), np.uint8)
    real = np.array(data.draw(st.lists(st.floats(0, 1), min_size=n, max_size=n)))
    for path in PATHS:
        with using(path):
            feedback = feedback_of(table, how)
            z = math.exp(pairs.log_loss(scores + alpha * real) - pairs.log_loss(scores))
            assert feedback.z(scores, real, alpha) == pytest.approx(z, rel=1e-11)
            state = feedback.state()
            state.advance(scores[feedback.rows], 1.0)
            state.potentials(np.zeros(-(-len(feedback.rows) // 8) * 8))
            right, wrong = state.binary_weights(binary[feedback.rows])
            assert (right, wrong) == pytest.approx(pairs.split(scores, binary)[:2], abs=1e-12)
            moments = state.moments(real[feedback.rows])
            assert moments == pytest.approx(pairs.moments(scores, real), abs=1e-12)


@holds_for(cases(), quick=40, full=1_000)
def test_counts(case):
    table, how, pairs, _ = case
    feedback = feedback_of(table, how)
    assert feedback.n_pairs == len(pairs)
    plain = table.pairs(gain=GAINS[how["gain"]])
    counted = how.get("query_weight")
    raw = [
        w
        for a, w in zip(plain.lo, plain.weight)
        if counted is None or counted[table.qid[a].item()] > 0
    ]
    assert feedback.total == pytest.approx(math.fsum(raw), rel=1e-13)
    used = {table.qid[a].item() for a in pairs.lo}
    assert feedback.n_queries == len(used)
    assert feedback.n_skipped == len(np.unique(table.qid)) - len(used)
    assert sorted(feedback.rows.tolist()) == sorted(
        i for i in range(table.n_rows) if table.qid[i] in used and _counts(table, i)
    )


def _counts(table, row):
    return table.weight is None or table.weight[row] > 0


@holds_for(cases(weighted=False), quick=40, full=1_000)
def test_the_same_as_the_pairs_given_one_by_one(case):
    table, how, pairs, scores = case
    labels = feedback_of(table, how)
    explicit = PairFeedback(
        [(b, a) for a, b in zip(pairs.lo, pairs.hi)], table.n_rows, weight=pairs.weight
    )
    assert labels.n_pairs == explicit.n_pairs
    assert labels.log_loss(scores) == pytest.approx(explicit.log_loss(scores), abs=1e-12)
    np.testing.assert_allclose(labels.potentials(scores), explicit.potentials(scores), atol=2e-12)
    assert labels.r1(scores) == pytest.approx(explicit.r1(scores), abs=1e-13)
    assert labels.r2(scores) == pytest.approx(explicit.r2(scores), abs=1e-13)


@holds_for(cases(), st.floats(-50, 50), st.floats(-3, 3), quick=30, full=500)
def test_a_shift_of_scores_or_labels_changes_nothing(case, by, label_shift):
    table, how, _, scores = case
    feedback = feedback_of(table, how)
    assert feedback.log_loss(scores + by) == pytest.approx(feedback.log_loss(scores), abs=1e-12)
    # A shift that keeps the labels apart; gains of "exp" do change with it.
    if how["gain"] != "exp":
        moved = feedback_of(table.changed(y=table.y + round(label_shift * 4) / 4), how)
        assert moved.log_loss(scores) == pytest.approx(feedback.log_loss(scores), abs=1e-12)


@holds_for(cases(weighted=False), quick=30, full=500)
def test_weight_2_is_a_row_twice_and_weight_0_a_row_left_out(case):
    table, how, _, scores = case
    weight = np.arange(table.n_rows) % 3.0
    assume(len(table.changed(weight=weight).pairs()) > 0)
    repeated = np.repeat(np.arange(table.n_rows), weight.astype(int))
    how = {k: v for k, v in how.items() if k != "query_weight"}
    weighted = feedback_of(table.changed(weight=weight), how)
    twice = feedback_of(table.take(repeated), how)
    assert weighted.total == pytest.approx(twice.total, rel=1e-14)
    assert weighted.log_loss(scores) == pytest.approx(twice.log_loss(scores[repeated]), abs=1e-12)
    assert weighted.r2(scores) == pytest.approx(twice.r2(scores[repeated]), abs=1e-13)
