"""qid and weights on their way through scikit-learn's pipelines and searches."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer

from crucial import RankBoost
from crucial.errors import NotRankedError, ParameterError
from refusals import refused

from .test_every_ranker import Data

NAMES = ["bm25", "clicks", "age", "length"]


def in_form(data: Data, form: str) -> tuple[Any, Any, Any]:
    """X, y and qid as arrays, or as frames and series."""
    if form == "numpy":
        return data.X, data.y, data.qid
    library = {"pandas": pd, "polars": pl}[form]
    frame = library.DataFrame({name: data.X[:, j] for j, name in enumerate(NAMES)})
    if form == "pandas":
        frame.index = np.random.default_rng(0).permutation(len(frame))
    return frame, library.Series(data.y), library.Series(data.qid)


@pytest.fixture(scope="module")
def data() -> Data:
    return Data(240, 12)


def folds(n_splits: int = 3) -> Any:
    return GroupKFold(n_splits).set_split_request(groups="qid")


def by_hand(ranker: Any, data: Data, n_splits: int = 3, **weights: NDArray[np.float64]) -> Any:
    """Score of every fold without any routing."""
    values = []
    for train, test in GroupKFold(n_splits).split(data.X, data.y, data.qid):
        passed = {name: array[train] for name, array in weights.items()}
        made = clone(ranker).fit(data.X[train], data.y[train], qid=data.qid[train], **passed)
        tested = {name: array[test] for name, array in weights.items()}
        values.append(made.score(data.X[test], data.y[test], qid=data.qid[test], **tested))
    return np.array(values)


@pytest.mark.parametrize("form", ["numpy", "pandas", "polars"])
@pytest.mark.usefixtures("routing")
def test_grid_search_splits_fits_and_scores_by_query(data: Data, form: str):
    X, y, qid = in_form(data, form)
    ranker = RankBoost(n_estimators=10)
    search = GridSearchCV(ranker, {"learning_rate": [0.1, 1.0]}, cv=folds())
    search.fit(X, y, qid=qid)
    expected = [by_hand(ranker.set_params(learning_rate=r), data) for r in (0.1, 1.0)]
    for fold in range(3):
        found = search.cv_results_[f"split{fold}_test_score"]
        np.testing.assert_allclose(found, [values[fold] for values in expected])
    assert search.best_estimator_.fitted_with_qid_
    assert hasattr(search.best_estimator_, "feature_names_in_") == (form != "numpy")
    assert search.score(X, y, qid=qid) == search.best_estimator_.score(X, y, qid=qid)


@pytest.mark.usefixtures("routing")
def test_pipeline_fits_predicts_and_scores(data: Data):
    ranker = RankBoost(n_estimators=10)
    pipeline = make_pipeline(QuantileTransformer(n_quantiles=50), ranker).set_output(
        transform="pandas"
    )
    X, y, qid = in_form(data, "pandas")
    pipeline.fit(X, y, qid=qid)
    assert pipeline[-1].fitted_with_qid_
    assert list(pipeline[-1].feature_names_in_) == NAMES
    assert pipeline.score(X, y, qid=qid) > 0.8
    np.testing.assert_array_equal(pipeline.predict(X), pipeline.predict(X, qid=qid))
    again = pickle.loads(pickle.dumps(pipeline))
    np.testing.assert_array_equal(pipeline.predict(X), again.predict(X))


@pytest.mark.usefixtures("routing")
def test_weights_travel_when_asked_for(data: Data):
    asked = (
        RankBoost(n_estimators=10)
        .set_fit_request(sample_weight=True)
        .set_score_request(sample_weight=True)
    )
    params = {"qid": data.qid, "sample_weight": data.weight}
    found = cross_val_score(asked, data.X, data.y, params=params, cv=folds())
    expected = by_hand(RankBoost(n_estimators=10), data, sample_weight=data.weight)
    np.testing.assert_allclose(found, expected)
    assert not np.allclose(found, by_hand(RankBoost(n_estimators=10), data))


@pytest.mark.usefixtures("routing")
def test_weights_nobody_asked_for_are_refused(data: Data):
    search = GridSearchCV(RankBoost(n_estimators=5), {"max_bins": [15]}, cv=folds())
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        search.fit(data.X, data.y, qid=data.qid, sample_weight=data.weight)


@pytest.mark.usefixtures("routing")
def test_requests_survive_cloning():
    asked = RankBoost().set_fit_request(sample_weight=True, query_weight=True)
    requests = clone(asked).get_metadata_routing().fit.requests
    assert requests["qid"] is True
    assert requests["sample_weight"] is True
    assert requests["query_weight"] is True
    assert requests["eval_set"] is None
    assert RankBoost().get_metadata_routing().score.requests["qid"] is True
    assert RankBoost().get_metadata_routing().predict.requests["qid"] is True


@pytest.mark.usefixtures("routing")
def test_qid_can_be_switched_off(data: Data):
    alone = RankBoost(n_estimators=5).set_fit_request(qid=False).set_score_request(qid=False)
    values = cross_val_score(alone, data.X, data.y, params={"qid": data.qid}, cv=folds())
    assert np.isfinite(values).all()
    assert not np.allclose(values, by_hand(RankBoost(n_estimators=5), data))


def test_scoring_without_routing_says_what_to_switch_on(data: Data):
    search = GridSearchCV(RankBoost(n_estimators=5), {"max_bins": [15]}, cv=3, error_score="raise")
    with pytest.raises(NotRankedError, match="enable_metadata_routing=True"):
        search.fit(data.X, data.y, qid=data.qid)


def test_score_hands_weights_to_measures_of_pairs_and_to_no_other(data: Data):
    ranker = RankBoost(n_estimators=5).fit(data.X, data.y, qid=data.qid)
    given = {"qid": data.qid, "sample_weight": data.weight}
    assert ranker.score(data.X, data.y, **given) == pytest.approx(
        ranker.score(data.X, data.y, **given, measure="auc")
    )
    assert ranker.score(data.X, data.y, qid=data.qid, measure="r2") == pytest.approx(
        ranker.score(data.X, data.y, qid=data.qid) - 1.0
    )
    with pytest.raises(ParameterError, match="no meaning for weights of rows"):
        ranker.score(data.X, data.y, **given, measure="ndcg@10")


class OwnQueryMean:
    """A weak ranker that looks at the whole query: above its mean, or not."""

    needs_query = True

    def __init__(self, feature: int) -> None:
        self.feature = feature

    def scores(self, X: Any, groups: Any = None) -> NDArray[np.float64]:
        x = np.nan_to_num(X[:, self.feature])
        mean = np.bincount(groups.codes, x) / groups.sizes
        return (x > mean[groups.codes]).astype(np.float64)


class OwnLearner:
    """Offers the same weak ranker again and again, and keeps count inside."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    def prepare(self, training: Any, constraints: Any, step: Any) -> None:
        table = training.instances.table
        self.ranker = OwnQueryMean(0)
        self.output = self.ranker.scores(table, training.groups)[training.rows]

    def propose(self, potentials: Any) -> Any:
        from crucial.boosting.loop import Candidate

        pi = potentials.pi[: len(self.output)] * potentials.scale
        return Candidate(self.ranker, self.output, float(np.dot(pi, self.output)))

    def accept(self, candidate: Any, alpha: float) -> None:
        self.seen.append(alpha)


def test_a_learner_of_ones_own_is_copied_cloned_and_pickled(data: Data):
    learner = OwnLearner()
    ranker = RankBoost(n_estimators=3, weak=learner)
    ranker.fit(data.X, data.y, qid=data.qid)
    assert ranker.weak is learner
    assert vars(learner) == {"seen": []}
    again = clone(ranker).fit(data.X, data.y, qid=data.qid)
    assert again.weak is not learner
    expected = ranker.predict(data.X, data.qid)
    np.testing.assert_array_equal(again.predict(data.X, data.qid), expected)
    read = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(read.predict(data.X, data.qid), expected)
    assert ranker.model_.training["parameters"]["weak"] == "OwnLearner"


def test_a_ranker_that_sees_queries_asks_for_them(data: Data):
    ranker = RankBoost(n_estimators=3, weak=OwnLearner()).fit(data.X, data.y, qid=data.qid)
    refused(NotRankedError, "pass the query of every row", ranker.predict, data.X)
    last = list(ranker.staged_predict(data.X, data.qid))[-1]
    np.testing.assert_array_equal(last, ranker.predict(data.X, data.qid))
    assert ranker.score(data.X, data.y, qid=data.qid) > 0.7
    assert ranker.rank(data.X, data.qid).min() == 1


def test_a_ranker_fitted_without_queries_takes_all_rows_as_one(data: Data):
    ranker = RankBoost(n_estimators=3, weak=OwnLearner()).fit(data.X, data.y)
    one = np.zeros(len(data.y), int)
    np.testing.assert_array_equal(ranker.predict(data.X), ranker.predict(data.X, one))


def test_rank_knows_two_rules_for_ties(data: Data):
    ranker = RankBoost(n_estimators=1).fit(data.X, data.y, qid=data.qid)
    shared, counted = (ranker.rank(data.X, data.qid, ties=t) for t in ("min", "first"))
    inside = data.qid == data.qid[0]
    assert sorted(counted[inside]) == list(range(1, inside.sum() + 1))
    assert len(set(shared[inside])) == 2
