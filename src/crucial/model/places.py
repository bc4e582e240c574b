"""Places of rows in their queries, by their scores."""

from __future__ import annotations

import numpy as np

from crucial.data.groups import Groups
from crucial.errors import NotRankedError
from crucial.parameters import check, one_of
from crucial.types import Bools, Floats, Ints, VectorLike

__all__ = ["check_queries", "membership", "positions"]


def check_queries(call: str, qid: VectorLike | None, with_qid: object, more: str = "") -> None:
    """Refuse rows without queries, where the ranker was fitted with some.

    Parameters
    ----------
    call : str
        How to call the method, such as ``rank(X, qid=...)``.
    qid : array, or None
    with_qid : object
        Whether the ranker was fitted with queries, as the summary of the training has it.
    more : str
        What else to do, in sentences.

    Examples
    --------
    >>> check_queries("rank(X, qid=...)", ["a", "a"], True)
    >>> check_queries("rank(X, qid=...)", None, True)
    Traceback (most recent call last):
    ...
    crucial.errors.NotRankedError: rank needs qid, since this ranker was fitted with queries: \
scores of different queries cannot be compared. Call rank(X, qid=...); if all rows are of one \
query, give all the same qid.
    """
    if qid is None and with_qid is True:
        raise NotRankedError(
            f"{call.partition('(')[0]} needs qid, since this ranker was fitted with queries: "
            "scores of different queries cannot be compared.",
            remedy=f"Call {call}; if all rows are of one query, give all the same qid.{more}",
            parameter="qid",
        )


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
