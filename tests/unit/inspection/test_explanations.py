"""Why: the parts are the margin."""

import math

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from crucial import RankBoost, inspection
from crucial.errors import DataError, ParameterError
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import Constant, Presence, ScaledFeature, Stump, Vote

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


def test_stumps_add_to_the_score_to_the_last_bit(ranker, frame) -> None:
    scores = ranker.predict(frame)
    for number in (0, 7, 41):
        one = inspection.contributions(ranker, frame.iloc[[number]])
        total = 0.0
        for slot in np.argsort(one.features):
            total += one.added[slot]
        assert total == scores[number]


def test_sparse_rows_and_frames_say_the_same(ranker, rows) -> None:
    X = np.nan_to_num(rows[0])
    dense = inspection.why(ranker.model_, X, 3, 5)
    sparse = inspection.why(ranker.model_, csr_array(X), 3, 5)
    assert dense.added.tolist() == sparse.added.tolist()
    assert dense.names == sparse.names


def test_words(ranker, frame) -> None:
    scores = ranker.predict(frame)[:10]
    best, worst = int(scores.argmax()), int(scores.argmin())
    text = str(inspection.why(ranker, frame, best, worst))
    assert text.startswith(f"row {best} ")
    assert f"ranks above row {worst}" in text
    assert "ranks below" in str(inspection.why(ranker, frame, worst, best))
    assert "ranks level with" in str(inspection.why(ranker, frame, best, best))
    table = inspection.why(ranker, frame, best, worst).to_frame()
    assert list(table.columns) == ["feature", "name", "value_a", "value_b", "adds"]
    assert table["adds"].sum() == pytest.approx(scores[best] - scores[worst])


def test_bad_rows_are_named(ranker, frame) -> None:
    with pytest.raises(ParameterError, match=r"'b' parameter of why must be an int in \[0, 199\]"):
        inspection.why(ranker, frame, 0, 200)
    with pytest.raises(DataError, match=r"explains one row. Got 3: pass one"):
        inspection.contributions(ranker, frame.iloc[:3])
    with pytest.raises(DataError, match=r"X has 2 features, but RankBoost is expecting 4"):
        inspection.contributions(ranker, [1.0, 2.0])


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


def test_a_series_without_names_is_an_array(ranker, frame) -> None:
    row = frame.iloc[5]
    unnamed = pandas.Series(row.to_numpy())
    assert inspection.contributions(ranker, unnamed).score == ranker.predict(frame)[5]
    assert inspection.contributions(ranker, row.tolist()).score == ranker.predict(frame)[5]


def test_plots(ranker, frame) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    found = inspection.why(ranker, frame, 0, 1)
    ax = found.plot(top=2)
    widths = [bar.get_width() for bar in ax.patches]
    assert sum(widths) == pytest.approx(found.margin)  # (the last bar is all the others)
    assert len(inspection.contributions(ranker, frame.iloc[[0]]).plot().patches) == 3
