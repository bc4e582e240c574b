"""DATA as several files, a folder, a pattern or standard input; arguments in the wrong place."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.sparse import csr_array

from crucial.cli.app import app
from crucial.data.dataset import Dataset
from crucial.errors import FileError
from crucial.io.tables import joined, read_alike
from refusals import refused as raises

ROLES = "--label grade --qid query --item url"


@pytest.fixture
def parts(folder: Path) -> Path:
    """parts/a.txt and b.txt, together train.txt; the same as parts.csv/a.csv and b.csv."""
    for kind, head in (("txt", 0), ("csv", 1)):
        lines = Path(f"train.{kind}").read_text().splitlines(keepends=True)
        place = Path("parts" if kind == "txt" else "tables")
        place.mkdir()
        (place / f"a.{kind}").write_text("".join(lines[: head + 50]))
        (place / f"b.{kind}").write_text("".join(lines[:head] + lines[head + 50 :]))
    return folder


def learned(name: str) -> object:
    model = json.loads(Path(name).read_text())["model"]
    del model["training"]["data"]
    return model


@pytest.mark.parametrize("data", ["parts", "'parts/*.txt'", "parts/a.txt parts/b.txt"])
def test_several_files_are_one(parts: Path, ok, data: str) -> None:
    ok(f"train {data} --rounds 30 -o m.json")
    assert learned("m.json") == learned("model.json")
    whole, several = ok("rank model.json train.txt -o -"), ok(f"rank model.json {data} -o -")
    assert several.stdout == whole.stdout
    whole, several = (ok(f"evaluate model.json {one} -m map,P_5") for one in ("train.txt", data))
    assert several.stdout.splitlines()[1:] == whole.stdout.splitlines()[1:]
    assert several.stdout.split(":")[0] != whole.stdout.split(":")[0]


def test_tables_and_a_folder_to_validate_on(parts: Path, ok) -> None:
    ok(f"train train.csv {ROLES} --valid valid.csv --rounds 9 -o one.json")
    found = ok(f"train tables {ROLES} --valid 'val*.csv' --rounds 9 -o many.json")
    assert learned("one.json") == learned("many.json")
    assert "more than one file" not in found.stderr
    ok(f"report many.json tables {ROLES} -o page.html")
    assert "120 rows" in Path("page.html").read_text()


def test_queries_in_two_files_are_noted(parts: Path, ok) -> None:
    lines = Path("train.txt").read_text().splitlines(keepends=True)
    Path("parts/a.txt").write_text("".join(lines[:55]))
    Path("parts/b.txt").write_text("".join(lines[55:]))
    assert "1 query in more than one file, ranked as one" in ok("rank model.json parts -o -").stderr


def test_files_that_do_not_fit_together(parts: Path, refused) -> None:
    assert "parts/a.txt is given twice" in refused("train parts parts/a.txt -o x.json")
    assert "*.none: no file has such a name" in refused("train '*.none' -o x.json")
    Path("void").mkdir()
    assert "void: there is no file in this folder" in refused("train void -o x.json")
    assert "would overwrite a file that is read" in refused("train parts -o parts/a.txt")
    assert "would overwrite a file" in refused("rank model.json 'parts/*' -o parts/b.txt")
    message = refused("train parts --group-sizes train.txt -o x.json")
    assert "--group-sizes is for one file" in message
    Path("parts/c.txt").write_text("1 1:0.5\n0 1:0.25\n")
    message = refused("train parts -o x.json")
    assert "parts/c.txt: its rows have no query ids, and those of other files have" in message


def test_joined_rows(tmp_path: Path) -> None:
    for name, text in {
        "a.csv": "qid,label,colour,x,item\n1,2,red,0.5,i\n1,0,blue,1,j\n",
        "b.csv": "qid,label,x,colour,item\nz,1,3,green,k\nz,0,2,red,l\n",
    }.items():
        (tmp_path / name).write_text(text)
    paths = sorted(tmp_path.iterdir())
    found = joined(paths, read_alike(paths, item="item", categories=["colour"]))
    whole = found.instances()
    assert [whole.text(row, 0) for row in range(4)] == ["red", "blue", "green", "red"]
    assert (found.qid.tolist(), found.item.tolist()) == (["1", "1", "z", "z"], list("ijkl"))
    sparse, dense = Dataset(csr_array(np.eye(2))), Dataset(np.eye(2))
    assert joined("ab", [sparse, sparse]).X.nnz == 4
    np.testing.assert_array_equal(joined("ab", [sparse, dense]).X, np.vstack([np.eye(2)] * 2))
    named = Dataset(np.eye(2), item=np.array(["a", "b"], object))
    assert joined("ab", [dense, named]).item.tolist() == ["", "", "a", "b"]
    weighed = Dataset(np.eye(2), weight=np.ones(2))
    raises(FileError, "b: its rows have no weights, and those", joined, "ab", [weighed, dense])


@pytest.mark.parametrize("name", ["train.csv", "train.csv.gz", "train.parquet"])
def test_standard_input(folder: Path, ok, name: str) -> None:
    table = pd.read_csv("train.csv")
    if name.endswith("parquet"):
        table.to_parquet(name, index=False)
    else:
        table.to_csv(name, index=False)
    content = Path(name).read_bytes()
    ok(f"train train.csv {ROLES} --rounds 9 -o file.json")
    words = f"train - {ROLES} --rounds 9 -o stdin.json".split()
    done = CliRunner().invoke(app, words, input=content)
    assert done.exit_code == 0, done.stderr
    assert learned("stdin.json") == learned("file.json")
    scores = CliRunner().invoke(app, ["rank", "file.json", "-", "-o", "-"], input=content)
    assert scores.stdout == ok("rank file.json train.csv -o -").stdout
    wrong = CliRunner().invoke(app, ["rank", "file.json", "-", "-o", "-"], input=b"a,b\n1,2\n")
    assert wrong.stderr.startswith("crucial: error: -")


@pytest.mark.parametrize("command", [
    "rank test.txt model.json -o -", "evaluate test.txt model.json", "why test.txt model.json a b",
    "report test.txt model.json -o x.html", "scorecard test.txt model.json -o x.html",
])  # fmt: skip
def test_model_and_data_swapped(folder: Path, refused, command: str) -> None:
    message = refused(command)
    assert "test.txt is no model, and model.json is one: MODEL comes before DATA" in message


def test_a_model_is_no_data(folder: Path, refused) -> None:
    assert "model.json is a model, where rows are expected" in refused("train model.json -o x.json")
    assert "is not a model file, which begins with '{'" in refused("show test.txt")
    # (rows may have a column of this name)
    Path("r.jsonl").write_text('{"format": "pdf", "label": 1, "x": 2}\n' * 2)
    assert "is a model" not in refused("train r.jsonl --ignore format -o x.json")


@pytest.mark.parametrize(("name", "remedy"), [
    ("LambdaMART", "use --ranker gradient and --loss lambda"),
    ("xgboost", "use --ranker gradient and --loss lambda"),
    ("ranksvm", "use --ranker ranking-svm"),
    ("lambdamrt", "use --ranker gradient and --loss lambda"),
    ("RankBost", "did you mean 'rankboost'"),
])  # fmt: skip
def test_rankers_by_other_names(folder: Path, refused, name: str, remedy: str) -> None:
    assert remedy in refused(f"train train.txt --ranker {name} -o x.json")
    assert remedy in refused(f"list rankers {name}")


def test_auto_chooses_by_itself(folder: Path, refused) -> None:
    message = refused("train train.txt --ranker auto --rounds 5 -o x.json")
    assert "--rounds: --ranker auto chooses this itself" in message
    assert "when one is trained: --ranker auto" in refused("experiment train.txt --rankers auto")


@pytest.mark.parametrize("first", ["1,0,0.5,0.25", "0,0,0.5,7", "1,q1,0.5,0.25"])
def test_a_table_without_a_header(folder: Path, refused, first: str) -> None:
    Path("bare.csv").write_text(f"{first}\n0,0,0.1,1\n")
    assert "--no-header" in refused("train bare.csv -o x.json")


def test_an_unknown_item_lists_some(folder: Path, refused) -> None:
    message = refused("why model.json test.txt d1 d599")
    assert "there is no item 'd599'; name two of the items of the file, such as d5" in message
    message = refused("why model.json test.txt d1 d4 --query q3")
    assert "such as d3" in message
