"""``crucial why``: reasons add up to the margin, and items are found by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import crucial as package


@pytest.fixture
def trees(folder: Path, crucial) -> Path:
    target = folder / "trees.json"
    words = ("--weak", "tree", "--min-rows", 5, "--rounds", 10)
    done = crucial("train", folder / "train.txt", "-o", target, *words)
    assert done.exit_code == 0, done.stderr
    return target


@pytest.mark.parametrize("kind", ["model", "trees"])
def test_reasons_add_up_to_the_margin(kind: str, request, folder: Path, crucial) -> None:
    model = request.getfixturevalue(kind)
    done = crucial("why", model, folder / "test.txt", "d3", "d5", "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["margin"] == found["a"]["score"] - found["b"]["score"]
    added = [one["adds"] for one in found["features"]]
    assert sum(added) == pytest.approx(found["margin"], abs=1e-9)
    assert [abs(part) for part in added] == sorted(map(abs, added), reverse=True)
    assert (found["a"]["item"], found["a"]["row"]) == ("d3", 4)
    data = package.read_svmlight(folder / "test.txt")
    scores = package.load_model(model).predict(data.instances())
    assert found["b"]["score"] == scores[5]
    table = crucial("why", model, folder / "test.txt", "d3", "d5", "-n", 1)
    side = "above" if found["margin"] > 0 else "below"
    assert f"ranks {side} d5" in table.stdout
    assert "other features" in table.stdout
    assert max(map(len, table.stdout.splitlines())) <= 100


def test_items_of_a_query_and_rows_without_names(
    model: Path, folder: Path, crucial, small_problem
) -> None:
    lines = (folder / "test.txt").read_text().splitlines()
    bare = "\n".join(line.split(" #")[0] for line in lines) + "\n"
    (folder / "bare.txt").write_text(bare)
    one = json.loads(crucial("why", model, folder / "bare.txt", 4, 6, "--json").stdout)
    two = json.loads(crucial("why", model, folder / "test.txt", "d3", "d5", "--json").stdout)
    assert one["features"] == two["features"]
    assert one["a"]["item"] == "row 4"
    same = "\n".join(f"{line.split(' #')[0]} # d{n % 10}" for n, line in enumerate(lines)) + "\n"
    (folder / "same.txt").write_text(same)
    words = ("why", model, folder / "same.txt", "d3", "d5", "--query", "q0", "--json")
    assert json.loads(crucial(*words).stdout)["features"] == two["features"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("d3", "nobody"), "there is no item 'nobody'; name two of the items of the file"),
        (("d3", "d5", "--query", "q77"), "there is no query 'q77'"),
        (("d3", "d5", "--query", "q1"), "there is no item 'd3' in query 'q1'"),
        (("d3", "d33"), "scores of different queries cannot be compared"),
        (("d3", "d3x", "-n", "0"), "0 is not in the range"),
    ],
)
def test_items_that_are_not_there(
    model: Path, folder: Path, crucial, error_line, words: tuple[str, ...], said: str
) -> None:
    assert said in error_line(crucial("why", model, folder / "test.txt", *words))


def test_an_item_in_several_queries_needs_its_query(
    model: Path, folder: Path, crucial, error_line
) -> None:
    lines = (folder / "test.txt").read_text().splitlines()
    same = "\n".join(f"{line.split(' #')[0]} # d{n % 10}" for n, line in enumerate(lines)) + "\n"
    (folder / "same.txt").write_text(same)
    done = crucial("why", model, folder / "same.txt", "d3", "d5")
    assert "item 'd3' is in 6 rows. Name its query with --query" in error_line(done)


def test_a_ranker_without_parts_is_refused(folder: Path, crucial, error_line) -> None:
    words = ("--ranker", "ranknet", "-o", folder / "net.json")
    assert crucial("train", folder / "train.txt", *words).exit_code == 0
    done = crucial("why", folder / "net.json", folder / "test.txt", "d3", "d5")
    assert "kind='permutation'" in error_line(done)


def test_categories_are_named(tmp_path: Path, crucial) -> None:
    rows = [f"q{n // 10},{'de' if n % 3 else 'en'},{n % 7},{int(n % 3 > 0)}" for n in range(80)]
    (tmp_path / "d.csv").write_text("\n".join(["qid,lang,x,label", *rows]) + "\n")
    done = crucial("train", tmp_path / "d.csv", "-o", tmp_path / "m.json", "--rounds", 5)
    assert done.exit_code == 0, done.stderr
    found = json.loads(
        crucial("why", tmp_path / "m.json", tmp_path / "d.csv", 2, 1, "--json").stdout
    )
    by_name = {one["name"]: one for one in found["features"]}
    assert (by_name["lang"]["a"], by_name["lang"]["b"]) == ("de", "en")
    assert "de" in crucial("why", tmp_path / "m.json", tmp_path / "d.csv", 2, 1).stdout
