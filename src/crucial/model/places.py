"""Places of rows in their queries, by their scores."""

from __future__ import annotations

import numpy as np

from crucial.data.groups import Groups
from crucial.parameters import check, one_of
from crucial.types import Bools, Floats, Ints

__all__ = ["membership", "positions"]


def _ranked(scores: Floats, groups: Groups) -> tuple[Ints, Ints, Bools]:
    """Return the rows by query and falling score, their places from 0, and where a tie begins."""
    query = np.repeat(np.arange(groups.n_groups), groups.sizes)
    order = groups.order[np.lexsort((-scores[groups.order], query))]
    place = np.arange(len(order)) - np.repeat(groups.starts[:-1], groups.sizes)
    ranked = scores[order]
    new = np.ones(len(order), bool)
    new[1:] = (ranked[1:] != ranked[:-1]) | (query[1:] != query[:-1])
    return order, place, new


def positions(scores: Floats, groups: Groups, ties: str = "min") -> Ints:
    """Return the position of every row in its query, 1 for the highest score.

    Parameters
    ----------
    scores : array of shape (n_rows,)
    groups : Groups
    ties : {"min", "first"}
        Equal scores share the best position, or stand in the order of their rows.

    Examples
    --------
    >>> positions(np.array([1.0, 3.0, 3.0]), Groups.single(3)).tolist()
    [3, 1, 1]
    """
    check("rank", "ties", ties, one_of("min", "first"))
    order, place, new = _ranked(scores, groups)
    if ties == "min":
        place = place[np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))]
    out = np.empty(len(order), np.int64)
    out[order] = place + 1
    return out


def membership(scores: Floats, groups: Groups, k: int) -> Floats:
    """Return the chance of every row to be among the first k of its query, ties at random.

    Parameters
    ----------
    scores : array of shape (n_rows,)
    groups : Groups
    k : int
        Of a query of fewer rows, all are selected.

    Examples
    --------
    >>> membership(np.array([1.0, 3.0, 1.0, 2.0]), Groups.single(4), 3).tolist()
    [0.5, 1.0, 0.5, 1.0]
    """
    order, place, new = _ranked(scores, groups)
    first = np.flatnonzero(new)
    sizes = np.diff(np.append(first, len(order)))
    k = min(k, len(order))  # (beyond 64 bits there is no array)
    share = np.clip((k - place[first]) / sizes, 0.0, 1.0)
    out = np.empty(len(order))
    out[order] = np.repeat(share, sizes)
    return out
