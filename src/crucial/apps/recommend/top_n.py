"""The top-N protocol: hide some ratings of every user, and look for them among all unseen items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crucial.apps.recommend.opinions import Opinions
from crucial.types import Bools, Floats, Ints

__all__ = ["HeldOut", "best_items", "hold_out", "ndcg", "recall"]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Ratings in two parts, both with items as rows and users as columns.

    Attributes
    ----------
    train, test : Opinions
    users : int array
        Columns with a rating in both parts.
    """

    train: Opinions
    test: Opinions
    users: Ints


def hold_out(
    by_user: Opinions, share: float = 0.2, seed: int = 0, most_users: int | None = None
) -> HeldOut:
    """Hide a random share of the ratings of every user with two ratings or more, at least one.

    Parameters
    ----------
    by_user : Opinions
        Items as rows, users as columns.
    share : float
    seed : int
    most_users : int, optional
        Hide ratings of so many users at most, drawn at random.

    Examples
    --------
    >>> some = Opinions.from_dense(np.ones((10, 3)))
    >>> parts = hold_out(some)
    >>> parts.train.count.tolist(), parts.test.count.tolist()
    ([8, 8, 8], [2, 2, 2])
    """
    random = np.random.default_rng(seed)
    users = np.flatnonzero(by_user.count > 1)
    order = np.lexsort((random.random(len(by_user.value)), by_user.column))
    if most_users is not None and len(users) > most_users:
        users = np.sort(random.permutation(users)[:most_users])
    hidden = np.zeros(by_user.n_columns, np.int64)
    hidden[users] = np.maximum(1, np.round(share * by_user.count[users])).astype(np.int64)
    # (never the last one that is left to learn from)
    hidden[users] = np.minimum(hidden[users], by_user.count[users] - 1)
    place = np.arange(len(order)) - by_user.start[by_user.column]
    test = np.zeros(len(order), bool)
    test[order] = place < hidden[by_user.column]
    return HeldOut(_some(by_user, ~test), _some(by_user, test), users)


def _some(by_user: Opinions, kept: Bools) -> Opinions:
    shape = by_user.n_rows, by_user.n_columns
    row, column, value = by_user.row[kept], by_user.column[kept], by_user.value[kept]
    return Opinions.from_entries(row, column, value, *shape)


def best_items(scores: Floats, rated: Any, raters: Ints, top: int) -> Ints:
    """Return the best items of every user that the user has not rated, -1 where there are no more.

    Of equal scores, items with more raters come first, then the first item. NaN is no score: such
    items are left out.

    Parameters
    ----------
    scores : array of shape (n_users, n_items)
    rated : scipy csr matrix like scores
        What is left out.
    raters : int array of shape (n_items,)
    top : int
    """
    open_scores = np.where(np.isnan(scores), -np.inf, scores)
    open_scores[np.repeat(np.arange(len(scores)), np.diff(rated.indptr)), rated.indices] = -np.inf
    known_first = np.argsort(-raters, kind="stable")
    ordered = open_scores[:, known_first]
    top = min(top, ordered.shape[1])
    places = np.argsort(-ordered, axis=1, kind="stable")[:, :top]
    absent = np.take_along_axis(ordered, places, axis=1) == -np.inf
    return np.where(absent, -1, known_first[places])


def ndcg(best: Ints, gains: Any) -> Floats:
    """Return NDCG of every user's best items, with linear gains; NaN for a user without any.

    Parameters
    ----------
    best : int array of shape (n_users, n)
        From `best_items`.
    gains : scipy csr matrix of shape (n_users, n_items)
        Gains of the hidden items, 0 for all others.
    """
    discount = 1.0 / np.log2(np.arange(best.shape[1]) + 2.0)
    found = _taken(gains, best) @ discount
    ideal = np.zeros(len(best))
    for user in range(len(best)):
        own = np.sort(gains.data[gains.indptr[user] : gains.indptr[user + 1]])[::-1]
        own = own[: best.shape[1]]
        ideal[user] = own @ discount[: len(own)]
    return np.asarray(np.divide(found, ideal, np.full(len(best), np.nan), where=ideal > 0.0))


def recall(best: Ints, gains: Any) -> Floats:
    """Return the share of hidden items among the best, of those that could be there."""
    hits = (_taken(gains, best) > 0.0).sum(axis=1)
    possible = np.minimum(np.diff(gains.indptr), best.shape[1])
    return np.asarray(np.divide(hits, possible, np.full(len(best), np.nan), where=possible > 0))


def _taken(gains: Any, best: Ints) -> Floats:
    """Return the gains of the best items, 0 where there is none."""
    dense = gains.toarray()
    taken = np.take_along_axis(dense, np.maximum(best, 0), axis=1)
    return np.where(best >= 0, taken, 0.0)
