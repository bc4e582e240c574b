"""Rankers of items that a user has not rated, in closed form: EASE and item neighbours.

Both learn one weight per pair of items from a matrix of users x items, once for all users, and
score every item by the sum of the weights from the items that a user rated.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from crucial.data.arrays import NUMBERS, as_reals
from crucial.data.sparse_checks import check_structure
from crucial.errors import DataError, DataTypeError
from crucial.parameters import above, at_least, check_parameters, parameter, with_parameters
from crucial.types import Floats, SparseLike, TableLike

__all__ = ["Ease", "ItemNeighbours", "ItemRanker"]

_TIE = 1e-10  # cosines that differ by less are equal: rounding does not choose

# Columns of item-by-item products that are in memory at once.
_BLOCK = 256

# Weights of items are sums of at most so large squares: beyond it sums over users may overflow.
_LARGEST = 1e100


class ItemRanker(BaseEstimator):
    """Base class of rankers that learn one weight per pair of items.

    Attributes
    ----------
    weight_ : array or sparse array of shape (n_items, n_items)
        How much a rating of the first item adds to the score of the second.
    """

    weight_: Any

    def fit(self, X: TableLike | SparseLike) -> Self:
        """Learn from all users.

        Parameters
        ----------
        X : array or scipy sparse matrix of shape (n_users, n_items)
            How much each user likes an item that the user rated; 0 where there is no rating.
        """
        check_parameters(self)
        users = _matrix(X)
        if not users.shape[1]:
            raise DataError(f"X must have at least one item. Got shape {users.shape}.",
                            parameter="X")  # fmt: skip
        self._learn(users)
        return self

    def predict(self, X: TableLike | SparseLike) -> Floats:
        """Score all items for users, old or new; items that a user rated are scored too.

        Parameters
        ----------
        X : array or scipy sparse matrix of shape (n_users, n_items)

        Returns
        -------
        array of shape (n_users, n_items)
        """
        check_is_fitted(self, "weight_")
        users, n_items = _matrix(X), self.weight_.shape[0]
        if users.shape[1] != n_items:
            raise DataError(f"there must be {n_items} items, as in the matrix to learn from. "
                            f"Got {users.shape[1]}.")  # fmt: skip
        return self.scores(users)

    def scores(self, users: Any) -> Floats:
        """Return `predict` of a csr matrix, without checks."""
        # (scipy's loop over stored cells: the same sums at any number of threads)
        found = users @ self.weight_
        return np.asarray(found if isinstance(found, np.ndarray) else found.toarray())

    def _learn(self, users: Any) -> None:
        raise NotImplementedError


def _matrix(X: TableLike | SparseLike) -> Any:
    """Return a csr matrix of finite numbers."""
    from scipy.sparse import csr_array, issparse

    table: Any = X if issparse(X) else as_reals(X, "X")
    if table.ndim != 2:
        raise DataError(f"Expected 2D array, got {table.ndim}D array instead.")
    if issparse(X):
        check_structure(X)
        if table.dtype.kind not in NUMBERS:
            raise DataTypeError(f"X must be real numbers. Got a sparse matrix of {table.dtype}.")
    users = csr_array(table, dtype=np.float64)
    if not (np.abs(users.data) <= _LARGEST).all():
        raise DataError("Input X must consist of numbers up to 1e100 in absolute value, with 0 "
                        "where there is no rating.")  # fmt: skip
    return users


@with_parameters
class Ease(ItemRanker):
    """EASE: least squares of every item on all others, with a penalty (Steck 2019).

    Minimises ``|X - X B|^2 + penalty |B|^2`` where the diagonal of B is 0. The solution is
    ``B[i, j] = -P[i, j] / P[j, j]`` with ``P = inverse(X'X + penalty I)`` (equation 8).

    Attributes
    ----------
    weight_ : array of shape (n_items, n_items)
        B.

    References
    ----------
    H. Steck, Embarrassingly shallow autoencoders for sparse data, WWW 2019.

    Examples
    --------
    >>> X = [[1, 1, 0], [1, 1, 0], [0, 1, 1], [1, 1, 1]]
    >>> Ease(penalty=1.0).fit(X).predict([[1, 0, 0]]).round(3).tolist()
    [[0.0, 0.636, -0.091]]
    """

    penalty: float = parameter(
        above(0),
        "Weight of the penalty. On MovieLens-100K with weights up to 1, 100 to 300 is best.",
        default=200.0,
        kw_only=False,
    )

    def _learn(self, users: Any) -> None:
        from scipy.linalg.lapack import dpotrf, dpotri

        gram = (users.T @ users).toarray()
        n_items = len(gram)
        diagonal = np.diag_indices(n_items)
        gram[diagonal] += self.penalty
        # One thread: sums in another order would change the last digits.
        with threadpool_limits(1):
            factor, failed = dpotrf(gram.T, lower=1, overwrite_a=1)
            if not failed:
                factor, failed = dpotri(factor, lower=1, overwrite_c=1)
        if failed:
            raise DataError(
                f"the penalty of EASE, {self.penalty:g}, is too small for the numbers in X.",
                remedy="Use a larger penalty, or smaller numbers.",
            )
        inverse = np.tril(factor)
        inverse += np.tril(factor, -1).T
        weight = inverse / -np.diag(inverse)
        weight[diagonal] = 0.0
        self.weight_ = np.ascontiguousarray(weight)


@with_parameters
class ItemNeighbours(ItemRanker):
    """Every item scores by the cosines with its nearest items among those that the user rated.

    Item-based top-N recommendation (Deshpande & Karypis 2004) with cosines of the columns of X. Of
    equally near items the first are chosen.

    Attributes
    ----------
    weight_ : scipy csr_array of shape (n_items, n_items)
        Column j has the cosines of item j with its k nearest items.

    Examples
    --------
    >>> X = [[1, 1, 0], [1, 1, 0], [0, 1, 1], [1, 1, 1]]
    >>> ItemNeighbours(k=1).fit(X).predict([[1, 0, 0]]).round(3).tolist()
    [[0.0, 0.866, 0.0]]
    """

    k: int = parameter(at_least(1), "Number of nearest items.", default=50, kw_only=False)

    def _learn(self, users: Any) -> None:
        from scipy.sparse import csc_array, csr_array

        columns = csc_array(users)
        n_items = columns.shape[1]
        length = np.sqrt(np.asarray((columns * columns).sum(axis=0)).ravel())
        columns = columns * np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
        columns = csc_array(columns)
        row, place, value = [], [], []
        for begin in range(0, n_items, _BLOCK):
            block = (columns.T @ columns[:, begin : begin + _BLOCK]).toarray()
            here = np.arange(block.shape[1])
            block[begin + here, here] = 0.0
            near, of = np.nonzero(_largest(block, self.k))
            row.append(near)
            place.append(of + begin)
            value.append(block[near, of])
        cells = np.concatenate(row), np.concatenate(place)
        self.weight_ = csr_array((np.concatenate(value), cells), (n_items, n_items))


def _largest(block: Floats, k: int) -> Any:
    """Return where the k largest positive numbers of each column are; of equals, the first."""
    if k >= len(block):
        return block > 0.0
    kth = np.partition(block, len(block) - k, axis=0)[len(block) - k]
    above = block > kth * (1.0 + _TIE)
    equal = ~above & (block >= kth * (1.0 - _TIE))
    free = k - above.sum(axis=0)
    return (above | (equal & (np.cumsum(equal, axis=0) <= free))) & (block > 0.0)
