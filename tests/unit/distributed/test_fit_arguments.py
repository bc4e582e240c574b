"""Arguments of fits and scores on Dask that cannot be meant."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from crucial import RankBoost
from crucial.distributed import DaskRanker, evaluate_parts, predict_parts, rank_parts
from crucial.distributed.fit import FitInput
from crucial.distributed.input import ColumnRoles, column_names
from crucial.errors import CrucialError, DataTypeError
from crucial.io.parts import bins_without_rows
from refusals import refused

dask_frame = pytest.importorskip("dask.dataframe")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc"))
    table["qid"], table["label"] = np.arange(40) // 10, rng.integers(0, 3, 40)
    return dask_frame.from_pandas(table, npartitions=2)


@pytest.mark.parametrize(("words", "match"), [
    ({"features": []}, "no column is left for the features"),
    ({"features": "ab"}, "'features' parameter of fit must be a list of column names"),
    ({"features": [1, 2]}, "'features' parameter of fit must be a list of column names"),
    ({"features": 5}, "'features' parameter of fit must be a list of column names"),
    ({"ignore": "ab"}, "'ignore' parameter of fit must be a list of column names"),
    ({"query_weight": {0: 1.0}}, "'query_weight' .* must be the name of a column, a Dask"),
    ({"weight": [1.0] * 40}, "'weight' .* must be the name of a column, a Dask array or None"),
    ({"label": np.zeros(40)}, "'label' .* must be the name of a column, a Dask array or None"),
])  # fmt: skip
def test_what_is_refused_before_anything_is_read(frame, words, match):
    refused(CrucialError, match, DaskRanker(RankBoost(3), verbose=0).fit, frame, **words)


def test_nothing_is_fitted_yet(frame):
    ranker = DaskRanker(RankBoost(3))
    for call in (lambda: ranker.predict(frame), ranker.to_local):
        refused(NotFittedError, "not fitted yet", call)
    assert not hasattr(ranker, "ranker_")


@pytest.mark.parametrize("model", ["x", 5, None])
def test_scoring_needs_a_model(frame, model):
    for score in (predict_parts, rank_parts, evaluate_parts):
        refused(DataTypeError, "a fitted ranker or a model is needed", score, model, frame)
    with pytest.raises(NotFittedError):
        predict_parts(RankBoost(3), frame)


def test_the_label_and_the_query_are_no_features():
    for name in ("label", "qid"):
        with pytest.raises(CrucialError, match=f"features names '{name}', which is already the"):
            ColumnRoles(features=("a", name))
    assert ColumnRoles(features=("a", "label"), labelled=False).features == ("a", "label")


def test_bins_are_bins():
    refused(CrucialError, r"'bins' parameter .* must be Bins or a Dataset", bins_without_rows, 5)


def test_names_of_columns_in_any_form(frame):
    columns = frame.columns
    for names in (columns[:2], np.array(["a", "b"]), {"a": 0, "b": 1}.keys(), iter("ab")):
        assert column_names("fit", names, columns[2:3]) == (("a", "b"), ("c",))


def test_scores_take_a_list_of_names(frame):
    table = frame.compute()
    ranker = RankBoost(2).fit(table[list("abc")], table["label"], qid=table["qid"])
    for score in (predict_parts, rank_parts, evaluate_parts):
        words = f"'features' parameter of {score.__name__} must be a list of column names"
        refused(CrucialError, words, score, ranker, frame, features="abc")


def test_labels_beside_rows_with_a_feature_of_that_name(frame):
    parts = FitInput(frame, frame["c"], "qid", features=("label", "a"))
    sources = parts.sources(None)
    assert sources[0].columns.label == "__label__"
    assert sources[0].columns.features == ("label", "a")
