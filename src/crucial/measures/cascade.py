"""Expected reciprocal rank, as an exact expectation over random tie order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from crucial.kernels.elementary import exp2, log, log1p
from crucial.measures.base import BoundMeasure, Measure
from crucial.measures.judged import JudgedLists, Ranking
from crucial.measures.ragged import runs, size_classes, slots
from crucial.measures.ranking import TieBlocks
from crucial.types import Floats, Ints

__all__ = ["ExpectedReciprocalRank", "stopping_places"]

#: Places that the reader reaches with a lower probability are left out.
_UNREACHED = 2.0**-60

#: Cells of a batch.
_CELLS = 2**15

#: 2^1000 is still finite.
_MOST_EXPONENT = 1000


def stopping_places(stop: Floats, size: Ints, width: int) -> Floats:
    """Return the probability that a reader of a block in random order stops at each place.

    A reader stops at item i with probability ``stop[i]``, else reads on. Items are added
    one by one. With i of them added, ``passed[j]`` is the mean, over the sets of j of them,
    of the product of ``1 - stop``, and ``halts[j]`` the mean, over the ordered choices of
    j, of passing the first j - 1 and stopping at the last. The next item is in such a
    choice, or last in it, with probability j/i and 1/i::

        passed[j] <- (1 - j/i) passed[j] + j/i (1 - stop) passed[j-1]
        halts[j]  <- (1 - j/i) halts[j] + (j-1)/i (1 - stop) halts[j-1] + stop/i passed[j-1]

    Every term is positive, so nothing cancels. Items with ``stop = 0`` come first, where
    ``passed = 1`` and ``halts = 0`` in one step: O(width) for each of the other items.

    Parameters
    ----------
    stop : array of shape (n_blocks, most)
        The items that may stop the reader, 0 to fill up.
    size : int array of shape (n_blocks,)
        Items of each block, those with ``stop = 0`` included.
    width : int
        Places needed.

    Returns
    -------
    array of shape (n_blocks, width)
    """
    there = stop > 0
    let_in = size - there.sum(axis=1)
    place = np.arange(1.0, width + 1)
    passed = np.ones((len(size), width + 1))
    passed[:, 1:] = place <= let_in[:, None]
    halts = np.zeros((len(size), width + 1))
    for column in range(stop.shape[1]):
        let_in = let_in + there[:, column]
        # A filling cell lets nothing in: every share is 0 there.
        share = (there[:, column] / np.maximum(let_in, 1))[:, None]
        chance = stop[:, column, None]
        going_on = share * (1.0 - chance)
        stay = 1.0 - place * share
        gain = (going_on * (place - 1.0)) * halts[:, :-1]
        gain += (share * chance) * passed[:, :-1]
        halts[:, 1:] *= stay
        halts[:, 1:] += gain
        np.multiply(going_on * place, passed[:, :-1], out=gain)
        passed[:, 1:] *= stay
        passed[:, 1:] += gain
    return halts[:, 1:]


def _places_needed(size: Ints, mean_stop: Floats, before: Ints, cutoff: int | None) -> Ints:
    """Return the number of places of each block that can matter.

    The mean chance to pass j items in random order is at most ``(1 - mean_stop)^j``
    (Maclaurin's inequality), so from some place on no reader is left.
    """
    far = np.ceil(log(_UNREACHED) / log1p(-mean_stop))
    need = np.minimum(size, far).astype(np.int64)
    return need if cutoff is None else np.clip(cutoff - before, 0, need)


def _batches(able: Ints, need: Ints) -> Iterator[Ints]:
    """Yield blocks of similar numbers, few enough at a time to stay in the cache."""
    for rough in size_classes(able):
        for part in size_classes(need[rough]):
            members = rough[part]
            rows = max(1, _CELLS // int(need[members].max()))
            for begin in range(0, len(members), rows):
                yield members[begin : begin + rows]


def _within_blocks(blocks: TieBlocks, stop: Floats, cutoff: int | None) -> Floats:
    """Return the expected (chance to stop / position) per block, for a reader who reaches it."""
    single = stop[blocks.items[blocks.starts[:-1]]] / (blocks.before + 1.0)
    if cutoff is not None:
        single[blocks.before >= cutoff] = 0.0
    if not blocks.tied:
        return single
    at = stop[blocks.items]
    sums, able = blocks.totals(at), blocks.totals((at > 0).astype(float)).astype(np.int64)
    out = np.where(blocks.sizes == 1, single, 0.0)
    tied = np.flatnonzero((blocks.sizes > 1) & (sums > 0))
    size, before, able, sums = blocks.sizes[tied], blocks.before[tied], able[tied], sums[tied]
    need = _places_needed(size, sums / size, before, cutoff)
    # The able items of the tied blocks, block after block.
    block_of = np.repeat(np.arange(len(blocks.query)), blocks.sizes)
    chosen = at[(at > 0) & (blocks.sizes > 1)[block_of]]
    first = np.cumsum(able) - able
    for members in _batches(able, need):
        columns, filled = slots(able[members])
        picked = np.where(filled, first[members, None] + columns, 0)
        width = int(need[members].max())
        halts = stopping_places(np.where(filled, chosen[picked], 0.0), size[members], width)
        place = np.arange(1, width + 1)
        worth = np.where(place <= need[members, None], 1.0 / (before[members, None] + place), 0)
        out[tied[members]] = (halts * worth).sum(axis=1)
    return out


def _still_reading(blocks: TieBlocks, stop: Floats) -> Floats:
    """Return the chance to reach each block: to stop in no better one, in any order."""
    passed = 1.0 - stop[blocks.items]
    if blocks.tied:
        passed = np.multiply.reduceat(passed, blocks.starts[:-1])
    out = np.ones(len(passed))
    first = runs(blocks.query)
    lengths = np.diff(np.append(first, len(blocks.query)))
    for members in size_classes(lengths):
        columns, filled = slots(lengths[members])
        at = np.where(filled, first[members, None] + columns, 0)
        product = np.cumprod(np.where(filled, passed[at], 1.0), axis=1)
        later = filled[:, 1:]
        out[at[:, 1:][later]] = product[:, :-1][later]
    return out


@dataclass(frozen=True)
class ExpectedReciprocalRank(Measure):
    """One over the position at which a reader stops, who stops at graded items by chance.

    The chance to stop at an item is ``(2^y - 1) / 2^max`` (Chapelle et al. 2009). Ties
    cost O(q places) for a block with q items of positive label; places that no reader
    reaches are left out.

    Attributes
    ----------
    cutoff : int or None
        Positions that count.
    highest : float or None
        The highest possible label; None is the highest one in the data.
    """

    cutoff: int | None = None
    highest: float | None = None

    @property
    def meaning(self) -> str:
        """Cutoff and highest label, in words."""
        at = f" at {self.cutoff}" if self.cutoff else ""
        most = "the data's highest y" if self.highest is None else f"{self.highest:g}"
        return f"expected reciprocal rank{at}, stop probability (2^y - 1)/2^max, max = {most}"

    def bind(self, judged: JudgedLists) -> BoundMeasure:
        """Compute the chance to stop at every row."""
        y = judged.y if judged.retrieved is None else np.maximum(judged.y, 0.0)
        self.refuse_labels(judged, y < 0, "of at least 0, since 2^y - 1 is part of a chance")
        self.refuse_labels(judged, y > _MOST_EXPONENT, f"of at most {_MOST_EXPONENT}")
        highest = float(y.max()) if self.highest is None else self.highest
        self.refuse_labels(judged, y > highest, f"of at most max = {highest:g}")
        stop = (exp2(y) - 1.0) / exp2(highest)
        nothing = judged.per_query(stop) == 0

        def values(ranking: Ranking) -> Floats:
            blocks = ranking.blocks(self.cutoff)
            inside = _within_blocks(blocks, stop, self.cutoff)
            found = blocks.per_query(inside * _still_reading(blocks, stop), judged.n_queries)
            found[nothing] = np.nan
            return found

        return BoundMeasure(values)
