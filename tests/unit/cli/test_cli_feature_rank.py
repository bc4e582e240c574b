"""Rankers inside queries on the command line: train, show, rank, evaluate, report."""

from __future__ import annotations

import json

import pytest

RANKERS = ["featurerank", "bl-featurerank", "diffrank"]


@pytest.mark.parametrize("ranker", RANKERS)
def test_from_file_to_ranking(crucial, folder, ranker):
    model, trace = folder / "model.json", folder / "trace.tsv"
    done = crucial(
        "train", folder / "train.txt", "--ranker", ranker, "--set", "n_intervals=4",
        "--valid", folder / "valid.txt", "--set", "cycles=2", "-o", model, "--trace", trace,
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    columns = trace.read_text().splitlines()[0].split("\t")
    assert {"alpha", "loss", "bound", "ndcg@10"} <= set(columns)
    shown = crucial("show", model)
    assert shown.exit_code == 0, shown.stderr
    assert "quasi-KNN" in shown.stdout
    assert "centres, lowest rank first:" in shown.stdout
    assert "n_intervals=4" in shown.stdout
    plain = json.loads(crucial("show", model, "--json").stdout)
    assert len(plain["features"][0]["rankings"][0]["centres"]) == 4
    found = crucial(
        "evaluate", model, folder / "test.txt", "-m", "kendall", "-m", "persistence@3", "--json"
    )
    assert found.exit_code == 0, found.stderr
    values = {one["measure"]: one["value"] for one in json.loads(found.stdout)["measures"]}
    assert values["kendall"] < 0.3
    assert values["persistence@3"] > 0.6
    ranked = crucial("rank", model, folder / "test.txt", "--format", "tsv", "-o", "-")
    assert ranked.exit_code == 0, ranked.stderr
    assert len(ranked.stdout.splitlines()) == 61
    page = crucial("report", model, folder / "test.txt", "-o", folder / "page.html")
    assert page.exit_code == 0, page.stderr


@pytest.mark.parametrize("ranker", RANKERS)
def test_rows_without_queries_are_refused_by_name(crucial, folder, error_line, ranker):
    model = folder / "model.json"
    assert crucial("train", folder / "train.txt", "--ranker", ranker, "-o", model).exit_code == 0
    lines = (folder / "test.txt").read_text().splitlines()
    bare = "\n".join(" ".join(w for w in line.split() if "qid:" not in w) for line in lines)
    (folder / "bare.txt").write_text(bare + "\n")
    said = error_line(crucial("rank", model, folder / "bare.txt", "-o", folder / "out.txt"))
    assert "bare.txt: its rows have no query ids" in said
    assert "against the others of its query" in said
    assert not (folder / "out.txt").exists()


def test_more_intervals_than_rows_are_refused(crucial, folder, error_line):
    said = error_line(
        crucial("train", folder / "train.txt", "--ranker", "diffrank", "--set", "n_intervals=11",
                "-o", folder / "model.json")
    )  # fmt: skip
    assert "'n_intervals' parameter of DiffRank must be at most 10" in said
