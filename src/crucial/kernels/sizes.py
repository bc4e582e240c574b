"""Sizes up to which NumPy runs a problem, and beyond which compiled kernels do.

The size of a problem alone decides, never the state of a cache: the same problem always takes
the same way, on every machine. That of a part of the rows is the size of the whole, so that cutting
rows into parts changes no result.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

__all__ = [
    "CELLS_PER_ROW",
    "COUNT_COMPILED",
    "FILL_PLAIN",
    "PLAIN_CELLS",
    "PREDICT_COMPILED",
    "SCAN_PLAIN",
    "TEXT_PLAIN",
    "Counts",
    "in_all",
    "is_part",
    "is_small",
    "part_of",
]

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
