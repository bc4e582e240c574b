"""ROC, gain, lift, profit and IROC curves, and the ROC surface."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score
from sklearn.metrics import roc_curve as sklearn_roc
from sklearn.metrics import roc_curve as sklearn_roc_curve

from crucial import inspection
from crucial.errors import DataError, ParameterError
from crucial.inspection.curves import fit_calibration
from crucial.inspection.report_page import cutoffs_to
from crucial.measures.names import get_measure
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import ScaledFeature, Stump
from crucial.rankers import TreeRank
from refusals import refused

RANDOM = np.random.default_rng(0)
N = 90
TRUE = RANDOM.normal(size=N)
SCORES = np.round(TRUE + RANDOM.normal(size=N), 1)
TWO, THREE = (TRUE > 0).astype(int), np.digitize(TRUE, [-0.5, 0.5])
WEIGHT = RANDOM.integers(0, 3, N).astype(float)


def area(x, y):
    return float(np.sum(np.diff(x) * (y[1:] + y[:-1])) / 2)


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_the_roc_curve_is_scikit_learns(weight):
    found = inspection.roc_curve(TWO, SCORES, sample_weight=weight)
    theirs = sklearn_roc_curve(TWO, SCORES, sample_weight=weight, drop_intermediate=False)
    if weight is None:
        np.testing.assert_allclose(found.alpha, theirs[0], atol=1e-12)
        np.testing.assert_allclose(found.beta, theirs[1], atol=1e-12)
        np.testing.assert_allclose(found.thresholds, theirs[2])
    assert found.auc == pytest.approx(area(theirs[0], theirs[1]))
    assert found.auc == pytest.approx(get_measure("auc")(TWO, SCORES, sample_weight=weight))


@pytest.mark.parametrize("make", [
    lambda **more: inspection.roc_curve(TWO, SCORES, sample_weight=WEIGHT, **more),
    lambda **more: inspection.iroc_curve(TRUE, SCORES, sample_weight=WEIGHT, **more),
    lambda **more: inspection.roc_surface(THREE, SCORES, sample_weight=WEIGHT, **more),
])  # fmt: skip
def test_bands_lie_around_the_curve_and_repeat(make):
    found, again = (make(intervals=0.8, resamples=60, random_state=3).band for _ in range(2))
    assert found.level == 0.8
    assert (found.low <= found.high).all()
    assert (found.high - found.low).max() > 0.05
    np.testing.assert_array_equal(found.low, again.low)
    wide = make(intervals=True, resamples=60, random_state=3).band
    assert (wide.low <= found.low).all()
    assert (wide.high >= found.high).all()
    assert make().band is None
    refused(ParameterError, "'intervals' parameter of a curve", make, intervals=1.5)
    seed = {"intervals": True, "random_state": -1}
    refused(ParameterError, "'random_state' parameter of a curve must be an int", make, **seed)


def test_the_band_of_a_roc_curve_covers_it():
    curve = inspection.roc_curve(TWO, SCORES, intervals=0.99, resamples=200)
    own = np.interp(curve.band.at, curve.alpha, curve.beta)
    inside = (curve.band.low - 0.03 <= own) & (own <= curve.band.high + 0.03)
    assert inside.all()


def test_gain_and_lift():
    gain = inspection.gain_curve(TWO, SCORES)
    np.testing.assert_allclose(gain.gain[1:] / gain.share[1:], gain.lift[1:])
    assert gain.share[-1] == gain.gain[-1] == gain.best[-1] == 1.0
    assert (gain.best >= gain.gain - 1e-12).all()
    for share, found in zip(gain.share[1:], gain.gain[1:], strict=True):
        k = round(share * N)
        assert found == pytest.approx(get_measure(f"recall@{k}")(TWO, SCORES))
    amounts = np.exp(TRUE)
    weighed = inspection.gain_curve(amounts, SCORES, sample_weight=WEIGHT)
    twice = np.repeat(np.arange(N), WEIGHT.astype(int))
    listed = inspection.gain_curve(amounts[twice], SCORES[twice])
    np.testing.assert_allclose(weighed.gain, listed.gain)
    np.testing.assert_allclose(weighed.best, listed.best)


def test_the_lift_among_equal_scores_is_the_gain_by_the_share():
    y = np.r_[np.ones(10), np.zeros(90)]
    for scores, tenth in (
        (np.r_[np.ones(5), np.zeros(95)], "52.6% in the first 10 % of rows (lift 5.26)"),
        (np.r_[np.ones(10), [0] * 90], "(lift 10.00)"),
        (np.zeros(100), "(lift 1.00)"),
    ):
        assert tenth in str(inspection.gain_curve(y, scores))


def test_profit_is_the_measure_at_every_count():
    curve = inspection.profit_curve(TRUE, SCORES, cost=0.1)
    for count, profit in zip(curve.count[1:], curve.profit[1:], strict=True):
        measure = get_measure(f"profit@{count:.0f}(cost=0.1)")
        assert profit == pytest.approx(measure(TRUE, SCORES), abs=1e-12)
    assert curve.best_profit == curve.profit.max()


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_the_area_under_the_iroc_curve_is_iauc(weight):
    labels = np.round(TRUE, 1)
    found = inspection.iroc_curve(labels, SCORES, sample_weight=weight)
    assert found.exact
    assert area(found.alpha, found.beta) == pytest.approx(found.iauc, abs=1e-12)
    assert found.iauc == pytest.approx(get_measure("iauc")(labels, SCORES, sample_weight=weight))


def test_many_thresholds_are_thinned():
    found = inspection.iroc_curve(TRUE, SCORES, max_thresholds=10)
    assert (found.n_thresholds, found.exact) == (10, False)
    assert area(found.alpha, found.beta) == pytest.approx(found.iauc, abs=0.05)


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_the_volume_under_the_roc_surface_is_vus(weight):
    found = inspection.roc_surface(THREE, SCORES, sample_weight=weight, n_points=801)
    assert found.beta_middle.mean() == pytest.approx(found.vus, abs=5e-3)
    assert found.vus == pytest.approx(get_measure("vus")(THREE, SCORES, sample_weight=weight))
    assert found.beta_middle[0, 0] == pytest.approx(1.0)
    assert (np.diff(found.beta_middle, axis=0) <= 1e-12).all()
    assert (np.diff(found.beta_middle, axis=1) <= 1e-12).all()


@pytest.mark.parametrize(("curve", "y", "weight", "said"), [
    (inspection.roc_curve, THREE, None, "needs labels of two values. Got 3.*use iroc_curve"),
    (inspection.iroc_curve, TWO, None, "at least three values. Got 2. Use roc_curve"),
    (inspection.roc_surface, TWO, None, "labels of three values. Got 2.*roc_curve for two"),
    (inspection.gain_curve, TRUE, None, "amounts of at least 0.*profit_curve takes any"),
    (inspection.roc_curve, TWO, -np.ones(N), "finite and not negative. Row 0"),
    (inspection.roc_curve, TWO, np.zeros(N), "must be positive somewhere"),
])  # fmt: skip
def test_labels_that_do_not_fit_are_refused(curve, y, weight, said):
    refused(DataError, said, curve, y, SCORES, sample_weight=weight)


# -- calibration curves, and the curves of a report without queries ----------


RANDOM_150 = np.random.default_rng(0)
N_ROWS = 150
TRUE_ROW = RANDOM_150.normal(size=N_ROWS)
SCORES_ROW = np.round(TRUE_ROW + RANDOM_150.normal(size=N_ROWS), 1)
Y = (TRUE_ROW > 0.5).astype(int)


def test_calibration_by_plain_counting():
    chance = np.random.default_rng(1).permutation(np.linspace(0.01, 0.99, N_ROWS))
    y = (np.random.default_rng(2).random(N_ROWS) < chance).astype(int)
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
    heavy = inspection.calibration_curve(y, chance, probabilities=True, sample_weight=[2] * N_ROWS)
    for name in ("expected", "observed", "low", "high", "rows"):
        np.testing.assert_allclose(getattr(twice, name), getattr(heavy, name))


def test_scores_are_calibrated_by_a_fit_that_is_stated():
    found = inspection.calibration_curve(Y, SCORES_ROW * 1000 - 7, bins=5)
    assert found.calibration is not None
    assert (np.diff(found.expected) > 0).all()
    assert found.rows @ found.expected == pytest.approx(Y.sum())
    assert "logistic fit on the same rows, log odds =" in str(found)
    # (Scores that rank the wrong way have a falling line, and the curve still rises.)
    other = inspection.calibration_curve(Y, -SCORES_ROW, bins=5)
    assert other.calibration.slope < 0
    assert (np.diff(other.expected) > 0).all()
    equal = inspection.calibration_curve([0, 1], [3.0, 3.0])
    assert equal.expected.tolist() == [0.5]
    assert "all scores are equal" in str(equal)
    with pytest.raises(DataError, match=r"in \[0, 1\]. Got scores from"):
        inspection.calibration_curve(Y, SCORES_ROW, probabilities=True)
    refused(DataError, r"two values. Got 3", inspection.calibration_curve, [0, 1, 2], [1, 2, 3])


def report_of(y, **more):
    model = AdditiveRanker(1, [ScaledFeature(0, -5, 5, 0), Stump(0, 0.5, 0)], [1.0, 0.2])
    return inspection.report(model, SCORES_ROW[:, None], y, **more).data


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), (2, 5)])
def test_the_curves_of_a_report_lie_on_scikit_learns(labels):
    data = report_of(np.array(labels)[Y])
    found = data["curves"]
    seen, good = np.array(found["seen"]), np.array(found["found"])
    alpha, beta = (seen - good) / (N_ROWS - Y.sum()), good / Y.sum()
    theirs = sklearn_roc(Y, SCORES_ROW, drop_intermediate=False)
    # Where ROC rises straight up, its x has no single y: compare along the sum of both.
    np.testing.assert_allclose(np.interp(alpha + beta, theirs[0] + theirs[1], theirs[1]), beta,
                               atol=1e-5)  # fmt: skip
    assert found["roc"]["auc"] == pytest.approx(roc_auc_score(Y, SCORES_ROW))
    assert found["roc"]["low"] < found["roc"]["auc"] < found["roc"]["high"]
    assert found["average_precision"] == pytest.approx(average_precision_score(Y, SCORES_ROW))
    assert found["label"] == labels[1]
    assert "logistic fit" in found["calibration"]["source"]
    best = np.minimum(seen, Y.sum())
    np.testing.assert_allclose(found["best"], best)


def test_the_cut_off_reaches_the_last_row():
    data = report_of(Y)
    assert data["cutoffs"]["ks"][-1] == N_ROWS
    curves = data["curves"]
    assert curves["ks"] == data["cutoffs"]["ks"]
    (precision,) = (one for one in data["cutoffs"]["curves"] if one["name"] == "p")
    found = [curves["found"][at] for at in curves["at"]]
    np.testing.assert_allclose(np.array(found) / curves["ks"], precision["values"], atol=1e-6)
    assert (cutoffs_to(3), cutoffs_to(100)[-2:]) == ([1, 2, 3], [75, 100])
    assert cutoffs_to(123_456)[-3:] == [75_000, 100_000, 123_456]


def test_graded_labels_have_gain_alone_and_queries_no_such_curves():
    graded = report_of(np.digitize(TRUE_ROW, [-0.5, 0.5]))["curves"]
    assert graded["labels"] == 3
    assert "roc" not in graded
    assert graded["found"][-1] == graded["total"]
    assert report_of(Y, qid=np.arange(N_ROWS) // 10)["curves"] is None
    assert report_of(np.zeros(N_ROWS))["curves"] is None


# -- the logistic fit of a score: units of scores and weights, and what floats cannot hold --------


RANDOM_400 = np.random.default_rng(0)
DRAWN = RANDOM_400.normal(size=400)
GOOD = (DRAWN + RANDOM_400.normal(size=400) > 0).astype(float)
ONES = np.ones(400)


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_separated_labels_have_the_targets_of_platt():
    """Two scores determine both parameters: (n + 1) / (n + 2) for n good rows, 1 / (m + 2)."""
    good = np.repeat([1, 0], [2, 6])
    found = fit_calibration(good / 1.0, good, np.ones(8))
    chances = 1 / (1 + np.exp(-found.intercept - found.slope * np.array([1.0, 0.0])))
    assert found.separated
    assert chances == pytest.approx([3 / 4, 1 / 8])


@pytest.mark.parametrize("weight", [2.0, 1e-14, 1e160, 1e-300, 1e300])
def test_only_the_standard_errors_depend_on_the_unit_of_the_weights(weight):
    plain = fit_calibration(DRAWN, GOOD, ONES)
    found = fit_calibration(DRAWN, GOOD, weight * ONES)
    assert (found.slope, found.intercept) == pytest.approx((plain.slope, plain.intercept))
    assert found.slope_error * np.sqrt(weight) == pytest.approx(plain.slope_error)
    assert found.intercept_error * np.sqrt(weight) == pytest.approx(plain.intercept_error)


@pytest.mark.parametrize("share", [1e-10, 1e-20, 1e-200])
def test_a_label_of_little_weight_moves_the_intercept_alone(share):
    near = fit_calibration(DRAWN, GOOD, np.where(GOOD > 0, 1.0, 1e-6))
    found = fit_calibration(DRAWN, GOOD, np.where(GOOD > 0, 1.0, share))
    assert found.slope == pytest.approx(near.slope, rel=1e-3)
    assert found.intercept - near.intercept == pytest.approx(np.log(1e-6 / share), rel=1e-3)


@pytest.mark.parametrize("unit", [2.0**660, 2.0**-660, 2.0**1000, 2.0**-1000])
def test_the_slope_is_in_the_unit_of_the_scores(unit):
    plain, found = (fit_calibration(DRAWN * u, GOOD, ONES) for u in (1.0, unit))
    assert (found.intercept, found.slope * unit) == (plain.intercept, plain.slope)
    assert found.slope_error * unit == plain.slope_error
    curves = [inspection.calibration_curve(GOOD, DRAWN * u) for u in (1.0, unit)]
    assert curves[0].expected.tolist() == curves[1].expected.tolist()


def test_a_slope_that_no_float_holds_is_refused():
    with pytest.raises(DataError, match=r"differ by 9.99989e-321 at least.*Multiply the scores"):
        inspection.calibration_curve([0, 1, 0, 1], np.array([1, 2, 3, 4]) * 1e-320)
    table = ([1.0, 1.0, 1.0, 2.0], [0.0, 1.0, 0.0, 1.0], [1.0, 1.0, 1e300, 1e-300])
    with pytest.raises(DataError, match=r"weights from 1e-300 to 1e\+300.*the smallest weights"):
        fit_calibration(*map(np.array, table))


@pytest.mark.parametrize("weight", [1e-14, 1e160, 1e-300, 1e300])
def test_the_points_of_a_card_do_not_depend_on_the_unit_of_the_weights(weight):
    model = AdditiveRanker(1, [Stump(0, k / 4, 0) for k in range(-8, 9)], [0.3] * 17)
    X = DRAWN[:, None]
    plain = inspection.scorecard(model, X, GOOD)
    found = inspection.scorecard(model, X, GOOD, sample_weight=weight * ONES)
    assert found.score(X).tolist() == plain.score(X).tolist()
    assert found.auc == pytest.approx(plain.auc)
    assert found.auc_interval == pytest.approx(plain.auc_interval)
    assert (found.n_rows, found.n_good) == pytest.approx((400 * weight, GOOD.sum() * weight))
    for one, other in zip(found.bands, plain.bands, strict=True):
        assert (one.rows, one.goods) == pytest.approx((other.rows * weight, other.goods * weight))


# -- the ROC curve of a tree: rows, labels and weights come together ------------------------------


RANDOM_120 = np.random.default_rng(0)
X = RANDOM_120.normal(size=(120, 2))
LABELS = (X[:, 0] + RANDOM_120.normal(size=120) > 0).astype(int)


@pytest.fixture(scope="module")
def ranker():
    return TreeRank(2, min_rows=10).fit(X, LABELS)


@pytest.mark.parametrize(("given", "match"), [
    ({"X": X}, r"Got X without y. Pass X and y, or neither"),
    ({"y": LABELS}, r"Got y without X. Pass X and y, or neither"),
    ({"sample_weight": np.ones(120)}, r"sample_weight.*Got it without X and y.*Pass X and y"),
    ({"X": X, "y": LABELS, "sample_weight": 1.0 - LABELS}, "two values among the rows with a wei"),
    ({"X": X, "y": 0 * LABELS}, r"labels of two values.*Got 1. Pass rows of both labels"),
])  # fmt: skip
def test_what_has_no_curve_is_refused(ranker, given, match):
    refused(DataError, match, inspection.tree_roc, ranker, **given)


def test_rows_of_weight_0_may_have_any_label(ranker):
    """They are left out, also with a third label."""
    some = np.arange(120) % 4 > 0
    found = inspection.tree_roc(ranker, X, np.where(some, LABELS, 7), sample_weight=some * 1.0)
    alone = inspection.tree_roc(ranker, X[some], LABELS[some])
    assert found.auc == pytest.approx(alone.auc)
