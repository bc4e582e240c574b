"""A pool of threads for kernels that release the GIL, and ranges to spread over it."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import lru_cache, partial
from itertools import pairwise
from typing import TypeVar

import numpy as np

from crucial.types import Ints

__all__ = ["count_threads", "cut_evenly", "cut_lists", "over_ranges", "run_all"]

T = TypeVar("T")

_MOST = 64  # threads, if there are not more cores


def count_threads(n_jobs: int | None) -> int:
    """Return the number of threads for ``n_jobs``: all cores for None or -1, all but one for -2.

    Far more than there are cores are not started: they would only wait.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    cores = cores or 1
    if n_jobs is None:
        return cores
    wanted = cores + 1 + n_jobs if n_jobs < 0 else n_jobs
    return max(1, min(wanted, max(cores, _MOST)))


@lru_cache(maxsize=4)
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    # The process id is part of the key: threads do not survive a fork.
    return ThreadPoolExecutor(threads, thread_name_prefix="crucial")


def run_all(threads: int, tasks: Sequence[Callable[[], T]]) -> list[T]:
    """Run the tasks, at most ``threads`` at a time, and return their results in order.

    The calling thread takes tasks as well: for short ones, waking another thread takes longer
    than the work.
    """
    if threads == 1 or len(tasks) <= 1:
        return [task() for task in tasks]
    waiting = deque(enumerate(tasks))  # (whose next task only one thread gets)
    results: dict[int, T] = {}

    def drain() -> None:
        while True:
            try:
                number, task = waiting.popleft()
            except IndexError:
                return
            try:
                results[number] = task()
            except BaseException:
                waiting.clear()
                raise

    helpers = min(threads, len(tasks)) - 1
    pool = _pool(threads - 1, os.getpid())
    futures = [pool.submit(drain) for _ in range(helpers)]
    try:
        drain()
    finally:
        # A thread that has not begun by now is not waited for: it may wait for this one.
        begun = [future for future in futures if not future.cancel()]
        wait(begun)
    for future in begun:
        future.result()
    return [results[number] for number in range(len(tasks))]


def over_ranges(bounds: Sequence[int], threads: int, call: Callable[[int, int], T]) -> list[T]:
    """Call ``call(a, b)`` for every two neighbouring bounds and return the results in order."""
    return run_all(threads, [partial(call, a, b) for a, b in pairwise(bounds)])


def cut_evenly(first: int, last: int, parts: int) -> list[int]:
    """Cut a range of numbers into parts of about the same length; return their bounds."""
    bounds: list[int] = np.linspace(first, last, parts + 1).astype(np.int64).tolist()
    return bounds


def cut_lists(starts: Ints, parts: int) -> list[int]:
    """Cut lists into parts of about the same number of rows; return their bounds.

    Parameters
    ----------
    starts : int array of shape (n_lists + 1,)
        List ``l`` is rows ``starts[l]:starts[l + 1]``. No list is split.
    """
    marks = starts[-1] * np.arange(1, parts) // parts
    cuts = np.concatenate(([0], np.searchsorted(starts, marks), [len(starts) - 1]))
    bounds: list[int] = np.unique(cuts).tolist()
    return bounds
