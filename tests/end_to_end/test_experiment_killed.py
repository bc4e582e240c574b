"""An experiment that is killed at any moment goes on, loses nothing and repeats nothing."""

import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

SCRIPT = """
import sys, time
import numpy as np
from sklearn.base import BaseEstimator
from crucial import Experiment, RankBoost, make_letor

class Slow(BaseEstimator):
    def fit(self, X, y):
        time.sleep(0.03)
        self.fitted_ = True
        return self
    def predict(self, X):
        return X[:, 0]

if __name__ == "__main__":
    tasks = {f"t{k}": make_letor(10, 8, 5, seed=k) for k in range(int(sys.argv[4]))}
    rankers = {"rankboost": RankBoost(3, n_jobs=1), "slow": Slow()}
    jobs = None if sys.argv[2] == "-" else int(sys.argv[2])
    found = Experiment(tasks, rankers, ["ndcg@5", "r2"]).run(sys.argv[1], n_jobs=jobs)
    found.save(sys.argv[3])
"""
CELLS_OF_A_TASK = 10


def lines_of(folder: Path) -> int:
    path = folder / "cells.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def values_of(path: Path) -> list[dict[str, object]]:
    rows = json.loads(path.read_text())
    return [{k: v for k, v in row.items() if not k.endswith("seconds")} for row in rows]


def kill_and_go_on(
    tmp_path: Path, moments: list[tuple[int, float]], jobs: str, n_tasks: int
) -> None:
    """Kill an experiment at each moment: after so many more cells, and so many seconds.

    On a busy machine an experiment can come to its end before it is killed. It is then checked, and
    the next moments are those of a new one, so that there are as many kills as moments.
    """
    script = tmp_path / "run.py"
    script.write_text(SCRIPT)
    said = tmp_path / "stderr.txt"

    def start(name: str) -> subprocess.Popen[bytes]:
        folder, table = tmp_path / name, tmp_path / f"{name}.json"
        command = [sys.executable, str(script), str(folder), jobs, str(table), str(n_tasks)]
        with open(said, "wb") as errors:  # (a pipe would wait for workers, too)
            return subprocess.Popen(command, stderr=errors)

    assert start("whole").wait(timeout=900) == 0, said.read_text()
    waiting, number = list(moments), 0
    while waiting:
        name, number = f"killed-{number}", number + 1
        ended = False
        while waiting and not ended:
            more, delay = waiting[0]
            ended = killed(start(name), tmp_path / name, more, delay, said)
            if not ended:
                waiting.pop(0)
        if not ended:
            assert start(name).wait(timeout=900) == 0, said.read_text()
        assert_whole(tmp_path / name, CELLS_OF_A_TASK * n_tasks)
        assert values_of(tmp_path / f"{name}.json") == values_of(tmp_path / "whole.json")


def killed(
    process: subprocess.Popen[bytes], folder: Path, more: int, delay: float, said: Path
) -> bool:
    """Kill an experiment after so many more cells and seconds; returns whether it ended before."""
    begun = lines_of(folder)
    limit = time.monotonic() + 600
    while lines_of(folder) < begun + more and process.poll() is None:
        assert time.monotonic() < limit
        time.sleep(0.002)
    time.sleep(delay)
    process.kill()
    assert process.wait() in (0, -signal.SIGKILL), said.read_text()
    assert process.returncode == 0 or lines_of(folder) >= begun + more
    return process.returncode == 0


def assert_whole(folder: Path, n_cells: int) -> None:
    """Every cell is there once, and nothing else."""
    lines = (folder / "cells.jsonl").read_text().splitlines()
    cells = map(json.loads, lines)
    keys = Counter((cell["task"], cell["split"], cell["ranker"]) for cell in cells)
    assert len(keys) == n_cells
    assert set(keys.values()) == {1}
    assert not [one for one in folder.iterdir() if one.name.endswith(".tmp")]


def test_killed_twice(tmp_path: Path) -> None:
    kill_and_go_on(tmp_path, [(5, 0.01), (8, 0.0)], "-", n_tasks=4)


@pytest.mark.slow
def test_workers_end_with_who_started_them(tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(SCRIPT)
    folder = tmp_path / "r"
    process = subprocess.Popen([sys.executable, str(script), str(folder), "2", "x.json", "6"])
    while lines_of(folder) < 5:
        time.sleep(0.01)
    found = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    command = [Path(f"/proc/{one}/cmdline").read_bytes() for one in found]
    workers = [one for one, line in zip(found, command) if b"popen_loky" in line]
    assert len(workers) == 2
    process.kill()
    process.wait()
    limit = time.monotonic() + 600
    while any(Path(f"/proc/{one}").exists() for one in workers):
        assert time.monotonic() < limit
        time.sleep(0.1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_killed_often_at_random_moments(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    moments = [(chance.randrange(8), chance.random() * 0.1) for _ in range(10)]
    kill_and_go_on(tmp_path, moments, "2" if seed % 2 else "-", n_tasks=14)
