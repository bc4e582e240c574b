"""Appendix B of Connamacher, Pancha, Liu & Ray (2019): four treatments of a perfect round."""

import math

import numpy as np
import pytest

from crucial import PairFeedback, RankBoost, evaluate, load_model, save_model
from crucial.errors import NoProgressWarning, ParameterError
from naive.paths import PATHS, using


@pytest.fixture(params=PATHS, autouse=True)
def path(request):
    with using(request.param):
        yield request.param


def lemma_1(n):
    """Two rankers of 2n + 2 elements: all but one pair, and the last winner alone."""
    a, b = np.arange(n + 1), np.arange(n + 1, 2 * n + 2)
    h1, h2 = np.zeros(2 * n + 2), np.zeros(2 * n + 2)
    h1[[*a[:n], b[n]]] = 1
    h2[a[n]] = 1
    return np.column_stack((h1, h2)), [(x, y) for x in a for y in b]


def lemma_2(n):
    """10n elements; the second ranker reverses most pairs of the first one."""
    a, b = np.arange(5 * n), np.arange(5 * n, 10 * n)
    h1, h2 = np.zeros(10 * n), np.zeros(10 * n)
    h1[a[: 4 * n]] = 1
    h2[[*a[4 * n :], *b[: 4 * n]]] = 1
    return np.column_stack((h1, h2)), [(x, y) for x in a for y in b]


def rb_d(X, pairs, on_perfect, rounds, labels):
    ranker = RankBoost.preset(
        "rb_d.eq13", weak="column", on_perfect=on_perfect, n_estimators=rounds, record_risks=True
    )
    if labels:
        y = np.zeros(len(X))
        y[[winner for winner, _ in pairs]] = 1
        return ranker.fit(X, y)
    return ranker.fit_pairs(X, pairs)


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("n", [3, 4, 30])
def test_lemma_1_an_infinite_weight_alone_exceeds_the_bound(n, labels):
    X, pairs = lemma_1(n)
    found = rb_d(X, pairs, "infinite", 2, labels)
    bound = math.exp(-0.5 * (((n - 1) / (n + 1)) ** 2 + 1 / 4))
    assert found.trace_.column("alpha").tolist() == [pytest.approx(math.log(n)), math.inf]
    assert found.trace_.column("r") == pytest.approx([(n * n - 1) / (n + 1) ** 2, 0.5])
    assert found.model_.weights == (0.0, 1.0)
    r1 = PairFeedback(pairs, len(X)).r1(found.predict(X))
    assert r1 == pytest.approx(n / (n + 1)) == pytest.approx(found.trace_[-1].r1)  # equation 48
    assert (r1 > bound) == (n >= 4)  # equation 47: violated from 10 elements on


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("n", [3, 4, 30])
def test_lemma_1_in_the_limit_of_equation_49_is_within_the_bound(n, labels):
    X, pairs = lemma_1(n)
    found = rb_d(X, pairs, "limit", 2, labels)
    bound = math.exp(-0.5 * (((n - 1) / (n + 1)) ** 2 + 1 / 4))
    # Z_1 = 4n / (n + 1)^2, Z_2 = half: what is left is tied by the second ranker.
    assert found.trace_.column("z") == pytest.approx([4 * n / (n + 1) ** 2, 0.5])
    r1 = PairFeedback(pairs, len(X)).r1(found.predict(X))
    assert r1 == pytest.approx(found.trace_[-1].r1)
    assert r1 == pytest.approx(n / (n + 1) ** 2)  # (a_i, b_last) alone stay tied
    assert r1 <= found.trace_[-1].loss <= bound


@pytest.mark.parametrize("labels", [False, True])
def test_lemma_2_a_large_constant_exceeds_both_guarantees(labels):
    X, pairs = lemma_2(2)
    found = rb_d(X, pairs, "constant", 2, labels)
    assert found.model_.weights == (64.0, 64.0)
    assert found.trace_.column("r") == pytest.approx([4 / 5, 1 / 5])
    assert found.trace_.column("loss") == pytest.approx([1 / 5, 4 / 5])  # E1(g)
    assert PairFeedback(pairs, len(X)).r1(found.predict(X)) == pytest.approx(4 / 5)
    # The product of Z as the algorithm sees it, and U(g), are below.
    assert math.exp(-0.5 * (0.8**2 + 0.2**2)) == pytest.approx(0.7117703, abs=5e-8)


@pytest.mark.parametrize("labels", [False, True])
def test_lemma_2_in_the_limit_of_equation_49_keeps_both(labels):
    X, pairs = lemma_2(1)
    found = rb_d(X, pairs, "limit", 2, labels)
    assert found.trace_.column("alpha").tolist() == [math.inf, math.inf]
    assert found.trace_.column("z") == pytest.approx([1 / 5, 4 / 5])
    assert found.trace_[-1].loss == pytest.approx(4 / 25)  # Z1 Z2
    assert found.model_.weights == (2.0, 1.0)  # (the first counts more)
    assert PairFeedback(pairs, len(X)).r1(found.predict(X)) == pytest.approx(4 / 25)


def test_all_pairs_ordered_ends_the_limit(tmp_path):
    X = np.array([[0.0], [1.0], [2.0]])
    found = RankBoost(5, 1.0, step="exact", on_perfect="limit", record_risks=True).fit(X, [0, 1, 2])
    assert found.trace_.stopped == "every pair is ordered"
    assert found.trace_[-1].loss == 0.0 == found.trace_[-1].r1
    assert np.all(np.diff(found.predict(X)) > 0)
    save_model(found.model_, tmp_path / "limit.json")
    np.testing.assert_array_equal(load_model(tmp_path / "limit.json").predict(X), found.predict(X))


def test_the_limit_is_watched_and_continued():
    rng = np.random.default_rng(18)
    X = rng.integers(0, 5, (24, 4)).astype(float)
    y, qid = rng.integers(0, 2, 24), np.repeat(np.arange(6), 4)
    way = {"step": "exact", "choice": "largest_drop", "on_perfect": "limit"}
    whole = RankBoost(8, 1.0, eval_metric="r1", **way)
    whole.fit(X, y, qid=qid, eval_set=(X, y), eval_qid=qid)
    infinite = np.isinf(whole.trace_.column("alpha"))
    assert infinite.sum() == 3
    assert whole.ensemble_.weights[0] == 2 * whole.ensemble_.weights[3] < 0
    for number, entry in enumerate(whole.trace_, 1):
        scores = whole.truncate(number).predict(X)
        assert entry.measures["r1"] == pytest.approx(evaluate(y, scores, qid, measures="r1")["r1"])
    begun = RankBoost(5, 1.0, warm_start=True, **way)
    begun.fit(X, y, qid=qid).set_params(n_estimators=8).fit(X, y, qid=qid)
    assert begun.model_.weights == whole.ensemble_.weights


def test_early_stopping_before_an_infinite_weight_keeps_the_rounds_before_it():
    X, _ = lemma_1(4)
    y = np.repeat([1, 0], 5)
    ranker = RankBoost.preset("rb_d.eq13", weak="column", on_perfect="infinite", eval_metric="r1")
    ranker.fit(X, y, eval_set=(X, y))
    assert ranker.trace_.column("r1").tolist() == pytest.approx([0.36, 0.8])
    assert ranker.best_round_ == 1
    assert ranker.model_.weights == pytest.approx((math.log(4),))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weak": "feature", "step": "numeric"}, "needs weak rankers of 0 and 1; with weak="),
        ({"subsample": 0.5}, "on_perfect='limit' needs subsample=1"),
    ],
)
def test_what_has_no_limit_is_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        RankBoost(2, on_perfect="limit", **options).fit([[0.0], [1.0]], [0, 1])


def test_columns_of_other_values_have_no_limit():
    with pytest.raises(ParameterError, match="needs weak rankers of 0 and 1, and Scaled"):
        RankBoost(2, weak="column", step="numeric", on_perfect="limit").fit(
            [[0.25], [0.5], [1.0]], [0, 1, 2]
        )


def test_stopping_at_the_first_round_leaves_nothing():
    X, pairs = lemma_2(1)
    with pytest.warns(NoProgressWarning, match="perfect weak ranker"):
        assert not rb_d(X, pairs, "stop", 2, False).model_.weights
