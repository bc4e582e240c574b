"""Precision-recall and calibration curves, and the curves of a report without queries."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score
from sklearn.metrics import precision_recall_curve as sklearn_precision_recall
from sklearn.metrics import roc_curve as sklearn_roc

from crucial import inspection
from crucial.errors import DataError
from crucial.inspection.report_data import cutoffs_to
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import ScaledFeature, Stump

RANDOM = np.random.default_rng(0)
N = 150
TRUE = RANDOM.normal(size=N)
SCORES = np.round(TRUE + RANDOM.normal(size=N), 1)
Y = (TRUE > 0.5).astype(int)
WEIGHT = RANDOM.integers(1, 4, N).astype(float)


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_precision_and_recall_are_scikit_learns(weight):
    found = inspection.precision_recall_curve(Y, SCORES, sample_weight=weight)
    precision, recall, thresholds = sklearn_precision_recall(Y, SCORES, sample_weight=weight)
    np.testing.assert_allclose(found.precision, precision[:-1][::-1])
    np.testing.assert_allclose(found.recall, recall[:-1][::-1])
    np.testing.assert_allclose(found.thresholds, thresholds[::-1])
    expected = average_precision_score(Y, SCORES, sample_weight=weight)
    assert found.average_precision == pytest.approx(expected)
    assert f"{expected:.4f}" in str(found)
    assert f"{expected:.4f}" in repr(found)
    assert found.to_frame()["recall"].iloc[-1] == 1.0


def test_calibration_by_plain_counting():
    chance = np.random.default_rng(1).permutation(np.linspace(0.01, 0.99, N))
    y = (np.random.default_rng(2).random(N) < chance).astype(int)
    found = inspection.calibration_curve(y, chance, probabilities=True, bins=10)
    order = np.argsort(chance)
    for slot, part in enumerate(np.split(order, 10)):
        assert found.expected[slot] == pytest.approx(chance[part].mean())
        assert found.observed[slot] == pytest.approx(y[part].mean())
        assert found.rows[slot] == len(part)
        assert 0 <= found.low[slot] <= found.observed[slot] <= found.high[slot] <= 1
    assert found.brier == pytest.approx(brier_score_loss(y, chance))
    assert found.error == pytest.approx(np.abs(found.expected - found.observed).mean())
    assert "scores are the probabilities" in str(found)
    twice = inspection.calibration_curve(np.tile(y, 2), np.tile(chance, 2), probabilities=True)
    heavy = inspection.calibration_curve(y, chance, probabilities=True, sample_weight=[2] * N)
    for name in ("expected", "observed", "low", "high", "rows"):
        np.testing.assert_allclose(getattr(twice, name), getattr(heavy, name))


def test_scores_are_calibrated_by_a_fit_that_is_stated():
    found = inspection.calibration_curve(Y, SCORES * 1000 - 7, bins=5)
    assert found.calibration is not None
    assert (np.diff(found.expected) > 0).all()
    assert found.rows @ found.expected == pytest.approx(Y.sum())
    assert "logistic fit on the same rows, log odds =" in str(found)
    # (Scores that rank the wrong way have a falling line, and the curve still rises.)
    other = inspection.calibration_curve(Y, -SCORES, bins=5)
    assert other.calibration.slope < 0
    assert (np.diff(other.expected) > 0).all()
    assert inspection.calibration_curve([0, 1], [3.0, 3.0]).expected.tolist() == [0.5]
    with pytest.raises(DataError, match=r"in \[0, 1\]. Got scores from"):
        inspection.calibration_curve(Y, SCORES, probabilities=True)
    with pytest.raises(DataError, match=r"two values. Got 3"):
        inspection.calibration_curve([0, 1, 2], [1, 2, 3])


def test_both_can_be_drawn():
    pytest.importorskip("matplotlib").use("Agg")
    assert inspection.precision_recall_curve(Y, SCORES).plot().get_ylabel() == "precision"
    assert inspection.calibration_curve(Y, SCORES).plot().get_xlabel() == "expected share"


def report_of(y, **more):
    model = AdditiveRanker(1, [ScaledFeature(0, -5, 5, 0), Stump(0, 0.5, 0)], [1.0, 0.2])
    return inspection.report(model, SCORES[:, None], y, **more).data


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), (2, 5)])
def test_the_curves_of_a_report_lie_on_scikit_learns(labels):
    data = report_of(np.array(labels)[Y])
    found = data["curves"]
    seen, good = np.array(found["seen"]), np.array(found["found"])
    alpha, beta = (seen - good) / (N - Y.sum()), good / Y.sum()
    theirs = sklearn_roc(Y, SCORES, drop_intermediate=False)
    # Where ROC rises straight up, its x has no single y: compare along the sum of both.
    np.testing.assert_allclose(np.interp(alpha + beta, theirs[0] + theirs[1], theirs[1]), beta,
                               atol=1e-5)  # fmt: skip
    assert found["roc"]["auc"] == pytest.approx(roc_auc_score(Y, SCORES))
    assert found["roc"]["low"] < found["roc"]["auc"] < found["roc"]["high"]
    assert found["average_precision"] == pytest.approx(average_precision_score(Y, SCORES))
    assert found["label"] == labels[1]
    assert "logistic fit" in found["calibration"]["source"]
    best = np.minimum(seen, Y.sum())
    np.testing.assert_allclose(found["best"], best)


def test_the_cut_off_reaches_the_last_row():
    data = report_of(Y)
    assert data["cutoffs"]["ks"][-1] == N
    curves = data["curves"]
    assert curves["ks"] == data["cutoffs"]["ks"]
    (precision,) = (one for one in data["cutoffs"]["curves"] if one["name"] == "p")
    found = [curves["found"][at] for at in curves["at"]]
    np.testing.assert_allclose(np.array(found) / curves["ks"], precision["values"], atol=1e-6)
    assert cutoffs_to(3) == [1, 2, 3]
    assert cutoffs_to(100)[-2:] == [75, 100]
    assert cutoffs_to(123_456)[-3:] == [75_000, 100_000, 123_456]


def test_graded_labels_have_gain_alone_and_queries_no_such_curves():
    graded = report_of(np.digitize(TRUE, [-0.5, 0.5]))["curves"]
    assert graded["labels"] == 3
    assert "roc" not in graded
    assert graded["found"][-1] == graded["total"]
    assert report_of(Y, qid=np.arange(N) // 10)["curves"] is None
    assert report_of(np.zeros(N))["curves"] is None


def test_equal_scores_are_no_probabilities():
    curve = inspection.calibration_curve([0, 1, 1, 0], np.zeros(4))
    assert curve.expected.tolist() == [0.5]
    assert "all scores are equal" in str(curve)
    assert "the scores are the probabilities" not in str(curve)
    assert "the scores are the prob" in str(
        inspection.calibration_curve([0, 1, 1, 0], np.full(4, 0.5), probabilities=True)
    )
