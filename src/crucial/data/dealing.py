"""Deal queries, or rows where there are none, into folds."""

from __future__ import annotations

import numpy as np

from crucial.data.groups import Groups
from crucial.errors import DataError
from crucial.types import Bools, Floats, Ints

__all__ = ["deal", "deal_at_random", "deal_queries"]


def deal(
    n_folds: int,
    y: Floats,
    groups: Groups,
    has_qid: bool,
    random: np.random.Generator,
    parameter: str = "cv",
) -> Ints:
    """Return the fold of each row, from 0: whole queries, or without any the rows.

    ``parameter`` is what the caller's number of folds is called, for errors.
    """
    needed = groups.n_groups if has_qid else len(y)
    if n_folds > needed:
        what = "queries, since none is divided" if has_qid else "rows"
        remedy = f"Use {parameter}={needed} or less." if needed > 1 else ""
        if has_qid and needed == 1:
            remedy = "Leave qid out to divide the rows themselves."
        problem = f"{parameter}={n_folds} folds need as many {what}. Got {needed}."
        raise DataError(problem, remedy=remedy, parameter=parameter, value=n_folds)
    if has_qid:
        return deal_queries(n_folds, groups.one_valued(y), random)[groups.codes]
    return _deal_rows(n_folds, y, random)


def deal_at_random(n_folds: int, count: int, random: np.random.Generator) -> Ints:
    """Return the fold of each of ``count`` queries (or other things), whatever their labels are.

    Examples
    --------
    >>> np.bincount(deal_at_random(3, 7, np.random.default_rng(0))).tolist()
    [3, 2, 2]
    """
    return random.permutation(count) % n_folds


def deal_queries(n_folds: int, one_valued: Bools, random: np.random.Generator) -> Ints:
    """Return the fold of each query, such that those with different labels are spread evenly.

    Parameters
    ----------
    one_valued : bool array over the queries
        Which queries have rows of one label alone.
    """
    order = np.lexsort((random.random(len(one_valued)), one_valued))
    fold = np.empty(len(one_valued), np.int64)
    fold[order] = np.arange(len(one_valued)) % n_folds
    return fold


def _deal_rows(n_folds: int, y: Floats, random: np.random.Generator) -> Ints:
    """Deal out single rows, such that each fold has its share of every label.

    Rows are sorted by label and dealt out in that order, one to each fold per round, with a new
    order of the folds in each round. This works for two labels and for real numbers alike.
    """
    rounds = -(-len(y) // int(n_folds))  # (a whole number of NumPy may have no sign)
    dealt = np.concatenate([random.permutation(n_folds) for _ in range(rounds)])
    # The first round is the short one: the lowest labels are rarely the rare ones.
    dealt = dealt[len(dealt) - len(y) :]
    fold = np.empty(len(y), np.int64)
    fold[np.lexsort((random.random(len(y)), y))] = dealt
    return fold
