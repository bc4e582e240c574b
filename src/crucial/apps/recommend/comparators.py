"""The rankers that Freund et al. (2003, section 6.2.3) compare RankBoost with.

All learn from the ratings of viewers (columns, NaN where one did not rate) for the films that the
target user rated (rows), and rank other films of the same viewers. Properties of a viewer as a
whole, such as the mean rating, are computed over all films if ``club``, a table of all films, is
given; otherwise over the films of the target user alone.
"""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from crucial.apps.recommend.neighbours import learn_defaults
from crucial.apps.recommend.opinions import Opinions
from crucial.errors import DataError
from crucial.feedback.labels import check_labels
from crucial.parameters import (
    above,
    at_least,
    between,
    check_parameters,
    flag,
    one_of,
    parameter,
    with_parameters,
)
from crucial.types import Floats, Ints, TableLike, VectorLike

__all__ = [
    "NearestNeighbours",
    "PearsonCorrelation",
    "Popularity",
    "Regression",
    "VectorSimilarity",
    "ViewerRanker",
]

# Shared films at which a correlation counts half.
_SHARED = 10.0

# Sums smaller than this share of their terms are rounding errors.
_ROUNDING = 1e-13


def _opinions(X: Opinions | TableLike) -> Opinions:
    """Return opinions unchanged, or those of an array or frame with NaN."""
    return X if isinstance(X, Opinions) else Opinions.from_dense(X)


def _without_rounding(sums: Floats, sizes: Floats) -> Floats:
    """Return sums with 0 for those that are rounding errors of terms of these summed sizes."""
    return np.where(np.abs(sums) <= _ROUNDING * sizes, 0.0, sums)


def _deviations(opinions: Opinions, mean: Floats) -> Floats:
    """Return how far every opinion is from the mean of its column; a rounding error is 0."""
    of_column = mean[opinions.column]
    return _without_rounding(opinions.value - of_column, np.abs(of_column))


def _weighted_deviations(opinions: Opinions, mean: Floats, weight: Floats) -> Floats:
    """Return the deviations from the means of columns, times the columns' shares of the weight."""
    total = np.abs(weight).sum()
    apart = _deviations(opinions, mean)
    return np.asarray(weight[opinions.column] * apart / (total if total > 0.0 else 1.0))


class ViewerRanker(BaseEstimator):
    """Base class of the comparators: checks the input, and that the viewers stay the same."""

    def fit(
        self, X: Opinions | TableLike, y: VectorLike, *, club: Opinions | TableLike | None = None
    ) -> Self:
        """Learn from a user's ratings.

        Parameters
        ----------
        X : Opinions or array of shape (n_films, n_viewers)
            Ratings of the viewers for the films that the user rated; NaN where there is none.
        y : array of shape (n_films,)
            The user's ratings.
        club : like X over all films, optional
        """
        opinions = _opinions(X)
        labels = check_labels(y, opinions.n_rows)
        whole = opinions if club is None else _opinions(club)
        self._n_viewers = opinions.n_columns
        self._check_viewers(whole)
        check_parameters(self)
        self._learn(opinions, labels, whole)
        return self

    def predict(self, X: Opinions | TableLike) -> Floats:
        """Score films; the higher, the higher the rank.

        Parameters
        ----------
        X : Opinions or array of shape (n_films, n_viewers)
        """
        check_is_fitted(self, "_n_viewers")
        opinions = _opinions(X)
        self._check_viewers(opinions)
        return self._scores(opinions)

    def _check_viewers(self, opinions: Opinions) -> None:
        if opinions.n_columns != self._n_viewers:
            raise DataError(f"there must be {self._n_viewers} viewers, as in the films to learn "
                            f"from. Got {opinions.n_columns}.")  # fmt: skip

    def _learn(self, opinions: Opinions, labels: Floats, club: Opinions) -> None:
        raise NotImplementedError

    def _scores(self, opinions: Opinions) -> Floats:
        raise NotImplementedError


@with_parameters
class Regression(ViewerRanker):
    """Least squares: the user's ratings as a linear combination of the viewers'.

    The shortest of all weight vectors with the least squares; no intercept. A film that a viewer
    did not rate counts as the viewer's mean.

    Attributes
    ----------
    weight_ : array of shape (n_viewers,)
    """

    normalise: bool = parameter(
        flag,
        "First scale the ratings of every viewer, and of the user, to mean 0 and standard "
        "deviation 1: the variant that section 6.2.6 proposes.",
        default=False,
        kw_only=False,
    )

    def _learn(self, opinions: Opinions, labels: Floats, club: Opinions) -> None:
        """Fill abstentions with means, and solve the least squares."""
        self._mean, self._scale = club.mean, np.ones(club.n_columns)
        self._centre = club.mean
        if self.normalise:
            spread = club.spread
            self._scale = np.where(spread > 0.0, 1.0 / np.maximum(spread, 1e-300), 0.0)
            self._centre = np.zeros(club.n_columns)
            deviation = labels.std()
            labels = (labels - labels.mean()) / (deviation if deviation > 0.0 else 1.0)
        table = np.tile(self._centre, (opinions.n_rows, 1))
        table[opinions.row, opinions.column] += self._scaled(opinions)
        # One thread: for tables of this size, more threads wait longer than they work.
        with threadpool_limits(1):
            self.weight_ = np.linalg.lstsq(table, labels, rcond=None)[0]

    def _scaled(self, opinions: Opinions) -> Floats:
        return _deviations(opinions, self._mean) * self._scale[opinions.column]

    def _scores(self, opinions: Opinions) -> Floats:
        added = self.weight_[opinions.column] * self._scaled(opinions)
        return float(self.weight_ @ self._centre) + opinions.row_sums(added)


@with_parameters
class NearestNeighbours(ViewerRanker):
    """The ratings of the viewers whose order is nearest to the user's.

    The distance is the ranking loss over the user's pairs, ties counting half (equation 21). The
    score of films that a viewer did not rate, ``q_def``, is chosen to minimise this loss. Of
    several equally good values, one near the viewer's mean is chosen; for a viewer who rated all
    films of the user, the mean itself, as in the paper.

    Attributes
    ----------
    neighbours_ : int array of shape (k,)
        Columns, nearest first.
    loss_ : array of shape (n_viewers,)
        Ranking loss of every viewer.
    n_shared_ : int array of shape (n_viewers,)
        Films of the user that every viewer rated.
    distance_ : array of shape (n_viewers,)
        The loss drawn towards 1/2 where few films are shared; the loss itself with ``shared=0``.
    default_ : array of shape (n_viewers,)
        ``q_def`` of every viewer.
    """

    k: int = parameter(
        at_least(1),
        "Number of viewers whose ratings are averaged (the variant of section 6.2.6); 1 is the "
        "paper's. Of equally near ones the first are chosen.",
        default=1,
        kw_only=False,
    )
    default: str = parameter(
        one_of("scale", "between"),
        "Where ``q_def`` may lie: on the scale, the ratings that occur in the club, as in the "
        "paper; or anywhere, and then best between two ratings of the viewer.",
        default="scale",
    )
    shared: float = parameter(
        between(0, math.inf),
        "Weigh a viewer who shares n films with the user by ``n / (n + shared)``: the loss is "
        "drawn towards 1/2, chance, by this factor, and the average is weighted by it (section "
        "6.2.6 suggests to take the number of films into account). 0 is the paper's.",
        default=0.0,
    )

    def _learn(self, opinions: Opinions, labels: Floats, club: Opinions) -> None:
        found = learn_defaults(opinions, labels, club, on_scale=self.default == "scale")
        self.loss_, self.default_ = found.loss, found.default
        self.n_shared_ = opinions.count
        trust = _trust(self.n_shared_, self.shared)
        self.distance_ = 0.5 + (self.loss_ - 0.5) * trust if self.shared > 0.0 else self.loss_
        near = np.round(self.distance_, 12)  # (rounding orders no equal ones)
        self.neighbours_ = np.argsort(near, kind="stable")[: self.k]
        weight = trust[self.neighbours_]
        self._weight = (
            weight / weight.sum() if weight.any() else np.full_like(weight, 1 / len(weight))
        )

    def _scores(self, opinions: Opinions) -> Floats:
        near = opinions.take_columns(self.neighbours_)
        default = self.default_[self.neighbours_]
        apart = self._weight[near.column] * (near.value - default[near.column])
        return np.asarray(float(np.sum(self._weight * default)) + near.row_sums(apart))


def _trust(n_shared: Ints, shared: float) -> Floats:
    """Return ``n / (n + shared)``, 1 for all where that is 0."""
    if shared == 0.0:
        return np.ones(len(n_shared))
    return np.asarray(n_shared / (n_shared + shared))


class VectorSimilarity(ViewerRanker):
    """VSIM: viewers' deviations from their means, weighted by the cosine with the user.

    Breese, Heckerman & Kadie (1998). The cosine is of the vectors of ratings, with 0 for a film
    that was not rated: the product runs over films that both rated, the lengths over all films of
    each.

    Attributes
    ----------
    similarity_ : array of shape (n_viewers,)
    """

    def _learn(self, opinions: Opinions, labels: Floats, club: Opinions) -> None:
        self._mean = club.mean
        self._length = np.sqrt(club.sums(club.value * club.value))
        self._user_mean = float(labels.mean())
        terms = opinions.value * labels[opinions.row]
        product = _without_rounding(opinions.sums(terms), opinions.sums(np.abs(terms)))
        length = np.sqrt(labels @ labels)
        self.similarity_ = self._per_length(product) / (length if length > 0.0 else 1.0)

    def _per_length(self, product: Floats) -> Floats:
        there = self._length > 0.0
        return np.divide(product, self._length, out=np.zeros_like(product), where=there)

    def _scores(self, opinions: Opinions) -> Floats:
        return self._user_mean + opinions.row_sums(self.added(opinions))

    def added(self, opinions: Opinions) -> Floats:
        """Return what every opinion adds to the score of its film."""
        return _weighted_deviations(opinions, self._mean, self.similarity_)

    def scores_left_out(self, X: Opinions | TableLike, y: VectorLike) -> Floats:
        """Score each film of the user as if it were not among those that make the similarities.

        In the scores of `predict`, a film's own rating is part of every similarity. These scores
        are free of that, so that another ranker may learn from them. (The user's mean, which is
        the same for all films, is still that of all ratings.)

        Parameters
        ----------
        X, y : as given to ``fit``
        """
        opinions = _opinions(X)
        labels = check_labels(y, opinions.n_rows)
        terms = opinions.value * labels[opinions.row]
        # The user's own length is a factor of every weight, and cancels.
        near = self._per_length(
            _without_rounding(opinions.sums(terms), opinions.sums(np.abs(terms)))
        )
        # Sums over the other films, and not differences: of a viewer who shares one film with the
        # user, nothing is left, where a difference would leave rounding to be divided by.
        others = _without_rounding(opinions.other_sums(terms), opinions.other_sums(np.abs(terms)))
        length = self._length[opinions.column]
        weight = np.divide(others, length, out=np.zeros_like(others), where=length > 0.0)
        sums = opinions.row_sums(weight * _deviations(opinions, self._mean))
        total = opinions.filled_row_sums(np.abs(weight), np.abs(near))
        scores = np.divide(sums, total, out=np.zeros_like(sums), where=total > 0.0)
        return np.asarray(self._user_mean + scores)


@with_parameters
class PearsonCorrelation(ViewerRanker):
    """Viewers' deviations from their means, weighted by the correlation with the user.

    Resnick et al. (1994) and Shardanand & Maes (1995), which Freund et al. (2003) cite, in the form
    of Breese, Heckerman & Kadie (1998, equations 1 and 2). Unlike the cosine of
    `VectorSimilarity`, it does not depend on where the scale of a viewer begins, and a viewer of
    the opposite taste counts negatively.

    Attributes
    ----------
    similarity_ : array of shape (n_viewers,)
        Between -1 and 1; 0 for a viewer who shares no two films of different ratings.
    n_shared_ : int array of shape (n_viewers,)
        Films of the user that every viewer rated.
    """

    centre: str = parameter(
        one_of("shared", "all", "middle"),
        "What ratings are compared with: the means over the shared films (Pearson's r), the means "
        "over all films of each (Breese et al.), or the middle of the scale (the constrained "
        "correlation of Shardanand & Maes).",
        default="shared",
        kw_only=False,
    )
    shared: float = parameter(
        between(0, math.inf),
        "Multiply the correlation over n shared films by ``n / (n + shared)``: over two films it "
        "is always 1 or -1. 0 is the correlation itself.",
        default=_SHARED,
    )

    def _learn(self, opinions: Opinions, labels: Floats, club: Opinions) -> None:
        self._mean, self._user_mean = club.mean, float(labels.mean())
        self.n_shared_ = opinions.count
        n = np.maximum(self.n_shared_, 1)
        rated = labels[opinions.row]
        if self.centre == "shared":
            viewers, user = opinions.mean, opinions.sums(rated) / n
        elif self.centre == "all":
            viewers, user = club.mean, np.full(club.n_columns, self._user_mean)
        else:
            every = np.concatenate((club.value, labels))
            middle = float(every.min() / 2 + every.max() / 2)
            viewers = user = np.full(club.n_columns, middle)
        apart = _deviations(opinions, viewers)
        of_user = user[opinions.column]
        own = _without_rounding(rated - of_user, np.abs(of_user))
        product = _without_rounding(opinions.sums(apart * own), opinions.sums(np.abs(apart * own)))
        length = np.sqrt(opinions.sums(apart * apart)) * np.sqrt(opinions.sums(own * own))
        found = np.divide(product, length, out=np.zeros_like(product), where=length > 0.0)
        self.similarity_ = np.clip(found, -1.0, 1.0) * _trust(self.n_shared_, self.shared)

    def _scores(self, opinions: Opinions) -> Floats:
        return self._user_mean + opinions.row_sums(self.added(opinions))

    def added(self, opinions: Opinions) -> Floats:
        """Return what every opinion adds to the score of its film."""
        return _weighted_deviations(opinions, self._mean, self.similarity_)


@with_parameters
class Popularity(ViewerRanker):
    """The same order for all users."""

    by: str = parameter(
        one_of("count", "mean"),
        "The number of viewers who rated a film, or how far above their means on average.",
        default="count",
        kw_only=False,
    )
    damping: float = parameter(
        above(0),
        'With "mean": the number of ratings at the viewers\' means that are added, so that a film '
        "that one viewer loved does not come first.",
        default=5.0,
        kw_only=False,
    )

    def _learn(self, opinions: Opinions, labels: Floats, club: Opinions) -> None:
        self._mean = club.mean

    def _scores(self, opinions: Opinions) -> Floats:
        count = opinions.row_count.astype(np.float64)
        if self.by == "count":
            return count
        above_mean = opinions.row_sums(_deviations(opinions, self._mean))
        return np.asarray(above_mean / (count + self.damping))
