"""The real Dask scheduler with workers that sleep instead of adding: 8, 64 and 256 parts.

Checks the cost model of docs/scaling.md. The scheduler and the client are in this process, and all
workers in a second one: they talk TCP as on a cluster, and sleeping takes no processor.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.timing import table

FEATURES, BINS = 136, 256
ROUNDS = 15
PARTS = (8, 64, 256)
#: Rows in all, and rows of 136 features that a worker adds per second: see the cost model.
ROWS = (100_000_000, 1_000_000_000)
ROWS_PER_SECOND = 60e6


@dataclass
class Sums:
    """What a worker sends back of a round: sums of int64 that are added."""

    values: Any

    def merge(self, other: Sums) -> Sums:
        return Sums(self.values + other.values)


class SleepingPart:
    """A part without rows, which takes as long as one with rows."""

    def __init__(self, size: int) -> None:
        self._sums = np.ones(size, np.int64)

    def advance(self, seconds: float) -> Sums:
        time.sleep(seconds)
        return Sums(self._sums)


@dataclass
class SleepingRecipe:
    size: int

    def load(self) -> SleepingPart:
        return SleepingPart(self.size)


async def sleeping_workers(scheduler: str, n_workers: int) -> None:
    """Run workers in this process until the scheduler goes."""
    from distributed import Worker

    # Hundreds of threads share this process; with the usual 5 ms they would wait for each other.
    sys.setswitchinterval(1e-5)
    workers = [Worker(scheduler, nthreads=1, memory_limit=0) for _ in range(n_workers)]
    await asyncio.gather(*workers)
    await asyncio.gather(*(worker.finished() for worker in workers))


@contextmanager
def cluster(n_workers: int) -> Iterator[Any]:
    """Yield a client of a scheduler here with that many workers in another process."""
    import distributed

    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.dask_simulation"]
    with (
        distributed.LocalCluster(
            n_workers=0, processes=False, protocol="tcp://", dashboard_address=":0", silence_logs=50
        ) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
        workers = subprocess.Popen(
            [*command, local.scheduler_address, str(n_workers)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            client.wait_for_workers(n_workers, timeout=300)
            yield client
        finally:
            workers.kill()
            workers.wait()


def seconds_per_round(client: Any, n_parts: int, size: int, sleep: float) -> tuple[float, int]:
    """Return the median seconds of a round, and the bytes of one."""
    from crucial.distributed.dask_parts import DaskParts

    with DaskParts(client, [SleepingRecipe(size)] * n_parts) as parts:
        parts.total("advance", 0.0, changes=True)
        before = parts.bytes_sent + parts.bytes_received
        seconds = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            parts.total("advance", sleep, changes=True)
            seconds.append(time.perf_counter() - began)
        n_bytes = (parts.bytes_sent + parts.bytes_received - before) // ROUNDS
    return statistics.median(seconds), n_bytes


def main() -> None:
    size = FEATURES * BINS
    costs, checks = [], []
    for n_parts in PARTS:
        with cluster(n_parts) as client:
            empty, _ = seconds_per_round(client, n_parts, 1, 0.0)
            full, n_bytes = seconds_per_round(client, n_parts, size, 0.0)
            costs.append(
                [n_parts, f"{empty * 1e3:.1f}", f"{full * 1e3:.1f}", f"{n_bytes / 1e6:.1f}"]
            )
            for rows in ROWS:
                compute = rows / n_parts / ROWS_PER_SECOND
                measured, _ = seconds_per_round(client, n_parts, size, compute)
                expected = compute + full
                row = [n_parts, f"{rows:,}", compute, expected, measured]
                checks.append([*row, f"{measured / expected:.2f}", f"{300 * measured / 60:.1f}"])
    header = ["workers", "ms, message alone", "ms, with sums", "MB per round"]
    table(f"What a round costs beside adding: sums of {FEATURES} x {BINS}", header, costs)
    header = ["workers", "rows", "s of adding", "s per round, model", "measured", "ratio"]
    header += ["minutes, 300 rounds"]
    table(f"Workers that add {ROWS_PER_SECOND / 1e6:.0f} million rows per second", header, checks)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        asyncio.run(sleeping_workers(sys.argv[1], int(sys.argv[2])))
    else:
        main()
