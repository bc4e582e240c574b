"""A small ranking problem in files, and a way to type commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from crucial.cli.app import app

Crucial = Callable[..., Result]
N_FEATURES = 4


def make_problem(n_queries: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ten rows a query; feature 2 says most, feature 4 nothing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10 * n_queries, N_FEATURES)).round(3)
    y = np.digitize(X[:, 1] + 0.5 * X[:, 0] + 0.3 * rng.normal(size=len(X)), [0.3, 1.2])
    return X, y, np.repeat(np.arange(n_queries), 10)


def make_svmlight(
    X: np.ndarray, y: np.ndarray, qid: np.ndarray, base: int = 1, names: bool = True
) -> str:
    lines = []
    for row, values in enumerate(X):
        features = " ".join(f"{j + base}:{v}" for j, v in enumerate(values) if v != 0)
        comment = f" # d{row}" if names else ""
        lines.append(f"{y[row]} qid:q{qid[row]} {features}{comment}\n")
    return "".join(lines)


def csv_lines(X: np.ndarray, y: np.ndarray, qid: np.ndarray) -> str:
    lines = ["query,url,grade,bm25,clicks,age,length\n"]
    for row, values in enumerate(X):
        lines.append(f"q{qid[row]},d{row},{y[row]},{','.join(map(str, values))}\n")
    return "".join(lines)


@pytest.fixture
def crucial() -> Crucial:
    """Type a command: ``crucial("show", path)``."""
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with train.txt, valid.txt, test.txt and train.csv, test.csv."""
    for name, n_queries, seed in (("train", 12, 0), ("valid", 6, 1), ("test", 6, 2)):
        X, y, qid = make_problem(n_queries, seed)
        (tmp_path / f"{name}.txt").write_text(make_svmlight(X, y, qid))
        (tmp_path / f"{name}.csv").write_text(csv_lines(X, y, qid))
    return tmp_path


@pytest.fixture
def model(folder: Path, crucial: Crucial) -> Path:
    """A model trained on train.txt."""
    target = folder / "model.json"
    done = crucial("train", folder / "train.txt", "-o", target, "--rounds", 30)
    assert done.exit_code == 0, done.stderr
    return target


def find_error_line(result: Result) -> str:
    """The one line of a command that failed; fails where there is not exactly one."""
    assert result.exit_code == 2, (result.exit_code, result.stderr, result.exception)
    lines = [one for one in result.stderr.splitlines() if not one.startswith("crucial: note: ")]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("crucial: error: ")
    assert "Traceback" not in result.output
    return lines[0]


@pytest.fixture
def error_line() -> Callable[[Result], str]:
    return find_error_line


@pytest.fixture
def small_problem() -> Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]]:
    return make_problem


@pytest.fixture
def svmlight_lines() -> Callable[..., str]:
    return make_svmlight
