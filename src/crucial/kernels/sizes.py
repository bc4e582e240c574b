"""Sizes up to which NumPy runs a problem, and beyond which compiled kernels do.

The size of a problem alone decides, never the state of a cache: the same problem always takes
the same way, on every machine.
"""

from __future__ import annotations

__all__ = [
    "CELLS_PER_ROW",
    "COUNT_COMPILED",
    "FILL_PLAIN",
    "PLAIN_CELLS",
    "PREDICT_COMPILED",
    "SCAN_PLAIN",
    "TEXT_PLAIN",
    "VOTE_PLAIN",
    "is_small",
]

PLAIN_CELLS = 300_000
"""Largest number of cells (rows times features) for which NumPy is faster than compiling."""

CELLS_PER_ROW = 10
"""Cells that one row counts as where no features are involved, as in sums over pairs."""

SCAN_PLAIN = 200_000
"""Largest table (segments times bins) of the NumPy search for the exact Z."""

COUNT_COMPILED = 20_000
"""Rows from which compiled kernels count pairs by order or by margin."""

VOTE_PLAIN = 4_000
"""Largest number of documents that Python sorts by majority."""

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
