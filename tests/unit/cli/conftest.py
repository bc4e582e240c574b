"""A small ranking problem in files, and ways to type commands."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from crucial.cli.app import app
from crucial.io.runs import Qrels, Run, write_qrels, write_run

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


def write_judged_runs(**noise: float) -> None:
    """Write qrels.txt of twelve queries, and a run of each name: its grades with noise."""
    random = np.random.default_rng(0)
    qid = np.array([f"q{k}" for k in np.repeat(np.arange(12), 6)], dtype=object)
    doc = np.array([f"d{k}" for k in np.tile(np.arange(6), 12)], dtype=object)
    grade = random.integers(0, 3, 72)
    write_qrels("qrels.txt", Qrels(qid, doc, grade))
    for name, amount in noise.items():
        scores = grade + amount * random.normal(size=72)
        write_run(f"{name}.run", Run(qid, doc, scores, name))


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
def crucial() -> Crucial:
    """Type a command: ``crucial("show", path)`` or ``crucial("show m.json -n 3")``."""
    return type_command


@pytest.fixture
def ok() -> Crucial:
    """Type a command that does what it should."""
    return type_rightly


@pytest.fixture
def refused() -> Refused:
    """Type a command that is refused in one line, and return the line."""
    return lambda *words: find_error_line(type_command(*words))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with train, valid and test as .txt and as .csv."""
    for name, n_queries, seed in (("train", 12, 0), ("valid", 6, 1), ("test", 6, 2)):
        X, y, qid = make_problem(n_queries, seed)
        (tmp_path / f"{name}.txt").write_text(make_svmlight(X, y, qid))
        (tmp_path / f"{name}.csv").write_text(csv_lines(X, y, qid))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def kept() -> dict[str, bytes]:
    """The models of `model` and `table_model`, which are trained once."""
    return {}


def trained(kept: dict[str, bytes], name: str, words: str) -> Path:
    if name not in kept:
        type_rightly(f"train {words} -o {name}")
        kept[name] = Path(name).read_bytes()
    Path(name).write_bytes(kept[name])
    return Path(name)


@pytest.fixture
def model(folder: Path, kept: dict[str, bytes]) -> Path:
    """model.json, trained on train.txt."""
    return trained(kept, "model.json", "train.txt --rounds 30")


@pytest.fixture
def table_model(folder: Path, kept: dict[str, bytes]) -> Path:
    """table.json, trained on train.csv."""
    return trained(kept, "table.json", f"train.csv {ROLES} --rounds 20")
