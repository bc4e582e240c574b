"""``crucial compare`` and ``crucial experiment``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import crucial as package


@pytest.fixture
def runs(folder: Path) -> Path:
    """qrels.txt, base.run, new.run in the folder."""
    random = np.random.default_rng(0)
    qid = np.array([f"q{k}" for k in np.repeat(np.arange(12), 6)], dtype=object)
    doc = np.array([f"d{k}" for k in np.tile(np.arange(6), 12)], dtype=object)
    grade = random.integers(0, 3, 72)
    package.write_qrels(folder / "qrels.txt", package.Qrels(qid, doc, grade))
    for name, noise in (("base", 3.0), ("new", 0.3)):
        run = package.Run(qid, doc, grade + noise * random.normal(size=72), name)
        package.write_run(folder / f"{name}.run", run)
    return folder


def test_compare_prints_what_the_library_finds(runs: Path, crucial) -> None:
    done = crucial("compare", runs / "qrels.txt", runs / "base.run", runs / "new.run",
                   "-m", "ndcg@5", "-m", "map", "--movers", 2)  # fmt: skip
    assert done.exit_code == 0, done.stderr
    found = package.compare_runs(
        package.read_qrels(runs / "qrels.txt"),
        {name: package.read_run(runs / name) for name in ("base.run", "new.run")},
        ["ndcg@5", "map"],
    )
    for measure in ("ndcg@5", "map"):
        one = found[measure, "new.run"]
        for said in (
            f"{one.value:.4f}", f"{one.difference:+.4f}", f"{one.p:.4f}",
            f"{one.wins}/{one.ties}/{one.losses}",
        ):  # fmt: skip
            assert said in done.stdout
    assert "biggest movers, ndcg@5" in done.stdout
    assert "ndcg with linear gain y" in " ".join(done.stdout.split())
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_compare_json(runs: Path, crucial) -> None:
    target = runs / "out.json"
    done = crucial("compare", runs / "qrels.txt", runs / "base.run", runs / "new.run",
                   "--baseline", "new.run", "--json", "-o", target)  # fmt: skip
    assert done.exit_code == 0, done.stderr
    found = json.loads(target.read_text())
    assert found["baseline"] == "new.run"
    assert [one["system"] for one in found["differences"]] == ["new.run", "base.run"]
    assert found["differences"][0]["p"] is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("base.run",), "name two runs or more"),
        (("base.run", "base.run"), "is named twice"),
        (("base.run", "new.run", "--baseline", "old.run"), "is not one of the runs"),
        (("base.run", "new.run", "-m", "ndgc"), "did you mean 'ndcg'"),
        (("base.run", "none.run"), "none.run: cannot be read: no such file"),
        (("base.run", "new.run", "-o", "x"), "-o is for --json"),
        (("base.run", "qrels.txt"), "qrels.txt, line 1"),
    ],
)
def test_compare_refuses_in_one_line(runs, crucial, error_line, monkeypatch, words, said) -> None:
    monkeypatch.chdir(runs)
    assert said in error_line(crucial("compare", "qrels.txt", *words))


def test_experiment_on_a_file(folder: Path, crucial, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    words = ("experiment", "train.txt", "--rankers", "rankboost,random", "--rounds", 5,
             "--folds", 4, "-m", "ndcg@10", "-m", "r2", "--report", "out.html", "--save",
             "cells.csv", "--output", "results")  # fmt: skip
    done = crucial(*words)
    assert done.exit_code == 0, done.stderr
    assert "4 folds, 2 to train, 1 to validate, 1 to test" in " ".join(done.stdout.split())
    found = package.load_experiment("results")
    for measure in ("ndcg@10", "r2"):
        for ranker in ("rankboost", "random"):
            assert f"{found.value(measure, ranker):.4f}" in done.stdout
    assert f"{found.compare()['r2', 'random'].difference:+.4f}" in done.stdout
    assert "critical difference" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert "<svg" in (folder / "out.html").read_text()
    assert len((folder / "cells.csv").read_text().splitlines()) == 1 + 4 * 2 * 2
    again = crucial(*words)
    assert again.stdout == done.stdout
    assert len((folder / "results" / "cells.jsonl").read_text().splitlines()) == 8
    refused = crucial(*words, "--seed", 1)
    assert refused.exit_code == 2
    assert "another seed" in refused.stderr


def test_experiment_on_given_folds_and_several_files(folder: Path, crucial, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    # (the same names of queries occur in all three files: these are not folds yet)
    for number in (1, 2):
        inside = folder / "letor" / f"Fold{number}"
        inside.mkdir(parents=True)
        for at, part in enumerate(("train", "valid", "test")):
            text = (folder / f"{part}.txt").read_text().replace("qid:q", f"qid:{at}-")
            (inside / f"{part}.txt").write_text(text)
    done = crucial("experiment", "letor", "--rankers", "rankboost,best-feature", "--rounds", 4,
                   "--choose-by", "map")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert "the folds that came with the data" in done.stdout
    several = crucial("experiment", "valid.txt", "test.txt", "--rankers", "rb_c,rb_d", "--rounds",
                      3, "-m", "r2", "--folds", 3)  # fmt: skip
    assert several.exit_code == 0, several.stderr
    assert "average rank over 2 tasks" in several.stdout
    half = crucial("experiment", "train.txt", "--rankers", "random", "--protocol", "half")
    assert half.exit_code == 0, half.stderr
    table = crucial("experiment", "train.csv", "--rankers", "random,best-feature", "--label",
                    "grade", "--qid", "query", "--item", "url", "--protocol", "plain")  # fmt: skip
    assert table.exit_code == 0, table.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("train.txt", "--rankers", "rankbost"), "unknown ranker 'rankbost'; did you mean"),
        (("train.txt", "--rankers", "random", "-m", "ndgc"), "did you mean 'ndcg'"),
        (("none.txt", "--rankers", "random"), "none.txt: cannot be read: no such file"),
        ((".", "--rankers", "random"), "two files for the same part: train.csv and train.txt"),
        (("train.txt", "--rankers", "random", "--folds", "2"), "use 3 or more"),
        (("train.txt", "--rankers", "random", "--folds", "30"), "30 folds need as many queries"),
        (("train.txt", "--rankers", ","), "rankers is empty"),
        (("train.txt", "--rankers", "random", "--baseline", "x"), "is not one of the rankers"),
        (("train.txt", "--rankers", "random", "--save", "x.xls"), "the name must end in"),
        (("train.txt", "--rankers", "random", "--protocol", "half", "--tune"), "no validation"),
        (("train.txt", "--rankers", "random", "--report", "no/x.html"), "cannot be written"),
        (("train.txt", "--rankers", "random", "--weight", "w"), "--weight"),
    ],
)
def test_experiment_refuses_in_one_line(
    folder, crucial, error_line, monkeypatch, words, said
) -> None:
    monkeypatch.chdir(folder)
    (folder / "valid.txt").unlink()
    assert said in error_line(crucial("experiment", *words))


def test_experiment_tells_failures(folder: Path, crucial, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    from crucial.lab.rankers import BestFeature

    def broken(self, X, y, *, qid=None):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(BestFeature, "fit", broken)
    done = crucial("experiment", "train.txt", "--rankers", "random,best-feature", "--folds", 3)
    assert done.exit_code == 0
    assert "best-feature failed on train.txt, fold 1: RuntimeError: out of luck" in done.stderr
    assert "none" in done.stdout


def test_models_are_compared_on_rows(folder: Path, crucial, error_line, monkeypatch) -> None:
    """Without queries: DeLong's test for the AUC, draws of rows for others."""
    monkeypatch.chdir(folder)
    rows = [f"{i % 3 // 2},{(i * 7) % 13 + 3 * (i % 3 // 2)},{i % 5}\n" for i in range(90)]
    Path("rows.csv").write_text("label,a,b\n" + "".join(rows))
    for name, rounds in (("old", 1), ("new", 8)):
        done = crucial("train", "rows.csv", "--rounds", rounds, "-o", f"{name}.json")
        assert done.exit_code == 0, done.stderr
    words = ("compare", "rows.csv", "old.json", "new.json", "-m", "auc", "-m", "p@5")
    done = crucial(*words, "--resamples", 200)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("2 models on rows.csv")
    assert "p: DeLong's test, from rows (auc); bootstrap over rows (p@5)" in done.stdout
    assert "bootstrap over rows, label by label, 200 draws, seed 0" in done.stdout
    assert not re.search(r"\bquer|won/tied/lost|0\.0000", done.stdout)
    found = json.loads(crucial(*words[:-2], "--json").stdout)
    assert (found["data"], found["unit"]) == ("rows.csv", "row")
    data = package.read_table("rows.csv")
    scores = {n: package.load_model(f"{n}.json").predict(data.X) for n in ("old", "new")}
    alone = package.compare_rankings(data.y, scores, "auc")["auc", "new"]
    assert found["differences"][1]["p"] == alone.p
    for wrong, said in (
        (("compare", "old.json", "new.json", "rows.csv"), "compare rows.csv old.json new.json"),
        (("compare", "rows.csv", "old.json", "test.txt"), "compare like with like"),
        (("evaluate", "old.json", "new.json", "rows.csv"), "compare rows.csv MODEL MODEL"),
        (("compare", "rows.csv", "old.json", "new.json", "--label", "zzz"), "zzz"),
    ):
        assert said in error_line(crucial(*wrong))


def test_an_experiment_without_queries_speaks_of_rows_and_folds(
    folder: Path, crucial, monkeypatch
) -> None:
    monkeypatch.chdir(folder)
    rows = [f"{i % 3 // 2},{(i * 7) % 13 + 3 * (i % 3 // 2)},{i % 5}\n" for i in range(90)]
    Path("rows.csv").write_text("label,a,b\n" + "".join(rows))
    done = crucial("experiment", "rows.csv", "--rankers", "random,best-feature", "--folds", 3,
                   "-m", "auc", "--output", "out", "--report", "page.html")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert "average rank over 3 folds" in done.stdout
    assert "DeLong from rows within folds" in done.stdout
    assert "p: DeLong's test, from rows" in done.stdout
    page = Path("page.html").read_text()
    for text in (done.stdout, page):
        assert not re.search(r"\bquer|0\.0000", text)
    found = package.load_experiment("out")
    assert found.unit_of() == "fold"
    low, high = (found.summary()[1][key] for key in ("low", "high"))
    assert 0.0 < low < found.value("auc", "best-feature") < high < 1.0
    assert found.compare().unit == "row"
    assert found.compare(unit="fold").unit == "fold"
    assert "by fold" in str(found)
