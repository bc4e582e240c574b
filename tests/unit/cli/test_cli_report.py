"""``crucial report``: a page from files, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest


def data_of(page: Path):
    text = page.read_text()
    found = re.search(r'id="data">(.*?)</script>', text, re.S)
    assert found is not None
    return json.loads(found.group(1))


def test_a_page_says_what_evaluate_says(crucial, folder: Path, model: Path) -> None:
    out = folder / "report.html"
    done = crucial("report", model, folder / "test.txt", "-o", out, "-m", "ndcg@5", "-m", "map")
    assert done.exit_code == 0, done.stderr
    said = crucial(
        "evaluate", model, folder / "test.txt", "-m", "ndcg@5", "-m", "map", "--intervals", "--json"
    )
    expected = {row["measure"]: row for row in json.loads(said.stdout)["measures"]}
    data = data_of(out)
    for row in data["measures"]:
        assert row["value"] == expected[row["name"]]["value"]
        assert row["low"] == expected[row["name"]]["low"]
    assert data["title"] == "model.json"
    assert "test.txt: 60 rows, 6 queries" in data["subtitle"]
    assert any("feature indices begin at" in note for note in data["data"]["notes"])
    assert data["lists"]["worst"][0]["items"][0]["id"].startswith("d")
    assert str(out) in done.stdout
    assert f"ndcg@5 of {data['measures'][0]['value']:.3f}" in done.stdout


def test_the_trace_of_a_training_is_drawn(crucial, folder: Path) -> None:
    words = ["--rounds", 12, "--valid", folder / "valid.txt", "--trace", folder / "t.tsv"]
    crucial("train", folder / "train.txt", "-o", folder / "m.json", *words)
    out = folder / "r.html"
    done = crucial(
        "report", folder / "m.json", folder / "test.txt", "--trace", folder / "t.tsv", "-o", out
    )
    assert done.exit_code == 0, done.stderr
    curve = data_of(out)["curve"]
    assert curve["rounds"] == list(range(1, 13))
    assert "loss" in curve["training"]
    assert curve["watched"] == ["ndcg@10"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "this is not a trace"),
        ("a\tb\n1\t2\n", "this is not a trace"),
        ("round\tloss\n1\n", "line 2: expected 2 cells, got 1"),
        ("round\tloss\n1\tmuch\n", "line 2: 'loss' must be a number, got 'much'"),
    ],
)
def test_what_is_no_trace_is_refused(crucial, folder, model, error_line, content, said) -> None:
    (folder / "t.tsv").write_text(content)
    out = folder / "r.html"
    done = crucial("report", model, folder / "test.txt", "--trace", folder / "t.tsv", "-o", out)
    assert said in error_line(done)
    assert not out.exists()


def test_other_features_are_named(crucial, folder: Path, error_line) -> None:
    words = ["--label", "grade", "--qid", "query", "--item", "url"]
    made = crucial("train", folder / "train.csv", "-o", folder / "m.json", "--rounds", 5, *words)
    assert made.exit_code == 0, made.stderr
    text = (folder / "test.csv").read_text().replace("clicks", "visits", 1)
    (folder / "other.csv").write_text(text)
    done = crucial("report", folder / "m.json", folder / "other.csv", "-o", folder / "r.html")
    assert "clicks" in error_line(done)
    assert "other.csv" in error_line(done)


def test_names_from_files_cannot_talk_to_the_terminal(crucial, folder: Path) -> None:
    words = ["--label", "grade", "--qid", "query", "--item", "url"]
    for name in ("train.csv", "test.csv"):
        text = (folder / name).read_text().replace("clicks", "cl\x1b[31micks", 1)
        (folder / name).write_text(text)
    model, out = folder / "m.json", folder / "r.html"
    made = crucial("train", folder / "train.csv", "-o", model, "--rounds", 5, *words)
    assert made.exit_code == 0, made.stderr
    done = crucial("report", model, folder / "test.csv", "-o", out)
    assert done.exit_code == 0, done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert "cl\\x1b[31micks" in done.stdout


def test_bad_words(crucial, folder: Path, model: Path, error_line) -> None:
    test = folder / "test.txt"
    assert "did you mean 'ndcg'" in error_line(
        crucial("report", model, test, "-m", "ndgc", "-o", folder / "r.html")
    )
    assert "would overwrite" in error_line(crucial("report", model, test, "-o", test))
    assert "a page is written to a file" in error_line(crucial("report", model, test, "-o", "-"))
    assert "folder does not exist" in error_line(
        crucial("report", model, test, "-o", folder / "no" / "r.html")
    )
