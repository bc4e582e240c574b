"""Cross-validation of RankRLS in closed form, and its path of ridges, by one decomposition.

RankRLS is a ridge regression of centred rows: with ``L = C C'``, centred columns ``X~ = C'X`` (or
``K~ = C'KC``) and labels ``y~ = C'y`` it minimises ``|y~ - X~ w|^2 + M |w|^2`` with M the ridge
times the weight of all pairs. With ``X~'X~ = V diag(e) V'`` and ``T = X~ V``, ::

    theta = T'y~ / (e + M),     fitted = T theta,     H = T diag(1 / (e + M)) T'

for every M. A kernel has ``T = U sqrt(e)`` for ``K~ = U diag(e) U'``. What a fit without the rows
of a block predicts for them is short of the labels by ``(I - H_bb)^-1 (y~ - fitted)_b``, which
leaves a query out at once (Pahikkala et al. 2009). Leaving out a pair changes the size of its query
and so all of its centred rows. But a query given all others is a ridge regression with an intercept
again, whose kernel is the part of ``(I - H_bb)^-1`` beyond I, and of which any two rows are left
out by a 2 x 2 system: O(n^2) for all pairs of a query.

A tie counts half, so that a margin of 0 must be found as 0. Two equal rows have one, and so has
every pair without which the labels of each query are equal. Other margins close to 0 are computed
again from the equations ``A w = b`` without the pair, since the 2 x 2 systems may cancel. Roundings
act there as if A were off by ``eta |A|`` and b by ``eta sqrt(|A|) |y~|``, with eta about sqrt(n)
times the precision of floats. They move the margin of rows that are d apart by up to ::

    eta |A^-1 d| (|A| |w| + sqrt(|A|) |y~|)

and a margin up to that counts as 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from crucial.errors import DataError
from crucial.feedback.differences import DifferenceFeedback
from crucial.linear.differences import Centring
from crucial.types import Bools, Floats, Ints

__all__ = ["Decomposition", "LeftOut"]

#: Rows of a query of which all pairs can be left out.
MAX_PAIR_ROWS = 10_000
# Margins up to this share of the range of the labels are computed again, and may be ties.
_CLOSE = 1e-5
# Also those of which a 2 x 2 system may lose this share.
_MOST_LOST = 1e-2
# Numbers in the equations of pairs that are solved at once.
_LEFT_OUT_CELLS = 1 << 20


@dataclass(frozen=True)
class Decomposition:
    """Centred rows in the directions of their decomposition.

    Attributes
    ----------
    rows : array of shape (n_rows, n_directions)
        T.
    values : array of shape (n_directions,)
        e, the squared lengths of the directions.
    directions : array of shape (n_columns, n_directions)
        V: weights of columns are ``V theta``.
    labels : array of shape (n_rows,)
        y~.
    kinds : int array of shape (n_rows,)
        The same number for equal rows.
    """

    rows: Floats
    values: Floats
    directions: Floats
    labels: Floats
    kinds: Ints

    @classmethod
    def of_columns(cls, matrix: Floats, centring: Centring, labels: Floats) -> Decomposition:
        """Decompose columns; rows, where they are fewer."""
        centred, target = centring.factor(matrix), centring.factor(labels)
        if len(centred) < centred.shape[1]:
            vectors, lengths, turned = np.linalg.svd(centred, full_matrices=False)
            return cls(vectors * lengths, lengths**2, turned.T, target, _kinds(matrix))
        values, directions = np.linalg.eigh(centred.T @ centred)
        values = np.maximum(values, 0.0)
        return cls(centred @ directions, values, directions, target, _kinds(matrix))

    @classmethod
    def of_kernel(cls, gram: Floats, centring: Centring, labels: Floats) -> Decomposition:
        """Decompose a kernel; its directions give coefficients of rows."""
        centred = centring.factor(centring.factor(gram).T)
        values, vectors = np.linalg.eigh(0.5 * (centred + centred.T))
        largest = float(values.max(initial=0.0))
        if values.min(initial=0.0) < -1e-8 * max(largest, 1e-300):
            raise DataError(
                "the kernel is not positive semidefinite: among its eigenvalues is "
                f"{values.min():.3g}.",
                remedy="Use another kernel, or add a constant to its diagonal.",
                parameter="kernel",
            )
        kept = values > 1e-15 * largest
        values, vectors = values[kept], vectors[:, kept]
        lengths = np.sqrt(values)
        # (the coefficients of direction k are C u_k / sqrt(e_k))
        directions = centring.back(vectors) / lengths
        target = centring.factor(labels)
        return cls(vectors * lengths, values, directions, target, _kinds(gram))

    def theta(self, ridge: float) -> Floats:
        """Return the weights of the directions for one M."""
        pulled: Floats = (self.rows.T @ self.labels) / (self.values + ridge)
        return pulled


class LeftOut:
    """What RankRLS predicts for rows that it did not learn from.

    Parameters
    ----------
    feedback : DifferenceFeedback
    decomposition : Decomposition
    balanced : bool
        Whether all queries weigh the same.
    """

    def __init__(
        self, feedback: DifferenceFeedback, decomposition: Decomposition, balanced: bool
    ) -> None:
        self._feedback, self._parts, self._balanced = feedback, decomposition, balanced
        self._centring = Centring(feedback)
        self._pulled = decomposition.rows.T @ decomposition.labels

    def queries(self, l2: float) -> Floats:
        """Return the scores of every row by a ranker that did not see its query.

        Those of a query are centred: only their differences mean anything.
        """
        out = np.zeros(len(self._feedback.labels))
        for q, (a, b) in enumerate(pairwise(self._feedback.starts.tolist())):
            rest = self._feedback.whole - self._feedback.coefficient[q] * self._feedback.pairs[q]
            if self._feedback.n_queries == 1 or not rest > 0:
                continue
            found = self._without(a, b, 0.5 * l2 * rest)
            out[a:b] = found / self._centring.scale[a:b]
        return out

    def _without(self, a: int, b: int, ridge: float) -> Floats:
        """Return the centred predictions for rows ``a:b`` of a fit without them."""
        own, labels = self._parts.rows[a:b], self._parts.labels[a:b]
        damped = self._parts.values + ridge
        if b - a > len(damped):
            system = np.diag(damped) - own.T @ own
            return np.asarray(own @ np.linalg.solve(system, self._pulled - own.T @ labels))
        hat = (own / damped) @ own.T
        error = labels - own @ (self._pulled / damped)
        return np.asarray(labels - np.linalg.solve(np.eye(b - a) - hat, error))

    def pairs(self, l2: float) -> tuple[float, Floats]:
        """Return the share of pairs in the right order, each by a ranker that saw neither row.

        A tie counts half. Also returns the share of every query; NaN where all labels are equal.
        """
        feedback = self._feedback
        if feedback.weight is not None and np.ptp(feedback.weight) > 0:
            raise DataError(
                "leave_pair_out takes no sample_weight: without two rows of different weights "
                "every pair would be another problem.",
                remedy="Repeat rows instead, or use leave_query_out.",
            )
        right, count = np.zeros(feedback.n_queries), np.zeros(feedback.n_queries)
        for q, (a, b) in enumerate(pairwise(feedback.starts.tolist())):
            y = feedback.labels[a:b]
            above = y[:, None] > y
            if not above.any():
                continue
            if b - a > MAX_PAIR_ROWS:
                raise DataError(
                    f"leave_pair_out needs memory for all pairs of a query, and one has {b - a:,} "
                    f"rows; up to {MAX_PAIR_ROWS:,} work.",
                    remedy="Use leave_query_out.",
                )
            margin = self.margins(q, l2)[above]
            right[q] = float((margin > 0).sum() + 0.5 * (margin == 0).sum())
            count[q] = float(above.sum())
        some = count > 0
        shares = np.full(feedback.n_queries, np.nan)
        shares[some] = right[some] / count[some]
        if self._balanced:
            return float(np.mean(shares[some])), shares
        return float(right.sum() / count.sum()), shares

    def margins(self, query: int, l2: float) -> Floats:
        """Return ``f_i - f_j`` of all rows of a query, of a fit without i and j: O(n^2)."""
        feedback = self._feedback
        a, b = feedback.starts[query : query + 2].tolist()
        n, y = b - a, feedback.labels[a:b]
        u = 1.0 if feedback.weight is None else float(feedback.weight[a])
        c = float(feedback.coefficient[query])
        # The query without two of its rows, and the weight of all pairs then.
        left, left_pairs = (n - 2) * u, _pairs_of(n - 2, u)
        c_left = c * feedback.pairs[query] / left_pairs if self._balanced and left_pairs else c
        others = feedback.whole - c * feedback.pairs[query]
        if feedback.n_queries == 1:
            others = 0.0
        ridge = 0.5 * l2 * (others + c_left * left_pairs)
        if not ridge > 0:
            return np.zeros((n, n))
        own, labels = self._parts.rows[a:b], self._parts.labels[a:b]
        values, scale = self._parts.values, float(self._centring.scale[a])
        factor = c_left * left * u if n > 3 else 0.0
        found, sure = np.zeros((n, n)), np.zeros((n, n), bool)
        close = _CLOSE * float(np.ptp(y))
        if factor:
            outside, kernel = np.zeros(n), own @ own.T
            if others > 0:
                outside = self._without(a, b, ridge) / scale
                hat = (own / (values + ridge)) @ own.T
                kernel = ridge * np.linalg.solve(np.eye(n) - hat, hat)
            noisy = 0.5 * (kernel + kernel.T) / scale**2 + ridge / factor * np.eye(n)
            found, lost = _downdated(noisy, y - outside)
            found += outside[:, None] - outside
            sure = (np.abs(found) > close) & (lost < _MOST_LOST)
        tied = self._tied_without(a, b)
        found[tied] = 0.0
        first, second = np.nonzero(np.triu(~(sure | tied), 1))
        if len(first):
            system, right = ridge * np.eye(len(values)), np.zeros(len(values))
            if others > 0:
                system += np.diag(values) - own.T @ own
                right += self._pulled - own.T @ labels
            around = own - own.mean(axis=0)  # (once more: sums of offsets round)
            again = _Equations(around / scale, labels / scale, factor, system, right)
            length = float(np.linalg.norm(self._parts.labels))
            margin, reach = again.margins(first, second, length)
            margin[np.abs(margin) <= np.minimum(reach, close)] = 0.0
            found[first, second], found[second, first] = margin, -margin
        return found

    def _tied_without(self, a: int, b: int) -> Bools:
        """Return which two of rows ``a:b`` are equal, or leave no query with different labels."""
        kinds, labels = self._parts.kinds[a:b], self._feedback.labels
        tied: Bools = kinds[:, None] == kinds
        bounds = pairwise(self._feedback.starts.tolist())
        if not any(np.ptp(labels[c:d]) > 0 for c, d in bounds if c != a):
            _, level, counts = np.unique(labels[a:b], return_inverse=True, return_counts=True)
            odd = level != np.argmax(counts)
            tied |= odd[:, None].astype(int) + odd >= odd.sum()
        return tied


def _downdated(noisy: Floats, labels: Floats) -> tuple[Floats, Floats]:
    """Return margins by a Gaussian process without any two of its rows.

    Also returns which share of them rounding may take.

    Parameters
    ----------
    noisy : array of shape (n_rows, n_rows)
        The kernel, and noise on its diagonal.
    labels : array of shape (n_rows,)
        Up to a constant, which has no ridge.
    """
    inverse = np.linalg.inv(noisy)
    sums = inverse.sum(axis=0)
    inverse -= np.outer(sums, sums) / sums.sum()
    alpha, along = inverse @ (labels - labels.mean()), np.diag(inverse)
    determinant = np.outer(along, along) - inverse**2
    np.fill_diagonal(determinant, 1.0)
    error = alpha[:, None] * (along + inverse) - alpha * (along[:, None] + inverse)
    size = float(np.linalg.norm(inverse, 1))
    lost = np.finfo(np.float64).eps * float(np.linalg.norm(noisy, 1)) * size**2
    with np.errstate(divide="ignore", invalid="ignore"):  # (NaN is no sure margin)
        margins = (labels[:, None] - labels) - error / determinant
        return margins, lost * (along[:, None] + along) / np.maximum(determinant, 0.0)


@dataclass(frozen=True)
class _Equations:
    """Equations of the directions without two rows of a query.

    Attributes
    ----------
    rows : array of shape (n_rows, n_directions)
        The query, around its mean.
    labels : array of shape (n_rows,)
        Around their mean.
    factor : float
        Weight of the squares of the rows that are left.
    system : array of shape (n_directions, n_directions)
        Of all other queries, and the ridge.
    right : array of shape (n_directions,)
        Of all other queries.
    """

    rows: Floats
    labels: Floats
    factor: float
    system: Floats
    right: Floats

    def margins(self, first: Ints, second: Ints, length: float) -> tuple[Floats, Floats]:
        """Return the margins of pairs that are left out, and what rounding can do to them.

        Parameters
        ----------
        first, second : int arrays
        length : float
            Of all labels.
        """
        system = self.system + self.factor * (self.rows.T @ self.rows)
        right = self.right + self.factor * (self.rows.T @ self.labels)
        norm = float(np.linalg.norm(system, 2)) if len(right) else 0.0
        eta = np.finfo(np.float64).eps * np.sqrt(len(self.rows) + len(right))
        # (the mean of the others moves by both rows, which a third row stands for)
        removed = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        removed[2] /= np.sqrt(max(1, len(self.rows) - 2))
        pairs, step = (
            np.column_stack([first, second]),
            max(1, _LEFT_OUT_CELLS // max(1, len(right)) ** 2),
        )
        margins, reaches = np.empty(len(pairs)), np.empty(len(pairs))
        for at in range(0, len(pairs), step):
            part = pairs[at : at + step]
            x, y = removed @ self.rows[part], self.labels[part] @ removed.T
            apart = self.rows[part[:, 0]] - self.rows[part[:, 1]]
            left = system - self.factor * (x.transpose(0, 2, 1) @ x)
            pulled = right - self.factor * (y[:, None] @ x)[:, 0]
            w, bent = np.linalg.solve(left, np.stack([pulled, apart], 2)).transpose(2, 0, 1)
            margins[at : at + step] = (apart * w).sum(axis=1)
            size = norm * np.linalg.norm(w, axis=1) + np.sqrt(norm) * length
            reaches[at : at + step] = eta * np.linalg.norm(bent, axis=1) * size
        return margins, reaches


def _kinds(matrix: Floats) -> Ints:
    """Return numbers of rows, the same for equal ones."""
    return np.unique(matrix, axis=0, return_inverse=True)[1].reshape(len(matrix))


def _pairs_of(n: int, u: float) -> float:
    """Return the weight of the pairs of n rows of weight u each."""
    return 0.5 * n * u * (n * u - min(u, 1.0)) if n > 0 else 0.0
