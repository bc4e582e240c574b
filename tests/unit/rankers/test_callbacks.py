"""What follows a fit: callbacks, lines of progress; and measures refused before it."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import crucial
from crucial import FeatureRank, RankBoost
from crucial.parameters import parameters_of
from crucial.rankers.registry import RANKERS, ranker_class
from refusals import refused

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
        crucial.ComponentwiseBoost(n_estimators=6),
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
