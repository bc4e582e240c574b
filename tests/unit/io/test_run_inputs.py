"""Runs and judgements as dictionaries, lists, hits, frames and objects of other libraries."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import crucial
from crucial import as_qrels, as_run, compare_runs, evaluate_run
from crucial.errors import DataError, DataTypeError, FileError
from crucial.io.runs import result_list

WANTED = {"q1": {"a": 3.0, "b": 2.0}, "q2": {"c": 1.5}}
ROWS = [("q1", "a", 3.0), ("q1", "b", 2.0), ("q2", "c", 1.5)]
Point = namedtuple("Point", "id score payload")
Scored = namedtuple("Scored", "query_id doc_id score")


def columns(*names: str) -> dict[str, list]:
    return dict(zip(names, map(list, zip(*ROWS))))


def hits(pairs: dict[str, float]) -> list[dict]:
    return [{"_id": doc, "_score": score, "_source": {}} for doc, score in pairs.items()]


FORMS = {
    "dictionaries": WANTED,
    "pairs": {q: list(docs.items()) for q, docs in WANTED.items()},
    "lists of lists": {q: [list(one) for one in docs.items()] for q, docs in WANTED.items()},
    "hits": {q: hits(docs) for q, docs in WANTED.items()},
    "responses": {q: {"took": 3, "hits": {"hits": hits(docs)}} for q, docs in WANTED.items()},
    "points": {q: [Point(*one, None) for one in docs.items()] for q, docs in WANTED.items()},
    "scored": {q: [Scored(q, *one) for one in docs.items()] for q, docs in WANTED.items()},
    "pandas": pd.DataFrame(columns("qid", "doc", "score")),
    "beir's names": pd.DataFrame(columns("query-id", "corpus-id", "score")),
    "polars": pl.DataFrame(columns("query_id", "doc_id", "score")),
    "pyarrow": pa.table(columns("q_id", "docno", "score")),
    "columns": columns("qid", "doc", "score"),
    "object": SimpleNamespace(**columns("qid", "doc", "score")),
    "numbers of NumPy": {q: [(d, np.float32(s)) for d, s in v.items()] for q, v in WANTED.items()},
}


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_a_run_goes_in_in_any_form_and_out_as_a_dictionary(form: str) -> None:
    assert as_run(FORMS[form], "bm25").to_dict() == WANTED


@pytest.mark.parametrize("form", ["dictionaries", "pairs", "pandas", "object", "columns"])
def test_every_function_takes_a_run_and_judgements_in_any_form(form: str) -> None:
    judged = {"q1": {"b": 1}, "q2": {"c": 2}}
    assert evaluate_run(judged, FORMS[form], "mrr")["mrr"] == 0.75
    other = {"q1": {"b": 1.0}, "q2": {"c": 1.0}}
    found = compare_runs(judged, {"old": FORMS[form], "new": other}, "mrr")
    assert found["mrr", "new"].difference == 0.25
    fused = crucial.fusion.fuse([FORMS[form], other]).to_dict()
    assert list(fused["q1"]) == ["b", "a"]


@pytest.mark.slow  # (ranx compiles for half a minute)
def test_runs_and_judgements_of_ranx_go_in_and_out() -> None:
    ranx = pytest.importorskip("ranx")
    run, judged = ranx.Run(WANTED, name="bm25"), ranx.Qrels({"q1": {"b": 1}, "q2": {"c": 2}})
    assert as_run(run).to_dict() == WANTED
    assert as_run(run).tag == "bm25"
    assert as_qrels(judged).to_dict() == {"q1": {"b": 1}, "q2": {"c": 2}}
    mine = evaluate_run(judged, run, "mrr")["mrr"]
    back = ranx.Run(as_run(FORMS["hits"]).to_dict())
    assert mine == ranx.evaluate(judged, back, "mrr") == 0.75


@pytest.mark.parametrize(
    "table",
    [
        {"7": {"d1": 2, "d2": 0}, 8: {"d5": 1}},
        {"7": [("d1", 2), ("d2", 0)], "8": ["d5"]},
        {"7": {"d1": 2.0, "d2": 0.0}, "8": {"d5"}},
        pd.DataFrame({"query-id": [7, 7, 8], "corpus-id": ["d1", "d2", "d5"], "score": [2, 0, 1]}),
        pl.DataFrame({"qid": [7, 7, 8], "doc": ["d1", "d2", "d5"], "relevance": [2, 0, 1]}),
    ],
)
def test_judgements_go_in_in_any_form(table: object) -> None:
    judged = as_qrels(table)
    assert judged.to_dict() == {"7": {"d1": 2, "d2": 0}, "8": {"d5": 1}}
    assert judged.relevance.dtype == np.int64


def test_grades_that_are_not_whole_stay() -> None:
    assert as_qrels({"7": {"d1": 0.5}}).to_dict() == {"7": {"d1": 0.5}}


def test_ids_alone_are_ordered_and_empty_lists_have_no_rows() -> None:
    run = as_run({"q1": ["b", "a"], "q2": [], "q3": None, 4: [7, 8]})
    assert run.to_dict() == {"q1": {"b": -1.0, "a": -2.0}, "4": {"7": -1.0, "8": -2.0}}
    assert as_run({}).to_dict() == {}


def test_hits_sorted_by_a_field_keep_their_order() -> None:
    found = [{"_id": "b", "_score": None}, {"_id": "a", "_score": None}]
    assert result_list(found, "bm25") == (["b", "a"], [-1.0, -2.0])


def test_equal_scores_go_out_as_trec_eval_orders_them() -> None:
    assert list(as_run({"1": {"a": 1.0, "b": 1.0}}).to_dict()["1"]) == ["b", "a"]


@pytest.mark.parametrize(
    ("table", "error", "match"),
    [
        ({"q1": {"a": "high"}}, DataError, "run 'x', query 'q1': the score of 'a' must be a fini"),
        ({"q1": {"a": "1.5"}}, DataError, "the score of 'a' must be a finite number"),
        ({"q1": [("a", 1.0), ("b", np.nan)]}, DataError, "the score of 'b' must be a finite numb"),
        ({"q1": [{"_id": "a", "_score": None}, {"_id": "b", "_score": 1}]}, DataError, "of 'a'"),
        ({"q1": [("a", 1.0), ("a", 0.5)]}, DataError, "document 'a' occurs twice; keep the better"),
        ({"q1": [("a", 1.0), "b"]}, DataTypeError, "its entries are not alike"),
        ({"q1": [("a", 1.0, 2)]}, DataTypeError, r"must be \{doc: score\}, a list of"),
        ({"q1": [{"_score": 1.0}]}, DataError, "a hit must have '_id'.*Got the keys '_score'"),
        ({"q1": [{"_id": None, "_score": 1.0}]}, DataError, "a document has no id"),
        ({"q1": "a b c"}, DataTypeError, "Got str"),
        ({"a": 1.0}, DataTypeError, "Got the number 1.0 for 'a': is this the list of one query?"),
        (7, DataTypeError, r"must be a path, a frame, \{query: \{doc: score\}\}.*Got int"),
        (pd.DataFrame({"qid": [1]}), DataError, "a frame must have a column 'doc'"),
        (pl.LazyFrame({"qid": [1]}), DataTypeError, "LazyFrame; call its collect"),
    ],
)
def test_what_is_wrong_is_named(table: object, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        as_run(table, "x")


def test_wrong_judgements_are_named() -> None:
    with pytest.raises(DataTypeError, match=r"the qrels must be a path, a frame.*Got int"):
        as_qrels(7)
    with pytest.raises(DataError, match=r"the qrels: relevance must be finite. Got nan in row 1"):
        as_qrels(pd.DataFrame({"qid": [1, 1], "doc": ["a", "b"], "rel": [1, np.nan]}))


class TestFiles:
    """Judgements of BEIR, and JSON as ranx and BEIR write it."""

    def test_judgements_of_beir(self, tmp_path) -> None:
        path = tmp_path / "test.tsv"
        path.write_text("query-id\tcorpus-id\tscore\n0\t10.1/a b\t1\n0\tMED-2\t0\r\n\n1\tx\t2\n")
        judged = crucial.read_qrels(path)
        assert judged.to_dict() == {"0": {"10.1/a b": 1, "MED-2": 0}, "1": {"x": 2}}
        packed = tmp_path / "test.tsv.gz"
        packed.write_bytes(gzip.compress(b"\xef\xbb\xbf" + path.read_bytes()))
        assert as_qrels(packed).to_dict() == judged.to_dict()

    @pytest.mark.parametrize(
        ("lines", "match"),
        [
            ("0\ta\n", "line 2, column 1: expected 3 fields: query-id corpus-id score. Got 2"),
            ("0\ta\t1\n0\tb\tyes\n", "line 3: the score must be a whole number. Got 'yes'"),
            ("0\ta\t1\n0\ta\t0\n", "document 'a' occurs twice in query '0': in line 2 and in l"),
            ("", "there is no judgement below the header"),
        ],
    )
    def test_wrong_lines_of_beir_are_named(self, tmp_path, lines: str, match: str) -> None:
        path = tmp_path / "test.tsv"
        path.write_text("query-id\tcorpus-id\tscore\n" + lines)
        with pytest.raises(FileError, match=match):
            crucial.read_qrels(path)

    def test_json(self, tmp_path) -> None:
        path = tmp_path / "bm25.json"
        path.write_text(json.dumps(WANTED))
        assert crucial.read_run(path).to_dict() == WANTED
        assert crucial.read_run(path).tag == "bm25"
        path.write_text(json.dumps({"7": {"d1": 2}, "8": ["d5"]}))
        assert crucial.read_qrels(path).to_dict() == {"7": {"d1": 2}, "8": {"d5": 1}}

    @pytest.mark.parametrize(
        ("text", "match"),
        [
            ('{"q1": {"a": 1.0}', "this is not one JSON object"),
            ('{"a": 1.0}', r"is \{query: \{doc: number\}\}. Got '1.0' for 'a'"),
            ('{"q1": {"a": "x"}}', "bad.json: query 'q1': the score of 'a' must be a finite"),
            ('{"q1": {}}', "there is no document in this file"),
            ('{"format": "crucial-model"}', "this is a model, not a run"),
        ],
    )
    def test_wrong_json_is_named(self, tmp_path, text: str, match: str) -> None:
        path = tmp_path / "bad.json"
        path.write_text(text)
        with pytest.raises(FileError, match=match):
            crucial.read_run(path)


def test_applications_need_no_import_of_their_own() -> None:
    """`import crucial` and then `crucial.fusion.fuse(...)`, as the guides write it."""
    code = "import crucial; print(crucial.fusion.fuse, crucial.recommend.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "function fuse" in done.stdout
    assert "crucial.recommend" in done.stdout
