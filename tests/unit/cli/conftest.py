"""A small ranking problem in files, and ways to type commands."""

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from crucial.cli.app import app

Crucial = Callable[..., Result]
Refused = Callable[..., str]
#: The roles of the columns of train.csv, valid.csv and test.csv.
ROLES = "--label grade --qid query --item url"


def make_problem(n_queries: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ten rows a query; feature 2 says most, feature 4 nothing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10 * n_queries, 4)).round(3)
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


def write_rows(name: str, X: np.ndarray, y: np.ndarray, qid: np.ndarray, **how: object) -> None:
    Path(name).write_text(make_svmlight(X, y, qid, **how))


def bare(name: str) -> str:
    """Return the lines of an svmlight file without their query ids."""
    return re.sub(r" qid:\S+", "", Path(name).read_text())


def csv_lines(X: np.ndarray, y: np.ndarray, qid: np.ndarray) -> str:
    lines = ["query,url,grade,bm25,clicks,age,length\n"]
    for row, values in enumerate(X):
        lines.append(f"q{qid[row]},d{row},{y[row]},{','.join(map(str, values))}\n")
    return "".join(lines)


def type_command(first: object = "", *words: object) -> Result:
    """Type a command: what comes first is split into words, the others are words."""
    return CliRunner().invoke(app, [*shlex.split(str(first)), *map(str, words)])


def type_rightly(*words: object) -> Result:
    done = type_command(*words)
    assert done.exit_code == 0, (done.stderr, done.exception)
    return done


def find_error_line(result: Result) -> str:
    """Return the one line of a command that failed; fails where there is not exactly one."""
    assert result.exit_code == 2, (result.exit_code, result.stderr, result.exception)
    lines = [one for one in result.stderr.splitlines() if not one.startswith("crucial: note: ")]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("crucial: error: ")
    assert "Traceback" not in result.output
    return lines[0]


@pytest.fixture
def ok() -> Crucial:
    """Type a command that succeeds: ``ok("show", path)`` or ``ok("show m.json -n 3")``."""
    return type_rightly


@pytest.fixture
def refused() -> Refused:
    """Type a command that is refused in one line, and return the line."""
    return lambda *words: find_error_line(type_command(*words))


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with train, valid and test as .txt and as .csv, and a model of train.txt."""
    path = tmp_path_factory.mktemp("files")
    for name, n_queries, seed in (("train", 12, 0), ("valid", 6, 1), ("test", 6, 2)):
        X, y, qid = make_problem(n_queries, seed)
        (path / f"{name}.txt").write_text(make_svmlight(X, y, qid))
        (path / f"{name}.csv").write_text(csv_lines(X, y, qid))
    type_rightly("train --rounds 30", path / "train.txt", "-o", path / "model.json")
    return path


@pytest.fixture
def folder(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a copy of `files`."""
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def model(folder: Path) -> Path:
    """model.json in the current folder."""
    return Path("model.json")
