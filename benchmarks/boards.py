"""Leaderboards: intervals against a bootstrap of fits by evalica, and a million comparisons.

Processor seconds of one thread; the calls take turns, and the least time counts.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.timing import in_new_process, table
from crucial.preferences import Comparisons, leaderboard

ITEMS, ROWS = 60, 9_000
FITS = 1_000


def battles(n: int, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two sides, and which of them won: 0, 1 or 2 for a tie."""
    rng = np.random.default_rng(0)
    s = rng.normal(size=n)
    a = rng.integers(0, n, rows)
    b = (a + rng.integers(1, n, rows)) % n
    won = (rng.random(rows) > 1 / (1 + np.exp(s[b] - s[a]))).astype(int)
    return a, b, np.where(rng.random(rows) < 0.2, 2, won)


def seconds(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def intervals() -> None:
    """A leaderboard with its intervals, and as many fits as a bootstrap needs."""
    import evalica

    a, b, won = battles(ITEMS, ROWS)
    names = np.array([f"model-{k}" for k in range(ITEMS)])
    left, right = names[a].tolist(), names[b].tolist()
    high, low = np.where(won == 1, b, a), np.where(won == 1, a, b)
    made = Comparisons.from_columns(names[high].tolist(), names[low].tolist(), tie=won == 2)
    words = [(evalica.Winner.X, evalica.Winner.Y, evalica.Winner.Draw)[k] for k in won.tolist()]
    some = 100  # (of evalica's fits, which all take the same time)

    def theirs() -> None:
        for _ in range(some):
            evalica.bradley_terry(left, right, words)

    def ours() -> None:
        leaderboard(made, ties="split")

    ours()
    mine = min(seconds(ours) for _ in range(3))
    peer = min(seconds(theirs) for _ in range(3)) * FITS / some
    table(
        f"{ROWS:,} comparisons of {ITEMS} items",
        ["", "seconds", "ratio"],
        [
            ["crucial, a leaderboard with profile intervals", mine, mine / peer],
            [f"evalica, {FITS:,} fits of bradley_terry", peer, 1.0],
        ],
    )


def a_million() -> None:
    """The command line on a million comparisons."""
    a, b, won = battles(100, 1_000_000)
    words = ("model_a", "model_b", "tie")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "battles.csv"
        lines = (f"m{x},m{y},{words[w]}\n" for x, y, w in zip(a.tolist(), b.tolist(), won.tolist()))
        path.write_text("model_a,model_b,winner\n" + "".join(lines))
        printed = in_new_process("benchmarks.boards", str(path), OMP_NUM_THREADS="1")
    table(
        "crucial pairs, 1,000,000 comparisons of 100 items", ["", "seconds"], [["", float(printed)]]
    )


def main() -> None:
    intervals()
    a_million()


if __name__ == "__main__":
    import contextlib
    import io
    import sys

    from crucial.cli.app import app

    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
        app(["pairs", sys.argv[1]])
    print(time.process_time())
