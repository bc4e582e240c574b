"""Some rows of a parquet file, by its row groups."""

from __future__ import annotations

from typing import Any, Self

__all__ = ["ParquetRows", "is_parquet", "split_file"]

# Cells up to which row groups are put together: 250,000 rows of 134 features.
_CELLS = 1 << 25


class ParquetRows(str):
    """The path of a parquet file, of which some row groups are read.

    Parameters
    ----------
    path : str
    groups : (int, int), optional
        The first row group and the one after the last; all by default.
    first_row : int
        Rows before the first row group.
    compact : bool
        Whether the table is stored column by column, in floats of 4 bytes where the file has no
        longer ones: for readers that look at one column after the other.

    Examples
    --------
    >>> ParquetRows("train.parquet", (2, 4)).name
    'train.parquet, row groups 2 to 3'
    """

    groups: tuple[int, int] | None
    first_row: int
    compact: bool

    def __new__(
        cls,
        path: str,
        groups: tuple[int, int] | None = None,
        first_row: int = 0,
        compact: bool = False,
    ) -> Self:
        """Make a path that knows its rows."""
        made = super().__new__(cls, path)
        made.groups, made.first_row, made.compact = groups, first_row, compact
        return made

    def __getnewargs__(self) -> Any:
        return str(self), self.groups, self.first_row, self.compact

    @classmethod
    def compacted(cls, path: str) -> Self:
        """Return the same rows, to be stored column by column."""
        own = path if isinstance(path, ParquetRows) else ParquetRows(path)
        return cls(path, own.groups, own.first_row, True)

    @property
    def name(self) -> str:
        """What messages call the rows."""
        if self.groups is None:
            return str(self)
        first, last = self.groups[0], self.groups[1] - 1
        which = f"row group {first}" if first == last else f"row groups {first} to {last}"
        return f"{self!s}, {which}"


def is_parquet(path: str) -> bool:
    """Return whether the name of a file says that it is parquet."""
    return path.lower().endswith((".parquet", ".pq"))


def split_file(path: str) -> list[str]:
    """Return the parts that a file is read in: a large parquet file is divided by row groups.

    They depend on the file alone, so that bins do as well.
    """
    if not is_parquet(path) or isinstance(path, ParquetRows):
        return [path]
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import read_metadata
    except ImportError:  # (the reader says what to install)
        return [path]
    try:
        found = read_metadata(path)
    except (ArrowException, OSError):  # (the reader says what is wrong)
        return [path]
    if found.num_rows * found.num_columns <= _CELLS:
        return [path]
    sizes = [found.row_group(number).num_rows for number in range(found.num_row_groups)]
    return [*_pieces(path, sizes, _CELLS // found.num_columns)]


def _pieces(path: str, sizes: list[int], most: int) -> list[ParquetRows]:
    """Return row groups with at most so many rows together, or one group each."""
    pieces, begin, before, rows = [], 0, 0, 0
    for number, size in enumerate(sizes):
        if rows and rows + size > most:
            pieces.append(ParquetRows(path, (begin, number), before))
            begin, before, rows = number, before + rows, 0
        rows += size
    if rows:
        pieces.append(ParquetRows(path, (begin, len(sizes)), before))
    return pieces
