"""Base class of the rankers that weigh features, or rows by a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from sklearn.exceptions import ConvergenceWarning

from crucial.errors import NoProgressWarning, ParameterError
from crucial.estimators.base import Ranker, RankingInput
from crucial.estimators.warn import warn_caller
from crucial.feedback.base import Feedback
from crucial.feedback.labels import QueryWeight, check_labels_of_weights
from crucial.feedback.pairs import PairFeedback
from crucial.feedback.sums import SumFeedback
from crucial.linear.representations import KernelSettings, Representation
from crucial.model.base import FrozenModel
from crucial.model.kernel import KERNELS, KernelCall
from crucial.parameters import (
    above,
    at_least,
    between,
    either,
    flag,
    function,
    int_between,
    none_or,
    one_of,
    parameter,
    with_parameters,
)
from crucial.types import Floats, TableLike, VectorLike

__all__ = ["KernelMachine"]


@with_parameters
class KernelMachine(Ranker[FrozenModel]):
    """Base of rankers of weighted features, or of rows weighted by a kernel.

    Attributes
    ----------
    model_ : AdditiveRanker or KernelRanker
        The weighted features of a linear kernel, or the support rows of any other.
    objective_ : float
        Value of the objective, the ridge included.
    gap_ : float
        The objective is at most this far above its minimum.
    n_iter_ : int
    """

    l2: float = parameter(
        above(0), "Ridge ``(l2 / 2) |w|^2``; above 0.", default=0.01, kw_only=False
    )
    kernel: str | KernelCall = parameter(
        either(one_of(*KERNELS), function),
        '"linear": the score is a weighted sum of the features. "rbf": ``exp(-gamma |x - z|^2)``. '
        '"poly": ``(gamma x.z + coef0)^degree``. "precomputed": X has the kernels of rows with '
        "the rows of `fit`. A function: of two tables of rows, returning the kernel of every two; "
        "its model can be pickled, not saved.",
        default="linear",
    )
    gamma: float | None = parameter(
        none_or(above(0)),
        "Factor of the kernels; None: one over the number of columns times their mean variance.",
        default=None,
    )
    degree: int = parameter(
        int_between(1, 1000), "Degree of the polynomial kernel, up to 1,000.", default=3
    )
    coef0: float = parameter(
        between(0, float("inf"), high_open=True), "Constant of the polynomial kernel.", default=1.0
    )
    n_landmarks: int | None = parameter(
        none_or(at_least(1)),
        "Approximate the kernel by so many landmarks among the rows, chosen one by one as those "
        "which the others explain worst (Nystroem); None: the kernel of every two rows, up to "
        "20,000.",
        default=None,
    )
    standardise: bool = parameter(
        flag,
        "Whether features get mean 0 and standard deviation 1 on the training rows; else they are "
        "taken as they are.",
        default=True,
    )
    balance: str = parameter(
        one_of("pairs", "queries"),
        "Whether all pairs weigh the same, or all queries do.",
        default="pairs",
        grid=("pairs", "queries"),
    )
    tol: float = parameter(
        above(0), "How far above its minimum the objective may be left.", default=1e-4
    )
    max_iter: int = parameter(at_least(1), "Iterations at most.", default=1000)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        precomputed = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.input_tags.pairwise = precomputed
        if precomputed:
            tags.input_tags.allow_nan = False
        return tags

    def _check_combinations(self) -> None:
        if self.n_landmarks is not None and self.kernel in ("linear", "precomputed"):
            raise ParameterError(
                f"n_landmarks={self.n_landmarks} needs a kernel of features other than "
                f"{self.kernel!r}: set kernel='rbf', 'poly' or a function, or n_landmarks=None."
            )

    def _label_feedback(self, data: RankingInput, query_weight: QueryWeight | None) -> Feedback:
        """Return what labels say."""
        raise NotImplementedError

    def _fit(self, data: RankingInput, feedback: Feedback) -> Self:
        """Learn from any feedback."""
        raise NotImplementedError

    def fit(
        self,
        X: TableLike,
        y: VectorLike,
        *,
        qid: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
        query_weight: QueryWeight | None = None,
    ) -> Self:
        """Learn from labels: within a query, a higher label should rank higher.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
            NaN: the feature abstains. For a precomputed kernel, the kernel of every two rows.
        y : array of shape (n_rows,)
            Labels; higher is better.
        qid : array of shape (n_rows,), optional
            Query of every row, of any type, in any order. Without, all rows are one list.
        sample_weight : array of shape (n_rows,), optional
            A row of weight 2 counts as two rows, of weight 0 as none.
        query_weight : array of shape (n_rows,) or mapping from query id, optional
            Factor on the pairs of a query.
        """
        data = self._input(X, y, qid, sample_weight, query_weight)
        return self._fit(data, self._label_feedback(data, query_weight))

    def fit_pairs(
        self,
        X: TableLike,
        pairs: VectorLike,
        *,
        pair_weight: VectorLike | None = None,
        y: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
        qid: VectorLike | None = None,
        query_weight: QueryWeight | None = None,
    ) -> Self:
        """Learn from explicit pairs, each of which asks for 1, and from labels too if given.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        pairs : int array of shape (n_pairs, 2)
            Row numbers (winner, loser); contradictions and cycles are fine.
        pair_weight : array of shape (n_pairs,), optional
            Importance of each pair; a pair that labels imply weighs 1.
        y, sample_weight, qid, query_weight
            As in `fit`.
        """
        check_labels_of_weights(y, sample_weight, query_weight)
        data = self._input(X, y, qid, sample_weight, query_weight, needs_y=False)
        explicit = PairFeedback(pairs, data.instances.n_rows, weight=pair_weight)
        parts: list[Feedback] = [explicit]
        if data.labels is not None:
            parts.insert(0, self._label_feedback(data, query_weight))
        else:
            data = self._with_numbers(data, pairs=explicit)
        return self._fit(data, parts[0] if len(parts) == 1 else SumFeedback(parts))

    def _settings(self) -> KernelSettings:
        named = str(self.kernel) if isinstance(self.kernel, str) else self.kernel
        return KernelSettings(
            named,
            None if self.gamma is None else float(self.gamma),
            int(self.degree),
            float(self.coef0),
            self.n_landmarks,
            bool(self.standardise),
        )

    def _set_solution(
        self,
        data: RankingInput,
        feedback: Feedback,
        seen: Representation,
        weights: Floats,
        figures: Mapping[str, float],
    ) -> None:
        """Make and keep the model of the weights that were found."""
        if not seen.n_columns:
            warn_caller("no feature distinguishes any rows; all scores are 0.", NoProgressWarning)
        summary = self._summary(figures, feedback, data.with_qid)
        self._set_model(seen.model(weights, data.instances, summary), data.with_qid)

    def _set_figures(
        self, value: float, gap: float, n_iter: int, enough: float
    ) -> dict[str, float]:
        """Keep and return how far a solver got; warn if the gap is not small enough."""
        self.objective_, self.gap_, self.n_iter_ = value, gap, max(1, n_iter)
        if gap > enough:
            remedy = "raise max_iter, l2 or tol."
            if n_iter < getattr(self, "max_iter", 0):
                remedy = "rounding hides the rest: raise tol or l2, or scale the features."
            warn_caller(
                f"{n_iter} steps left the objective up to {gap:.2g} above its minimum; {remedy}",
                ConvergenceWarning,
            )
        # (digits beyond these are rounding, which would differ from machine to machine)
        kept = float(f"{value:.12g}")
        return {"objective": kept, "gap": max(gap, 1e-12 * kept)}
