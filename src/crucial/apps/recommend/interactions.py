"""Who rated what as a sparse matrix of weights between 0 and 1, for rankers of unseen items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crucial.apps.recommend.opinions import Opinions
from crucial.types import Floats, Ints

__all__ = ["Interactions", "RatingScale", "stored_cells", "weighted_rows"]


@dataclass(frozen=True, eq=False)
class RatingScale:
    """The standing of every rating among all ratings of the table, between 0 and 1.

    The standing of a value is the share of ratings below it plus half the share of ratings equal
    to it. It depends on the order of the values only, so that stars, percentages and numbers of
    plays are treated alike.

    Examples
    --------
    >>> scale = RatingScale.of(np.array([1.0, 3.0, 3.0, 5.0]))
    >>> scale.standing(np.array([1.0, 3.0, 4.0, 5.0, 9.0])).tolist()
    [0.125, 0.5, 0.75, 0.875, 1.0]
    >>> scale.weights(np.array([1.0, 5.0]), seen=0.5).tolist()
    [0.5625, 0.9375]
    """

    values: Floats
    below: Floats  # share of ratings below each value; 1 at the end

    @classmethod
    def of(cls, ratings: Floats) -> RatingScale:
        """Return the scale of the ratings of a table."""
        values, counts = np.unique(ratings, return_counts=True)
        return cls(values, np.concatenate(([0.0], np.cumsum(counts) / max(len(ratings), 1))))

    def standing(self, ratings: Floats) -> Floats:
        """Return the standing of ratings, also of values that do not occur in the table."""
        low = self.below[np.searchsorted(self.values, ratings, "left")]
        high = self.below[np.searchsorted(self.values, ratings, "right")]
        return np.asarray((low + high) / 2)

    def weights(self, ratings: Floats, seen: float) -> Floats:
        """Return ``seen + (1 - seen) * standing``: every rating counts at least ``seen``."""
        return np.asarray(seen + (1.0 - seen) * self.standing(ratings))


@dataclass(frozen=True, eq=False)
class Interactions:
    """Weights of ratings, users x items; 0 where there is none.

    Attributes
    ----------
    matrix : scipy csr_array of shape (n_users, n_items)
    scale : RatingScale
    seen : float
        Share of a weight that every rating has, whatever its value; see `RatingScale.weights`.
    """

    matrix: Any
    scale: RatingScale
    seen: float

    @classmethod
    def of(cls, by_user: Opinions, scale: RatingScale, seen: float) -> Interactions:
        """Weigh the ratings of opinions with items as rows and users as columns."""
        from scipy.sparse import csr_array

        weight = scale.weights(by_user.value, seen)
        shape = by_user.n_columns, by_user.n_rows
        return cls(csr_array((weight, by_user.row, by_user.start), shape), scale, seen)

    def row(self, items: Ints, ratings: Floats) -> Any:
        """Return one user's weights as a matrix of one row."""
        return one_row(items, self.scale.weights(ratings, self.seen), self.matrix.shape[1])


def one_row(items: Ints, weight: Floats, n_items: int) -> Any:
    """Return a sparse matrix of one row with weights at some items."""
    from scipy.sparse import csr_array

    order = np.argsort(items, kind="stable")
    return csr_array((weight[order], items[order], np.array([0, len(items)])), (1, n_items))


def stored_cells(matrix: Any, rows: Ints) -> tuple[Ints, Ints]:
    """Return the places of the stored cells of some rows of a csr matrix, and their numbers."""
    start = matrix.indptr[rows]
    lengths = matrix.indptr[rows + 1] - start
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(start - ends + lengths, lengths), lengths


def weighted_rows(matrix: Any, rows: Ints, weight: Floats) -> Floats:
    """Return ``weight @ matrix[rows]``, for less than scipy needs to make the smaller matrix."""
    at, lengths = stored_cells(matrix, rows)
    values = matrix.data[at] * np.repeat(weight, lengths)
    sums: Floats = np.bincount(matrix.indices[at], values, matrix.shape[1]).astype(np.float64)
    return sums
