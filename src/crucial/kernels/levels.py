"""How rows lie for kernels that sum over pairs: by query, and by label inside a query."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crucial.types import Floats, Ints

__all__ = ["Levels"]


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
