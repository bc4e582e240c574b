"""Runs and judgements: files, dictionaries, lists, hits, frames, objects of other libraries."""

import gzip
import json
import os
import subprocess
import sys
import warnings
from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import crucial
from crucial import compare_runs, evaluate_run
from crucial.data.dataset import Qrels, Run
from crucial.errors import DataError, DataTypeError, DataWarning, FileError
from crucial.io import as_qrels, as_run
from crucial.io.runs import read_qrels, read_run, result_list, warn_reversed, write_qrels, write_run
from refusals import refused

TWICE = "document 'a' occurs twice in query '1': in line 1 and in line 3"


class TestRun:
    @pytest.mark.parametrize("text", [
        "1 Q0 a 1 2.5 me\nq Q0 b 7 -1e-3 me\n",
        "1\tQ0\ta\t1\t2.5\tme\r\nq\t0\tb\tx\t-.001\tme",
        "\ufeff\n  1  Q0  a  1  +2.50  me  \n\nq Q0 b 7 -0.001 me\n",
        gzip.compress(b"1 Q0 a 1 2.5 me\nq Q0 b 7 -1e-3 me\n", mtime=0),
    ])  # fmt: skip
    def test_forms(self, made, text):
        run = read_run(made(text))
        assert run.qid.tolist() == ["1", "q"]
        assert run.doc.tolist() == ["a", "b"]
        assert run.score.tolist() == [2.5, -0.001]
        assert run.tag.tolist() == ["me", "me"]

    @pytest.mark.parametrize(("text", "line", "column", "match"), [
        ("1 Q0 a 1 2.5\n", 1, 1, "expected 6 fields: qid Q0 doc rank score tag. Got 5"),
        ("1 0 a 1\n", 1, 1, r"expected 6 fi.* Is this judgements \(qid 0 doc relevance\)\?"),
        ("1 Q0 a 1 2 m\n1 Q0 b c 1 2 m\n", 2, 1, "expected 6 fields: .* Got 7"),
        ("1 Q0 a 1 x m\n", 1, 10, "the score must be a finite number. Got 'x'"),
        ("é Q0 a 1 nan m\n", 1, 10, "the score must be a finite number. Got 'nan'"),
        ("1 Q0 a 1 inf m\n", 1, 10, "the score must be a finite number. Got 'inf'"),
        ("1 Q0 a 1 1_0 m\n", 1, 10, "the score must be a finite number. Got '1_0'"),
        ("1 Q0 a 1 9 m\n2 Q0 a 1 9 m\n1 Q0 a 2 8 m\n", 3, None, TWICE),
        ("1 Q0 a 1 9 m\n1 Q0 \0 1 9 m\n", 2, 6, "NUL byte"),
        ("\n\n", None, None, "there is no line in this file; expected qid Q0 doc rank"),
    ])  # fmt: skip
    def test_bad(self, made, text, line, column, match):
        with pytest.raises(FileError, match=match) as caught:
            read_run(made(text))
        assert (caught.value.line, caught.value.column) == (line, column)

    def test_ranks_are_made_as_trec_eval_makes_them(self, tmp_path):
        path = tmp_path / "x"
        scores = np.array([1, 5, 1, 1, 2.5])
        write_run(path, Run(np.array([7, 3, 7, 7, 7]), ["a", "z", "b", "ä", "c"], scores, "me"))
        assert path.read_text() == (
            "7 Q0 c 1 2.5 me\n7 Q0 ä 2 1.0 me\n7 Q0 b 3 1.0 me\n7 Q0 a 4 1.0 me\n3 Q0 z 1 5.0 me\n"
        )

    @pytest.mark.parametrize(("change", "match"), [
        ({"score": [np.nan, 1]}, "the score of row 0 is nan; scores must be finite"),
        ({"doc": ["a", "a"]}, "document 'a' occurs twice in query '1': in rows 0 and 1"),
        ({"doc": ["a", "b c"]}, "the doc 'b c' of row 1 cannot be written"),
        ({"doc": ["a", " b"]}, "the doc ' b' of row 1 cannot be written"),
        ({"doc": ["a", "b\0"]}, "of row 1 cannot be written: .* or NUL"),
        ({"qid": ["", "1"]}, "the qid '' of row 0 cannot be written"),
        ({"tag": "a b"}, "the tag 'a b' of row 0 cannot be written"),
        ({"doc": ["a"]}, r"columns must be of one length. Got \[2, 1, 2\]"),
        ({"tag": ["a"]}, r"columns must be of one length. Got \[2, 1\]"),
        ({"tag": None}, "the tag must be text, or one text per row. Got None"),
        ({"tag": 5}, "the tag must be text, or one text per row. Got 5"),
        ({"score": [1.0, "x"]}, "score must be numbers. Row 1 is 'x'"),
        ({"score": [[1.0], [2.0]]}, r"score must be one number per row. Got .* \(2, 1\)"),
        ({"qid": 1}, "a column must be a list or an array. Got 1"),
    ])  # fmt: skip
    def test_what_would_not_come_back_is_refused(self, tmp_path, change, match):
        parts = {"qid": ["1", "1"], "doc": ["a", "b"], "score": [1.0, 2.0], **change}
        refused(DataError, match, lambda: write_run(tmp_path / "x", Run(**parts)))
        assert os.listdir(tmp_path) == []


def _looks_reversed(query, score):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_reversed("x.run", np.array(query), np.array(score, float))
    assert all(one.category is DataWarning for one in caught)
    return len(caught) == 1


def test_when_a_run_looks_reversed():
    assert _looks_reversed([0] * 6, range(6))
    assert not _looks_reversed([0] * 5, range(5))  # too few steps to tell
    assert not _looks_reversed([0, 0, 0, 1, 1, 1], range(6))  # nor are there more in two lists
    assert _looks_reversed([0] * 4 + [1] * 3, [1, 2, 3, 4, 0, 1, 2])  # falls between lists
    assert not _looks_reversed([0] * 7, [1, 2, 3, 4, 3, 5, 6])
    assert _looks_reversed([0] * 8, [0, 0, 0, 0, 1, 2, 3, 4])  # 4 of 7 steps rise
    assert not _looks_reversed([0] * 7, [0, 0, 0, 0, 1, 2, 3])  # 3 of 6


class TestQrels:
    def test_read(self, made):
        qrels = read_qrels(made("1 0 a 2\n1\t0\tb\t-2\n\n2 0 a +0\n"))
        assert qrels.qid.tolist() == ["1", "1", "2"]
        assert qrels.doc.tolist() == ["a", "b", "a"]
        assert qrels.relevance.tolist() == [2, -2, 0]
        assert qrels.relevance.dtype == np.int64

    @pytest.mark.parametrize(("text", "line", "column", "match"), [
        ("1 Q0 a 1 2 m\n", 1, 1, r"expected 4 fields.* Is this a run \(qid Q0 doc rank"),
        ("1 0 a\n", 1, 1, "expected 4 fields: qid 0 doc relevance. Got 3"),
        ("1 0 a 1.5\n", 1, 7, "the relevance must be a whole number. Got '1.5'"),
        ("1 0 a 1_0\n", 1, 7, "the relevance must be a whole number"),
        ("1 0 a " + "9" * 5000, 1, 7, "the relevance must be a whole number"),
        ("1 0 a 1\n1 0 a 1\n", 2, None, "'a' occurs twice in query '1': in line 1 and in li"),
        ("", None, None, "there is no line in this file"),
    ])  # fmt: skip
    def test_bad(self, made, text, line, column, match):
        with pytest.raises(FileError, match=match) as caught:
            read_qrels(made(text))
        assert (caught.value.line, caught.value.column) == (line, column)

    def test_round_trip(self, tmp_path):
        path = tmp_path / "x.gz"
        half = Qrels(["1"], ["a"], np.array([0.5]))
        match = "relevance must be whole numbers. Got the type float"
        refused(DataError, match, write_qrels, path, half)
        for grade in (10**9, -(10**9)):
            match = f"row 0 is {grade}; `read_qrels` reads at most 9"
            refused(DataError, match, write_qrels, path, Qrels(["1"], ["a"], np.array([grade])))
        write_qrels(path, Qrels(["1", "1"], ["a", "b"], np.array([10**9 - 1, 1 - 10**9])))
        assert read_qrels(path).relevance.tolist() == [10**9 - 1, 1 - 10**9]


@pytest.mark.parametrize(
    ("grade", "whole"), [(2, True), (-1, True), (0.5, False), (2**53, False), (2**53 - 1, True)]
)
def test_grades_of_json_are_whole_numbers_where_floats_are_exact(made, grade, whole):
    found = read_qrels(made(json.dumps({"q": {"a": 1, "b": grade}}), "qrels.json")).relevance
    assert found.tolist() == [1, grade]
    assert (found.dtype.kind == "i") == whole


# Objects of other libraries

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


@pytest.mark.parametrize("table", [
    {"7": {"d1": 2, "d2": 0}, 8: {"d5": 1}},
    {"7": [("d1", 2), ("d2", 0)], "8": ["d5"]},
    {"7": {"d1": 2.0, "d2": 0.0}, "8": {"d5"}},
    pd.DataFrame({"query-id": [7, 7, 8], "corpus-id": ["d1", "d2", "d5"], "score": [2, 0, 1]}),
    pl.DataFrame({"qid": [7, 7, 8], "doc": ["d1", "d2", "d5"], "relevance": [2, 0, 1]}),
])  # fmt: skip
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


@pytest.mark.parametrize(("table", "error", "match"), [
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
])  # fmt: skip
def test_what_is_wrong_is_named(table: object, error: type[Exception], match: str) -> None:
    refused(error, match, as_run, table, "x")


def test_wrong_judgements_are_named() -> None:
    refused(DataTypeError, "the qrels must be a path, a frame.*Got int", as_qrels, 7)
    frame = pd.DataFrame({"qid": [1, 1], "doc": ["a", "b"], "rel": [1, np.nan]})
    refused(DataError, "the qrels: relevance must be finite. Got nan in row 1", as_qrels, frame)


HEAD = "query-id\tcorpus-id\tscore\n"


def test_judgements_of_beir(made) -> None:
    text = f"{HEAD}0\t10.1/a b\t1\n0\tMED-2\t0.0\r\n\n1\tx\t2\n"
    judged = {"0": {"10.1/a b": 1, "MED-2": 0}, "1": {"x": 2}}
    assert read_qrels(made(text, "test.tsv")).to_dict() == judged
    packed = gzip.compress(b"\xef\xbb\xbf" + text.encode())
    assert as_qrels(made(packed, "test.tsv.gz")).to_dict() == judged


def test_json(made) -> None:
    run = read_run(made(json.dumps(WANTED), "bm25.json"))
    assert (run.to_dict(), run.tag) == (WANTED, "bm25")
    path = made(json.dumps({"7": {"d1": 2}, "8": ["d5"]}), "bm25.json")
    assert read_qrels(path).to_dict() == {"7": {"d1": 2}, "8": {"d5": 1}}


@pytest.mark.parametrize(("read", "text", "match"), [
    (read_qrels, "0\ta\n", "line 2, column 1: expected 3 fields: query-id corpus-id score. Got 2"),
    (read_qrels, "0\ta\t1\n0\tb c\tyes\n", "line 3: the score must be a whole number. Got 'yes'"),
    (read_qrels, "0\ta\t1\n0\ta\t0\n", "'a' occurs twice in query '0': in line 2 and in l"),
    (read_qrels, "", "there is no judgement below the header"),
    (read_run, '{"q1": {"a": 1.0}', "this is not one JSON object"),
    (read_run, '{"a": 1.0}', r"is \{query: \{doc: number\}\}. Got '1.0' for 'a'"),
    (read_run, '{"q1": {"a": "x"}}', "x.json: query 'q1': the score of 'a' must be a finite"),
    (read_run, '{"q1": {}}', "there is no document in this file"),
    (read_run, '{"format": "crucial-model"}', "this is a model, not a run"),
])  # fmt: skip
def test_wrong_lines_of_beir_and_wrong_json(made, read, text, match) -> None:
    beir = read is read_qrels
    refused(FileError, match, read, made(HEAD * beir + text, "x.tsv" if beir else "x.json"))


def test_applications_need_no_import_of_their_own() -> None:
    """`import crucial` and then `crucial.fusion.fuse(...)`, as the guides write it."""
    code = "import crucial; print(crucial.fusion.fuse, crucial.recommend.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "function fuse" in done.stdout
    assert "crucial.recommend" in done.stdout
