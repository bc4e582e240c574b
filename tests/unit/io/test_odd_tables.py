"""Tables as other programs write them."""

from __future__ import annotations

import builtins
import datetime
import gzip
import zipfile

import numpy as np
import pytest

from crucial.errors import FileError, ParameterError
from crucial.io.tables import find_format, read_data, read_table

nan = np.nan


class TestDecimalComma:
    def test_found_and_noted(self, read):
        data = read("label;qid;a;b\n0,5;x,y;-1,5;2\n1;x.z;,25;1e-1\n")
        np.testing.assert_array_equal(data.X, [[-1.5, 2], [0.25, 0.1]])
        assert data.y.tolist() == [0.5, 1]
        assert data.qid.tolist() == ["x,y", "x.z"]
        assert data.notes == ["numbers have a decimal comma"]

    def test_a_point_beside_it_is_refused(self, read):
        with pytest.raises(FileError, match=r"line 3, column 2: feature 'a' .* Got '1,5'"):
            read("label;a\n0;1.5\n1;1,5\n")
        with pytest.raises(FileError, match=r"line 3, column 2: feature 'a' .* Got '1\.234,5'"):
            read("label;a\n0;1,5\n1;1.234,5\n")
        with pytest.raises(FileError, match=r"line 2, column 2: feature 'a' .* Got '1\.5'"):
            read("label;a\n0;1.5\n", decimal=",")

    def test_thousands_between_commas_are_refused(self, read):
        with pytest.raises(FileError, match=r"line 2, column 2: feature 'a' .* Got '1,234'"):
            read('label,a\n0,"1,234"\n')
        assert read('label,a\n0,"1,234"\n', decimal=",").X.tolist() == [[1.234]]

    def test_bad_values(self, read):
        with pytest.raises(ParameterError, match="'decimal' parameter of read_table"):
            read("label;a\n0;1\n", decimal=";")


def test_bars_between_cells(read):
    assert read("label|a b|c\n1|2|3\n", qid=None).feature_names == ["a b", "c"]


def test_words_for_missing_values(read):
    X = read("a,b\n?,N/A\n-,-9\n1,2\n", missing=["-", "-9"]).X
    np.testing.assert_array_equal(X, [[nan, nan], [nan, nan], [1, 2]])
    np.testing.assert_array_equal(
        read("a,b\n1,-9.0\n-9,2\n", missing=["-9"]).X, [[1, nan], [nan, 2]]
    )
    with pytest.raises(ParameterError, match="'missing' parameter of read_table must be a list"):
        read("a\n1\n", missing="-")


class TestEncodings:
    TEXT = "qid,label,größe\nMünchen,1,2\nK€ln,0,3\n"

    def test_latin_1_is_found_and_noted(self, read):
        data = read(self.TEXT.encode("cp1252"))
        assert data.feature_names == ["größe"]
        assert data.qid.tolist() == ["München", "K€ln"]
        assert data.notes == ["the text is not UTF-8 and was read as Latin-1 (Windows-1252)"]

    def test_bytes_that_windows_does_not_have(self, read):
        assert read(b"qid,label,a\n\x81\xe9,1,2\n").qid.tolist() == ["\x81é"]

    def test_utf_16_as_spreadsheets_write_it(self, read, tmp_path):
        data = read(self.TEXT.replace(",", "\t").encode("utf-16"), name="x.txt")
        assert data.qid.tolist() == ["München", "K€ln"]
        assert data.notes == ["the text was read as UTF-16"]
        assert find_format(tmp_path / "x.txt") == "table"
        with pytest.raises(FileError, match="this is not UTF-16 text"):
            read(self.TEXT.encode("utf-16")[:-1])

    def test_an_encoding_that_was_passed_is_used(self, read):
        assert read(self.TEXT.encode("iso8859-15"), encoding="iso8859-15").qid[1] == "K€ln"
        with pytest.raises(FileError, match="line 1: this is not UTF-8 text"):
            read(self.TEXT.encode("cp1252"), encoding="utf-8")
        for name in ("cp037", "nonsense"):
            with pytest.raises(ParameterError, match=r"'encoding' parameter .* contains ASCII"):
                read(self.TEXT, encoding=name)

    @pytest.mark.parametrize("name", ["utf-16", "UTF16", "utf-16-le", "utf_16_be"])
    def test_two_bytes_a_character(self, read, name):
        assert read(self.TEXT.encode(name), encoding=name).qid[1] == "K€ln"
        with pytest.raises(FileError, match="this is not UTF-16 text"):
            read(self.TEXT.encode(name)[:-1], encoding=name)


class TestWithoutHeader:
    def test_columns_are_known_by_number(self, read):
        data = read("2,q1,0.5\n0,q1,1.5\n", header=False, label="1", qid="2")
        assert (data.feature_names, data.X.tolist()) == (["3"], [[0.5], [1.5]])
        assert (data.y.tolist(), data.qid.tolist()) == ([2, 0], ["q1", "q1"])
        with pytest.raises(FileError, match=r"there is no column '4' \(label\); columns: '1', '2'"):
            read("2,1,3\n", header=False, label="4")

    def test_a_line_of_numbers_names_the_remedy(self, read):
        with pytest.raises(FileError, match=r"has only numbers\. .* with header=False"):
            read("2,1,0.5\n0,1,1.5\n")

    def test_errors_name_the_right_line(self, read):
        with pytest.raises(FileError, match="line 2, column 2: feature '2'"):
            read("1,2\n1,x\n", header=False, label="1")


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
        with pytest.raises(FileError, match=r"40 columns cannot .* 'c11' \(line 2: 'x'\) and 28 m"):
            read(text)

    def test_parquet(self, tmp_path):
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"a": [{"x": 1}], "b": [1], "c": [[2]]}), tmp_path / "x")
        with pytest.raises(
            FileError, match=r"2 columns .*: 'a' \(struct<.*, 'c' \(list<.*=\['a', 'c'\]"
        ):
            read_table(tmp_path / "x")

    def test_labels_come_first(self, read):
        with pytest.raises(FileError, match=r"no column 'label'; columns: 'a', 'grade'.*='grade'"):
            read("a,grade,url\n1,2,u.org\n", needs_label=True)


class TestJsonLines:
    LINES = (
        b'{"qid": "q1", "label": 2, "a": 0.5, "hot": true}\n\n'
        b'{"label": 0, "qid": "q1", "a": null, "b": "1.5"}\n'
    )

    @pytest.mark.parametrize("name", ["x.jsonl", "x.ndjson", "x.txt", "x.jsonl.gz"])
    def test_keys_are_columns(self, tmp_path, name):
        packed = gzip.compress(self.LINES, mtime=0) if name.endswith("gz") else self.LINES
        (tmp_path / name).write_bytes(packed)
        assert find_format(tmp_path / name) == "table"
        data = read_data(tmp_path / name)
        assert data.feature_names == ["a", "hot", "b"]
        np.testing.assert_array_equal(data.X, [[0.5, 1, nan], [nan, nan, 1.5]])
        assert (data.y.tolist(), data.qid.tolist()) == ([2, 0], ["q1", "q1"])

    @pytest.mark.parametrize(
        ("text", "match"),
        [
            (b'{"a": 1}\n{"a": \n', "line 2: every line must be one JSON object"),
            (b'{"a": 1}\n[1]\n', r"line 2: every line must be one JSON object. Got '\[1\]'"),
            (b'{"label": 1, "a": [1]}\n', r"'a' \(\[1\]: lists and objects are no values"),
            (b'{"label": 1, "a": 1e999}\n', "line 1, column 2: feature 'a' .* Got 'Infinity'"),
            (b"{}\n", "there is no row with a key"),
            (b'{"label": 1, "a": 1}{"label": 1, "a": 2}\n', "line 1: every line must be one JSON"),
        ],
    )
    def test_bad(self, tmp_path, text, match):
        (tmp_path / "x.jsonl").write_bytes(text)
        with pytest.raises(FileError, match=match):
            read_table(tmp_path / "x.jsonl")

    def test_a_list_of_objects(self, tmp_path):
        path = tmp_path / "x.json"
        path.write_text('[{"label": 1, "a": 2},\n {"label": 0, "a": 3}]')
        assert find_format(path) == "table"
        assert read_table(path, qid=None).X.tolist() == [[2], [3]]
        path.write_text('[{"label": 1, "a": 2}, 3]')
        with pytest.raises(FileError, match=r"entry 2 must be a JSON object\. Got '3'"):
            read_table(path)
        path.write_text('[{"label": 1, "a": 2}')
        with pytest.raises(FileError, match="this is not one list of JSON objects"):
            read_table(path)

    def test_a_header_is_never_missing(self, tmp_path):
        (tmp_path / "x.jsonl").write_bytes(self.LINES)
        with pytest.raises(ParameterError, match="'header' parameter of read_table must be True"):
            read_table(tmp_path / "x.jsonl", header=False)


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
        with pytest.raises(FileError, match=r"no column 'sec' \(sheet\)|no sheet 'sec'"):
            read_table(path, sheet="sec")

    def test_without_header(self, tmp_path):
        path = self.write(tmp_path / "x.xlsx", [[1, 2], [0, 3]])
        assert read_table(path, header=False, label="1").X.tolist() == [[2], [3]]

    def test_bad(self, tmp_path):
        rows = [["label", "a", "b"], [1, "x", datetime.datetime(2020, 1, 2)], [1, 2, 7]]
        with pytest.raises(FileError, match=r"2 columns cannot be features: 'a' \(line 2: 'x'\)"):
            read_table(self.write(tmp_path / "x.xlsx", rows))
        with pytest.raises(FileError, match="the sheet is empty"):
            read_table(self.write(tmp_path / "x.xlsx", []))
        with pytest.raises(FileError, match="there is no row below the names"):
            read_table(self.write(tmp_path / "x.xlsx", [["label", "a"]]))
        (tmp_path / "x.xlsx").write_bytes(b"label,a\n1,2\n")
        with pytest.raises(FileError, match=r"not an Excel file of the kind \.xlsx"):
            read_table(tmp_path / "x.xlsx")
        with pytest.raises(FileError, match="cannot be read: no such file"):
            read_table(tmp_path / "y.xlsx")
        whole = self.write(tmp_path / "x.xlsx", [["label", "a"], [1, 2]])
        with zipfile.ZipFile(whole) as book, zipfile.ZipFile(tmp_path / "z.xlsx", "w") as damaged:
            for name in book.namelist():
                content = book.read(name)
                damaged.writestr(name, content[:-20] if name.endswith("sheet1.xml") else content)
        with pytest.raises(FileError, match=r"Excel file is damaged \(\w+ in openpyxl\)"):
            read_table(tmp_path / "z.xlsx")
        (tmp_path / "x.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
        with pytest.raises(FileError, match=r"old Excel file \(\.xls\); save it as"):
            read_data(tmp_path / "x.xls")
        (tmp_path / "x.csv").write_bytes(b"label,a\n1,2\n")
        with pytest.raises(ParameterError, match=r"'sheet' parameter .* no Excel file"):
            read_table(tmp_path / "x.csv", sheet="a")

    def test_without_openpyxl_it_says_what_to_install(self, tmp_path, monkeypatch):
        path = self.write(tmp_path / "x.xlsx", [["label", "a"], [1, 2]])
        real = builtins.__import__

        def fake(name, *rest):
            if name.startswith("openpyxl"):
                raise ImportError(name)
            return real(name, *rest)

        monkeypatch.setattr(builtins, "__import__", fake)
        with pytest.raises(FileError, match=r"pip install crucial\[excel\]"):
            read_table(path)


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
        with pytest.raises(FileError, match=r"no column 'zap' \(categories\)"):
            read("label,zip\n1,2\n", categories=["zap"])

    def test_cells_that_are_not_what_the_others_are(self, read):
        rows = "".join("1,2024-01-31,red\n" for _ in range(1000))
        with pytest.raises(FileError, match=r"line 1002, column 2: feature 'day' must be a date"):
            read(f"label,day,c\n{rows}0,soon,red\n")
        assert read(f"label,day,c\n{rows}0,,7\n").X.levels == {1: ("7", "red")}
        with pytest.raises(FileError, match=r"line 3, column 2: feature 'c' .* Got 'red'"):
            read("label,c\n1,7\n0,red\n")
        with pytest.raises(FileError, match=r"'day' \(3/4/2024: day or month may be first"):
            read("label,day\n1,3/4/2024\n0,3/4/2024\n")
        with pytest.raises(FileError, match=r"a column cannot be a feature: 'name' \(every value"):
            read("label,name\n1,ann\n0,bob\n")

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

    def test_round_trip(self, read, tmp_path):
        from crucial.io.writing import write_table

        data = read("label,c,a\n1,red,1.5\n0,,2.5\n1,red,\n", qid=None)
        write_table(tmp_path / "y.csv", data)
        again = read_table(tmp_path / "y.csv", qid=None)
        np.testing.assert_array_equal(again.X.table, data.X.table)
        assert again.X.levels == data.X.levels

    def test_other_files_have_the_categories_of_the_first(self, tmp_path):
        from crucial.io.tables import read_alike

        (tmp_path / "a.csv").write_text("label,c\n1,red\n0,red\n")
        (tmp_path / "b.csv").write_text("label,c\n1,7\n0,8\n")
        first, second = read_alike([tmp_path / "a.csv", tmp_path / "b.csv"])
        assert first.X.levels == {0: ("red",)}
        assert second.X.levels == {0: ("7", "8")}


@pytest.mark.parametrize(
    ("old", "words"),
    [
        (b"bm25", r"names of its columns must be UTF-8 text\. Got 'b\\ufffd25'\. Write the file"),
        (b"red!", r"the column 'colour' must be UTF-8 text\. Got 'r\\ufffdd!' in row 1 \(from 0\)"),
        (b"q one", r"the column 'qid' must be UTF-8 text\. Got 'q\\ufffdone' in row 0"),
        (b"thing", r"the column 'item_id' must be UTF-8 text\. Got 't\\ufffding' in row 2"),
    ],
)
def test_parquet_that_is_not_utf_8(tmp_path, old, words):
    pa = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    columns = {"bm25": [1.0, 2.0, 3.0], "label": [0, 1, 2], "colour": ["blue", "red!", "blue"]}
    columns |= {"qid": ["q one", "q one", "q two"], "item_id": ["a", "b", "thing"]}
    write_table(pa.table(columns), tmp_path / "x.parquet", use_dictionary=False)
    text = (tmp_path / "x.parquet").read_bytes()
    (tmp_path / "x.parquet").write_bytes(text.replace(old, old[:1] + b"\xff" + old[2:]))
    with pytest.raises(FileError, match=words):
        read_data(tmp_path / "x.parquet", item="item_id")
