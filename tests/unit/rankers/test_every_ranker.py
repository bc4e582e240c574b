"""What every ranker of the registry promises, whatever it does inside."""

import inspect
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, cross_val_score

import crucial
from crucial.data import Groups
from crucial.errors import DataError, NotRankedError
from crucial.rankers.registry import RANKERS, WITHOUT_QUERIES, ranker_class
from refusals import refused

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

FROM_PAIRS = {
    "rankboost", "rankboost-plus", "smooth-margin", "pnorm-push", "logistic", "ranking-svm",
    "rankrls",
}  # fmt: skip
NAMES = sorted(RANKERS)
WITH_QUERIES = sorted(set(RANKERS) - WITHOUT_QUERIES)


def make(name: str, **more: Any) -> Any:
    """A ranker of few rounds, for tests that want no more."""
    ranker = ranker_class(name)(**more)
    if "n_estimators" in ranker.get_params() and "n_estimators" not in more:
        ranker.set_params(n_estimators=12)
    return ranker


class Data:
    """Two labels, abstentions, ids of queries as text in no order."""

    def __init__(self, n_rows: int = 150, n_queries: int = 6, seed: int = 5) -> None:
        random = np.random.default_rng(seed)
        self.X = random.normal(size=(n_rows, 4))
        self.y = (self.X[:, 0] + 0.5 * random.normal(size=n_rows) > 0.3).astype(int)
        self.X[random.random(self.X.shape) < 0.1] = np.nan
        self.qid = np.array([f"query-{i}" for i in random.integers(0, n_queries, n_rows)])
        self.weight = random.integers(1, 4, n_rows).astype(float)

    def queries(self, name: str) -> dict[str, Any]:
        return {} if name in WITHOUT_QUERIES else {"qid": self.qid}


DATA = Data()


def fitted(name: str, **more: Any) -> Any:
    return make(name, **more).fit(DATA.X, DATA.y, **DATA.queries(name))


def scores(ranker: Any, name: str, X: Any = DATA.X) -> bytes:
    """Scores of the rows it learned from; some rankers must see whole queries."""
    found: bytes = ranker.predict(X, **DATA.queries(name)).tobytes()
    return found


@pytest.mark.parametrize("name", NAMES)
def test_it_is_public_and_scikit_learns_checks_see_it(name: str) -> None:
    """test_sklearn_contract runs check_estimator over the public names."""
    found = ranker_class(name)
    assert getattr(crucial.rankers, found.__name__) is found
    assert "Examples" in str(found.__doc__)


@pytest.mark.parametrize("name", NAMES)
def test_it_learns_something_that_generalises(name: str) -> None:
    ranker, other = fitted(name), Data(seed=6)
    assert ranker.score(DATA.X, DATA.y, **DATA.queries(name)) > 0.8
    assert ranker.score(other.X, other.y, **other.queries(name)) > 0.8
    assert ranker.rank(other.X, **other.queries(name)).min() == 1


@pytest.mark.parametrize("name", NAMES)
def test_clones_and_pickles(name: str) -> None:
    ranker = fitted(name)
    assert clone(ranker).get_params() == ranker.get_params()
    expected = scores(ranker, name)
    assert scores(pickle.loads(pickle.dumps(ranker)), name) == expected
    assert scores(fitted(name), name) == expected
    refused(NotFittedError, "not fitted", clone(ranker).predict, DATA.X)


@pytest.mark.parametrize("name", NAMES)
def test_a_model_says_how_it_was_made(name: str) -> None:
    training = fitted(name).model_.training
    assert training["estimator"] == ranker_class(name).__name__
    assert {"n_jobs", "verbose", "warm_start"}.isdisjoint(training["parameters"])


@pytest.mark.parametrize("name", NAMES)
def test_names_of_features_stay_with_the_model(name: str, tmp_path: Any) -> None:
    frame = pd.DataFrame(DATA.X, columns=["bm25", "clicks", "age", "length"])
    ranker = make(name).fit(frame, DATA.y, **DATA.queries(name))
    assert list(ranker.feature_names_in_) == list(frame.columns)
    assert ranker.model_.feature_names == tuple(frame.columns)
    assert scores(ranker, name, frame) == scores(fitted(name), name)
    assert ranker.feature_importances_.argmax() == 0
    with pytest.raises(DataError, match="feature names should match"):
        ranker.predict(frame.rename(columns={"age": "years"}))


@pytest.mark.parametrize("name", WITH_QUERIES)
@pytest.mark.usefixtures("routing")
def test_queries_are_routed_without_being_asked_for(name: str) -> None:
    folds = GroupKFold(3).set_split_request(groups="qid")
    found = cross_val_score(make(name), DATA.X, DATA.y, params={"qid": DATA.qid}, cv=folds)
    expected = []
    for train, test in GroupKFold(3).split(DATA.X, DATA.y, DATA.qid):
        ranker = make(name).fit(DATA.X[train], DATA.y[train], qid=DATA.qid[train])
        expected.append(ranker.score(DATA.X[test], DATA.y[test], qid=DATA.qid[test]))
    np.testing.assert_allclose(found, expected)
    requests = make(name).get_metadata_routing()
    assert all(getattr(requests, m).requests["qid"] is True for m in ("fit", "predict", "score"))


@pytest.mark.parametrize("name", WITH_QUERIES)
def test_a_ranker_of_queries_compares_no_rows_without(name: str) -> None:
    ranker = fitted(name)
    why = (
        "{} needs qid, since this ranker was fitted with queries: scores of different queries "
        "cannot be compared. Call {}; if all rows are of one query, give all the same qid."
    )
    for call, rows in (
        ("score(X, y, qid=...)", lambda: ranker.score(DATA.X, DATA.y)),
        ("rank(X, qid=...)", lambda: ranker.rank(DATA.X)),
        ("select(X, k, qid=...)", lambda: ranker.select(DATA.X, 3)),
    ):
        with pytest.raises(NotRankedError) as error:
            rows()
        assert str(error.value).startswith(why.format(call.partition("(")[0], call))


@pytest.mark.parametrize("name", sorted(WITHOUT_QUERIES))
def test_queries_are_refused_where_they_have_no_meaning(name: str) -> None:
    with pytest.raises(
        DataError, match=r"(same zero|one I?ROC \w+ for all).* names 6 queries.* Use RankB"
    ):
        make(name).fit(DATA.X, DATA.y, qid=DATA.qid)
    one = make(name).fit(DATA.X, DATA.y, qid=np.zeros(len(DATA.y)))
    expected = scores(fitted(name), name)
    assert scores(one, name) == expected
    if "pool" in one.get_params():
        pooled = make(name, pool=True).fit(DATA.X, DATA.y, qid=DATA.qid)
        assert scores(pooled, name) == expected


@pytest.mark.parametrize("name", NAMES)
def test_query_ids_are_not_taken_for_weights(name: str) -> None:
    refused(TypeError, "positional argument", make(name).fit, DATA.X, DATA.y, DATA.qid)


@pytest.mark.parametrize("name", NAMES)
def test_grades_are_learned_from_or_refused_with_a_way_out(name: str) -> None:
    grades = DATA.y + (DATA.X[:, 0] > 1.0)
    ranker = make(name)
    if ranker.__sklearn_tags__().classifier_tags is None:
        ranker.fit(DATA.X, grades, **DATA.queries(name))
        assert ranker.score(DATA.X, grades, **DATA.queries(name)) > 0.8
    else:
        few = r"labels of two values, and y has 3.*RankBoost|labels of query .* are 0, 1, 2\."
        refused(DataError, few, ranker.fit, DATA.X, grades, **DATA.queries(name))


@pytest.mark.parametrize("name", NAMES)
def test_pairs_are_learned_from_or_not_on_offer(name: str) -> None:
    random = np.random.default_rng(0)
    rows = random.integers(0, len(DATA.y), (400, 2))
    pairs = rows[DATA.y[rows[:, 0]] > DATA.y[rows[:, 1]]]
    ranker = make(name)
    if not hasattr(ranker, "fit_pairs"):
        assert "pairs" not in inspect.signature(ranker.fit).parameters
        return
    if name not in FROM_PAIRS:
        way_out = "For explicit pairs use RankBoost|RankBoost's|RankBoost for pairs"
        refused((DataError, NotRankedError), way_out, ranker.fit_pairs, DATA.X, pairs)
        return
    ranker.fit_pairs(DATA.X, pairs)
    assert ranker.model_.training["pairs"] == len(np.unique(pairs, axis=0))
    found = ranker.predict(DATA.X)
    assert (found[pairs[:, 0]] > found[pairs[:, 1]]).mean() > 0.75
    assert not ranker.fitted_with_qid_


@pytest.mark.parametrize("name", NAMES)
def test_nobody_learns_from_labels_that_are_all_the_same(name: str) -> None:
    refused(DataError, "one class", make(name).fit, DATA.X, np.ones(len(DATA.y)))
    refused(DataError, "requires y to be passed", make(name).fit, DATA.X, None)


@pytest.mark.parametrize("name", NAMES)
def test_rounds_can_be_looked_at_one_by_one(name: str) -> None:
    ranker = fitted(name)
    if not hasattr(ranker, "trace_"):
        assert "eval_set" not in inspect.signature(ranker.fit).parameters
        return
    staged = list(ranker.staged_predict(DATA.X, **DATA.queries(name)))
    assert len(staged) == len(ranker.trace_) == ranker.ensemble_.n_rounds
    assert staged[-1].tobytes() == scores(ranker, name)
    groups = Groups.from_qid(DATA.queries(name).get("qid"), len(DATA.y))
    assert staged[1].tobytes() == ranker.truncate(2).predict(DATA.X, groups).tobytes()
    table = ranker.trace_.to_dict()
    assert {"round", "alpha", "r", "z", "loss"} <= set(table)
    assert len({len(column) for column in table.values()}) == 1


def with_zeros(values: Any, first: float, last: float) -> Any:
    """The same numbers, the first half of the zeros of one sign and the others of another."""
    found = np.array(values, float)
    zeros = np.flatnonzero(found.ravel() == 0)
    found.ravel()[zeros] = np.where(np.arange(len(zeros)) < len(zeros) // 2, first, last)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_both_zeros_are_one(name: str, tmp_path: Any) -> None:
    """Which of them is the least, or the first after a sort, depends on the CPU."""
    X = DATA.X.round(1)
    X[:, 2], X[:, 3] = np.maximum(X[:, 2], 0.0), np.minimum(X[:, 3], 0.0)
    files, found = set(), set()
    for signs in ((0.0, 0.0), (0.0, -0.0), (-0.0, 0.0), (-0.0, -0.0)):
        rows, labels = with_zeros(X, *signs), with_zeros(DATA.y, *signs)
        ranker = make(name).fit(rows, labels, **DATA.queries(name))
        ranker.save(tmp_path / "model.json")
        files.add((tmp_path / "model.json").read_bytes())
        found.add(scores(ranker, name, rows))
    assert len(files) == len(found) == 1
