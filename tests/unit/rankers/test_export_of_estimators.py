"""Estimators and classifiers export what they compute."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from crucial import LogitBoost, RankBoost
from crucial.errors import NotRankedError


@pytest.fixture(scope="module")
def two_classes():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3)).astype(np.float32).astype(float)
    X[random.random(X.shape) < 0.1] = np.nan
    return X, (np.nan_to_num(X[:, 0]) + random.normal(size=200) > 0).astype(int)


def run(path):
    space = {}
    exec(path.read_text(), space)
    return space["score"]


def test_a_ranker_exports_its_model(two_classes, tmp_path):
    X, y = two_classes
    with pytest.raises(NotFittedError):
        RankBoost().export(tmp_path / "x.py", "python")
    ranker = RankBoost(20).fit(X, y)
    ranker.export(tmp_path / "x.py", "python", data=X)
    assert [run(tmp_path / "x.py")(row) for row in X] == ranker.predict(X).tolist()


def test_a_classifier_exports_probabilities_or_decisions(two_classes, tmp_path):
    X, y = two_classes
    classifier = RankBoost(20).fit(X, y).to_classifier()
    classifier.export(tmp_path / "p.py", "python")
    found = [run(tmp_path / "p.py")(row) for row in X]
    assert found == pytest.approx(classifier.predict_proba(X)[:, 1], abs=1e-14)
    classifier.export(tmp_path / "d.py", "python", probability=False)
    assert [run(tmp_path / "d.py")(row) for row in X] == classifier.decision_function(X).tolist()


def test_probabilities_of_logit_boost(two_classes, tmp_path):
    X, y = two_classes
    ranker = LogitBoost(20).fit(X, y)
    ranker.export(tmp_path / "p.py", "python", probability=True)
    found = [run(tmp_path / "p.py")(row) for row in X]
    assert found == pytest.approx(ranker.predict_proba(X)[:, 1], abs=1e-14)
    with pytest.raises(NotRankedError, match="no probabilities"):
        RankBoost(2).fit(X, y).export(tmp_path / "q.py", "python", probability=True)
