"""FeatureRank, BL-FeatureRank and DiffRank: eval sets, prediction, whole weights."""

import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucial import evaluate, load_model
from crucial.errors import DataWarning, NoProgressWarning, NotRankedError, ParameterError
from crucial.model.weak import middle_positions
from crucial.rankers import DiffRank, FeatureRank
from crucial.rankers.feature_rank import whole_weights
from refusals import refused

ALL = [FeatureRank, partial(FeatureRank, balance_control="mean"), DiffRank]


def problem(n_queries: int = 12, size: int = 15, seed: int = 0):
    """Strictly ordered rows; feature 0 rises, 1 goes high, low, to its middle, 2 says nothing."""
    random = np.random.default_rng(seed)
    n = n_queries * size
    worth = random.random(n)
    middle = np.where(worth < 2 / 3, 2 / 3 - worth, worth - 1 / 3)
    turned = np.where(worth < 1 / 3, 1 - worth, middle)
    X = np.column_stack([worth + 0.4 * random.normal(size=n), turned, random.random(n)])
    qid = np.repeat(np.arange(n_queries), size)
    y = np.empty(n)
    for q in range(n_queries):
        y[qid == q] = worth[qid == q].argsort().argsort()
    return X, y, qid


@pytest.mark.parametrize("ranker", ALL)
def test_it_learns_what_a_line_cannot(ranker):
    X, y, qid = problem()
    test = problem(seed=1)
    turned = (X[:, 1:2], test[0][:, 1:2])
    curved = ranker(3).fit(turned[0], y, qid=qid).predict(turned[1], qid=test[2])
    linear = ranker(2).fit(turned[0], y, qid=qid).predict(turned[1], qid=test[2])
    found = [evaluate(test[1], s, test[2], ["kendall"])["kendall"] for s in (curved, linear)]
    assert found[0] < 0.1 < 0.3 < found[1]


@pytest.mark.parametrize("ranker", ALL)
def test_without_queries_it_refuses_to_predict_and_says_why(ranker, tmp_path):
    X, y, qid = problem()
    fitted = ranker().fit(X, y, qid=qid)
    refused(NotRankedError, r"ranks every row against the others of its query", fitted.predict, X)
    with pytest.raises(NotRankedError, match="pass the query of every row"):
        list(fitted.staged_predict(X))
    fitted.save(tmp_path / "model.json")
    with pytest.raises(NotRankedError, match="pass the query of every row"):
        load_model(tmp_path / "model.json").predict(X)
    # Trained without queries, all rows that come are one.
    alone = ranker().fit(X[:15], y[:15])
    assert alone.predict(X[:5]).tolist() == alone.predict(X[:5], qid=[7] * 5).tolist()


@pytest.mark.parametrize("ranker", ALL)
def test_features_without_an_opinion_are_named_and_passed_over(ranker):
    X, y, qid = problem()
    X = np.column_stack([np.full(len(y), 7.0), X, np.full(len(y), np.nan)])
    with pytest.warns(DataWarning, match=r"2 features are constant or abstain .* ignored: 0, 4"):
        fitted = ranker().fit(X, y, qid=qid)
    assert sorted({one.feature for one in fitted.model_.rankers}) == [1, 2, 3]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        with pytest.warns(NoProgressWarning, match="could be made"):
            nothing = ranker().fit(X[:, [0, 4]], y, qid=qid)
    assert len(np.unique(nothing.predict(X[:15, [0, 4]], qid=qid[:15]))) == 1
    assert len(nothing.trace_) == 0


@pytest.mark.parametrize("ranker", ALL)
def test_an_infinite_weight_is_smoothed(ranker):
    # (of more than two rows, most differ by less than 1 in DiffRank's weak rankers)
    y, qid = np.arange(200.0), np.repeat(np.arange(100), 2)
    fitted = ranker(2).fit(y[:, None], y, qid=qid)
    smoothing = 0.5 / 100  # half a pair
    expected = 0.5 * np.log((1 + smoothing) / smoothing)
    assert fitted.trace_[0].alpha == pytest.approx(expected, rel=1e-12)
    assert fitted.trace_[0].r == pytest.approx(1.0)
    assert fitted.score(y[:, None], y, qid=qid) == 1.0


@pytest.mark.parametrize("ranker", ALL)
def test_the_best_feature_may_come_first(ranker):
    X, y, qid = problem()
    fitted = ranker(order="best_first", cycles=2).fit(X, y, qid=qid)
    assert [one.feature for one in fitted.model_.rankers] == [1, 0, 2, 1, 0, 2]
    given = ranker(cycles=2).fit(X, y, qid=qid)
    assert [one.feature for one in given.model_.rankers] == [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize("ranker", ALL)
def test_an_eval_set_decides_the_steps_to_keep(ranker):
    X, y, qid = problem()
    test = problem(seed=1)
    fitted = ranker(cycles=3, eval_metric=["kendall", "ndcg@10"]).fit(
        X, y, qid=qid, eval_set=test[:2], eval_qid=test[2]
    )
    curve = fitted.trace_.column("kendall")
    assert fitted.best_round_ == int(np.argmin(curve)) + 1
    assert fitted.model_.n_rounds == fitted.best_round_ <= fitted.ensemble_.n_rounds == 9
    scores = fitted.predict(test[0], qid=test[2])
    found = evaluate(test[1], scores, test[2], ["kendall"])["kendall"]
    assert found == pytest.approx(curve.min(), abs=1e-12)
    stages = list(fitted.staged_predict(test[0], qid=test[2]))
    assert stages[fitted.best_round_ - 1].tolist() == scores.tolist()
    assert fitted.truncate(1).n_rounds == 1


def test_prec_learns_from_the_first_positions():
    X, y, qid = problem()
    assert DiffRank(prec=1).fit(X, y, qid=qid).model_.training["pairs"] == 12 * 14
    assert DiffRank(prec=2).fit(X, y, qid=qid).model_.training["pairs"] == 12 * (14 + 13)
    third = DiffRank(prec=0.2).fit(X, y, qid=qid).model_.training["pairs"]
    assert third == 12 * (14 + 13 + 12)
    everything = DiffRank().fit(X, y, qid=qid).model_
    assert DiffRank(prec=1.0).fit(X, y, qid=qid).model_.weights == everything.weights
    assert DiffRank(prec=15).fit(X, y, qid=qid).model_.weights == everything.weights


def test_diff_rank_is_no_classifier():
    X, y, qid = problem()
    with pytest.raises(NotRankedError, match="has no score for a row alone"):
        DiffRank().fit(X, y, qid=qid).to_classifier()


def test_figure_3_as_printed_adds_the_rankings_themselves():
    X, y, qid = problem()
    figure = FeatureRank(balance_control="figure", cycles=2).fit(X, y, qid=qid)
    assert set(figure.model_.keeps) == {1.0}
    found = evaluate(y, figure.predict(X, qid=qid), qid, ["kendall"])["kendall"]
    assert figure.trace_[-1].extras["model_r2"] == pytest.approx(found, abs=1e-12)
    mean = FeatureRank(balance_control="mean", cycles=2).fit(X, y, qid=qid)
    found = evaluate(y, mean.predict(X, qid=qid), qid, ["kendall"])["kendall"]
    assert mean.trace_[-1].r2 == pytest.approx(found, abs=1e-12)
    first = mean.trace_[0].extras
    assert (first["kept"], first["mixed"], first["share_kept"]) == (0.0, 0.0, 0.0)


# -- Weights as whole numbers of a unit, so that rounding of their sums decides nothing. --
@given(
    st.lists(st.integers(1, 1000), min_size=1, max_size=30),
    st.sampled_from([0.1, 0.3, 1 / 3, 0.07, 1.0, 1e-9, 1e200]),
)
def test_the_unit_is_found(counts: list[int], unit: float) -> None:
    found, own = whole_weights(np.array(counts) * unit)
    common = np.gcd.reduce(counts)
    assert found.tolist() == [one // common for one in counts]
    assert own == pytest.approx(common * unit, rel=1e-12)


@given(st.lists(st.floats(1e-300, 1e300), min_size=1, max_size=30))
def test_whole_numbers_stand_for_any_weights(weights: list[float]) -> None:
    given_weights = np.array(weights)
    found, unit = whole_weights(given_weights)
    assert (found == np.rint(found)).all()
    assert found.min() >= 1.0
    assert found.sum() < 2.0**52
    # (no weight is off by more than a unit, which is nothing beside all of them)
    assert np.abs(found * unit - given_weights).max() <= 1e-12 * given_weights.sum()


def test_the_unit_is_the_same_in_any_order() -> None:
    random = np.random.default_rng(0)
    for _ in range(30):
        weight = random.random(40)
        weight *= 64.0 / weight.sum()  # (a sum that rounds to either side of a power of two)
        units = {whole_weights(random.permutation(weight))[1] for _ in range(10)}
        assert len(units) == 1


def test_a_row_in_the_middle_ties_with_one_that_abstains() -> None:
    weight, unit = whole_weights(np.array([0.2, 0.1, 0.2, 0.4]))
    found = middle_positions(np.array([0, 1, 2, np.nan]), np.array([0, 4]), weight=weight) * unit
    assert found[1] == found[3]


def test_as_many_intervals_as_rows_of_a_tenth() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 2))
    y = X[:, 0] + random.normal(size=80)
    ranker = FeatureRank(n_intervals=8).fit(X, y, sample_weight=np.full(80, 0.1))
    assert ranker.score(X, y) > 0.6
    with pytest.raises(ParameterError, match="at most 8, the number of rows"):
        FeatureRank(n_intervals=9).fit(X, y, sample_weight=np.full(80, 0.1))


SETTINGS = [
    FeatureRank(n_intervals=2),
    FeatureRank(n_intervals=2, order="best_first", centre="middle"),
    FeatureRank(n_intervals=2, balance_control="mean"),
    FeatureRank(n_intervals=2, balance_control="figure", centre="prior"),
    DiffRank(n_intervals=2),
    DiffRank(n_intervals=2, centre="posterior"),
]


@pytest.mark.parametrize("ranker", SETTINGS, ids=repr)
@pytest.mark.filterwarnings("ignore")
def test_fractions_as_weights_in_another_order(ranker: Any) -> None:
    for seed in range(40):
        random = np.random.default_rng(seed)
        n = int(random.integers(8, 14))
        X = random.integers(0, 5, (n, 2)).astype(float)
        X[random.random((n, 2)) < 0.2] = np.nan
        y, qid = random.integers(0, 4, n), random.integers(0, 2, n)
        y[:4], qid[:4] = [0, 1, 0, 1], [0, 0, 1, 1]
        weight = random.integers(3, 12, n) * random.choice([0.3, 0.7, 1.1])
        order = random.permutation(n)
        one = ranker.fit(X, y, qid=qid, sample_weight=weight).predict(X, qid=qid)
        ranker.fit(X[order], y[order], qid=qid[order], sample_weight=weight[order])
        np.testing.assert_allclose(ranker.predict(X, qid=qid), one, rtol=1e-9, atol=1e-12)


def test_rounding_does_not_decide_in_which_interval_a_row_is() -> None:
    X, y = np.array([[5.0], [0], [5], [1], [3]]), np.array([1, 3, 0, 3, 0])
    weight, order = np.array([0.4, 1.1, 0.4, 0.7, 1.3]), [1, 4, 3, 2, 0]
    # Positions 0 to 1.7, to 2.1 and to 3.9; intervals end at 1.9, the middle of the second, ...
    for rows in ([0, 1, 2, 3, 4], order):
        ranker = FeatureRank(n_intervals=3).fit(X[rows], y[rows], sample_weight=weight[rows])
        low, middle, high = ranker.trace_[0].ranker.centres
        assert low == pytest.approx((3 * 1.3 + 5 * 0.4 + 5 * 0.4) / 2.1)
        assert middle is None
        assert high == pytest.approx(0.7 / 1.8)
