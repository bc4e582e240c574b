"""Scorecards: calibration, words of bins, reasons, pages, SQL, and what is refused."""

import re
import sqlite3

import numpy as np
import pandas
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import crucial
from crucial.errors import DataError, NotRankedError, ParameterError
from crucial.inspection import scorecard
from crucial.inspection.curves import fit_calibration
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import ScaledFeature, Stump
from refusals import refused

NAMES = ["income", "age"]
HOSTILE = "</table><script>alert(1)</script>"


def rows(n=300, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 2)).round(2)
    X[random.random(n) < 0.1, 0] = np.nan
    y = (np.nan_to_num(X[:, 0]) + X[:, 1] + random.normal(size=n) > 0).astype(int)
    return X, y


def model(names=NAMES):
    rankers = [Stump(0, -0.5, 0), Stump(0, 0.5, 1), Stump(1, 0.0, 0), Stump(1, 1.0, 0)]
    return AdditiveRanker(2, rankers, [1.0, 0.7, 1.2, 0.4], names)


@pytest.fixture(scope="module")
def card():
    return scorecard(model(), *rows(), title="Loans")


@pytest.mark.parametrize("weight", [None, np.random.default_rng(3).integers(1, 4, 200)])
def test_the_calibration_is_scikit_learns(weight):
    random = np.random.default_rng(1)
    scores = random.normal(size=200) * 50 + 1000
    y = (random.random(200) < 1 / (1 + np.exp(-(scores - 1010) / 30))).astype(float)
    found = fit_calibration(scores, y, np.ones(200) if weight is None else weight.astype(float))
    theirs = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000)
    theirs.fit((scores[:, None] - 1000) / 50, y, sample_weight=weight)
    assert found.slope * 50 == pytest.approx(theirs.coef_[0, 0], rel=1e-4)
    assert found.intercept + found.slope * 1000 == pytest.approx(theirs.intercept_[0], abs=1e-4)
    # The standard errors are those of the curvature, here by differences of the gradient.
    w = np.ones(200) if weight is None else weight
    p = 1 / (1 + np.exp(-(found.intercept + found.slope * scores)))
    design = np.stack([np.ones(200), scores], axis=1)
    inverse = np.linalg.inv(design.T @ (design * (w * p * (1 - p))[:, None]))
    assert found.slope_error == pytest.approx(np.sqrt(inverse[1, 1]), rel=1e-6)
    assert found.intercept_error == pytest.approx(np.sqrt(inverse[0, 0]), rel=1e-6)


def test_odds_double_and_expected_shares_are_the_observed(card):
    points, probability = card.score(rows()[0]), card.probabilities(rows()[0])
    at = probability / (1 - probability)
    np.testing.assert_allclose(at, 50 * 2 ** ((points - 600) / 20))
    # A logistic fit reproduces the number of good rows; rounding moves it little.
    assert sum(band.rows * band.expected for band in card.bands) == pytest.approx(
        card.n_good, rel=0.02
    )
    assert sum(band.rows for band in card.bands) == 300
    assert card.auc["bins"] == pytest.approx(card.auc["model"])
    assert abs(card.auc["points"] - card.auc["bins"]) < 0.01


def test_separated_labels_get_platts_targets_and_a_note():
    X = np.array([[0.0, 1.0], [0.0, 2.0], [1.0, 1.0], [1.0, 3.0]])
    found = scorecard(AdditiveRanker(2, [Stump(0, 0.5, 0)], [1.0]), X, [0, 0, 1, 1])
    assert found.calibration.separated
    # Targets 3/4 and 1/4: log odds of log 3 and -log 3.
    assert found.calibration.intercept == pytest.approx(-np.log(3))
    assert found.calibration.slope == pytest.approx(2 * np.log(3))
    assert any("separates" in one for one in found.notes)
    assert any("2 rows, fewer than 50" in one for one in found.notes)


def test_the_lower_label_may_be_the_good_one(card):
    X, y = rows()
    other = scorecard(model(), X, y, low_is_good=True)
    assert (other.good, other.n_good) == ("label 0", 300 - card.n_good)
    assert other.auc["points"] == pytest.approx(card.auc["points"], abs=0.01)
    assert np.corrcoef(other.score(X), card.score(X))[0, 1] < -0.99
    graded = scorecard(model(), X, y * 3, good_from=2)
    assert graded.good == "label 2 or more"
    np.testing.assert_array_equal(graded.score(X), card.score(X))


def test_reasons_are_points_lost(card):
    X = np.array([[np.nan, -2.0], [3.0, 3.0], [-3.0, 0.5]])
    found = card.reasons(X)
    best = {one.name: one.best for one in card.features}
    for row in range(3):
        full = card.start + sum(best.values())
        assert found.points[row] == full - found.lost[row].sum()
    assert found.texts(1) == []
    assert "income: missing (abstains)" in " ".join(found.texts(0))
    assert "no feature costs points" in str(found)
    frame = found.to_frame()
    assert frame["code_1"].tolist()[1] == ""
    assert set(frame["feature_1"]) <= {*NAMES, ""}
    assert len(card.reasons(X, top=1).texts(2)) == 1
    mean = card.reasons(rows()[0], top=2, against="neutral")
    points = np.array([one.points[mean.bins[:, j]] for j, one in enumerate(card.features)]).T
    expected = points.mean(axis=0) - points
    np.testing.assert_allclose(mean.lost.sum(axis=1), np.maximum(expected, 0).sum(axis=1))
    refused(ParameterError, "against", card.reasons, X, against="worst")


def test_long_names_and_categories_wrap_in_the_text():
    random = np.random.default_rng(0)
    towns = [f"a town by the river {name}" for name in ("Isar", "Elbe", "Oder", "Lahn", "Ruhr")]
    name = " ".join(["words"] * 30)
    frame = pandas.DataFrame({name: random.choice(towns, 400)})
    y = (frame[name].isin(towns[:3]) ^ (random.random(400) < 0.2)).astype(int)
    text = str(scorecard(crucial.RankBoost(20).fit(frame, y), frame, y))
    assert "…" not in text
    assert text.count("words") == 30
    table = text[text.index("R1 ") :]
    assert max(map(len, table.splitlines())) <= 80
    assert all(" ".join(table.split()).count(town.split()[-1]) == 1 for town in towns)


def test_categories_and_dates_are_in_the_words_of_the_table():
    random = np.random.default_rng(2)
    town = random.choice(["Ulm", "Kiel", "Bonn, West", "Jena"], 400)
    day = pandas.Timestamp("2020-01-01") + pandas.to_timedelta(random.integers(0, 900, 400), "D")
    frame = pandas.DataFrame({"town": town, "since": day})
    late = (frame["since"] > "2021-06-01").astype(int)
    y = ((town == "Ulm") + late + random.normal(size=400) * 0.5 > 0.8).astype(int)
    ranker = crucial.RankBoost(40).fit(frame, y)
    found = scorecard(ranker, frame, y)
    words = {one.name: [part.text for part in one.bins] for one in found.features}
    assert "Ulm" in words["town"]
    assert any("Bonn, West" in one for one in words["town"])
    assert words["town"][-1] == "missing or new (abstains)"
    form = r"(up to|above) \d{4}-\d\d-\d\d( to \d{4}-\d\d-\d\d)?"
    assert all(re.fullmatch(form, one) for one in words["since"][:-1])
    new = pandas.DataFrame({"town": ["Rom", None], "since": pandas.to_datetime(["2021-01-01"] * 2)})
    assert len(set(found.score(new).tolist())) == 1
    database = sqlite3.connect(":memory:")
    frame.assign(since=frame["since"].dt.strftime("%Y-%m-%d")).to_sql("data", database)
    query = found.to_sql().replace("DATE '", "'")  # (SQLite has no dates of its own)
    assert [one for (one,) in database.execute(query)] == found.score(frame).tolist()


@pytest.mark.parametrize(("start", "unit"), [
    ("2024-03-05 10:20:07.000050", "ms"),
    ("2024-03-05 10:20:07.000050", "us"),
    ("2300-03-05 10:20:07.000050", "us"),  # (where a float of days is coarser)
])  # fmt: skip
def test_moments_closer_than_a_second_keep_their_bins(start, unit):
    random = np.random.default_rng(1)
    ticks = random.integers(0, 900, 300)
    when = pandas.Timestamp(start).as_unit("us") + pandas.to_timedelta(ticks, unit).as_unit("us")
    frame = pandas.DataFrame({"when": when})
    y = ((ticks > 360) ^ (ticks > 720) ^ (random.random(300) < 0.1)).astype(int)
    found = scorecard(crucial.RankBoost(50).fit(frame, y), frame, y, max_bins=8)
    words = [part.text for part in found.features[0].bins]
    assert len({*words}) == len(words) > 3
    day = start[:10]
    assert re.fullmatch(rf"up to {day} 10:20:07\.\d+", words[0])
    database = sqlite3.connect(":memory:")
    frame.assign(when=when.strftime("%Y-%m-%d %H:%M:%S.%f")).to_sql("data", database)
    query = found.to_sql().replace("TIMESTAMP '", "'")  # (SQLite compares text)
    assert [one for (one,) in database.execute(query)] == found.score(frame).tolist()


def test_missing_values_that_no_row_has(card):
    X, y = rows()
    said = "No row misses a value of age: the points of a missing value are the mean of the rows"
    assert any(said in one for one in card.notes)
    plain = scorecard(model(), X, y, missing_points="model")
    assert any("are the model's default there" in one for one in plain.notes)
    np.testing.assert_array_equal(plain.score(X), card.score(X))
    for low_is_good in (False, True):
        low = scorecard(model(), X, y, missing_points="lowest", low_is_good=low_is_good)
        (age,) = (one for one in low.features if one.name == "age")
        assert age.bins[-1].points == 0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("low_is_good", [False, True])
def test_a_missing_value_that_no_row_has_is_neutral(low_is_good, weighted, tmp_path):
    """The weighted mean of the points of the rows, wherever the card states them."""
    X, y = rows()
    X[np.isnan(X)] = 0.0
    weight = np.random.default_rng(0).uniform(0.1, 3.0, len(y)) if weighted else np.ones(len(y))
    # What the stumps of the model abstain on gets the larger score of each.
    best = AdditiveRanker(2, [Stump(0, 0.0, 1), Stump(1, 0.0, 1)], [1.0, 0.7], NAMES)
    found = scorecard(best, X, y, sample_weight=weight, low_is_good=low_is_good)
    blank = np.array([[np.nan, 1.0], [1.0, np.nan], [np.nan, np.nan]])
    database = sqlite3.connect(":memory:")
    pandas.DataFrame(blank, columns=NAMES).to_sql("my rows", database)
    stated = [one for (one,) in database.execute(found.to_sql("my rows"))]
    assert stated == found.score(blank).tolist()
    found.save(tmp_path / "card.html")
    page = (tmp_path / "card.html").read_text()
    reasons = found.reasons(blank, against="neutral")
    for slot, one in enumerate(found.features):
        points = np.array([part.points for part in one.bins])
        place = np.array([part.exact for part in one.bins])
        column = X[:, NAMES.index(one.name)]
        own = [next(k for k, part in enumerate(one.bins) if part.above < value <= part.up_to)
               for value in column.tolist()]  # fmt: skip
        mean = np.average(place[own], weights=weight)
        assert place[-1] == pytest.approx(mean, rel=1e-9, abs=1e-9)
        assert points[-1] == round(mean)
        assert points[:-1].min() < points[-1] < points[:-1].max()
        assert f">{points[-1]}<" in page
        assert not ((reasons.codes[2] == slot) & (reasons.lost[2] > 0.5)).any()


def test_linear_rankers_get_bins_and_the_loss_is_stated():
    X, y = rows()
    line = AdditiveRanker(2, [ScaledFeature(1, -3.0, 3.0, 0.5)], [2.0], NAMES)
    found = scorecard(line, X, y, max_bins=4, min_share=0.1)
    (one,) = found.features
    assert len(one.bins) == 5
    assert found.auc["bins"] < found.auc["model"]
    assert (np.diff([part.points for part in one.bins[:-1]]) > 0).all()
    assert scorecard(line, X, y, max_bins=None).auc["bins"] == pytest.approx(found.auc["model"])


def test_a_pipeline_is_its_last_step():
    X, y = rows()
    frame = pandas.DataFrame(X, columns=NAMES)
    pipeline = make_pipeline(StandardScaler(), crucial.RankBoost(30)).fit(frame, y)
    found = scorecard(pipeline, frame, y)
    assert {one.name for one in found.features} == set(NAMES)
    arriving = pipeline[:-1].transform(frame)
    alone = scorecard(pipeline[-1], arriving, y)
    np.testing.assert_array_equal(found.score(frame), alone.score(arriving))


def test_features_may_be_left_out(card):
    X, y = rows()
    found = scorecard(model(), X, y, max_features=1)
    assert [one.name for one in found.features] == [card.features[0].name]
    assert found.left_out == (card.features[1].name,)
    assert found.left_out[0] in str(found)


def test_text_frame_and_page_say_the_same(card, tmp_path):
    text, frame, page = str(card), card.to_frame(), card.to_html()
    for one in card.features:
        for part in one.bins:
            assert part.text in text
            assert part.text in page
            assert f'<td class="points">{part.points}</td>' in page
    assert frame["points"].tolist()[0] == card.start
    low, high = card.auc_interval
    assert low < card.auc["points"] < high
    card.save(tmp_path / "card.html")
    assert (tmp_path / "card.html").read_text() == page
    assert "http" not in page.replace("http-equiv", "")


def test_names_are_text_on_the_page():
    page = scorecard(model([HOSTILE, "age"]), *rows(), title=HOSTILE).to_html()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_what_cannot_be_a_scorecard_is_refused():
    X, y = rows()
    filled = np.nan_to_num(X)
    trees = crucial.GradientRanker(20, max_leaves=4, interactions=2).fit(filled, y)
    refused(NotRankedError, r"combines 2.*Train a sum of functions of one", scorecard, trees, X, y)
    forest = crucial.rankers.RankingForest(3).fit(filled, y)
    refused(NotRankedError, "RankingForest is none.*RankBoost, PNorm", scorecard, forest, filled, y)
    ranker = crucial.RankBoost(5).fit(X, y, qid=np.arange(300) // 10)
    refused(DataError, r"trained with queries. Train it without qid", scorecard, ranker, X, y)
    for labels, said in (
        (np.arange(300) % 3, "labels of two values. Got 3.*good_from"),
        (np.ones(300), "rows of one label only"),
        (1 - y, "lower label first on these rows"),
    ):
        refused(DataError, said, scorecard, model(), X, labels)
    refused(DataError, "same score", scorecard, model(), np.zeros((4, 2)), [0, 1, 0, 1])
    for name, value, said in (
        ("points_to_double_odds", 1e-3, "larger points_to_double_odds"),
        ("sample_weight", -np.ones(300), "not negative. Row 0"),
        ("title", None, "'title' parameter of scorecard must be str"),
        *((name, value, name) for name, value in
          (("max_bins", 1), ("min_share", 0.9), ("base_odds", 0), ("anchor", "x"))),
    ):  # fmt: skip
        refused(ValueError, said, scorecard, model(), X, y, **{name: value})
    said = "'table' parameter of to_sql must be str"
    refused(ParameterError, said, scorecard(model(), X, y).to_sql, None)


def test_rows_without_weight_move_no_edge():
    step = AdditiveRanker(1, [Stump(0, 2.55, 0)], [1.0], ["age"])
    X, y = np.array([[1.0], [1.0], [4.0], [4.0]]), [0, 1, 1, 1]
    more, weight = np.vstack([X, [[2.5], [2.6]]]), [1, 1, 1, 1, 0, 0]
    found = scorecard(step, more, [*y, 0, 1], sample_weight=weight)
    assert found.features[0].bins[0].text == "up to 3"
    assert str(found) == str(scorecard(step, X, y))
