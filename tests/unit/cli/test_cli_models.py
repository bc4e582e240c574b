"""Verbs that use a model give what the library gives: rank, evaluate, why, show, report, export."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import crucial as package
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import Constant, Presence, ScaledFeature, Stump, Vote

from .conftest import make_problem, write_rows


def numbers(text: str) -> list[float]:
    return [float(line) for line in text.splitlines()]


def test_scores_in_the_order_of_rows(model: Path, ok) -> None:
    done = ok("rank model.json test.txt -o s.txt")
    assert done.stdout == ""
    expected = package.load_model(model).predict(package.read_svmlight("test.txt").X)
    assert numbers(Path("s.txt").read_text()) == expected.tolist()
    assert ok("rank model.json test.txt -o -").stdout == Path("s.txt").read_text()


def test_absent_is_read_as_in_training(folder: Path, ok) -> None:
    ok("train train.txt -o m.json --absent missing --rounds 20")
    X, y, qid = make_problem(2, 5)
    write_rows("t.txt", X[:, :2], y, qid)
    done = ok("rank m.json t.txt -o -")
    assert "read as missing (--absent missing)" in done.stderr
    filled = np.column_stack([X[:, :2], np.full((20, 2), np.nan)])
    assert numbers(done.stdout) == package.load_model("m.json").predict(filled).tolist()
    # What is typed wins over what the model remembers.
    done = ok("rank m.json t.txt -o - --absent zero")
    assert "read as 0 (--absent zero)" in done.stderr


def test_index_base_is_that_of_training(folder: Path, ok) -> None:
    """A test file that never mentions feature 0 still counts from 0."""
    X, y, qid = make_problem(6, 1)
    write_rows("zero.txt", X, y, qid, base=0)
    ok("train zero.txt -o m.json --rounds 20")
    X[:, 0] = 0.0
    write_rows("t.txt", X, y, qid, base=0)
    done = ok("rank m.json t.txt -o - --missing-features allow")
    assert numbers(done.stdout) == package.load_model("m.json").predict(X).tolist()


def test_model_of_the_library(folder: Path, ok) -> None:
    """It remembers no file: the defaults hold."""
    X, y, qid = make_problem(12, 0)
    package.RankBoost(10).fit(X, y, qid=qid).save("model.json")
    assert len(ok("rank model.json test.txt -o -").stdout.splitlines()) == 60


def test_measures_are_those_of_the_library(model: Path, ok) -> None:
    data = package.read_svmlight("test.txt")
    scores = package.load_model(model).predict(data.X)
    expected = package.evaluate(data.y, scores, data.qid, ["ndcg@10", "map"], intervals=True)
    done = ok("evaluate model.json test.txt -m ndcg@10 -m map --json --intervals --by-query")
    found = json.loads(done.stdout)
    assert found["level"] == 0.95
    first = found["measures"][0]
    assert first["value"] == expected["ndcg@10"]
    assert (first["low"], first["high"]) == expected.results["ndcg@10"].interval
    assert "linear gain" in first["description"]
    assert found["by_query"]["map"] == expected.per_query["map"].tolist()
    assert "ndcg@10" in ok("evaluate model.json test.txt").stdout  # (by default)


@pytest.mark.parametrize("kind", ["stump", "tree"])
def test_reasons_add_up_to_the_margin(kind: str, model: Path, ok) -> None:
    if kind == "tree":
        ok("train train.txt -o model.json --weak tree --set l2=1 --rounds 10")
    found = json.loads(ok("why model.json test.txt d3 d5 --json").stdout)
    assert found["margin"] == found["a"]["score"] - found["b"]["score"]
    added = [one["adds"] for one in found["features"]]
    assert sum(added) == pytest.approx(found["margin"], abs=1e-9)
    assert [abs(part) for part in added] == sorted(map(abs, added), reverse=True)
    assert (found["a"]["item"], found["a"]["row"]) == ("d3", 4)
    data = package.read_svmlight("test.txt")
    assert found["b"]["score"] == package.load_model(model).predict(data.instances())[5]
    table = ok("why model.json test.txt d3 d5 -n 1").stdout
    side = "above" if found["margin"] > 0 else "below"
    assert f"ranks {side} d5" in table
    assert "other features" in table
    assert max(map(len, table.splitlines())) <= 100


def shown():
    found = re.search(r'id="data">(.*?)</script>', Path("r.html").read_text(), re.S)
    return json.loads(found.group(1))


def test_a_page_says_what_evaluate_says(ok, model: Path) -> None:
    Path("test.txt").write_text(re.sub(r" 4:\S+", "", Path("test.txt").read_text(), count=1))
    done = ok("report model.json test.txt -o r.html -m ndcg@5 -m map")
    said = ok("evaluate model.json test.txt -m ndcg@5 -m map --intervals --json")
    expected = {row["measure"]: row for row in json.loads(said.stdout)["measures"]}
    data = shown()
    for row in data["measures"]:
        assert row["value"] == expected[row["name"]]["value"]
        assert row["low"] == expected[row["name"]]["low"]
    assert data["title"] == "model.json"
    assert "test.txt: 60 rows, 6 queries" in data["subtitle"]
    assert any("features absent from a line" in note for note in data["data"]["notes"])
    assert data["lists"]["worst"][0]["items"][0]["id"].startswith("d")
    assert f"ndcg@5 of {data['measures'][0]['value']:.3f}" in done.stdout


def test_a_shift_is_printed_and_can_be_switched_off(folder: Path, ok) -> None:
    AdditiveRanker(1, [Stump(0, 0.5, 0)], [-2.0], ["a"]).save("m.json")
    words = "export m.json --to elasticsearch -o x"
    assert "every score is the model's plus 2, so that none is" in ok(words).stdout
    assert ok(f"{words} --shift").stdout == ok(words).stdout
    done = ok(f"{words} --no-shift")
    assert "scores may be negative, down to -2, which Lucene rejects" in done.stdout
    assert "so that none is negative" not in done.stdout


def test_every_kind_of_weak_ranker(folder: Path, ok) -> None:
    rankers = [Stump(0, 0.5, 1), Presence(1, 0), ScaledFeature(2, 0.0, 4.0, 0.5)]
    names = ["[bold]a[/bold]", "b\x1b[2J", "c"]
    package.model.AdditiveRanker(3, rankers, [1.0, 0.5, 2.0], names).save("m.json")
    said = ok("show m.json").stdout
    assert "[bold]a[/bold]" in said  # names are no markup
    assert "\x1b" not in said
    assert "any value adds 0.5, no opinion 0" in said
    assert "from 0 at 0 to 2 at 4" in said
    rankers = [Vote(Stump(0, 1.0, 0)), Constant(), Constant()]
    package.model.AdditiveRanker(1, rankers, [0.5, 0.25, -1.0]).save("m.json")
    said = ok("show m.json").stdout
    assert "2 constant, 1 vote" in said
    assert "intercept     -0.75, the same for every row" in said
    assert json.loads(ok("show m.json --json").stdout)["intercept"] == -0.75


def test_model_without_summary_or_rounds(folder: Path, ok) -> None:
    package.model.AdditiveRanker(2, [], []).save("m.json")
    assert "0 rounds over 2 features, 0 used" in " ".join(ok("show m.json").stdout.split())
    assert json.loads(ok("show m.json --json").stdout)["features"] == []


@pytest.mark.parametrize("training", [
    {"parameters": "x", "data": [1], "eval": 3, "rows": {"a": 1}, "queries": True},
    {"parameters": {"choice": {"a": "\x1b[2J"}}, "eval": {"map": None}},
])  # fmt: skip
def test_odd_summaries(model: Path, ok, training: dict[str, object]) -> None:
    """A model file is anybody's: nothing in its summary may break the terminal."""
    replace(package.load_model(model), training=training).save(model)
    assert "\x1b" not in ok("show model.json").stdout
