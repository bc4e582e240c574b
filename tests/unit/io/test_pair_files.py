"""Pairs in a file."""

from __future__ import annotations

import gzip
import os

import numpy as np
import pytest

from crucial.data.comparisons import PairTable
from crucial.errors import DataError, FileError, ParameterError
from crucial.io.comparisons import read_pairs, write_pairs


@pytest.fixture
def read(tmp_path):
    def read_text(text):
        path = tmp_path / "x.tsv"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read_pairs(path)

    return read_text


class TestRead:
    @pytest.mark.parametrize(
        "text",
        [
            "a b\tc\nc\ta b\n",
            "winner\tloser\na b\tc\nc\ta b",
            "# all\n\nWINNER\tLoser\tnote?\na b\tc\n#x\nc\ta b\n".replace("\tnote?", ""),
            "\ufeff a b \t c \r\n\r\nc\ta b\r\n",
            gzip.compress(b"a b\tc\nc\ta b\n", mtime=0),
        ],
    )
    def test_forms(self, read, text):
        pairs = read(text)
        assert pairs.winner.tolist() == ["a b", "c"]
        assert pairs.loser.tolist() == ["c", "a b"]
        assert pairs.weight is None

    def test_numbers_and_weights(self, read):
        pairs = read("3\t8\t0.5\n11\t3\t2e0\n")
        assert pairs.winner.tolist() == [3, 11]
        assert pairs.loser.tolist() == [8, 3]
        assert pairs.winner.dtype == np.int64
        assert pairs.weight.tolist() == [0.5, 2]

    def test_one_kind_of_ids(self, read):
        assert read("3\tx\n").winner.tolist() == ["3"]

    def test_a_header_only_at_the_start(self, read):
        assert read("a\tb\nwinner\tloser\n").winner.tolist() == ["a", "winner"]
        assert read("winner\tloser\nwinner\tloser\n").winner.tolist() == ["winner"]

    @pytest.mark.parametrize(
        ("text", "line", "column", "match"),
        [
            ("a\n", 1, 1, "expected winner TAB loser, or winner TAB loser TAB weight. Got 'a'"),
            ("a b\n", 1, 1, "expected winner TAB loser"),
            ("a\tb\t1\t2\n", 1, 1, "expected winner TAB loser"),
            ("a\t\n", 1, 1, "expected winner TAB loser"),
            ("\tb\n", 1, 1, "expected winner TAB loser"),
            ("# x\na\ta\n", 2, 1, "'a' cannot rank above itself"),
            ("a\tb\tx\n", 1, 5, "the weight must be a finite number of at least 0. Got 'x'"),
            ("long\tbc\tx\n", 1, 9, "the weight must be a finite number of at least 0. Got 'x'"),
            ("é\tb\t-1\n", 1, 5, "the weight must be a finite number of at least 0. Got '-1'"),
            ("a\tb\tnan\n", 1, 5, "the weight must be a finite number of at least 0"),
            ("a\tb\n\nc\td\t1\n", 3, None, r"there is a weight, but .*\(line 1\) has none"),
            ("a\tb\t1\nc\td\n", 2, None, r"there is no weight, but .*\(line 1\) has one"),
            ("a\tb\n\0\tc\n", 2, 1, "NUL byte"),
            ("winner\tloser\n# x\n", None, None, "there is no pair in this file"),
            ("", None, None, "there is no pair in this file"),
        ],
    )
    def test_bad(self, read, text, line, column, match):
        with pytest.raises(FileError, match=match) as caught:
            read(text)
        assert (caught.value.line, caught.value.column) == (line, column)


class TestRows:
    def test_by_number(self):
        pairs = PairTable(np.array([2, 0]), np.array([1, 2]))
        assert pairs.rows(3).tolist() == [[2, 1], [0, 2]]
        with pytest.raises(
            DataError, match=r"pair 0 \(from 0\) names row 2, but rows go from 0 to"
        ):
            pairs.rows(2)
        with pytest.raises(DataError, match="names row -1"):
            PairTable(np.array([-1]), np.array([0])).rows(2)
        named = PairTable(np.array(["x"], object), np.array(["y"], object))
        with pytest.raises(DataError, match=r"must name row numbers .* Got 'x'"):
            named.rows(2)

    def test_by_item(self):
        named = PairTable(np.array(["x"], object), np.array(["y"], object))
        assert named.rows(3, ["y", "z", "x"]).tolist() == [[2, 0]]
        with pytest.raises(DataError, match=r"pair 0 .* names item 'y', which no row has"):
            named.rows(2, ["x", "z"])
        with pytest.raises(DataError, match="names item 'x', which rows 0 and 2 have both"):
            named.rows(3, ["x", "y", "x"])
        with pytest.raises(DataError, match=r"item must have an id for each of the 3 rows. Got 2"):
            named.rows(3, ["x", "y"])

    def test_whole_numbers_name_items_where_there_are_items(self):
        pairs = PairTable(np.array([1]), np.array([0]))
        assert pairs.rows(2, ["1", "0"]).tolist() == [[0, 1]]
        assert pairs.rows(2, ["1", "0"], by="row").tolist() == [[1, 0]]
        with pytest.raises(DataError, match="pairs by item need the item ids"):
            pairs.rows(2, by="item")
        with pytest.raises(ParameterError, match="'by' parameter of rows"):
            pairs.rows(2, by="name")


class TestWrite:
    def test_text(self, tmp_path):
        path = tmp_path / "x"
        pairs = PairTable(np.array([1, 2]), np.array([0, 0]), np.array([1, 0.1]))
        write_pairs(path, pairs)
        assert path.read_text() == "winner\tloser\tweight\n1\t0\t1.0\n2\t0\t0.1\n"
        write_pairs(path, PairTable(pairs.winner, pairs.loser), header=False)
        assert path.read_text() == "1\t0\n2\t0\n"

    @pytest.mark.parametrize(
        ("winner", "options", "match"),
        [
            ("a\tb", {}, r"the id 'a\\tb' of pair 0 cannot be written"),
            ("#a", {}, "the id '#a' of pair 0"),
            (" a", {}, "the id ' a' of pair 0"),
            ("", {}, "the id '' of pair 0"),
            ("Winner", {"header": False}, "the first pair would be read as a header"),
        ],
    )
    def test_what_would_not_come_back_is_refused(self, tmp_path, winner, options, match):
        with pytest.raises(DataError, match=match):
            write_pairs(tmp_path / "x", PairTable([winner], ["loser"]), **options)
        assert os.listdir(tmp_path) == []

    def test_bad_columns(self, tmp_path):
        with pytest.raises(DataError, match="must be of one length"):
            write_pairs(tmp_path / "x", PairTable(["a"], ["b", "c"]))
        with pytest.raises(DataError, match="weights must be finite and at least 0"):
            write_pairs(tmp_path / "x", PairTable(["a"], ["b"], [-1.0]))
