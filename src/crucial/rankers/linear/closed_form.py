"""Solve RankRLS, its cross-validation and its path of ridges in closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.linalg import LinAlgError

from crucial.data.arrays import check_room
from crucial.errors import DataError
from crucial.feedback.base import Feedback
from crucial.feedback.labels import LabelFeedback
from crucial.kernels.elementary import column_sums, dot, gram_of, row_sums, solve_positive
from crucial.rankers.linear.columns import (
    ColumnRanges,
    DenseRows,
    DifferenceFeedback,
    KernelSpace,
    around_mean,
    folded,
)
from crucial.rankers.linear.losses import FeedbackLoss, ListedLoss, Product
from crucial.rankers.linear.solvers import Minimum
from crucial.results import Frame, Result, as_frame
from crucial.types import Bools, Floats, Ints

# --- Squared errors of differences, as functions of the scores of the rows (RankRLS)
#
# With r the scores minus the labels of a query of n rows, ::
#
#     sum over i < j of (r_i - r_j)^2  =  r'Lr,     L = n I - 11'
#
# and with instance weights u, ``L = (sum u) diag(u) - u u'`` (Pahikkala et al. 2009). So no pair is
# listed: ``L = C C'``, where C' centres each query, and it is a least squares problem of centred
# rows.


class Centring:
    """The Laplacian of the pairs of all queries, L, and its factor C.

    Parameters
    ----------
    feedback : DifferenceFeedback
    """

    def __init__(self, feedback: DifferenceFeedback) -> None:
        self.starts, self.mass = feedback.starts, feedback.mass
        sizes = np.diff(feedback.starts)
        self.query = np.repeat(np.arange(len(sizes)), sizes)
        self.weight = np.ones(len(self.query)) if feedback.weight is None else feedback.weight
        self.coefficient = feedback.coefficient
        #: Factor on every centred row.
        self.scale = np.sqrt((feedback.coefficient * self.mass)[self.query] * self.weight)

    def means(self, values: Floats) -> Floats:
        """Return the weighted mean of every query, of a vector or of the columns of a table."""
        weight = self.weight if values.ndim == 1 else self.weight[:, None]
        sums = np.add.reduceat(weight * values, self.starts[:-1], axis=0)
        return np.asarray(sums / (self.mass if values.ndim == 1 else self.mass[:, None]))

    def factor(self, values: Floats) -> Floats:
        """Return ``C' values``: every query around its mean, times the scale of its rows."""
        centred = values - self.means(values)[self.query]
        return np.asarray(centred * (self.scale if values.ndim == 1 else self.scale[:, None]))

    def back(self, values: Floats) -> Floats:
        """Return ``C values``, for a vector."""
        pulled = self.scale * values
        means = np.add.reduceat(pulled, self.starts[:-1]) / self.mass
        return np.asarray(pulled - self.weight * means[self.query])

    def laplacian(self, values: Floats) -> Floats:
        """Return ``L values``, for a vector."""
        centred = values - self.means(values)[self.query]
        return np.asarray(self.scale**2 * centred)


class LabelDifferences:
    """Half of the mean over pairs of the squared error of the difference; a `CurvedLoss`.

    Parameters
    ----------
    feedback : DifferenceFeedback
    """

    def __init__(self, feedback: DifferenceFeedback) -> None:
        self._centring = Centring(feedback)
        self._labels, self._whole = feedback.labels, feedback.whole

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return the loss, and its gradient by the scores."""
        error = scores - self._labels
        pull = self._centring.laplacian(error) / self._whole
        return 0.5 * dot(error, pull), pull

    def curvature(self, scores: Floats) -> Product:
        """Return the product with the second derivative, the same at all scores."""
        return lambda move: self._centring.laplacian(move) / self._whole


def difference_loss(feedback: Feedback) -> FeedbackLoss:
    """Return the mean squared error of the differences of a feedback.

    Explicit pairs ask for a difference of 1.

    Examples
    --------
    >>> from crucial.data.groups import Groups
    >>> loss = difference_loss(DifferenceFeedback(np.array([2.0, 1.0, 0.0]), Groups.single(3)))
    >>> round(loss(np.zeros(3))[0], 6)  # (1 + 1 + 4) / 3
    2.0
    """

    def part_loss(part: Feedback) -> LabelDifferences | ListedLoss:
        if isinstance(part, DifferenceFeedback):
            return LabelDifferences(part)
        return ListedLoss(part, hinge=False)

    return FeedbackLoss(feedback, part_loss, factor=2.0)


# --- Solve RankRLS: normal equations, a kernel's equations, or conjugate gradients
#
# With ``lambda = l2 / 2`` and N the weight of all pairs, RankRLS minimises ::
#
#     (1 / N) sum_q c_q sum_{i < j in q} ((f_i - f_j) - (y_i - y_j))^2 + lambda |f|^2
#
# (Pahikkala et al. 2009), which linear f solve by ``(X'LX / N + lambda I) w = X'Ly / N``, and
# kernel expansions by ``(C'KC / N + lambda I) a~ = C'y / N`` with ``a = C a~``. Linear f of more
# columns than rows are solved by the second with ``K = XX'``, and ``w = X'a``.


# Binary digits that are kept of weights that LAPACK found, twelve decimal ones: in the solution of
# well-conditioned equations, CPUs differ from the fifteenth on.
_DIGITS = 40


def rounded(values: Floats, size: float) -> Floats:
    """Round weights to the digits that equations solved by LAPACK have on every machine.

    Parameters
    ----------
    values : array
    size : float
        That of the scores, from which digits are counted: rounding then moves a score by little
        even where large weights cancel out.

    Examples
    --------
    >>> rounded(np.array([1.0 + 1e-13, 1e-14]), 1.0).tolist()
    [1.0, 0.0]
    """
    shift = _DIGITS - math.frexp(size)[1]
    if not size > 0.0:
        return values
    return np.asarray(np.ldexp(np.round(np.ldexp(values, shift)), -shift))


@dataclass(frozen=True)
class NormalEquations:
    """The objective as a quadratic form of the weights, without the ridge.

    Attributes
    ----------
    gram : array of shape (n_columns, n_columns)
        ``X'LX``.
    right : array of shape (n_columns,)
        ``X'Ly``.
    square : float
        ``y'Ly``.
    whole : float
        N, the weight of all pairs.
    """

    gram: Floats
    right: Floats
    square: float
    whole: float

    @classmethod
    def of_columns(cls, matrix: Floats, feedback: DifferenceFeedback) -> NormalEquations:
        """Return the equations of columns that are in memory."""
        centring = Centring(feedback)
        centred, target = centring.factor(matrix), centring.factor(feedback.labels)
        gram, right = gram_of(centred), column_sums(centred, target)
        return cls(gram, right, dot(target, target), feedback.whole)

    def solve(self, l2: float) -> Minimum:
        """Return the minimum with a ridge; its gap is what rounding left."""
        n = len(self.right)
        system = self.gram / self.whole
        system[np.diag_indices(n)] += 0.5 * l2
        right = self.right / self.whole
        w = solve_positive(system, right)
        image = row_sums(system, w)
        w = rounded(w, math.sqrt(max(0.0, dot(w, image) - 0.5 * l2 * dot(w, w))))
        image = row_sums(system, w)
        value = self.square / self.whole + dot(w, image - 2.0 * right)
        slope = 2.0 * (image - right)
        return Minimum(w, max(0.0, value), dot(slope, slope) / (2.0 * l2), 1)


def check_memory(n_rows: int, n_columns: int) -> None:
    """Refuse columns whose equations do not fit into memory."""
    fewer = min(n_rows, n_columns)
    # (the equations, what they are made of and their factors; two copies of rows of more columns)
    cells = 4 * fewer**2 + (2 * n_rows * n_columns if n_rows < n_columns else 0)
    check_room(
        8 * cells,
        f"RankRLS of {n_rows:,} rows of {n_columns:,} features",
        "Use RankingSVM, fewer features (such as by SelectByRanking), sparse features, or another "
        "kernel with n_landmarks.",
    )


def solve_rows(matrix: Floats, feedback: DifferenceFeedback, l2: float) -> Minimum:
    """Return the weights of columns by equations of the rows: O(n^2 p) for n rows, p columns."""
    centring = Centring(feedback)
    centred, target = centring.factor(matrix), centring.factor(feedback.labels)
    system = gram_of(np.ascontiguousarray(centred.T)) / feedback.whole
    system[np.diag_indices_from(system)] += 0.5 * l2
    w = column_sums(centred, solve_positive(system, target / feedback.whole))
    image = row_sums(centred, w)
    w = rounded(w, math.sqrt(dot(image, image) / feedback.whole))
    rest = target - row_sums(centred, w)
    value = dot(rest, rest) / feedback.whole + 0.5 * l2 * dot(w, w)
    slope = l2 * w - (2.0 / feedback.whole) * column_sums(centred, rest)
    return Minimum(w, value, dot(slope, slope) / (2.0 * l2), 1)


def solve_kernel(space: KernelSpace, feedback: DifferenceFeedback, l2: float) -> Minimum:
    """Return the coefficients of rows that minimise the objective; they sum to 0 in a query."""
    centring = Centring(feedback)
    centred = centring.factor(centring.factor(space.gram).T)
    centred /= feedback.whole
    centred[np.diag_indices_from(centred)] += 0.5 * l2
    target = centring.factor(feedback.labels) / feedback.whole
    try:
        coefficients = centring.back(solve_positive(centred, target))
    except LinAlgError:
        raise DataError(
            "the kernel is not positive semidefinite.",
            remedy="Use another kernel, add a constant to its diagonal, or raise l2.",
            parameter="kernel",
        ) from None
    spread = centring.factor(space.scores(coefficients))
    coefficients = rounded(coefficients, math.sqrt(dot(spread, spread) / feedback.whole))
    # (what rounding adds to the sum of a query is taken off its last row)
    coefficients[centring.starts[1:] - 1] -= np.add.reduceat(coefficients, centring.starts[:-1])
    scores = space.scores(coefficients)
    loss, by_score = difference_loss(feedback)(scores)
    length = space.dot(coefficients, coefficients, scores)
    slope = by_score + l2 * coefficients
    rest = max(0.0, space.dot(slope, slope, space.scores(slope)))
    return Minimum(coefficients, loss + 0.5 * l2 * length, rest / (2.0 * l2), 1)


# --- Cross-validation of RankRLS in closed form, and its path of ridges, by one decomposition
#
# RankRLS is a ridge regression of centred rows: with ``L = C C'``, centred columns ``X~ = C'X`` (or
# ``K~ = C'KC``) and labels ``y~ = C'y`` it minimises ``|y~ - X~ w|^2 + M |w|^2`` with M the ridge
# times the weight of all pairs. With ``X~'X~ = V diag(e) V'`` and ``T = X~ V``, ::
#
#     theta = T'y~ / (e + M),     fitted = T theta,     H = T diag(1 / (e + M)) T'
#
# for every M. A kernel has ``T = U sqrt(e)`` for ``K~ = U diag(e) U'``. What a fit without the rows
# of a block predicts for them is short of the labels by ``(I - H_bb)^-1 (y~ - fitted)_b``, which
# leaves a query out at once (Pahikkala et al. 2009). Leaving out a pair changes the size of its
# query
# and so all of its centred rows. But a query given all others is a ridge regression with an
# intercept
# again, whose kernel is the part of ``(I - H_bb)^-1`` beyond I, and of which any two rows are left
# out by a 2 x 2 system: O(n^2) for all pairs of a query.
#
# A tie counts half, so that a margin of 0 must be found as 0. Two equal rows have one, and so has
# every pair without which the labels of each query are equal. Other margins close to 0 are computed
# again from the equations ``A w = b`` without the pair, since the 2 x 2 systems may cancel.
# Roundings
# act there as if A were off by ``eta |A|`` and b by ``eta sqrt(|A|) |y~|``, with eta about sqrt(n)
# times the precision of floats. They move the margin of rows that are d apart by up to ::
#
#     eta |A^-1 d| (|A| |w| + sqrt(|A|) |y~|)
#
# and a margin up to that counts as 0.


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
    labels : array of shape (n_rows,)
        y~.
    kinds : int array of shape (n_rows,)
        The same number for equal rows.
    """

    rows: Floats
    values: Floats
    labels: Floats
    kinds: Ints

    @classmethod
    def of_columns(cls, matrix: Floats, centring: Centring, labels: Floats) -> Decomposition:
        """Decompose columns; rows, where they are fewer."""
        centred, target = centring.factor(matrix), centring.factor(labels)
        if len(centred) < centred.shape[1]:
            vectors, lengths, _ = np.linalg.svd(centred, full_matrices=False)
            return cls(vectors * lengths, lengths**2, target, _kinds(matrix))
        values, directions = np.linalg.eigh(centred.T @ centred)
        return cls(centred @ directions, np.maximum(values, 0.0), target, _kinds(matrix))

    @classmethod
    def of_kernel(cls, gram: Floats, centring: Centring, labels: Floats) -> Decomposition:
        """Decompose a kernel."""
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
        return cls(vectors * np.sqrt(values), values, centring.factor(labels), _kinds(gram))


class LeftOut:
    """What RankRLS predicts for rows that it did not learn from.

    Parameters
    ----------
    feedback : DifferenceFeedback
    decomposition : Decomposition
    """

    def __init__(self, feedback: DifferenceFeedback, decomposition: Decomposition) -> None:
        self._feedback, self._parts = feedback, decomposition
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
        if self._feedback.balanced:
            return float(np.mean(shares[some])), shares
        return float(right.sum() / count.sum()), shares

    def path(self, l2: Floats, measured_by: LabelFeedback) -> RegularisationPath:
        """Return RankRLS for many ridges.

        Parameters
        ----------
        l2 : array
        measured_by : LabelFeedback
            The pairs whose order is counted.
        """
        feedback, parts = self._feedback, self._parts
        kind = "query" if feedback.n_queries > 1 else "pair"
        figures = []
        for one in l2.tolist():
            theta = self._pulled / (parts.values + 0.5 * one * feedback.whole)
            rest = parts.labels - parts.rows @ theta
            error, length = dot(rest, rest) / feedback.whole, dot(theta, theta)
            if kind == "query":
                scores = np.zeros(feedback.n_rows)
                scores[feedback.rows] = self.queries(one)
                share = 1.0 - measured_by.r2(scores)
            else:
                share = self.pairs(one)[0]
            figures.append((error + 0.5 * one * length, error, np.sqrt(length), share))
        objective, errors, norms, shares = np.array(figures).reshape(-1, 4).T
        return RegularisationPath(l2, objective, errors, norms, shares, kind)

    def margins(self, query: int, l2: float) -> Floats:
        """Return ``f_i - f_j`` of all rows of a query, of a fit without i and j: O(n^2)."""
        feedback = self._feedback
        a, b = feedback.starts[query : query + 2].tolist()
        n, y = b - a, feedback.labels[a:b]
        u = 1.0 if feedback.weight is None else float(feedback.weight[a])
        c = float(feedback.coefficient[query])
        # The query without two of its rows, and the weight of all pairs then.
        left, left_pairs = (n - 2) * u, _pairs_of(n - 2, u)
        c_left = (
            c * feedback.pairs[query] / left_pairs if self._feedback.balanced and left_pairs else c
        )
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
            centred = (around / scale, labels / scale, factor)
            pairs, length = np.column_stack([first, second]), np.linalg.norm(self._parts.labels)
            margin, reach = _margins_left_out(centred, (system, right), pairs, float(length))
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


def _margins_left_out(
    query: tuple[Floats, Floats, float], others: tuple[Floats, Floats], pairs: Ints, length: float
) -> tuple[Floats, Floats]:
    """Return the margins of pairs that are left out, and what rounding can do to them.

    Parameters
    ----------
    query : (array of shape (n_rows, n_directions), array of shape (n_rows,), float)
        Rows and labels of a query, around their means, and the weight of the squares of the rows
        that are left.
    others : (array of shape (n_directions, n_directions), array of shape (n_directions,))
        Equations of the directions of all other queries and the ridge, and their right sides.
    pairs : int array of shape (n_pairs, 2)
    length : float
        Of all labels.
    """
    rows, labels, factor = query
    system = others[0] + factor * (rows.T @ rows)
    right = others[1] + factor * (rows.T @ labels)
    norm = float(np.linalg.norm(system, 2)) if len(right) else 0.0
    eta = np.finfo(np.float64).eps * np.sqrt(len(rows) + len(right))
    # (the mean of the others moves by both rows, which a third row stands for)
    removed = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    removed[2] /= np.sqrt(max(1, len(rows) - 2))
    step = max(1, _LEFT_OUT_CELLS // max(1, len(right)) ** 2)
    margins, reaches = np.empty(len(pairs)), np.empty(len(pairs))
    for at in range(0, len(pairs), step):
        part = pairs[at : at + step]
        x, y = removed @ rows[part], labels[part] @ removed.T
        apart = rows[part[:, 0]] - rows[part[:, 1]]
        left = system - factor * (x.transpose(0, 2, 1) @ x)
        pulled = right - factor * (y[:, None] @ x)[:, 0]
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


# --- RankRLS for many ridges, from one decomposition


_FIGURES = ("l2", "objective", "error", "norm", "left_out")


@dataclass(frozen=True, eq=False, repr=False)
class RegularisationPath(Result):
    """RankRLS for many ridges.

    Attributes
    ----------
    l2 : array of shape (n_ridges,)
    objective : array of shape (n_ridges,)
        Mean squared error over pairs and the ridge.
    error : array of shape (n_ridges,)
        Mean squared error over pairs.
    norm : array of shape (n_ridges,)
        ``|f|``, the length of the weights.
    left_out : array of shape (n_ridges,)
        Share of pairs in the right order, ties counted half, by rankers that did not see the query
        of the pair, or neither of its rows where there is one query.
    kind : {"query", "pair"}
        What was left out.
    """

    l2: Floats
    objective: Floats
    error: Floats
    norm: Floats
    left_out: Floats
    kind: str

    @property
    def best_l2(self) -> float:
        """The ridge with the largest share; of equal ones the largest ridge."""
        best = self.left_out.max()
        return float(self.l2[self.left_out >= best - 1e-10 * abs(best)].max())

    def to_frame(self) -> Frame:
        """Return one row per ridge."""
        return as_frame({name: getattr(self, name) for name in _FIGURES})

    def __str__(self) -> str:
        left_out = f"by leaving out every {self.kind}"
        lines = [f"{len(self.l2)} ridges of RankRLS, the best l2={self.best_l2:g} {left_out}"]
        lines.append(f"{'l2':>10} {'objective':>12} {'|f|':>10} {'left out':>9}")
        for row in zip(self.l2, self.objective, self.norm, self.left_out, strict=True):
            lines.append("{:>10.3g} {:>12.6g} {:>10.4g} {:>9.4f}".format(*row))
        return "\n".join(lines)


# --- The normal equations of RankRLS over dense features, in passes over blocks of rows
#
# No centred copy of the table is made.


# Numbers in the sums of blocks that wait to be added up.
_CELLS = 1 << 24


def normal_equations(
    rows: DenseRows, ranges: ColumnRanges, feedback: DifferenceFeedback, standard: bool
) -> tuple[NormalEquations, Floats]:
    """Return the normal equations of columns, and by what these were divided.

    Parameters
    ----------
    rows : DenseRows
    ranges : ColumnRanges
    feedback : DifferenceFeedback
    standard : bool
        Whether the columns of X are divided by their standard deviations.
    """
    centring = Centring(feedback)
    target = centring.factor(feedback.labels)
    # (the only query has the mean of all rows, which abstentions count as)
    one = len(centring.mass) == 1
    spread, means = (None, None) if one else _spreads_and_means(rows, ranges, centring)
    plain = one and bool((centring.weight == 1.0).all())
    factor = float(centring.scale[0]) if plain else 1.0

    def part(a: int, b: int, block: Floats) -> tuple[Floats, Floats]:
        centred = around_mean(block, ranges)
        if means is not None:
            centred -= means[centring.query[a:b]]
        if not plain:
            centred *= centring.scale[a:b, None]
        return gram_of(centred), column_sums(centred, target[a:b])

    gram = np.zeros((len(ranges.features),) * 2)
    right = np.zeros(len(ranges.features))
    most = max(2, _CELLS // max(1, gram.size))
    for own, pulled in rows.over_blocks(part, most):
        gram += own
        right += pulled
    gram *= factor * factor
    right *= factor
    if not standard:
        spread = np.ones(len(right))
    elif spread is None:
        spread = np.sqrt(np.diag(gram) / (centring.coefficient * centring.mass * ranges.mass))
    spread = np.where(spread > 0, spread, 1.0)  # (only a row of negligible weight differs)
    gram, right = gram / np.outer(spread, spread), right / spread
    return NormalEquations(gram, right, dot(target, target), feedback.whole), spread


def _spreads_and_means(
    rows: DenseRows, ranges: ColumnRanges, centring: Centring
) -> tuple[Floats, Floats]:
    """Return the standard deviations of columns, and their means in queries around those of all."""
    sums = np.zeros((len(centring.mass), len(ranges.features)))
    weighted = bool((centring.weight != 1.0).any())

    def part(a: int, b: int, block: Floats) -> tuple[Ints, Floats, Floats]:
        centred = around_mean(block, ranges)
        moved = centred * centring.weight[a:b, None] if weighted else centred
        query = centring.query[a:b]
        first = np.flatnonzero(np.diff(query, prepend=-1))
        found = np.add.reduceat(moved, first, axis=0)
        np.multiply(centred, moved, out=centred)
        return query[first], found, folded(np.add, centred)

    squares = np.zeros(len(ranges.features))
    for queries, found, own in rows.over_blocks(part):
        sums[queries] += found
        squares += own
    means: Floats = sums / centring.mass[:, None]
    return np.sqrt(squares / ranges.mass), means
