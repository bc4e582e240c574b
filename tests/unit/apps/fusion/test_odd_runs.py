"""Runs of odd kinds: ids that are missing, entries that are not alike, no runs at all."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from crucial import compare_rankings, compare_runs, evaluate, evaluate_run
from crucial.apps.fusion import fuse, learn_fusion
from crucial.data.formats.run_inputs import as_qrels, as_run
from crucial.errors import CrucialError, DataError, DataTypeError, ParameterError


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pd", "pl", "pa"])
def test_missing_ids_are_named_by_their_row(frame):
    no_query = frame({"qid": ["q", None], "doc": ["a", "b"], "score": [1.0, 2.0]})
    no_doc = frame({"qid": ["q", "r"], "doc": ["a", None], "score": [1.0, 2.0]})
    with pytest.raises(DataError, match="run 'run 1': qid is missing in row 1"):
        fuse([no_query])
    with pytest.raises(DataError, match="doc is missing in row 1"):
        as_run(no_doc)
    with pytest.raises(DataError, match="the qrels: doc is missing in row 1"):
        as_qrels(no_doc)


def test_missing_ids_of_objects_and_mappings():
    class Table:
        qid, doc, score = ["q", float("nan")], ["a", "b"], [1.0, 2.0]

    with pytest.raises(DataError, match="qid is missing in row 1"):
        evaluate_run({"q": {"a": 1}}, Table(), "mrr")
    with pytest.raises(DataError, match=r"a query has no id. Got None"):
        as_run({None: {"a": 1}})
    with pytest.raises(DataError, match=r"a document has no id. Got nan"):
        as_run({"q": {float("nan"): 1}})


def test_entries_that_are_not_alike():
    with pytest.raises(DataTypeError, match="its entries are not alike"):
        as_run({"q": ["a", ("b", 2)]})


@pytest.mark.parametrize("runs", [None, 3])
def test_no_runs_at_all(runs):
    judged = {"q": {"a": 1}}
    for call in (fuse, lambda runs: learn_fusion(runs, judged)):
        with pytest.raises(DataTypeError, match="runs must be a list of runs"):
            call(runs)
    with pytest.raises(ParameterError, match="runs: expected a list of runs"):
        compare_runs(judged, runs)
    with pytest.raises(ParameterError, match=r"'rankings' parameter .* must be a mapping"):
        compare_rankings([1, 0], runs)


def test_lists_of_one_query_are_a_mapping():
    judged = {str(query): {"a": 1} for query in range(6)}
    runs = {name: {query: ["a", "b"] for query in judged} for name in ("x", "y")}
    fusion = learn_fusion(runs, judged)
    for wrong in (None, ["a", "b"]):
        with pytest.raises(ParameterError, match=r"'lists' parameter .* must be a mapping"):
            fusion.rank(wrong)


def test_a_measure_that_returns_no_number():
    with pytest.raises(CrucialError, match=r"must return a number. Got 'x'"):
        evaluate([1, 0], np.array([2.0, 1.0]), measures=lambda y, scores: "x")
