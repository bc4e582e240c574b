"""Volume under the ROC surface: whether all labels are in order at once (d-partite ranking)."""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial

import numpy as np

from crucial.errors import DataError
from crucial.measures.base import BoundMeasure, Measure
from crucial.measures.judged import JudgedLists, Ranking
from crucial.measures.pairs import weighted_levels
from crucial.measures.ragged import runs, size_classes, slots
from crucial.measures.ranking import TieBlocks
from crucial.types import Floats, Ints

__all__ = ["MAX_LABELS", "VolumeUnderSurface", "volume_of_counts"]

MAX_LABELS = 30
"""Largest number of different labels of a query: chance is 1 / d!, and time grows as d^2."""


def volume_of_counts(counts: Floats) -> Floats:
    """Return the volume under the ROC surface of lists of score blocks.

    Over the blocks of equal scores in rising order, ``F_k`` is the weight of the ways to place
    one item of each of the first k labels in order; a run of m labels in one block counts
    ``1/m!``.

    Parameters
    ----------
    counts : array of shape (n_labels, n_lists, n_blocks)
        Weight of the items of each label in each block, lowest label and lowest score first;
        blocks of weight 0 change nothing.

    Returns
    -------
    array of shape (n_lists,)
        NaN where a label has no weight.

    Examples
    --------
    >>> volume_of_counts(np.array([[[1.0, 0.0, 0.0]], [[0.0, 1.0, 1.0]], [[0.0, 0.0, 1.0]]]))
    array([0.75])
    """
    totals = counts.sum(axis=2)
    # Shares in place of weights: no product overflows, and F is the volume itself.
    shares = counts / np.where(totals > 0, totals, 1.0)[:, :, None]
    before = [np.ones(counts.shape[1:])]  # F_0, F_1, ... before each block
    last = np.ones(counts.shape[1])
    for k in range(1, len(counts) + 1):
        step, together = np.zeros(counts.shape[1:]), np.ones(counts.shape[1:])
        for j in range(k - 1, -1, -1):
            together = together * shares[j]
            if not together.any():
                break
            step += before[j] * together / factorial(k - j)
        summed = np.cumsum(step, axis=1)
        last = summed[:, -1]
        before.append(np.hstack([np.zeros((len(last), 1)), summed[:, :-1]]))
    return np.where((totals > 0).all(axis=0), last, np.nan)


@dataclass(frozen=True)
class VolumeUnderSurface(Measure):
    """Chance that one random item of every label of a query is ranked in order.

    ``P(s_0 < s_1 < .. < s_(d-1))`` for one random item of each of the d labels; m neighbouring
    labels tied in score count ``1/m!`` (Clémençon, Robbiano & Vayatis 2013). It is 1/d! by
    chance and the AUC for two labels. Time is O(n log n + n d^2).

    With weights of rows, an item is drawn by its weight.
    """

    @property
    def meaning(self) -> str:
        """The volume in words."""
        return "volume under the ROC surface, one random item per label in order, m tied count 1/m!"

    @property
    def takes_weights(self) -> bool:
        """An item is drawn by its weight."""
        return True

    def bind(self, judged: JudgedLists) -> BoundMeasure:
        """Compute the levels of the labels, and refuse too many."""
        level, n_levels = weighted_levels(judged)
        most = int(n_levels.max(initial=0))
        if most > MAX_LABELS:
            raise DataError(
                f"{self.name} is for at most {MAX_LABELS} different labels in a query. Got "
                f"{most}. Use iauc or hard_loss for continuous labels."
            )
        weight = np.ones(len(level)) if judged.weight is None else judged.weight

        def values(ranking: Ranking) -> Floats:
            return _volumes(ranking.all_blocks, level, n_levels, weight)

        return BoundMeasure(values)


def _volumes(blocks: TieBlocks, level: Ints, n_levels: Ints, weight: Floats) -> Floats:
    """Return the volume of every query; NaN where it has fewer than two labels."""
    out = np.full(len(n_levels), np.nan)
    first = runs(blocks.query)
    query, sizes = blocks.query[first], np.diff(np.append(first, len(blocks.query)))
    block_of = np.repeat(np.arange(len(blocks.query)), blocks.sizes)
    column = block_of - np.repeat(first, np.add.reduceat(blocks.sizes, first))
    place = np.full(len(n_levels), -1)
    list_of_item = blocks.query[block_of]
    levels, weights = level[blocks.items], weight[blocks.items]
    for d in np.unique(n_levels[n_levels > 1]):
        chosen = np.flatnonzero(n_levels[query] == d)
        for members in size_classes(sizes[chosen]):
            lists = chosen[members]
            columns, _ = slots(sizes[lists])
            place[:] = -1
            place[query[lists]] = np.arange(len(lists))
            at = place[list_of_item]
            here = slice(None) if (at >= 0).all() else at >= 0
            # Best first in the blocks, lowest first in the counts.
            backwards = sizes[lists][at[here]] - 1 - column[here]
            cells = (levels[here] * len(lists) + at[here]) * len(columns) + backwards
            counts = np.bincount(cells, weights[here], minlength=d * len(lists) * len(columns))
            table = counts.astype(np.float64, copy=False).reshape(d, len(lists), len(columns))
            out[query[lists]] = volume_of_counts(table)
    return out
