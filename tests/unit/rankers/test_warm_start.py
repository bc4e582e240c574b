"""Warm starts continue the model that is there, if it is one of the same data."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from crucial import GradientRanker, RankBoost
from crucial.errors import DataError, ParameterError
from naive.cuts import Problem
from refusals import refused

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(96, 4))
Y = np.digitize(X[:, 0] + 0.5 * X[:, 1] + 0.5 * RANDOM.normal(size=96), [-0.5, 0.5, 1.2])
QID = np.repeat(np.arange(8), 12)
KINDS = [{}, {"n_bags": 2}]


def fit(ranker: Any, y: Any = Y) -> Any:
    return ranker.fit(X, y, qid=QID)


def assert_fresh(ranker: Any, rounds: int, **how: Any) -> None:
    """Compare with one fit of so many rounds."""
    other = fit(RankBoost(rounds, **how))
    assert ranker.ensemble_.rankers == other.ensemble_.rankers
    assert ranker.ensemble_.weights == other.ensemble_.weights


@pytest.mark.parametrize("how", KINDS)
def test_a_fit_without_it_is_never_continued_on_other_data(how: dict[str, Any]) -> None:
    ranker = fit(RankBoost(5, warm_start=True, **how))
    fit(ranker.set_params(warm_start=False), 3 - Y)
    assert_fresh(fit(ranker.set_params(warm_start=True, n_estimators=9)), 9, **how)
    # what was begun anew is continued
    assert_fresh(fit(ranker.set_params(n_estimators=11)), 11, **how)


def test_a_fit_on_parts_is_never_continued_on_other_data() -> None:
    ranker, other = fit(RankBoost(5, warm_start=True)), Problem(3)
    other.fit_cut(ranker.set_params(warm_start=False), 2)
    assert_fresh(fit(ranker.set_params(warm_start=True, n_estimators=9)), 9)


def test_a_fit_that_died_notes_nothing() -> None:
    def die(finished: Any) -> None:
        if finished.number == 7:
            raise KeyError(finished.number)

    ranker = fit(RankBoost(5), 3 - Y)
    ranker.set_params(warm_start=True, n_estimators=9, callbacks=die)
    for _ in range(2):  # (both begin anew, and so reach round 7)
        with pytest.raises(KeyError):
            fit(ranker)
    assert_fresh(fit(ranker.set_params(callbacks=None)), 9)
    # and the model before it can still be continued
    ranker = fit(RankBoost(5, warm_start=True)).set_params(n_estimators=9, callbacks=die)
    with pytest.raises(KeyError):
        fit(ranker)
    seen: list[Any] = []
    assert_fresh(fit(ranker.set_params(callbacks=seen.append)), 9)
    assert [one.number for one in seen] == [6, 7, 8, 9]


def test_bags_of_a_fit_that_died_are_not_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    ranker = fit(RankBoost(3, n_bags=2, warm_start=True))
    with monkeypatch.context() as patch:
        patch.setattr(RankBoost, "_set_fitted", lambda *args: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            fit(ranker.set_params(n_estimators=9))
    assert_fresh(fit(ranker.set_params(n_estimators=5)), 5, n_bags=2)


def test_other_data_are_refused_after_a_cold_fit_was_followed_by_a_warm_one() -> None:
    ranker = fit(fit(RankBoost(5)).set_params(warm_start=True, n_estimators=7))
    with pytest.raises(DataError, match="warm_start continues on the data and parameters"):
        fit(ranker.set_params(n_estimators=9), 3 - Y)
    assert_fresh(fit(ranker), 9)


@pytest.mark.parametrize("moved", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_and_pickles_are_continued(moved: Any) -> None:
    ranker, seen = moved(fit(RankBoost(5, warm_start=True))), []
    assert_fresh(fit(ranker.set_params(n_estimators=8, callbacks=seen.append)), 8)
    assert [one.number for one in seen] == [6, 7, 8]
    refused(DataError, "these are others", fit, moved(ranker), 3 - Y)


@pytest.mark.parametrize("state", [None, np.random.RandomState(0), np.random])
@pytest.mark.parametrize(
    "ranker", [RankBoost(2, subsample=0.5), GradientRanker(2, max_features=0.5)]
)
def test_random_numbers_that_cannot_be_continued_are_refused(ranker: Any, state: Any) -> None:
    how = {**ranker.get_params(), "warm_start": True, "random_state": state}
    refused(ParameterError, "needs an integer as random_state", fit, type(ranker)(**how))


def test_seeds_of_numpy_are_continued() -> None:
    ranker = fit(RankBoost(3, subsample=0.5, warm_start=True, random_state=np.int64(4)))
    assert_fresh(fit(ranker.set_params(n_estimators=6)), 6, subsample=0.5, random_state=4)
