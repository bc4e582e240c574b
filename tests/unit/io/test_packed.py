"""Packed files that unpack to far more than their size."""

import gzip
import random
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pytest
from openpyxl.utils import get_column_letter
from pyarrow.parquet import write_table

from crucial import read_data
from crucial.data import files
from crucial.errors import FileError
from refusals import refused

MIB = 1 << 20
VARIABLE = "CRUCIAL_MAX_UNPACKED_MIB"

# Reads a file and prints the error, then the MiB that reading took at most.
PEAK = """
import resource, sys
import numpy, pyarrow.parquet, openpyxl
from crucial import read_data, read_pairs, read_ratings
from crucial.io.comparisons import read_comparisons
from crucial.errors import FileError
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
before = peak()
try:
    data = globals()[sys.argv[1]](sys.argv[2])
    print(data.n_rows)
except FileError as error:
    print(error)
print(peak() - before)
"""


def peak(path: Path, reader: str = "read_data") -> tuple[str, int]:
    command = [sys.executable, "-c", PEAK, reader, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    *said, mib = done.stdout.splitlines()
    assert len(said) == 1, done.stdout  # (one line)
    return said[0], int(mib)


def repeated(path: Path, head: bytes, line: bytes, mib: int) -> int:
    """Write a packed file of the same line; returns how many times its size it unpacks to."""
    member = gzip.compress(line * (4 * MIB // len(line)), 9)
    path.write_bytes((gzip.compress(head) if head else b"") + member * (mib // 4))
    return mib * MIB // path.stat().st_size


@pytest.mark.parametrize(("name", "reader", "head", "line"), [
    ("a.csv.gz", "read_data", b"label,f,g\n", b"1,2,3\n"),
    ("a.svm.gz", "read_data", b"", b"1 qid:1 1:0.5 7:1\n"),
    ("a.jsonl.gz", "read_data", b"", b'{"label": 1, "f": 2}\n'),
    ("a.pairs.gz", "read_pairs", b"", b"0\t1\n"),
    ("a.ratings.gz", "read_ratings", b"", b"1\t2\t3\n"),
    ("a.csv.gz", "read_comparisons", b"winner,loser\n", b"a,b\n"),
    ("a.csv.gz", "read_data", b"", b"1"),  # (one line without an end)
])  # fmt: skip
def test_gzip_that_expands_a_thousand_times(tmp_path, name, reader, head, line):
    path = tmp_path / name
    assert repeated(path, head, line, 1024) > 400
    said, mib = peak(path, reader)
    assert re.fullmatch(rf"{path}: this file of [\d,]+ bytes unpacks to .*{VARIABLE} .*", said)
    assert mib < 256  # (of the 1,024 that it unpacks to)


def test_gzip_that_expands_later(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, "4")
    path, draw = tmp_path / "a.csv.gz", random.Random(0)
    start = b"".join(b"1,%d\n" % draw.randrange(10**9) for _ in range(10**4))
    repeated(path, b"label,f\n" + start, b"1,2\n", 64)
    monkeypatch.setattr(files, "_PART", 1 << 16)  # (so that the start looks like an ordinary file)
    monkeypatch.setattr(gzip, "open", None)
    refused(FileError, "over 200 times its size", read_data, path)


@pytest.mark.parametrize("mib", ["", "1"])
def test_ordinary_files_are_read(tmp_path, monkeypatch, mib):
    monkeypatch.setenv(VARIABLE, mib)
    path = tmp_path / "a.svm.gz"
    # A log in which most rows are alike: 8 MiB, packed about 100 times.
    draw = random.Random(1)
    lines = [
        b"%d qid:%d 1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:1 9:1 10:1\n" % (draw.random() < 0.1, row // 100)
        for row in range(8 * MIB // 56)
    ]
    path.write_bytes(gzip.compress(b"".join(lines), 9))
    assert 80 < 8 * MIB / path.stat().st_size < 200
    assert read_data(path).n_rows == len(lines)


def test_the_variable(tmp_path, monkeypatch):
    path = tmp_path / "a.csv.gz"
    repeated(path, b"label,f\n", b"1,2\n", 8)
    assert read_data(path).n_rows == 8 * MIB // 4
    monkeypatch.setenv(VARIABLE, "7")
    refused(FileError, r"a\.csv\.gz: .* unpacks to .*, over 200 times its size\.", read_data, path)
    monkeypatch.setenv(VARIABLE, "9")
    assert read_data(path).n_rows == 8 * MIB // 4
    monkeypatch.setenv(VARIABLE, "9 MiB")
    match = f"{VARIABLE} must be a whole number of MiB. Got '9 MiB'"
    refused(FileError, match, read_data, path)


def test_a_cut_file_is_still_called_so(made):
    cut = gzip.compress(b"label,f\n" + b"1,2\n" * (8 * MIB))[:-9]
    refused(FileError, "end too early", read_data, made(cut, "a.csv.gz"))


class TestParquet:
    @staticmethod
    def write(path: Path, rows: int, columns: dict[str, object]) -> None:
        table = {name: pa.array([value]).take([0] * rows) for name, value in columns.items()}
        write_table(pa.table(table), path)

    def test_constant_columns(self, tmp_path):
        path = tmp_path / "a.parquet"
        self.write(path, MIB, {"label": 1.0} | {f"f{i}": float(i) for i in range(63)})
        assert 8 * 64 * MIB / path.stat().st_size > 1000
        said, mib = peak(path)
        assert "unpacks to 536,870,912 bytes or more" in said
        assert mib < 100

    def test_a_few_constant_columns_are_read(self, tmp_path):
        path = tmp_path / "a.parquet"
        self.write(path, MIB, {"label": 1.0, "f": 2.0, "g": 3.0})
        assert peak(path)[0] == str(MIB)

    @pytest.mark.parametrize("declared", [True, False])
    def test_a_long_text_in_many_rows(self, tmp_path, declared):
        path, rows = tmp_path / "a.parquet", 2000
        text = pa.array(["x" * MIB]).dictionary_encode().take([0] * rows)
        columns = dict.fromkeys(("qid", "item", "f"), text)
        write_table(pa.table({"label": [1.0] * rows, **columns}), path, store_schema=declared)
        assert path.stat().st_size < MIB
        said, mib = peak(path)
        assert said == str(rows)
        assert mib < 100


MUCH, MANY = "unpacks to 5", "line 1048577: a sheet has at most 1,048,576 rows"


def cell(row: int, column: int) -> str:
    return f'<row r="{row}"><c r="{get_column_letter(column)}{row}"><v>1</v></c></row>'


class TestExcel:
    @pytest.fixture(autouse=True)
    def _32_mib(self, monkeypatch):
        monkeypatch.setenv(VARIABLE, "32")

    @staticmethod
    def write(path: Path, rows: list[str], shared: str = "") -> None:
        plain = path.with_name("plain.xlsx")
        book = openpyxl.Workbook()
        book.active.append(["label", "f"])
        book.active.append([1, 2])
        book.save(plain)
        with zipfile.ZipFile(plain) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
            for name in old.namelist():
                text = old.read(name).decode()
                if name.endswith("sheet1.xml"):
                    head, tail = text.split("</sheetData>")
                    with new.open(name, "w") as part:
                        for one in (head, *rows, f"</sheetData>{tail}"):
                            part.write(one.encode())
                elif name == "[Content_Types].xml" and shared:
                    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
                    own = f'ContentType="{kind}.sharedStrings+xml" PartName="/strings.xml"'
                    new.writestr(name, text.replace("</Types>", f"<Override {own}/></Types>"))
                else:
                    new.writestr(name, text)
            space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
            new.writestr("strings.xml", f"<sst {space}><si><t>{shared}</t></si></sst>")

    @pytest.mark.parametrize(
        ("rows", "shared", "words", "most"),
        [
            (["<row><c><v>1</v></c><c><v>2</v></c></row>" * (4 * MIB // 40)] * 12, "", MUCH, 50),
            # (cells far to the right, and in each row another column)
            ([cell(i, 16384) for i in range(3, 1000)], "", "unpacks to", 2 * 32),
            ([cell(i, i) for i in range(3, 3500)], "", "unpacks to", 2 * 32),
            (['<row r="2000000000"><c><v>1</v></c></row>'], "", MANY, 50),
            (
                ['<row><c t="s"><v>0</v></c></row>' * 200],
                "x" * (MIB - 1) + " ",
                "unpacks to",
                5 * 32,
            ),
        ],
        ids=["many rows", "far", "own columns", "any number", "a long text"],
    )
    def test_too_much(self, tmp_path, rows, shared, words, most):
        self.write(tmp_path / "a.xlsx", rows, shared)
        said, mib = peak(tmp_path / "a.xlsx")
        assert words in said
        assert mib < most

    def test_a_column_far_away(self, tmp_path):
        path = tmp_path / "a.xlsx"
        book = openpyxl.Workbook()
        book.active.append(["label", "f"])
        for row in range(2000):
            book.active.append([1, row % 7])
        book.active["XFD1"], book.active["XFD9"] = "far", 5
        book.save(path)
        data = read_data(path)
        assert data.feature_names == ["f", "far"]
        assert data.X[7].tolist() == [0.0, 5.0]
        assert np.isnan(data.X[:, 1]).sum() == 1999
        assert peak(path)[1] < 100  # (the whole rectangle would have 250)
