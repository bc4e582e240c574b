"""Runs and judgements."""

from __future__ import annotations

import gzip
import json
import os
import warnings

import numpy as np
import pytest

from crucial.data.dataset import Qrels, Run
from crucial.errors import DataError, DataWarning, FileError
from crucial.io.runs import read_qrels, read_run, warn_reversed, write_qrels, write_run


@pytest.fixture
def file(tmp_path):
    def make(text):
        path = tmp_path / "x.txt"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return make


class TestRun:
    @pytest.mark.parametrize(
        "text",
        [
            "1 Q0 a 1 2.5 me\nq Q0 b 7 -1e-3 me\n",
            "1\tQ0\ta\t1\t2.5\tme\r\nq\t0\tb\tx\t-.001\tme",
            "\ufeff\n  1  Q0  a  1  +2.50  me  \n\nq Q0 b 7 -0.001 me\n",
            gzip.compress(b"1 Q0 a 1 2.5 me\nq Q0 b 7 -1e-3 me\n", mtime=0),
        ],
    )
    def test_forms(self, file, text):
        run = read_run(file(text))
        assert run.qid.tolist() == ["1", "q"]
        assert run.doc.tolist() == ["a", "b"]
        assert run.score.tolist() == [2.5, -0.001]
        assert run.tag.tolist() == ["me", "me"]

    @pytest.mark.parametrize(
        ("text", "line", "column", "match"),
        [
            ("1 Q0 a 1 2.5\n", 1, 1, "expected 6 fields: qid Q0 doc rank score tag. Got 5"),
            (
                "1 0 a 1\n",
                1,
                1,
                r"expected 6 fields.* Is this judgements \(qid 0 doc relevance\)\?",
            ),
            ("1 Q0 a 1 2 m\n1 Q0 b c 1 2 m\n", 2, 1, "expected 6 fields: .* Got 7"),
            ("1 Q0 a 1 x m\n", 1, 10, "the score must be a finite number. Got 'x'"),
            ("é Q0 a 1 nan m\n", 1, 10, "the score must be a finite number. Got 'nan'"),
            ("1 Q0 a 1 inf m\n", 1, 10, "the score must be a finite number. Got 'inf'"),
            ("1 Q0 a 1 1_0 m\n", 1, 10, "the score must be a finite number. Got '1_0'"),
            (
                "1 Q0 a 1 9 m\n2 Q0 a 1 9 m\n1 Q0 a 2 8 m\n",
                3,
                None,
                "document 'a' occurs twice in query '1': in line 1 and in line 3",
            ),
            ("1 Q0 a 1 9 m\n1 Q0 \0 1 9 m\n", 2, 6, "NUL byte"),
            ("\n\n", None, None, "there is no line in this file; expected qid Q0 doc rank"),
        ],
    )
    def test_bad(self, file, text, line, column, match):
        with pytest.raises(FileError, match=match) as caught:
            read_run(file(text))
        assert (caught.value.line, caught.value.column) == (line, column)

    def test_ranks_are_made_as_trec_eval_makes_them(self, tmp_path):
        path = tmp_path / "x"
        run = Run(
            np.array([7, 3, 7, 7, 7]), ["a", "z", "b", "ä", "c"], np.array([1, 5, 1, 1, 2.5]), "me"
        )
        write_run(path, run)
        assert path.read_text() == (
            "7 Q0 c 1 2.5 me\n7 Q0 ä 2 1.0 me\n7 Q0 b 3 1.0 me\n7 Q0 a 4 1.0 me\n3 Q0 z 1 5.0 me\n"
        )

    @pytest.mark.parametrize(
        ("change", "match"),
        [
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
        ],
    )
    def test_what_would_not_come_back_is_refused(self, tmp_path, change, match):
        parts = {"qid": ["1", "1"], "doc": ["a", "b"], "score": [1.0, 2.0], **change}
        with pytest.raises(DataError, match=match):
            write_run(tmp_path / "x", Run(**parts))
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
    def test_read(self, file):
        qrels = read_qrels(file("1 0 a 2\n1\t0\tb\t-2\n\n2 0 a +0\n"))
        assert qrels.qid.tolist() == ["1", "1", "2"]
        assert qrels.doc.tolist() == ["a", "b", "a"]
        assert qrels.relevance.tolist() == [2, -2, 0]
        assert qrels.relevance.dtype == np.int64

    @pytest.mark.parametrize(
        ("text", "line", "column", "match"),
        [
            ("1 Q0 a 1 2 m\n", 1, 1, r"expected 4 fields.* Is this a run \(qid Q0 doc rank"),
            ("1 0 a\n", 1, 1, "expected 4 fields: qid 0 doc relevance. Got 3"),
            ("1 0 a 1.5\n", 1, 7, "the relevance must be a whole number. Got '1.5'"),
            ("1 0 a 1_0\n", 1, 7, "the relevance must be a whole number"),
            ("1 0 a " + "9" * 5000, 1, 7, "the relevance must be a whole number"),
            ("1 0 a 1\n1 0 a 1\n", 2, None, "'a' occurs twice in query '1': in line 1 and in li"),
            ("", None, None, "there is no line in this file"),
        ],
    )
    def test_bad(self, file, text, line, column, match):
        with pytest.raises(FileError, match=match) as caught:
            read_qrels(file(text))
        assert (caught.value.line, caught.value.column) == (line, column)

    def test_round_trip(self, tmp_path):
        path = tmp_path / "x.gz"
        write_qrels(path, Qrels(["1", "2", "1"], ["a", "a", "b"], np.array([1, 0, -1])))
        back = read_qrels(path)
        assert back.qid.tolist() == ["1", "1", "2"]
        assert back.doc.tolist() == ["a", "b", "a"]
        assert back.relevance.tolist() == [1, -1, 0]
        with pytest.raises(DataError, match=r"relevance must be whole numbers. Got the type float"):
            write_qrels(path, Qrels(["1"], ["a"], np.array([0.5])))
        for grade in (10**9, -(10**9)):
            with pytest.raises(DataError, match=f"row 0 is {grade}; `read_qrels` reads at most 9"):
                write_qrels(path, Qrels(["1"], ["a"], np.array([grade])))
        write_qrels(path, Qrels(["1", "1"], ["a", "b"], np.array([10**9 - 1, 1 - 10**9])))
        assert read_qrels(path).relevance.tolist() == [10**9 - 1, 1 - 10**9]


@pytest.mark.parametrize(
    ("grade", "whole"), [(2, True), (-1, True), (0.5, False), (2**53, False), (2**53 - 1, True)]
)
def test_grades_of_json_are_whole_numbers_where_floats_are_exact(tmp_path, grade, whole):
    path = tmp_path / "qrels.json"
    path.write_text(json.dumps({"q": {"a": 1, "b": grade}}))
    found = read_qrels(path).relevance
    assert found.tolist() == [1, grade]
    assert (found.dtype.kind == "i") == whole
