"""``crucial compare`` and ``crucial experiment``."""

import json
import re
from pathlib import Path

import pytest

import crucial as package
from crucial.lab.rankers import BestFeature

from .conftest import write_judged_runs


@pytest.fixture
def runs(folder: Path) -> Path:
    """qrels.txt, base.run, new.run; rows.csv without queries."""
    write_judged_runs(base=3.0, new=0.3)
    rows = [f"{i % 3 // 2},{(i * 7) % 13 + 3 * (i % 3 // 2)},{i % 5}\n" for i in range(90)]
    Path("rows.csv").write_text("label,a,b\n" + "".join(rows))
    return folder


def test_compare_prints_what_the_library_finds(runs: Path, ok) -> None:
    done = ok("compare qrels.txt base.run new.run -m ndcg@5 -m map --movers 2")
    both = {name: package.read_run(name) for name in ("base.run", "new.run")}
    found = package.compare_runs(package.read_qrels("qrels.txt"), both, ["ndcg@5", "map"])
    for measure in ("ndcg@5", "map"):
        one = found[measure, "new.run"]
        for said in (
            f"{one.value:.4f}", f"{one.difference:+.4f}", f"{one.p:.4f}",
            f"{one.wins}/{one.ties}/{one.losses}",
        ):  # fmt: skip
            assert said in done.stdout
    ok("compare qrels.txt base.run new.run --baseline new.run --json -o out.json")
    plain = json.loads(Path("out.json").read_text())
    assert plain["baseline"] == "new.run"
    assert [one["system"] for one in plain["differences"]] == ["new.run", "base.run"]
    assert plain["differences"][0]["p"] is None


EXPERIMENT = "experiment train.txt --rankers random"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("compare qrels.txt base.run base.run", "is named twice"),
        ("compare qrels.txt base.run new.run --baseline old.run", "is not one of the runs"),
        ("compare qrels.txt base.run new.run -m ndgc", "did you mean 'ndcg'"),
        ("compare qrels.txt base.run none.run", "none.run: cannot be read: no such file"),
        ("compare qrels.txt base.run new.run -o x", "-o is for --json"),
        ("compare qrels.txt base.run qrels.txt", "qrels.txt, line 1"),
        ("experiment train.txt --rankers rankbost", "unknown ranker 'rankbost'; did you mean"),
        (f"{EXPERIMENT} -m ndgc", "did you mean 'ndcg'"),
        ("experiment none.txt --rankers random", "none.txt: cannot be read: no such file"),
        ("experiment . --rankers random", "two files for the same part: train.csv and train.txt"),
        (f"{EXPERIMENT} --folds 2", "use 3 or more"),
        (f"{EXPERIMENT} --folds 30", "30 folds need as many queries"),
        ("experiment train.txt --rankers ,", "rankers is empty"),
        (f"{EXPERIMENT} --baseline x", "is not one of the rankers"),
        (f"{EXPERIMENT} --save x.xls", "the name must end in"),
        (f"{EXPERIMENT} --protocol half --tune", "no validation"),
        (f"{EXPERIMENT} --report no/x.html", "cannot be written"),
        (f"{EXPERIMENT} --weight w", "--weight"),
    ],
)
def test_refusals_in_one_line(runs, refused, words, said) -> None:
    Path("valid.txt").unlink()
    assert said in refused(words)


def test_experiment_on_a_file(folder: Path, ok, refused) -> None:
    words = ("experiment train.txt --rankers rankboost,random --rounds 5 --folds 4 -m ndcg@10 "
             "-m r2 --report out.html --save cells.csv --output results")  # fmt: skip
    done = ok(words)
    assert "4 folds, 2 to train, 1 to validate, 1 to test" in " ".join(done.stdout.split())
    found = package.load_experiment("results")
    for measure in ("ndcg@10", "r2"):
        for ranker in ("rankboost", "random"):
            assert f"{found.value(measure, ranker):.4f}" in done.stdout
    assert f"{found.compare()['r2', 'random'].difference:+.4f}" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert "<svg" in Path("out.html").read_text()
    assert len(Path("cells.csv").read_text().splitlines()) == 1 + 4 * 2 * 2
    assert ok(words).stdout == done.stdout
    assert len(Path("results", "cells.jsonl").read_text().splitlines()) == 8
    assert "another seed" in refused(f"{words} --seed 1")


def test_experiment_on_given_folds_and_several_files(folder: Path, ok) -> None:
    # (the same names of queries occur in all three files: these are not folds yet)
    for number in (1, 2):
        Path(f"letor/Fold{number}").mkdir(parents=True)
        for at, part in enumerate(("train.txt", "valid.txt", "test.txt")):
            text = Path(part).read_text().replace("qid:q", f"qid:{at}-")
            Path(f"letor/Fold{number}", part).write_text(text)
    done = ok("experiment letor --rankers rankboost,best-feature --rounds 4 --choose-by map")
    assert "the folds that came with the data" in done.stdout
    several = ok("experiment valid.txt test.txt --rankers rb_c,rb_d --rounds 3 -m r2 --folds 3")
    assert "average rank over 2 tasks" in several.stdout
    ok(f"{EXPERIMENT} --protocol half")
    roles = "--label grade --qid query --item url"
    ok(f"experiment train.csv --rankers random,best-feature {roles} --protocol plain")


def test_experiment_tells_failures(folder: Path, ok, monkeypatch) -> None:
    def broken(self, X, y, *, qid=None):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(BestFeature, "fit", broken)
    done = ok("experiment train.txt --rankers random,best-feature --folds 3")
    assert "best-feature failed on train.txt, fold 1: RuntimeError: out of luck" in done.stderr
    assert "none" in done.stdout


def test_models_are_compared_on_rows(runs: Path, ok, refused) -> None:
    """Without queries: DeLong's test for the AUC, draws of rows for others."""
    for name, rounds in (("old", 1), ("new", 8)):
        ok(f"train rows.csv --rounds {rounds} -o {name}.json")
    words = "compare rows.csv old.json new.json"
    done = ok(f"{words} -m auc -m p@5 --resamples 200")
    assert done.stdout.startswith("2 models on rows.csv")
    assert "p: DeLong's test, from rows (auc); bootstrap over rows (p@5)" in done.stdout
    assert "bootstrap over rows, label by label, 200 draws, seed 0" in done.stdout
    assert not re.search(r"\bquer|won/tied/lost|0\.0000", done.stdout)
    found = json.loads(ok(f"{words} -m auc --json").stdout)
    assert (found["data"], found["unit"]) == ("rows.csv", "row")
    data = package.read_table("rows.csv")
    scores = {n: package.load_model(f"{n}.json").predict(data.X) for n in ("old", "new")}
    alone = package.compare_rankings(data.y, scores, "auc")["auc", "new"]
    assert found["differences"][1]["p"] == alone.p
    for wrong, said in (
        ("compare old.json new.json rows.csv", "compare rows.csv old.json new.json"),
        ("compare rows.csv old.json test.txt", "compare like with like"),
        ("evaluate old.json new.json rows.csv", "compare rows.csv MODEL MODEL"),
        (f"{words} --label zzz", "zzz"),
    ):
        assert said in refused(wrong)


def test_an_experiment_without_queries_speaks_of_rows_and_folds(runs: Path, ok) -> None:
    done = ok("experiment rows.csv --rankers random,best-feature --folds 3 -m auc --output out "
              "--report page.html")  # fmt: skip
    assert "average rank over 3 folds" in done.stdout
    assert "DeLong from rows within folds" in done.stdout
    assert "p: DeLong's test, from rows" in done.stdout
    for text in (done.stdout, Path("page.html").read_text()):
        assert not re.search(r"\bquer|0\.0000", text)
    found = package.load_experiment("out")
    assert found.unit_of() == "fold"
    low, high = (found.summary()[1][key] for key in ("low", "high"))
    assert 0.0 < low < found.value("auc", "best-feature") < high < 1.0
    assert found.compare().unit == "row"
    assert found.compare(unit="fold").unit == "fold"
    assert "by fold" in str(found)
