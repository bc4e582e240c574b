"""Rows sorted by query and label, which is all that label feedback needs of its pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from crucial.data.groups import Groups
from crucial.kernels.levels import Levels
from crucial.types import Bools, Floats, Ints

__all__ = ["LabelledRows", "Layout"]


@dataclass(frozen=True)
class Layout(Levels):
    """Usable rows by query and, inside it, by rising label.

    Attributes
    ----------
    level_start, query_first : int64 arrays
        See `Levels`.
    rows : int array
        Row numbers in that order; rows of queries without a pair are left out.
    values : array of shape (n_segments,)
        Label of every segment.
    queries : int array of shape (n_queries,)
        Number of the query among all groups.
    """

    rows: Ints
    values: Floats
    queries: Ints

    @classmethod
    def of(cls, y: Floats, groups: Groups, keep: Bools | None) -> Layout:
        """Sort the rows; ``keep`` leaves out rows of weight 0."""
        rows = groups.permutation
        query = np.repeat(np.arange(groups.n_groups, dtype=np.int32), groups.sizes)
        if keep is not None:
            kept = np.flatnonzero(keep if rows is None else keep[rows])
            rows, query = kept if rows is None else rows[kept], query[kept]
        labels = y if rows is None else y[rows]
        same = query[1:] == query[:-1]
        if np.any(same & (labels[1:] < labels[:-1])):
            # The queries stand in order already, so sorting leaves them where they are.
            order = np.lexsort((labels, query))
            labels = labels[order]
            rows = order if rows is None else rows[order]
        elif rows is None:
            rows = np.arange(len(query))
        usable = np.zeros(groups.n_groups, bool)
        usable[query[1:][same & (labels[1:] > labels[:-1])]] = True
        live = usable[query]
        if not live.all():
            rows, labels, query = rows[live], labels[live], query[live]
        change = np.ones(len(rows), bool)
        change[1:] = (query[1:] != query[:-1]) | (labels[1:] != labels[:-1])
        starts = np.flatnonzero(change)
        owner = query[starts]
        queries, first = np.unique(owner, return_index=True)
        return cls(
            np.append(starts, len(rows)),
            np.append(first, len(starts)).astype(np.int64),
            rows,
            labels[starts],
            queries.astype(np.int64),
        )

    def repeated(self, counts: Ints) -> Layout:
        """Return the layout with every row as often as it counts."""
        ends = np.concatenate(([0], np.cumsum(counts)))
        rows = np.repeat(self.rows, counts)
        return replace(self, rows=rows, level_start=ends[self.level_start])

    @property
    def n_levels(self) -> int:
        """Number of different labels in pairs."""
        return len(np.unique(self.values))

    @property
    def n_pairs(self) -> int:
        """Number of pairs: rows of one query with different labels."""
        wins = self.level_start[:-1] - np.repeat(self.row_start[:-1], np.diff(self.query_first))
        return int(np.dot(wins, np.diff(self.level_start)))


@dataclass(frozen=True)
class LabelledRows:
    """What label feedback is made of, for losses that are more than a sum over pairs.

    Attributes
    ----------
    layout : Layout
    weight : array over the rows of the layout, or None
        Instance weights, scaled so that sums over pairs do not overflow; None where all are 1.
    gains : array over the segments, or of length 0
        Gain of every level; empty where all pairs count the same.
    coefficient : array over the queries
        Factor on the pairs of each query, balance and query weights together.
    balanced : bool
        Whether all queries are to weigh the same.
    """

    layout: Layout
    weight: Floats | None
    gains: Floats
    coefficient: Floats
    balanced: bool

    @property
    def gap(self) -> Floats:
        """Gain of a level minus that of the level below it in its query; empty without gains."""
        return self.layout.gaps(self.gains)
