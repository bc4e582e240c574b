"""AdaBoostRanker as an estimator: what it takes, what it refuses, what it tells."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import crucial
from crucial import AdaBoostRanker
from crucial.errors import DataError, DataWarning, NoProgressWarning
from crucial.model.weak import Constant, Vote
from crucial.rankers.registry import ranker_class

X, Y = load_breast_cancer(return_X_y=True)
TRAIN, TEST = slice(0, 400), slice(400, None)


def test_it_ranks_what_it_has_not_seen():
    ranker = AdaBoostRanker(100).fit(X[TRAIN], Y[TRAIN])
    assert ranker.score(X[TEST], Y[TEST]) > 0.97
    assert ranker.rank(X[TEST]).min() == 1
    kinds = {type(one) for one in ranker.model_.rankers}
    assert kinds <= {Vote, Constant}
    assert ranker.feature_importances_.sum() == pytest.approx(1.0)


def test_the_constant_takes_part_where_classes_differ_in_size():
    """With no feature that says anything, the odds of the classes are all there is to learn."""
    y = np.array([1, 0, 0, 0])
    with pytest.warns(UserWarning, match="constant"):
        ranker = AdaBoostRanker(5, 1.0).fit(np.zeros((4, 1)), y)
    assert ranker.model_.rankers == (Constant(),)
    assert ranker.model_.weights[0] == pytest.approx(0.5 * np.log(1 / 3))
    assert ranker.score(np.zeros((4, 1)), y) == 0.5
    with pytest.warns() as said:
        AdaBoostRanker(5).fit([[1.0], [1.0]], [0, 1])
    assert {one.category for one in said} == {DataWarning, NoProgressWarning}


def test_more_than_two_labels_are_refused_and_alternatives_named():
    with pytest.raises(DataError, match=r"two values, and y has 3\..*RankBoost.*LabelRanker"):
        AdaBoostRanker(2).fit(X, np.arange(len(X)) % 3)


def test_queries_are_refused_unless_all_rows_are_one():
    with pytest.raises(DataError, match=r"qid names 2 queries.*Use RankBoost"):
        AdaBoostRanker(2).fit(X, Y, qid=np.arange(len(X)) % 2)
    one = AdaBoostRanker(5).fit(X, Y, qid=np.zeros(len(X)))
    assert one.model_.weights == AdaBoostRanker(5).fit(X, Y).model_.weights


def test_pairs_are_refused():
    with pytest.raises(DataError, match=r"labels of two values alone\. For explicit pairs use"):
        AdaBoostRanker(2).fit_pairs(X, [(0, 20), (1, 30)])


def test_the_trace_tells_the_f_skew():
    ranker = AdaBoostRanker(30, 1.0, record_risks=True).fit(X[:, :3], Y)
    table = ranker.trace_.to_dict()
    decision = ranker.predict(X[:, :3])
    parts = np.exp(-decision[Y == 1]).sum(), np.exp(decision[Y == 0]).sum()
    assert table["f_skew"][-1] == pytest.approx(parts[0] - parts[1], rel=1e-9)
    assert table["loss"][-1] == pytest.approx(sum(parts) / len(Y), rel=1e-9)
    assert np.diff(table["loss"]).max() < 0
    np.testing.assert_allclose(np.sqrt(1 - np.array(table["r"]) ** 2), table["z"], rtol=1e-9)
    assert table["r2"][-1] == pytest.approx(1 - ranker.score(X[:, :3], Y), rel=1e-12)
    weighted = AdaBoostRanker(30, 1.0).fit(X[:, :3], Y, sample_weight=np.full(len(Y), 3.0))
    skews = weighted.trace_.column("f_skew")
    np.testing.assert_allclose(skews, 3 * np.array(table["f_skew"]), rtol=1e-6, atol=1e-9)


def test_a_perfect_hypothesis_is_smoothed_or_ends_the_rounds():
    x, y = np.arange(10.0)[:, None], np.arange(10) > 4
    smoothed = AdaBoostRanker(50, 1.0).fit(x, y)
    assert smoothed.score(x, y) == 1.0
    assert np.isfinite(smoothed.model_.weights).all()
    with pytest.warns(NoProgressWarning, match="perfect weak ranker"):
        AdaBoostRanker(50, on_perfect="stop").fit(x, y)
    long = AdaBoostRanker(2000, 1.0).fit(x, y)  # far beyond where weights underflow
    assert np.isfinite(long.trace_.column("log_loss")).all()
    assert np.diff(long.trace_.column("log_loss")).max() < 0
    assert long.trace_[-1].log_loss < -1000


def test_subsampling_learns_too_and_is_seeded():
    ranker = AdaBoostRanker(80, subsample=0.3, random_state=4)
    one, two = (ranker.fit(X[TRAIN], Y[TRAIN]).model_.weights for _ in range(2))
    assert one == two
    assert ranker.score(X[TEST], Y[TEST]) > 0.97
    other = AdaBoostRanker(80, subsample=0.3, random_state=5).fit(X[TRAIN], Y[TRAIN])
    assert other.model_.weights != one


def test_early_stopping_on_auc():
    ranker = AdaBoostRanker(200, 1.0, early_stopping_rounds=5).fit(
        X[TRAIN], Y[TRAIN], eval_set=(X[TEST], Y[TEST])
    )
    assert ranker.trace_.stopped == "early stopping"
    assert 0 < ranker.best_round_ < len(ranker.trace_)
    auc = ranker.trace_.column("auc")
    assert auc[ranker.best_round_ - 1] == auc.max()
    assert ranker.score(X[TEST], Y[TEST]) == pytest.approx(auc.max(), abs=1e-12)


def test_it_is_saved_and_known_by_name(tmp_path):
    ranker = ranker_class("adaboost")(20).fit(X, Y)
    ranker.save(tmp_path / "model.json")
    again = crucial.load_model(tmp_path / "model.json")
    assert again.predict(X).tobytes() == ranker.predict(X).tobytes()
    assert again.training["estimator"] == "AdaBoostRanker"
