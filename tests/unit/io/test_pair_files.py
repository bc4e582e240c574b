"""Pairs in a file."""

import gzip
import os

import numpy as np
import pytest

from crucial.data.comparisons import PairTable
from crucial.errors import DataError, FileError, ParameterError
from crucial.io.comparisons import read_pairs, write_pairs
from refusals import refused


@pytest.fixture
def read(made):
    return lambda text: read_pairs(made(text, "x.tsv"))


class TestRead:
    @pytest.mark.parametrize("text", [
        "a b\tc\nc\ta b\n",
        "winner\tloser\na b\tc\nc\ta b",
        "# all\n\nWINNER\tLoser\tnote?\na b\tc\n#x\nc\ta b\n".replace("\tnote?", ""),
        "\ufeff a b \t c \r\n\r\nc\ta b\r\n",
        gzip.compress(b"a b\tc\nc\ta b\n", mtime=0),
    ])  # fmt: skip
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
        assert read("3\tx\n").winner.tolist() == ["3"]  # (ids of one kind)

    def test_a_header_only_at_the_start(self, read):
        assert read("a\tb\nwinner\tloser\n").winner.tolist() == ["a", "winner"]
        assert read("winner\tloser\nwinner\tloser\n").winner.tolist() == ["winner"]

    @pytest.mark.parametrize(("text", "line", "column", "match"), [
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
    ])  # fmt: skip
    def test_bad(self, read, text, line, column, match):
        with pytest.raises(FileError, match=match) as caught:
            read(text)
        assert (caught.value.line, caught.value.column) == (line, column)


NUMBERED = PairTable(np.array([2, 0]), np.array([1, 2]))
NAMED = PairTable(np.array(["x"], object), np.array(["y"], object))
BOTH = PairTable(np.array([1]), np.array([0]))


def test_rows_by_number_and_by_item():
    assert NUMBERED.rows(3).tolist() == [[2, 1], [0, 2]]
    assert NAMED.rows(3, ["y", "z", "x"]).tolist() == [[2, 0]]
    # (whole numbers name items where there are items)
    assert BOTH.rows(2, ["1", "0"]).tolist() == [[0, 1]]
    assert BOTH.rows(2, ["1", "0"], by="row").tolist() == [[1, 0]]


@pytest.mark.parametrize(("pairs", "how", "match"), [
    (NUMBERED, (2,), r"pair 0 \(from 0\) names row 2, but rows go from 0 to"),
    (PairTable(np.array([-1]), np.array([0])), (2,), "names row -1"),
    (NAMED, (2,), "must name row numbers .* Got 'x'"),
    (NAMED, (2, ["x", "z"]), "pair 0 .* names item 'y', which no row has"),
    (NAMED, (3, ["x", "y", "x"]), "names item 'x', which rows 0 and 2 have both"),
    (NAMED, (3, ["x", "y"]), "item must have an id for each of the 3 rows. Got 2"),
])  # fmt: skip
def test_rows_that_are_not_there(pairs, how, match):
    refused(DataError, match, pairs.rows, *how)
    refused(DataError, "pairs by item need the item ids", pairs.rows, 3, by="item")
    refused(ParameterError, "'by' parameter of rows", pairs.rows, 3, by="name")


class TestWrite:
    def test_text(self, tmp_path):
        path = tmp_path / "x"
        pairs = PairTable(np.array([1, 2]), np.array([0, 0]), np.array([1, 0.1]))
        write_pairs(path, pairs)
        assert path.read_text() == "winner\tloser\tweight\n1\t0\t1.0\n2\t0\t0.1\n"
        write_pairs(path, PairTable(pairs.winner, pairs.loser))
        assert path.read_text() == "winner\tloser\n1\t0\n2\t0\n"

    @pytest.mark.parametrize(("winner", "match"), [
        ("a\tb", r"the id 'a\\tb' of pair 0 cannot be written"),
        ("#a", "the id '#a' of pair 0"),
        (" a", "the id ' a' of pair 0"),
        ("", "the id '' of pair 0"),
    ])  # fmt: skip
    def test_what_would_not_come_back_is_refused(self, tmp_path, winner, match):
        pairs = PairTable([winner], ["loser"])
        refused(DataError, match, write_pairs, tmp_path / "x", pairs)
        assert os.listdir(tmp_path) == []

    def test_bad_columns(self, tmp_path):
        path, bad = tmp_path / "x", PairTable(["a"], ["b"], [-1.0])
        refused(DataError, "must be of one length", write_pairs, path, PairTable(["a"], ["b", "c"]))
        refused(DataError, "weights must be finite and at least 0", write_pairs, path, bad)
