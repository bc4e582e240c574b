"""Scorers by the names of measures, in scikit-learn's searches."""

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import crucial
from crucial import RankBoost, make_scorer
from crucial.errors import DataWarning

DATA = crucial.make_letor(n_queries=9, docs_per_query=12, n_features=3, seed=2)
NAMES = np.array([f"q{i}" for i in range(9)])[np.asarray(DATA.qid)]
GRID = {"learning_rate": [0.1, 1.0]}
BY_QUERY = GroupKFold(3)


@pytest.fixture
def routing() -> Any:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def by_hand(ranker: Any, measure: str) -> list[float]:
    """Fit and measure fold by fold, without scikit-learn's searches."""
    values = []
    for train, test in BY_QUERY.split(DATA.X, DATA.y, NAMES):
        ranker.fit(DATA.X[train], DATA.y[train], qid=NAMES[train])
        scores = ranker.predict(DATA.X[test], qid=NAMES[test])
        values.append(crucial.evaluate(DATA.y[test], scores, NAMES[test], measure)[measure])
    return values


@pytest.mark.usefixtures("routing")
def test_a_search_measures_as_evaluate_does() -> None:
    folds = GroupKFold(3).set_split_request(groups="qid")
    ranker = RankBoost(n_estimators=5)
    search = GridSearchCV(ranker, GRID, scoring=make_scorer("ndcg@10"), cv=folds)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search.fit(DATA.X, DATA.y, qid=NAMES)
    for place, rate in enumerate(GRID["learning_rate"]):
        expected = by_hand(RankBoost(n_estimators=5, learning_rate=rate), "ndcg@10")
        assert search.cv_results_["mean_test_score"][place] == pytest.approx(np.mean(expected))


@pytest.mark.usefixtures("routing")
def test_several_scorers_pipelines_and_losses() -> None:
    folds = GroupKFold(3).set_split_request(groups="qid")
    ranker = RankBoost(n_estimators=5)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), ranker),
        {"rankboost__learning_rate": [0.3]},
        scoring={"top": make_scorer("ndcg@10"), "place": make_scorer("avg_rank")},
        refit="top",
        cv=folds,
    ).fit(DATA.X, DATA.y, qid=NAMES)
    expected = np.mean(by_hand(RankBoost(n_estimators=5), "avg_rank"))
    assert search.cv_results_["mean_test_place"][0] == pytest.approx(-expected)


@pytest.mark.usefixtures("routing")
def test_weights_are_passed_on_request() -> None:
    folds = GroupKFold(3).set_split_request(groups="qid")
    weights = np.where(DATA.X[:, 0] > 0.5, 2.0, 1.0)
    params = {"qid": NAMES, "sample_weight": weights}
    ranker = RankBoost(n_estimators=5).set_fit_request(sample_weight=True)
    scorer = make_scorer("r2").set_score_request(sample_weight=True)
    found = cross_val_score(ranker, DATA.X, DATA.y, params=params, cv=folds, scoring=scorer)
    train, test = next(BY_QUERY.split(DATA.X, DATA.y, NAMES))
    ranker.fit(DATA.X[train], DATA.y[train], qid=NAMES[train], sample_weight=weights[train])
    expected = crucial.evaluate(
        DATA.y[test], ranker.predict(DATA.X[test]), NAMES[test], "r2", sample_weight=weights[test]
    )
    assert found[0] == pytest.approx(-expected["r2"])


def test_queries_that_are_not_routed_are_reported_once_and_give_no_number() -> None:
    search = GridSearchCV(RankBoost(n_estimators=2), GRID, scoring=make_scorer("ndcg@10"), cv=2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(DATA.X, DATA.y, qid=NAMES)
    own = [str(one.message) for one in caught if issubclass(one.category, DataWarning)]
    assert len(own) == 1
    assert "qid was not routed. Switch on scikit-learn's metadata routing" in own[0]
    assert np.isnan(search.cv_results_["mean_test_score"]).all()


def test_lists_without_queries() -> None:
    ranker = RankBoost(n_estimators=5).fit(DATA.X, DATA.y)
    with pytest.warns(DataWarning, match=r"qid was not routed to ndcg@10: all rows .* one list"):
        make_scorer("ndcg@10")(ranker, DATA.X, DATA.y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert make_scorer("auc")(ranker, DATA.X, DATA.y) == ranker.score(
            DATA.X, DATA.y, measure="auc"
        )


def test_a_scorer_is_pickled_and_refuses_what_it_does_not_know() -> None:
    scorer = pickle.loads(pickle.dumps(make_scorer("ndcg@5")))
    assert repr(scorer) == "make_scorer('ndcg@5')"
    with pytest.raises(ValueError, match="did you mean 'ndcg'"):
        make_scorer("ngcd@10")
    with pytest.raises(ValueError, match="unknown metadata of a scorer 'groups'"):
        scorer.set_score_request(groups=True)
