"""Rankers of other packages fit as ours do; two of our own that all should beat."""

import sys

import numpy as np
import pytest

from crucial.errors import DataError, MissingExtraError
from crucial.lab.experiment import Experiment
from crucial.lab.rankers import (
    PEERS,
    BestFeature,
    CatBoostPeer,
    LightGBMPeer,
    RandomOrder,
    XGBoostPeer,
    as_contenders,
    make_peer,
)
from crucial.measures.names import get_measure
from refusals import refused

BOOSTERS = {"lightgbm": LightGBMPeer, "xgboost": XGBoostPeer, "catboost": CatBoostPeer}


def problem(seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(160, 4))
    y = np.digitize(X[:, 2] - X[:, 0] + 0.3 * random.normal(size=160), [-0.5, 0.5])
    qid = random.permutation(np.repeat([f"q{k}" for k in range(16)], 10))
    return X, y, qid


@pytest.mark.parametrize("name", BOOSTERS)
def test_boosters_learn_whatever_the_order_of_rows(name):
    pytest.importorskip(name)
    X, y, qid = problem()
    made = BOOSTERS[name](n_estimators=15, learning_rate=0.3)
    if name == "lightgbm":
        made.set_params(min_child_samples=5)
    made.fit(X, y, qid=qid)
    scores = made.predict(X)
    assert get_measure("r2")(y, scores, qid) < 0.2
    sorted_rows = np.argsort(qid, kind="stable")
    again = type(made)(**made.get_params()).fit(
        X[sorted_rows], y[sorted_rows], qid=qid[sorted_rows]
    )
    assert np.array_equal(again.predict(X), scores)
    stages = list(made.staged_predict(X))
    assert len(stages) == 15
    assert stages[-1] == pytest.approx(scores, abs=1e-5)
    assert get_measure("r2")(y, stages[0], qid) > get_measure("r2")(y, stages[-1], qid)


@pytest.mark.parametrize("name", BOOSTERS)
def test_a_missing_package_is_named(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    refused(MissingExtraError, f"not installed: pip install {name}", make_peer, name)
    with pytest.raises(MissingExtraError, match=f"not installed: pip install {name}"):
        as_contenders(["rankboost", name])


def test_lightgbm_says_which_labels_it_can_read():
    pytest.importorskip("lightgbm")
    X, _, qid = problem()
    with pytest.raises(DataError, match=r"LightGBM needs whole labels from 0 to 30 .* Got 0.5"):
        LightGBMPeer().fit(X, np.full(len(X), 0.5), qid=qid)


def test_best_feature_is_the_one_that_orders_most_pairs():
    X, y, qid = problem()
    X[:, 3] = -y + 0.1 * np.random.default_rng(1).normal(size=len(y))
    made = BestFeature().fit(X, y, qid=qid)
    assert (made.feature_, made.direction_) == (3, -1)
    assert np.array_equal(made.predict(X), -X[:, 3])


def test_best_feature_puts_abstentions_last():
    X = np.array([[3.0], [np.nan], [1.0]])
    made = BestFeature().fit(X, [2, 0, 1])
    scores = made.predict(X)
    assert scores[0] > scores[2] > scores[1]


def test_random_order_is_seeded_and_knows_nothing():
    X, y, _ = problem()
    made = RandomOrder(random_state=3).fit(X, y)
    assert np.array_equal(made.predict(X), made.predict(X + 1))
    assert not np.array_equal(made.predict(X), RandomOrder(4).fit(X, y).predict(X))


def test_every_peer_takes_part_and_is_tuned_by_its_grid():
    X, y, qid = problem()
    X[::7, 1] = np.nan
    names = [one for one in PEERS if one not in ("lightgbm", "lightgbm-xendcg", "xgboost",
                                                 "catboost", "hist-gradient-boosting")]  # fmt: skip
    found = Experiment(
        {"t": (X, y, qid)}, names, ["r2"], grids="small", changes={"n_estimators": 8}
    )
    found = found.run()
    assert found.failures == []
    for ranker in ("ridge", "logistic-regression", "best-feature"):
        assert found.value("r2", ranker) < found.value("r2", "random") - 0.1
    candidates = {cell["ranker"]: cell["candidates"] for cell in found.cells}
    assert candidates == {
        "ridge": 4, "logistic-regression": 4, "random-forest": 3, "best-feature": 1, "random": 1,
    }  # fmt: skip


@pytest.mark.parametrize("name", PEERS)
def test_grids_name_parameters_that_exist(name):
    if name.split("-")[0] in BOOSTERS:
        pytest.importorskip(name.split("-")[0])
    made, grid = make_peer(name), PEERS[name][1]
    assert set(grid) <= set(made.get_params())
