"""A pool of threads for kernels that release the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

__all__ = ["count_threads", "run_all"]

T = TypeVar("T")


def count_threads(n_jobs: int | None) -> int:
    """Number of threads that ``n_jobs`` means: None is all cores, -1 too, -2 all but one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    cores = cores or 1
    if n_jobs is None:
        return cores
    return max(1, cores + 1 + n_jobs) if n_jobs < 0 else max(1, n_jobs)


@lru_cache(maxsize=4)
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    # The process id is part of the key: threads do not survive a fork.
    return ThreadPoolExecutor(threads, thread_name_prefix="crucial")


def run_all(threads: int, tasks: Sequence[Callable[[], T]]) -> list[T]:
    """Run the tasks, at most ``threads`` at a time; results in the order of the tasks."""
    if threads == 1 or len(tasks) <= 1:
        return [task() for task in tasks]
    futures = [_pool(threads, os.getpid()).submit(task) for task in tasks]
    return [future.result() for future in futures]
