"""Contradictions between feedbacks, netted: of two opposite pairs only the difference stays.

The antisymmetric feedback of Freund et al. (2003, section 2), over all parts of a sum. Pairs that
labels imply must be listed where another part contradicts them. Of labels and explicit pairs,
these are the pairs of one row of every contradicted pair; of several judges, who may contradict
each other in any pair, all pairs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crucial.data.arrays import free_memory
from crucial.errors import DataError
from crucial.feedback.base import Feedback
from crucial.feedback.combined import SumFeedback
from crucial.feedback.labels import LabelFeedback
from crucial.feedback.listed import ListedPairs
from crucial.feedback.pairs import PairFeedback, add_up
from crucial.types import Floats, Ints

__all__ = ["net_feedback"]

# Row numbers, weights and what sorting them takes for a moment.
_BYTES_PER_PAIR = 100


def net_feedback(
    labels: Sequence[LabelFeedback],
    explicit: PairFeedback | None = None,
    factors: Sequence[float] | Floats | None = None,
) -> Feedback:
    """Add feedbacks up and net the contradictions between them.

    Parameters
    ----------
    labels : sequence of LabelFeedback
        At least one, all over the same rows.
    explicit : PairFeedback, optional
    factors : sequence of numbers, optional
        Factor on the pairs of each of the labels; 1 by default.

    Raises
    ------
    DataError
        If nothing is left, or the pairs to be listed do not fit into memory.

    Examples
    --------
    >>> left = net_feedback([LabelFeedback([2, 1, 0])], PairFeedback([(2, 0)], 3))
    >>> left.n_pairs, left.potentials([0, 0, 0]).round(9).tolist()
    (2, [0.5, 0.0, -0.5])
    """
    scale = np.ones(len(labels)) if factors is None else np.asarray(factors, np.float64)
    if len(labels) > 1:
        _check_room(sum(part.n_pairs for part in labels))
        parts = [_absolute(part, factor) for part, factor in zip(labels, scale.tolist())]
        if explicit is not None:
            parts.append(_absolute(explicit))
        return _something(_netted(parts, labels))
    if explicit is None:
        return labels[0]
    return _net_with_pairs(labels[0], explicit, float(scale[0]))


def _net_with_pairs(labels: LabelFeedback, explicit: PairFeedback, factor: float) -> Feedback:
    """Net the pairs that labels imply with explicit ones."""
    pairs = _absolute(explicit)
    place = np.full(labels.n_rows, -1, np.int64)
    place[labels.rows] = np.arange(len(labels.rows))
    rows = labels.labelled()
    high, low = place[pairs.low], place[pairs.high]  # (the way that labels would contradict)
    against = rows.are_pairs(high, low)
    if not against.any():
        return SumFeedback([labels, explicit], factors=[factor, 1.0])
    chosen = _cover(high[against], low[against])
    _check_room(rows.count_pairs_of(chosen))
    listed = rows.pairs_of(chosen)
    weight = rows.pair_weights(*listed) * labels.total * factor
    of_labels = ListedPairs(labels.rows[listed[0]], labels.rows[listed[1]], weight)
    rest = labels.without(chosen)
    netted = _netted([pairs, of_labels], [labels])
    if rest is None or netted is None:
        return _something(netted if rest is None else rest)
    return SumFeedback([rest, netted], factors=[factor, 1.0])


def _something(feedback: Feedback | None) -> Feedback:
    """Refuse an empty feedback."""
    if feedback is None:
        raise DataError(
            "No comparable pair: every pair is contradicted with the same weight, by labels or by "
            "other pairs, and contradictions='net' leaves nothing to learn."
        )
    return feedback


def _cover(high: Ints, low: Ints) -> Ints:
    """Return one place of every pair, preferably one of many pairs."""
    degree = np.bincount(np.concatenate((high, low)))
    return np.unique(np.where(degree[high] >= degree[low], high, low))


def _absolute(part: Feedback, factor: float = 1.0) -> ListedPairs:
    """Return all pairs of a feedback, by row number and with their own weights."""
    high, low, share = part.pairs_at(np.arange(part.n_pairs))
    return ListedPairs(part.rows[high], part.rows[low], share * part.total * factor)


def _netted(parts: Sequence[ListedPairs], labels: Sequence[LabelFeedback]) -> PairFeedback | None:
    """Net listed pairs; rows keep the weights that they have among the labels, for the bins."""
    n_rows = labels[0].n_rows
    high = np.concatenate([one.high for one in parts])
    low = np.concatenate([one.low for one in parts])
    weight = np.concatenate([one.weight for one in parts])
    high, low, weight = add_up(np.column_stack((high, low)), weight, n_rows, "net")
    if not len(weight):
        return None
    netted = PairFeedback(np.column_stack((high, low)), n_rows, weight=weight)
    if any(part.weight is not None for part in labels):
        per_row = np.ones(n_rows)
        for part in labels:
            if part.weight is not None:
                per_row[part.rows] = part.weight
        netted.weight = per_row[netted.rows]
    return netted


def _check_room(n_pairs: int) -> None:
    """Refuse pairs that would take more than half of the free memory."""
    there = free_memory()
    if there is None or n_pairs * _BYTES_PER_PAIR <= there // 2:
        return
    raise DataError(
        f"contradictions='net' has to list {n_pairs:,} pairs that labels imply and others may "
        f"contradict, about {n_pairs * _BYTES_PER_PAIR / 2**30:.1f} GiB, more than half of the "
        f"{there / 2**30:.1f} GiB of free memory. Use contradictions='keep', which lists none."
    )
