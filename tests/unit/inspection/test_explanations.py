"""Why: the parts are the margin."""

import math
import sys
from typing import Any

import numpy as np
import pandas
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from crucial import RankBoost, inspection
from crucial.errors import DataError, MissingExtraError, NotRankedError
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import Constant, Presence, ScaledFeature, Stump, Vote
from crucial.rankers import LabelRanker
from refusals import refused

numbers = st.sampled_from([-2.0, -0.5, 0.0, 0.1, 0.3, 1.0, 3.0])
weak = st.one_of(
    st.builds(Stump, st.integers(0, 2), numbers, st.integers(0, 1)),
    st.builds(Presence, st.integers(0, 2), st.integers(0, 1)),
    st.builds(Vote, st.builds(Stump, st.integers(0, 2), numbers, st.integers(0, 1))),
    st.just(Constant()),
    st.builds(ScaledFeature, st.integers(0, 2), st.just(-1.0), st.just(2.0), st.just(0.5)),
)
models = st.lists(st.tuples(weak, st.floats(-3, 3)), min_size=1, max_size=12)
row = st.lists(st.one_of(numbers, st.just(math.nan)), min_size=3, max_size=3)


@given(models, row, row)
def test_contributions_sum_to_the_margin(rounds, a, b) -> None:
    model = AdditiveRanker(3, [r for r, _ in rounds], [w for _, w in rounds])
    X = np.array([a, b])
    found = inspection.why(model, X, 0, 1)
    scores = model.predict(X)
    assert (found.score_a, found.score_b) == tuple(scores)
    assert math.fsum(found.added) == pytest.approx(scores[0] - scores[1], rel=1e-12, abs=1e-13)
    one = inspection.contributions(model, X[0])
    assert one.score == scores[0]
    assert math.fsum([one.intercept, *one.added]) == pytest.approx(scores[0], rel=1e-12, abs=1e-13)
    assert list(np.abs(found.added)) == sorted(np.abs(found.added), reverse=True)


def test_words(ranker, frame) -> None:
    scores = ranker.predict(frame)[:10]
    best, worst = int(scores.argmax()), int(scores.argmin())
    text = str(inspection.why(ranker, frame, best, worst))
    assert text.startswith(f"row {best} ")
    assert f"ranks above row {worst}" in text
    assert "ranks below" in str(inspection.why(ranker, frame, worst, best))
    assert "ranks level with" in str(inspection.why(ranker, frame, best, best))


def test_the_names_of_a_series_count() -> None:
    """A row of a frame is the frame of this row: numbers, text and dates."""
    random = np.random.default_rng(0)
    n = 120
    frame = pandas.DataFrame(
        {
            "age": random.normal(size=n),
            "town": random.choice(["Ulm", "Kiel", "Jena"], n),
            "since": pandas.Timestamp("2024-01-01")
            + pandas.to_timedelta(random.integers(0, 10**6, n), "s"),
            "paid": random.random(n) < 0.5,
        }
    )
    frame.loc[3, "town"] = None
    frame.loc[4, "age"] = np.nan
    good = (frame["age"] > 0) ^ (frame["town"] == "Ulm") ^ (frame["since"] > "2024-01-06")
    fitted = RankBoost(30).fit(frame, good.astype(int))
    scores = fitted.predict(frame)
    for number in range(8):
        one = inspection.contributions(fitted, frame.iloc[number])
        assert one.score == scores[number]
        assert str(one) == str(inspection.contributions(fitted, frame.iloc[[number]]))
    with pytest.raises(DataError, match="Column 0 is 'paid', expected 'age'"):
        inspection.contributions(fitted, frame.iloc[0][::-1])
    with pytest.raises(DataError, match="unseen at fit time:\n- years"):
        inspection.contributions(fitted, frame.iloc[0].rename({"age": "years"}))


# -- rankers inside pipelines and searches, and rows named by the labels of a frame ---------------


RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(size=(60, 2)), columns=["bm25", "age"])
FRAME.index = [f"d{i}" for i in range(60)]
Y = (FRAME["bm25"] - 0.5 * FRAME["age"] > 0).astype(int)
QID = np.repeat(np.arange(6), 10)


@pytest.fixture(scope="module")
def pipeline() -> Any:
    steps = make_pipeline(
        StandardScaler(), PolynomialFeatures(include_bias=False), RankBoost(n_estimators=10)
    )
    with sklearn.config_context(enable_metadata_routing=True):
        return steps.fit(FRAME, Y, qid=QID)


def test_features_have_the_names_that_arrive_at_the_last_step(pipeline: Any) -> None:
    shapes = inspection.shapes(pipeline, FRAME)
    assert {one.name for one in shapes.features} <= {"bm25", "age", "bm25^2", "bm25 age", "age^2"}
    assert shapes["bm25"].share is not None
    assert inspection.importances(pipeline)["bm25"] == pytest.approx(
        pipeline[-1].feature_importances_[0]
    )


def test_the_parts_add_up_to_what_the_pipeline_predicts(pipeline: Any) -> None:
    scores = pipeline.predict(FRAME)
    found = inspection.why(pipeline, FRAME, 3, 7)
    assert found.added.sum() == pytest.approx(scores[3] - scores[7])
    scaled = pipeline[0].transform(FRAME)
    place = found.names.index("bm25")
    assert found.values_a[place] == scaled[3, 0]
    assert inspection.contributions(pipeline, FRAME[:1]).added.sum() == pytest.approx(scores[0])


def test_a_search_is_reached_through_too(pipeline: Any) -> None:
    inner = make_pipeline(StandardScaler(), RankBoost(n_estimators=3))
    search = GridSearchCV(inner, {"rankboost__learning_rate": [0.3]}, cv=2).fit(FRAME, Y)
    scores = search.predict(FRAME)
    found = inspection.why(search, FRAME, loc=("d1", "d2"))
    assert found.added.sum() == pytest.approx(scores[1] - scores[2])
    curve = inspection.learning_curve(search, FRAME, Y)
    assert curve.measured["auc"][-1] == pytest.approx(search.best_estimator_.score(FRAME, Y))


def test_labels_of_a_frame_name_rows(pipeline: Any) -> None:
    by_label = inspection.why(pipeline, FRAME, loc=("d3", "d7"))
    by_place = inspection.why(pipeline, FRAME, 3, 7)
    assert str(by_label) == str(by_place)
    assert str(by_label).startswith("row d3 (score ")
    assert (by_label.a, by_label.b) == (3, 7)


def test_a_number_that_may_be_a_label_is_never_taken_as_a_position(pipeline: Any) -> None:
    other = FRAME.set_axis(np.arange(60)[::-1])
    with pytest.raises(ValueError, match=r"may be either: pass labels as loc=\(5, 6\)"):
        inspection.why(pipeline, other, 5, 6)
    by_label = inspection.why(pipeline, other, loc=(5, 6))
    assert (by_label.a, by_label.b) == (54, 53)
    same = inspection.why(pipeline, other, loc=other.index[[54, 53]])
    assert str(same) == str(by_label)
    counted = FRAME.reset_index(drop=True)
    assert str(inspection.why(pipeline, counted, 5, 6)).startswith("row 5 ")
    assert inspection.why(pipeline, counted, loc=(5, 6)).a == 5


@pytest.mark.parametrize(("arguments", "message"), [
    ({"a": "d3", "b": "d7"}, r"the position of a row, an int\. Got 'd3' instead\. Pass labels"),
    ({"loc": ("d3", "nobody")}, "no row has the label 'nobody'. The index begins with 'd0'"),
    ({"loc": ("d3", "d7"), "a": 1}, "two positions .* or two labels .*, not both"),
    ({"loc": "d3"}, "'loc' parameter of why must be a pair of labels"),
    ({"a": 1}, "why needs two rows"),
    ({"a": 1, "b": 60}, r"'b' parameter of why must be an int in \[0, 59\]"),
])  # fmt: skip
def test_rows_that_cannot_be_found_are_refused(pipeline, arguments, message):
    refused(ValueError, message, inspection.why, pipeline, FRAME, **arguments)


def test_several_rows_are_compared_with_a_background(pipeline) -> None:
    found = inspection.contributions(pipeline, FRAME[:3], FRAME)
    np.testing.assert_array_equal(found.scores, pipeline.predict(FRAME[:3]))
    assert found.base == pytest.approx(pipeline.predict(FRAME).mean())
    np.testing.assert_allclose(found.base + found.added.sum(axis=1), found.scores)
    table = found.to_frame()
    assert table.shape == (3, len(found.names))
    assert [*table] == [*found.names]
    assert max(map(len, found.text(80).split("\n"))) <= 80
    alone = inspection.contributions(pipeline, FRAME)
    np.testing.assert_allclose(alone.added[:3], found.added)
    for rows, background in ((FRAME[:0], FRAME), (FRAME, FRAME[:0])):
        with pytest.raises(ValueError, match=r"rows|sample"):
            inspection.contributions(pipeline, rows, background)


def test_contributions_of_sparse_rows_have_the_used_features(ranker, rows) -> None:
    X = np.nan_to_num(rows[0])
    dense = inspection.contributions(ranker.model_, X)
    sparse = inspection.contributions(ranker.model_, csr_array(X))
    assert dense.added.shape == X.shape
    used = np.flatnonzero(ranker.model_.feature_importances()).tolist()
    assert list(sparse.features) == used
    np.testing.assert_array_equal(sparse.added, dense.added[:, used])


def test_without_shap_the_error_says_how_to_get_it(pipeline, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(MissingExtraError, match="pip install shap"):
        inspection.contributions(pipeline, FRAME).to_shap()


@pytest.mark.parametrize(("table", "loc", "said"), [
    (FRAME.set_axis(["x"] * 60), ("x", "x"), "several rows have the label 'x'"),
    (FRAME.to_numpy(), (0, 1), "ndarray has none: pass positions"),
    (FRAME, (["d1"], "d1"), "loc: no row has the label .* begins with 'd0'"),
    (FRAME, (slice(None), "d1"), "loc: no row has the label .* begins with 'd0'"),
])  # fmt: skip
def test_labels_that_name_no_row_are_refused(pipeline, table, loc, said) -> None:
    refused(DataError, said, inspection.why, pipeline, table, loc=loc)


def test_labels_of_several_levels_are_plain_values():
    model = RankBoost(3).fit(FRAME, Y)
    index = pd.MultiIndex.from_product([np.arange(6), np.arange(10)])
    frame = FRAME.set_index(index)
    assert inspection.why(model, frame, 0, 11).titles == ("row (0, 0)", "row (1, 1)")
    assert inspection.why(model, frame, loc=index[[0, 11]]).titles == ("row (0, 0)", "row (1, 1)")
    with pytest.raises(DataError, match=r"label \(0, 99\). The index begins with \(0, 0\), \(0, 1"):
        inspection.why(model, frame, loc=((0, np.int64(99)), (0, 1)))


def test_rounds_of_label_rankers_are_in_their_trace():
    X = np.arange(12.0)[:, None]
    fitted = LabelRanker(3).fit(X, np.arange(12) > 5)
    for more in ((), (X, np.arange(12))):
        with pytest.raises(NotRankedError, match=r"LabelRanker ranks the labels.*one.loss for one"):
            inspection.learning_curve(fitted, *more)
    assert len([one.loss for one in fitted.trace_]) == 3
