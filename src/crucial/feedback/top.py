"""Feedback from labels about the first positions of every query only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crucial.data.groups import Groups
from crucial.feedback.labels import LabelFeedback, QueryWeight, check_labels, check_weights
from crucial.types import Floats, VectorLike

__all__ = ["TopFeedback", "top_labels"]


def top_labels(
    labels: Floats, groups: Groups, first: int | float, weight: Floats | None = None
) -> Floats:
    """Return labels whose pairs are those with the better row among the first of its query.

    The other rows have no pair among themselves and lose to all of the first: with one
    label for all of them, the lowest of the query, the pairs of different labels are the
    right ones, and none need be listed.

    Parameters
    ----------
    labels : array over the rows
    groups : Groups
    first : int or float
        Number of positions, or share of them. Rows of one label share the best of their
        positions, so all of them are in or none.
    weight : array over the rows, optional
        A row of weight 2 takes two positions, one of weight 0 none.

    Examples
    --------
    >>> top_labels(np.array([1.0, 4.0, 3.0, 2.0]), Groups.single(4), 2).tolist()
    [1.0, 4.0, 3.0, 1.0]
    """
    mass = np.ones(len(labels)) if weight is None else weight
    query = np.repeat(np.arange(groups.n_groups), groups.sizes)
    order = groups.order[np.lexsort((-labels[groups.order], query))]
    sorted_mass, sorted_labels = mass[order], labels[order]
    whole = np.bincount(query, sorted_mass, groups.n_groups)
    before = np.cumsum(sorted_mass) - sorted_mass
    before -= np.repeat(before[groups.starts[:-1]], groups.sizes)
    new = np.ones(len(order), bool)
    new[1:] = (sorted_labels[1:] != sorted_labels[:-1]) | (query[1:] != query[:-1])
    above = before[np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))]
    limit = first if isinstance(first, int | np.integer) else first * whole[query]
    lowest = sorted_labels[groups.starts[1:] - 1][query]
    out = np.empty(len(labels))
    # (a sum of weights may come out a rounding below what it is)
    out[order] = np.where(above < limit * (1.0 - 1e-12), sorted_labels, lowest)
    return out


class TopFeedback(LabelFeedback):
    """Pairs of different labels whose better row is among the first of its query.

    Parameters
    ----------
    y, groups, weight, balance, query_weight
        As in `LabelFeedback`.
    first : int, float or None
        See `top_labels`; None is all pairs.

    Examples
    --------
    >>> TopFeedback([1, 4, 3, 2], first=2).n_pairs
    5
    """

    def __init__(
        self,
        y: VectorLike,
        groups: Groups | None = None,
        *,
        first: int | float | None = None,
        weight: VectorLike | None = None,
        balance: str = "pairs",
        query_weight: QueryWeight | None = None,
    ) -> None:
        labels = cut = check_labels(y)
        groups = groups or Groups.single(len(labels))
        if first is not None:
            cut = top_labels(labels, groups, first, check_weights(weight, len(labels)))
        super().__init__(cut, groups, weight=weight, balance=balance, query_weight=query_weight)
        self._labelled = replace(self._labelled, uncut_labels=labels[self.rows])
