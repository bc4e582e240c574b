"""LabelRanker as an estimator: one label or many, what it refuses, what it keeps."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import (
    accuracy_score,
    coverage_error,
    label_ranking_average_precision_score,
    label_ranking_loss,
)

from crucial.errors import DataError, NoProgressWarning
from crucial.rankers import LabelRanker
from refusals import refused

X, Y = load_digits(return_X_y=True)
TRAIN, TEST = slice(0, 1200), slice(1200, None)

# Five labels of a digit that follow from which one it is: even, prime, five or more, drawn
# with a closed loop, a multiple of three.
PROPERTIES = np.array(
    [[d % 2 == 0, d in (2, 3, 5, 7), d >= 5, d in (0, 6, 8, 9), d % 3 == 0] for d in range(10)]
).astype(int)

OBJECTIVES = ["mh", "mr", "mr_product"]


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_digits_one_label_each(objective):
    ranker = LabelRanker(100, objective=objective).fit(X[TRAIN], Y[TRAIN])
    scores, right = ranker.label_scores(X[TEST]), Y[TEST, None] == np.arange(10)
    assert accuracy_score(Y[TEST], ranker.predict(X[TEST])) > 0.85
    assert label_ranking_loss(right, scores) < 0.05
    assert coverage_error(right, scores) < 1.3
    precision = label_ranking_average_precision_score(right, scores)
    assert precision > 0.91
    assert ranker.score(X[TEST], Y[TEST]) == pytest.approx(precision, abs=1e-12)
    ranked = ranker.rank_labels(X[TEST])
    assert ranked[:, 0].tolist() == ranker.predict(X[TEST]).tolist()
    assert np.sort(ranked, axis=1).tolist() == [list(range(10))] * len(ranked)
    place = 1 + np.argmax(ranked == Y[TEST, None], axis=1)
    assert np.mean(1 / place) == pytest.approx(precision, abs=1e-12)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_digits_with_sets_of_labels(objective):
    y = PROPERTIES[Y]
    ranker = LabelRanker(100, objective=objective).fit(X[TRAIN], y[TRAIN])
    scores = ranker.decision_function(X[TEST])
    assert scores.shape == (len(Y) - 1200, 5)
    chance = label_ranking_loss(y[TEST], np.tile(y[TRAIN].mean(axis=0), (len(scores), 1)))
    assert label_ranking_loss(y[TEST], scores) < 0.25 * chance
    assert ranker.score(X[TEST], y[TEST]) > 0.94
    assert ranker.predict(X[TEST]).tolist() == (scores > 0).astype(int).tolist()
    if objective != "mr":
        assert np.mean(ranker.predict(X[TEST]) == y[TEST]) > 0.85


def test_two_classes():
    ranker = LabelRanker(30).fit(X[Y < 2], np.where(Y[Y < 2], "one", "zero"))
    decision = ranker.decision_function(X[Y < 2])
    assert decision.shape == (np.count_nonzero(Y < 2),)
    assert ranker.predict(X[Y < 2]).tolist() == np.where(decision > 0, "zero", "one").tolist()
    assert ranker.label_scores(X[Y < 2]).shape == (len(decision), 2)


def test_the_trace():
    ranker = LabelRanker(20, predictions="discrete").fit(X[TRAIN], Y[TRAIN])
    losses = [one.loss for one in ranker.trace_]
    assert len(losses) == 20
    assert np.diff([1.0, *losses]).max() < 0
    np.testing.assert_allclose(np.cumprod([one.z for one in ranker.trace_]), losses, rtol=1e-9)
    assert all(one.f_skew is not None for one in ranker.trace_)
    mr = LabelRanker(3, objective="mr").fit(X[TRAIN], Y[TRAIN])
    assert mr.trace_[0].f_skew is None
    stump = mr.trace_[0].stump
    assert len(stump.low) == len(stump.high) == 10


def test_it_is_kept_by_pickling_and_holds_no_rows():
    ranker = LabelRanker(10).fit(X[TRAIN], Y[TRAIN])
    before = len(pickle.dumps(ranker))
    ranker.predict(X[TEST])  # what was compiled for it is no part of the pickle
    assert len(pickle.dumps(ranker)) == before
    assert before < 30_000
    again = pickle.loads(pickle.dumps(ranker))
    assert again.label_scores(X).tobytes() == ranker.label_scores(X).tobytes()
    assert again.model_ == ranker.model_


def test_sparse_matrices_of_labels():
    y = PROPERTIES[Y]
    dense = LabelRanker(5).fit(X, y)
    sparse = LabelRanker(5).fit(X, sp.csr_array(y))
    assert sparse.model_ == dense.model_
    assert sparse.score(X, sp.csr_array(y)) == dense.score(X, y)


def test_features_that_say_nothing():
    with pytest.warns(NoProgressWarning, match="no round could be made"):
        ranker = LabelRanker(5).fit(np.ones((4, 1)), [0, 1, 2, 1])
    assert np.ptp(ranker.label_scores(np.ones((2, 1)))) == 0.0
    assert ranker.stopped_ == "no weak ranker helps"


@pytest.mark.parametrize(("y", "words"), [
    (None, "requires y to be passed"),
    (np.zeros(6), "only one class"),
    (np.linspace(0, 1, 6), "Unknown label type: continuous"),
    (np.zeros((6, 3), int), "the same labels, all or none"),
    (np.ones((6, 3), int), "the same labels, all or none"),
    (np.arange(18).reshape(6, 3), "Unknown label type: multiclass-multioutput"),
    ([0, 1, 0], r"inconsistent numbers of samples: X has 6 rows, y has 3"),
    (["a", "b", None, "a", "b", "a"], "^y mixes classes of different types.{,250}$"),
    ([np.nan, 1, 1, 0, 0, 1], "NaN"),
])  # fmt: skip
def test_labels_that_cannot_be_learned(y, words):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refused(DataError, words, LabelRanker(2).fit, np.arange(6.0)[:, None], y)


def test_pairs_within_rows_need_rows_with_both_kinds():
    y = np.array([[1, 1], [0, 0], [1, 1]])
    with pytest.raises(DataError, match=r"objective='mr' compares right with wrong labels"):
        LabelRanker(2, objective="mr").fit(np.arange(3.0)[:, None], y)
    assert LabelRanker(2).fit(np.arange(3.0)[:, None], y).multilabel_


def test_weights_that_leave_one_class():
    with pytest.raises(DataError, match="only one class"):
        LabelRanker(2).fit([[1.0], [2.0]], [0, 1], sample_weight=[1, 0])


def test_other_labels_than_those_of_fit():
    ranker = LabelRanker(2).fit(X, Y)
    refused(DataError, r"labels that fit has not seen: \[11\]", ranker.score, X[:2], [0, 11])
    with pytest.raises(DataError, match="the form that it had in fit, one label per row"):
        ranker.score(X[:2], [[0, 1], [1, 1]])
    many = LabelRanker(2).fit(X, PROPERTIES[Y])
    refused(DataError, "a matrix of 5 columns", many.score, X[:2], [[0, 1], [1, 1]])


def test_rounding_makes_no_majority():
    """Three rows for and three against: whether they come as rows or as weights, no vote."""
    x = np.array([[np.nan], [0.0], [np.nan], [np.nan]])
    y, counts = np.array([[1, 0], [1, 0], [0, 1], [1, 0]]), np.array([1, 1, 3, 2])
    ranker = LabelRanker(6, predictions="discrete")
    one = clone(ranker).fit(x, y, sample_weight=counts).label_scores(x)
    two = clone(ranker).fit(x.repeat(counts, axis=0), y.repeat(counts, axis=0)).label_scores(x)
    np.testing.assert_allclose(one, two, atol=1e-9)
    assert one[0].tolist() == pytest.approx([0.0, 0.0], abs=1e-9)


def test_strings_of_any_length_are_classes():
    X = np.arange(6.0)[:, None]
    y = np.array(["low", "low", "mid", "mid", "high", "high"])
    texts = LabelRanker(5).fit(X, y)
    strings = LabelRanker(5).fit(X, y.astype(np.dtypes.StringDType()))
    assert strings.classes_.tolist() == texts.classes_.tolist()
    assert strings.predict(X).tolist() == texts.predict(X).tolist()
    assert strings.score(X, y.astype(np.dtypes.StringDType())) == texts.score(X, y)


@pytest.mark.parametrize("kind", ["S", object])
def test_bytes_are_no_classes(kind):
    with pytest.raises(DataError, match=r"y has classes of type bytes.* Make them text"):
        LabelRanker(5).fit(np.arange(2.0)[:, None], np.array([b"a", b"b"], kind))


@pytest.mark.parametrize(("high", "low", "other"), [(2, 0, 2), (1, -1, -1)])
def test_a_matrix_is_of_0_and_1(high, low, other):
    y = np.where(np.eye(3, dtype=bool), high, low)
    with pytest.raises(DataError, match=rf"must be of 0 and 1. Got {other}\. Pass y > 0"):
        LabelRanker(5).fit(np.arange(3.0)[:, None], y)
