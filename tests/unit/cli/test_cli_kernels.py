"""Kernel rankers through the verbs: train, show, rank, evaluate, report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crucial import KernelRanker, load_model


@pytest.mark.parametrize("name", ["ranking-svm", "rankrls"])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_a_kernel_ranker_from_file_to_ranking(
    name: str, kernel: str, tmp_path: Path, small_problem, svmlight_lines, crucial
) -> None:
    X, y, qid = small_problem(8, 0)
    data, model = tmp_path / "d.txt", tmp_path / "m.json"
    data.write_text(svmlight_lines(X, y, qid))
    settings = ["--set", f"kernel={kernel}", "--set", "l2=0.5", "--set", "n_landmarks=12"]
    done = crucial("train", data, "--ranker", name, "-o", model, *settings)
    assert done.exit_code == 0, done.stderr
    read = load_model(model)
    assert isinstance(read, KernelRanker)
    assert read.kernel.form == kernel
    assert len(read.coefficients) == 12
    shown = crucial("show", model)
    assert f"{kernel} kernel with 12 support rows" in " ".join(shown.stdout.split())
    assert "not additive" in shown.stdout
    assert json.loads(crucial("show", model, "--json").stdout)["n_rounds"] == 0
    assert crucial("rank", model, data, "-o", tmp_path / "ranked.txt").exit_code == 0
    found = crucial("evaluate", model, data, "-m", "auc")
    assert "auc" in found.stdout
    report = crucial("report", model, data, "-o", tmp_path / "r.html")
    assert report.exit_code == 0, report.stderr


def test_a_table_is_no_precomputed_kernel(
    tmp_path: Path, small_problem, svmlight_lines, crucial
) -> None:
    data = tmp_path / "d.txt"
    data.write_text(svmlight_lines(*small_problem(8, 0)))
    words = ["--ranker", "rankrls", "--set", "kernel=precomputed", "-o", tmp_path / "m.json"]
    done = crucial("train", data, *words)
    assert done.exit_code != 0
    assert "square matrix" in done.stderr
