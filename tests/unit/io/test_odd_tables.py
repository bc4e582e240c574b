"""Tables as other programs write them."""

import datetime
import gzip
import os
import zipfile

import numpy as np
import pandas as pd
import pytest

import crucial
from crucial import RankBoost
from crucial.data.dataset import Dataset
from crucial.errors import DataTypeError, FileError, ParameterError
from crucial.io.comparisons import read_comparisons
from crucial.io.tables import find_format, read_alike, read_data, read_table, to_moment
from crucial.io.writing import write_table
from refusals import refused

nan = np.nan


class TestDecimalComma:
    def test_found_and_noted(self, read):
        data = read("label;qid;a;b\n0,5;x,y;-1,5;2\n1;x.z;,25;1e-1\n")
        np.testing.assert_array_equal(data.X, [[-1.5, 2], [0.25, 0.1]])
        assert data.y.tolist() == [0.5, 1]
        assert data.qid.tolist() == ["x,y", "x.z"]
        assert data.notes == ["numbers have a decimal comma"]

    def test_a_point_beside_it_is_refused(self, read):
        feature = "column 2: feature 'a' .* Got"
        refused(FileError, f"line 3, {feature} '1,5'", read, "label;a\n0;1.5\n1;1,5\n")
        refused(FileError, rf"line 3, {feature} '1\.234,5'", read, "label;a\n0;1,5\n1;1.234,5\n")
        refused(FileError, rf"line 2, {feature} '1\.5'", read, "label;a\n0;1.5\n", decimal=",")
        # (between commas this may be thousands)
        refused(FileError, f"line 2, {feature} '1,234'", read, 'label,a\n0,"1,234"\n')
        assert read('label,a\n0,"1,234"\n', decimal=",").X.tolist() == [[1.234]]
        match = "'decimal' parameter of read_table"
        refused(ParameterError, match, read, "label;a\n0;1\n", decimal=";")


def test_bars_between_cells_and_words_for_missing_values(read):
    assert read("label|a b|c\n1|2|3\n", qid=None).feature_names == ["a b", "c"]
    X = read("a,b\n?,N/A\n-,-9\n1,2\n", missing=["-", "-9"]).X
    np.testing.assert_array_equal(X, [[nan, nan], [nan, nan], [1, 2]])
    X = read("a,b\n1,-9.0\n-9,2\n", missing=["-9"]).X
    np.testing.assert_array_equal(X, [[1, nan], [nan, 2]])
    match = "'missing' parameter of read_table must be a list"
    refused(ParameterError, match, read, "a\n1\n", missing="-")


class TestEncodings:
    TEXT = "qid,label,größe\nMünchen,1,2\nK€ln,0,3\n"

    def test_latin_1_is_found_and_noted(self, read):
        data = read(self.TEXT.encode("cp1252"))
        assert data.feature_names == ["größe"]
        assert data.qid.tolist() == ["München", "K€ln"]
        assert data.notes == ["the text is not UTF-8 and was read as Latin-1 (Windows-1252)"]
        # (bytes that Windows does not have)
        assert read(b"qid,label,a\n\x81\xe9,1,2\n").qid.tolist() == ["\x81é"]

    def test_utf_16_as_spreadsheets_write_it(self, read, tmp_path):
        data = read(self.TEXT.replace(",", "\t").encode("utf-16"), name="x.txt")
        assert data.qid.tolist() == ["München", "K€ln"]
        assert data.notes == ["the text was read as UTF-16"]
        assert find_format(tmp_path / "x.txt") == "table"
        refused(FileError, "this is not UTF-16 text", read, self.TEXT.encode("utf-16")[:-1])

    def test_an_encoding_that_was_passed_is_used(self, read):
        assert read(self.TEXT.encode("iso8859-15"), encoding="iso8859-15").qid[1] == "K€ln"
        text, match = self.TEXT.encode("cp1252"), "line 1: this is not UTF-8 text"
        refused(FileError, match, read, text, encoding="utf-8")
        for name in ("cp037", "nonsense"):
            match = "'encoding' parameter .* contains ASCII"
            refused(ParameterError, match, read, self.TEXT, encoding=name)

    @pytest.mark.parametrize("name", ["utf-16", "UTF16", "utf-16-le", "utf_16_be"])
    def test_two_bytes_a_character(self, read, name):
        assert read(self.TEXT.encode(name), encoding=name).qid[1] == "K€ln"
        cut = self.TEXT.encode(name)[:-1]
        refused(FileError, "this is not UTF-16 text", read, cut, encoding=name)


def test_without_header_columns_are_known_by_number(read):
    data = read("2,q1,0.5\n0,q1,1.5\n", header=False, label="1", qid="2")
    assert (data.feature_names, data.X.tolist()) == (["3"], [[0.5], [1.5]])
    assert (data.y.tolist(), data.qid.tolist()) == ([2, 0], ["q1", "q1"])
    match = r"there is no column '4' \(label\); columns: '1', '2'"
    refused(FileError, match, read, "2,1,3\n", header=False, label="4")
    match = r"has only numbers\. .* with header=False"
    refused(FileError, match, read, "2,1,0.5\n0,1,1.5\n")
    match = r"has mostly numbers\. .* with header=False"
    refused(FileError, match, read, "2,1,,0.5,,\n0,1,,1.5,,1\n")
    match = "line 2, column 2: feature '2'"
    refused(FileError, match, read, "1,2\n1,x\n", header=False, label="1")


class TestUnusableColumns:
    TEXT = "label,a,url,b,note\n1,2,u.org,3,x\n0,3,v.org,z,7\n"

    def test_all_in_one_error(self, read):
        with pytest.raises(FileError) as caught:
            read(self.TEXT)
        assert str(caught.value).endswith(
            "x.csv: 3 columns cannot be features: 'url' (every value differs: an id, or free "
            "text), 'b' (line 3: 'z'), 'note' (line 2: 'x'). Leave them out with ignore=['url', "
            "'b', 'note']; one of them may be the item, with item='url', or have categories, with "
            "categories=['url']."
        )

    def test_many(self, read):
        rows = (",".join(cell for _ in range(40)) for cell in ("x", "1"))
        text = ",".join(f"c{i}" for i in range(40)) + "\n" + "\n".join(rows) + "\n"
        match = r"40 columns cannot .* 'c11' \(line 2: 'x'\) and 28 m"
        refused(FileError, match, read, text)

    def test_parquet(self, tmp_path):
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"a": [{"x": 1}], "b": [1], "c": [[2]]}), tmp_path / "x")
        match = r"2 columns .*: 'a' \(struct<.*, 'c' \(list<.*=\['a', 'c'\]"
        refused(FileError, match, read_table, tmp_path / "x")

    def test_labels_come_first(self, read):
        match = "no column 'label'; columns: 'a', 'grade'.*='grade'"
        refused(FileError, match, read, "a,grade,url\n1,2,u.org\n", needs_label=True)


class TestJsonLines:
    LINES = (
        b'{"qid": "q1", "label": 2, "a": 0.5, "hot": true}\n\n'
        b'{"label": 0, "qid": "q1", "a": null, "b": "1.5"}\n'
    )

    @pytest.mark.parametrize("name", ["x.jsonl", "x.ndjson", "x.txt", "x.jsonl.gz"])
    def test_keys_are_columns(self, made, name):
        packed = gzip.compress(self.LINES, mtime=0) if name.endswith("gz") else self.LINES
        path = made(packed, name)
        assert find_format(path) == "table"
        data = read_data(path)
        assert data.feature_names == ["a", "hot", "b"]
        np.testing.assert_array_equal(data.X, [[0.5, 1, nan], [nan, nan, 1.5]])
        assert (data.y.tolist(), data.qid.tolist()) == ([2, 0], ["q1", "q1"])

    @pytest.mark.parametrize(("text", "match"), [
        (b'{"a": 1}\n{"a": \n', "line 2: every line must be one JSON object"),
        (b'{"a": 1}\n[1]\n', r"line 2: every line must be one JSON object. Got '\[1\]'"),
        (b'{"label": 1, "a": [1]}\n', r"'a' \(\[1\]: lists and objects are no values"),
        (b'{"label": 1, "a": 1e999}\n', "line 1, column 2: feature 'a' .* Got 'Infinity'"),
        (b"{}\n", "there is no row with a key"),
        (b'{"label": 1, "a": 1}{"label": 1, "a": 2}\n', "line 1: every line must be one JSON"),
        (b'{"label": 1, "label": 0, "a": 2}\n', "it has the key '.*' twice"),
        (b'[{"a": 1, "a": 2}]', "it has the key '.*' twice"),
        (b'[{"label": 1, "a": 2}, 3]', r"entry 2 must be a JSON object\. Got '3'"),
        (b'[{"label": 1, "a": 2}', "this is not one list of JSON objects"),
    ])  # fmt: skip
    def test_bad(self, made, text, match):
        name = "x.json" if text.startswith(b"[") else "x.jsonl"
        refused(FileError, match, read_table, made(text, name))

    def test_a_list_of_objects_and_a_header(self, made):
        path = made('[{"label": 1, "a": 2},\n {"label": 0, "a": 3}]', "x.json")
        assert find_format(path) == "table"
        assert read_table(path, qid=None).X.tolist() == [[2], [3]]
        match = "'header' parameter of read_table must be True"
        refused(ParameterError, match, read_table, made(self.LINES, "x.jsonl"), header=False)


class TestExcel:
    openpyxl = pytest.importorskip("openpyxl")

    def write(self, path, rows, more=()):
        book = self.openpyxl.Workbook()
        book.active.title = "first"
        for row in rows:
            book.active.append(row)
        for title in more:
            book.create_sheet(title).append(["label", "z"])
            book[title].append([1, 7])
        book.save(path)
        return path

    def test_a_sheet(self, tmp_path):
        rows = [[], [None, "label", "qid", "a", "b"], [None, 2, "x", 0.5, True], [],
                [None, 0, "x", None, " 1.5"]]  # fmt: skip
        path = self.write(tmp_path / "x.xlsx", rows)
        assert find_format(path) == "table"
        data = read_data(path)
        np.testing.assert_array_equal(data.X, [[0.5, 1], [nan, 1.5]])
        assert data.feature_names == ["a", "b"]
        assert data.y.tolist() == [2, 0]

    def test_other_sheets(self, tmp_path):
        path = self.write(tmp_path / "x.xlsx", [["label", "a"], [1, 2]], ["second"])
        data = read_table(path, qid=None)
        assert data.notes == ["the sheet 'first' was read, not 'second' (sheet chooses)"]
        assert read_table(path, sheet="second").feature_names == ["z"]
        match = r"no column 'sec' \(sheet\)|no sheet 'sec'"
        refused(FileError, match, read_table, path, sheet="sec")
        path = self.write(tmp_path / "x.xlsx", [[1, 2], [0, 3]])
        assert read_table(path, header=False, label="1").X.tolist() == [[2], [3]]

    def test_bad(self, tmp_path, made):
        path = tmp_path / "x.xlsx"
        rows = [["label", "a", "b"], [1, "x", datetime.datetime(2020, 1, 2)], [1, 2, 7]]
        for some, match in (
            (rows, r"2 columns cannot be features: 'a' \(line 2: 'x'\)"),
            ([], "the sheet is empty"),
            ([["label", "a"]], "there is no row below the names"),
        ):
            refused(FileError, match, read_table, self.write(path, some))
        whole = self.write(path, [["label", "a"], [1, 2]])
        with zipfile.ZipFile(whole) as book, zipfile.ZipFile(tmp_path / "z.xlsx", "w") as damaged:
            for name in book.namelist():
                content = book.read(name)
                damaged.writestr(name, content[:-20] if name.endswith("sheet1.xml") else content)
        match = r"Excel file is damaged \(\w+ in openpyxl\)"
        refused(FileError, match, read_table, tmp_path / "z.xlsx")
        text = "label,a\n1,2\n"
        match = r"not an Excel file of the kind \.xlsx"
        refused(FileError, match, read_table, made(text, "x.xlsx"))
        refused(FileError, "cannot be read: no such file", read_table, tmp_path / "y.xlsx")
        old = made(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "x.xls")
        refused(FileError, r"old Excel file \(\.xls\); save it as", read_data, old)
        match = "'sheet' parameter .* no Excel file"
        refused(ParameterError, match, read_table, made(text, "x.csv"), sheet="a")

    def test_without_openpyxl_it_says_what_to_install(self, tmp_path, without):
        path = self.write(tmp_path / "x.xlsx", [["label", "a"], [1, 2]])
        without("openpyxl")
        refused(FileError, r"pip install crucial\[excel\]", read_table, path)


class TestCategoriesAndDates:
    TEXT = (
        "label,colour,day,a,clock\n1,red,2024-01-31,1,01:00\n0,?,31.1.2024 12:00,2,\n"
        "1,grün,,3,00:00:30\n0,red,2024-02-01T00:00+01:00,4,?\n"
    )

    def test_text(self, read):
        data = read(self.TEXT, qid=None)
        rows = data.X
        assert rows.levels == {0: ("grün", "red")}
        assert rows.times == {1: "days since 1970-01-01", 3: "seconds"}
        expected = [
            [1, 19753, 1, 3600], [nan, 19753.5, 2, nan], [0, nan, 3, 30],
            [1, 19753 + 23 / 24, 4, nan],
        ]  # fmt: skip
        np.testing.assert_allclose(rows.table, expected)
        assert data.notes == [
            "categories, with how many there are: colour (2)",
            "dates and times, as numbers: day (days since 1970-01-01), clock (seconds)",
        ]

    def test_numbers_as_categories(self, read):
        data = read("label,zip\n1,01234\n0,99\n1,99\n", qid=None, categories=["zip"])
        assert data.X.levels == {0: ("01234", "99")}
        match = r"no column 'zap' \(categories\)"
        refused(FileError, match, read, "label,zip\n1,2\n", categories=["zap"])

    def test_cells_that_are_not_what_the_others_are(self, read):
        rows = "".join("1,2024-01-31,red\n" for _ in range(1000))
        assert read(f"label,day,c\n{rows}0,,7\n").X.levels == {1: ("7", "red")}
        for text, match in (
            (
                f"label,day,c\n{rows}0,soon,red\n",
                "line 1002, column 2: feature 'day' must be a date",
            ),
            ("label,c\n1,7\n0,red\n", "line 3, column 2: feature 'c' .* Got 'red'"),
            ("label,day\n1,3/4/2024\n0,3/4/2024\n", r"'day' \(3/4/2024: day or month may be fir"),
            ("label,name\n1,ann\n0,bob\n", r"a column cannot be a feature: 'name' \(every value"),
            ("label,when\n1,10:00\n0,10:00:75\n", "line 3, column 2: .* a time such as 23:59, or"),
        ):
            refused(FileError, match, read, text)

    def test_parquet(self, tmp_path):
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        table = pa.table(
            {
                "label": [1, 0, 1],
                "colour": ["red", None, "red"],
                "shop": pa.array(["a", "b", "c"]).dictionary_encode(),
                "day": [datetime.date(1970, 1, 3), None, datetime.date(1970, 1, 1)],
                "a": [0.5, 1.5, nan],
            }
        )
        pq.write_table(table, tmp_path / "x.parquet")
        data = read_table(tmp_path / "x.parquet", qid=None)
        assert data.X.levels == {0: ("red",), 1: ("a", "b", "c")}
        expected = [[0, 0, 2, 0.5], [nan, 1, nan, 1.5], [0, 2, 0, nan]]
        np.testing.assert_array_equal(data.X.table, expected)
        assert data.X.declared == {1}

    def test_other_files_have_the_categories_of_the_first(self, made):
        paths = made("label,c\n1,red\n0,red\n", "a.csv"), made("label,c\n1,7\n0,8\n", "b.csv")
        first, second = read_alike(paths)
        assert first.X.levels == {0: ("red",)}
        assert second.X.levels == {0: ("7", "8")}


@pytest.mark.parametrize(("old", "words"), [
    (b"bm25", r"names of its columns must be UTF-8 text\. Got 'b\\ufffd25'\. Write the file"),
    (b"red!", r"the column 'colour' must be UTF-8 text\. Got 'r\\ufffdd!' in row 1 \(from 0\)"),
    (b"q one", r"the column 'qid' must be UTF-8 text\. Got 'q\\ufffdone' in row 0"),
    (b"thing", r"the column 'item_id' must be UTF-8 text\. Got 't\\ufffding' in row 2"),
])  # fmt: skip
def test_parquet_that_is_not_utf_8(tmp_path, old, words):
    pa = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    columns = {"bm25": [1.0, 2.0, 3.0], "label": [0, 1, 2], "colour": ["blue", "red!", "blue"]}
    columns |= {"qid": ["q one", "q one", "q two"], "item_id": ["a", "b", "thing"]}
    write_table(pa.table(columns), tmp_path / "x.parquet", use_dictionary=False)
    text = (tmp_path / "x.parquet").read_bytes()
    (tmp_path / "x.parquet").write_bytes(text.replace(old, old[:1] + b"\xff" + old[2:]))
    refused(FileError, words, read_data, tmp_path / "x.parquet", item="item_id")


# Dates and times, at the edges of the calendar and of the clock


def test_the_ends_of_the_calendar(made):
    first, last = "0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-01:00"
    assert to_moment(first) == pytest.approx(to_moment("0001-01-01") - 5 / 24)
    assert to_moment(last) == pytest.approx(to_moment("9999-12-31T23:59:59") + 1 / 24)
    assert read_data(made(f"label,when\n1,{first}\n0,{last}\n", "a.csv")).n_rows == 2


def test_times_of_day_and_german_dates():
    for cell, seconds in (("23:59:59.5", 86399.5), ("9:05", 32700)):
        assert to_moment(cell) == seconds
    for cell in ("10:00:75", "10:60", "24:00"):
        assert to_moment(cell) is None
    expected = to_moment("1999-12-31") + (9 * 3600 + 307) / 86400
    for clock in ("9:05:07", "09:05:07"):
        assert to_moment(f"31.12.1999 {clock}") == pytest.approx(expected)


def test_days_are_not_taken_for_seconds():
    days = pd.DataFrame({"when": pd.date_range("2024-01-01", periods=20)})
    ranker = RankBoost(5).fit(days, range(20))
    lengths = pd.DataFrame({"when": pd.to_timedelta(range(20), unit="h")})
    refused(DataTypeError, "seconds in 'when', .* on days since 1970", ranker.predict, lengths)


# One reader for all kinds of files


@pytest.mark.parametrize(("name", "text", "kind"), [
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
])  # fmt: skip
def test_kinds(made, name, text, kind):
    assert find_format(made(text, name)) == kind


@pytest.mark.parametrize(("text", "error", "match", "options"), [
    ("hello world\n", FileError, r"neither svmlight .* Say which it is with format=", {}),
    ("# only\n\n", FileError, "there is no row at the start", {}),
    ("a,b\n1,2\n", ParameterError, "as table, which has no option 'absent'", {"absent": "zero"}),
    ("a,b\n1,2\n", ParameterError, "'format' parameter of read_data", {"format": "csv"}),
])  # fmt: skip
def test_neither_kind_and_options_of_the_other(made, text, error, match, options):
    refused(error, match, read_data, made(text), **options)


def test_reads(made, tmp_path):
    assert read_data(made("1 qid:1 2:2\n"), n_features=3).X.tolist() == [[0, 2, 0]]
    assert read_data(made("label,a\n1,2\n"), features=["a"]).X.tolist() == [[2]]
    assert read_data(made("5\n"), "svmlight", n_features=1).y.tolist() == [5]
    write_table(tmp_path / "x.parquet", Dataset(np.ones((2, 1)), np.zeros(2)))
    (tmp_path / "x.parquet").rename(tmp_path / "x.bin")
    assert read_data(tmp_path / "x.bin").X.tolist() == [[1], [1]]
    refused(FileError, "no such file", read_data, tmp_path / "y")


@pytest.mark.parametrize("reader", ["read_data", "read_table", "read_run", "read_qrels"])
def test_a_pipe_whose_format_must_be_found_is_refused(reader, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    match = "a pipe, which can be read only once.* to a file first"
    refused(FileError, match, getattr(crucial, reader), tmp_path / "pipe")
    refused(FileError, "a pipe, which can be read only once", read_comparisons, tmp_path / "pipe")
