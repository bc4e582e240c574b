"""FeatureRank, BL-FeatureRank and DiffRank against lists and loops, and their guarantees."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.naive import feature_ranks as naive

from crucial.errors import ParameterError
from crucial.feedback.labels import TopFeedback
from crucial.rankers import DiffRank, FeatureRank
from crucial.rankers.feature_rank import (
    CENTRES,
    IntervalRule,
    RankedQueries,
    centres_of,
    interval_codes,
)

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@st.composite
def problems(draw, missing=True):
    """Small queries of eighths or tenths, with many equal centres and values halfway between."""
    sizes = draw(st.lists(st.integers(2, 7), min_size=1, max_size=3))
    n, m = sum(sizes), draw(st.integers(1, 3))
    seed = draw(st.integers(0, 2**20))
    random = np.random.default_rng(seed)
    X = random.integers(-8, 9, (n, m)) / draw(st.sampled_from([8, 10]))
    if missing and draw(st.booleans()):
        X[random.random(X.shape) < 0.2] = np.nan
    y = random.integers(0, draw(st.sampled_from([2, 4, 50])), n)
    qid = np.repeat(np.arange(len(sizes)), sizes)
    for q in range(len(sizes)):
        assume(len(set(y[qid == q].tolist())) > 1)
    return X, y, qid, draw(st.integers(2, min(4, max(sizes))))


def usable(X, y, qid, k):
    """Whether every feature ranks something, so that none is passed over."""
    return all(
        len({c for c in naive.centres(x.tolist(), y, qid, k) if c is not None}) > 1 for x in X.T
    )


@pytest.mark.parametrize("balanced", [False, True])
@given(problem=problems())
def test_feature_rank_is_its_naive_twin(balanced, problem):
    X, y, qid, k = problem
    given_ = (X, y.tolist(), qid.tolist(), k)
    assume(usable(*given_))
    try:
        weights, H, shares = naive.feature_rank(*given_, cycles=2, balanced=balanced)
    except (ZeroDivisionError, ValueError):
        assume(False)  # (an infinite weight, which is smoothed)
    made = FeatureRank(k, 2, balance_control="mean" if balanced else None).fit(X, y, qid=qid)
    np.testing.assert_allclose(made.trace_.column("alpha"), weights, atol=1e-10)
    if balanced:
        np.testing.assert_allclose(made.trace_.column("share_kept"), shares, atol=1e-10)
    assert made.predict(X, qid=qid).tolist() == H.tolist()


@given(problem=problems(), prec=st.none() | st.integers(1, 4) | st.sampled_from([0.3, 0.5, 1.0]))
def test_diff_rank_is_its_naive_twin(problem, prec):
    X, y, qid, k = problem
    given_ = (X, y.tolist(), qid.tolist(), k)
    assume(usable(*given_))
    try:
        weights, products, H, wrong = naive.diff_rank(*given_, prec=prec)
    except (ZeroDivisionError, ValueError):
        assume(False)
    assume(min(map(abs, weights)) > 1e-9)
    made = DiffRank(k, prec, record_risks=True).fit(X, y, qid=qid)
    np.testing.assert_allclose(made.trace_.column("alpha"), weights, atol=1e-10)
    np.testing.assert_allclose(made.trace_.column("loss"), products, rtol=1e-10)
    np.testing.assert_allclose(made.predict(X, qid=qid), H, atol=1e-10)
    last = made.trace_[-1]
    assert 2 * last.r2 - last.r1 == pytest.approx(wrong, abs=1e-12)


@given(
    problem=problems(), prec=st.none() | st.integers(1, 4), rate=st.sampled_from([1.0, 0.3]),
    cycles=st.integers(1, 3),
)  # fmt: skip
def test_misordered_pairs_stay_under_the_product_of_z_and_that_under_its_bound(
    problem, prec, rate, cycles
):
    """Lemmas 3 and 4: after every round, for any steps."""
    X, y, qid, k = problem
    ranker = DiffRank(k, prec, cycles=cycles, learning_rate=rate, record_risks=True)
    trace = ranker.fit(X, y, qid=qid).trace_
    for entry in trace:
        assert 2 * entry.r2 - entry.r1 <= entry.r1 <= entry.loss * (1 + 1e-12)
    smoothed = any(abs(entry.r) > 1 - 1e-9 for entry in trace)
    if not smoothed:
        bounds = trace.column("bound")
        assert (trace.column("loss") <= bounds * (1 + 1e-12)).all()
        assert (np.diff(np.concatenate(([1.0], bounds))) <= 1e-15).all()


@given(problem=problems(), balance=st.sampled_from([None, "mean"]))
def test_half_the_loss_bounds_the_kendall_distance(problem, balance):
    X, y, qid, k = problem
    for entry in FeatureRank(k, 2, balance_control=balance).fit(X, y, qid=qid).trace_:
        assert entry.r2 <= entry.extras["bound"] * (1 + 1e-12)


@given(
    problem=problems(), scale=st.sampled_from([0.1, 1 / 3, 7.0, -0.3, 1e-9]),
    shift=st.sampled_from([0.0, 0.7, 100.0]),
)  # fmt: skip
def test_rounding_decides_nothing(problem, scale, shift):
    """Tenths, thirds and sums with them round, and other names of queries add in another order.

    Nor do another sign and scale of every feature, or other labels in the same order.
    """
    X, y, qid, k = problem
    names = [f"q{9 - q}" for q in qid]
    for ranker in (FeatureRank(k), FeatureRank(k, balance_control="mean"), DiffRank(k)):
        scores = ranker.fit(X, y, qid=qid).predict(X, qid=qid)
        moved = (X + shift) * scale
        found = ranker.fit(moved, 3.0 * y - 7.0, qid=names).predict(moved, qid=names)
        np.testing.assert_allclose(found, scores, atol=1e-9)


def test_equal_centres_whatever_the_names_of_the_queries():
    """The centres of the lowest and the highest interval are both .1, but for rounding."""
    x = np.array([[0.4, -0.1, 0.4, -0.1, 0.5, 0.7, 0.0, 0.3, -0.8]]).T
    y, qid = [0, 1, 2] * 3, np.repeat([0, 1, 2], 3)
    expected = naive.rank_feature(
        x[:, 0].tolist(), qid.tolist(), naive.centres(x[:, 0].tolist(), y, qid.tolist(), 3)
    )
    for names in itertools.permutations("abc"):
        for table in (x, x / 10, 3 * x):
            named = np.array(names)[qid]
            ranker = FeatureRank(3).fit(table, y, qid=named)
            centres = ranker.model_.rankers[0].centres
            assert centres[0] == centres[2] < centres[1]
            assert ranker.predict(table, qid=named).tolist() == expected.tolist()


def test_means_do_not_depend_on_the_order_of_many_rows():
    """A sum of a million tenths is wrong in the eleventh digit, if one after the other is added."""
    random = np.random.default_rng(0)
    values = np.concatenate(
        (np.full(400_000, 0.1), random.permutation(np.tile([0.0, 0.2], 200_000)))
    )
    codes = np.repeat([0, 1], 400_000)
    weight = random.choice([0.1, 0.3], len(values))
    for order in (np.arange(len(values)), random.permutation(len(values))):
        one, other = centres_of(values[order], codes[order], 2)
        assert one == other == pytest.approx(0.1, rel=1e-15)
        weighted = centres_of(values[order], codes[order], 2, weight[order])
        assert weighted[0] == pytest.approx(0.1, rel=1e-15)


@given(problem=problems(), kind=st.sampled_from(CENTRES), seed=st.integers(0, 99))
def test_centres_are_those_of_lists(problem, kind, seed):
    """By the kernel interval_sums."""
    X, y, qid, k = problem
    weight = np.random.default_rng(seed).integers(1, 4, len(y))
    rows = naive.expand(weight)
    column = X[:, 0]
    starts = np.concatenate(([0], np.cumsum(np.bincount(qid))))
    expected = naive.centres(column[rows].tolist(), y[rows].tolist(), qid[rows].tolist(), k, kind)
    mass = weight.astype(float)
    queries = RankedQueries(y.astype(float), starts, mass)
    found = centres_of(column, interval_codes(queries, IntervalRule(k, kind)), k, mass)
    assert np.allclose(np.array(found, float), np.array(expected, float), equal_nan=True)


@given(problem=problems(), first=st.integers(1, 5) | st.sampled_from([0.1, 0.4, 0.5, 1.0]))
def test_top_feedback_has_the_pairs_of_the_first_positions(problem, first):
    _, y, qid, _ = problem
    expected = set()
    for i in range(len(y)):
        size, above = np.sum(qid == qid[i]), np.sum((qid == qid[i]) & (y > y[i]))
        if above < (first if isinstance(first, int) else first * size):
            expected |= {(i, j) for j in range(len(y)) if qid[i] == qid[j] and y[i] > y[j]}
    from crucial.data import Groups

    feedback = TopFeedback(y, Groups.from_qid(qid, len(qid)), first=first)
    assert feedback.n_pairs == len(expected)
    # Potentials at equal scores count the pairs that each row wins less those it loses.
    net = np.zeros(len(y))
    for i, j in expected:
        net[i] += 1
        net[j] -= 1
    np.testing.assert_allclose(feedback.potentials(np.zeros(len(y))), net / len(expected))


def test_more_intervals_than_rows_in_any_query_are_refused_with_the_limit():
    with pytest.raises(ParameterError, match=r"'n_intervals' parameter of X must be at most 3"):
        interval_codes(
            RankedQueries(np.arange(5.0), np.array([0, 3, 5])), IntervalRule(4, owner="X")
        )
