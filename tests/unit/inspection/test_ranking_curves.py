"""ROC, gain, lift, profit and IROC curves, and the ROC surface."""

import numpy as np
import pytest
from sklearn.metrics import roc_curve as sklearn_roc_curve

from crucial import inspection
from crucial.errors import DataError, ParameterError
from crucial.measures.names import get_measure

RANDOM = np.random.default_rng(0)
N = 90
TRUE = RANDOM.normal(size=N)
SCORES = np.round(TRUE + RANDOM.normal(size=N), 1)
TWO, THREE = (TRUE > 0).astype(int), np.digitize(TRUE, [-0.5, 0.5])
WEIGHT = RANDOM.integers(0, 3, N).astype(float)


def area(x, y):
    return float(np.sum(np.diff(x) * (y[1:] + y[:-1])) / 2)


@pytest.fixture
def drawn():
    return pytest.importorskip("matplotlib").use("Agg")


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
    with pytest.raises(ParameterError, match="'intervals' parameter of a curve"):
        make(intervals=1.5)


def test_the_band_of_a_roc_curve_covers_it():
    curve = inspection.roc_curve(TWO, SCORES, intervals=0.99, resamples=200)
    own = np.interp(curve.band.at, curve.alpha, curve.beta)
    inside = (curve.band.low - 0.03 <= own) & (own <= curve.band.high + 0.03)
    assert inside.all()


def test_gain_and_lift():
    gain, lift = inspection.gain_curve(TWO, SCORES), inspection.lift_curve(TWO, SCORES)
    np.testing.assert_allclose(gain.gain[1:] / gain.share[1:], lift.lift)
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
    y, scores = np.r_[np.ones(10), np.zeros(90)], np.r_[np.ones(5), np.zeros(95)]
    lift, gain = inspection.lift_curve(y, scores), inspection.gain_curve(y, scores)
    assert "52.6% in the first 10 %" in str(gain)
    assert "5.26 in the first 10 %" in str(lift)
    assert "10.00 in the first 10 %" in str(inspection.lift_curve(y, np.r_[np.ones(10), [0] * 90]))
    assert "1.00 in the first 10 %" in str(inspection.lift_curve(y, np.zeros(100)))


@pytest.mark.usefixtures("drawn")
@pytest.mark.parametrize("first", [1, 500, 10_000])
def test_the_line_of_the_lift_bends_among_equal_scores(first):
    import matplotlib.pyplot as plt

    y, scores = np.arange(10_000) < 200, np.arange(10_000) < first
    lift, gain = inspection.lift_curve(y, scores), inspection.gain_curve(y, scores)
    ax = lift.plot()
    share = np.linspace(1e-4, 1.0, 3000)
    share = share[share >= ax.lines[0].get_xdata()[0]]
    drawn = np.interp(share, *ax.lines[0].get_data())
    plt.close(ax.figure)
    np.testing.assert_allclose(drawn, np.interp(share, gain.share, gain.gain) / share, rtol=2e-3)
    assert set(lift.share) <= set(ax.lines[0].get_xdata())


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


@pytest.mark.usefixtures("drawn")
def test_every_result_prints_draws_and_is_a_frame():
    import matplotlib.pyplot as plt

    results = [
        inspection.roc_curve(TWO, SCORES, intervals=True, resamples=5),
        inspection.gain_curve(TWO, SCORES),
        inspection.lift_curve(TWO, SCORES),
        inspection.profit_curve(TRUE, SCORES, cost=0.2),
        inspection.iroc_curve(TRUE, SCORES, intervals=True, resamples=3),
        inspection.roc_surface(THREE, SCORES, intervals=True, resamples=3, n_points=11),
    ]
    for one in results:
        ax = one.plot()
        assert ax.get_xlabel()
        assert type(one).__name__ in repr(one)
        assert str(one)
        assert len(one.to_frame()) > 5
        assert getattr(one, "band", None) is None or len(one.band.to_frame()) > 5
        if not hasattr(ax, "plot_surface"):
            assert one.plot(ax) is ax
        plt.close(ax.figure)
    flat = plt.figure().add_subplot()
    with pytest.raises(DataError, match="projection='3d'"):
        results[-1].plot(flat)


def test_labels_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match=r"needs labels of two values. Got 3.*use iroc_curve"):
        inspection.roc_curve(THREE, SCORES)
    with pytest.raises(DataError, match=r"at least three values. Got 2. Use roc_curve"):
        inspection.iroc_curve(TWO, SCORES)
    with pytest.raises(DataError, match=r"labels of three values. Got 2.*roc_curve for two"):
        inspection.roc_surface(TWO, SCORES)
    with pytest.raises(DataError, match=r"amounts of at least 0.*profit_curve takes any"):
        inspection.gain_curve(TRUE, SCORES)
    with pytest.raises(DataError, match="must not be negative"):
        inspection.roc_curve(TWO, SCORES, sample_weight=-np.ones(N))
    with pytest.raises(DataError, match="at least one row with a weight above 0"):
        inspection.roc_curve(TWO, SCORES, sample_weight=np.zeros(N))


@pytest.mark.parametrize("seed", [-1, "a", 1.5])
def test_seeds_are_checked(seed):
    with pytest.raises(ParameterError, match="'random_state' parameter of a curve must be an int"):
        inspection.roc_curve([0, 1, 0, 1], [1, 2, 3, 4], intervals=True, random_state=seed)


def test_infinite_profits_are_drawn():
    with np.errstate(over="ignore"):
        text = str(inspection.profit_curve([1e308, 0, 1e308], [1, 2, 3]))
    assert "highest inf after 3 rows" in text
