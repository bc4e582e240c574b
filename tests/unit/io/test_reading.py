"""One reader for all kinds of files."""

from __future__ import annotations

import gzip
import os

import pytest

import crucial
from crucial.data.dataset import Dataset
from crucial.errors import FileError, ParameterError
from crucial.io.comparisons import read_comparisons
from crucial.io.tables import find_format, read_data
from crucial.io.writing import write_table


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("x.txt", b"1 qid:1 1:2\n", "svmlight"),
        ("x", b"\xef\xbb\xbf\n# head\n  0.5\t3:4\n", "svmlight"),
        ("x.dat", b"-1 0:1\n", "svmlight"),
        ("x.txt", gzip.compress(b"1 qid:a:b 1:2\n", mtime=0), "svmlight"),
        ("x.SVM.gz", b"", "svmlight"),
        ("x.txt", b"label,a\n1,2\n", "table"),
        ("x.txt", b"qid label\ta b\n", "table"),
        ("x.txt", b"label;a 1:2\n", "table"),
        ("x", b"PAR1....", "table"),
        ("x.CSV", b"1 1:2\n", "table"),
        ("x.tsv.gz", b"", "table"),
    ],
)
def test_kinds(tmp_path, name, text, kind):
    (tmp_path / name).write_bytes(text)
    assert find_format(tmp_path / name) == kind


def test_neither(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"hello world\n")
    with pytest.raises(FileError, match=r"neither svmlight .* Say which it is with format="):
        read_data(path)
    path.write_bytes(b"# only\n\n")
    with pytest.raises(FileError, match="there is no row at the start"):
        read_data(path)
    with pytest.raises(FileError, match="no such file"):
        read_data(tmp_path / "y")


def test_reads(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"1 qid:1 2:2\n")
    assert read_data(path, n_features=3).X.tolist() == [[0, 2, 0]]
    path.write_bytes(b"label,a\n1,2\n")
    assert read_data(path, features=["a"]).X.tolist() == [[2]]
    path.write_bytes(b"5\n")
    assert read_data(path, "svmlight", n_features=1).y.tolist() == [5]


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    import numpy as np

    write_table(tmp_path / "x.parquet", Dataset(np.ones((2, 1)), np.zeros(2)))
    (tmp_path / "x.parquet").rename(tmp_path / "x.bin")
    assert read_data(tmp_path / "x.bin").X.tolist() == [[1], [1]]


def test_options_of_the_other_kind_are_refused(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"label,a\n1,2\n")
    with pytest.raises(ParameterError, match="read as table, which has no option 'absent'; it has"):
        read_data(path, absent="missing")
    with pytest.raises(ParameterError, match="'format' parameter of read_data"):
        read_data(path, "csv")


@pytest.mark.parametrize("reader", ["read_data", "read_table", "read_run", "read_qrels"])
def test_a_pipe_whose_format_must_be_found_is_refused(reader, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match=r"a pipe, which can be read only once.* to a file first"):
        getattr(crucial, reader)(tmp_path / "pipe")
    with pytest.raises(FileError, match="a pipe, which can be read only once"):
        read_comparisons(tmp_path / "pipe")


@pytest.mark.parametrize("text", ['{"label": 1, "label": 0, "a": 2}\n', '[{"a": 1, "a": 2}]'])
def test_a_key_twice_is_refused(text, tmp_path):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(FileError, match=r"it has the key '.*' twice"):
        crucial.read_table(tmp_path / "x.json")
