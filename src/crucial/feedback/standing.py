"""How far rows stand above or below the others of their queries, and how much they weigh."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from crucial.data.arrays import moderate
from crucial.data.groups import Groups
from crucial.feedback.pairs import PairFeedback
from crucial.types import Floats

__all__ = ["judges_standing", "label_standing", "pair_standing", "row_masses"]

# Standings are multiples of this: sums of them are exact, in any order of the rows.
_GRID = 2.0**-30


def row_masses(
    groups: Groups, weight: Floats | None, factor: Floats | None, *, counted: bool = False
) -> Floats:
    """Return the weights of rows times those of their queries, 1 in the mean of those above 0.

    Only the ratios of weights count, as in the feedback.

    Parameters
    ----------
    groups : Groups
        The queries.
    weight : array of shape (n_rows,), or None
        Weights of the rows.
    factor : array of shape (n_groups,), or None
        Weights of the queries.
    counted : bool
        Whether ``weight`` is a number of rows; then the mean is that of ``weight``.

    Examples
    --------
    >>> groups = Groups.from_qid([1, 1, 2, 2], 4)
    >>> row_masses(groups, np.array([4.0, 4, 8, 0]), None).tolist()
    [0.75, 0.75, 1.5, 0.0]
    >>> row_masses(groups, None, np.array([0.0, 0.1])).tolist()
    [0.0, 0.0, 1.0, 1.0]
    """
    rows = np.ones(groups.n_rows) if weight is None else weight
    factor = moderate(factor)
    masses = rows if factor is None else rows * factor[groups.codes]
    here = masses > 0.0
    wanted = _mean(rows[here]) if counted else 1.0
    mean = _mean(masses[here])
    return np.asarray(masses if mean == wanted else masses / mean * wanted, np.float64)


def _mean(values: Floats) -> float:
    """Return the mean, the same in any order; of equal values the value; 1 of none."""
    if not len(values) or values.min() == values.max():
        return float(values[0]) if len(values) else 1.0
    return math.fsum(values.tolist()) / len(values)


def label_standing(labels: Floats, groups: Groups, weight: Floats | None) -> tuple[Floats, Floats]:
    """Return the standing of every row, and its weight: 0 in queries without a pair.

    Examples
    --------
    >>> groups = Groups.from_qid([1, 1, 1, 1, 2, 2], 6)
    >>> standing, weight = label_standing(np.array([2.0, 0, 0, 1, 1, 1]), groups, None)
    >>> standing.tolist(), weight.tolist()
    ([0.75, -0.5, -0.5, 0.25, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    """
    mass = np.ones(len(labels)) if weight is None else np.asarray(weight, np.float64)
    order = np.lexsort((labels, groups.codes))
    code, label, own = groups.codes[order], labels[order], mass[order]
    begins = np.append(True, code[1:] != code[:-1])
    tie = np.cumsum(begins | np.append(True, label[1:] != label[:-1])) - 1
    query = np.cumsum(begins) - 1
    of_query = np.bincount(query, own)
    before = np.append(0.0, np.cumsum(own))
    first_tie = np.flatnonzero(np.diff(tie, prepend=-1))
    first_query = np.flatnonzero(begins)
    lower = before[first_tie][tie] - before[first_query][query]
    equal = np.bincount(tie, own)[tie]
    total = of_query[query]
    higher = total - lower - equal
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(total > 0, (lower - higher) / total, 0.0)
    standing, out = np.empty(len(labels)), np.empty(len(labels))
    standing[order] = _on_grid(share)
    ordered = np.bincount(query, (np.abs(share) > _GRID) * own) > 0
    out[order] = own * ordered[query]
    return standing, out


def judges_standing(
    judges: Sequence[Floats], groups: Groups, weight: Floats
) -> tuple[Floats, Floats]:
    """Return the mean standing of every row by several judges, and its weight for all of them.

    Parameters
    ----------
    judges : sequence of arrays of shape (n_rows,)
        Their labels; NaN where a judge gives none.
    groups : Groups
        The queries.
    weight : array of shape (n_rows,)
        Weights of the rows.
    """
    found = []
    for labels in judges:
        labelled = ~np.isnan(labels)
        own = label_standing(
            np.where(labelled, labels, 0.0), groups, np.where(labelled, weight, 0.0)
        )
        found.append(own)
    total = np.sum([mass for _, mass in found], axis=0)
    summed = np.sum([standing * mass for standing, mass in found], axis=0)
    return np.divide(summed, total, out=np.zeros(len(total)), where=total > 0), total


def pair_standing(pairs: PairFeedback) -> tuple[Floats, Floats]:
    """Return the share of won minus lost pairs of every row, and the weight of its pairs.

    The heaviest pair weighs 1.

    Examples
    --------
    >>> standing, weight = pair_standing(PairFeedback([[0, 1], [0, 2], [1, 2]], 4))
    >>> standing.tolist(), weight.tolist()
    ([1.0, 0.0, -1.0, 0.0], [2.0, 2.0, 2.0, 0.0])
    """
    high, low, mass = pairs.listed()
    mass = mass / mass.max()
    won = np.bincount(pairs.rows[high], mass, pairs.n_rows)
    lost = np.bincount(pairs.rows[low], mass, pairs.n_rows)
    total = won + lost
    share = np.divide(won - lost, total, out=np.zeros(pairs.n_rows), where=total > 0)
    return _on_grid(share), np.asarray(total, np.float64)


def _on_grid(standing: Floats) -> Floats:
    return np.asarray(np.round(standing / _GRID) * _GRID, np.float64)
