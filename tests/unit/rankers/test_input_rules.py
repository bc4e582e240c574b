"""One rule for everything that is passed as numbers, at fit and predict alike."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import crucial
from crucial import RankBoost
from crucial.errors import DataError
from crucial.model.base import check_finite
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
    "ratings": lambda values: crucial.Ratings.from_columns(range(24), range(24), values),
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
    instances = crucial.Instances.from_input(table)
    assert instances.first_infinity() == (650, 999)
    assert instances.first_infinity(np.array([695, 690, 3])) == (690, 3)
    assert instances.first_infinity(np.arange(650)) is None
    for jobs in (1, 3):
        refused(DataError, "row 650, column 999 is inf", check_finite, instances, None, jobs)
    rows = np.abs(X)
    rows[2, 1], rows[1, 1] = -np.inf, np.inf
    with pytest.raises(DataError, match="row 2, column 1 is -inf"):
        RankBoost(2).fit(rows, Y, sample_weight=np.arange(24) != 1)  # (row 1 counts for nothing)
