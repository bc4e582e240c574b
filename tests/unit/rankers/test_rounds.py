"""Rounds: judged by rows held out, continued by warm starts, followed by callbacks."""

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import crucial
from crucial import GradientRanker, RankBoost, RankBoostPlus
from crucial.errors import DataError, ParameterError
from crucial.parameters import parameters_of
from crucial.rankers import ComponentwiseBoost, FeatureRank, LogitBoost, RankNet, SmoothMarginRanker
from crucial.rankers.registry import RANKERS, ranker_class
from naive.cuts import Problem
from refusals import refused


def problem(n_queries: int = 8, size: int = 12, n_features: int = 4) -> tuple[Any, Any, Any]:
    """Rows, grades from 0 to 3 and queries."""
    random, n = np.random.default_rng(0), n_queries * size
    X = random.normal(size=(n, n_features))
    score = X[:, 0] + 0.5 * X[:, 1] + 0.5 * random.normal(size=n)
    return X, np.digitize(score, [-0.5, 0.5, 1.2]), np.repeat(np.arange(n_queries), size)


X, Y, QID = problem(n_queries=24)
OFF = QID % 2 == 1  # (whole queries)
SOME = np.random.default_rng(1).random(len(Y)) < 0.4  # (rows of every query)


def with_and_without(ranker: Any, off: Any, weights: str, y: Any = Y, qid: Any = QID) -> Any:
    """Fit to rows some of which weigh 0 and have wrong labels; then to the others alone."""
    wrong, on = np.where(off, y.max() - y, y), ~off
    weight = {weights: np.where(off, 0.0, 1.0)}
    whole = ranker.fit(X, wrong, qid=qid, **weight)
    own = None if qid is None else qid[on]
    return whole, type(ranker)(**ranker.get_params()).fit(X[on], y[on], qid=own)


def assert_same(one: Any, other: Any) -> None:
    """Compare the rounds of two fits."""
    assert one.best_round_ == other.best_round_
    assert len(one.trace_) == len(other.trace_)
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-9, atol=1e-12)


class TestWeightsOfZero:
    @pytest.mark.parametrize(
        "ranker",
        [
            RankBoost(40, early_stopping_rounds=5),
            RankBoost(20, early_stopping_rounds=5, subsample=0.6, weak="tree", min_rows=5),
            GradientRanker(20, early_stopping_rounds=3, min_rows=5),
            ComponentwiseBoost(30, early_stopping_rounds=5),
            RankBoostPlus(20, early_stopping_rounds=5),
            SmoothMarginRanker(20, early_stopping_rounds=5),
            RankBoost(12, validation_folds=3),
            RankBoost(12, n_bags=3, early_stopping_rounds=3),
        ],
        ids=lambda one: str(one).replace("\n", "").replace(" ", ""),
    )
    @pytest.mark.parametrize("weights", ["sample_weight", "query_weight"])
    @pytest.mark.filterwarnings("ignore::crucial.errors.NotSeparableWarning")
    def test_queries_are_as_good_as_absent(self, ranker: Any, weights: str) -> None:
        assert_same(*with_and_without(ranker, OFF, weights))

    @pytest.mark.parametrize("how", [
        {"early_stopping_rounds": 5},
        {"validation_folds": 3},
        {"n_bags": 3, "early_stopping_rounds": 3},
    ])  # fmt: skip
    def test_rows_are_as_good_as_absent(self, how: dict[str, Any]) -> None:
        assert_same(*with_and_without(RankBoost(20, **how), SOME, "sample_weight"))
        good = (Y > 1) * 1
        one = with_and_without(RankBoost(20, **how), SOME, "sample_weight", good, None)
        assert_same(*one)

    def test_rows_of_classes_are_as_good_as_absent(self) -> None:
        for how in ({"early_stopping_rounds": 5}, {"validation_folds": 3}):
            ranker, good = LogitBoost(20, **how), (Y > 1) * 1
            assert_same(*with_and_without(ranker, SOME, "sample_weight", good, None))

    def test_a_net_does_not_hold_them_out(self) -> None:
        net = RankNet((4,), early_stopping_rounds=5)
        for weights in ("sample_weight", "query_weight"):
            one, other = with_and_without(net, OFF, weights)
            assert one.best_iter_ == other.best_iter_
            np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-9)


class TestDefaultMeasure:
    few = problem(n_queries=5, size=20, n_features=3)

    def test_is_the_same_on_every_fold(self) -> None:
        X, y, qid = self.few  # (3 folds of 5 queries: one has a single query)
        ranker = RankBoost(4, validation_folds=3).fit(X, y, qid=qid)
        assert ranker.fold_curves_.measure == "ndcg@10"
        y = np.where(qid == 2, y - 3, y)  # (labels below 0 in one fold)
        ranker = RankBoost(4, validation_folds=3).fit(X, y, qid=qid)
        assert ranker.fold_curves_.measure == "auc"

    def test_depends_on_whether_there_are_queries_and_not_on_their_number(self) -> None:
        X, y, qid = self.few
        one = np.zeros(len(y))

        def measured(y: Any, qid: Any = None, held: Any = None) -> list[str]:
            how = {} if held is None else {"eval_set": (X, y), "eval_qid": qid}
            patience = 3 if held is None else None
            ranker = RankBoost(2, early_stopping_rounds=patience)
            return list(ranker.fit(X, y, qid=qid, **how).trace_[0].measures)

        assert measured(y, qid) == ["ndcg@10"]  # (one query is held out)
        assert measured(y, one, held=True) == ["ndcg@10"]
        assert measured(y - 2, one, held=True) == ["auc"]
        assert measured(y) == ["auc"]
        assert RankBoost(2).fit(X, y, eval_set=(X, y)).trace_[0].measures.keys() == {"auc"}

    def test_labels_of_weight_0_do_not_choose_it(self) -> None:
        X, y, qid = self.few
        weight = np.ones(len(y))
        weight[0], y = 0.0, np.where(np.arange(len(y)) == 0, -1, y)
        for how in ({"early_stopping_rounds": 3}, {"n_bags": 2, "early_stopping_rounds": 3}):
            ranker = RankBoost(4, **how).fit(X, y, qid=qid, sample_weight=weight)
            assert ranker.trace_[0].measures.keys() == {"ndcg@10"}


def test_an_eval_set_may_come_in_lists_of_one() -> None:
    """As other libraries want it; and what is wrong with its queries is said of them."""
    given = {"eval_set": (X, Y), "eval_qid": QID}
    plain = RankBoost(5).fit(X, Y, qid=QID, **given)
    listed = RankBoost(5).fit(X, Y, qid=QID, eval_set=[(X, Y)], eval_qid=[QID])
    assert listed.trace_.column("ndcg@10").tolist() == plain.trace_.column("ndcg@10").tolist()
    with pytest.raises(DataError, match=r"^eval_qid must have one id for each of the 288 rows"):
        RankBoost(5).fit(X, Y, qid=QID, eval_set=(X, Y), eval_qid=QID[:-1])


@pytest.mark.parametrize("kind", [RankBoost, LogitBoost, RankNet])
@pytest.mark.parametrize(
    "metric", [np.array([1, 2]), pd.NA, [pd.NA], [np.array(["auc", "map"])], [None], 7], ids=repr
)
def test_what_names_no_measure_is_refused_in_words(kind: Any, metric: Any) -> None:
    with pytest.raises(ParameterError, match=r"eval_metric of \w+: a measure must be a name like"):
        kind(eval_metric=metric).fit(X, (Y > 1) * 1)


# -- Warm starts continue the model that is there, if it is one of the same data. --
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


# -- What follows a fit: callbacks, lines of progress; and measures refused before it. --
DATA = crucial.make_letor(n_queries=6, docs_per_query=10, n_features=3, seed=0)
ROWS = (DATA.X, DATA.y)


def followed(ranker: Any, until: int | None = None) -> tuple[Any, list[Any]]:
    """Fit a ranker with a callback that keeps every round, and stops after some."""
    seen = []

    def keep(finished: Any) -> bool:
        seen.append(finished)
        return finished.number == until

    ranker.set_params(callbacks=[keep])
    return ranker.fit(*ROWS, qid=DATA.qid), seen


@pytest.mark.parametrize(
    "ranker",
    [
        RankBoost(n_estimators=6),
        crucial.RankBoostPlus(n_estimators=6),
        crucial.rankers.ComponentwiseBoost(n_estimators=6),
        crucial.GradientRanker(n_estimators=6, min_rows=5),
    ],
    ids=lambda one: type(one).__name__,
)
def test_callbacks_see_every_round_and_end_the_training(ranker: Any) -> None:
    whole, seen = followed(clone(ranker))
    assert [one.number for one in seen] == list(range(1, len(whole.trace_) + 1))
    assert [one.loss for one in seen] == [one.loss for one in whole.trace_]
    assert {one.n_rounds for one in seen} == {6}
    short, seen = followed(clone(ranker), until=3)
    assert len(seen) == len(short.trace_) == short.best_round_ == 3
    assert short.trace_.stopped == "stopped by a callback"
    assert (short.predict(DATA.X) == whole.truncate(3).predict(DATA.X)).all()


def test_steps_of_rank_addition_are_rounds_too() -> None:
    short, seen = followed(FeatureRank(cycles=2), until=2)
    assert [one.number for one in seen] == [1, 2]
    assert len(short.trace_) == 2


def test_a_callback_sees_the_eval_set_and_all_are_called() -> None:
    first, second = [], []
    ranker = RankBoost(n_estimators=3, callbacks=[first.append, second.append])
    ranker.fit(*ROWS, qid=DATA.qid, eval_set=ROWS, eval_qid=DATA.qid)
    assert [one.measures["ndcg@10"] for one in first] == ranker.trace_.column("ndcg@10").tolist()
    assert len(second) == 3
    alone: list[Any] = []
    RankBoost(n_estimators=3, callbacks=alone.append).fit(*ROWS, qid=DATA.qid)
    assert len(alone) == 3


def test_rounds_of_an_earlier_fit_and_of_folds_are_left_out() -> None:
    ranker, seen = followed(RankBoost(n_estimators=2, warm_start=True))
    ranker.set_params(n_estimators=5).fit(*ROWS, qid=DATA.qid)
    assert [one.number for one in seen] == [1, 2, 3, 4, 5]
    ranker, seen = followed(RankBoost(n_estimators=4, validation_folds=2))
    assert [one.number for one in seen] == list(range(1, len(ranker.trace_) + 1))


def test_a_true_of_numpy_ends_the_training_and_other_numbers_do_not() -> None:
    def fit(answer: Any) -> int:
        ranker = RankBoost(n_estimators=3, callbacks=lambda finished: answer)
        return len(ranker.fit(*ROWS, qid=DATA.qid).trace_)

    assert fit(True) == fit(np.True_) == 1
    assert {fit(other) for other in (False, np.False_, None, 1, 1.0, np.ones(2, bool))} == {3}


def test_what_cannot_be_called_is_refused() -> None:
    with pytest.raises(ValueError, match="must be a function, a list of functions or None"):
        RankBoost(callbacks=["print"]).fit(*ROWS)
    with pytest.raises(ValueError, match="callbacks follow one run, and n_bags makes several"):
        RankBoost(callbacks=print, n_bags=2).fit(*ROWS, qid=DATA.qid)


def test_an_error_in_a_callback_is_the_users(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError, match="by zero"):
        RankBoost(n_estimators=2, callbacks=lambda finished: 1 / 0).fit(*ROWS)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("verbose", "rounds", "expected"),
    [(0, 40, []), (1, 40, range(2, 41, 2)), (True, 5, range(1, 6)), (15, 40, [15, 30, 40])],
)
def test_lines_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str], verbose: int, rounds: int, expected: Any
) -> None:
    RankBoost(n_estimators=rounds, verbose=verbose).fit(*ROWS, qid=DATA.qid)
    captured = capsys.readouterr()
    lines = captured.err.splitlines()
    assert [line.split("  ")[0] for line in lines] == [f"boosting {n}/{rounds}" for n in expected]
    assert all("  loss 0." in line for line in lines)
    assert captured.out == ""


def test_the_last_round_has_its_line_where_training_ends_early(
    capsys: pytest.CaptureFixture[str],
) -> None:
    RankBoost(n_estimators=100, verbose=10, callbacks=lambda one: one.number == 13).fit(*ROWS)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("  ")[0] for line in lines] == ["boosting 10/100", "boosting 13/100"]


def test_a_misspelt_eval_metric_is_refused_before_anything_is_fitted() -> None:
    checked = 0
    for name in RANKERS:
        ranker = ranker_class(name)
        if "eval_metric" not in parameters_of(ranker):
            continue
        checked += 1
        wrong = ranker(eval_metric="ngcd@10")
        message = f"eval_metric of {ranker.__name__}: unknown measure 'ngcd'; did you mean 'ndcg'"
        refused(ValueError, message, wrong.fit, *ROWS)
        assert not hasattr(wrong, "n_features_in_")
    assert checked > 5
    with pytest.raises(ValueError, match="eval_metric of RankBoost: measures is empty"):
        RankBoost(eval_metric=[]).fit(*ROWS)


def test_a_trace_has_its_columns_by_name() -> None:
    trace = RankBoost(3, record_risks=True).fit(X, Y, qid=QID).trace_
    frame = trace.to_dict()
    assert all(trace[name].tolist() == frame[name] for name in ("loss", "z", "r1"))
    refused(ParameterError, "no column 'lost'; it has .*loss", lambda: trace["lost"])


def test_of_equal_rounds_the_first_is_the_best() -> None:
    """One stump ranks the eval set perfectly, and the rounds after it change nothing."""
    x, y = np.arange(8.0)[:, None], np.arange(8) // 4
    ranker = RankBoost(5, eval_metric="auc").fit(x, y, eval_set=(x, y))
    assert ranker.trace_.column("auc").tolist() == [1.0] * 5
    assert ranker.best_round_ == len(ranker.model_.rankers) == 1
