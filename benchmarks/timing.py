"""Small helpers that every benchmark uses."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

THREADS = 2


def interleaved(repeats: int, **calls: Callable[[], Any]) -> dict[str, float]:
    """Median seconds of each call; the calls take turns, so that a busy moment hits all."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - began)
    return {name: statistics.median(values) for name, values in seconds.items()}


def in_new_process(module: str, *arguments: str, **environment: str) -> str:
    """What ``python -m module arguments`` prints, in a process of its own."""
    import os

    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", module, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{module} {' '.join(arguments)} failed:\n{done.stderr}")
    return done.stdout.strip()


def table(title: str, header: list[str], rows: list[list[Any]]) -> None:
    """Print an aligned table."""
    cells = [header, *[[f"{c:.3g}" if isinstance(c, float) else str(c) for c in r] for r in rows]]
    widths = [max(len(r[k]) for r in cells) for k in range(len(header))]
    print(f"\n{title}")
    for row in cells:
        print(
            "  "
            + "  ".join(
                c.rjust(w) if k else c.ljust(w) for k, (c, w) in enumerate(zip(row, widths))
            )
        )
