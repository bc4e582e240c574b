"""Infinite weights: RankBoost ranks as tuples of scores do, and theorem 1 holds in the limit."""

import math

import numpy as np
from hypothesis import strategies as st

from crucial import RankBoost
from crucial.data.groups import Groups
from crucial.feedback.labels import LabelFeedback
from naive.boost import Rules
from naive.paths import PATHS, quiet, using
from naive.perfect import NaiveLimit
from naive.sweep import holds_for
from naive.tables import tables

ROUNDS = 8

rules = st.builds(
    Rules,
    choice=st.sampled_from(["steepest", "steepest_positive", "largest_drop"]),
    step=st.sampled_from(["exact", "exact", "bound"]),
    default_rank=st.sampled_from(["learned", 0, 1]),
    on_perfect=st.just("limit"),
)


def estimator(rules, on_perfect="limit", **more):
    return RankBoost(
        ROUNDS,
        1.0,
        choice=rules.choice,
        step=rules.step,
        default_rank=rules.default_rank,
        on_perfect=on_perfect,
        max_bins=None,
        n_jobs=1,
        record_risks=True,
        **more,
    )


@holds_for(
    tables(max_rows=9),
    rules,
    st.sampled_from(["pairs", "queries"]),
    st.sampled_from([None, "linear"]),
    quick=80,
    full=5_000,
)
def test_limit_is_that_of_tuples(table, rules, balance, gain):
    gains = {None: None, "linear": lambda y: y}[gain]
    pairs = table.pairs(balance=balance, gain=gains)
    naive = NaiveLimit(table.X, pairs, rules).run(ROUNDS)
    for path in PATHS:
        with using(path), quiet():
            fitted = table.fit(estimator(rules, balance=balance, gain=gain))
        assert list(fitted.model_.rankers) == [ranker for ranker, _ in naive.rounds]
        alphas = fitted.trace_.column("alpha")
        np.testing.assert_allclose(alphas, [a for _, a in naive.rounds], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(
            fitted.trace_.column("loss"), naive.losses, rtol=1e-9, atol=1e-14
        )
        scores = fitted.predict(table.X)
        keys = [naive.key(row) for row in table.X]
        for a in range(table.n_rows):
            for b in range(table.n_rows):
                if keys[a][:-1] != keys[b][:-1] or abs(keys[a][-1] - keys[b][-1]) > 1e-8:
                    assert (scores[a] > scores[b]) == (keys[a] > keys[b])


@holds_for(tables(), rules, quick=80, full=5_000)
def test_limit_obeys_theorem_1(table, rules):
    """R1 <= E1 = prod Z <= exp(-.5 sum r^2), with infinite weights too."""
    with quiet():
        fitted = table.fit(estimator(rules))
    if not len(fitted.trace_):
        return
    last = fitted.trace_[-1]
    groups = Groups.from_qid(table.qid, table.n_rows)
    feedback = LabelFeedback(table.y, groups, weight=table.weight)
    assert last.r1 <= last.loss + 1e-12
    product = math.prod(fitted.trace_.column("z").tolist())
    assert abs(last.loss - product) <= 1e-9
    assert last.loss <= math.exp(-0.5 * np.square(fitted.trace_.column("r")).sum()) + 1e-9
    # (rounded, so that sums in another order do not make a tie of what is one, or break one)
    assert feedback.r1(np.round(fitted.predict(table.X), 9)) <= last.loss + 1e-12


@holds_for(tables(missing=False), rules, quick=40, full=2_000)
def test_infinite_leaves_the_perfect_ranker_alone(table, rules):
    with quiet():
        fitted = table.fit(estimator(rules, "infinite"))
        before = table.fit(estimator(rules, "stop"))
    groups = Groups.from_qid(table.qid, table.n_rows)
    feedback = LabelFeedback(table.y, groups, weight=table.weight)
    if fitted.trace_.stopped not in ("perfect weak ranker", "every pair is ordered"):
        assert fitted.model_.weights == before.model_.weights
        return
    assert fitted.model_.rankers[:-1] == before.model_.rankers
    assert len(before.trace_) == len(fitted.trace_) - 1
    h = fitted.model_.rankers[-1].scores(table.X, groups)
    sign = math.copysign(1.0, fitted.trace_[-1].alpha)
    np.testing.assert_array_equal(fitted.predict(table.X), sign * h)
    assert abs(feedback.r1(sign * h) - fitted.trace_[-1].r1) <= 1e-9
    assert abs(feedback.r1(sign * h) - fitted.trace_[-1].loss) <= 1e-9  # E1 of infinity times h


@holds_for(tables(weighted=False), rules, st.randoms(), quick=30, full=1_000)
def test_limit_does_not_depend_on_the_order_of_rows(table, rules, random):
    order = list(range(table.n_rows))
    random.shuffle(order)
    with quiet():
        one = table.fit(estimator(rules))
        other = table.take(np.array(order)).fit(estimator(rules))
    assert one.model_.rankers == other.model_.rankers
    np.testing.assert_allclose(one.model_.weights, other.model_.weights, rtol=1e-9)


@holds_for(tables(weighted=False), rules, st.data(), quick=30, full=1_000)
def test_weight_2_is_a_row_twice(table, rules, data):
    counts = data.draw(st.lists(st.integers(1, 3), min_size=table.n_rows, max_size=table.n_rows))
    with quiet():
        one = table.changed(weight=np.array(counts, float)).fit(estimator(rules))
        other = table.take(np.repeat(np.arange(table.n_rows), counts)).fit(estimator(rules))
    assert one.model_.rankers == other.model_.rankers
    np.testing.assert_allclose(one.model_.weights, other.model_.weights, rtol=1e-9)


@holds_for(tables(max_rows=9, weighted=False), rules, st.data(), quick=40, full=1_000)
def test_labels_with_pairs_are_all_pairs(table, rules, data):
    """Labels and pairs together, against the same pairs in one list."""
    rows = st.integers(0, table.n_rows - 1)
    drawn = st.tuples(rows, rows).filter(lambda pair: pair[0] != pair[1])
    more = data.draw(st.lists(drawn, min_size=1, max_size=6))
    implied = table.pairs()
    listed = [*zip(implied.hi, implied.lo), *more]
    with quiet():
        both = estimator(rules).fit_pairs(table.X, more, y=table.y, qid=table.qid)
        one_list = estimator(rules).fit_pairs(table.X, listed)
    assert both.model_.rankers == one_list.model_.rankers
    np.testing.assert_allclose(both.model_.weights, one_list.model_.weights, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(
        both.trace_.column("loss"), one_list.trace_.column("loss"), rtol=1e-8, atol=1e-13
    )
