"""Centres of intervals and paths of trainings: figures 5, 6 and 7 of Wang et al."""

import matplotlib.pyplot as plt
import numpy as np
import pandas
import pytest
import scipy.sparse as sp

from crucial import (
    AdditiveRanker,
    DiffRank,
    FeatureRank,
    LabelRanker,
    RankBoost,
    RankBoostPlus,
    inspection,
)
from crucial.errors import DataError, NotRankedError, ParameterError
from crucial.inspection.learning_curves import e2_trace
from crucial.model.weak import Stump
from naive.plus import ExactSpan, f2
from refusals import refused


def rows(seed: int = 0):
    random = np.random.default_rng(seed)
    X = random.random((60, 3))
    y = (X[:, 0] + 0.5 * X[:, 1] + 0.2 * random.normal(size=60)).argsort().argsort()
    return X, y, np.repeat(np.arange(4), 15)


def test_four_kinds_of_centre_of_one_query():
    """Nine rows in three intervals: the third of an interval is one row."""
    y = np.arange(9.0)
    found = inspection.centres(10 * y[:, None], y, n_intervals=3)
    assert found.values["mean"].tolist() == [[10.0, 40.0, 70.0]]
    assert found.values["posterior"].tolist() == [[0.0, 30.0, 60.0]]
    assert found.values["middle"].tolist() == [[10.0, 40.0, 70.0]]
    assert found.values["prior"].tolist() == [[20.0, 50.0, 80.0]]
    assert "prior" in str(found)
    frame = found.to_frame()
    assert list(frame["interval"]) == [1, 2, 3]
    assert list(frame["prior"]) == [20.0, 50.0, 80.0]


def test_an_interval_without_values_has_no_centre():
    y = np.arange(9.0)
    x = np.where(y < 3, np.nan, y)
    found = inspection.centres(x[:, None], y, n_intervals=3, kinds=["mean"])
    assert np.isnan(found.values["mean"][0, 0])
    assert found.values["mean"][0, 1:].tolist() == [4.0, 7.0]
    assert " - 4 7" in str(found)


def test_centres_refuse():
    X, y, qid = rows()
    for options, said in (
        ({"n_intervals": 16}, "'n_intervals' parameter of centres must be at most"),
        ({"kinds": ["median"]}, "'kinds' parameter of centres"),
        ({"features": [3]}, r"'features' parameter of centres .* \[0, 2\]"),
        ({"features": []}, "needs a feature"),
    ):
        refused(ValueError, said, inspection.centres, X, y, qid=qid, **options)


def test_paths_report_how_steadily_rankers_learned():
    X, y, qid = rows()
    fitted = {
        "plain": FeatureRank(4, 3).fit(X, y, qid=qid),
        "balanced": FeatureRank(4, 3, balance_control="mean").fit(X, y, qid=qid),
        "diff": DiffRank(4, cycles=3, record_risks=True).fit(X, y, qid=qid),
    }
    found = inspection.training_paths(fitted)
    path = found.paths["plain"]
    assert path.cycles.tolist() == [3, 6]
    rises = np.diff(path.kendall)
    assert path.rises == np.sum(rises > 1e-12)
    assert path.climbed == pytest.approx(rises[rises > 0].sum())
    diff = found.paths["diff"]
    assert (diff.wrong <= diff.loss).all()
    assert (diff.loss <= diff.bound * (1 + 1e-12)).all()
    assert len(found.to_frame()["step"]) == 27
    lines = str(found).splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["plain", "balanced", "diff"]


def test_paths_refuse_what_has_none():
    X, y, qid = rows()
    refused(NotRankedError, "fit it first", inspection.training_paths, {"a": FeatureRank()})
    with pytest.raises(NotRankedError, match="record_risks=True"):
        inspection.training_paths({"a": RankBoost(3).fit(X, y, qid=qid)})


def test_rounds_of_label_rankers_are_in_their_trace():
    X, y, _ = rows()
    fitted = LabelRanker(3).fit(X, y > np.median(y))
    for follow in (
        lambda: inspection.learning_curve(fitted),
        lambda: inspection.learning_curve(fitted, X, y),
        lambda: inspection.training_paths({"LabelRanker": fitted}),
    ):
        refused(NotRankedError, r"LabelRanker ranks the labels.*one.loss for one", follow)
    assert len([one.loss for one in fitted.trace_]) == 3


def test_figures_5_6_and_7_can_be_drawn():
    X, y, qid = rows()
    axes = inspection.centres(X, y, qid=qid, n_intervals=5).plot()
    assert (len(axes), len(axes[0].lines)) == (3, 4)
    assert axes[0].lines[0].get_xdata().tolist() == [1, 2, 3, 4, 5]
    fitted = {
        "FeatureRank": FeatureRank(4, 2).fit(X, y, qid=qid),
        "DiffRank": DiffRank(4, record_risks=True).fit(X, y, qid=qid),
    }
    paths = inspection.training_paths(fitted)
    drawn = paths.plot()
    assert drawn.lines[0].get_ydata().tolist() == paths.paths["FeatureRank"].kendall.tolist()
    assert len(drawn.lines) == 3  # two curves and where the features begin again
    bounds = paths.plot_bounds()
    assert bounds.lines[3].get_ydata().tolist() == paths.paths["DiffRank"].loss.tolist()
    plt.close("all")


def test_names_may_look_like_formulas():
    X, y, qid = rows()
    name = "$_$"
    frame = pandas.DataFrame(X, columns=[name, "b", "c"])
    axes = inspection.centres(frame, y, qid=qid).plot()
    axes[0].figure.canvas.draw()
    assert axes[0].get_title() == name
    paths = inspection.training_paths({name: FeatureRank(4, 2).fit(X, y, qid=qid)})
    for ax in (paths.plot(), paths.plot_bounds()):
        ax.figure.canvas.draw()
        assert ax.get_legend().get_texts()[0].get_text().startswith(r"\$_\$")
    plt.close("all")


def test_rows_may_be_called_like_formulas():
    model = AdditiveRanker(1, [Stump(0, 1.0, 0)], [1.0], ["a"])
    frame = pandas.DataFrame({"a": [0.0, 2.0]}, index=["$_$", "$^$"])
    inspection.why(model, frame, loc=("$_$", "$^$")).plot().figure.canvas.draw()


# -- e2 of ensembles that were not trained on it --------------------------------------------------


RANDOM = np.random.default_rng(3)
X = RANDOM.integers(0, 4, (14, 3)).astype(float)
Y = RANDOM.integers(0, 3, 14)


def naive_e2(model, hi, lo, weight):
    """Section 5 over explicit pairs: exact independence, least squares for the rest."""
    span, members, eta, values = ExactSpan(), [], np.zeros(0), []
    for ranker, alpha in zip(model.rankers, model.weights):
        h = ranker.scores(X)
        vector = h[hi] - h[lo]
        if span.add(vector.astype(int)):
            members.append(vector)
            eta = np.append(eta, alpha)
        elif members:
            beta = np.linalg.lstsq(np.array(members).T, vector, rcond=None)[0]
            eta = eta + alpha * beta
        values.append(f2(np.array(members).T, eta, weight))
    return values


@pytest.mark.parametrize("preset", ["rb_d", "rb_c", "rankboost.2"])
def test_it_is_what_section_5_says(preset):
    model = RankBoost.preset(preset, choice="steepest", n_estimators=25).fit(X, Y)
    hi, lo = np.nonzero(Y[:, None] > Y[None, :])
    expected = naive_e2(model.model_, hi, lo, np.full(len(hi), 1 / len(hi)))
    assert e2_trace(model, X, Y) == pytest.approx(expected, rel=1e-7)
    assert e2_trace(model.model_, sp.csr_array(X), Y) == pytest.approx(expected, rel=1e-7)
    pairs = list(zip(hi, lo))
    assert e2_trace(model, X, pairs=pairs) == pytest.approx(expected, rel=1e-7)
    weighted = e2_trace(model, X, pairs=pairs, pair_weight=np.full(len(hi), 2.0))
    assert weighted == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("search", ["efficient", "optimal"])
def test_of_rankboost_plus_it_is_the_trace(search):
    qid = np.repeat([0, 1], 7)
    model = RankBoostPlus(30, search=search, balance="queries").fit(X, Y, qid=qid)
    assert e2_trace(model, X, Y, qid=qid) == pytest.approx(model.trace_.column("e2"), rel=1e-7)


def test_a_sample_of_the_pairs_is_near():
    model = RankBoost.preset("rb_c", n_estimators=3).fit(X, Y)
    whole, part = e2_trace(model, X, Y), e2_trace(model, X, Y, max_pairs=40)
    assert part == pytest.approx(whole, abs=0.3)
    assert part.tolist() == e2_trace(model, X, Y, max_pairs=40).tolist()


def test_bad_input():
    model = RankBoost.preset("rb_c", n_estimators=3).fit(X, Y)
    refused(DataError, r"labels \(y\) or pairs, and not both", e2_trace, model, X)
    refused(NotRankedError, "fitted boosting estimator", e2_trace, RankBoost(), X, Y)
    refused(ParameterError, r"'max_pairs' .* at least 1", e2_trace, model, X, Y, max_pairs=0)
    scaled = RankBoost(2, weak="feature").fit(X, Y)
    with pytest.raises(NotRankedError, match=r"rankers of 0 and 1, and ScaledFeature.* of round 1"):
        e2_trace(scaled, X, Y)


def test_rounds_that_order_nothing_change_nothing():
    model = AdditiveRanker(3, [Stump(0, 99.0, 0), Stump(0, 1.5, 0)], [3.0, 0.0])
    assert e2_trace(model, X, Y) == pytest.approx([1.0, 1.0], rel=1e-14)
