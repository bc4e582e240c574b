"""A model file of a few bytes that claims billions of features costs nothing in any verb."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[2] / "golden"

VERBS = {
    "show": "show m.json",
    "rank": "rank m.json x.txt -o out.txt",
    "evaluate": "evaluate m.json x.txt",
    "report": "report m.json x.txt -o r.html",
    "export": "export m.json --to xgboost -o x.json",
    "scorecard": "scorecard m.json x.txt",
    "why": "why m.json x.txt 1 2",
}
OFTEN = ["show", "rank", "evaluate", "report"]
MODEL = (
    '{"kind":"additive","n_features":N,"feature_names":null,"rounds":[{"weight":1.0,"ranker":'
    '{"kind":"stump","feature":0,"threshold":0.5,"default":0}}],"training":{}}'
)


MEMORY = """
import sys
from crucial.cli.app import app
app(sys.argv[1:], standalone_mode=False)
(peak,) = (line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(int(peak.split()[1]) // 1024)
"""
REFUSED = MEMORY.replace("app(", "try:\n    app(").replace(
    "False)\n", "False)\nexcept Exception as error:\n    print(type(error).__name__)\n"
)


def write(folder, n_features, model=MODEL):
    model = model.replace("N", str(n_features))
    checksum = hashlib.sha256(model.encode()).hexdigest()
    (folder / "m.json").write_text(
        f'{{"format":"crucial-model","version":1,"checksum":"{checksum}","model":{model}}}'
    )
    (folder / "x.txt").write_text("1 qid:1 1:0.7 2:3\n0 qid:1 1:0.3 2:4\n")


def measured(program, folder, verb):
    """Run a verb in a process of its own; return what it prints last."""
    command = [sys.executable, "-c", program, *VERBS[verb].split()]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize("verb", VERBS)
def test_billions_of_features_are_refused(tmp_path, monkeypatch, refused, verb):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, 2147483646)
    said = refused(VERBS[verb])
    assert said.startswith("crucial: error: m.json: contains an invalid model")


def test_an_export_names_no_million_of_features(tmp_path, monkeypatch, refused):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, 1 << 24)
    assert "at most 1,048,576 can be exported" in refused(VERBS["export"])


PEAK = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is in /proc")


@PEAK
@pytest.mark.slow
@pytest.mark.parametrize("verb", OFTEN)
@pytest.mark.parametrize(
    "kind", ["additive-1", "kernel-1", "net-1", "rank_addition-1", "ranking_trees-1-tree"]
)
def test_the_most_features_take_little_memory_in_any_verb(tmp_path, kind, verb):
    """Rows of a model of 2^24 columns have an array of 64 MiB beside them, and few of it."""
    model = json.loads((GOLDEN / f"{kind}.json").read_text())["model"]
    wide = {**model, "n_features": 1 << 24, "feature_names": None}
    write(tmp_path, 0, json.dumps(wide, separators=(",", ":")))
    assert 20 < int(measured(MEMORY, tmp_path, verb)[-1]) < 500  # megabytes at most


@PEAK
@pytest.mark.slow
@pytest.mark.parametrize("verb", OFTEN)
@pytest.mark.parametrize("item", ["[]", "[1.5e3]"])
def test_a_crowd_of_lists_is_refused_in_little_memory(tmp_path, item, verb):
    many = ((64 << 20) - 1000) // (len(item) + 1)
    lists = ",".join([item] * many)
    write(tmp_path, 4, MODEL.replace('"training":{}', f'"training":{{"x":[{lists}]}}'))
    error, peak = measured(REFUSED, tmp_path, verb)
    assert error == "ModelFileError"
    assert 20 < int(peak) < 500  # megabytes at most
