"""Inputs of other libraries, and data in which there is nothing to learn."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from crucial import FeatureRank, RankBoost, load_model
from crucial.data.groups import Groups
from crucial.errors import DataError, DataTypeError, NoProgressWarning, ParameterError
from crucial.rankers.registry import RANKERS, ranker_class
from refusals import refused

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 2))
Y = (X[:, 0] + RANDOM.normal(size=60) > 0).astype(float)


@pytest.mark.parametrize(
    "cells",
    [
        pd.array(["a", None] * 30, dtype="string"),
        pd.array(["a", None] * 30, dtype=pd.ArrowDtype(pa.string())),
        pd.Series(["a", None] * 30, dtype="string").astype("category"),
        pd.Series(["a", pd.NA] * 30, dtype=object),
        pd.Series([1, pd.NA] * 30, dtype=object),
    ],
    ids=["string", "arrow", "category", "object", "numbers"],
)
def test_na_of_pandas_abstains(cells):
    frame = pd.DataFrame({"a": X[:, 0], "z": cells})
    plain = pd.DataFrame({"a": X[:, 0], "z": [None if one is pd.NA else one for one in cells]})
    first, second = (RankBoost(5).fit(one, Y).predict(one).tolist() for one in (frame, plain))
    assert first == second


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
    ranker = RankBoost(3).fit(X, pa.array(Y.astype(bool)), sample_weight=pa.array(np.ones(60)))
    assert ranker.model_ == RankBoost(3).fit(X, Y, sample_weight=np.ones(60)).model_
    for ids in (pa.array(["a", "b"] * 30), pa.chunked_array([["a", "b"] * 30])):
        assert ranker.rank(X, qid=ids).tolist() == ranker.rank(X, qid=["a", "b"] * 30).tolist()
    refused(DataError, "sample_weight", ranker.fit, X, Y, sample_weight=pa.array([1.0, None] * 30))


def test_columns_of_polars_that_are_no_numbers_or_wide_ones():
    nested = pl.DataFrame({"a": X[:, 0], "z": [{"u": 1, "v": 2}] * 60})
    refused(DataTypeError, "the values of 'z' cannot be read", RankBoost(2).fit, nested, Y)
    wide = pl.DataFrame({"a": X[:, 0], "z": pl.Series([1, None, 3] * 20, dtype=pl.Int128)})
    plain = wide.with_columns(pl.col("z").cast(pl.Float64))
    assert RankBoost(3).fit(wide, Y).model_ == RankBoost(3).fit(plain, Y).model_


@pytest.mark.parametrize(
    ("qid", "problem"),
    [
        (["a", float("nan"), float("nan"), "b"], "missing in row 1"),
        ([1, "1", 1, "1"], "mixes int and str"),
        ([2**53, 2**53 + 1, 0.5, 0.5], "mixes float and int"),
    ],
)
def test_ids_of_several_types_are_not_made_one(qid, problem):
    for ids in (qid, tuple(qid)):
        refused(DataError, problem, Groups.from_qid, ids, 4)


@pytest.mark.parametrize("qid", [[1, 2.0, 1, 2], [True, 2, 1, 2], [np.int8(1), 2, 1, 2]])
def test_numbers_of_several_types_are_ids(qid):
    assert Groups.from_qid(qid, 4).ids.tolist() == [1, 2]


def test_batches_of_arrow_are_tables_with_names():
    columns = {"a": X[:, 0], "b": X[:, 1]}
    ranker = RankBoost(3).fit(pa.table(columns), Y)
    same = RankBoost(3).fit(pa.record_batch(columns), Y)
    assert same.feature_names_in_.tolist() == ["a", "b"]
    expected = ranker.predict(pa.table(columns)).tolist()
    assert same.predict(pa.record_batch(columns)).tolist() == expected
    with pytest.raises(DataError, match="Column 0 is 'b', expected 'a'"):
        ranker.predict(pa.record_batch({"b": X[:, 1], "a": X[:, 0]}))
    mixed = {
        "text": ["x", "y"] * 30,
        "day": pa.array(pd.to_datetime(["2020-01-02", "2020-02-01", "2021-03-01"] * 20)),
    }
    RankBoost(3).fit(pa.record_batch(columns | mixed), Y)
    from crucial.data.comparisons import Comparisons

    assert len(Comparisons.from_frame(pa.record_batch({"winner": ["a"], "loser": ["b"]}))) == 1
    with pytest.raises(DataError, match=r"a frame or a mapping of columns is needed. Got int"):
        Comparisons.from_frame(3)


@pytest.mark.parametrize("kind", [RankBoost, FeatureRank], ids=["rows", "queries"])
def test_a_saved_model_takes_queries_as_its_ranker_does(kind, tmp_path):
    qid = np.arange(60) % 6
    ranker = kind().fit(X, Y, qid=qid)
    ranker.save(tmp_path / "model.json")
    model = load_model(tmp_path / "model.json")
    expected = ranker.predict(X, qid=qid).tolist()
    assert model.predict(X, qid).tolist() == expected
    assert model.predict(X, qid=qid).tolist() == expected
    refused(ParameterError, "as groups or as qid, not both", model.predict, X, qid, qid=qid)
