"""Feedback from the differences of labels: every two rows of a query, equal labels included."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from crucial.data.groups import Groups
from crucial.errors import DataError
from crucial.feedback.base import Feedback, finite_total
from crucial.feedback.labels import LabelFeedback, QueryWeight, query_factors
from crucial.kernels.elementary import dot
from crucial.types import Bools, Floats, Ints

__all__ = ["DifferenceFeedback"]


class DifferenceFeedback(Feedback):
    """Every two rows of one query; the difference of their scores should be that of their labels.

    A pair weighs ``c_q u_i u_j``, with instance weights u and c_q set by ``balance``. A row of
    weight u counts as u rows: where u is above 1, ``u (u - 1) / 2`` pairs of the row with itself
    count among all pairs, and their differences are 0.

    Parameters
    ----------
    labels : array of shape (n_rows,)
    groups : Groups
    weight : array of shape (n_rows,), or None
        Instance weights.
    balance : {"pairs", "queries"}
        Whether all pairs weigh the same, or all queries do.
    query_weight : array of shape (n_rows,) or mapping from query id, optional
        A further factor on the pairs of each query.

    Attributes
    ----------
    rows : int array
        Rows of queries with at least two rows, query after query.
    starts : int array of shape (n_queries + 1,)
        Query q is ``rows[starts[q]:starts[q + 1]]``.
    labels : array like rows
    coefficient : array of shape (n_queries,)
        c_q.
    pairs : array of shape (n_queries,)
        Weight of the pairs of each query, before c_q.
    whole : float
        Weight of all pairs.

    Examples
    --------
    >>> feedback = DifferenceFeedback(np.array([2.0, 0.0, 0.0]), Groups.single(3))
    >>> feedback.n_pairs, feedback.whole
    (3, 3.0)
    """

    def __init__(
        self,
        labels: Floats,
        groups: Groups,
        weight: Floats | None = None,
        *,
        balance: str = "pairs",
        query_weight: QueryWeight | None = None,
    ) -> None:
        self.n_rows, self.groups = len(labels), groups
        factor = query_factors(query_weight, groups)
        rows, query = _usable_rows(groups, weight, factor)
        self.rows, self.labels = rows, labels[rows]
        first = np.flatnonzero(np.diff(query, prepend=-1))
        self.starts = np.append(first, len(rows))
        self.queries = query[first]
        if not len(rows) or not _differ(self.labels, first):
            _refuse(labels, groups, weight, query_weight)
        self.weight = None if weight is None else weight[rows]
        self.n_queries = len(first)
        self.n_skipped = groups.n_groups - self.n_queries
        sizes = np.diff(self.starts)
        self.n_pairs = int(np.sum(sizes * (sizes - 1) // 2))
        u = np.ones(len(rows)) if self.weight is None else self.weight
        self.mass = np.add.reduceat(u, first)
        own = u * np.minimum(u, 1.0)  # (u^2 up to 1, u from there: u (u - 1) pairs of its own)
        self.pairs = 0.5 * (self.mass**2 - np.add.reduceat(own, first))
        self.total = finite_total(float(self.pairs.sum()))
        coefficient = np.ones(self.n_queries)
        if balance == "queries":
            coefficient = 1.0 / self.pairs
        if factor is not None:
            coefficient = coefficient * (factor[self.queries] / factor.max())
        self.coefficient = coefficient
        self.whole = dot(coefficient, self.pairs)
        if not (np.isfinite(self.whole) and self.whole > 0):
            raise DataError(
                "the weights of all pairs are too small or too large to add up; use weights of a "
                "similar size."
            )


def _usable_rows(groups: Groups, weight: Floats | None, factor: Floats | None) -> tuple[Ints, Ints]:
    """Return the rows of queries with two rows that count, and the query of each.

    A single row of a weight above 1 counts as several.
    """
    rows = groups.order
    query = np.repeat(np.arange(groups.n_groups), groups.sizes)
    keep: Bools | None = None if weight is None else weight[rows] > 0
    if factor is not None and not factor.all():
        counts = factor[query] > 0
        keep = counts if keep is None else keep & counts
    if keep is not None:
        rows, query = rows[keep], query[keep]
    sizes = np.bincount(query, minlength=groups.n_groups)
    if (sizes == 1).any():
        several = sizes[query] > 1
        if weight is not None:
            several |= weight[rows] > 1.0
        rows, query = rows[several], query[several]
    return rows, query


def _differ(labels: Floats, first: Ints) -> bool:
    """Return whether any query has two different labels."""
    high, low = np.maximum.reduceat(labels, first), np.minimum.reduceat(labels, first)
    return bool((high > low).any())


def _refuse(
    labels: Floats, groups: Groups, weight: Floats | None, query_weight: QueryWeight | None
) -> NoReturn:
    """Raise the error of labels that compare nothing."""
    LabelFeedback(labels, groups, weight=weight, query_weight=query_weight)
    raise DataError("No comparable pair: no query has two rows of different labels.")
