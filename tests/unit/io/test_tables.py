"""Tables with named columns."""

import gzip
import os

import numpy as np
import pytest

from crucial.data.dataset import Dataset
from crucial.data.instances import Instances
from crucial.errors import DataError, FileError, ParameterError
from crucial.io.tables import read_data, read_table
from crucial.io.writing import write_table
from refusals import refused

nan = np.nan


class TestText:
    def test_roles(self, read):
        text = "qid,url,label,w,bm25,clicks\nq1,a,2,0.5,1.5,7\nq1,b,0,1,,-3e2\n"
        data = read(text, item="url", weight="w")
        np.testing.assert_array_equal(data.X, [[1.5, 7], [nan, -300]])
        assert data.feature_names == ["bm25", "clicks"]
        assert data.y.tolist() == [2, 0]
        assert data.weight.tolist() == [0.5, 1]
        assert data.qid.tolist() == ["q1", "q1"]
        assert data.item.tolist() == ["a", "b"]
        assert data.notes == []

    @pytest.mark.parametrize("text", [
        "qid,label,a,b\n1,2,3,4\n5,6,7,\n",
        "qid,label,a,b\n1,2,3,4\n5,6,7,",
        "qid,label,a,b\r\n1,2,3,4\r\n5,6,7,\r\n",
        "\ufeffqid,label,a,b\n1,2,3,4\n5,6,7,\n",
        "\n\nqid,label,a,b\n\n1,2,3,4\n\n5,6,7,\n\n",
        'qid,label,"a",b\n1,2,"3",4\n"5",6,7,""\n',
        "qid, label, a, b\n1, 2 ,3.0,\t4\n5,+6,7e0,nan\n",
        "qid,label,a,b\n1,2,3,4\n5,6,7,NA\n",
        "qid,label,a,b\n1,2,3,4\n5,6,7,NULL\n",
        "qid,label,a,b\n1,2,3,4\n5,6,7,?\n",
        "qid;label;a;b\n1;2,0;3;4,0\n5;6;7,0;\n",
        'qid,label,a,b\n1,2,"3,0",4\n5,6,7,n/a\n',
        "qid\tlabel\ta\tb\n1\t2\t3\t4\n5\t6\t7\t\n",
        "qid;label;a;b\n1;2;3;4\n5;6;7;\n",
        gzip.compress(b"qid,label,a,b\n1,2,3,4\n5,6,7,\n", mtime=0),
    ])  # fmt: skip
    def test_all_say_the_same(self, read, text):
        data = read(text)
        np.testing.assert_array_equal(data.X, [[3, 4], [7, nan]])
        np.testing.assert_array_equal(data.y, [2, 6])
        np.testing.assert_array_equal(data.qid, [1, 5])
        assert data.feature_names == ["a", "b"]

    def test_separators(self, read):
        assert read("a;b,c;d\tx;y\n1;2;3;4\n".replace("\t", " "), sep=";").n_features == 4
        for name in ("x.tsv.gz", "x.tab"):  # (as many commas as tabs)
            assert read("label\tb,c\n1\t2\n", name=name).feature_names == ["b,c"]
        assert read("a|b\n1|2\n", sep="|").feature_names == ["a", "b"]
        for sep in ("", ",,", '"', "\n", "é"):
            refused(ParameterError, "'sep' parameter of read_table", read, "a,b\n1,2\n", sep=sep)

    def test_true_and_false(self, read):
        np.testing.assert_array_equal(read("a,b\ntrue,False\nTrue,0\n").X, [[1, 0], [1, 0]])

    def test_numbers_are_pythons(self, read):
        texts = ["0.1", "1e-300", "123456789012345678901234567890", "9007199254740993", "-0.0"]
        X = read("a,b\n" + "".join(f"{text}, {text} \n" for text in texts)).X
        assert [repr(value) for value in X[:, 0]] == [repr(np.float64(text)) for text in texts]
        np.testing.assert_array_equal(X[:, 0], X[:, 1])

    def test_without_labels_or_queries(self, read):
        data = read("a,b\n1,2\n")
        assert (data.y, data.qid) == (None, None)
        assert data.notes == [
            "there is no column 'label': rows have no labels",
            "there is no column 'qid': all rows are ranked together",
        ]
        assert read("a,b\n1,2\n", label=None, qid=None).notes == []
        kept = read("a,label\n1,2\n", label=None, qid=None)
        assert kept.feature_names == ["a", "label"]

    def test_choice_of_columns(self, read):
        text = "id,label,a,b,note\n1,2,3,4,hm\n"
        data = read(text, features=["b", "a"])
        assert (data.feature_names, data.X.tolist()) == (["b", "a"], [[4, 3]])
        assert read(text, ignore=["note", "id"]).feature_names == ["a", "b"]

    def test_quoted_cells_with_anything_in_them(self, read):
        data = read('label,a,doc\n1,2,"x, ""y""\nz"\n0,3,w\n', item="doc")
        assert data.item.tolist() == ['x, "y"\nz', "w"]
        np.testing.assert_array_equal(data.X, [[2], [3]])

    def test_ids_stay_what_they_are(self, read):
        assert read("qid,label,a\n007,1,2\n7,1,2\n").qid.tolist() == ["007", "7"]
        assert read("qid,label,a\nü x,1,2\n é,1,2\n").qid.tolist() == ["ü x", "é"]


LEAVE = "feature 'a' must be a finite number, or empty for missing. Got 'x'. Leave the column out"
BAD = [
    ("label,a\n1,2\n1,x\n", 3, 2, LEAVE),
    ("label,a\n1,2\n\n0,inf\n", 4, 2, "feature 'a' must be a finite number.* Got 'inf'"),
    ("label,a\n1,1e999\n", 2, 2, "feature 'a' must be a finite number.* Got '1e999'"),
    ("label,a\n1,1_000\n", 2, 2, "feature 'a' must be a finite number.* Got '1_000'"),
    ("label,a\n1,١\n", 2, 2, "feature 'a' must be a finite number"),
    ("label,a\n1,0x10\n", 2, 2, "feature 'a' must be a finite number"),
    ("label,a\n1,2 3\n", 2, 2, "feature 'a' must be a finite number.* Got '2 3'"),
    ("label,a\n,2\n", 2, 1, "label 'label' must be a finite number. Got ''"),
    ("label,a\nnan,2\n", 2, 1, "label 'label' must be a finite number. Got 'nan'"),
    ("label,a\ngood,2\n", 2, 1, "label 'label' must be a finite number. Got 'good'"),
    ("label,qid,a\n1,,2\n", 2, 2, "the query id 'qid' is empty; every row must have one"),
    ("label,qid,a\n1, ,2\n", 2, 2, "the query id 'qid' is empty"),
    ("label,a\n1,2\n0,1,3\n", 3, None, "expected 2 cells, as in the first line. Got 3"),
    ("label,a,b\n1,2\n", 2, None, "expected 3 cells, as in the first line. Got 2"),
    ("label,a\n1,2\n1,x\n0,1,3\n", 3, 2, "feature 'a'"),
    ("label,a\n1,2\n0,x\0\n", 3, 4, "there is a NUL byte"),
    ("label,a\n1,2\n1,x\n0,\0\n", 3, 2, "feature 'a'"),
    (b"label,a\n1,2\n1,\xff\n", 3, 2, r"feature 'a' must be a finite number.* Got '\\xff'"),
    ('label,a\n1,"2\n', 2, None, "cannot be split into cells"),
    ('label,a\n1,"2"3\n', 2, None, "cannot be split into cells"),
    ("label,a\n1,2\r3,4\n", 2, None, "cannot be split into cells"),
    ('label,a,t\n1,2,"u\nv"\n3,x,w\n', 4, 2, "feature 'a'"),
    ("", None, None, "the file is empty: it has no line that names the columns"),
    ("\n \n", None, None, "the file is empty"),
    ("label,a\n", None, None, "there is no row below the names"),
    ("label,qid\n1,2\n", 1, None, "no column is left for the features"),
    ("label,a,a\n1,2,3\n", 1, 3, "two columns are called 'a': the 2. and the 3"),
    ("1,2,3\n4,5,6\n", 1, None, "the first line must name the columns; this one has only num"),
    ("\n\nlabel\n1\n", 3, None, "no column is left for the features"),
    (",label,a\n0,1,2\n", 1, 1, "this column has no name. If it is a row number"),
]


@pytest.mark.parametrize(("text", "line", "column", "match"), BAD)
def test_bad_text(read, text, line, column, match):
    item = "t" if isinstance(text, str) and ",t\n" in text else None
    with pytest.raises(FileError, match=rf"(?s)x\.csv.*: .*{match}") as caught:
        read(text, item=item)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(("error", "match", "roles"), [
    (FileError, r"no column 'relevence' \(label\); close ones: 'rel", {"label": "relevence"}),
    (FileError, r"no column 'zzz' \(qid\); columns: 'relevance', 'q", {"qid": "zzz"}),
    (FileError, r"no column 'zzz' \(features\)", {"features": ["zzz"]}),
    (FileError, r"no column 'zzz' \(ignore\)", {"ignore": ["zzz"]}),
    (ParameterError, "'a' cannot be both label and weight", {"label": "a", "weight": "a"}),
    (ParameterError, "features names 'a', which is al.* label", {"label": "a", "features": ["a"]}),
    (ParameterError, "features names 'a', which is already the feat", {"features": ["a", "a"]}),
    (ParameterError, r"'features' parameter .* a list of column names", {"features": "a"}),
])  # fmt: skip
def test_roles_that_cannot_be(read, error, match, roles):
    refused(error, match, read, "relevance,query_id,a\n1,2,3\n", **roles)


class TestParquet:
    pa = pytest.importorskip("pyarrow")

    def write(self, path, **columns):
        import pyarrow.parquet as pq

        pq.write_table(self.pa.table(columns), path)
        return path

    def test_types(self, tmp_path):
        pa = self.pa
        path = self.write(
            tmp_path / "x",
            label=[2, 0],
            qid=["a", "b"],
            url=pa.array(["u", None]).dictionary_encode(),
            w=pa.array([1.5, 2], pa.float32()),
            whole=pa.array([1, None], pa.int32()),
            flag=[True, False],
            real=[0.5, nan],
            none=pa.nulls(2),
            coded=pa.array([3.0, 4.0]).dictionary_encode(),
        )
        data = read_table(path, item="url", weight="w")
        expected = [[1, 1, 0.5, nan, 3], [nan, 0, nan, nan, 4]]
        np.testing.assert_array_equal(data.X, expected)
        assert data.feature_names == ["whole", "flag", "real", "none", "coded"]
        assert data.y.tolist() == [2, 0]
        assert data.weight.tolist() == [1.5, 2]
        assert data.qid.tolist() == ["a", "b"]
        assert data.item.tolist() == ["u", ""]

    @pytest.mark.parametrize("kind", ["int8", "uint64", "float32", "float64"])
    def test_numbers_in_several_row_groups(self, tmp_path, kind):
        import pyarrow.parquet as pq

        pa = self.pa
        column = pa.array([1, None, 3, 4, None, 6, 7], getattr(pa, kind)())
        table = pa.table({"qid": pa.array(range(7), pa.int16()), "a": column, "b": range(7)})
        pq.write_table(table.slice(1, 6), tmp_path / "x", row_group_size=2)
        data = read_table(tmp_path / "x")
        np.testing.assert_array_equal(data.X[:, 0], [nan, 3, 4, nan, 6, 7])
        assert data.X[:, 1].tolist() == data.qid.tolist() == [1, 2, 3, 4, 5, 6]

    @pytest.mark.parametrize("qid", [[7, 8], [7.0, 8.0]])
    def test_whole_ids(self, tmp_path, qid):
        data = read_table(self.write(tmp_path / "x", qid=qid, a=[1, 2]))
        assert data.qid.tolist() == [7, 8]
        assert data.qid.dtype.kind == "i"

    @pytest.mark.parametrize(("columns", "match"), [
        ({"a": [["x"]]}, r"a column cannot be a feature: 'a' \(list<.*Leave it out"),
        ({"a": ["x", "y"]}, r"a column cannot be a feature: 'a' \(every value differs"),
        ({"a": [np.inf]}, r"feature 'a' must be finite. Got inf in row 0 \(from 0\)"),
        ({"a": [1], "label": [nan]}, "label 'label' must be finite. Got nan in row 0"),
        ({"a": [1], "label": ["x"]}, "label 'label' must contain numbers. Got the type string"),
        ({"a": [1], "label": pa.array(["x"]).dictionary_encode()}, "must contain numbers"),
        ({"a": [1.0, np.inf]}, r"feature 'a' must be finite. Got inf in row 1 \(from 0\)"),
        ({"a": [1], "qid": [0.5]}, "query id 'qid' must be whole numbers or text"),
        ({"a": [1], "qid": [nan]}, "query id 'qid' must be whole numbers or text"),
        ({"a": [1, 2], "qid": ["x", None]}, "query id 'qid' is null in row 1"),
        ({"a": []}, "there is no row in this table"),
        ({"label": [1]}, "no column is left for the features"),
    ])  # fmt: skip
    def test_bad(self, tmp_path, columns, match):
        refused(FileError, match, read_table, self.write(tmp_path / "x", **columns))

    def test_cut_short_at_every_length(self, tmp_path):
        path = self.write(tmp_path / "x", a=[1.0, 2.0])
        whole = path.read_bytes()
        for size in range(4, len(whole)):
            path.write_bytes(whole[:size])
            refused(FileError, "this parquet file cannot be read", read_table, path)

    def test_another_file_under_its_name(self, made):
        path = made("label,qid,a\n1,2,3\n", "x.parquet")
        refused(FileError, "this is not a parquet file", read_table, path)

    def test_without_pyarrow_it_says_what_to_install(self, tmp_path, without):
        path = self.write(tmp_path / "x", a=[1.0])
        without("pyarrow")
        refused(FileError, r"pip install crucial\[parquet\]", read_table, path)


OF_NA = Instances(np.zeros((1, 1)), ("c",), {0: ("NA",)})


class TestWrite:
    def test_text(self, tmp_path):
        data = Dataset(
            np.array([[0.1, nan]]),
            y=np.array([2]),
            qid=np.array([7]),
            item=np.array(['a,"b"\n'], object),
            weight=np.array([0.5]),
        )
        write_table(tmp_path / "x.csv", data)
        text = (tmp_path / "x.csv").read_text()
        assert text == 'qid,item,label,weight,f0,f1\n7,"a,""b""\n",2,0.5,0.1,\n'
        write_table(tmp_path / "x.tsv", data)
        assert (tmp_path / "x.tsv").read_text().startswith("qid\titem\tlabel")

    def test_empty_rows_and_whole_ids(self, tmp_path):
        write_table(tmp_path / "x.csv", Dataset(np.array([[nan], [1.0]])))
        np.testing.assert_array_equal(read_table(tmp_path / "x.csv").X, [[nan], [1]])
        write_table(tmp_path / "x.csv", Dataset(np.ones((2, 1)), qid=np.array([3.0, 4.0])))
        assert read_table(tmp_path / "x.csv").qid.tolist() == [3, 4]

    @pytest.mark.parametrize(("change", "match"), [
        ({"feature_names": ["a", "a"]}, "'a' names two columns"),
        ({"feature_names": ["label", "a"]}, "'label' names two columns"),
        ({"feature_names": ["a"]}, "number of feature names is wrong, 1 for 2"),
        ({"X": np.array([[1, np.inf]])}, "X is infinite in row 0, column 1"),
        ({"item": ["a\0"]}, "contains a NUL"),
        ({"item": [" a "]}, "item of row 0, ' a ', would lose the spaces around it"),
        ({"item": ["\ud800"]}, "row 0 has half of a surrogate pair"),
        ({"qid": ["a "]}, "qid of row 0, 'a ', would lose the spaces"),
        ({"qid": [""]}, "the qid of row 0 is missing"),
        ({"qid": [1.5]}, "qid of row 0 is 1.5. Use whole numbers or text"),
        ({"feature_names": ["a\nb", "c"]}, r"'a\\nb' has a line end, or spaces"),
        ({"feature_names": [" a", "c"]}, "' a' has a line end, or spaces"),
        ({"feature_names": ["", "c"]}, r"feature 0 \(from 0\) has no name"),
        ({"feature_names": ["label", "c"], "y": None}, "'label' would be read as the label"),
        ({"feature_names": ["1", "2"], "y": None}, "all columns are named by numbers"),
        ({"y": np.array([nan])}, "the label of row 0 is nan"),
        ({"X": np.array([["a", 1.0]], object)}, "X must be numbers"),
        ({"X": OF_NA}, "value of feature 'f0' of row 0, 'NA', would be read as missing"),
    ])  # fmt: skip
    def test_what_would_not_come_back_is_refused(self, tmp_path, change, match):
        parts = {"X": np.ones((1, 2)), "y": np.zeros(1), **change}
        refused(DataError, match, lambda: write_table(tmp_path / "x.csv", Dataset(**parts)))
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize(("name", "match"), [
        ("x.xlsx", r"x\.xlsx: Excel files are read, .* in \.csv, \.tsv, \.jsonl"),
        ("x.XLS.gz", "Excel files are read"),
        ("x.letor", "read as svmlight, which `write_svmlight` writes"),
        ("x.parquet.gz", "cannot be packed with gzip"),
    ])  # fmt: skip
    def test_formats_that_could_not_be_read_are_refused(self, tmp_path, name, match):
        refused(FileError, match, write_table, tmp_path / name, Dataset(np.ones((1, 2))))
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize(
        "name", ["x.csv", "x.tsv.gz", "x.jsonl", "x.ndjson.gz", "x.json", "x.json.gz", "x.parquet"]
    )
    def test_what_is_written_comes_back(self, tmp_path, name):
        X = Instances(np.array([[0, 0.1], [nan, -0.0], [1, nan]]), ("c", "é"), {0: ("a", "b")})
        data = Dataset(
            X,
            y=np.array([1, 0.1, -2]),
            qid=np.array([2**62, 7, 7]),
            item=np.array(["x, y", "", '"7"'], object),
            weight=np.array([1.0, 0.5, 1e-300]),
            feature_names=["c", "é"],
        )
        write_table(tmp_path / name, data)
        back = read_data(tmp_path / name, item="item", weight="weight", categories=["c"])
        assert back.X.table.tobytes() == X.table.tobytes()
        assert back.X.levels == X.levels
        assert back.feature_names == data.feature_names
        for role in ("y", "qid", "item", "weight"):
            assert getattr(back, role).tolist() == getattr(data, role).tolist()

    def test_parquet_and_json_have_any_name(self, tmp_path):
        data = Dataset(np.ones((2, 1)), feature_names=[" a\n"])
        for name in ("x.parquet", "x.jsonl"):
            write_table(tmp_path / name, data)
            assert read_table(tmp_path / name).feature_names == [" a\n"]

    def test_bins_are_no_values(self, tmp_path):
        data = Dataset.from_parts([Dataset(np.array([[3.0], [1.0]]), np.array([1.0, 0.0]))])
        match = "X has the bins of its cells instead of their values"
        refused(DataError, match, write_table, tmp_path / "x.csv", data)


def test_features_that_a_table_lacks_abstain(made):
    path = made("label,c,d,b\n1,5,6,7\n0,,8,9\n", "x.csv")
    data = read_table(path, features=["a", "b", "c", "d"], missing_features="allow")
    assert data.feature_names == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(data.X, [[nan, 7, 5, 6], [nan, 9, nan, 8]])
    assert "1 of the 4 features never occur, and abstain" in data.notes
    path.write_text("label,day,colour,n\n1,2024-01-02,red,1\n0,2024-01-05,blue,2\n1,,red,3\n")
    for names, columns in ((["n", "x", "colour"], [2]), (["n", "x", "day"], [])):
        some = names[2:][: len(columns)]
        found = read_table(path, features=names, missing_features="allow", categories=some)
        found = found.instances()
        np.testing.assert_array_equal(found.table[:, :2], [[1, nan], [2, nan], [3, nan]])
        assert sorted(found.levels or {}) == columns
        assert found.declared == set(columns)
        assert sorted(found.times or {}) == ([] if columns else [2])
        assert list(found.names) == names

    path.write_text("label,b,a\n1,5,6\n")
    data = read_table(path, features=["b", "a"], missing_features="allow")
    assert data.X.tolist() == [[5, 6]]
    assert not any("never occur" in str(note) for note in data.notes)
