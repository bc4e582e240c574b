"""RankNet's loss over pairs, as a function of the scores (Burges et al. 2005).

A pair costs ``ln(1 + e^-(s_hi - s_lo))``; two rows of equal labels, if they count, cost
``ln(1 + e^-d) / 2 + ln(1 + e^d) / 2``, the cross entropy for a target of 1/2, which draws their
scores together. The gradient by the scores is one number per row, RankNet's lambda. Every pair is
visited and none is kept.
"""

from __future__ import annotations

import numpy as np

from crucial.feedback.layout import LabelledRows
from crucial.kernels.elementary import dot
from crucial.kernels.losses import LogisticSums
from crucial.kernels.runtime import Levels
from crucial.types import Floats, Ints

__all__ = ["PairLoss", "Shuffled"]


class PairLoss:
    """The mean over pairs of rows with different labels, as a function of scores.

    Pairs of equal labels are added in the same unit: a row of weight 2 then has the effect of two
    rows, whose own pair costs the same wherever they score.

    Parameters
    ----------
    levels : Levels
        Rows by query and label.
    weight : array over the rows
    coefficient : array over the queries
        Factor on the pairs of each.
    ties : bool
        Whether pairs of equal labels count.
    threads : int

    Attributes
    ----------
    total : float
        Weight of all pairs of different labels.
    """

    def __init__(
        self, levels: Levels, weight: Floats, coefficient: Floats, ties: bool, threads: int
    ) -> None:
        factor = coefficient[levels.query_of_row()]
        mass = np.add.reduceat(weight, levels.level_start[:-1])
        of_query = np.add.reduceat(mass, levels.query_first[:-1])
        squares = np.add.reduceat(mass**2, levels.query_first[:-1])
        self.total = max(float((coefficient * (of_query**2 - squares)).sum()) / 2.0, 5e-324)
        self._sums = [(LogisticSums(levels, weight, np.zeros(0), threads), factor)]
        self._line = np.zeros(levels.n_rows)
        if ties:
            # Every level is a list of its own, in which each row is above those before it ...
            alone = Levels(np.arange(levels.n_rows + 1), levels.level_start)
            sums = LogisticSums(alone, weight, np.zeros(0), threads)
            self._sums.append((sums, factor))
            # ... and half of the difference on top makes its pairs the same in both directions.
            before = np.cumsum(weight) - weight
            start = before[levels.level_start[:-1]][levels.segment_of_row]
            level = mass[levels.segment_of_row]
            self._line = 0.5 * factor * weight * (2.0 * (before - start) + weight - level)

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return the loss, and its gradient by the scores."""
        value, gradient = dot(self._line, scores), self._line.copy()
        for sums, factor in self._sums:
            won, lost, _, loss = sums.sums(scores, 0.0)
            value += float((factor * loss).sum())
            gradient += factor * (lost - won)
        return value / self.total, gradient / self.total


class Shuffled:
    """Minibatches: all queries in random order, some at a time; large ones in random parts.

    Parameters
    ----------
    rows : LabelledRows
    ties : bool
    threads : int
    batch_rows : int
        Rows of a minibatch, about; a query of more rows is divided at random into parts of at
        most so many, whose pairs stand for all.
    """

    def __init__(self, rows: LabelledRows, ties: bool, threads: int, batch_rows: int) -> None:
        self._rows, self._ties, self._threads = rows, ties, threads
        self._batch_rows = batch_rows
        self._weight = np.ones(len(rows.layout.rows)) if rows.weight is None else rows.weight

    def whole(self) -> PairLoss:
        """Return the loss over all rows."""
        rows = self._rows
        return PairLoss(rows.layout, self._weight, rows.coefficient, self._ties, self._threads)

    def epoch(self, random: np.random.Generator) -> list[tuple[Ints, PairLoss]]:
        """Return the minibatches of an epoch: rows, ascending, and the loss over them."""
        starts, parts = self._rows.layout.row_start, []
        for q in random.permutation(len(starts) - 1).tolist():
            own = np.arange(starts[q], starts[q + 1])
            if len(own) > self._batch_rows:
                pieces = -(-len(own) // self._batch_rows)
                parts += [
                    (q, np.sort(one)) for one in np.array_split(random.permutation(own), pieces)
                ]
            else:
                parts.append((q, own))
        batches: list[list[tuple[int, Ints]]] = []
        group: list[tuple[int, Ints]] = []
        size = 0
        for part in parts:
            if group and size + len(part[1]) > self._batch_rows:
                batches.append(group)
                group, size = [], 0
            group.append(part)
            size += len(part[1])
        made = [self._batch(one) for one in [*batches, group]]
        return [one for one in made if one is not None]

    def _batch(self, parts: list[tuple[int, Ints]]) -> tuple[Ints, PairLoss] | None:
        """Return the rows of parts of queries and their loss; None if they have no pair."""
        layout = self._rows.layout
        rows = np.concatenate([own for _, own in parts])
        segment = layout.segment_of_row[rows]
        part = np.repeat(np.arange(len(parts)), [len(own) for _, own in parts])
        change = np.ones(len(rows), bool)
        change[1:] = (segment[1:] != segment[:-1]) | (part[1:] != part[:-1])
        begin = np.flatnonzero(change)
        first = np.searchsorted(part[begin], np.arange(len(parts) + 1))
        if len(begin) == len(parts):  # (one level in every part)
            return None
        levels = Levels(np.append(begin, len(rows)), first)
        coefficient = self._rows.coefficient[np.array([q for q, _ in parts])]
        return rows, PairLoss(levels, self._weight[rows], coefficient, self._ties, self._threads)
