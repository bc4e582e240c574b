"""Runs of odd kinds: ids that are missing, entries that are not alike, no runs at all."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from crucial import compare_rankings, compare_runs, evaluate, evaluate_run
from crucial.data.dataset import Run
from crucial.errors import CrucialError, DataError, DataTypeError, ParameterError
from crucial.fusion import fuse, learn_fusion
from crucial.io.runs import as_qrels, as_run
from refusals import refused


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pd", "pl", "pa"])
def test_missing_ids_are_named_by_their_row(frame):
    no_query = frame({"qid": ["q", None], "doc": ["a", "b"], "score": [1.0, 2.0]})
    no_doc = frame({"qid": ["q", "r"], "doc": ["a", None], "score": [1.0, 2.0]})
    refused(DataError, "run 'run 1': qid is missing in row 1", fuse, [no_query])
    refused(DataError, "doc is missing in row 1", as_run, no_doc)
    refused(DataError, "the qrels: doc is missing in row 1", as_qrels, no_doc)


def test_missing_ids_of_objects_and_mappings():
    class Table:
        qid, doc, score = ["q", float("nan")], ["a", "b"], [1.0, 2.0]

    refused(DataError, "qid is missing in row 1", evaluate_run, {"q": {"a": 1}}, Table(), "mrr")
    refused(DataError, "a query has no id. Got None", as_run, {None: {"a": 1}})
    refused(DataError, "a document has no id. Got nan", as_run, {"q": {float("nan"): 1}})


@pytest.mark.parametrize("kind", [set, frozenset])
def test_a_set_has_no_order(kind):
    match = r"query 'q' is a \w*set, and a set has no order"
    refused(DataTypeError, match, fuse, [{"q": kind(["a", "b"])}])
    assert as_qrels({"q": kind(["b", "a"])}).doc.tolist() == ["a", "b"]
    assert as_qrels({"q": kind([("b", 2), ("a", 1)])}).to_dict() == {"q": {"a": 1, "b": 2}}


def test_columns_of_one_name():
    twice = pd.DataFrame([[1, 1, 2, 3.0]], columns=["qid", "qid", "doc", "score"])
    match = "run 'a': column names must differ. .* 'qid' 2 times"
    refused(DataError, match, fuse, {"a": twice})
    match = "run 'x': the tag must be text, or one text per row"
    refused(DataTypeError, match, fuse, {"x": Run(["q"], ["a"], [1.0], 5)})
    refused(DataTypeError, "its entries are not alike", as_run, {"q": ["a", ("b", 2)]})


@pytest.mark.parametrize(("change", "match"), [
    ({"qid": 1}, "the run: qid must be a column of one id per row. Got 1"),
    ({"doc": "a"}, "the run: doc must be a column of one id per row. Got 'a'"),
    ({"qid": [["q"]]}, r"qid must be a column of one id per row. Got an array of shape"),
    ({"score": 1.0}, r"the run: scores must be one number per row. Got 1.0"),
    ({"score": [[1.0]]}, r"the run: scores must be one number per row. Got an array of shape"),
])  # fmt: skip
def test_columns_that_are_none(change, match):
    columns = {"qid": ["q"], "doc": ["a"], "score": [1.0]} | change
    refused(DataTypeError, match, as_run, columns)


@pytest.mark.parametrize("grade", [1e20, -1e20, 2.0**53])
def test_grades_beyond_whole_numbers(grade):
    match = r"relevance must be less than 2\^53 in size. Got .* row 1"
    refused(DataError, match, as_qrels, {"q": {"a": 1, "b": grade}})
    assert as_qrels({"q": {"a": 2**53 - 1}}).relevance.tolist() == [2**53 - 1]


@pytest.mark.parametrize("runs", [None, 3])
def test_no_runs_at_all(runs):
    judged, match = {"q": {"a": 1}}, "runs must be a list of runs"
    refused(DataTypeError, match, fuse, runs)
    refused(DataTypeError, match, learn_fusion, runs, judged)
    refused(ParameterError, "runs: expected a list of runs", compare_runs, judged, runs)
    match = "'rankings' parameter .* must be a mapping"
    refused(ParameterError, match, compare_rankings, [1, 0], runs)


def test_a_measure_that_returns_no_number():
    how = {"measures": lambda y, scores: "x"}
    scores = np.array([2.0, 1.0])
    refused(CrucialError, "must return a number. Got 'x'", evaluate, [1, 0], scores, **how)
