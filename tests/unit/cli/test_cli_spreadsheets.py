"""Tables for people have no cell that a spreadsheet runs; files that are read again are exact."""

from __future__ import annotations

import csv
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from crucial import read_run, read_table
from crucial.data.dataset import Dataset, Run
from crucial.io.comparisons import read_comparisons, write_comparisons
from crucial.io.ratings import read_own_ratings, write_own_ratings
from crucial.io.runs import write_run
from crucial.io.writing import write_table
from crucial.lab.comparison import write_rows

NAMES = ["=1+1", "+b", "-c", "@e", "＝f", "-1.5", "+2", "g"]
SHOWN = ["'=1+1", "'+b", "'-c", "'@e", "'＝f", "-1.5", "+2", "g"]


def written(path: Path, sep: str = ",") -> list[dict[str, str]]:
    return list(csv.DictReader(path.open(newline=""), delimiter=sep))


def safe(path: Path) -> bool:
    """Whether every cell is a number or begins with no sign of a formula."""
    sep = "\t" if path.suffix == ".tsv" else ","
    cells = (cell for row in csv.reader(path.open(newline=""), delimiter=sep) for cell in row)
    number = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?")
    return all(number.fullmatch(one) or not re.match("[=+@\t\r\n＝-].", one) for one in cells)


@pytest.fixture
def rows(tmp_path: Path, crucial) -> Path:
    """A folder with rows.csv, of queries and items with such names, and model.json."""
    draw = np.random.default_rng(0)
    lines = ["label,qid,item,town,=f"]
    for row in range(400):
        name, town = NAMES[row % 8], draw.integers(4)
        x = draw.normal()
        lines.append(
            f"{int(x + town + draw.normal() > 1.5)},{NAMES[row // 50]},{name},{NAMES[town]},{x:.3f}"
        )
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    done = crucial("train", tmp_path / "rows.csv", "--item", "item", "--rounds", 20,
                   "-o", tmp_path / "model.json")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    return tmp_path


def test_leaderboard(crucial, tmp_path: Path) -> None:
    pairs = [f"{a},{b}" for a in NAMES for b in NAMES if a != b]
    (tmp_path / "judged.csv").write_text("winner,loser\n" + "\n".join(pairs) + "\n")
    done = crucial("pairs", tmp_path / "judged.csv", "-o", tmp_path / "board.csv")
    assert done.exit_code == 0, done.stderr
    assert sorted(one["item"] for one in written(tmp_path / "board.csv")) == sorted(SHOWN)
    assert safe(tmp_path / "board.csv")


def test_scorecard_and_points(crucial, rows: Path) -> None:
    lines = [line.split(",") for line in (rows / "rows.csv").read_text().splitlines()]
    (rows / "rows.csv").write_text("".join(f"{one[0]},{','.join(one[2:])}\n" for one in lines))
    crucial("train", rows / "rows.csv", "--item", "item", "--rounds", 20, "-o", rows / "model.json")
    done = crucial("scorecard", rows / "model.json", rows / "rows.csv", "--item", "item",
                   "-o", rows / "card.csv", "--scores", rows / "points.csv")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert {"'=f", "town"} <= {one["feature"] for one in written(rows / "card.csv")}
    assert any(float(one["woe"] or 0) < 0 for one in written(rows / "card.csv"))
    assert [one["item"] for one in written(rows / "points.csv")[:8]] == SHOWN
    assert safe(rows / "card.csv")
    assert safe(rows / "points.csv")


def test_rank_and_evaluate(crucial, rows: Path) -> None:
    words = (rows / "model.json", rows / "rows.csv", "--item", "item")
    for verb in (("rank", *words, "-f", "tsv"), ("evaluate", *words, "-m", "map", "--by-query")):
        done = crucial(*verb, "-o", rows / "out.tsv")
        assert done.exit_code == 0, done.stderr
        assert {one["qid"] for one in written(rows / "out.tsv", "\t")} == set(SHOWN)
        assert safe(rows / "out.tsv")


def test_recommendations(crucial, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    lines = [
        f"{u},{i},{draw.integers(1, 6)}" for u in range(30) for i in NAMES if draw.random() < 0.6
    ]
    (tmp_path / "ratings.csv").write_text("user,item,rating\n" + "\n".join(lines) + "\n")
    done = crucial("recommend", tmp_path / "ratings.csv", "--all", "-o", tmp_path / "lists.tsv")
    assert done.exit_code == 0, done.stderr
    assert {one["item"] for one in written(tmp_path / "lists.tsv", "\t")} == set(SHOWN)
    assert safe(tmp_path / "lists.tsv")


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_experiments(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"cells.{ending}"
    write_rows(path, [{"=name": name, "value": -0.5, "none": None} for name in NAMES])
    found = written(path, "," if ending == "csv" else "\t")
    assert [one["'=name"] for one in found] == SHOWN
    assert {one["value"] for one in found} == {"-0.5"}
    assert safe(path)


class TestFilesThatAreReadAgain:
    def test_tables(self, tmp_path: Path) -> None:
        items = np.array(NAMES, object)
        data = Dataset(np.arange(8.0)[:, None], np.ones(8), items, items, feature_names=["=f"])
        write_table(tmp_path / "t.csv", data)
        again = read_table(tmp_path / "t.csv", item="item")
        assert again.item.tolist() == again.qid.tolist() == NAMES
        assert again.feature_names == ["=f"]

    def test_comparisons_and_ratings(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text(
            "winner,loser\n" + "".join(f"{a},{b}\n" for a, b in pairwise(NAMES))
        )
        first = read_comparisons(tmp_path / "a.csv")
        write_comparisons(tmp_path / "b.csv", first)
        assert read_comparisons(tmp_path / "b.csv").items == first.items
        mine = {name: float(place) for place, name in enumerate(NAMES, 1)}
        write_own_ratings(tmp_path / "mine.csv", mine)
        assert read_own_ratings(tmp_path / "mine.csv") == mine

    def test_runs(self, tmp_path: Path) -> None:
        names = np.array(NAMES, object)
        write_run(tmp_path / "a.run", Run(names, names, np.arange(8.0), "=tag"))
        again = read_run(tmp_path / "a.run")
        assert set(again.qid) == set(again.doc) == set(NAMES)
        assert set(again.tag) == {"=tag"}
