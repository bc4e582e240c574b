"""The logistic fit of a score: units of scores and weights, and what floats cannot hold."""

import warnings
from dataclasses import astuple

import numpy as np
import pytest

from crucial import inspection
from crucial.errors import DataError
from crucial.inspection.curves import fit_calibration, weight_unit
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import Stump

RANDOM = np.random.default_rng(0)
SCORES = RANDOM.normal(size=400)
GOOD = (SCORES + RANDOM.normal(size=400) > 0).astype(float)
ONES = np.ones(400)


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_the_unit_is_a_power_of_two_close_to_the_mean():
    assert weight_unit(np.array([3.0, 4.0])) == 2.0
    assert weight_unit(np.full(3, 5e-324)) == 5e-324
    assert np.isfinite(np.full(3, 1e300) / weight_unit(np.full(3, 1e300))).all()


@pytest.mark.parametrize("weight", [2.0, 1e-14, 1e160, 1e-300, 1e300])
def test_only_the_standard_errors_depend_on_the_unit_of_the_weights(weight):
    plain = fit_calibration(SCORES, GOOD, ONES)
    found = fit_calibration(SCORES, GOOD, weight * ONES)
    assert (found.slope, found.intercept) == pytest.approx((plain.slope, plain.intercept))
    assert found.slope_error * np.sqrt(weight) == pytest.approx(plain.slope_error)
    assert found.intercept_error * np.sqrt(weight) == pytest.approx(plain.intercept_error)


def test_a_weight_of_two_counts_as_two_rows():
    for good in (GOOD, (SCORES > 0).astype(float)):
        twice = fit_calibration(np.repeat(SCORES, 2), np.repeat(good, 2), np.ones(800))
        assert astuple(fit_calibration(SCORES, good, 2.0 * ONES)) == pytest.approx(astuple(twice))


@pytest.mark.parametrize("weight", [1e-300, 1e-14, 1e160, 1e300])
def test_separated_rows_of_any_weight_have_a_rising_line(weight):
    found = fit_calibration(SCORES, (SCORES > 0).astype(float), weight * ONES)
    assert found.separated
    assert 0.1 < found.slope < 1e6


@pytest.mark.parametrize("share", [1e-10, 1e-20, 1e-200])
def test_a_label_of_little_weight_moves_the_intercept_alone(share):
    near = fit_calibration(SCORES, GOOD, np.where(GOOD > 0, 1.0, 1e-6))
    found = fit_calibration(SCORES, GOOD, np.where(GOOD > 0, 1.0, share))
    assert found.slope == pytest.approx(near.slope, rel=1e-3)
    assert found.intercept - near.intercept == pytest.approx(np.log(1e-6 / share), rel=1e-3)


@pytest.mark.parametrize("unit", [2.0**660, 2.0**-660, 2.0**1000, 2.0**-1000])
def test_the_slope_is_in_the_unit_of_the_scores(unit):
    plain, found = (fit_calibration(SCORES * u, GOOD, ONES) for u in (1.0, unit))
    assert found.intercept == plain.intercept
    assert found.slope * unit == plain.slope
    assert found.slope_error * unit == plain.slope_error
    curves = [inspection.calibration_curve(GOOD, SCORES * u) for u in (1.0, unit)]
    assert curves[0].expected.tolist() == curves[1].expected.tolist()


def test_a_slope_that_no_float_holds_is_refused():
    with pytest.raises(DataError, match=r"differ by 9.99989e-321 at least.*Multiply the scores"):
        inspection.calibration_curve([0, 1, 0, 1], np.array([1, 2, 3, 4]) * 1e-320)
    with pytest.raises(DataError, match=r"weights from 1e-300 to 1e\+300.*the smallest weights"):
        fit_calibration(
            np.array([1.0, 1.0, 1.0, 2.0]),
            np.array([0.0, 1.0, 0.0, 1.0]),
            np.array([1.0, 1.0, 1e300, 1e-300]),
        )


@pytest.mark.parametrize("weight", [1e-300, 1e300])
def test_the_intervals_of_a_curve_have_no_unit(weight):
    found = inspection.calibration_curve(GOOD, SCORES, sample_weight=weight * ONES)
    assert ((found.low >= 0) & (found.high <= 1) & (found.low <= found.high)).all()
    plain = inspection.calibration_curve(GOOD, SCORES)
    np.testing.assert_allclose(found.expected, plain.expected)
    np.testing.assert_allclose(found.rows / weight, plain.rows)


@pytest.mark.parametrize("weight", [1e-14, 1e160, 1e-300, 1e300])
def test_the_points_of_a_card_do_not_depend_on_the_unit_of_the_weights(weight):
    model = AdditiveRanker(1, [Stump(0, k / 4, 0) for k in range(-8, 9)], [0.3] * 17)
    X = SCORES[:, None]
    plain = inspection.scorecard(model, X, GOOD)
    found = inspection.scorecard(model, X, GOOD, sample_weight=weight * ONES)
    assert found.score(X).tolist() == plain.score(X).tolist()
    assert found.auc == pytest.approx(plain.auc)
    assert found.auc_interval == pytest.approx(plain.auc_interval)
    assert (found.n_rows, found.n_good) == pytest.approx((400 * weight, GOOD.sum() * weight))
    for one, other in zip(found.features[0].bins, plain.features[0].bins, strict=True):
        assert (one.text, one.points) == (other.text, other.points)
        assert (one.rows, one.goods) == pytest.approx((other.rows * weight, other.goods * weight))
    for band, other in zip(found.bands, plain.bands, strict=True):
        assert (band.rows, band.goods) == pytest.approx((other.rows * weight, other.goods * weight))
    assert f"{400 * weight:g}" in str(found) or weight > 1


def test_a_report_on_huge_scores_is_that_of_the_scores_divided():
    class Foreign:
        def __init__(self, unit):
            self.unit = unit

        def predict(self, X):
            return np.asarray(X)[:, 0] * self.unit

    X = SCORES[:60, None]
    pages = [inspection.report(Foreign(unit), X, GOOD[:60]) for unit in (1.0, 2.0**560)]
    plain, huge = (one.data["curves"]["calibration"] for one in pages)
    assert huge["expected"] == plain["expected"]
