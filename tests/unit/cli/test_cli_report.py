"""``crucial report``: a page from files, and what is refused."""

import json
import re
from pathlib import Path

import pytest

from .conftest import ROLES

TYPED = "report model.json test.txt -o r.html"


def shown():
    found = re.search(r'id="data">(.*?)</script>', Path("r.html").read_text(), re.S)
    return json.loads(found.group(1))


def test_a_page_says_what_evaluate_says(ok, model: Path) -> None:
    done = ok(f"{TYPED} -m ndcg@5 -m map")
    said = ok("evaluate model.json test.txt -m ndcg@5 -m map --intervals --json")
    expected = {row["measure"]: row for row in json.loads(said.stdout)["measures"]}
    data = shown()
    for row in data["measures"]:
        assert row["value"] == expected[row["name"]]["value"]
        assert row["low"] == expected[row["name"]]["low"]
    assert data["title"] == "model.json"
    assert "test.txt: 60 rows, 6 queries" in data["subtitle"]
    assert any("feature indices begin at" in note for note in data["data"]["notes"])
    assert data["lists"]["worst"][0]["items"][0]["id"].startswith("d")
    assert f"ndcg@5 of {data['measures'][0]['value']:.3f}" in done.stdout


def test_the_trace_of_a_training_is_drawn(ok, folder: Path) -> None:
    ok("train train.txt -o model.json --rounds 12 --valid valid.txt --trace t.tsv")
    ok(f"{TYPED} --trace t.tsv")
    curve = shown()["curve"]
    assert curve["rounds"] == list(range(1, 13))
    assert "loss" in curve["training"]
    assert curve["watched"] == ["ndcg@10"]


@pytest.mark.parametrize(
    ("trace", "words", "said"),
    [
        ("", "--trace t.tsv", "this is not a trace"),
        ("a\tb\n1\t2\n", "--trace t.tsv", "this is not a trace"),
        ("round\tloss\n1\n", "--trace t.tsv", "line 2: expected 2 cells, got 1"),
        ("round\tloss\n1\tmuch\n", "--trace t.tsv", "line 2: 'loss' must be a number, got 'much'"),
        ("", "-m ndgc", "did you mean 'ndcg'"),
        ("", "-o -", "a page is written to a file"),
        ("", "-o no/r.html", "folder does not exist"),
    ],
)
def test_what_is_refused(refused, model, trace, words, said) -> None:
    Path("t.tsv").write_text(trace)
    assert said in refused(f"{TYPED} {words}")
    assert not Path("r.html").exists()


def test_names_from_files_cannot_talk_to_the_terminal(ok, folder: Path) -> None:
    for name in ("train.csv", "test.csv"):
        text = Path(name).read_text().replace("clicks", "cl\x1b[31micks", 1)
        Path(name).write_text(text)
    ok(f"train train.csv -o m.json --rounds 5 {ROLES}")
    done = ok("report m.json test.csv -o r.html")
    assert "\x1b" not in done.stdout + done.stderr
    assert "cl\\x1b[31micks" in done.stdout
