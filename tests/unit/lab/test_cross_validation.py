"""cross_validate: any estimator, whole queries, numbers that can be found again by hand."""

import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold, GroupShuffleSplit, KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import crucial
from crucial import RankBoost, cross_validate, evaluate, make_scorer
from crucial.data import Instances
from crucial.data.groups import Groups
from crucial.errors import DataError, DataWarning, ParameterError
from crucial.lab import CrossValidation
from crucial.lab.protocols import make_folds
from refusals import refused

NAMES = ["bm25", "clicks", "age"]


class Data:
    def __init__(self, n_rows=200, n_queries=14, seed=1):
        random = np.random.default_rng(seed)
        self.X = random.normal(size=(n_rows, 3))
        self.y = (self.X[:, 0] + random.normal(size=n_rows) > 0.5).astype(int)
        self.y += (self.y > 0) & (self.X[:, 1] > 0)
        self.qid = np.array([f"q{i}" for i in random.integers(0, n_queries, n_rows)])
        self.weight = random.integers(1, 4, n_rows).astype(float)

    @property
    def frame(self):
        return pd.DataFrame(self.X, columns=NAMES, index=np.arange(len(self.X))[::-1])


@pytest.fixture(scope="module")
def data():
    return Data()


RANKER = RankBoost(n_estimators=10)


def test_values_are_those_of_out_of_fold_scores(data):
    fold = np.unique(data.qid, return_inverse=True)[1] % 3
    scores = np.empty(len(data.y))
    for number in range(3):
        train, test = fold != number, fold == number
        made = RankBoost(n_estimators=10).fit(data.X[train], data.y[train], qid=data.qid[train])
        scores[test] = made.predict(data.X[test])
    names = ["ndcg@10", "auc(pool)", "err"]
    found = cross_validate(RANKER, data.X, data.y, qid=data.qid, cv=fold, measures=names)
    expected = evaluate(data.y, scores, data.qid, names)
    order = np.argsort(found.per_query["qid"])
    assert found.per_query["qid"][order].tolist() == expected.per_query["qid"].tolist()
    for name in names:
        assert found[name] == pytest.approx(expected[name], rel=1e-12)
        np.testing.assert_allclose(found.per_query[name][order], expected.per_query[name])
        inside = evaluate(data.y[fold == 1], scores[fold == 1], data.qid[fold == 1], name)
        if name != "err":  # (err knows the highest label of all folds, not of one)
            assert found.per_fold[name][1] == pytest.approx(inside[name], rel=1e-12)
    assert not hasattr(RANKER, "model_")


def test_no_query_is_seen_before_it_is_measured(data):
    class Witness(BaseEstimator):
        def fit(self, X, y, qid):
            self.seen_ = set(qid)
            return self

        def predict(self, X, qid):
            assert not self.seen_ & set(qid)
            return np.zeros(len(X))

    found = cross_validate(Witness(), data.X, data.y, qid=data.qid, return_estimators=True)
    everything = set(data.qid)
    assert len(found.estimators) == 5
    assert all(len(one.seen_) < len(everything) for one in found.estimators)
    assert set(found.per_query["qid"]) == everything
    assert len(found.per_query["qid"]) == len(everything)


@pytest.mark.parametrize("form", ["frame", "polars", "sparse", "lists", "instances"])
def test_forms_of_input_give_the_same(data, form):
    X, y, qid = data.X, data.y, data.qid
    expected = cross_validate(RANKER, X, y, qid=qid, cv=3)
    if form == "frame":
        X, y, qid = data.frame, pd.Series(y), pd.Series(qid)
    elif form == "polars":
        X, y, qid = pl.DataFrame(X, schema=NAMES), pl.Series(y), pl.Series(qid)
    elif form == "sparse":
        X = csr_array(X).tocsc()
    elif form == "instances":
        X = Instances(X, tuple(NAMES))
    else:
        X, y, qid = X.tolist(), y.tolist(), qid.tolist()
    found = cross_validate(RANKER, X, y, qid=qid, cv=3, return_estimators=True)
    np.testing.assert_array_equal(found.per_query["ndcg@10"], expected.per_query["ndcg@10"])
    named = hasattr(found.estimators[0], "feature_names_in_")
    assert named == (form in ("frame", "polars", "instances"))


def test_the_same_seed_deals_alike_for_any_estimator(data):
    one = cross_validate(RANKER, data.X, data.y, qid=data.qid, random_state=3)
    two = cross_validate(Ridge(), data.X, data.y, qid=data.qid, random_state=3)
    other = cross_validate(Ridge(), data.X, data.y, qid=data.qid, random_state=4)
    for name in ("fold", "qid"):
        assert one.per_query[name].tolist() == two.per_query[name].tolist()
    assert two.per_query["qid"].tolist() != other.per_query["qid"].tolist()
    again = cross_validate(RANKER, data.X, data.y, qid=data.qid, random_state=3)
    assert again.interval == one.interval
    seed = np.random.default_rng(3)
    drawn = cross_validate(Ridge(), data.X, data.y, qid=data.qid, random_state=seed)
    assert drawn.mean == two.mean


def test_folds_in_other_processes(data):
    given = {"qid": data.qid, "cv": 2, "measures": ["map"]}
    one = cross_validate(RANKER, data.X, data.y, **given)
    two = cross_validate(RANKER, data.X, data.y, n_jobs=2, **given)
    np.testing.assert_array_equal(one.per_query["map"], two.per_query["map"])


# -- what can be validated ----------------------------------------------------------


def test_a_pipeline_hands_queries_on_with_no_switch(data):
    assert not sklearn.get_config()["enable_metadata_routing"]
    pipeline = make_pipeline(StandardScaler(), RankBoost(n_estimators=10))
    found = cross_validate(pipeline, data.X, data.y, qid=data.qid, return_estimators=True)
    assert all(made[-1].fitted_with_qid_ for made in found.estimators)
    alone = cross_validate(RANKER, data.X, data.y, qid=data.qid)
    np.testing.assert_allclose(found.per_query["ndcg@10"], alone.per_query["ndcg@10"])
    assert not sklearn.get_config()["enable_metadata_routing"]


def test_weights_reach_fit(data):
    given = {"qid": data.qid, "cv": 3}
    weighted = cross_validate(RANKER, data.X, data.y, sample_weight=data.weight, **given)
    groups = Groups.from_qid(data.qid, len(data.y))
    fold = make_folds(3, data.y.astype(float), groups, True, np.random.default_rng(0))[0]
    X, y, qid, weight = (one[fold.train] for one in (data.X, data.y, data.qid, data.weight))
    made = RankBoost(n_estimators=10).fit(X, y, qid=qid, sample_weight=weight)
    X, y, qid = (one[fold.test] for one in (data.X, data.y, data.qid))
    value = made.score(X, y, qid=qid, measure="ndcg@10")
    assert weighted.per_fold["ndcg@10"][0] == pytest.approx(value)
    assert weighted.mean != cross_validate(RANKER, data.X, data.y, **given).mean


def test_weights_in_a_pipeline_must_be_asked_for(data):
    given = {"qid": data.qid, "cv": 2, "sample_weight": data.weight}
    with pytest.raises(ParameterError, match=r"given to Pipeline: nothing inside it asks"):
        cross_validate(make_pipeline(StandardScaler(), RANKER), data.X, data.y, **given)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = RankBoost(n_estimators=10).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
    found = cross_validate(make_pipeline(scaler, asked), data.X, data.y, **given)
    expected = cross_validate(RANKER, data.X, data.y, **given)
    assert found["ndcg@10"] == pytest.approx(expected["ndcg@10"])


def test_weights_that_fit_does_not_take(data):
    given = {"qid": data.qid, "sample_weight": data.weight}
    with pytest.raises(ParameterError, match="to KNeighborsRegressor: its fit has no such"):
        cross_validate(KNeighborsRegressor(), data.X, data.y, **given)


def test_classifiers_rank_by_decision_or_expected_label(data):
    two = (data.y > 0).astype(int)
    train, test = data.qid != "q3", data.qid == "q3"
    given = {"qid": data.qid, "cv": [(train, test)], "measures": "auc"}

    made = LogisticRegression().fit(data.X[train], two[train])
    expected = evaluate(two[test], made.decision_function(data.X[test]), measures="auc")
    assert cross_validate(LogisticRegression(), data.X, two, **given).mean == {
        "auc": expected["auc"]
    }

    forest = RandomForestClassifier(10, random_state=0)
    chances = forest.fit(data.X[train], data.y[train]).predict_proba(data.X[test])
    expected = evaluate(data.y[test], chances @ [0, 1, 2], measures="auc")
    assert cross_validate(forest, data.X, data.y, **given)["auc"] == expected["auc"]

    assert np.isfinite(cross_validate(RidgeClassifier(), data.X, two, **given)["auc"])
    with pytest.raises(DataError, match="RidgeClassifier has no score to rank by"):
        cross_validate(RidgeClassifier(), data.X, data.y, **given)


def test_anything_with_fit_and_predict(data):
    class Bare:
        def fit(self, X, y):
            self.columns = X.shape[1]

        def predict(self, X):
            return X[:, [0]]  # a column is fine too

    found = cross_validate(Bare(), data.X, data.y, qid=data.qid)
    assert found["ndcg@10"] == pytest.approx(evaluate(data.y, data.X[:, 0], data.qid)["ndcg@10"])


# -- without queries ------------------------------------------------------------------


def test_without_queries_each_fold_is_one_list(data):
    two = (data.y > 0).astype(int)
    found = cross_validate(RANKER, data.X, two, cv=4, measures=["auc", "p@5"])
    assert found.per_query["qid"].tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(found.per_query["auc"], found.per_fold["auc"])
    assert found["auc"] == pytest.approx(found.per_fold["auc"].mean())
    low, high = found.interval["auc"]
    assert 0.0 < low < found["auc"] < high < 1.0
    assert "4 folds, 200 held-out rows" in str(found)
    assert "DeLong from rows within folds" in str(found)
    assert "quer" not in str(found)
    assert [row["rows"] for row in found.to_rows()] == [200, 200]


def test_intervals_without_queries_stay_inside(data):
    """Student's t over folds passed 1; a row tested twice is one row."""
    easy = (data.X[:, 0] > np.median(data.X[:, 0])).astype(int)
    found = cross_validate(RANKER, data.X, easy, cv=4, measures=["auc", "p@5"])
    assert found["auc"] > 0.98
    for low, high in found.interval.values():
        assert 0.0 <= low <= high <= 1.0
    hard = (data.y > 0).astype(int)
    folds = [(np.arange(100, 200), np.arange(100)), (np.arange(100), np.arange(100, 200))]
    once = cross_validate(RANKER, data.X, hard, cv=folds, measures="auc")
    twice = cross_validate(RANKER, data.X, hard, cv=folds * 2, measures=["auc", "p@5"])
    assert twice.interval["auc"] == pytest.approx(once.interval["auc"])
    assert twice.interval["p@5"] is None
    assert "none" in str(twice)


# -- the result ------------------------------------------------------------------------


def test_result_as_rows_and_text(data):
    y = np.where(data.qid == "q3", 0, data.y)  # a query with nothing to find
    found = cross_validate(RANKER, data.X, y, qid=data.qid, cv=3, measures=["ndcg@10", "map"])
    assert isinstance(found, CrossValidation)
    first, second = found.to_rows()
    assert (first["measure"], second["measure"]) == ("ndcg@10", "map")
    assert first["value"] == found["NDCG@10"] == found.mean["ndcg@10"]
    assert (first["low"], first["high"]) == found.interval["ndcg@10"]
    assert first["low"] < first["value"] < first["high"]
    assert (first["queries"], first["empty"], first["folds"]) == (13, 1, 3)
    assert first["fold_std"] == pytest.approx(np.std(found.per_fold["ndcg@10"], ddof=1))
    by_fold = found.to_rows("fold")
    assert [row["fold"] for row in by_fold] == [0, 1, 2]
    assert sum(row["test_queries"] for row in by_fold) == 14
    assert all(row["train_rows"] + row["test_rows"] == len(y) for row in by_fold)
    by_query = {row["qid"]: row for row in found.to_rows("query")}
    assert len(by_query) == 14
    assert math.isnan(by_query["q3"]["map"])
    assert str(found).startswith("RankBoost(n_estimators=10): 3 folds, 14 held-out queries")
    refused(ParameterError, "'by' parameter of to_rows must be one of", found.to_rows, "row")


def test_a_query_held_out_twice_is_drawn_as_one(data):
    splitter = GroupShuffleSplit(8, test_size=0.5, random_state=0)
    given = {"qid": data.qid, "cv": splitter, "measures": ["auc", "auc(pool)"]}
    found = cross_validate(Ridge(), data.X, data.y, **given)
    values = found.per_query["auc"]
    assert len(values) == 8 * 7
    assert found["auc"] == pytest.approx(np.nanmean(values))
    low, high = found.interval["auc"]
    # Drawing 56 values as if they were 56 queries would give half the width.
    naive = 2 * 1.96 * np.nanstd(values) / np.sqrt(len(values))
    assert high - low > 1.2 * naive
    assert low < found["auc"] < high


def test_a_pooled_interval_is_that_of_evaluate(data):
    fold = np.unique(data.qid, return_inverse=True)[1] % 2

    class Column(BaseEstimator):
        def fit(self, X, y):
            return self

        def predict(self, X):
            return X[:, 0]

    names = ["auc(pool)", "top@5(count)"]
    found = cross_validate(Column(), data.X, data.y, qid=data.qid, cv=fold, measures=names)
    expected = evaluate(data.y, data.X[:, 0], data.qid, names, intervals=True)
    for name, one in expected.results.items():
        assert found[name] == pytest.approx(one.value)
        np.testing.assert_allclose(found.interval[name], one.interval, rtol=0.05)


def test_warnings_of_all_folds_are_said_once(data):
    X = np.column_stack((data.X, np.ones(len(data.y))))
    with pytest.warns(DataWarning, match=r"1 feature is constant.*In 5 of 5 folds") as caught:
        cross_validate(RANKER, X, data.y, qid=data.qid)
    assert (len(caught), caught[0].filename) == (1, __file__)


# -- refusals ---------------------------------------------------------------------------


@pytest.mark.parametrize(("changes", "said"), [
    ({"measures": []}, "measures is empty"),
    ({"measures": "ndgc@10"}, "did you mean 'ndcg'"),
    ({"random_state": "x"}, "'random_state' parameter of cross_validate must be"),
    ({"random_state": -1}, "'random_state' parameter of cross_validate must be"),
    ({"n_jobs": 0}, "'n_jobs' parameter of cross_validate must be a nonzero int or None"),
    ({"return_estimators": "yes"}, "'return_estimators' parameter of cross_validate"),
    ({"estimator": RankBoost}, "must be an object with fit and predict"),
    ({"estimator": StandardScaler()}, "must be an object with fit and predict"),
    ({"cv": 100}, "cv=100 folds need as many queries"),
    ({"qid": ["a"]}, "one id for each of the 200 rows"),
    ({"y": [1, 2]}, "X has 200 rows, y has 2"),
    ({"y": [-1] * 200}, "ndcg@10 needs labels"),
    ({"sample_weight": [-1.0] * 200}, "sample_weight must be finite and not negative"),
])  # fmt: skip
def test_what_cannot_be_is_refused_before_any_fit(data, changes, said):
    class Unfittable(BaseEstimator):
        def fit(self, X, y, qid=None, sample_weight=None):
            raise AssertionError("nothing should be fitted")

        def predict(self, X):
            raise AssertionError("nothing should be predicted")

    given = {"estimator": Unfittable(), "X": data.X, "y": data.y, "qid": data.qid} | changes
    refused(ValueError, said, cross_validate, **given)


def test_errors_say_in_which_fold(data):
    class Lost(BaseEstimator):
        def fit(self, X, y, qid):
            return self

        def predict(self, X):
            return np.full(len(X), np.nan)

    with pytest.raises(DataError, match="scores must be finite") as caught:
        cross_validate(Lost(), data.X, data.y, qid=data.qid)
    assert caught.value.__notes__ == ["(in fold 0 of cross_validate)"]


# -- scorers by the names of measures, in scikit-learn's searches ---------------------------------


DATA = crucial.make_letor(n_queries=9, docs_per_query=12, n_features=3, seed=2)
QUERIES = np.array([f"q{i}" for i in range(9)])[np.asarray(DATA.qid)]
GRID = {"learning_rate": [0.1, 1.0]}
BY_QUERY = GroupKFold(3)


@pytest.fixture
def routing() -> Any:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def by_hand(ranker: Any, measure: str) -> list[float]:
    """Fit and measure fold by fold, without scikit-learn's searches."""
    values = []
    for train, test in BY_QUERY.split(DATA.X, DATA.y, QUERIES):
        ranker.fit(DATA.X[train], DATA.y[train], qid=QUERIES[train])
        scores = ranker.predict(DATA.X[test], qid=QUERIES[test])
        values.append(crucial.evaluate(DATA.y[test], scores, QUERIES[test], measure)[measure])
    return values


@pytest.mark.usefixtures("routing")
def test_several_scorers_pipelines_and_losses() -> None:
    folds = GroupKFold(3).set_split_request(groups="qid")
    ranker = RankBoost(n_estimators=5)
    inside, grid = make_pipeline(StandardScaler(), ranker), {"rankboost__learning_rate": [0.3]}
    scoring = {"top": make_scorer("ndcg@10"), "place": make_scorer("avg_rank")}
    search = GridSearchCV(inside, grid, scoring=scoring, refit="top", cv=folds)
    search.fit(DATA.X, DATA.y, qid=QUERIES)
    expected = np.mean(by_hand(RankBoost(n_estimators=5), "avg_rank"))
    assert search.cv_results_["mean_test_place"][0] == pytest.approx(-expected)


@pytest.mark.parametrize("scoring", [None, make_scorer("ndcg@10"), {"a": make_scorer("map")}])
@pytest.mark.parametrize("inside", [False, True])
def test_queries_that_are_not_routed_end_a_search_in_one_error(scoring, inside) -> None:
    ranker: Any = RankBoost(n_estimators=2)
    ranker, key = (make_pipeline(ranker), "rankboost__") if inside else (ranker, "")
    grid = {f"{key}{name}": values for name, values in GRID.items()}
    search = GridSearchCV(ranker, grid, scoring=scoring, cv=GroupKFold(2), refit=False)
    with pytest.raises(ValueError, match="All the 4 fits failed") as caught:
        search.fit(DATA.X, DATA.y, groups=QUERIES, **{f"{key}qid": QUERIES})
    assert str(caught.value).count("Traceback") == 1
    assert str(caught.value).count("NotRankedError: the score of a fold needs the queries") == 1
    assert "sklearn.set_config(enable_metadata_routing=True)" in str(caught.value)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("scoring", [None, make_scorer("ndcg@10")])
def test_folds_that_cut_queries_end_a_search_in_one_error(scoring) -> None:
    search = GridSearchCV(RankBoost(2), GRID, scoring=scoring, cv=KFold(2, shuffle=True))
    with pytest.raises(ValueError, match=r"have rows in both parts .* cv=GroupKFold") as caught:
        search.fit(DATA.X, DATA.y, qid=QUERIES)
    assert str(caught.value).count("DataError: query") == 1
    search.set_params(error_score="raise")
    with pytest.raises(DataError, match="have rows in both parts of a fold"):
        search.fit(DATA.X, DATA.y, qid=QUERIES)


def test_scores_that_need_no_queries_are_left_alone() -> None:
    def first_score(estimator: Any, X: Any, y: Any) -> float:
        return float(estimator.predict(X)[0])

    search = GridSearchCV(RankBoost(2), GRID, scoring=first_score, cv=KFold(2))
    assert np.isfinite(search.fit(DATA.X, DATA.y, qid=QUERIES).best_score_)


def test_a_scorer_without_the_queries_gives_no_number() -> None:
    ranker = RankBoost(n_estimators=2).fit(DATA.X, DATA.y, qid=QUERIES)
    with pytest.warns(DataWarning, match=r"NaN: .* not routed. Switch on scikit-learn's metadata"):
        assert np.isnan(make_scorer("ndcg@10")(ranker, DATA.X, DATA.y))


def test_lists_without_queries() -> None:
    ranker = RankBoost(n_estimators=5).fit(DATA.X, DATA.y)
    with pytest.warns(DataWarning, match=r"qid was not routed to ndcg@10: all rows .* one list"):
        make_scorer("ndcg@10")(ranker, DATA.X, DATA.y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = make_scorer("auc")(ranker, DATA.X, DATA.y)
        assert found == ranker.score(DATA.X, DATA.y, measure="auc")
