"""One rule for everything that is passed as numbers, whatever library it comes from."""

import tracemalloc
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from scipy import sparse

import crucial
from crucial import GradientRanker, RankBoost, load_model
from crucial.data import arrays, bins
from crucial.data.groups import Groups
from crucial.errors import DataError, DataTypeError, DataWarning, NoProgressWarning, ParameterError
from crucial.model.base import check_finite
from crucial.rankers import FeatureRank
from crucial.rankers.registry import RANKERS, ranker_class
from refusals import refused

RANDOM = np.random.default_rng(16)
X = RANDOM.normal(size=(24, 3))
Y = np.arange(24) % 3
MODEL = RankBoost(5).fit(X, Y)
NAMED = RankBoost(5).fit(pd.DataFrame(X, columns=list("abc")), Y)
HUGE = 10**400


def with_cell(value: object) -> np.ndarray[Any, Any]:
    table = X.astype(object)
    table[3, 1] = value
    return table


def frame(table: Any, **columns: Any) -> pd.DataFrame:
    return pd.DataFrame(table, columns=list("abc")).assign(**columns)


TABLES = [
    (with_cell(HUGE), r"row 3, column 1 is a whole number beyond the range of floats"),
    (with_cell(-HUGE).tolist(), r"row 3, column 1 is a whole number beyond"),
    (frame(with_cell(HUGE)), r"row 3, column 'b' is a whole number beyond"),
    (pl.DataFrame({"a": pl.Series(with_cell(HUGE)[:, 1], dtype=pl.Object)}), "row 3, column 'a'"),
    (X + 0j, "Complex data not supported: features"),
    ((X + 1j).tolist(), "Complex data not supported: features"),
    (np.ma.masked_array(X + 1j, mask=X > 1), "Complex data not supported: features"),
    (frame(X + 1j), "Complex data not supported: the values of 'a'"),
    (frame(X, b=X[:, 1] + 1j), "Complex data not supported: the values of 'b'"),
    (frame(with_cell(1j)), "the values of 'b' cannot be read as numbers"),
]


@pytest.mark.parametrize(("table", "match"), TABLES)
def test_tables_are_refused_at_fit_and_predict_alike(table: Any, match: str) -> None:
    model = NAMED if isinstance(table, pd.DataFrame) else MODEL
    refused(DataError, match, RankBoost(2).fit, table, Y)
    for predict in (model.predict, model.model_.predict):
        refused(DataError, match, predict, table)


def test_a_matrix_is_an_array_of_two_dimensions() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        matrix, column, ids = np.matrix(X), np.matrix(Y).T, np.matrix(np.zeros(24)).T
    fitted = RankBoost(5).fit(matrix, column, qid=ids)
    np.testing.assert_array_equal(fitted.predict(matrix), MODEL.predict(X))


@pytest.mark.parametrize("kind", [float, np.float32, int, object])
def test_a_masked_value_is_missing(kind: Any) -> None:
    values = (10 * X).astype(kind)
    hidden = np.ma.masked_array(values, mask=X > 0.5)
    missing = np.where(X > 0.5, np.nan, values.astype(float))
    fitted = RankBoost(5).fit(hidden, Y)
    np.testing.assert_array_equal(fitted.predict(hidden), fitted.predict(missing))
    np.testing.assert_array_equal(
        fitted.predict(missing), RankBoost(5).fit(missing, Y).predict(missing)
    )


PAIRS = [(0, 1), (1, 2), (2, 0)]
VECTORS = {
    "y": lambda values: RankBoost(2).fit(X, values),
    "sample_weight": lambda values: RankBoost(2).fit(X, Y, sample_weight=values),
    "query_weight": lambda values: RankBoost(2).fit(X, Y, query_weight=values),
    "pair_weight": lambda values: RankBoost(2).fit_pairs(X, PAIRS * 8, pair_weight=values),
    "scores": lambda values: crucial.evaluate(Y, values, measures=["kendall"]),
    "evaluate weight": lambda values: crucial.evaluate(
        Y, X[:, 0], measures=["kendall"], sample_weight=values
    ),
    "judges": lambda values: RankBoost(2).fit(
        X, np.column_stack([Y] * 24), judge_weight=values
    ),
    "ratings": lambda values: crucial.data.Ratings.from_columns(range(24), range(24), values),
}  # fmt: skip
WRONG = {
    "complex": (Y + 1j, "Complex data|must be numbers"),
    "complex objects": ((Y + 1j).astype(object), "must be numbers|labels must be"),
    "huge": ([HUGE, *Y[1:].tolist()], "beyond the range of floats"),
    "masked": (np.ma.masked_array(Y + 1.0, mask=Y == 2), "nan"),
    "masked integers": (np.ma.masked_array(Y + 1, mask=Y == 2), "nan"),
    "times": (Y.astype("M8[s]"), "must be numbers|labels must be"),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", VECTORS)
def test_vectors_follow_the_same_rule(name: str, wrong: str) -> None:
    values, match = WRONG[wrong]
    refused(DataError, match, VECTORS[name], values)


def test_ids_and_pairs_follow_it_too() -> None:
    for ids, match in (
        (Y + 1j, "must not be complex"),
        ((Y + 1j).astype(object), "must not be complex"),
        (np.ma.masked_array(Y, mask=Y == 2), "NaN in row 2"),
        (np.ma.masked_array(Y.astype(str), mask=Y == 2), "missing in row 2"),
    ):
        refused(DataError, match, RankBoost(2).fit, X, Y, qid=ids)
    hidden = np.ma.masked_array(PAIRS, mask=[(0, 1), (0, 0), (0, 0)])
    for pairs in (np.array(PAIRS) + 0j, hidden):
        refused(DataError, "pairs must be row numbers", RankBoost(2).fit_pairs, X, pairs)


INFINITE = np.full(24, 1.7e308)


@pytest.mark.parametrize("name", sorted(set(VECTORS) - {"y", "scores", "ratings"}))
def test_weights_that_add_up_to_infinity_are_refused(name: str) -> None:
    with pytest.raises(
        DataError, match=r"adds up to infinity: the largest of the 24 is 1\.7e\+308"
    ):
        VECTORS[name](INFINITE)


def test_weights_of_queries_by_id_and_of_comparisons_too() -> None:
    qid = np.arange(24) // 6
    with pytest.raises(DataError, match="query_weight adds up to infinity"):
        RankBoost(2).fit(X, Y, qid=qid, query_weight=dict.fromkeys(range(4), 1.7e308))
    from crucial.data.comparisons import Comparisons, Rankings

    with pytest.raises(DataError, match="weights must be a number from 0"):
        Comparisons.from_columns(["a", "b"], ["b", "c"], weight=[1.7e308, 1.7e308])
    with pytest.raises(DataError, match="counts must be a number from 0"):
        Rankings.from_places(("a", "b"), [((0,), (1,)), ((1,), (0,))], [1.7e308, 1.7e308])


INFINITIES = [(7, 0), (2, 2), (2, 1), (9, 1)]


@pytest.mark.parametrize("kind", ["array", "columns", "frame", "csr", "csc"])
@pytest.mark.parametrize("fit", [True, False])
def test_the_infinity_that_is_named_is_the_first(kind: str, fit: bool) -> None:
    """The first row that has one, and the first column in it, whatever is looked at first."""
    table = np.abs(X)
    for number, place in enumerate(INFINITIES):
        table[place] = np.inf if number % 2 else -np.inf
    made: Any = table
    if kind == "columns":
        made = np.asfortranarray(table)
    elif kind == "frame":
        made = pd.DataFrame(table, columns=list("abc"))
    elif kind in ("csr", "csc"):
        made = sparse.csr_array(table).asformat(kind)
    column = "'b'" if kind == "frame" else "1"
    model = NAMED if kind == "frame" else MODEL
    use = (lambda: RankBoost(2).fit(made, Y)) if fit else (lambda: model.predict(made))
    refused(DataError, rf"row 2, column {column} is -inf", use)


def test_the_first_infinity_of_many_blocks_and_of_the_rows_in_use() -> None:
    table = np.zeros((700, 1000))
    table[690, 3] = table[650, 999] = np.inf
    instances = crucial.data.Instances.from_input(table)
    assert instances.first_infinity() == (650, 999)
    assert instances.first_infinity(np.array([695, 690, 3])) == (690, 3)
    assert instances.first_infinity(np.arange(650)) is None
    for jobs in (1, 3):
        refused(DataError, "row 650, column 999 is inf", check_finite, instances, None, jobs)
    rows = np.abs(X)
    rows[2, 1], rows[1, 1] = -np.inf, np.inf
    with pytest.raises(DataError, match="row 2, column 1 is -inf"):
        RankBoost(2).fit(rows, Y, sample_weight=np.arange(24) != 1)  # (row 1 counts for nothing)


# -- Inputs of other libraries, and data in which there is nothing to learn. --
RANDOM = np.random.default_rng(0)
ROWS = RANDOM.normal(size=(60, 2))
GOOD = (ROWS[:, 0] + RANDOM.normal(size=60) > 0).astype(float)


@pytest.mark.parametrize("name", sorted(RANKERS))
@pytest.mark.filterwarnings("ignore")
def test_features_of_one_value_each_give_equal_scores(name):
    ranker = ranker_class(name)()
    ranker.set_params(**({"n_estimators": 3} if "n_estimators" in ranker.get_params() else {}))
    why = "no feature distinguishes any rows|no (round|step) could be made|no node could be split"
    with pytest.warns(NoProgressWarning, match=why):
        ranker.fit(np.ones((20, 2)), [0, 1] * 10)
    assert len(set(ranker.predict(np.ones((20, 2))))) == 1
    assert not ranker.feature_importances_.any()


def test_columns_of_arrow():
    ranker = RankBoost(3).fit(
        ROWS, pa.array(GOOD.astype(bool)), sample_weight=pa.array(np.ones(60))
    )
    assert ranker.model_ == RankBoost(3).fit(ROWS, GOOD, sample_weight=np.ones(60)).model_
    for ids in (pa.array(["a", "b"] * 30), pa.chunked_array([["a", "b"] * 30])):
        assert (
            ranker.rank(ROWS, qid=ids).tolist() == ranker.rank(ROWS, qid=["a", "b"] * 30).tolist()
        )
    refused(
        DataError, "sample_weight", ranker.fit, ROWS, GOOD, sample_weight=pa.array([1.0, None] * 30)
    )


def test_columns_of_polars_that_are_no_numbers_or_wide_ones():
    nested = pl.DataFrame({"a": ROWS[:, 0], "z": [{"u": 1, "v": 2}] * 60})
    refused(DataTypeError, "the values of 'z' cannot be read", RankBoost(2).fit, nested, GOOD)
    wide = pl.DataFrame({"a": ROWS[:, 0], "z": pl.Series([1, None, 3] * 20, dtype=pl.Int128)})
    plain = wide.with_columns(pl.col("z").cast(pl.Float64))
    assert RankBoost(3).fit(wide, GOOD).model_ == RankBoost(3).fit(plain, GOOD).model_


@pytest.mark.parametrize(("qid", "problem"), [
    (["a", float("nan"), float("nan"), "b"], "missing in row 1"),
    ([1, "1", 1, "1"], "mixes int and str"),
    ([2**53, 2**53 + 1, 0.5, 0.5], "mixes float and int"),
])  # fmt: skip
def test_ids_of_several_types_are_not_made_one(qid, problem):
    for ids in (qid, tuple(qid)):
        refused(DataError, problem, Groups.from_qid, ids, 4)


@pytest.mark.parametrize("qid", [[1, 2.0, 1, 2], [True, 2, 1, 2], [np.int8(1), 2, 1, 2]])
def test_numbers_of_several_types_are_ids(qid):
    assert Groups.from_qid(qid, 4).ids.tolist() == [1, 2]


def test_batches_of_arrow_are_tables_with_names():
    columns = {"a": ROWS[:, 0], "b": ROWS[:, 1]}
    ranker = RankBoost(3).fit(pa.table(columns), GOOD)
    same = RankBoost(3).fit(pa.record_batch(columns), GOOD)
    assert same.feature_names_in_.tolist() == ["a", "b"]
    expected = ranker.predict(pa.table(columns)).tolist()
    assert same.predict(pa.record_batch(columns)).tolist() == expected
    with pytest.raises(DataError, match="Column 0 is 'b', expected 'a'"):
        ranker.predict(pa.record_batch({"b": ROWS[:, 1], "a": ROWS[:, 0]}))
    mixed = {
        "text": ["x", "y"] * 30,
        "day": pa.array(pd.to_datetime(["2020-01-02", "2020-02-01", "2021-03-01"] * 20)),
    }
    RankBoost(3).fit(pa.record_batch(columns | mixed), GOOD)
    from crucial.data.comparisons import Comparisons

    assert len(Comparisons.from_frame(pa.record_batch({"winner": ["a"], "loser": ["b"]}))) == 1
    with pytest.raises(DataError, match=r"a frame or a mapping of columns is needed. Got int"):
        Comparisons.from_frame(3)


@pytest.mark.parametrize("kind", [RankBoost, FeatureRank], ids=["rows", "queries"])
def test_a_saved_model_takes_queries_as_its_ranker_does(kind, tmp_path):
    qid = np.arange(60) % 6
    ranker = kind().fit(ROWS, GOOD, qid=qid)
    ranker.save(tmp_path / "model.json")
    model = load_model(tmp_path / "model.json")
    expected = ranker.predict(ROWS, qid=qid).tolist()
    assert model.predict(ROWS, qid).tolist() == expected
    assert model.predict(ROWS, qid=qid).tolist() == expected
    refused(ParameterError, "as groups or as qid, not both", model.predict, ROWS, qid, qid=qid)


# -- Sparse input stays sparse, from fit to predict, and gives what dense input gives. --
def text_like(n_rows, n_features, per_row, seed=0):
    """Rows with few values, some features far more common than others, graded by some of them."""
    random = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, n_features + 1)
    columns = random.choice(n_features, n_rows * per_row, p=share / share.sum())
    rows = np.repeat(np.arange(n_rows), per_row)
    values = random.lognormal(0.0, 0.5, n_rows * per_row).round(2)
    TEXTS = sp.csr_array((values, (rows, columns)), shape=(n_rows, n_features))
    score = TEXTS @ (random.normal(size=n_features) * (random.random(n_features) < 0.2))
    y = np.digitize(score, np.quantile(score, [0.6, 0.9])).astype(float)
    return TEXTS, y, np.arange(n_rows) // 20


pytestmark = pytest.mark.filterwarnings("ignore:.*are constant:crucial.errors.DataWarning")

TEXTS, GRADES, QID = text_like(1000, 1500, 12)


def learned(ranker, table):
    return ranker.fit(table, GRADES, qid=QID)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"choice": "largest_drop", "step": "exact", "learning_rate": 1.0},
        {"choice": "largest_drop", "step": "exact", "early_stopping_rounds": 5},
        {"n_bags": 2},
    ],
    ids=str,
)
def test_the_model_and_its_scores_are_those_of_dense_input(settings):
    made = [
        learned(RankBoost(**{"n_estimators": 12, "n_jobs": n_jobs, **settings}), table)
        for table, n_jobs in ((TEXTS.toarray(), 1), (TEXTS, 1), (TEXTS, 2))
    ]
    assert len({ranker.model_.rankers for ranker in made}) == 1
    assert len({ranker.model_.weights for ranker in made}) == 1
    scores = [
        ranker.predict(table).tobytes() for ranker in made for table in (TEXTS, TEXTS.toarray())
    ]
    assert len(set(scores)) == 1


def test_a_fit_takes_little_more_than_its_input():
    many, y, qid = text_like(20_000, 4_000, 25)
    size = many.data.nbytes + many.indices.nbytes + many.indptr.nbytes
    for choice, step in (("steepest", "bound"), ("largest_drop", "exact")):
        ranker = RankBoost(3, choice=choice, step=step, n_jobs=1)
        ranker.fit(many, y, qid=qid).predict(many)  # (everything is compiled by now)
        tracemalloc.start()
        ranker.fit(many, y, qid=qid)
        peak = tracemalloc.get_traced_memory()[1]
        ranker.predict(many)
        both = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 3 * size
        assert both < 3 * size


def test_trees_say_what_they_would_take(monkeypatch):
    monkeypatch.setattr(arrays, "free_memory", lambda: 2_000_000)
    with pytest.raises(DataError, match=r"1,000 rows and [\d,]+ non-empty .* would take 0\.0 GiB"):
        learned(GradientRanker(2), TEXTS)
    learned(RankBoost(2), TEXTS)
    monkeypatch.setattr(arrays, "free_memory", lambda: 2**34)
    monkeypatch.setattr(bins, "_MUCH", 1_000_000)
    with pytest.warns(DataWarning, match=r"every cell, takes 0\.0 GiB\. Use stumps"):
        learned(GradientRanker(2), TEXTS)
