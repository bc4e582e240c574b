"""Rows sorted by query and label, which is all that label feedback needs of its pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from crucial.data.groups import Groups
from crucial.feedback.listed import ListedPairs
from crucial.kernels.elementary import exp, log
from crucial.kernels.pairs import sums_below
from crucial.kernels.runtime import Levels
from crucial.kernels.sums import exact_dot
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
            # The queries are in order already, so sorting leaves them where they are.
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
    """The rows of label feedback with all that their pairs weigh.

    Pair (lo, hi) of query q weighs ``coefficient[q] * weight[lo] * weight[hi]``, times the
    difference of the gains of their labels, if there are any.

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
        Whether all queries weigh the same.
    log_total : float
        Logarithm of the weight of all pairs.
    uncut_labels : array over the rows of the layout, or None
        The labels before `crucial.feedback.top` made the lower ones of a query equal.
    query_weight : array over the queries, or None
        Weight of each query over the largest, without balance; None where all weigh the same.
    """

    layout: Layout
    weight: Floats | None
    gains: Floats
    coefficient: Floats
    balanced: bool
    log_total: float
    uncut_labels: Floats | None = None
    query_weight: Floats | None = None

    @property
    def gap(self) -> Floats:
        """Gain of a level minus that of the level below it in its query; empty without gains."""
        return self.layout.gaps(self.gains)

    @property
    def labels(self) -> Floats:
        """Label of every row, as it was passed in."""
        if self.uncut_labels is not None:
            return self.uncut_labels
        return np.repeat(self.layout.values, np.diff(self.layout.level_start))

    def pairs_at(self, numbers: Ints) -> ListedPairs:
        """Return the pairs with these numbers; see `Feedback.pairs_at`.

        A row beats the rows before its level in its query.
        """
        layout = self.layout
        sizes = np.diff(layout.level_start)
        first = layout.row_start[:-1][layout.query_of_segment]  # for every segment
        wins = np.repeat(layout.level_start[:-1] - first, sizes)
        start = np.concatenate(([0], np.cumsum(wins)))
        high = np.searchsorted(start, numbers, "right") - 1
        low = numbers - start[high] + first[layout.segment_of_row[high]]
        return ListedPairs(high, low, self.pair_weights(high, low))

    def taken(self, layout: Layout, places: Ints) -> LabelledRows | None:
        """Return some of the rows; None if their pairs weigh nothing.

        Parameters
        ----------
        layout : Layout
            Of these rows.
        places : int array
            Their places here, in the order of the layout.
        """
        segment = self.layout.segment_of_row[places[layout.level_start[:-1]]]
        query = np.searchsorted(self.layout.queries, layout.queries)
        gains = self.gains[segment] if len(self.gains) else self.gains
        weight = None if self.weight is None else self.weight[places]
        coefficient = self.coefficient[query]
        mass = np.diff(layout.level_start).astype(np.float64)
        if weight is not None:
            mass = np.add.reduceat(weight, layout.level_start[:-1])
        pairs = mass * sums_below(mass, layout.gaps(gains), layout.query_first)
        per_query = np.add.reduceat(pairs, layout.query_first[:-1])
        whole = exact_dot(coefficient, per_query)
        if not whole > 0.0:
            return None
        uncut = None if self.uncut_labels is None else self.uncut_labels[places]
        relative = None if self.query_weight is None else self.query_weight[query]
        return LabelledRows(
            layout, weight, gains, coefficient, self.balanced, log(whole), uncut, relative
        )

    def pair_weights(self, high: Ints, low: Ints) -> Floats:
        """Return the weights of pairs of places, as shares of the weight of all pairs."""
        above, below = self.layout.segment_of_row[high], self.layout.segment_of_row[low]
        query = self.layout.query_of_segment[above]
        weight: Floats = self.coefficient[query] / exp(self.log_total)
        if self.weight is not None:
            weight = weight * self.weight[high] * self.weight[low]
        if len(self.gains):
            weight = weight * (self.gains[above] - self.gains[below])
        return weight

    def are_pairs(self, high: Ints, low: Ints) -> Bools:
        """Return which pairs of places the labels imply; a place of -1 is no row of any."""
        above, below = self.layout.segment_of_row[high], self.layout.segment_of_row[low]
        query = self.layout.query_of_segment
        return np.asarray(
            (high >= 0) & (low >= 0) & (query[above] == query[below]) & (above > below)
        )

    def count_pairs_of(self, chosen: Ints) -> int:
        """Return the number of `pairs_of` at most."""
        return int(sum(part.sum() for part in self._opponents(chosen)))

    def pairs_of(self, chosen: Ints) -> tuple[Ints, Ints]:
        """Return winner and loser of all pairs in which a chosen place occurs, each once."""
        layout = self.layout
        segment = layout.segment_of_row[chosen]
        query = layout.query_of_segment[segment]
        below, above = self._opponents(chosen)
        first, after = layout.row_start[query], layout.level_start[segment + 1]
        wins = np.repeat(chosen, below), _counted_from(first, below)
        losses = _counted_from(after, above), np.repeat(chosen, above)
        # A pair of two chosen places is listed with the winner.
        is_chosen = np.zeros(layout.n_rows, bool)
        is_chosen[chosen] = True
        once = ~is_chosen[losses[0]]
        high = np.concatenate((wins[0], losses[0][once]))
        return high, np.concatenate((wins[1], losses[1][once]))

    def _opponents(self, chosen: Ints) -> tuple[Ints, Ints]:
        """Return how many rows of its query are below, and above, each place."""
        layout = self.layout
        segment = layout.segment_of_row[chosen]
        query = layout.query_of_segment[segment]
        below = layout.level_start[segment] - layout.row_start[query]
        return below, layout.row_start[query + 1] - layout.level_start[segment + 1]


def _counted_from(first: Ints, counts: Ints) -> Ints:
    """Return ``first[i], first[i] + 1, ...``, so many for every i."""
    ends = np.cumsum(counts)
    return np.asarray(np.arange(int(counts.sum())) + np.repeat(first - (ends - counts), counts))
