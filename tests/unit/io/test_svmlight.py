"""What an svmlight file says, in all the forms it comes in; bad files by file, line and column."""

import contextlib
import gzip
import os
import time
import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array

from crucial.data.dataset import Dataset
from crucial.errors import DataError, FileError, ParameterError
from crucial.io import svmlight as blocks
from crucial.io import svmlight as table
from crucial.io.svmlight import read_svmlight, write_svmlight
from crucial.io.tables import read_data
from crucial.kernels import runtime
from refusals import refused

nan = np.nan


@pytest.fixture
def read(made):
    """Write text to a file and read it."""
    return lambda text, **options: read_svmlight(made(text, "x.txt"), **options)


class TestForms:
    def test_plain(self, read):
        data = read("2 qid:1 1:0.5 3:-1e2 # a\n0 qid:1 2:+.25 # b\n1 qid:2 #c\n")
        np.testing.assert_array_equal(data.X, [[0.5, 0, -100], [0, 0.25, 0], [0, 0, 0]])
        assert data.X.dtype == np.float64
        np.testing.assert_array_equal(data.y, [2, 0, 1])
        np.testing.assert_array_equal(data.qid, [1, 1, 2])
        assert data.qid.dtype == np.int64
        assert data.item.tolist() == ["a", "b", "c"]
        assert data.feature_names == ["1", "2", "3"]
        assert (data.weight, data.n_rows, data.n_features) == (None, 3, 3)

    @pytest.mark.parametrize("text", [
        "1 qid:5 1:2 2:3\r\n0 qid:5 1:4 2:5\r\n",  # Windows
        "1 qid:5 1:2 2:3\n0 qid:5 1:4 2:5",  # no last line end
        "\ufeff1 qid:5 1:2 2:3\n0 qid:5 1:4 2:5\n",  # byte order mark
        "1\tqid:5\t1:2\t2:3\n0\tqid:5\t1:4\t2:5\n",  # tabs
        "  1  qid:5  1:2  2:3 \t\n\n   \n0 qid:5 1:4 2:5  \n\n",  # spaces, empty lines
        "# head\n1 qid:5 1:2 2:3\n0 qid:5 1:4 2:5",
        "# head\n1 qid:5 1:2 2:3\n  # between\n0 qid:5 1:4 2:5\n# end",  # comments
        "+1 qid:5 1:+2 2:3.\n0.0 qid:5 1:4.0 2:.5e1\n",  # ways to write a number
        "1e0 qid:5 1:20e-1 2:0.3E+1\n-0 qid:5 1:4 2:5\n",
        "1 qid:5 01:2 002:3\n0 qid:5 1:4 2:5\n",  # zeros before an index
    ])  # fmt: skip
    def test_all_say_the_same(self, read, text):
        data = read(text)
        np.testing.assert_array_equal(data.X, [[2, 3], [4, 5]])
        np.testing.assert_array_equal(data.y, [1, 0])
        np.testing.assert_array_equal(data.qid, [5, 5])
        assert data.item is None

    def test_gz_by_content_and_no_qid(self, read):
        data = read(gzip.compress(b"1 1:2\n0 1:3\n"))
        np.testing.assert_array_equal(data.X, [[2], [3]])
        assert data.qid is None
        assert "no qid: all rows are ranked together" in data.notes
        assert read("# head\n1 qid:5 1:2").qid.tolist() == [5]  # (no line end)

    def test_missing_is_not_zero(self, read):
        text = "1 1:nan 2:0\n0 2:NULL 3:5\n"
        np.testing.assert_array_equal(read(text).X, [[nan, 0, 0], [0, nan, 5]])
        found = read(text, absent="missing").X
        np.testing.assert_array_equal(found, [[nan, 0, nan], [nan, nan, 5]])

    def test_what_was_assumed_is_said(self, read):
        notes = read("1 1:nan 2:0\n0 2:1 3:5\n").notes
        assert "features absent from a line are read as 0 (absent='zero')" in notes
        assert "1 value written 'nan' or 'null' is read as missing" in notes
        assert not any("absent" in note for note in read("1 1:2\n0 1:3\n").notes)


class TestQueries:
    def test_any_token(self, read):
        data = read("1 qid:q-7/x 1:1\n0 qid:q-7/x 1:2\n0 qid:Ünï:1 1:2\n1 qid:q-7/x 1:0\n")
        assert data.qid.tolist() == ["q-7/x", "q-7/x", "Ünï:1", "q-7/x"]
        assert data.qid.dtype == object

    def test_an_id_stays_what_it_is(self, read):
        assert read("1 qid:007 1:1\n0 qid:7 1:2\n").qid.tolist() == ["007", "7"]
        assert read("1 qid:-7 1:1\n0 qid:0 1:2\n").qid.tolist() == [-7, 0]
        assert read(f"1 qid:{2**62} 1:1\n0 qid:0 1:2\n").qid.tolist() == [2**62, 0]
        assert read(f"1 qid:{2**63} 1:1\n0 qid:0 1:2\n").qid.tolist() == [str(2**63), "0"]

        assert read(b"1 qid:\xff 1:1\n0 qid:\xfe 1:2\n").qid.tolist() == [r"\xff", r"\xfe"]
        assert read("1 qid:12 1:1\n0 qid:1 1:1\n0 qid:123 1:1\n").qid.tolist() == [12, 1, 123]

    def test_group_sizes(self, read, made):
        sizes = made("1\n\n2\n", "x.txt.query")
        text = "1 1:1\n0 1:2\n2 1:3\n"
        data = read(text, group_sizes=sizes)
        np.testing.assert_array_equal(data.qid, [0, 1, 1])
        assert any("queries are as in" in note for note in data.notes)
        assert any("pass it as group_sizes" in note for note in read(text).notes)
        match = r"have their own qid\. Leave out group_sizes"
        refused(FileError, match, read, "1 qid:1 1:1\n", group_sizes=sizes)

    @pytest.mark.parametrize(("sizes", "match"), [
        ("1\n1\n", r"the 2 group sizes add up to 2, but .*x\.txt has 3 rows"),
        ("1\n0\n", r"s\.query, line 2, column 1: a group size must be a whole number"),
        ("1\n2.0\n", r"line 2, column 1: .* Got '2\.0'"),
        ("9" * 5000, r"line 1, column 1: a group size"),
        ("", "the 0 group sizes add up to 0"),
    ])  # fmt: skip
    def test_bad_group_sizes(self, read, made, sizes, match):
        how = {"group_sizes": made(sizes, "s.query")}
        refused(FileError, match, read, "1 1:1\n0 1:2\n2 1:3\n", **how)


class TestItems:
    @pytest.mark.parametrize(("comment", "item"), [
        ("#docid = GX01-02 inc = 1 prob = 0.02", "GX01-02"),
        ("# docid=GX01 x", "GX01"),
        ("# docid  =  GX01", "GX01"),
        ("# docid = ", "docid ="),
        ("# docid", "docid"),
        ("# docids = 4", "docids = 4"),
        ("#   http://x.org/a#b c  ", "http://x.org/a#b c"),
        ("#", ""),
        ("# \t ", ""),
        ("# ü", "ü"),
        (b"# \xff\xfe", r"\xff\xfe"),
        ("# 1:2 qid:3", "1:2 qid:3"),
    ])  # fmt: skip
    def test_rule(self, read, comment, item):
        comment = comment if isinstance(comment, bytes) else comment.encode()
        assert read(b"1 1:2 # other\n0 1:2 " + comment + b"\n").item.tolist() == ["other", item]

    def test_no_comment_and_one_that_touches_the_value(self, read):
        assert read("1 1:2 #\n0 1:2\n").item is None
        data = read("1 qid:4#x\n0 qid:4 1:2#y\n")
        assert data.item.tolist() == ["x", "y"]
        np.testing.assert_array_equal(data.X, [[0], [2]])


class TestColumns:
    @pytest.mark.parametrize("base", [0, 1])
    def test_the_base_is_noted_where_names_do_not_tell(self, read, monkeypatch, base):
        assert not any("begin at" in note for note in read(f"1 {base}:5\n").notes)
        monkeypatch.setattr("crucial.io.svmlight._MOST_NAMES", 0)
        expected = f"feature indices begin at {base}: column 0 is feature {base}"
        assert expected in read(f"1 {base}:5\n").notes

    def test_base(self, read):
        from_zero = read("1 0:5 2:6\n0 1:7\n")
        np.testing.assert_array_equal(from_zero.X, [[5, 0, 6], [0, 7, 0]])
        assert from_zero.feature_names == ["0", "1", "2"]
        assert from_zero.index_base == 0
        forced = read("1 1:5 2:6\n", index_base=0)
        np.testing.assert_array_equal(forced.X, [[0, 5, 6]])
        assert forced.feature_names == ["0", "1", "2"]
        late = read("1 1:5\n0 3:1\n1 0:4\n")
        np.testing.assert_array_equal(late.X, [[0, 5, 0, 0], [0, 0, 0, 1], [4, 0, 0, 0]])

    def test_n_features_pads_and_refuses(self, read):
        assert read("1 1:5\n", n_features=4).X.shape == (1, 4)
        assert read("1\n", n_features=2).X.tolist() == [[0, 0]]
        assert read("1 4:5\n", n_features=4).X.shape == (1, 4)
        match = r"line 2, column 7: .* above 4, the last of the 4"
        refused(FileError, match, read, "1 1:5\n1 4:5 5:1\n", n_features=4)
        # (a file that is found to count from zero)
        match = r"line 1, column 3: .*'4:5' is above 3, the last of"
        refused(FileError, match, read, "1 4:5\n1 0:5\n", n_features=4)

    def test_float32(self, read):
        X = read("1 1:0.1 2:3.4028235e38 3:1e-60\n", dtype=np.float32).X
        np.testing.assert_array_equal(X, np.array([[0.1, 3.4028235e38, 0]], np.float32))
        assert X.dtype == np.float32
        match = r"column 5: the value '3.5e38' is too large for float32"
        refused(FileError, match, read, "1 1:3.5e38\n", dtype="float32")

    def test_sparse_when_it_pays(self, read, monkeypatch):
        text = "1 1:5 9:nan\n0\n0 4:2\n"
        dense = read(text)
        assert isinstance(dense.X, np.ndarray)
        forced = read(text, sparse=True)
        assert isinstance(forced.X, csr_array)
        monkeypatch.setattr(table, "_SMALL_TABLE", 0)
        chosen = read(text)  # 3 of 27 cells
        assert isinstance(chosen.X, csr_array)
        assert "X is sparse: 3 of 27 cells are in the file" in chosen.notes
        for data in (forced, chosen):
            np.testing.assert_array_equal(data.X.toarray(), dense.X)
        assert isinstance(read(text, sparse=False).X, np.ndarray)
        assert isinstance(read("1 1:5 9:7 4:2\n".replace(" 9:7 4:2", " 2:7 4:2")).X, np.ndarray)

    def test_a_table_far_too_large_is_refused_with_its_size(self, read):
        text = "1 1:5 2000000000:1\n" * 3
        sparse = read(text)
        assert sparse.X.shape == (3, 2_000_000_000)
        assert sparse.feature_names is None
        assert any("features have no names" in note for note in sparse.notes)
        match = r"3 rows and 2000000000 columns would take 44\.7 GiB"
        for options in ({"absent": "missing"}, {"sparse": False}):
            refused(FileError, match, read, text, **options)

    @pytest.mark.parametrize(("options", "match"), [
        ({"absent": "none"}, "'absent' parameter of read_svmlight must be one of 'zero', 'm"),
        ({"index_base": 2}, "'index_base' parameter"),
        ({"index_base": True}, "'index_base' parameter"),
        ({"n_features": 0}, "'n_features' parameter"),
        ({"dtype": int}, "'dtype' parameter of read_svmlight must be float32 or float64"),
        ({"dtype": "x"}, "'dtype' parameter of read_svmlight must be float32 or float64"),
        ({"sparse": 1}, "'sparse' parameter"),
        ({"sparse": True, "absent": "missing"}, "'auto' or False when absent='missing'"),
    ])  # fmt: skip
    def test_options_that_cannot_be(self, read, options, match):
        refused(ParameterError, match, read, "1 1:1\n", **options)


@pytest.mark.kernels
class TestLargeFiles:
    """The same through the compiled parser, over many blocks and threads."""

    @pytest.mark.parametrize("packed", [False, True])
    def test_blocks_and_threads(self, tmp_path, monkeypatch, packed):
        rng = np.random.default_rng(1)
        X = np.round(rng.normal(size=(60, 5)), 3)
        X[rng.random(X.shape) < 0.3] = 0
        qid = np.repeat([f"q{i}" for i in range(12)], 5).astype(object)
        item = np.array([f"d{i}" * (i % 9) for i in range(60)], object)
        path = tmp_path / ("x.gz" if packed else "x")
        write_svmlight(path, Dataset(X, np.arange(60.0), qid, item))
        small = read_svmlight(path)
        monkeypatch.setattr(runtime, "TEXT_PLAIN", 2)
        monkeypatch.setattr(blocks, "BLOCK", 311)
        monkeypatch.setattr(runtime, "FILL_PLAIN", 0)
        for n_jobs in (1, 3):
            large = read_svmlight(path, n_jobs=n_jobs)
            for data in (small, large):
                np.testing.assert_array_equal(data.X, X)
                np.testing.assert_array_equal(data.y, np.arange(60))
                np.testing.assert_array_equal(data.qid, qid)
                np.testing.assert_array_equal(data.item, item)
        sparse = read_svmlight(path, sparse=True)
        np.testing.assert_array_equal(sparse.X.toarray(), X)


@pytest.mark.kernels
def test_comments_for_many_blocks_before_the_first_row(read, monkeypatch):
    monkeypatch.setattr(runtime, "TEXT_PLAIN", 2)
    monkeypatch.setattr(blocks, "BLOCK", 16)
    text = "# a comment line\n" * 10 + "1 qid:a 1:2\n2 1:2\n"
    match = r"line 12, column 2: .* first row \(line 11\) has one"
    refused(FileError, match, read, text)


class TestWrite:
    def test_text(self, tmp_path):
        path = tmp_path / "x"
        X = np.array([[0.5, nan], [0.0, -0.0]])
        data = Dataset(X, np.array([2, 0]), np.array(["a", "b"], object), ["x y", ""])
        write_svmlight(path, data)
        assert path.read_text() == "2.0 qid:a 1:0.5 2:nan # x y\n0.0 qid:b 2:-0.0\n"
        write_svmlight(path, data, absent="missing", index_base=0)
        assert path.read_text() == "2.0 qid:a 0:0.5 # x y\n0.0 qid:b 0:0.0 1:-0.0\n"

    def test_sparse(self, tmp_path):
        path = tmp_path / "x"
        data = Dataset(csr_array(np.array([[0, 2.0], [0, 0], [3.0, 0]])), np.zeros(3))
        write_svmlight(path, data)
        assert path.read_text() == "0.0 2:2.0\n0.0\n0.0 1:3.0\n"
        match = "sparse X has no missing cells"
        refused(DataError, match, write_svmlight, path, data, absent="missing")

    def test_names_from_zero_are_kept(self, tmp_path):
        path = tmp_path / "x"
        write_svmlight(path, Dataset(np.ones((1, 2)), np.zeros(1), feature_names=["0", "1"]))
        assert read_svmlight(path).feature_names == ["0", "1"]

    @pytest.mark.parametrize(("change", "match"), [
        ({"y": None}, "needs a finite label"),
        ({"y": np.array([nan])}, "needs a finite label"),
        ({"y": np.zeros(2)}, "X of a Dataset has 1 rows, and y has 2"),
        ({"qid": ["a b"]}, "qid 'a b' of row 0 cannot be written"),
        ({"qid": ["a#b"]}, "qid 'a#b' of row 0"),
        ({"qid": [""]}, "qid '' of row 0"),
        ({"item": ["a\nb"]}, r"item 'a\\nb' of row 0"),
        ({"item": [" a"]}, "item ' a' of row 0"),
        ({"item": ["docid = a b"]}, "item 'docid = a b' of row 0"),
        ({"X": np.array([[1, np.inf]])}, "X is infinite in row 0, column 1"),
    ])  # fmt: skip
    def test_what_would_not_come_back_is_refused(self, tmp_path, change, match):
        parts = {"X": np.ones((1, 2)), "y": np.zeros(1), **change}
        refused(DataError, match, lambda: write_svmlight(tmp_path / "x", Dataset(**parts)))
        assert os.listdir(tmp_path) == []


def test_a_block_of_blank_lines_in_a_sparse_file(read, monkeypatch):
    monkeypatch.setattr(runtime, "TEXT_PLAIN", 0)
    monkeypatch.setattr(blocks, "BLOCK", 64)
    found = read(b"1 1:1 9:2\n" + b"\n" * 300 + b"0 2:3\n", sparse=True, n_jobs=1).X
    assert found.toarray()[:, [0, 1, 8]].tolist() == [[1, 0, 2], [0, 3, 0]]


GOOD = b"1 qid:1 1:0.5 2:1\n"

# What follows a good line, the place in it, and what is said.
BAD_LINES = [
    (b"1 1:0.5", 2, r"no 'qid:' after the label, but the first row \(line 2\) has one"),
    (b"1 qid: 1:0.5", 3, "expected an id right after 'qid:'"),
    (b"1 qid:1 qid:2", 9, "'qid:' must come once, right after the label"),
    (b"x qid:1 1:1", 1, "the label must be a finite number. Got 'x'"),
    (b"nan qid:1 1:1", 1, "the label must be a finite number. Got 'nan'"),
    (b"null qid:1 1:1", 1, "the label must be a finite number. Got 'null'"),
    (b"-inf qid:1 1:1", 1, "the label must be a finite number. Got '-inf'"),
    (b"1e999 qid:1 1:1", 1, "the label must be a finite number. Got '1e999'"),
    (b"0x1 qid:1 1:1", 1, "the label must be a finite number. Got '0x1'"),
    (b"1_0 qid:1 1:1", 1, "the label must be a finite number. Got '1_0'"),
    (b"1,qid:1 1:1", 1, "a line must begin with its label"),
    (b" qid:1 1:1", 2, "a line must begin with its label, as in '2 qid:7 1:0.5'"),
    (b"\xd9\xa1 qid:1 1:1", 1, r"finite number. Got '\\u0661'"),
    (b"\x1b[31m qid:1 1:1", 1, r"finite number. Got '\\x1b\[31m'"),
    (b"1 qid:1 3", 9, "expected index:value, as in '3:0.25'. Got '3'"),
    (b"1 qid:1 :2", 9, "expected index:value"),
    (b"1 qid:1 1:", 11, "expected a value right after ':'. Got nothing"),
    (b"1 qid:1 1:#x", 11, "expected a value right after ':'. Got nothing"),
    (b"1 qid:1 1:2:3", 11, "a value must be a number, or 'nan' for missing. Got '2:3'"),
    (b"1 qid:1 1:2,5", 11, "a value must be a number, or 'nan' for missing. Got '2,5'"),
    (b"1 qid:1 1:1e", 11, "a value must be a number"),
    (b"1 qid:1 1:--1", 11, "a value must be a number"),
    (b"1 qid:1 1:nano", 11, "a value must be a number"),
    (b"1 qid:1 1:1_000", 11, "a value must be a number"),
    (b"1 qid:1 1:inf", 11, "a value must be finite, or 'nan' for missing. Got 'inf'"),
    (b"1 qid:1 1:-Infinity", 11, "a value must be finite"),
    (b"1 qid:1 1:1e400", 11, "the value '1e400' is too large for float64"),
    (b"1 qid:1 1:1e400 1:2", 11, "the value '1e400' is too large for float64"),
    (b"1e400 qid:1 1:1e400 1:2", 1, "label"),
    (b"1 qid:1 bm25:0.5", 9, "Got 'bm25:0.5'. Features with names go into a CSV file"),
    (b"1 qid:1 -3:0.5", 9, "a feature index must not be negative. Got '-3:0.5'"),
    (b"1 qid:1 +3:0.5", 9, "expected index:value"),
    (b"1 qid:1 3.0:0.5", 9, "expected index:value"),
    (b"1 qid:1 3:1 2:1", 13, "index 2 comes after 3; indices must ascend"),
    (b"1 qid:1 3:1 3:1", 13, "index 3 comes after 3; indices must ascend"),
    (b"1 qid:1 03:1 003:1", 14, "index 3 comes after 3"),
    (b"1 qid:1 1000000000000000000:1", 9, "the index in '1000000000000000000:1' is above 2147"),
    (b"1 qid:1 2147483647:1", 9, "above 2147483646, the largest this library counts"),
    (b"1 qid:1 " + b"9" * 9000 + b":1", 9, r"the index in '9{40}'\.\.\. is above 2147483646"),
    (b"1 qid:\xc3\xbc 1:x", 11, "a value must be a number"),  # (columns are characters)
    (b"1 qid:1 1:\x002", 11, "there is a NUL byte"),
    (b"1 qid:1 1:2 # \x00", 15, "there is a NUL byte"),
    (b"# \x00", 3, "there is a NUL byte"),
]


@pytest.mark.usefixtures("parser")
class TestBadLines:
    @pytest.mark.parametrize(("line", "column", "match"), BAD_LINES)
    @pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\n" + GOOD, b"\nworse\n"])
    def test_place_and_words(self, made, line, column, match, end):
        path = made(b"# head\n" + GOOD + b"\n" + line + end, "bad.txt")
        with pytest.raises(FileError, match=match) as caught:
            read_svmlight(path)
        assert (caught.value.line, caught.value.column) == (4, column)
        assert str(caught.value).startswith(f"{path}, line 4, column {column}: ")
        assert len(str(caught.value)) < len(str(path)) + 300

    @pytest.mark.parametrize(
        ("text", "match"),
        [
            (b"\n1 1:2\n0 qid:1 1:3\n", r"line 3, column 3: there is a qid, but .*line 2"),
            *((text, r"x\.txt: there is no row in this file")
              for text in (b"", b"\n", b" \t\r\n\n", b"# a\n#b", b"\xef\xbb\xbf")),
            (b"1\n2\n", "there is no feature in any row"),
            (gzip.compress(GOOD * 100, mtime=0)[:-10], r"x\.txt: the gzip data end too early"),
        ],
    )  # fmt: skip
    def test_whole_files(self, read, text, match):
        refused(FileError, match, read, text)

    def test_index_below_the_base(self, read):
        match = r"line 2, column 3: index 0 is below the first .*\(index_base=1\)"
        refused(FileError, match, read, b"1 1:2\n0 0:3\n", index_base=1)

    def test_a_bad_line_before_the_cut_comes_first(self, read, monkeypatch):
        monkeypatch.setattr(blocks, "BLOCK", 64)
        text = GOOD + b"1 qid:1 1:x\n" + GOOD * 50 + b"\0"
        refused(FileError, "line 2, column 11: a value must be a number", read, text)


def test_a_directory_and_a_missing_file(tmp_path):
    refused(FileError, "this is a directory", read_svmlight, tmp_path)
    refused(FileError, "no such file", read_svmlight, tmp_path / "x")


@pytest.mark.kernels
def test_nothing_endless_is_read_to_its_end():
    match = "/dev/zero, line 1, column 1: there is a NUL byte"
    refused(FileError, match, read_svmlight, "/dev/zero")


@pytest.mark.parametrize("text", [
    b"1 qid:1 1:1 2147483646:1\n" * 5_000,
    b"1\n" * 50_000 + b"1 2000000000:1\n",
    b"1 1:1 # " + b"x" * 400_000 + b"\n" + b"0 1:2 # y\n" * 10_000,
    b"1 qid:" + b"x" * 400_000 + b" 1:1\n" + b"0 qid:y 1:2\n" * 10_000,
])  # fmt: skip
def test_memory_is_bounded_by_the_text(made, monkeypatch, text):
    monkeypatch.setattr(blocks, "BLOCK", 1 << 16)  # (read ahead whatever the size)
    path = made(text)
    tracemalloc.start()
    try:
        read_svmlight(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 64 * len(text) + 2**20


@pytest.mark.parametrize("text", [
    b"1 1:" + b"1" * 900_000 + b"x",
    b" " * 900_000,
    b"1 1:1 #docid" + b" " * 900_000 + b"?",
    b"1 " + b"0" * 900_000 + b"1:x",
    b"\n" * 900_000,
])  # fmt: skip
def test_no_text_takes_long(made, text):
    path = made(text)
    began = time.process_time()
    with contextlib.suppress(FileError):
        read_svmlight(path)
    assert time.process_time() - began < 5  # (what is quadratic takes hours)


def test_features_get_names(tmp_path):
    path, names = tmp_path / "x.txt", tmp_path / "names.txt"
    path.write_text("1 1:2 2:3\n0 1:1 2:5\n")
    names.write_text("bm25\nage\n")
    for one in (names, str(names), ["bm25", "age"]):
        assert read_svmlight(path, feature_names=one).feature_names == ["bm25", "age"]
    assert read_data(path, feature_names=names).feature_names == ["bm25", "age"]
    names.write_text("2 age\n")
    assert read_svmlight(path, feature_names=names).feature_names == ["1", "age"]
    for wrong in (["bm25"], ["age", "age"]):
        with pytest.raises(ParameterError, match="must be 2 different names"):
            read_svmlight(path, feature_names=wrong)
    names.write_text("a\nb\nc\n")
    with pytest.raises(FileError, match=r"line 3: there is no feature 3: there are 2, from 1 on"):
        read_svmlight(path, feature_names=names)
