"""Sizes up to which NumPy runs a problem, and beyond which compiled kernels do.

The size of a problem alone decides, never the state of a cache: the same problem always takes
the same way, on every machine.
"""

from __future__ import annotations

__all__ = ["CELLS_PER_ROW", "PLAIN_CELLS", "is_small"]

PLAIN_CELLS = 300_000
"""Largest number of cells (rows times features) for which NumPy is faster than compiling."""

CELLS_PER_ROW = 10
"""Cells that one row counts as where no features are involved, as in sums over pairs."""


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
