"""``crucial train --auto``."""

from __future__ import annotations

from pathlib import Path

import pytest

import crucial as package


def test_the_table_and_the_choice_are_shown(folder: Path, crucial) -> None:
    done = crucial(
        "train", folder / "train.txt", "--valid", folder / "valid.txt", "--auto",
        "--budget", "0.01", "-m", "ndcg@5", "--store", folder / "cells", "-o", folder / "m.json",
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    said = " ".join(done.stdout.split())
    for text in ("> query_rmse, stumps", "Kept query_rmse, stumps with", "ndcg@5",
                 "held-out queries", "(6 queries)", "wrote"):  # fmt: skip
        assert text in said, text
    assert "--auto chooses by folds of" in done.stderr
    model = package.load_model(folder / "m.json")
    assert model.training["estimator"] == "GradientRanker"
    assert (folder / "cells" / "cells.jsonl").exists()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--auto", "--ranker", "gradient"), "--auto chooses the ranker, and --ranker is gradient"),
        (("--auto", "--preset", "rb_c"), "--auto chooses the ranker, and --preset is rb_c"),
        (("--auto", "--rounds", 5), "--rounds: auto has no parameter 'n_estimators'"),
        (("--auto", "--budget", "fast"), "'fast' is not quick, normal, thorough or a number"),
        (("--auto", "--n-bags", 10), "--n-bags: auto has no parameter 'n_bags'"),
        (("--auto", "--pairs", "p.tsv"), "auto learns from labels only; use --ranker rankboost"),
        (("--auto", "--trace", "t.tsv"), "--trace: auto has no rounds to trace"),
        (("--budget", "quick"), "--budget needs --auto"),
        (("--store", "cells"), "--store needs --auto"),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_line(
    folder: Path, crucial, error_line, words: tuple[object, ...], problem: str
) -> None:
    done = crucial("train", folder / "train.txt", "-o", folder / "m.json", *words)
    assert problem in error_line(done)
    assert not (folder / "m.json").exists()


def test_a_store_that_is_a_file_is_refused(folder: Path, crucial, error_line) -> None:
    data = folder / "train.txt"
    done = crucial("train", data, "--auto", "--store", data, "-o", folder / "m.json")
    assert "store must be a folder" in error_line(done)
    assert not (folder / "m.json").exists()
