"""RankRLS, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from crucial.data.arrays import check_values
from crucial.errors import DataError, ParameterError
from crucial.estimators.base import RankingInput
from crucial.estimators.kernel_ranker import KernelMachine
from crucial.feedback.base import Feedback
from crucial.feedback.differences import DifferenceFeedback
from crucial.feedback.labels import LabelFeedback, QueryWeight
from crucial.kernels.runtime import count_threads, one_blas_thread
from crucial.linear.dense_rows import DenseRows
from crucial.linear.design import Design
from crucial.linear.differences import Centring
from crucial.linear.landmarks import Landmarks
from crucial.linear.least_squares import (
    NormalEquations,
    check_memory,
    conjugate_gradients,
    solve_kernel,
    solve_rows,
)
from crucial.linear.left_out import Decomposition, LeftOut
from crucial.linear.normal_equations import normal_equations
from crucial.linear.regularisation_path import RegularisationPath, regularisation_path
from crucial.linear.representations import KernelRows, WeightedColumns, represent
from crucial.linear.solution import Solution
from crucial.parameters import parameter, with_parameters
from crucial.types import Floats, TableLike, VectorLike

__all__ = ["RankRLS"]

#: Ridges of `RankRLS.path`, unless others are passed.
RIDGES = tuple(10.0**k for k in range(-5, 3))


@with_parameters
class RankRLS(KernelMachine):
    """Regress the differences of labels within queries: RankRLS (Pahikkala et al. 2009).

    The score f is a weighted sum of the features, or a kernel expansion. It minimises ::

        mean over pairs of ((f_i - f_j) - (y_i - y_j))^2  +  (l2 / 2) |f|^2

    over every two rows of a query, those of equal labels included, which should get equal scores.
    It is solved in closed form without listing a pair: O(n p^2) for n rows of p features, O(n^2 p)
    where the rows are fewer, O(n^3) for a kernel. `path` does so for many ridges by one
    decomposition, `leave_query_out` and `leave_pair_out` cross-validate in closed form.

    Attributes
    ----------
    n_iter_ : int
        1 in closed form; Newton's steps by conjugate gradients (sparse features, explicit pairs).

    Notes
    -----
    The ridge is lambda of the papers times 2. Features are standardised inside and cut off at the
    range that they had in training. Where a feature abstains it counts as its mean.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import RankRLS
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> y, qid = [2, 1, 0, 1, 0], ["a", "a", "a", "b", "b"]
    >>> RankRLS().fit(X, y, qid=qid).rank(X[:3], ["a"] * 3).tolist()
    [1, 2, 3]
    >>> RankRLS().path(X, y, qid=qid, l2=[0.01, 1.0]).left_out.tolist()
    [1.0, 1.0]
    """

    l2: float = parameter(
        text="Ridge ``(l2 / 2) |f|^2`` beside the mean over pairs, lambda of the papers times 2; "
        "above 0. A Gaussian kernel takes a ridge about as many times smaller as there are "
        "features.",
        default=0.1,
        kw_only=False,
        grid=(0.001, 0.01, 0.1, 1.0),
    )
    tol: float = parameter(
        text="Where conjugate gradients solve it: how far above its minimum the objective may be "
        "left, as a share of the loss of equal scores.",
        default=1e-9,
    )
    max_iter: int = parameter(text="Steps of up to 250 conjugate gradients at most.", default=100)

    def path(
        self,
        X: TableLike,
        y: VectorLike,
        *,
        l2: Sequence[float] = RIDGES,
        qid: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
        query_weight: QueryWeight | None = None,
    ) -> RegularisationPath:
        """Return errors, in training and of what is left out, for many ridges.

        One decomposition serves all of them. Queries are left out one by one, or pairs where there
        is one query.

        Parameters
        ----------
        X, y, qid, sample_weight, query_weight
            As in `fit`.
        l2 : sequence of float
            The ridges; the parameter of the same name is not used.
        """
        ridges = np.asarray(l2, np.float64)
        if ridges.ndim != 1 or not len(ridges) or not (ridges > 0).all():
            raise ParameterError(f"path needs ridges above 0: l2=[0.01, 0.1, ...]. Got {l2!r}.")
        data = self._input(X, y, qid, sample_weight, query_weight)
        feedback = self._label_feedback(data, query_weight)
        measured_by = LabelFeedback(
            data.known_labels,
            data.groups,
            weight=data.weight,
            balance=self.balance,
            query_weight=query_weight,
        )
        parts = self._decomposed(data, feedback)
        return regularisation_path(feedback, parts, measured_by, ridges, self._balanced)

    def leave_query_out(
        self,
        X: TableLike,
        y: VectorLike,
        *,
        qid: VectorLike,
        sample_weight: VectorLike | None = None,
        query_weight: QueryWeight | None = None,
    ) -> Floats:
        """Return the score of every row by a ranker that did not see its query, in closed form.

        The scores of a query are centred. Means and standard deviations of the features are those
        of all rows.

        Parameters
        ----------
        X, y, qid, sample_weight, query_weight
            As in `fit`; at least two queries. Rows of weight 0 get NaN.
        """
        data = self._input(X, y, qid, sample_weight, query_weight)
        feedback = self._label_feedback(data, query_weight)
        if feedback.n_queries < 2:
            raise DataError(
                "leave_query_out needs at least two queries of two rows.",
                remedy="Use leave_pair_out, which leaves out the rows of a pair.",
                parameter="qid",
            )
        left_out = LeftOut(feedback, self._decomposed(data, feedback), self._balanced)
        out = np.zeros(data.instances.n_rows)
        if data.weight is not None:
            out[data.weight == 0] = np.nan
        out[feedback.rows] = left_out.queries(float(self.l2))
        return out

    def leave_pair_out(
        self,
        X: TableLike,
        y: VectorLike,
        *,
        qid: VectorLike | None = None,
        query_weight: QueryWeight | None = None,
    ) -> float:
        """Return the share of pairs in the right order, each by a ranker that saw neither row.

        For two labels it is an AUC that is almost unbiased also on few rows. A tie counts half;
        margins are ties up to what rounding can do to them. Means and standard deviations of the
        features are those of all rows. It takes O(n^2) per query after one decomposition, and
        equations of their own for the pairs that are close to a tie.

        Parameters
        ----------
        X, y, qid, query_weight
            As in `fit`.
        """
        data = self._input(X, y, qid, None, query_weight)
        feedback = self._label_feedback(data, query_weight)
        left_out = LeftOut(feedback, self._decomposed(data, feedback), self._balanced)
        return left_out.pairs(float(self.l2))[0]

    @property
    def _balanced(self) -> bool:
        return bool(self.balance == "queries")

    def _label_feedback(
        self, data: RankingInput, query_weight: QueryWeight | None
    ) -> DifferenceFeedback:
        check_values(data.known_labels, "RankRLS")
        return DifferenceFeedback(
            data.known_labels,
            data.groups,
            data.weight,
            balance=self.balance,
            query_weight=query_weight,
        )

    def _by_blocks(
        self, data: RankingInput, feedback: DifferenceFeedback
    ) -> tuple[WeightedColumns, Solution] | None:
        """Solve the normal equations of dense features without a copy of them.

        None where values are so large that sums of them overflow.
        """
        rows = DenseRows(data.instances, feedback.rows, count_threads(self.n_jobs))
        ranges = rows.ranges(feedback.weight)
        if ranges is None:
            return None
        centring, standard = Centring(feedback), bool(self.standardise)
        parts = normal_equations(rows, ranges, centring, feedback.labels, standard)
        equations = NormalEquations(parts.gram, parts.right, parts.square, feedback.whole)
        scale = (ranges.high - ranges.low) / parts.spread
        design = Design(np.zeros((0, len(scale))), ranges.rankers(), scale)
        return WeightedColumns(design), equations.solve(self.l2)

    def _fit(self, data: RankingInput, feedback: Feedback) -> Self:
        n_features, dense = data.instances.n_features, not data.instances.is_sparse
        wide = dense and len(feedback.rows) < n_features
        if dense and isinstance(feedback, DifferenceFeedback) and self.kernel == "linear":
            check_memory(len(feedback.rows), n_features)
            solved = None if wide else self._by_blocks(data, feedback)
            if solved is not None:
                return self._keep(data, feedback, *solved, np.inf)
        threads, enough = count_threads(self.n_jobs), np.inf
        seen = represent(data.instances, feedback.rows, feedback.weight, self._settings(), threads)
        if wide and isinstance(feedback, DifferenceFeedback) and isinstance(seen, WeightedColumns):
            found = solve_rows(seen.matrix, feedback, self.l2)
        elif not isinstance(feedback, DifferenceFeedback) or isinstance(seen, WeightedColumns):
            rules = (seen.space(threads), self.l2, self.tol, self.max_iter)
            with one_blas_thread():
                found, enough = conjugate_gradients(feedback, *rules)
        elif isinstance(seen, KernelRows):
            found = solve_kernel(seen.gram, feedback, self.l2)
        else:
            equations = NormalEquations.of_columns(seen.matrix, Centring(feedback), feedback)
            found = equations.solve(self.l2)
        return self._keep(data, feedback, seen, found, enough)

    def _keep(
        self,
        data: RankingInput,
        feedback: Feedback,
        seen: WeightedColumns | KernelRows | Landmarks,
        found: Solution,
        enough: float,
    ) -> Self:
        figures = self._set_figures(found.value, found.gap, found.n_iter, enough)
        self._set_solution(data, feedback, seen, found.weights, figures)
        return self

    def _decomposed(self, data: RankingInput, feedback: DifferenceFeedback) -> Decomposition:
        """Return the decomposition that serves every ridge and everything that is left out."""
        centring, labels = Centring(feedback), feedback.labels
        threads = count_threads(self.n_jobs)
        if self.kernel == "linear":
            check_memory(len(feedback.rows), data.instances.n_features)
        seen = represent(data.instances, feedback.rows, feedback.weight, self._settings(), threads)
        if isinstance(seen, KernelRows):
            return Decomposition.of_kernel(seen.gram, centring, labels)
        matrix = seen.matrix
        dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        return Decomposition.of_columns(dense, centring, labels)
