"""``crucial demo`` on a part of its queries: what it says is what its files hold."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import crucial as package
from crucial.cli.app import app
from crucial.io.runs import read_qrels, read_run
from crucial.io.tables import read_table
from crucial.measures.evaluation import evaluate_run


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    out = tmp_path_factory.mktemp("demo") / "made"
    done = CliRunner().invoke(app, ["demo", "--out", str(out), "--queries", "120"])
    assert done.exit_code == 0, done.stderr
    assert done.stderr == ""
    return out, done.stdout


def numbers(text: str, system: str) -> list[float]:
    table = text.split("held-out queries;")[1]
    line = next(line for line in table.splitlines() if line.startswith(f"{system} "))
    return [float(word) for word in line.split()[-4:]]


def test_table_has_every_engine_and_both_fusions(demo: tuple[Path, str]) -> None:
    _, text = demo
    names = (*package.load_digits_search(120).feature_names, "rank fusion", "RankBoost")
    values = {name: numbers(text, name) for name in names}
    assert all(0 < value <= 1 for row in values.values() for value in row)
    best_engine = max(values[name][1] for name in list(values)[:-2])
    assert values["RankBoost"][1] > values["rank fusion"][1] > best_engine  # map
    assert "linear gain" in text
    assert "against rank fusion, paired by query" in text


def test_files_agree_with_the_table(demo: tuple[Path, str]) -> None:
    out, text = demo
    assert all(f"{name} " in text.split("What it learned")[1] for name in ("rows", "top", "left"))
    qrels = read_qrels(out / "test.qrels")
    for system, name in (("RankBoost", "rankboost.run"), ("rank fusion", "rrf.run")):
        found = evaluate_run(qrels, read_run(out / name), ["ndcg@10", "map", "mrr", "p@10"])
        shown = numbers(text, system)
        assert [round(found[m], 4) for m in ("ndcg@10", "map", "mrr", "p@10")] == shown
    for path in sorted(out.iterdir()):
        assert str(path) in text


def test_model_and_rows_make_the_run(demo: tuple[Path, str]) -> None:
    out, _ = demo
    rows = read_table(out / "test.csv", item="item")
    scores = package.load_model(out / "model.json").predict(rows.X)
    run = read_run(out / "rankboost.run")
    by_name = {(q, d): s for q, d, s in zip(run.qid, run.doc, run.score)}
    assert [by_name[str(q), str(d)] for q, d in zip(rows.qid, rows.item)] == scores.tolist()


def test_battles_and_judgements_are_of_the_runs(demo: tuple[Path, str]) -> None:
    out, _ = demo
    battles = (out / "battles.csv").read_text().splitlines()
    assert battles[0] == "model_a,model_b,winner,digit"
    rows = [line.split(",") for line in battles[1:]]
    held_out = set(read_qrels(out / "test.qrels").qid.tolist())
    judged = set(read_qrels(out / "judged.qrels").qid.tolist())
    assert len(rows) == 4 * len(held_out)
    assert len(judged) == 30
    assert not judged & held_out
    wins = dict.fromkeys(package.load_digits_search(120).feature_names, 0)
    for a, b, winner, _ in rows:
        assert a != b
        assert winner in ("model_a", "model_b", "tie")
        if winner != "tie":
            wins[a if winner == "model_a" else b] += 1
    p_at_10 = {}
    for name in wins:
        run = read_run(out / f"{name}.run")
        assert set(run.qid.tolist()) == judged | held_out
        p_at_10[name] = evaluate_run(read_qrels(out / "test.qrels"), run, "p@10")["p@10"]
    best, worst = max(p_at_10, key=p_at_10.__getitem__), min(p_at_10, key=p_at_10.__getitem__)
    assert wins[best] > 2 * wins[worst]


def test_it_ends_with_a_page_of_pictures(demo: tuple[Path, str]) -> None:
    out, text = demo
    assert text.rstrip().endswith((out / "report.html").resolve().as_uri())
    page = (out / "report.html").read_text()
    data = json.loads(re.findall(r'id="data">(.*?)</script>', page, re.S)[0])
    entries = data["lists"]["worst"] + data["lists"]["best"]
    assert all(entry["picture"] is not None for entry in entries)
    for entry in entries:
        digit = entry["qid"][0]
        for item in entry["items"]:
            assert item["picture"] is not None
            assert (item["id"][0] == digit) == (item["label"] == 1)
    shown = [row["value"] for row in data["measures"]]
    assert round(shown[1], 4) == numbers(text, "RankBoost")[3]  # p@10


def test_what_it_proposes_works(demo: tuple[Path, str]) -> None:
    _, text = demo
    proposed = [line.split()[1:] for line in text.splitlines() if line.startswith("  crucial ")]
    assert [words[0] for words in proposed] == ["show", "evaluate", "train"]
    for words in proposed:
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.stderr
