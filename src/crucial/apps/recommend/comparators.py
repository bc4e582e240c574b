"""The rankers that Freund et al. (2003, section 6.2.3) hold RankBoost against.

All learn from the opinions of viewers (columns, NaN where one did not rate) on the films that
the target user rated (rows), and rank other films of the same viewers. What is said of a viewer
as a whole, such as the mean rating, is taken over all films of the viewer where ``club``, a table
of all films, is given; else over the films of the target user alone.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from crucial.apps.recommend.neighbours import Defaults, learn_defaults
from crucial.data.opinions import Opinions
from crucial.errors import DataError
from crucial.feedback.labels import check_labels
from crucial.types import Floats
from crucial.validation import check_choice, check_flag, check_integer, check_real

__all__ = ["NearestNeighbours", "Popularity", "Regression", "VectorSimilarity", "as_opinions"]


def as_opinions(X: Any) -> Opinions:
    """Opinions as they are, or those of an array or frame with NaN."""
    return X if isinstance(X, Opinions) else Opinions.from_dense(X)


class _ViewerRanker(BaseEstimator):
    """Checks its input, and that the viewers stay the same."""

    def fit(self, X: Any, y: Any, *, club: Any = None) -> Self:
        """Learn from a user's ratings.

        Parameters
        ----------
        X : Opinions or array of shape (n_films, n_viewers)
            What viewers say of the films that the user rated; NaN: nothing.
        y : array of shape (n_films,)
            The user's ratings.
        club : the same over all films, optional
        """
        opinions = as_opinions(X)
        labels = check_labels(y, opinions.n_rows)
        whole = opinions if club is None else as_opinions(club)
        self._n_viewers = opinions.n_columns
        self._same_viewers(whole)
        self._learn(opinions, labels, whole)
        return self

    def predict(self, X: Any) -> Floats:
        """Score films; the higher, the higher the rank.

        Parameters
        ----------
        X : Opinions or array of shape (n_films, n_viewers)
        """
        opinions = as_opinions(X)
        self._same_viewers(opinions)
        return self._scores(opinions)

    def _same_viewers(self, opinions: Opinions) -> None:
        if opinions.n_columns != self._n_viewers:
            raise DataError(f"there must be {self._n_viewers} viewers, as in the films to learn "
                            f"from. Got {opinions.n_columns}.")  # fmt: skip

    def _learn(self, opinions: Opinions, labels: Floats, club: Opinions) -> None:
        raise NotImplementedError

    def _scores(self, opinions: Opinions) -> Floats:
        raise NotImplementedError


def _row_sums(opinions: Opinions, value: Floats) -> Floats:
    sums: Floats = np.bincount(opinions.row, value, opinions.n_rows).astype(np.float64)
    return sums


class Regression(_ViewerRanker):
    """The user's ratings as a linear combination of the viewers'.

    Of all weights with the least squares, the shortest; no intercept. A film that a viewer did
    not rate counts as the viewer's mean.

    Parameters
    ----------
    normalise : bool, default=False
        First bring the ratings of every viewer, and of the user, to mean 0 and deviation 1: the
        variant that section 6.2.6 proposes.

    Attributes
    ----------
    weight_ : array of shape (n_viewers,)
    """

    def __init__(self, normalise: bool = False) -> None:
        self.normalise = normalise

    def _learn(self, opinions: Opinions, labels: Floats, club: Opinions) -> None:
        check_flag("Regression", "normalise", self.normalise)
        self._mean, self._scale = club.mean, np.ones(club.n_columns)
        self._centre = club.mean
        if self.normalise:
            spread = club.spread
            self._scale = np.where(spread > 0.0, 1.0 / np.maximum(spread, 1e-300), 0.0)
            self._centre = np.zeros(club.n_columns)
            deviation = labels.std()
            labels = (labels - labels.mean()) / (deviation if deviation > 0.0 else 1.0)
        table = np.tile(self._centre, (opinions.n_rows, 1))
        table[opinions.row, opinions.column] += self._apart(opinions)
        # One thread: with more, tables of this size are waited for longer than they are solved.
        with threadpool_limits(1):
            self.weight_ = np.linalg.lstsq(table, labels, rcond=None)[0]

    def _apart(self, opinions: Opinions) -> Floats:
        column = opinions.column
        return (opinions.value - self._mean[column]) * self._scale[column]

    def _scores(self, opinions: Opinions) -> Floats:
        added = self.weight_[opinions.column] * self._apart(opinions)
        return float(self.weight_ @ self._centre) + _row_sums(opinions, added)


class NearestNeighbours(_ViewerRanker):
    """The viewers whose order is nearest to the user's.

    Near is a small ranking loss over the user's pairs, ties counting half (equation 21). What a
    viewer is taken to say of films that he or she did not rate, ``q_def``, is chosen to make the
    loss small too. Where several values are equally good, one near the viewer's mean is taken; for
    a viewer who rated all films of the user, the mean itself, as in the paper.

    Parameters
    ----------
    k : int, default=1
        So many viewers, whose ratings are averaged (the variant of section 6.2.6); 1 is the
        paper's. Of equally near ones the first are taken.

    Attributes
    ----------
    neighbours_ : int array of shape (k,)
        Columns, nearest first.
    loss_ : array of shape (n_viewers,)
        Ranking loss of every viewer.
    default_ : array of shape (n_viewers,)
        ``q_def`` of every viewer.
    """

    def __init__(self, k: int = 1) -> None:
        self.k = k

    def _learn(self, opinions: Opinions, labels: Floats, club: Opinions) -> None:
        check_integer("NearestNeighbours", "k", self.k, 1)
        found: Defaults = learn_defaults(opinions, labels, club)
        self.loss_, self.default_ = found.loss, found.default
        self.neighbours_ = np.argsort(self.loss_, kind="stable")[: self.k]

    def _scores(self, opinions: Opinions) -> Floats:
        near = opinions.take_columns(self.neighbours_)
        default = self.default_[self.neighbours_]
        total = default.sum() + _row_sums(near, near.value - default[near.column])
        return np.asarray(total / len(default))


class VectorSimilarity(_ViewerRanker):
    """VSIM: viewers' deviations from their means, weighed by the cosine with the user.

    Breese, Heckerman & Kadie (1998). The cosine is of the vectors of ratings, a film that was not
    rated being 0: the product runs over films that both rated, the lengths over all films of each.

    Attributes
    ----------
    similarity_ : array of shape (n_viewers,)
    """

    def _learn(self, opinions: Opinions, labels: Floats, club: Opinions) -> None:
        self._mean = club.mean
        self._length = np.sqrt(club.sums(club.value * club.value))
        self._user_mean = float(labels.mean())
        product = opinions.sums(opinions.value * labels[opinions.row])
        length = np.sqrt(labels @ labels)
        self.similarity_ = self._per_length(product) / (length if length > 0.0 else 1.0)

    def _per_length(self, product: Floats) -> Floats:
        there = self._length > 0.0
        return np.divide(product, self._length, out=np.zeros_like(product), where=there)

    def _scores(self, opinions: Opinions) -> Floats:
        return self._user_mean + _row_sums(opinions, self.added(opinions))

    def added(self, opinions: Opinions) -> Floats:
        """What every opinion adds to the score of its film."""
        column = opinions.column
        total = np.abs(self.similarity_).sum()
        apart = opinions.value - self._mean[column]
        return np.asarray(self.similarity_[column] * apart / (total if total > 0.0 else 1.0))

    def scores_left_out(self, X: Any, y: Any) -> Floats:
        """Score each film of the user as if he or she had not rated this one.

        `predict` would know the answer for them: a film's own rating is part of every similarity.
        These are the scores that another ranker may learn from.

        Parameters
        ----------
        X, y : as given to ``fit``
        """
        opinions = as_opinions(X)
        labels = check_labels(y, opinions.n_rows)
        column, row, value = opinions.column, opinions.row, opinions.value
        product = opinions.sums(value * labels[row])
        near = self._per_length(product)
        less = self._per_length(np.ones_like(product))[column] * value * labels[row]
        added = (near[column] - less) * (value - self._mean[column])
        # The user's own length is a factor of every weight, which normalising takes out again.
        total = np.abs(near).sum() + _row_sums(
            opinions, np.abs(near[column] - less) - np.abs(near[column])
        )
        sums = _row_sums(opinions, added)
        scores = np.divide(sums, total, out=np.zeros_like(sums), where=total > 0.0)
        return np.asarray(self._user_mean + scores)


class Popularity(_ViewerRanker):
    """The same order for everybody.

    Parameters
    ----------
    by : {"count", "mean"}, default="count"
        How many viewers rated a film, or how far above their means, on average.
    damping : float, default=5.0
        With the mean: so many ratings at the viewers' means are added, lest a film that one
        viewer loved stands first.
    """

    def __init__(self, by: str = "count", damping: float = 5.0) -> None:
        self.by = by
        self.damping = damping

    def _learn(self, opinions: Opinions, labels: Floats, club: Opinions) -> None:
        check_choice("Popularity", "by", self.by, ["count", "mean"])
        check_real("Popularity", "damping", self.damping, 0.0, low_open=True)
        self._mean = club.mean

    def _scores(self, opinions: Opinions) -> Floats:
        count = _row_sums(opinions, np.ones(len(opinions.value)))
        if self.by == "count":
            return count
        above = _row_sums(opinions, opinions.value - self._mean[opinions.column])
        return np.asarray(above / (count + self.damping))
