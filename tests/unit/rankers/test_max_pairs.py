"""max_pairs: trees of two features combine the pairs that gain most, and no others."""

import numpy as np
import pytest

from crucial import GradientRanker, RankBoost, load_model, make_interactions
from crucial.boosting.trees import gains_of_pairs
from crucial.errors import ParameterError
from crucial.rankers import boosted

DATA = make_interactions(n_queries=30, docs_per_query=20, n_pairs=3, n_noise=3, seed=1)
X, Y, QID = DATA.X, DATA.y, DATA.qid
TRUE = [(0, 1), (2, 3), (4, 5)]
TRIAL = 30


@pytest.fixture(autouse=True)
def short_trial(monkeypatch):
    monkeypatch.setattr(boosted, "TRIAL_ROUNDS", TRIAL)


def fitted(kind=GradientRanker, n_estimators=8, **more):
    return kind(n_estimators, interactions=2, **more).fit(X, Y, qid=QID)


def pairs_of(ranker):
    return set(gains_of_pairs(ranker.model_.rankers))


def test_the_pairs_are_those_that_gain_most_in_a_trial():
    trial = fitted(n_estimators=TRIAL)
    ranked = list(gains_of_pairs(trial.model_.rankers))
    assert len(ranked) > 4
    limited = fitted(max_pairs=4)
    assert limited.feature_pairs_ == ranked[:4]
    assert pairs_of(limited) <= set(ranked[:4])
    assert set(TRUE) <= set(limited.feature_pairs_)
    # by hand: the same trees, of a learner that is told the pairs
    told = GradientRanker(8, interactions=2, max_pairs=4)
    told._shared_pairs = ranked[:4]
    assert told.fit(X, Y, qid=QID).predict(X).tobytes() == limited.predict(X).tobytes()


@pytest.mark.parametrize(("kind", "more"), [(GradientRanker, {}), (RankBoost, {"weak": "tree"})])
def test_no_pairs_are_trees_of_one_feature_and_many_are_all(kind, more):
    none, many = (fitted(kind, max_pairs=most, **more) for most in (0, 1000))
    one = kind(8, interactions=1, **more).fit(X, Y, qid=QID)
    assert none.predict(X).tobytes() == one.predict(X).tobytes()
    assert none.feature_pairs_ == []
    assert many.predict(X).tobytes() == fitted(kind, **more).predict(X).tobytes()
    assert len(pairs_of(fitted(kind, max_pairs=1, **more))) <= 1


def test_bags_folds_files_and_warm_starts_keep_the_limit(tmp_path):
    bagged = fitted(n_bags=3, max_pairs=2, subsample_rows=0.7)
    assert pairs_of(bagged) <= set(bagged.feature_pairs_)
    assert len(bagged.feature_pairs_) == 2
    assert fitted(validation_folds=2, max_pairs=2, n_estimators=5).feature_pairs_
    whole = fitted(max_pairs=2, n_estimators=8)
    grown = fitted(max_pairs=2, n_estimators=3, warm_start=True)
    grown.set_params(n_estimators=8).fit(X, Y, qid=QID)
    assert grown.predict(X).tobytes() == whole.predict(X).tobytes()
    whole.save(tmp_path / "m.json")
    model = load_model(tmp_path / "m.json")
    assert model.training["feature_pairs"] == [list(pair) for pair in whole.feature_pairs_]
    assert "pairs of features together" in "\n".join(model.explain(5))
    assert not hasattr(whole.set_params(max_pairs=None).fit(X, Y, qid=QID), "feature_pairs_")


def test_the_limit_is_for_trees_of_two_features():
    for interactions in (None, 1):
        with pytest.raises(ParameterError, match=r"max_pairs limits .* Set interactions=2"):
            GradientRanker(3, interactions=interactions, max_pairs=3).fit(X, Y, qid=QID)
    with pytest.raises(ParameterError, match="max_pairs is for weak='tree'"):
        RankBoost(3, max_pairs=3).fit(X, Y, qid=QID)
    assert np.isfinite(fitted(max_pairs=2, weak="stump").predict(X)).all()
