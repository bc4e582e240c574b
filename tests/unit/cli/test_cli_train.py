"""``crucial train``: what options and files make of a model."""

from pathlib import Path

import numpy as np
import pytest

import crucial as package

from .conftest import make_problem

pytestmark = pytest.mark.usefixtures("folder")
TRAIN = "train train.txt -o m.json"


def learned() -> package.model.AdditiveRanker:
    return package.load_model("m.json")


def test_model_is_what_the_library_makes(ok) -> None:
    X, y, qid = make_problem(12, 0)
    ranker = package.RankBoost(
        25, 0.3, choice="largest_drop", step="exact", balance="queries", max_bins=20
    ).fit(X, y, qid=[f"q{one}" for one in qid])
    ok(f"{TRAIN} --rounds 25 --learning-rate 0.3 --set choice=largest_drop --set step=exact "
       "--set balance=queries --set max_bins=20")  # fmt: skip
    assert learned().rankers == ranker.model_.rankers
    assert learned().weights == ranker.model_.weights
    assert learned().feature_names == ("1", "2", "3", "4")


def test_csv_weights_count(ok) -> None:
    rows = "\n".join(f"{i % 2},{i % 3},{i},{i % 4}" for i in range(40))
    Path("w.csv").write_text(f"label,a,b,w\n{rows}\n")
    ok("train w.csv --weight w -o m.json --rounds 5")
    y, w = np.arange(40) % 2, np.arange(40) % 4
    X = np.column_stack([np.arange(40) % 3, np.arange(40)])
    assert learned().weights == package.RankBoost(5).fit(X, y, sample_weight=w).model_.weights


def test_pairs_by_row_and_by_item(ok, refused) -> None:
    X, y, _ = make_problem(12, 0)
    pairs = [(a, b) for a, b in zip(range(0, 120, 3), range(1, 120, 3)) if y[a] > y[b]]
    Path("rows.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in pairs))
    Path("items.tsv").write_text("".join(f"d{a}\td{b}\n" for a, b in pairs))
    same = package.RankBoost(10).fit_pairs(X, pairs)
    for by in ("rows.tsv --pairs-by row", "items.tsv"):
        done = ok(f"{TRAIN} --rounds 10 --pairs {by} --pairs-only")
        assert learned().weights == same.model_.weights
        assert learned().training["pairs"] == len(pairs)
        assert "queries  not used" in done.stdout
    done = ok(f"{TRAIN} --rounds 10 --pairs items.tsv")
    assert learned().training["pairs"] > len(pairs)
    assert "12 used, 0 skipped" in done.stdout
    assert "Use --pairs-by row" in refused(f"{TRAIN} --pairs rows.tsv")
    other = f"{TRAIN} --ranker logistic --rounds 5 --pairs rows.tsv --pairs-by row"
    ok(f"{other} --pairs-only")
    same = package.rankers.LogisticRanker(5).fit_pairs(X, pairs)
    assert learned().weights == same.model_.weights
    assert "learns from labels or from pairs" in refused(other)
