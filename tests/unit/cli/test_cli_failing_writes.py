"""The Nth thing that writing asks of the system fails, for every N.

Afterwards each file is the old one or the whole new one, nothing else lies beside it, and the
error is one line.
"""

import errno
import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crucial.data.files
from crucial import RankBoost
from crucial.boosting.loop import write_trace
from crucial.data.dataset import Dataset
from crucial.distributed.ranker import Checkpoint, read_checkpoint
from crucial.errors import FileError
from crucial.io.writing import write_table
from crucial.lab.results import ResultFolder
from crucial.pages import SavedAsHtml
from crucial.preferences.session import Journal

from .conftest import find_error_line, type_command

#: What is asked of the system; the file is the first argument.
CALLS = ("open", "write", "fsync", "fchmod", "ftruncate", "replace", "mkdir")
PIECE = 2**16


class FullDisk:
    """Counts what is asked of the system for one folder, and refuses from some number on.

    Attributes
    ----------
    count : int
        Requests so far.
    first, last : float
        Requests to refuse.
    """

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self._folder = str(folder)
        self.allow()
        disk = self

        class Raw(io.FileIO):
            def write(self, data: Any) -> int:
                return disk.write(super().write, data)

        def opened(file: Any, mode: str = "r", *rest: Any, **named: Any) -> Any:
            if mode != "wb" or not disk.here(file):
                return open(file, mode, *rest, **named)
            return io.BufferedWriter(Raw(file, mode), 64)

        patch.setattr(crucial.data.files, "open", opened, raising=False)
        for name in CALLS:
            patch.setattr(os, name, self._guarded(name, getattr(os, name)))

    def allow(self) -> None:
        self.refuse(np.inf, np.inf)

    def refuse(self, first: float, last: float) -> None:
        self.count, self.first, self.last = 0, first, last

    def here(self, file: object) -> bool:
        """Whether a file, by name or number, is in the folder."""
        path = os.readlink(f"/proc/self/fd/{file}") if isinstance(file, int) else os.fspath(file)
        return os.path.abspath(path).startswith(self._folder)

    def refused(self) -> bool:
        self.count += 1
        return self.first <= self.count <= self.last

    def write(self, real: Callable[[Any], int], data: Any) -> int:
        """Write a piece at a time; of the one that fails, half."""
        if self.refused():
            real(bytes(data)[: min(PIECE, len(data)) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(bytes(data)[:PIECE])

    def _guarded(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(file: Any, *rest: Any, **named: Any) -> Any:
            if not self.here(file):
                return real(file, *rest, **named)
            if name == "write":
                return self.write(lambda data: real(file, data), *rest)
            if self.refused():
                raise OSError(errno.EIO, "Input/output error")
            return real(file, *rest, **named)

        return call


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """The folder to write to."""
    folder = tmp_path / "target"
    folder.mkdir()
    return folder


@pytest.fixture
def disk(target: Path, monkeypatch: pytest.MonkeyPatch) -> FullDisk:
    return FullDisk(target, monkeypatch)


def contents(folder: Path) -> dict[str, bytes]:
    files = (one for one in sorted(folder.rglob("*")) if one.is_file())
    return {str(one.relative_to(folder)): one.read_bytes() for one in files}


def every_failure(
    disk: FullDisk,
    folder: Path,
    old: dict[str, bytes],
    act: Callable[[], str | None],
    state: Callable[[Path], dict[str, Any]] = contents,
) -> None:
    """Let each request fail, alone and with all that follow; ``act`` returns its error."""

    def outcome(first: float, last: float) -> tuple[str | None, int, dict[str, Any]]:
        begin(folder, old)
        disk.refuse(first, last)
        error, count = act(), disk.count
        disk.allow()
        assert not [name for name in contents(folder) if name.endswith(".tmp")], first
        return error, count, state(folder)

    begin(folder, old)
    before = state(folder)
    error, count, after = outcome(np.inf, np.inf)
    assert error is None
    assert before != after
    errors = 0
    for more in (0, np.inf):
        for first in range(1, count + 1):
            error, reached, found = outcome(first, first + more)
            assert reached >= first
            for name in {*before, *after, *found}:
                assert found.get(name) in (before.get(name), after.get(name)), (first, name)
            if error is None:  # (such as the folder, which not every system can flush)
                assert found == after, first
            else:
                errors += 1
                assert "cannot be " in error, error
                assert "\n" not in error.strip(), error
    assert errors >= count


def begin(folder: Path, old: dict[str, bytes]) -> None:
    """Make the files of a folder those that are given."""
    shutil.rmtree(folder)
    folder.mkdir()
    for name, data in old.items():
        (folder / name).write_bytes(data)


def raised(act: Callable[[], object]) -> Callable[[], str | None]:
    """Return a function that returns the message of a `FileError`."""

    def run() -> str | None:
        try:
            act()
        except FileError as error:
            return str(error)
        return None

    return run


@pytest.fixture(scope="module")
def ranker() -> RankBoost:
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3)).round(2)
    return RankBoost(30, n_jobs=1).fit(X, (X.sum(axis=1) > 0).astype(int))


class Toy(SavedAsHtml):
    """A page."""

    def to_html(self) -> str:
        return "<p>" + "a" * 2 * PIECE


@pytest.mark.parametrize("replaced", [False, True], ids=["new", "replaced"])
@pytest.mark.parametrize(
    "kind", ["model.json", "page.html", "t.tsv", "rounds.json", "rows.csv.gz", "rows.parquet"]
)
def test_what_a_library_call_writes(disk, target, ranker, kind, replaced) -> None:
    path = target / kind
    rows = Dataset(np.arange(6.0).reshape(3, 2), y=np.array([0.0, 1.0, 2.0]))
    writes: dict[str, Callable[[], object]] = {
        "model.json": lambda: ranker.save(path),
        "page.html": lambda: Toy().save(path),
        "t.tsv": lambda: write_trace(path, ranker.trace_),
        "rounds.json": lambda: Checkpoint(ranker, path).write(ranker.trace_),
        "rows.csv.gz": lambda: write_table(path, rows),
        "rows.parquet": lambda: write_table(path, rows),
    }
    every_failure(disk, target, {kind: b"old"} if replaced else {}, raised(writes[kind]))


def test_answers_of_a_person(disk, target) -> None:
    path = target / "a.jsonl"
    journal = Journal(path)
    journal.append("tea", "milk", "left")
    journal.close()
    old = path.read_bytes()

    def act() -> None:
        journal = Journal(path)
        try:
            journal.append("milk", "wine", "tie")
        finally:
            journal.close()

    def answers(folder: Path) -> dict[str, Any]:
        if path.exists():
            assert path.read_bytes().startswith(old) or not old
        journal = Journal(path)
        journal.close()
        return {"answers": [(one.left, one.right, one.answer) for one in journal.answers]}

    every_failure(disk, target, {"a.jsonl": old}, raised(act), answers)
    old = b""
    every_failure(disk, target, {}, raised(act), answers)


def test_cells_of_an_experiment(disk, target) -> None:
    folder = target / "results"
    settings: Any = {"format": 1, "protocol": {}, "measures": [], "seed": 0, "crucial": "1"}
    settings |= {"tasks": {}, "rankers": {}, "sessions": []}
    cells: list[Any] = [
        {"task": f"t{k}", "split": "0", "ranker": "r", "status": "ok", "measures": {}}
        for k in range(3)
    ]

    def act() -> None:
        store = ResultFolder(folder)
        with store.opened(settings) as found:
            for cell in cells[len(found) :]:
                store.append(cell)

    done: list[int] = []

    def whole(_: Path) -> dict[str, Any]:
        """Count the cells, then go on: nothing may stand in the way, or come twice."""
        store = ResultFolder(folder)
        found = list(store.cells().values())
        assert found == cells[: len(found)]
        done.append(len(found))
        if len(done) > 1:
            act()
            assert list(ResultFolder(folder).cells().values()) == cells
            assert (folder / "cells.jsonl").read_bytes().count(b"\n") == len(cells)
        return {"all": len(done) > 1}

    every_failure(disk, target, {}, raised(act), whole)
    assert set(done) == {0, 1, 2, 3}


VERBS = {
    "train": "train train.txt --rounds 5 --trace target/t.tsv -o target/m",
    "xgboost": "export model.json --to xgboost --no-verify -o target/m",
    "python": "export model.json --to python --no-verify -o target/m",
    "report": "report model.json test.txt -o target/m",
    "rank": "rank model.json test.txt -o target/m",
}


def typed(words: str) -> Callable[[], str | None]:
    """Return a function that types a command and returns its error."""
    return lambda: None if (done := type_command(words)).exit_code == 0 else find_error_line(done)


@pytest.mark.parametrize(
    "verb", [pytest.param(one, marks=[pytest.mark.slow] * (one == "report")) for one in VERBS]
)
def test_what_a_verb_writes(model, target, disk, verb) -> None:
    old = {"m": b"old", "t.tsv": b"old"}
    every_failure(disk, target, old, typed(VERBS[verb]), without_seconds)


def without_seconds(folder: Path) -> dict[str, Any]:
    """Return the contents, without the time of each round."""
    found: dict[str, Any] = contents(folder)
    lines = [line.split("\t") for line in found["t.tsv"].decode().split("\n")]
    if "seconds" in lines[0]:
        place = lines[0].index("seconds")
        found["t.tsv"] = [(*line[:place], *line[place + 1 :]) for line in lines]
    return found


@pytest.mark.slow
def test_training_on_a_cluster(folder, target, disk, monkeypatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(
        "crucial.distributed.ranker.Checkpoint",
        lambda *given, **how: Checkpoint(*given, **{**how, "every": 0}),
    )
    how = {"processes": False, "dashboard_address": ":0", "worker_dashboard_address": None}
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, **how) as cluster:
        words = (
            f"{VERBS['train']} --dask={cluster.scheduler_address} --checkpoint target/rounds.json"
        )

        def rounds(found: dict[str, Any]) -> dict[str, Any]:
            """Count the rounds of a checkpoint: each is a whole file."""
            data = found.pop("rounds.json", b"old")
            if data != b"old":
                assert read_checkpoint("target/rounds.json", RankBoost(5))
            return found

        old = dict.fromkeys(("m", "t.tsv", "rounds.json"), b"old")
        every_failure(disk, target, old, typed(words), lambda one: rounds(without_seconds(one)))
