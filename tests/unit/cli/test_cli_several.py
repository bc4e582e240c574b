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


def learned(name: str) -> object:
    model = json.loads(Path(name).read_text())["model"]
    del model["training"]["data"]
    return model


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
