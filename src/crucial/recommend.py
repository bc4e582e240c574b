"""Recommend items to users by the ratings of other users.

Two tasks look alike. *Finding* items among all that a user has not rated is what EASE does (Steck
2019): least squares of every item on all others, in closed form, with popularity as the floor.
*Ordering* items by how much a user would like them is the task of Freund, Iyer, Schapire & Singer
(2003, section 6.2): every other user is a ranking feature that abstains on what that user did not
rate, the user's own ratings are the feedback, and RankBoost weighs the features.

Both order items of equal score by their number of raters, then by id. LAPACK, which solves EASE,
rounds differently on every CPU: scores that agree to 1e-8 of a user's largest score are equal, and
all are given to eight digits, so that every machine has the same lists.

A ``Recommender`` makes ``Recommendations``: each ``Pick`` of them has a ``Reason`` or more. A
``Choice`` is what the method "auto" chose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from msgspec.structs import replace as with_fields

from crucial.boosting.stumps import NOISE, SNAP, TIE, worst_tied
from crucial.data import bins as quantiles
from crucial.data.dataset import Ratings, rating_values
from crucial.data.instances import Instances
from crucial.errors import DataError, NotRankedError
from crucial.feedback.base import smoothing_of
from crucial.inspection.shape_functions import feature_parts
from crucial.kernels import predict as kernels
from crucial.kernels.elementary import column_sums, dot, log2, row_sums
from crucial.kernels.runtime import count_threads, run_all
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import Presence, Stump
from crucial.parameters import above, at_least, check, instance_of, mapping, none_or, one_of
from crucial.results import Frame, Result, as_frame
from crucial.types import Bools, Floats, Id, Ids, Ints, TableLike
from crucial.wording import counted

__all__ = ["METHODS", "Choice", "Pick", "Reason", "Recommendations", "Recommender"]

#: The methods by which items are recommended.
METHODS: dict[str, str] = {
    "auto": "ease, or popularity where ease finds no more of the ratings that are held out",
    "ease": "least squares of every item on all others (Steck 2019)",
    "popularity": "the number of users who rated an item",
    "rankboost": "RankBoost over the other users' ratings (Freund et al. 2003, section 6.2)",
}

# Scores of a user that differ by less than this share of the largest one are equal.
_EQUAL = 1e-8
_DIGITS = 8

# EASE inverts a matrix of items x items: of larger catalogues it knows the most rated items.
_EASE_ITEMS = 5000
# The penalties of EASE that are tried; the default was best on MovieLens-100K.
_PENALTIES = (5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0)
_PENALTY = 200.0
# The share of a rating's weight in EASE that does not depend on its value.
_SEEN = 0.5

# "auto": users with hidden ratings, items, and splits on which methods are compared.
_USERS, _ITEMS, _SPLITS, _TOP = 1000, 1000, 3, 10

# Shared items at which an agreement counts half, and from which on it is told.
_SHARED, _FEWEST_SHARED = 10.0, 5
# Agreement from which on each word is used; chance is 1/2.
_WORDS = ((0.85, "almost always agrees with you"), (0.7, "mostly agrees with you"),
          (0.0, "agrees with you more often than not"))  # fmt: skip

# Users per thread and batch: small, so that whoever waits for results sees some soon.
_AT_A_TIME = 4


# -- ratings as a table in which most cells abstain -------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Opinions:
    """A table stored by column, in which a cell that is not stored abstains.

    `crucial.data.instances.Instances` is for tables that are mostly filled. (In scipy's sparse
    matrices a cell that is not stored is 0.)

    Attributes
    ----------
    n_rows : int
    start : int64 array of shape (n_columns + 1,)
        Column j has entries ``start[j]:start[j + 1]``.
    row : int64 array
        Rows of the entries, ascending in a column.
    value : float64 array
        Finite.

    Examples
    --------
    >>> some = Opinions.from_dense([[4.0, np.nan], [np.nan, 2.0], [5.0, 1.0]])
    >>> some.mean.tolist(), some.row_count.tolist()
    ([4.5, 1.5], [1, 1, 2])
    """

    n_rows: int
    start: Ints
    row: Ints
    value: Floats

    @classmethod
    def from_entries(
        cls, row: Ints, column: Ints, value: Floats, n_rows: int, n_columns: int
    ) -> Opinions:
        """Sort entries, each cell at most once, into columns."""
        order = np.argsort(column * n_rows + row, kind="stable")
        start = np.zeros(n_columns + 1, np.int64)
        np.cumsum(np.bincount(column, minlength=n_columns), out=start[1:])
        return cls(n_rows, start, row[order], value[order])

    @classmethod
    def from_dense(cls, X: TableLike) -> Opinions:
        """Return the numbers of an array; NaN abstains."""
        table = np.asarray(X, np.float64)
        column, row = np.nonzero(~np.isnan(table.T))
        return cls.from_entries(row, column, table[row, column], *table.shape)

    @classmethod
    def from_ratings(cls, ratings: Ratings) -> Opinions:
        """Return ratings with items as rows and users as columns."""
        shape = len(ratings.items), len(ratings.users)
        return cls.from_entries(ratings.item_code, ratings.user_code, ratings.rating, *shape)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.start) - 1

    @cached_property
    def column(self) -> Ints:
        """Column number of every entry."""
        return np.repeat(np.arange(self.n_columns), np.diff(self.start))

    @cached_property
    def count(self) -> Ints:
        """Number of opinions in every column."""
        return np.diff(self.start)

    @cached_property
    def row_count(self) -> Ints:
        """Number of opinions in every row."""
        return np.bincount(self.row, minlength=self.n_rows)

    @cached_property
    def mean(self) -> Floats:
        """Mean of every column; 0 for an empty one."""
        return self.sums(self.value) / np.maximum(self.count, 1)

    @cached_property
    def spread(self) -> Floats:
        """Standard deviation of every column; 0 for an empty one."""
        apart = self.value - self.mean[self.column]
        return np.asarray(np.sqrt(self.sums(apart * apart) / np.maximum(self.count, 1)))

    @cached_property
    def distinct(self) -> DistinctValues:
        """The distinct values of every column."""
        order = np.lexsort((self.value, self.column))
        column, value = self.column[order], self.value[order]
        begins = kernels.run_starts(column, value)
        first = np.searchsorted(column[begins], np.arange(self.n_columns + 1))
        return DistinctValues(order, np.append(begins, len(value)), first, value[begins])

    def sums(self, value: Floats) -> Floats:
        """Return the sum by column of one number per entry."""
        sums: Floats = np.bincount(self.column, value, self.n_columns).astype(np.float64)
        return sums

    def row_sums(self, value: Floats) -> Floats:
        """Return the sum by row of one number per entry."""
        sums: Floats = np.bincount(self.row, value, self.n_rows).astype(np.float64)
        return sums

    def of_column(self, column: int) -> tuple[Ints, Floats]:
        """Return the rows and the values of the entries of a column."""
        entries = slice(self.start[column], self.start[column + 1])
        return self.row[entries], self.value[entries]

    def take_columns(self, columns: Ints) -> Opinions:
        """Return some columns, in the order given."""
        lengths = self.count[columns]
        start = np.concatenate(([0], np.cumsum(lengths)))
        at = np.arange(start[-1]) - np.repeat(start[:-1] - self.start[columns], lengths)
        return Opinions(self.n_rows, start, self.row[at], self.value[at])

    def take_rows(self, rows: Ints) -> Opinions:
        """Return some rows, each at most once, numbered in the order given."""
        place = np.full(self.n_rows, -1, np.int64)
        place[rows] = np.arange(len(rows))
        kept = place[self.row] >= 0
        return Opinions.from_entries(
            place[self.row[kept]], self.column[kept], self.value[kept], len(rows), self.n_columns
        )

    def take_entries(self, kept: Bools) -> Opinions:
        """Return the table with some of its entries."""
        row, column, value = self.row[kept], self.column[kept], self.value[kept]
        return Opinions.from_entries(row, column, value, self.n_rows, self.n_columns)

    def transposed(self) -> Opinions:
        """Return the table with rows as columns."""
        return Opinions.from_entries(self.column, self.row, self.value, self.n_columns, self.n_rows)

    def to_dense(self) -> Floats:
        """Return the table as an array, with NaN."""
        table = np.full((self.n_rows, self.n_columns), np.nan)
        table[self.row, self.column] = self.value
        return table


@dataclass(frozen=True, eq=False)
class DistinctValues:
    """The distinct values of every column of `Opinions`, ascending in a column.

    Attributes
    ----------
    order : int array of shape (n_entries,)
        The entries by column and value.
    begins : int array of shape (n_values + 1,)
        Where the entries of each value begin in ``order``, and where the last ones end.
    first : int array of shape (n_columns + 1,)
        Where the values of each column begin, and where the last ones end.
    value : float64 array of shape (n_values,)
    """

    order: Ints
    begins: Ints
    first: Ints
    value: Floats

    @cached_property
    def column(self) -> Ints:
        """Column number of every value."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))

    def before(self, values: Floats) -> Floats:
        """Return the sum, by value, over the lower values of the same column."""
        total = np.zeros((len(values) + 1, *values.shape[1:]))
        np.cumsum(values, axis=0, out=total[1:])
        return np.asarray(total[:-1] - total[self.first[self.column]])

    def by_column(self, values: Floats) -> Floats:
        """Return the sum over the values of every column."""
        sums = np.zeros((len(self.first) - 1, *values.shape[1:]))
        np.add.at(sums, self.column, values)
        return sums

    def level_counts(self, opinions: Opinions, labels: Floats) -> Floats:
        """Return how many rows of each level of the labels have each value, values x levels."""
        levels, level = np.unique(labels, return_inverse=True)
        n_levels, n_values = len(levels), len(self.value)
        of_entry = np.repeat(np.arange(n_values), np.diff(self.begins))
        key = of_entry * n_levels + level[opinions.row[self.order]]
        counts = np.bincount(key, minlength=n_values * n_levels).reshape(n_values, n_levels)
        return counts.astype(np.float64)


def lower_levels(counts: Floats) -> Floats:
    """Return the number of rows at lower levels."""
    return np.asarray(np.cumsum(counts, axis=-1) - counts)


def agreements(rated: Opinions, labels: Floats) -> Floats:
    """Return how often every viewer orders two items as the user does, over items that both rated.

    The share of the user's pairs of different ratings, a tie of the viewer counting half; NaN for a
    viewer without such a pair.

    Examples
    --------
    >>> rated = Opinions.from_dense([[5, 1, np.nan], [3, 2, 4], [1, 2, np.nan]])
    >>> agreements(rated, np.array([5.0, 4.0, 1.0])).round(2).tolist()
    [1.0, 0.17, nan]
    """
    values = rated.distinct
    counts = values.level_counts(rated, labels)
    wrong = ((values.before(counts) + counts / 2) * lower_levels(counts)).sum(axis=1)
    both = values.by_column(counts)
    pairs = (both * lower_levels(both)).sum(axis=1)
    no_pair = np.full(len(pairs), np.nan)
    return np.asarray(1.0 - np.divide(values.by_column(wrong), pairs, no_pair, where=pairs > 0.0))


# -- the order of one user, learned from the viewers ------------------------------------------


@dataclass(frozen=True, eq=False)
class Viewer:
    """The user to recommend to, and the viewers to learn from.

    Attributes
    ----------
    club : Opinions
        Items x viewers, without the user.
    films : int array
        Rows that the user rated.
    labels : array like films
        The user's ratings.
    viewers : array of ids
        The viewers by column.
    rated : Opinions
        ``club.take_rows(films)``.
    """

    club: Opinions
    films: Ints
    labels: Floats
    viewers: Ids
    rated: Opinions

    @cached_property
    def agreement(self) -> Floats:
        """Share of pairs of items that each viewer orders as the user does; see `agreements`."""
        return agreements(self.rated, self.labels)

    @cached_property
    def trust(self) -> Floats:
        """Agreement of each viewer with the user beyond chance, from 0 to 1/2.

        Less the fewer items they share. Of a viewer without a pair of the user's to agree on, an
        item that both like counts as an agreement of 3/4.
        """
        rated = self.rated
        liked = (rated.value > self.club.mean[rated.column]) & (
            self.labels[rated.row] >= self.labels.mean()
        )
        unknown = np.where(rated.sums(liked.astype(np.float64)) > 0.0, 0.75, 0.5)
        agreement = np.where(np.isnan(self.agreement), unknown, self.agreement)
        return np.asarray(np.maximum(agreement - 0.5, 0.0) * rated.count / (rated.count + _SHARED))

    def arguments(self, row: int) -> tuple[Ints, Floats, Floats]:
        """Return the viewers who rated an item, their ratings, and how strong an argument each is.

        The strength is how far the rating is above the viewer's mean, times the trust in the
        viewer.
        """
        entries = np.flatnonzero(self.club.row == row)
        column, rating = self.club.column[entries], self.club.value[entries]
        return column, rating, self.trust[column] * np.maximum(rating - self.club.mean[column], 0.0)


def boost_opinions(
    opinions: Opinions, labels: Floats, rounds: int
) -> tuple[list[Stump | Presence], Floats]:
    """Learn to rank rows by their labels from columns that abstain on most of them.

    Freund et al. (2003): WeakLearn.3.cum of section 4, the weights of method 3, the default of
    each weak ranker learned. Learns what ``RankBoost.preset("rankboost.3.cum", max_bins=None)``
    learns from the dense table; one kernel runs all rounds and reads stored cells only.

    Parameters
    ----------
    opinions : Opinions
    labels : array of shape (n_rows,)
        A row with a higher label should rank higher; at least two values.
    rounds : int

    Returns
    -------
    rankers : list of Stump or Presence
    weights : array

    Examples
    --------
    >>> some = Opinions.from_dense([[4.0, np.nan], [np.nan, 2.0], [5.0, 1.0]])
    >>> boost_opinions(some, np.array([1.0, 0.0, 2.0]), 1)[0]
    [Presence(feature=0, default=0)]
    """
    level, counts = np.unique(labels, return_inverse=True, return_counts=True)[1:]
    # Rows by label, entries by column and value.
    place_of_row = np.empty(opinions.n_rows, np.int64)
    place_of_row[np.argsort(level, kind="stable")] = np.arange(opinions.n_rows)
    bins = opinions.distinct
    pairs = float((counts * (np.cumsum(counts) - counts)).sum())
    places = place_of_row[opinions.row[bins.order]]
    starts, smoothing = np.append(0, np.cumsum(counts)), (smoothing_of(pairs), SNAP)
    slack = (TIE, -worst_tied(0.0), NOISE)
    place, weights = kernels.boost_opinions(
        places, bins.begins, bins.first, starts, rounds, smoothing, slack
    )
    column, k, default = place.T
    at = bins.first[column] + k
    inside = (k > 0) & (at < bins.first[column + 1])
    threshold = np.zeros(len(place))
    threshold[inside] = quantiles.between(bins.value[at[inside] - 1], bins.value[at[inside]])
    every = zip(column.tolist(), threshold.tolist(), default.tolist(), inside.tolist())
    return [Stump(f, t, d) if cut else Presence(f, d) for f, t, d, cut in every], weights


@dataclass(frozen=True, eq=False)
class BoostedOrder:
    """The order of one user, learned by RankBoost.

    Attributes
    ----------
    scores : array of shape (n_items,)
    model : AdditiveRanker
        Over the viewers that it uses.
    used : int array
        Columns of these viewers.
    table : array of shape (n_items, n_used)
        Their ratings for every item.
    """

    scores: Floats
    model: AdditiveRanker
    used: Ints
    table: Floats

    @classmethod
    def learn(cls, target: Viewer, rounds: int | None = None) -> BoostedOrder:
        """Learn from a user's ratings how the user would rank all items.

        The default number of rounds is that of Freund et al. (2003, section 6.2.2): 40, and one for
        every ten viewers.
        """
        club = target.club
        rounds = 40 + club.n_columns // 10 if rounds is None else rounds
        rankers, weights = boost_opinions(target.rated, target.labels, rounds)
        used = np.unique([one.feature for one in rankers]).astype(np.int64)
        if not len(used):  # (nothing separates the user's items: all have the same score)
            used = np.zeros(1, np.int64)
        slot = {column: k for k, column in enumerate(used.tolist())}
        rankers = [with_fields(one, feature=slot[one.feature]) for one in rankers]
        table = club.take_columns(used).to_dense()
        names = [f"viewer {viewer}" for viewer in target.viewers[used].tolist()]
        training = {"estimator": "RankBoost", "preset": "rankboost.3.cum", "rounds": len(rankers),
                    "rows": len(target.labels), "viewers": club.n_columns}  # fmt: skip
        model = AdditiveRanker(len(used), rankers, weights, names, training)
        return cls(model.predict(table, n_jobs=1), model, used, table)

    def arguments(self, row: int) -> tuple[Ints, Floats, Floats]:
        """Return the viewers of the model, their ratings, and what each adds beyond the average."""
        parts = feature_parts(self.model, Instances(self.table))
        adds = parts.added[row] - parts.added.mean(axis=0)
        return self.used[parts.features], parts.columns[row], adds


# -- finding unseen items ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RatingScale:
    """The standing of every rating among all ratings of the table, between 0 and 1.

    The standing of a value is the share of ratings below it plus half the share of ratings equal
    to it. It depends on the order of the values only, so that stars, percentages and numbers of
    plays are treated alike.

    Examples
    --------
    >>> scale = RatingScale.of(np.array([1.0, 3.0, 3.0, 5.0]))
    >>> scale.weights(np.array([1.0, 3.0, 4.0, 5.0, 9.0])).tolist()
    [0.5625, 0.75, 0.875, 0.9375, 1.0]
    """

    values: Floats
    below: Floats  # share of ratings below each value; 1 at the end

    @classmethod
    def of(cls, ratings: Floats) -> RatingScale:
        """Return the scale of the ratings of a table."""
        values, counts = np.unique(ratings, return_counts=True)
        return cls(values, np.concatenate(([0.0], np.cumsum(counts) / max(len(ratings), 1))))

    def weights(self, ratings: Floats) -> Floats:
        """Return the mean of 1 and the standing: every rating counts at least 1/2."""
        low = self.below[np.searchsorted(self.values, ratings, "left")]
        high = self.below[np.searchsorted(self.values, ratings, "right")]
        return np.asarray(_SEEN + (1.0 - _SEEN) * ((low + high) / 2))

    def matrix(self, by_user: Opinions) -> Any:
        """Return the weights of ratings as a csr matrix, users x items."""
        from scipy.sparse import csr_array

        shape = by_user.n_columns, by_user.n_rows
        return csr_array((self.weights(by_user.value), by_user.row, by_user.start), shape)


def ease_weights(users: Any, penalty: float) -> Floats:
    """Return how much a rating of one item adds to the score of another, by EASE (Steck 2019).

    Minimises ``|X - X B|^2 + penalty |B|^2`` where the diagonal of B is 0. The solution is
    ``B[i, j] = -P[i, j] / P[j, j]`` with ``P = inverse(X'X + penalty I)`` (equation 8).

    Parameters
    ----------
    users : scipy csr matrix X of shape (n_users, n_items)
    penalty : float

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1.0, 1, 0], [1, 1, 0], [0, 1, 1], [1, 1, 1]])
    >>> ease_weights(X, 1.0)[0].round(3).tolist()
    [0.0, 0.636, -0.091]
    """
    from scipy.linalg.lapack import dpotrf, dpotri
    from threadpoolctl import threadpool_limits

    gram = (users.T @ users).toarray()
    diagonal = np.diag_indices(len(gram))
    gram[diagonal] += penalty
    with threadpool_limits(1):
        factor, failed = dpotrf(gram.T, lower=1, overwrite_a=1)
        if not failed:
            factor, failed = dpotri(factor, lower=1, overwrite_c=1)
    if failed:
        raise DataError(
            f"the penalty of EASE, {penalty:g}, is too small for these ratings.",
            remedy="Use a larger penalty.",
        )
    inverse = np.tril(factor)
    inverse += np.tril(factor, -1).T
    weight = inverse / -np.diag(inverse)
    weight[diagonal] = 0.0
    return np.ascontiguousarray(weight)


def best_items(scores: Floats, raters: Ints, top: int) -> tuple[Ints, Floats]:
    """Return the items of the largest scores, best first, and these scores to eight digits.

    Scores that agree to 1e-8 of the largest one are equal: they differ by rounding, which is not
    the same on every CPU. Of equal scores, items with more raters come first, then the first item.

    Parameters
    ----------
    scores : array of shape (n_items,)
        NaN is no score: such items are left out.
    raters : int array of shape (n_items,)
    top : int

    Examples
    --------
    >>> scores = np.array([0.3, 0.1 + 0.2, 0.7, np.nan])
    >>> items, their = best_items(scores, np.array([4, 4, 1, 9]), 3)
    >>> items.tolist(), their.tolist()
    ([2, 0, 1], [0.7, 0.3, 0.3])
    """
    rows = np.flatnonzero(~np.isnan(scores))
    if not len(rows):
        return rows, np.zeros(0)
    largest = float(np.abs(scores[rows]).max())
    equal = _EQUAL * largest
    if len(rows) > 4 * top:  # (sort those that can be among the first)
        least = np.partition(scores[rows], len(rows) - top)[len(rows) - top]
        rows = rows[scores[rows] >= least - equal]
    rows = rows[np.argsort(-scores[rows], kind="stable")]
    values, places = scores[rows], np.arange(len(rows))
    first = np.concatenate(([True], values[:-1] - values[1:] > equal))
    values = values[np.maximum.accumulate(np.where(first, places, 0))]
    order = np.lexsort((rows, -raters[rows], -values))[:top]
    digits = _DIGITS - 1 - math.floor(math.log10(largest)) if largest > 0.0 else 0
    return rows[order], np.round(values[order], digits) + 0.0


class Finder:
    """Scores of all items for any user of a table of ratings, or a new one.

    Parameters
    ----------
    by_user : Opinions
        Items as rows, users as columns.
    penalty : float or None
        Of EASE; None for popularity.
    """

    def __init__(self, by_user: Opinions, penalty: float | None) -> None:
        self.raters, self._scale = by_user.row_count, RatingScale.of(by_user.value)
        self._known = np.sort(np.argsort(-self.raters, kind="stable")[:_EASE_ITEMS])
        self._weight: Floats | None = None
        if penalty is not None:
            self._weight = ease_weights(self._scale.matrix(by_user)[:, self._known], penalty)

    def scores(self, films: Ints, labels: Floats) -> Floats:
        """Return the scores of all items for a user's ratings; NaN for items unknown to EASE."""
        if self._weight is None:
            return self.raters.astype(np.float64)
        place, weight = self._places(films, labels)
        scores = np.full(len(self.raters), np.nan)
        scores[self._known] = column_sums(self._weight[place], weight)
        return scores

    def related(self, films: Ints, labels: Floats, row: int) -> Ints:
        """Return up to three of a user's items that raise the score of an item most."""
        if self._weight is None:  # (popularity does not depend on the user)
            return np.zeros(0, np.int64)
        place, weight = self._places(films, labels)
        adds = weight * self._weight[place, np.searchsorted(self._known, row)]
        best, score = best_items(adds, np.zeros(len(adds), np.int64), 3)
        return np.asarray(self._known[place[best[score > 0.0]]])

    def _places(self, films: Ints, labels: Floats) -> tuple[Ints, Floats]:
        """Return which of the known items a user rated, ascending, and their weights."""
        weight = np.zeros(len(self.raters))
        weight[films] = self._scale.weights(labels)
        place = np.flatnonzero(weight[self._known])
        return place, weight[self._known[place]]


@dataclass(frozen=True)
class Choice:
    """The choice of the method "auto", and the values of all methods on held-out ratings.

    Attributes
    ----------
    method : str
        "ease" or "popularity".
    penalty : float
        The best penalty of EASE.
    found : dict from str to float
        NDCG@10 of both methods.
    """

    method: str
    penalty: float
    found: dict[str, float]

    def __str__(self) -> str:
        if not self.found:
            return f"chosen: {self._chosen}; nobody has two ratings to compare methods by"
        tried = ", ".join(f"{name} {value:.3f}" for name, value in self.found.items())
        return f"chosen by ndcg@10 on held-out ratings: {self._chosen} ({tried})"

    @property
    def _chosen(self) -> str:
        return f"ease, penalty {self.penalty:g}" if self.method == "ease" else self.method


def choose(by_user: Opinions) -> Choice:
    """Choose between EASE and popularity, and the penalty of EASE, on ratings that are held out.

    A fifth of the ratings of up to 1,000 users is hidden, three times; NDCG@10 of finding them
    among the most rated 1,000 items, with a gain that grows with the rating, decides. The penalty
    moves from its default to the next one up or down while that is better by more than a standard
    error: the best penalty is flat, and its place changes with what is hidden.

    Parameters
    ----------
    by_user : Opinions
        Items as rows, users as columns.
    """
    trials = [_Trial(by_user, seed) for seed in range(_SPLITS)]
    if not len(trials[0].users):
        return Choice("popularity", _PENALTY, {})
    penalty, best = _PENALTY, _ease_values(trials, _PENALTY)
    for direction in (1, -1):
        at = _PENALTIES.index(penalty) + direction
        while 0 <= at < len(_PENALTIES):
            values = _ease_values(trials, _PENALTIES[at])
            gain = values - best
            if not gain.mean() > gain.std(ddof=1) / math.sqrt(len(gain)):
                break
            penalty, best, at = _PENALTIES[at], values, at + direction
    popular = np.concatenate([one.ndcg(None) for one in trials])
    found = {"popularity": float(popular.mean()), "ease": float(best.mean())}
    return Choice(max(found, key=lambda method: found[method]), penalty, found)


def _ease_values(trials: Sequence[_Trial], penalty: float) -> Floats:
    return np.concatenate([one.ndcg(penalty) for one in trials])


class _Trial:
    """Hides ratings, and looks for them among the most rated items."""

    def __init__(self, by_user: Opinions, seed: int) -> None:
        train, test, self.users = hold_out(by_user, seed, _USERS)
        items = np.sort(np.argsort(-train.row_count, kind="stable")[:_ITEMS])
        scale = RatingScale.of(by_user.value)
        self._raters = train.row_count[items]
        self._train = scale.matrix(train)[:, items]
        self._gains = scale.matrix(test)[self.users][:, items].toarray()

    def ndcg(self, penalty: float | None) -> Floats:
        """Return NDCG@10 of every user by EASE, or by popularity if there is no penalty."""
        rated = self._train[self.users]
        if penalty is None:
            scores = np.tile(self._raters.astype(np.float64), (len(self.users), 1))
        else:
            scores = rated @ ease_weights(self._train, penalty)
        best = np.full((len(scores), _TOP), -1)
        for user, own in enumerate(scores):
            own[rated.indices[rated.indptr[user] : rated.indptr[user + 1]]] = np.nan
            items = best_items(own, self._raters, _TOP)[0]
            best[user, : len(items)] = items
        return np.nan_to_num(ndcg(best, self._gains))


def hold_out(
    by_user: Opinions, seed: int = 0, most_users: int | None = None
) -> tuple[Opinions, Opinions, Ints]:
    """Hide a random fifth of the ratings of every user with two ratings or more, at least one.

    Parameters
    ----------
    by_user : Opinions
        Items as rows, users as columns.
    seed : int
    most_users : int, optional
        Hide ratings of so many users at most, drawn at random.

    Returns
    -------
    train, test : Opinions
        Both with all rows and columns.
    users : int array
        The users with a rating in both.

    Examples
    --------
    >>> train, test, users = hold_out(Opinions.from_dense(np.ones((10, 3))))
    >>> train.count.tolist(), test.count.tolist()
    ([8, 8, 8], [2, 2, 2])
    """
    random = np.random.default_rng(seed)
    users = np.flatnonzero(by_user.count > 1)
    order = np.lexsort((random.random(len(by_user.value)), by_user.column))
    if most_users is not None and len(users) > most_users:
        users = np.sort(random.permutation(users)[:most_users])
    hidden = np.zeros(by_user.n_columns, np.int64)
    hidden[users] = np.maximum(1, np.round(0.2 * by_user.count[users])).astype(np.int64)
    place = np.arange(len(order)) - by_user.start[by_user.column]
    test = np.zeros(len(order), bool)
    test[order] = place < hidden[by_user.column]
    return by_user.take_entries(~test), by_user.take_entries(test), users


def ndcg(best: Ints, gains: Floats) -> Floats:
    """Return NDCG of every user's best items, with linear gains; NaN for a user without any.

    Parameters
    ----------
    best : int array of shape (n_users, n)
        Items, best first; -1 where there are no more.
    gains : array of shape (n_users, n_items)
        Gains of the hidden items, 0 for all others.
    """
    discount = 1.0 / log2(np.arange(best.shape[1]) + 2.0)
    taken = np.take_along_axis(gains, np.maximum(best, 0), axis=1)
    found = row_sums(np.where(best >= 0, taken, 0.0), discount)
    ideal = np.zeros(len(best))
    for user, own in enumerate(gains):
        largest = np.sort(own[own > 0.0])[::-1][: best.shape[1]]
        ideal[user] = dot(largest, discount[: len(largest)])
    return np.asarray(np.divide(found, ideal, np.full(len(best), np.nan), where=ideal > 0.0))


# -- recommendations and their reasons --------------------------------------------------------


@dataclass(frozen=True)
class Reason:
    """A viewer who liked an item and agrees with the user.

    ``str`` of it is a sentence, with the ids of items; `words` takes their titles.

    Attributes
    ----------
    viewer : id
    rating : float
        The viewer's rating of the item.
    loved : bool
        Whether the viewer rated nothing higher.
    adds : float
        How strong an argument it is; with "rankboost", how much more it adds to the score than to
        that of the average item.
    shared : int
        Number of items that both the viewer and the user rated.
    agreement : float
        Share of the user's pairs among these that the viewer has in the same order, ties half;
        NaN where there is no such pair.
    films : tuple
        Up to three items that the user rated highest and the viewer above the viewer's mean.
    """

    viewer: Id
    rating: float
    loved: bool
    adds: float
    shared: int
    agreement: float
    films: tuple[Id, ...]

    def __str__(self) -> str:
        return self.words()

    def words(self, title: Callable[[Id], str] = str) -> str:
        """Return the reason as a sentence, without numbers.

        Examples
        --------
        >>> str(Reason("ann", 5.0, True, 0.8, 12, 0.9, ("heat", "alien")))
        'ann loved it, almost always agrees with you and also likes heat and alien'
        """
        # (a number alone is no name)
        name = f"viewer {self.viewer}" if str(self.viewer).isdigit() else str(self.viewer)
        parts = [f"{name} {'loved' if self.loved else 'liked'} it"]
        if self.shared >= _FEWEST_SHARED and not math.isnan(self.agreement):
            parts.append(next(word for least, word in _WORDS if self.agreement >= least))
        if self.films:
            parts.append(f"also likes {listed([title(film) for film in self.films])}")
        return listed(parts)


def listed(parts: Sequence[str]) -> str:
    """Join by commas, and the last by "and"."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


@dataclass(frozen=True)
class Pick:
    """One recommended item.

    Attributes
    ----------
    position : int
        From 1.
    item : id
    title : str
        The id where no title is known.
    score : float
        Comparable within one user's list.
    raters : int
        Number of users who rated it; with "rankboost", of those that it learns from.
    """

    position: int
    item: Id
    title: str
    score: float
    raters: int


@dataclass(frozen=True, eq=False)
class _Background:
    """The background of the reasons of one user's list, computed on first use."""

    items: Ids
    find_target: Callable[[], Viewer]
    find_related: Callable[[int], Ints] | None = None
    boosted: BoostedOrder | None = None

    @cached_property
    def target(self) -> Viewer:
        return self.find_target()

    def reasons(self, rows: Sequence[int], top: int) -> list[tuple[Reason, ...]]:
        """Return the reasons for each of a list of items.

        They are viewers who rated the item above their own mean, whose rating raises its score, and
        who agree with the user more often than not; the strongest first. Viewers who are a reason
        for an earlier item come last, so that reasons differ.
        """
        target, used, found = self.target, set[int](), []
        for row in rows:
            column, rating, adds = (self.boosted or target).arguments(row)
            with np.errstate(invalid="ignore"):  # (an abstention is not above the mean)
                liked = (rating > target.club.mean[column]) & (target.trust[column] > 0.0)
            argues = np.flatnonzero((adds > 0.0) & liked)
            again = np.array([one in used for one in column[argues].tolist()], bool)
            chosen = argues[np.lexsort((-adds[argues], again))][:top].tolist()
            used.update(column[chosen].tolist())
            parts = zip(column[chosen].tolist(), rating[chosen].tolist(), adds[chosen].tolist())
            found.append(tuple(self._reason(*part) for part in parts))
        return found

    def _reason(self, column: int, rating: float, adds: float) -> Reason:
        target = self.target
        rows, theirs = target.rated.of_column(column)
        own: Floats = target.labels[rows]
        liked = np.flatnonzero((theirs > target.club.mean[column]) & (own >= target.labels.mean()))
        best = liked[np.lexsort((-theirs[liked], -own[liked]))][:3]
        viewer = target.viewers[column : column + 1].tolist()[0]
        loved = bool(rating == target.club.of_column(column)[1].max())
        films = tuple(self.items[target.films[rows[best]]].tolist())
        agreement = float(target.agreement[column])
        return Reason(viewer, rating, loved, adds, len(rows), agreement, films)


@dataclass(frozen=True, eq=False, repr=False)
class Recommendations(Result):
    """The items for one user, best first.

    Attributes
    ----------
    user : id or None
        None for a new user.
    picks : tuple of Pick
    problem : str or None
        Why there are no picks.
    """

    _bars = ("score",)

    user: Id | None
    picks: tuple[Pick, ...]
    problem: str | None = None
    _learned: _Background | None = field(default=None, repr=False)
    _reasons: dict[int, list[tuple[Reason, ...]]] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        width = max((len(one.title) for one in self.picks), default=0)
        lines = [f"{one.position:4}  {one.title:{width}}  {one.score:.4g}" for one in self.picks]
        return "\n".join(lines) if lines else self.problem or "nothing to recommend"

    def _title(self) -> str:
        if not self.picks:
            return str(self)
        return "recommendations" if self.user is None else f"recommendations for {self.user}"

    def to_frame(self) -> Frame:
        """Return one row per recommended item."""
        names = ("position", "item", "title", "score", "raters")
        return as_frame({name: [getattr(one, name) for one in self.picks] for name in names})

    @property
    def _background(self) -> _Background:
        if self._learned is None:
            raise NotRankedError(
                "recommendations for all users have no reasons; recommend to one user."
            )
        return self._learned

    @property
    def model(self) -> AdditiveRanker:
        """The user's model of RankBoost, over the viewers."""
        if self._background.boosted is None:
            raise NotRankedError("only method='rankboost' has a model.")
        return self._background.boosted.model

    def related(self, pick: Pick) -> tuple[Id, ...]:
        """Return up to three items of the user from which EASE found a recommended one."""
        row, learned = self._row(pick), self._background
        if learned.find_related is None:
            return ()
        return tuple(learned.items[learned.find_related(row)].tolist())

    def _row(self, pick: Pick) -> int:
        check("Recommendations", "pick", pick, instance_of(Pick, remedy="Take one of its picks."))
        if pick not in self.picks:
            raise DataError(f"item {str(pick.item)!r} is not one of the recommended items.")
        return int(np.flatnonzero(self._background.items == pick.item)[0])

    def why(self, pick: Pick, top: int = 3) -> tuple[Reason, ...]:
        """Return viewers who liked a recommended item and agree with the user.

        Viewers who are a reason for an item further up come last.

        Parameters
        ----------
        pick : Pick
            One of ``picks``.
        top : int
            Largest number of reasons.
        """
        check("why", "top", top, at_least(1))
        self._row(pick)
        if top not in self._reasons:
            rows = [self._row(one) for one in self.picks]
            self._reasons[top] = self._background.reasons(rows, top)
        return self._reasons[top][self.picks.index(pick)]


class Recommender:
    """Recommends items that a user has not rated.

    The default method, "auto", finds them by who rated what: EASE, with its penalty chosen on
    ratings that are held out, or popularity where EASE finds no more of these.

    The method "rankboost" learns one user's order from the viewers, by the construction of Freund
    et al. (2003, section 6.2): every other user is a ranking feature, that user's ratings, and an
    abstention where there is none. The feedback are the user's own ratings.

    Parameters
    ----------
    ratings : Ratings
    method : str, default="auto"
        One of `crucial.recommend.METHODS`.
    penalty : float, default=200
        Of EASE; the method "auto" chooses it.
    rounds : int, optional
        Rounds of RankBoost; by default 40 and one for every ten viewers, as in the paper.
    max_viewers : int or None, default=2000
        Largest number of others to learn from by RankBoost, or to name in reasons: those who rated
        most of the user's items.
    min_raters : int, default=5
        Recommend only items that at least this many users rated; with RankBoost, of those that it
        learns from. An item that nobody rated can have any place in a learned order.
    titles : mapping from item to str, optional
        See `crucial.io.ratings.read_titles`.

    Examples
    --------
    >>> users = ["ann"] * 3 + ["bob"] * 4 + ["cyd"] * 4
    >>> items = ["alien", "antz", "heat"] + ["alien", "antz", "heat", "tron"] * 2
    >>> stars = [5, 1, 4, 5, 2, 4, 5, 2, 4, 3, 1]
    >>> club = Ratings.from_columns(users, items, stars)
    >>> print(Recommender(club, "rankboost", min_raters=1).recommend("ann"))
       1  tron  27.57
    """

    def __init__(
        self,
        ratings: Ratings,
        method: str = "auto",
        *,
        penalty: float = _PENALTY,
        rounds: int | None = None,
        max_viewers: int | None = 2000,
        min_raters: int = 5,
        titles: Mapping[str, str] | None = None,
    ) -> None:
        remedy = "Use crucial.read_ratings, or crucial.data.Ratings.from_columns."
        check("Recommender", "ratings", ratings, instance_of(Ratings, remedy=remedy))
        check("Recommender", "method", method, one_of(*METHODS))
        check("Recommender", "penalty", penalty, above(0))
        check("Recommender", "rounds", rounds, none_or(at_least(1)))
        check("Recommender", "max_viewers", max_viewers, none_or(at_least(1)))
        check("Recommender", "min_raters", min_raters, at_least(0))
        self.ratings, self.method, self.penalty, self.rounds = ratings, method, penalty, rounds
        self.max_viewers, self.min_raters = max_viewers, min_raters
        self.titles = titles or {}
        self._by_user = Opinions.from_ratings(ratings)
        self._by_item = self._by_user.transposed()

    def fit(self) -> Self:
        """Learn what all users share; `recommend` does so where it has not been done."""
        if self.method != "rankboost":
            _ = self._finder
        return self

    @cached_property
    def choice(self) -> Choice | None:
        """The choice of the method "auto"; None for other methods."""
        return choose(self._by_user) if self.method == "auto" else None

    @cached_property
    def _finder(self) -> Finder:
        method, penalty = self.method, self.penalty
        if self.choice is not None:
            method, penalty = self.choice.method, self.choice.penalty
        return Finder(self._by_user, penalty if method == "ease" else None)

    def title(self, item: object) -> str:
        """Return the title of an item; its id where no title is known."""
        return self.titles.get(str(item), str(item))

    def _row(self, item: object) -> int:
        """Return the place of an item, given by its id or, if there is no such id, its title."""
        if self.ratings.has_item(item):
            return self.ratings.place_of_item(item)
        return self.ratings.place_of_item(self._items_by_title.get(str(item).casefold(), item))

    @cached_property
    def _items_by_title(self) -> dict[str, str]:
        return {title.casefold(): item for item, title in reversed(list(self.titles.items()))}

    def rated_by(self, user: object) -> dict[Id, float]:
        """Return the ratings of a user by item."""
        films, labels = self._by_user.of_column(self.ratings.place_of_user(user))
        return dict(zip(self.ratings.items[films].tolist(), labels.tolist()))

    def recommend(self, user: object, top: int = 20) -> Recommendations:
        """Recommend items that a user has not rated yet.

        Raises
        ------
        DataError
            There is no such user, or the ratings express no preference.
        """
        check("recommend", "top", top, at_least(1))
        place = self.ratings.place_of_user(user)
        return self._recommend(place, *self._by_user.of_column(place), top)

    def recommend_new(
        self, rated: Mapping[str, float] | Mapping[int, float], top: int = 20
    ) -> Recommendations:
        """Recommend items to somebody who is not among the users.

        Parameters
        ----------
        rated : mapping from item (its id or title) to rating
            At least one; two different ratings for the method "rankboost".
        top : int
        """
        check("recommend_new", "rated", rated, mapping)
        check("recommend_new", "top", top, at_least(1))
        films = np.array([self._row(item) for item in rated], np.int64)
        if len(np.unique(films)) < len(films):
            raise DataError("an item is rated twice, by its id and by its title.")
        return self._recommend(None, films, rating_values(rated), top)

    def recommend_all(
        self, top: int = 20, *, users: Iterable[Id] | None = None, n_jobs: int | None = None
    ) -> Iterator[Recommendations]:
        """Recommend to every user, in parallel; a user without preferences has a ``problem``.

        Parameters
        ----------
        top : int
        users : iterable of ids, optional
            All by default.
        n_jobs : int, optional
            Threads; None for all cores. The results are the same for any number.
        """
        check("recommend_all", "top", top, at_least(1))
        everybody = self.ratings.users if users is None else list(users)
        places = [self.ratings.place_of_user(user) for user in everybody]
        self.fit()
        threads = count_threads(n_jobs)
        step = threads * _AT_A_TIME
        for begin in range(0, len(places), step):
            some = places[begin : begin + step]
            yield from run_all(threads, [partial(self._attempt, place, top) for place in some])

    def to_rate(self, number: int) -> list[Id]:
        """Return items to ask a new user about: many know them and ratings differ."""
        check("to_rate", "number", number, at_least(1))
        order = np.argsort(-(self._by_item.count * self._by_item.spread), kind="stable")
        return list(self.ratings.items[order[:number]].tolist())

    def _attempt(self, place: int, top: int) -> Recommendations:
        try:
            found = self._recommend(place, *self._by_user.of_column(place), top)
        except DataError as error:
            return Recommendations(self._user(place), (), str(error))
        # (without the reasons: thousands of them would fill the memory)
        return Recommendations(found.user, found.picks, found.problem)

    def _user(self, place: int) -> Id:
        user: Id = self.ratings.users[place : place + 1].tolist()[0]
        return user

    def _target(self, place: int | None, films: Ints, labels: Floats) -> Viewer:
        """Choose the viewers to learn from; ``place`` is None for a new user."""
        shared = self._by_item.take_columns(films)
        count = shared.row_count.copy()
        if place is not None:
            count[place] = 0
        viewers = np.flatnonzero(count)
        if self.max_viewers is not None and len(viewers) > self.max_viewers:
            most = np.argsort(-count[viewers], kind="stable")[: self.max_viewers]
            viewers = np.sort(viewers[most])
        club = self._by_user.take_columns(viewers)
        # (the same as club.take_rows(films), for less)
        rated = shared.take_rows(viewers).transposed()
        return Viewer(club, films, labels, self.ratings.users[viewers], rated)

    def _boosted(self, who: str, target: Viewer) -> BoostedOrder:
        """Learn a user's order by RankBoost; refuse ratings that have none."""
        labels = target.labels
        if len(np.unique(labels)) < 2:
            gave = counted(len(labels), "rating")
            if len(labels) > 1:
                gave = f"the same rating, {labels[0]:g}, to all {counted(len(labels), 'item')}"
            raise DataError(
                f"{who} gave {gave}, which expresses no preference; two different ratings are "
                "needed."
            )
        if not target.club.n_columns:
            raise DataError(f"nobody else rated what {who} did.")
        return BoostedOrder.learn(target, self.rounds)

    def _recommend(
        self, place: int | None, films: Ints, labels: Floats, top: int
    ) -> Recommendations:
        """Pick the best items that a user has not rated."""
        who = "you" if place is None else f"user {str(self._user(place))!r}"
        find_target = partial(self._target, place, films, labels)
        if self.method == "rankboost":
            target = find_target()
            boosted = self._boosted(who, target)
            scores, raters = boosted.scores, target.club.row_count
            learned = _Background(self.ratings.items, find_target, boosted=boosted)
        else:
            if not len(films):
                raise DataError(f"{who} gave 0 ratings; at least one is needed.")
            scores, raters = self._finder.scores(films, labels), self._finder.raters
            find_related = partial(self._finder.related, films, labels)
            learned = _Background(self.ratings.items, find_target, find_related)
        scores = np.where(raters >= self.min_raters, scores, np.nan)
        scores[films] = np.nan
        rows, best = best_items(scores, raters, top)
        items = self.ratings.items[rows].tolist()
        found = enumerate(zip(items, best.tolist(), raters[rows].tolist()), 1)
        picks = tuple(
            Pick(k, item, self.title(item), score, count) for k, (item, score, count) in found
        )
        problem = None
        if not picks:
            problem = "there is no item left" + (
                f" that {self.min_raters} others rated" if self.min_raters > 0 else ""
            )
        user = None if place is None else self._user(place)
        return Recommendations(user, picks, problem, learned)
