"""The real Dask scheduler with workers that sleep instead of adding: 8, 64 and 256 parts.

Checks the cost model of docs/internals/scaling.md. The scheduler and the client are in this
process, and all
workers in a second one: they talk TCP as on a cluster, and sleeping takes no processor.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.timing import table

FEATURES, BINS = 136, 256
ROUNDS = 15
PARTS = (8, 64, 256)
#: Rows in all, and cores of a worker.
ROWS = (100_000_000, 1_000_000_000)
CORES = 8


class SleepingPart:
    """A part without rows, which takes as long as one with rows."""

    def __init__(self, size: int) -> None:
        self._sums = np.ones(size, np.int64)

    def advance(self, seconds: float) -> Any:
        time.sleep(seconds)
        return self._sums

    def restore(self, calls: Any) -> None:
        """Do nothing: there is no state."""


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


def measured(client: Any, n_parts: int, size: int, sleep: float) -> tuple[float, float, int]:
    """Return median seconds of a round, processor seconds of client and scheduler, and bytes."""
    from crucial.distributed.transport import DaskParts

    with DaskParts(client, [SleepingRecipe(size)] * n_parts) as parts:
        parts.total("advance", 0.0, changes=True)
        before = parts.bytes_sent + parts.bytes_received
        seconds, used = [], time.process_time()
        for _ in range(ROUNDS):
            began = time.perf_counter()
            parts.total("advance", sleep, changes=True)
            seconds.append(time.perf_counter() - began)
        used = (time.process_time() - used) / ROUNDS
        n_bytes = (parts.bytes_sent + parts.bytes_received - before) // ROUNDS
    return statistics.median(seconds), used, n_bytes


def rows_per_second() -> float:
    """Return the rows that one core adds up per second in a round of stumps, by processor time."""
    from crucial import RankBoost, make_letor
    from crucial.data import Bins, Instances
    from crucial.distributed.input import Schema
    from crucial.distributed.part import Part, PartRows
    from crucial.distributed.parted import PartedTraining
    from crucial.distributed.transport import LocalParts

    made = make_letor(1000, 120, FEATURES, seed=0)
    labels = np.asarray(made.y, np.float64)
    bins = Bins.build(Instances.from_input(made.X), np.arange(len(labels)), max_bins=BINS - 1)
    _, query = np.unique(made.qid, return_inverse=True)
    schema = Schema(replace(bins, codes=bins.codes[:, :0], n_rows=0))

    def fit(rounds: int) -> float:
        parts = LocalParts([Part(PartRows(bins, labels, query))])
        began = time.process_time()
        RankBoost(rounds, n_jobs=1).fit_prepared(nullcontext(PartedTraining(parts, schema)))
        return time.process_time() - began

    fit(2)  # (kernels are compiled)
    return 40 * len(labels) / (fit(45) - fit(5))


def main() -> None:
    size, speed = FEATURES * BINS, rows_per_second()
    print(f"\none core adds {speed / 1e6:.1f} million rows of {FEATURES} features per second")
    costs, checks = [], []
    for n_parts in PARTS:
        with cluster(n_parts) as client:
            empty, empty_cpu, _ = measured(client, n_parts, 1, 0.0)
            full, full_cpu, n_bytes = measured(client, n_parts, size, 0.0)
            figures = (1e3 * empty, 1e3 * empty_cpu, 1e3 * full, 1e3 * full_cpu, n_bytes / 1e6)
            costs.append([n_parts, *(f"{one:.1f}" for one in figures)])
            for rows in ROWS:
                adding = rows / n_parts / (CORES * speed)
                seconds, _, _ = measured(client, n_parts, size, adding)
                model = adding + full
                row = [n_parts, f"{rows:,}", f"{adding:.3f}", f"{model:.3f}", f"{seconds:.3f}"]
                checks.append([*row, f"{seconds / model:.2f}", f"{300 * seconds / 60:.1f}"])
    header = ["workers", "ms, messages alone", "CPU ms", "ms, with sums", "CPU ms", "MB per round"]
    table(f"What a round costs beside adding: sums of {FEATURES} x {BINS}", header, costs)
    header = ["workers", "rows", "s of adding", "s per round, model", "measured", "ratio"]
    header += ["minutes, 300 rounds"]
    table(f"Workers of {CORES} cores that sleep as long as adding takes", header, checks)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        asyncio.run(sleeping_workers(sys.argv[1], int(sys.argv[2])))
    else:
        main()
