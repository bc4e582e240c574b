"""``crucial experiment``: results in files, runs that go on, failures."""

from pathlib import Path

import crucial as package
from crucial.lab.rankers import BestFeature


def test_experiment_on_a_file(folder: Path, ok, refused) -> None:
    words = ("experiment train.txt --rankers rankboost,random --rounds 5 --folds 4 -m ndcg@10 "
             "-m r2 --report out.html --save cells.csv --output results")  # fmt: skip
    done = ok(words)
    assert "4 folds, 2 to train, 1 to validate, 1 to test" in " ".join(done.stdout.split())
    found = package.lab.load_experiment("results")
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


def test_experiment_tells_failures(folder: Path, ok, monkeypatch) -> None:
    def broken(self, X, y, *, qid=None):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(BestFeature, "fit", broken)
    done = ok("experiment train.txt --rankers random,best-feature --folds 3")
    assert "best-feature failed on train.txt, fold 1: RuntimeError: out of luck" in done.stderr
    assert "none" in done.stdout
