"""Names for the features of svmlight lines, and rows without a label."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import crucial
from crucial.errors import FileError
from crucial.io.tables import read_table
from refusals import refused as raises


@pytest.fixture
def names(folder: Path) -> str:
    Path("names.txt").write_text("title\nbm25 of body\n\nage\n")
    return "--feature-names names.txt"


def used(shown: str) -> set[str]:
    return {one["name"] for one in json.loads(shown)["features"]}


def test_names_from_python(names: str, folder: Path, ok) -> None:
    data = crucial.read_data("train.txt")
    by_columns = crucial.RankBoost(5).fit(data.X, data.y, qid=data.qid)
    by_columns.save("columns.json")
    assert "bm25 of body" in ok(f"why columns.json test.txt d1 d2 {names}").stdout
    # A data set has the names of its features: the indices of the file, as on the command line.
    named = crucial.RankBoost(5).fit(data, data.y, qid=data.qid)
    ok("train train.txt --rounds 5 --learning-rate 0.3 -o cli.json")
    named.save("named.json")
    found, cli = (ok(f"show {one}.json --json").stdout for one in ("named", "cli"))
    assert used(found) == used(cli) != used(ok("show columns.json --json").stdout)
    np.testing.assert_array_equal(named.predict(data), by_columns.predict(data.X))


def test_rows_without_a_label(folder: Path, ok, refused) -> None:
    table = pd.read_csv("train.csv")
    table["colour"] = ["red", "blue", "green"] * (len(table) // 3)
    table["grade"] = table["grade"].astype(float)
    table.loc[[3, 17, 40], "grade"] = np.nan
    table.to_csv("some.csv", index=False)
    table.to_parquet("some.parquet", index=False)
    table.to_json("some.jsonl", orient="records", lines=True)
    table.dropna(subset="grade").to_csv("all.csv", index=False)
    roles = "--label grade --qid query --item url --rounds 9"
    ok(f"train all.csv {roles} -o all.json")
    wanted = json.loads(Path("all.json").read_text())["checksum"]
    for name in ("some.csv", "some.parquet", "some.jsonl"):
        refused(f"train {name} {roles} -o x.json")
        done = ok(f"train {name} {roles} --unlabelled drop -o some.json")
        assert "3 rows without a label left out" in done.stderr
        assert json.loads(Path("some.json").read_text())["checksum"] == wanted
    assert "leave rows without one out with --unlabelled drop" in refused(
        f"train some.csv {roles} -o x.json"
    )
    Path("none.csv").write_text("label,x\n,1\n,2\n")
    raises(FileError, "no row has a label", read_table, "none.csv", unlabelled="drop")
