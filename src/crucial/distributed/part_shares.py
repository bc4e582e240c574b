"""The queries of a part that a run leaves out: those of a fold, or those of no bag."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.data.dealing import deal_queries
from crucial.distributed.part_feedback import kept_rows
from crucial.distributed.part_rows import PartRows
from crucial.estimators.runs import draw_bag, fold_random
from crucial.types import Bools, Ints

__all__ = ["PartShares", "Share", "weighing"]


@dataclass(frozen=True)
class Share:
    """The rows of one of several runs.

    Attributes
    ----------
    fold : int or None
        All rows but those of this fold, which are measured.
    bag : int or None
        The rows of this bag.
    unseen : bool
        All rows; those that some bag has left out are measured, unless there is an eval set.
    """

    fold: int | None = None
    bag: int | None = None
    unseen: bool = False


class PartShares:
    """The folds and bags of the queries of a part, drawn alike in all parts.

    Parameters
    ----------
    query : int array
        The numbers of the queries of the part's rows, as in `PartRows`.
    """

    def __init__(self, query: Ints) -> None:
        self._own = np.unique(query)

    def deal(self, n_folds: int, queries: Ints, one_valued: Ints, seed: int) -> None:
        """Deal the queries of all parts into folds; keep those of this one.

        Parameters
        ----------
        queries : int array
            Numbers of the queries of all parts that weigh anything, in rising order.
        one_valued : int array
            Numbers of those that have rows of one label alone.
        """
        folds = deal_queries(n_folds, np.isin(queries, one_valued), fold_random(seed))
        there = np.isin(self._own, queries)
        self._fold = np.full(len(self._own), -1)
        self._fold[there] = folds[np.searchsorted(queries, self._own[there])]

    def draw(self, n_bags: int, queries: Ints, seed: int) -> None:
        """Draw the queries of all bags.

        Parameters
        ----------
        queries : int array
            Numbers of the queries of all parts that have a pair, in rising order.
        """
        drawn = (draw_bag(queries, seed, number) for number in range(n_bags))
        self._in_bag = np.array([np.isin(self._own, one) for one in drawn])

    def in_fold(self, rows: PartRows, fold: int) -> Bools:
        """Return which rows are in a fold."""
        return np.asarray(self._fold[self._places(rows)] == fold)

    def in_bag(self, rows: PartRows, number: int) -> Bools:
        """Return which rows are in a bag."""
        return np.asarray(self._in_bag[number, self._places(rows)])

    def unseen(self, rows: PartRows) -> Bools:
        """Return which rows some bag has left out."""
        return np.asarray(self.bags_unseen(rows).any(axis=0))

    def bags_unseen(self, rows: PartRows) -> Bools:
        """Return which bag has left out which row, of shape (n_bags, n_rows)."""
        return np.asarray(~self._in_bag[:, self._places(rows)])

    def _places(self, rows: PartRows) -> Ints:
        return np.searchsorted(self._own, rows.query)


def weighing(rows: PartRows) -> Bools:
    """Return which rows weigh more than 0, and so do their queries."""
    keep = kept_rows(rows, None)
    return np.ones(rows.n_rows, bool) if keep is None else keep
