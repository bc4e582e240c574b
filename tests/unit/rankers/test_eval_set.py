"""Rows that rounds are judged by: which are held out, and how they are measured."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from crucial import (
    ComponentwiseBoost,
    GradientRanker,
    LogitBoost,
    RankBoost,
    RankBoostPlus,
    RankNet,
    SmoothMarginRanker,
)
from crucial.errors import DataError, ParameterError
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

    @pytest.mark.parametrize(
        "how",
        [
            {"early_stopping_rounds": 5},
            {"validation_folds": 3},
            {"n_bags": 3, "early_stopping_rounds": 3},
        ],
    )
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

    def test_too_few_others_are_refused(self) -> None:
        weight = (QID == 3) * 1.0
        stopping, folds = RankBoost(early_stopping_rounds=2), RankBoost(validation_folds=2)
        words = "all rows of positive weight are of one query: pass eval_set"
        for name in ("sample_weight", "query_weight"):
            refused(DataError, words, stopping.fit, X, Y, qid=QID, **{name: weight})
            with pytest.raises(DataError, match=r"as many queries .* Got 1. Set validation_folds"):
                folds.fit(X, Y, qid=QID, **{name: weight})
        few = np.zeros(len(Y))
        few[:3] = 1.0
        with pytest.raises(DataError, match="3 rows of positive weight are too few"):
            stopping.fit(X, Y, sample_weight=few)


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
