"""How kernels run: by NumPy below a size, compiled above it, on several threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from importlib import import_module
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from crucial.types import Floats, Ints

# --- A pool of threads for kernels that release the GIL, and ranges to spread over it


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
    return list(map(int, np.linspace(first, last, parts + 1)))


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


# --- Sizes up to which NumPy runs a problem, and beyond which compiled kernels do
#
# The size of a problem alone decides, never the state of a cache: the same problem always takes
# the same way, on every machine. That of a part of the rows is the size of the whole, so that
# cutting
# rows into parts changes no result.


PLAIN_CELLS = 300_000
"""Largest number of cells (rows times features) for which NumPy is faster than compiling."""

CELLS_PER_ROW = 10
"""Cells that one row counts as where no features are involved, as in sums over pairs."""

SCAN_PLAIN = 20_000
"""Largest table (segments times bins) of the NumPy search for the exact Z: over 300 rounds it
takes as long as loading the compiled one."""

COUNT_COMPILED = 20_000
"""Rows from which compiled kernels count pairs by order."""

PREDICT_COMPILED = 2_000_000
"""Cells (rows times features used) from which loading a compiled kernel pays off in
predictions: NumPy needs about 15 ns for each."""

TEXT_PLAIN = 1 << 20
"""Largest text in bytes that Python parses: loading the compiled parser costs more."""

FILL_PLAIN = 1 << 20
"""Largest number of entries that NumPy writes into a dense table: more than any text has that
Python parses."""


def is_small(n_rows: int, cells_per_row: int = CELLS_PER_ROW) -> bool:
    """Return whether a problem runs in NumPy.

    Parameters
    ----------
    n_rows : int
        Rows, or whatever else a pass loops over.
    cells_per_row : int
        Features that the pass looks at for each of them.
    """
    return n_rows * cells_per_row <= PLAIN_CELLS


@dataclass(frozen=True)
class Counts:
    """How many rows, queries, levels of queries and pairs there are.

    ``deepest`` is the largest number of levels of a query.
    """

    rows: int
    queries: int
    segments: int
    pairs: int
    deepest: int

    def merge(self, other: Counts) -> Counts:
        """Return the counts of both parts."""
        return Counts(
            self.rows + other.rows,
            self.queries + other.queries,
            self.segments + other.segments,
            self.pairs + other.pairs,
            max(self.deepest, other.deepest),
        )


_WHOLE: ContextVar[Counts | None] = ContextVar("whole", default=None)


@contextmanager
def part_of(whole: Counts) -> Iterator[None]:
    """Let rows at hand count as a part of so many, while kernels are chosen."""
    token = _WHOLE.set(whole)
    try:
        yield
    finally:
        _WHOLE.reset(token)


def is_part() -> bool:
    """Return whether the rows at hand are some of many."""
    return _WHOLE.get() is not None


def in_all(kind: str, own: int) -> int:
    """Return how many there are of a kind in `Counts`: as many as at hand, or as in the whole.

    Examples
    --------
    >>> in_all("rows", 5)
    5
    >>> with part_of(Counts(rows=70, queries=2, segments=4, pairs=300, deepest=2)):
    ...     in_all("rows", 5)
    70
    """
    whole = _WHOLE.get()
    return own if whole is None else int(getattr(whole, kind))


# --- How rows lie for kernels that sum over pairs: by query, and by label inside a query


@dataclass(frozen=True)
class Levels:
    """Rows by query and, inside it, by rising label.

    Attributes
    ----------
    level_start : int64 array of shape (n_segments + 1,)
        Segment ``s``, one label level of one query, is rows
        ``level_start[s]:level_start[s + 1]``.
    query_first : int64 array of shape (n_queries + 1,)
        Query ``q`` is segments ``query_first[q]:query_first[q + 1]``, lowest label first.
    """

    level_start: Ints
    query_first: Ints

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.level_start[-1])

    @property
    def n_segments(self) -> int:
        """Number of label levels of all queries together."""
        return len(self.level_start) - 1

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.query_first) - 1

    @property
    def arrays(self) -> tuple[Ints, Ints]:
        """``level_start`` and ``query_first``, as compiled kernels take them."""
        return self.level_start, self.query_first

    @cached_property
    def segment_of_row(self) -> Ints:
        """Segment of every row."""
        return np.repeat(np.arange(self.n_segments), np.diff(self.level_start))

    @cached_property
    def query_of_segment(self) -> Ints:
        """Query of every segment."""
        return np.repeat(np.arange(self.n_queries), np.diff(self.query_first))

    @cached_property
    def row_start(self) -> Ints:
        """First row of every query, and the number of rows."""
        return self.level_start[self.query_first]

    @property
    def deepest(self) -> int:
        """Largest number of levels in a query."""
        return int(np.diff(self.query_first).max(initial=0))

    def level_of_row(self) -> NDArray[np.int32]:
        """Return the level of every row inside its query, from 0."""
        sizes = np.diff(self.query_first)
        within = np.arange(self.n_segments) - np.repeat(self.query_first[:-1], sizes)
        return np.repeat(within.astype(np.int32), np.diff(self.level_start))

    def query_of_row(self) -> NDArray[np.int32]:
        """Return the query of every row, from 0."""
        return np.repeat(np.arange(self.n_queries, dtype=np.int32), np.diff(self.row_start))

    def gaps(self, gains: Floats) -> Floats:
        """Return the gain of every segment minus that of the level below it in its query.

        0 for the lowest level of a query; empty where there are no gains.
        """
        if not len(gains):
            return gains
        gaps = np.diff(gains, prepend=gains[:1])
        gaps[self.query_first[:-1]] = 0.0
        return gaps


# --- One thread for BLAS


@lru_cache(maxsize=1)
def _controller() -> Any:
    # (looking up the libraries of the process takes longer than a small fit)
    return import_module("threadpoolctl").ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context in which BLAS uses one thread."""
    limits: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limits
