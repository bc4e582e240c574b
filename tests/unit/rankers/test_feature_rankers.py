"""FeatureRank, BL-FeatureRank and DiffRank: parameters, bad input, eval sets, prediction."""

import warnings
from functools import partial

import numpy as np
import pytest

from crucial import DiffRank, FeatureRank, evaluate, load_model
from crucial.errors import DataWarning, NoProgressWarning, NotRankedError
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
    refused(NotRankedError, "pass the query of every row", list, fitted.staged_predict(X))
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
