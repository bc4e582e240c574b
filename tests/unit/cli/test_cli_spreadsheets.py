"""Tables for people have no cell that a spreadsheet runs; files that are read again are exact."""

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
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(name: str) -> list[dict[str, str]]:
    """Read a table in which every cell is a number or begins with no sign of a formula."""
    with open(name, newline="") as file:
        head, *rows = csv.reader(file, delimiter="\t" if name.endswith(".tsv") else ",")
    for cell in (cell for row in (head, *rows) for cell in row):
        assert NUMBER.fullmatch(cell) or not re.match("[=+@\t\r\n＝-].", cell), cell
    return [dict(zip(head, row)) for row in rows]


def write(name: str, *lines: str) -> None:
    Path(name).write_text("\n".join(lines) + "\n")


def test_leaderboard(ok) -> None:
    write("judged.csv", "winner,loser", *(f"{a},{b}" for a in NAMES for b in NAMES if a != b))
    ok("pairs judged.csv -o board.csv")
    assert sorted(one["item"] for one in written("board.csv")) == sorted(SHOWN)


@pytest.mark.parametrize("queries", [True, False])
def test_rows_of_queries_and_items(ok, queries: bool) -> None:
    draw = np.random.default_rng(0)
    lines = [f"label,{'qid,' * queries}item,town,=f"]
    for row in range(400):
        town, x = draw.integers(4), draw.normal()
        label = int(x + town + draw.normal() > 1.5)
        query = f"{NAMES[row // 50]}," * queries
        lines.append(f"{label},{query}{NAMES[row % 8]},{NAMES[town]},{x:.3f}")
    write("rows.csv", *lines)
    ok("train rows.csv --item item --rounds 20 -o model.json")
    if queries:
        for verb, more in (("rank", "-f tsv"), ("evaluate", "-m map --by-query")):
            ok(f"{verb} model.json rows.csv --item item {more} -o out.tsv")
            assert {one["qid"] for one in written("out.tsv")} == set(SHOWN)
        return
    ok("scorecard model.json rows.csv --item item -o card.csv --scores points.csv")
    assert {"'=f", "town"} <= {one["feature"] for one in written("card.csv")}
    assert any(float(one["woe"] or 0) < 0 for one in written("card.csv"))
    assert [one["item"] for one in written("points.csv")[:8]] == SHOWN


def test_recommendations(ok) -> None:
    draw = np.random.default_rng(0)
    seen = ((user, name) for user in range(30) for name in NAMES if draw.random() < 0.6)
    write("ratings.csv", "user,item,rating", *(f"{u},{i},{draw.integers(1, 6)}" for u, i in seen))
    ok("recommend ratings.csv --all -o lists.tsv")
    assert {one["item"] for one in written("lists.tsv")} == set(SHOWN)


@pytest.mark.parametrize("name", ["cells.csv", "cells.tsv"])
def test_experiments(name: str) -> None:
    write_rows(name, [{"=name": one, "value": -0.5, "none": None} for one in NAMES])
    assert [one["'=name"] for one in written(name)] == SHOWN
    assert {one["value"] for one in written(name)} == {"-0.5"}


def test_files_that_are_read_again() -> None:
    items = np.array(NAMES, object)
    data = Dataset(np.arange(8.0)[:, None], np.ones(8), items, items, feature_names=["=f"])
    write_table("t.csv", data)
    again = read_table("t.csv", item="item")
    assert again.item.tolist() == again.qid.tolist() == NAMES
    assert again.feature_names == ["=f"]
    write("a.csv", "winner,loser", *(f"{a},{b}" for a, b in pairwise(NAMES)))
    first = read_comparisons("a.csv")
    write_comparisons("b.csv", first)
    assert read_comparisons("b.csv").items == first.items
    mine = {name: float(place) for place, name in enumerate(NAMES, 1)}
    write_own_ratings("mine.csv", mine)
    assert read_own_ratings("mine.csv") == mine
    write_run("a.run", Run(items, items, np.arange(8.0), "=tag"))
    run = read_run("a.run")
    assert set(run.qid) == set(run.doc) == set(NAMES)
    assert set(run.tag) == {"=tag"}
