"""The studies of strictly ordered lists, and of a feature that ranks along a curve."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feature_rank
from crucial.data.groups import Groups
from crucial.errors import DataError, FileError, ParameterError
from crucial.lab.protocols import Fold
from feature_rank import (
    PUBLISHED,
    PUBLISHED_NDCG,
    SUBSTITUTES,
    Graded,
    diabetes_lists,
    digit_lists,
    heights,
    read_lists,
    read_strict_folds,
)
from refusals import refused

PNG = b"\x89PNG"

LETOR = """\
1008 qid:10 1:0.5 2:0.1 46:0.25 #docid = GX057-59-4044939 inc = 1 prob = 0.698286
1007 qid:10 1:0.25 2:0.5 46:NULL #docid = GX235-84-0891544 inc = 1 prob = 0.567746
1006 qid:10 1:0.125 2:0.0 46:0.5 #docid = GX016-48-5543459 inc = 0.01 prob = 0.9
3 qid:18 1:0.5 2:0.1 46:0.25 #docid = GX1
9 qid:18 1:0.75 2:0.1 46:0.25 #docid = GX2
"""


def test_reads_letor_with_the_largest_label_on_top(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text(LETOR)
    data = read_lists(path)
    assert data.y is not None
    assert data.y.tolist() == [3.0, 2.0, 1.0, 1.0, 2.0]
    assert data.qid is not None
    assert (data.qid.tolist(), data.X.shape) == ([10, 10, 10, 18, 18], (5, 46))
    assert np.isnan(np.asarray(data.X.todense() if hasattr(data.X, "todense") else data.X)[1, 45])
    smallest = read_lists(path, "smallest").y
    assert smallest is not None
    assert smallest.tolist() == [1.0, 2.0, 3.0, 2.0, 1.0]


def test_what_is_no_strict_order_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("2 qid:1 1:1\n1 qid:1 1:2\n2 qid:7 1:3\n0 qid:7 1:4\n2 qid:7 1:5\n")
    said = r"train\.txt: a strict order was expected, but rows 3 and 5 of query 7 both .* label 2"
    refused(FileError, said, read_lists, path)
    path.write_text("2 1:1\n1 1:2\n")
    refused(FileError, "no query ids", read_lists, path)
    path.write_text("2 qid:1 1:x\n")
    refused(FileError, "line 1", read_lists, path)
    with pytest.raises(ParameterError, match="'best' parameter"):
        heights(np.array([1.0, 2.0]), Groups.single(2), "highest")


def folds(folder: Path, n_folds: int = 2, seed: int = 0, length: int = 14) -> Path:
    """A small data set in LETOR's layout, with labels from 1000 down."""
    random = np.random.default_rng(seed)
    for fold in range(1, n_folds + 1):
        (folder / f"Fold{fold}").mkdir(parents=True)
        for number, (part, queries) in enumerate({"train": 6, "vali": 2, "test": 3}.items()):
            lines = []
            for q in range(queries):
                X = random.normal(size=(length, 3))
                order = np.argsort(
                    np.argsort(X @ [1.0, 0.6, 0.0] + 0.3 * random.normal(size=length))
                )
                for x, place in zip(X, order):
                    values = " ".join(f"{j}:{v:.4f}" for j, v in enumerate(x, start=1))
                    lines.append(f"{1000 + place} qid:{fold}{number}{q} {values} #docid = D")
            (folder / f"Fold{fold}" / f"{part}.txt").write_text("\n".join(lines) + "\n")
    return folder


def test_folds_are_checked_and_can_be_turned_round(tmp_path: Path) -> None:
    folder = folds(tmp_path / "lists")
    task = read_strict_folds(folder)
    parts = task.parts(Fold("Fold1"))
    for part in (parts.train, parts.test):
        assert sorted(part.y[part.groups.order[:14]]) == list(range(1, 15))
    turned = read_strict_folds(folder, "smallest")
    assert (turned.parts(Fold("Fold1")).test.y + parts.test.y == 15.0).all()
    assert turned.digest() != task.digest()
    file = folder / "Fold1" / "vali.txt"
    file.write_text(re.sub(r"^10\d\d", "1001", file.read_text(), flags=re.MULTILINE))
    refused(FileError, r"vali\.txt: a strict order was expected", task.parts, Fold("Fold1"))
    refused(FileError, "is not a folder", read_strict_folds, tmp_path / "none")


@pytest.mark.parametrize("task", [digit_lists(6, 30), diabetes_lists()], ids=SUBSTITUTES.keys())
def test_substitutes_are_strict(task: Any) -> None:
    assert heights(task.y, task.groups).tolist() == task.y.tolist()
    assert (task.groups.sizes >= 20).all()
    assert not np.isnan(task.X).any()
    again = type(task)(task.name, task.X, task.y, task.qid)
    assert again.digest() == task.digest()


def test_a_strict_order_is_cut_into_grades() -> None:
    class Keeper:
        def fit(self, X: Any, y: Any, *, qid: Any) -> None:
            self.y = y

    keeper = Keeper()
    y = np.random.default_rng(0).permutation(62) + 1.0
    Graded(keeper).fit(np.zeros((62, 1)), y, qid=np.zeros(62))
    assert keeper.y.tolist() == np.floor((y - 1) / 2).tolist()
    with pytest.raises(DataError, match="a strict order was expected"):
        Graded(keeper).fit(np.zeros((3, 1)), [1, 1, 2], qid=[0, 0, 0])


def test_all_systems_run_and_stand_beside_the_paper(study: Any, tmp_path: Path) -> None:
    folder = folds(tmp_path / "lists")
    options = ("--rounds", 5, "--intervals", 4, "--relevant", 3, "--jobs", 1)
    page, plot = tmp_path / "page.html", tmp_path / "figure_8.png"
    words = (*options, "--report", page, "--plot", plot)
    said = study("feature_rank", "strict-order", folder, *words).stdout
    assert "failed" not in said
    assert "A substitute" not in said
    table_1, table_2 = said[said.index("Table 1") :].split("Table 2")
    for name, (kendall, persistence) in PUBLISHED.items():
        line = next(one for one in table_1.splitlines() if one.startswith(f"{name} "))
        values = [float(one) for one in re.findall(r"[\d.]+(?= \[)", line)]
        assert f"[{kendall:.3f}]" in line
        assert f"[{persistence:.3f}]" in line
        assert 0.0 < values[0] < 0.45  # better than chance
        assert 0.6 < values[1] <= 1.0
        assert " ".join(f"[{v:.3f}]" for v in PUBLISHED_NDCG[name]) in table_2
    assert "RankBoost" in table_1
    assert "RankCosine centred" in table_2
    assert page.stat().st_size > 10_000
    assert plot.read_bytes()[:4] == PNG


def test_a_substitute_says_that_it_is_one(study, tmp_path, monkeypatch):
    monkeypatch.setattr(
        feature_rank, "find_spec", lambda name: None if name == "lightgbm" else object()
    )
    only = ("--substitute", "diabetes", "--only", "ListMLE,FeatureRank", "--jobs", 1)
    words = ("feature_rank", "strict-order", *only, "--folder", tmp_path / "cells")
    said = study(*words).stdout
    assert "A substitute for the paper's data" in said
    assert "442 patients" in said
    assert "LightGBM is left out: lightgbm is not installed." in said
    repeated = study(*words).stdout
    assert repeated[repeated.index("Table 1") :] == said[said.index("Table 1") :]


def test_errors_are_one_line(study: Any, tmp_path: Path) -> None:
    for arguments, wanted in (
        ([str(tmp_path / "nothing")], "nothing"),
        (["--substitute", "digit"], "did you mean 'digits'"),
        (["--substitute", "diabetes", "--only", "ListMLS"], "did you mean 'ListMLE'"),
    ):
        done = study("feature_rank", "strict-order", *arguments)
        assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
        assert wanted in done.stderr


# -- figures 8 and 9 ----------------------------------------------------------------------------


def test_figure_9_centres_and_orders():
    x = feature_rank.sample(900)
    assert feature_rank.centres(x) == pytest.approx((-3.5, 1.5, 0.5))
    found = feature_rank.distances(x)
    truth = feature_rank.curve(x)
    # Linear orders by listing the pairs; falling and rising are complements.
    falling = np.mean([a > b for i, a in enumerate(truth) for b in truth[i + 1 :] if a != b])
    assert found["linear, falling (4 first)"] == pytest.approx(falling, abs=1e-3)
    assert found["linear, rising (-5 first)"] == pytest.approx(
        1 - found["linear, falling (4 first)"]
    )
    # Theorem 1: no less correct than a line.
    assert found["quasi-KNN, centres as means"] < found["linear, falling (4 first)"]
    assert found["quasi-KNN, the paper's centres"] < found["linear, falling (4 first)"]
