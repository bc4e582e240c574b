"""The scorer: the same bits as predict, for every kind of model and of input."""

import pickle
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

import crucial
from crucial.data.arrays import DAYS, SECONDS, time_number
from crucial.errors import DataError, DataTypeError, NotRankedError
from crucial.model.additive import AdditiveRanker
from crucial.model.form import score_form
from crucial.model.scorer import row_function
from crucial.model.weak import QuasiKNN, Stump
from naive.random_models import KINDS, N_FEATURES, random_model, random_rows
from refusals import refused

NAMES = ("a", "b", "c", "d")


def checked(score, model, X):
    """Every form of the same rows gives the bits of predict; each twice: the first is checked."""
    expected = model.predict(X)
    for _ in range(2):
        forms = [X, X.tolist(), [dict(zip(NAMES, row)) for row in X.tolist()]]
        forms += [list(X), np.asfortranarray(X), pd.DataFrame(X, columns=NAMES)]
        for rows in forms:
            assert score(rows).tobytes() == expected.tobytes()
        for row, wanted in zip(X, expected):
            named = dict(zip(NAMES, row.tolist()))
            present = {name: value for name, value in named.items() if value == value}
            none = {name: present.get(name) for name in NAMES}
            for one in (row, row.tolist(), tuple(row), named, present, none, pd.Series(named)):
                found = score(one)
                assert type(found) is float
                assert found.hex() == float(wanted).hex()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, 1])
def test_it_gives_the_bits_of_predict(kind, seed):
    model = random_model(kind, seed, n_rounds=30, names=NAMES)
    score = model.scorer()
    checked(score, model, random_rows(model, seed, 6))
    checked(pickle.loads(pickle.dumps(score)), model, random_rows(model, seed, 1))
    for n_rows in (100, 700):
        many = random_rows(model, seed, n_rows)
        expected = model.predict(many).tobytes()
        dicts = [dict(zip(NAMES, row)) for row in many.tolist()]
        assert score(many).tobytes() == score(dicts).tobytes() == expected
        sparse = [{name: value for name, value in row.items() if value == value} for row in dicts]
        assert score(sparse).tobytes() == expected


def test_values_of_numpy_types_are_compared_as_float64():
    """A float32 compared with a Python number would round the threshold to float32."""
    x = np.float32(0.1)
    model = AdditiveRanker(1, [Stump(0, 0.1, 0)], [1.0], ["a"])
    score = model.scorer()
    assert float(x) > 0.1
    assert score({"a": x}) == score([x]) == score(np.array([x])) == model.predict([[x]])[0] == 1.0
    large = 2**53 + 1
    model = AdditiveRanker(1, [Stump(0, float(2**53), 0)], [1.0], ["a"])
    assert model.scorer()({"a": large}) == model.predict([[large]])[0] == 0.0


def test_models_too_long_for_code_are_scored_by_kernels(monkeypatch):
    monkeypatch.setattr("crucial.model.scorer._MAX_CODE_NODES", 3)
    model = random_model("mixed", 3, n_rounds=30, names=NAMES)
    assert row_function(score_form(model)) is None
    checked(model.scorer(), model, random_rows(model, 3, 3))
    monkeypatch.undo()
    monkeypatch.setattr("crucial.model.scorer._MAX_DEPTH", 0)
    model = random_model("trees", 3, names=NAMES)
    assert row_function(score_form(model)) is None
    checked(model.scorer(), model, random_rows(model, 3, 3))


def test_a_model_that_ranks_inside_queries_takes_rows_only():
    model = AdditiveRanker(2, [QuasiKNN(0, (0.6, 0.3))], [1.0], ["a", "b"])
    X = np.array([[0.5, 1.0], [0.1, 0.0], [0.9, 2.0]])
    score, expected = model.scorer(), model.predict(X, qid=[1, 1, 1])
    for rows in (X, X.tolist(), [dict(zip("ab", row)) for row in X.tolist()]):
        assert score(rows).tobytes() == expected.tobytes()
    for row in ({"a": 0.5, "b": 1.0}, [0.5, 1.0], X[0]):
        refused(NotRankedError, r"pass the rows of one query .* not one row", score, row)


def test_text_and_dates():
    random = np.random.default_rng(0)
    n = 60
    frame = pd.DataFrame({
        "colour": random.choice(["red", "blue", "green"], n),
        "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 10**6, n), "s"),
        "x": random.normal(size=n),
    })  # fmt: skip
    y = (frame["colour"] == "red") * 2 + (frame["when"] > frame["when"].median()) + 0
    ranker = crucial.RankBoost(20).fit(frame, y)
    test = frame.iloc[:8].copy()
    test.loc[0, "colour"], test.loc[1, "when"] = "pink", pd.NaT
    score, expected = ranker.scorer(), ranker.predict(test)
    rows = test.to_dict("records")
    for _ in range(2):
        assert score(test).tobytes() == score(rows).tobytes() == expected.tobytes()
        assert [score(row) for row in rows] == expected.tolist()
        assert [score(row) for row in test.to_numpy().tolist()] == expected.tolist()
    with pytest.raises(DataTypeError, match="'when' is 'monday' of type str, which the model"):
        score({"colour": "red", "when": "monday", "x": 1.0})


def test_categories_that_are_numbers():
    frame = pd.DataFrame({"shop": pd.Categorical([1, 2, 3] * 10), "x": np.arange(30.0) % 7})
    ranker = crucial.RankBoost(10).fit(frame, [0, 2, 1] * 10)
    score, expected = ranker.scorer(), ranker.predict(frame.iloc[:3]).tolist()
    assert [score({"shop": shop, "x": shop - 1.0}) for shop in (1, 2, 3)] == expected
    assert score({"shop": "2", "x": 1.0}) == score([np.int64(2), 1.0]) == expected[1]
    for _ in range(2):
        assert score(np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 2.0]])).tolist() == expected


def test_time_number_reads_what_a_column_has():
    when = datetime(2024, 5, 6, 7, 8, 9, 123456)
    days = time_number(when, DAYS)
    assert days == when.replace(tzinfo=UTC).timestamp() / 86_400
    assert days == time_number(np.datetime64(when), DAYS) == time_number(pd.Timestamp(when), DAYS)
    assert days == time_number(pd.Timestamp(when, tz="UTC").tz_convert("Asia/Tokyo"), DAYS)
    assert time_number(date(1970, 1, 2), DAYS) == 1.0
    assert time_number(timedelta(seconds=1.5), SECONDS) == 1.5
    assert time_number(np.timedelta64(1500, "ms"), SECONDS) == 1.5
    assert time_number(datetime(1, 1, 1, 1, 2, 3, 500000).time(), SECONDS) == 3723.5
    assert np.isnan(time_number(np.datetime64("NaT"), DAYS))
    refused(TypeError, "'soon' is no number of days", time_number, "soon", DAYS)


@pytest.mark.parametrize(("rows", "said"), [
    ({"a": 1.0, "zoo": 1.0}, r"no feature 'zoo'\. Pass the features only"),
    ([{"bb": 1.0}], r"no feature 'bb'\. Did you mean 'b'\?"),
    ({"c": float("inf")}, "'c' is inf"),
    ([1.0, 2.0, 3.0], r"has 4 values\. Got 3"),
    (np.zeros((2, 3)), "X has 3 features, but AdditiveRanker is expecting 4"),
    (pd.DataFrame(np.zeros((2, 4)), columns=[*"abcx"]), "The feature names should match"),
    ({"a": "much"}, "value of 'a' is 'much' of type str"),
    ({"a": 10**400}, "value of 'a' is a whole number beyond the range of floats"),
])  # fmt: skip
def test_the_first_call_of_each_kind_is_checked(rows, said):
    model = random_model("stumps", 1, n_rounds=30, names=NAMES)
    kind = DataTypeError if "much" in said else DataError
    refused(kind, said, model.scorer(), rows)


def test_features_without_names_have_numbers():
    nameless = AdditiveRanker(2, [Stump(1, 0.5, 0)], [1.0])
    assert nameless.scorer()({1: 1.0}) == 1.0
    said = "no names of features: use their numbers, 0 to 1"
    refused(DataError, said, nameless.scorer(), {"b": 1.0})


def test_frames_of_other_columns_are_refused_at_any_call():
    model = random_model("stumps", 1, n_rounds=30, names=NAMES)
    score, X = model.scorer(), pd.DataFrame(np.zeros((2, 4)), columns=NAMES)
    score(X), score(X)
    refused(DataError, "same order", score, X[["b", "a", "c", "d"]])


@pytest.mark.parametrize("kind", ["stumps", "trees"])
def test_arrays_of_another_width_are_refused_at_any_call(kind):
    """The kernels would read beyond the rows."""
    score = random_model(kind, 1, n_rounds=30, names=NAMES).scorer()
    score(np.zeros((2, 4)))
    for shape in ((2, 3), (2, 5), (1, 3)):
        refused(DataError, rf"X has {shape[1]} features, but", score, np.zeros(shape))


def test_other_kinds_of_models_are_scored_by_predict():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(40, N_FEATURES)), random.integers(0, 2, 40)
    for ranker in (crucial.rankers.RankNet(max_iter=2), crucial.rankers.RankingSVM()):
        ranker.fit(pd.DataFrame(X, columns=NAMES), y)
        score, model = ranker.scorer(), ranker.model_
        assert score(X[:3]).tobytes() == model.predict(X[:3]).tobytes()
        assert score(X[0]) == score(dict(zip(NAMES, X[0]))) == model.predict(X[:1])[0]


def test_loading_and_scoring_import_nothing_heavy(tmp_path):
    for kind in ("mixed", "stumps"):
        random_model(kind, 2, n_rounds=30, names=NAMES).save(tmp_path / f"{kind}.json")
    code = (
        "import sys, crucial\n"
        "for path in sys.argv[1:]:\n"
        "    score = crucial.load_model(path).scorer()\n"
        "    import numpy as np\n"
        "    for _ in range(2): score({'a': 1.0}), score([1.0] * 4)\n"
        "score.model.predict(np.zeros((5000, 4)))\n"  # (of stumps)
        "heavy = {'numba', 'scipy', 'sklearn', 'narwhals', 'pandas', 'click'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    paths = sorted(map(str, tmp_path.iterdir()))
    subprocess.run([sys.executable, "-c", code, *paths], check=True)


def test_tests_that_several_answers_lead_to_are_code_once():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 4))
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
    X[random.random(X.shape) < 0.1] = np.nan
    model = crucial.rankers.RankingForest(3, random_state=0).fit(X, y).model_
    score, expected = model.scorer(), model.predict(X)
    assert row_function(score_form(model, shared=True)) is not None
    assert [score(row) for row in X] == expected.tolist()
    assert score(X).tobytes() == score(X).tobytes() == expected.tobytes()
