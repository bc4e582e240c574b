"""Bad svmlight files: each refused once, naming file, line and column."""

from __future__ import annotations

import contextlib
import gzip
import time
import tracemalloc

import pytest
import scipy.sparse  # noqa: F401 (its own memory is not to be counted)

from crucial.errors import FileError
from crucial.io import text as blocks
from crucial.io.svmlight import read_svmlight
from crucial.kernels import runtime

GOOD = b"1 qid:1 1:0.5 2:1\n"

# What follows a good line, the place in it, and what is said.
BAD_LINES = [
    (b"1 1:0.5", 2, r"no 'qid:' after the label, but the first row \(line 2\) has one"),
    (b"1", 2, "no 'qid:' after the label"),
    (b"1 1:0.5 qid:1", 2, "no 'qid:' after the label"),
    (b"1 qid: 1:0.5", 3, "expected an id right after 'qid:'"),
    (b"1 qid:# x", 3, "expected an id right after 'qid:'"),
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
    (b"1:1 2:2", 1, "a line must begin with its label"),
    (b"\xd9\xa1 qid:1 1:1", 1, r"finite number. Got '\\u0661'"),
    (b"\x1b[31m qid:1 1:1", 1, r"finite number. Got '\\x1b\[31m'"),
    (b"1 qid:1 3", 9, "expected index:value, as in '3:0.25'. Got '3'"),
    (b"1 qid:1 1 :2", 9, "expected index:value"),
    (b"1 qid:1 :2", 9, "expected index:value"),
    (b"1 qid:1 1:", 11, "expected a value right after ':'. Got nothing"),
    (b"1 qid:1 1: 2", 11, "expected a value right after ':'. Got nothing"),
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
    (b"\x00", 1, "there is a NUL byte"),
    (b"1 qid:1 1:2 # \x00", 15, "there is a NUL byte"),
    (b"# \x00", 3, "there is a NUL byte"),
]


@pytest.fixture(params=["plain", pytest.param("compiled", marks=pytest.mark.kernels)])
def parser(request, monkeypatch):
    """Let small files go through both parsers."""
    if request.param == "compiled":
        monkeypatch.setattr(runtime, "TEXT_PLAIN", 2)


@pytest.mark.usefixtures("parser")
class TestLines:
    @pytest.mark.parametrize(("line", "column", "match"), BAD_LINES)
    @pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\n" + GOOD, b"\nworse\n"])
    def test_place_and_words(self, tmp_path, line, column, match, end):
        path = tmp_path / "bad.txt"
        path.write_bytes(b"# head\n" + GOOD + b"\n" + line + end)
        with pytest.raises(FileError, match=match) as caught:
            read_svmlight(path)
        assert (caught.value.line, caught.value.column) == (4, column)
        assert str(caught.value).startswith(f"{path}, line 4, column {column}: ")
        assert len(str(caught.value)) < len(str(path)) + 300

    def test_a_qid_among_lines_without(self, tmp_path):
        path = tmp_path / "bad.txt"
        path.write_bytes(b"\n1 1:2\n0 qid:1 1:3\n")
        with pytest.raises(FileError, match=r"line 3, column 3: there is a qid, but .*line 2"):
            read_svmlight(path)

    def test_index_below_the_base(self, tmp_path):
        path = tmp_path / "bad.txt"
        path.write_bytes(b"1 1:2\n0 0:3\n")
        with pytest.raises(
            FileError, match=r"line 2, column 3: index 0 is below the first .*\(index_base=1\)"
        ):
            read_svmlight(path, index_base=1)

    @pytest.mark.parametrize("text", [b"", b"\n", b" \t\r\n\n", b"# a\n#b", b"\xef\xbb\xbf"])
    def test_no_rows(self, tmp_path, text):
        path = tmp_path / "bad.txt"
        path.write_bytes(text)
        with pytest.raises(FileError, match=r"bad\.txt: there is no row in this file"):
            read_svmlight(path)

    def test_no_features(self, tmp_path):
        path = tmp_path / "bad.txt"
        path.write_bytes(b"1\n2\n")
        with pytest.raises(FileError, match="there is no feature in any row"):
            read_svmlight(path)

    def test_a_gz_cut_short(self, tmp_path):
        path = tmp_path / "bad.gz"
        path.write_bytes(gzip.compress(GOOD * 100)[:-10])
        with pytest.raises(FileError, match=r"bad\.gz: the gzip data end too early"):
            read_svmlight(path)

    def test_a_bad_line_before_the_cut_comes_first(self, tmp_path, monkeypatch):
        monkeypatch.setattr(blocks, "BLOCK", 64)
        path = tmp_path / "bad"
        path.write_bytes(GOOD + b"1 qid:1 1:x\n" + GOOD * 50 + b"\0")
        with pytest.raises(FileError, match="line 2, column 11: a value must be a number"):
            read_svmlight(path)


def test_a_directory_and_a_missing_file(tmp_path):
    with pytest.raises(FileError, match="this is a directory"):
        read_svmlight(tmp_path)
    with pytest.raises(FileError, match="no such file"):
        read_svmlight(tmp_path / "x")


@pytest.mark.kernels
def test_nothing_endless_is_read_to_its_end():
    with pytest.raises(FileError, match="/dev/zero, line 1, column 1: there is a NUL byte"):
        read_svmlight("/dev/zero")


@pytest.mark.parametrize(
    "text",
    [
        b"1 qid:1 1:1 2147483646:1\n" * 5_000,
        b"1\n" * 50_000 + b"1 2000000000:1\n",
        b"1 1:1 # " + b"x" * 400_000 + b"\n" + b"0 1:2 # y\n" * 10_000,
        b"1 qid:" + b"x" * 400_000 + b" 1:1\n" + b"0 qid:y 1:2\n" * 10_000,
    ],
)
def test_memory_is_bounded_by_the_text(tmp_path, monkeypatch, text):
    monkeypatch.setattr(blocks, "BLOCK", 1 << 16)  # (read ahead whatever the size)
    path = tmp_path / "x"
    path.write_bytes(text)
    tracemalloc.start()
    try:
        read_svmlight(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 64 * len(text) + 2**20


@pytest.mark.parametrize(
    "text",
    [
        b"1 1:" + b"1" * 900_000 + b"x",
        b" " * 900_000,
        b"1 1:1 #docid" + b" " * 900_000 + b"?",
        b"1 " + b"0" * 900_000 + b"1:x",
        b"\n" * 900_000,
    ],
)
def test_no_text_takes_long(tmp_path, text):
    path = tmp_path / "x"
    path.write_bytes(text)
    began = time.process_time()
    with contextlib.suppress(FileError):
        read_svmlight(path)
    assert time.process_time() - began < 5  # (what is quadratic takes hours)
