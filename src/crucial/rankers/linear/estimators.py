"""Linear and kernel rankers as scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from crucial.data.arrays import check_values
from crucial.data.instances import Instances
from crucial.errors import DataError, NoProgressWarning, ParameterError
from crucial.feedback.base import Feedback, LabelledRows
from crucial.feedback.labels import LabelFeedback, QueryWeight, check_labels_of_weights, top_labels
from crucial.feedback.pairs import PairFeedback
from crucial.feedback.sums import SumFeedback
from crucial.kernels.runtime import count_threads, one_blas_thread
from crucial.model.additive import AdditiveRanker
from crucial.model.base import FrozenModel
from crucial.model.kernel import KERNELS, KernelCall
from crucial.model.weak import Presence, ScaledFeature, WeakRankerLike
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
from crucial.rankers.base import Ranker, RankingInput, warn_caller
from crucial.rankers.linear.closed_form import (
    Centring,
    Decomposition,
    LeftOut,
    NormalEquations,
    RegularisationPath,
    check_memory,
    conjugate_gradients,
    normal_equations,
    regularisation_path,
    solve_kernel,
    solve_rows,
)
from crucial.rankers.linear.columns import (
    DenseRows,
    Design,
    DifferenceFeedback,
    KernelRows,
    KernelSettings,
    Landmarks,
    Matrix,
    Representation,
    WeightedColumns,
    represent,
)
from crucial.rankers.linear.l1 import (
    HingePush,
    InfinitePushLoss,
    LogPenalty,
    MinimaxConcave,
    Penalty,
    PowerPenalty,
    SparseMinimum,
    frank_wolfe,
    l1_planes,
    minimise_concave,
    minimise_l1,
)
from crucial.rankers.linear.losses import (
    CosineLists,
    DiscountedPairs,
    HalfSquaredHinge,
    HuberLoss,
    ListLikelihood,
    PrecisionLoss,
    SquaredHinge,
    add_features,
    hinges_of,
    ideal_discounts,
)
from crucial.rankers.linear.newton import Minimum, Solution, lbfgs, newton, truncated_newton
from crucial.rankers.linear.planes import HingeMinimum, cutting_planes, load_solver, minimise_hinge
from crucial.types import Floats, TableLike, VectorLike

# --- Base classes of the rankers that are one weighted sum of the features


@dataclass(frozen=True)
class WeightedFeatures:
    """What a linear ranker learned.

    Attributes
    ----------
    rankers : sequence of weak rankers, one feature each
    weights : array like rankers
    figures : mapping from str to float
        For the training summary.
    empty : str
        The warning where there are no rankers.
    """

    rankers: Sequence[WeakRankerLike]
    weights: Floats
    figures: Mapping[str, float]
    empty: str = "no feature distinguishes any rows; all scores are 0."

    def but_empty(self, warning: str) -> WeightedFeatures:
        """Return the same with another warning."""
        return replace(self, empty=warning)


@with_parameters
class LinearRanker(Ranker[AdditiveRanker]):
    """Base of linear rankers: a subclass learns in `_learn`.

    Attributes
    ----------
    model_ : AdditiveRanker
        The weighted features, which can be saved and shown.
    n_iter_ : int
    """

    n_jobs: int | None = parameter(text="Threads of `predict`; None for all cores.", default=None)

    def _learn(self, instances: Instances, feedback: LabelFeedback) -> WeightedFeatures:
        """Find the weights, and set the attributes that report how."""
        raise NotImplementedError

    def _labels(self, data: RankingInput) -> Floats:
        """Return the labels to learn from; a ranker that sees only part of them replaces this."""
        return data.known_labels

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
            NaN: the feature abstains.
        y : array of shape (n_rows,)
            Labels. Rows of equal labels are not compared.
        qid : array of shape (n_rows,), optional
            Query of every row, of any type, in any order. Without, all rows are one list.
        sample_weight : array of shape (n_rows,), optional
            A row of weight 2 counts as two rows, of weight 0 as none.
        query_weight : array of shape (n_rows,) or mapping from query id, optional
            Factor on the loss of a query.
        """
        data = self._input(X, y, qid, sample_weight, query_weight)
        feedback = LabelFeedback(
            self._labels(data), data.groups, weight=data.weight, query_weight=query_weight
        )
        learned = self._learn(data.instances, feedback)
        if not len(learned.rankers):
            warn_caller(learned.empty, NoProgressWarning)
        model = AdditiveRanker(
            data.instances.n_features,
            learned.rankers,
            learned.weights,
            data.instances.names,
            self._summary(learned.figures, feedback, data.with_qid),
        )
        self._set_model(model, data.with_qid)
        return self


@with_parameters
class RidgeRanker(LinearRanker):
    """Base of linear rankers that minimise a convex loss and a ridge, in `_minimise`.

    Attributes
    ----------
    objective_ : float
        Value of the objective, the ridge included.
    gap_ : float
        The objective is at most this far above its minimum.
    """

    #: What happens where a feature abstains; see `Design`.
    _abstentions: ClassVar[Literal["mean", "learned"]] = "mean"

    l2: float = parameter(above(0), "Ridge on the weights; above 0.", default=0.01, kw_only=False)
    tol: float = parameter(
        above(0), "How far above its minimum the objective may be left.", default=1e-4
    )
    max_iter: int = parameter(at_least(1), "Iterations at most.", default=1000)

    def _minimise(self, matrix: Matrix, feedback: LabelFeedback) -> Solution:
        """Find the weights of the columns of a design."""
        raise NotImplementedError

    def _learn(self, instances: Instances, feedback: LabelFeedback) -> WeightedFeatures:
        design = Design.of(instances, feedback.rows, feedback.weight, abstentions=self._abstentions)
        found = self._minimise(design.matrix, feedback)
        self.objective_, self.gap_, self.n_iter_ = found.value, found.gap, max(1, found.n_iter)
        figures = {"objective": found.value, "gap": found.gap}
        return WeightedFeatures(design.rankers, found.weights * design.scale, figures)

    def _warn_of_gap(self, found: Solution, iterations: str) -> None:
        """Warn if a solver ended before it was within ``tol`` of the minimum."""
        if found.gap > self.tol and len(found.weights):
            warn_caller(
                f"{found.n_iter} {iterations} left the objective up to {found.gap:.2g} above its "
                "minimum; raise max_iter, l2 or tol.",
                ConvergenceWarning,
            )


def check_two_labels(owner: str, feedback: LabelFeedback, remedy: str) -> None:
    """Refuse a query of more than two labels, for rankers that know relevant and not."""
    layout, groups = feedback.labelled().layout, feedback.groups
    levels = np.diff(layout.query_first)
    deep = np.flatnonzero(levels > 2)
    if not len(deep):
        return
    at = int(deep[0])
    first = int(layout.query_first[at])
    values = ", ".join(f"{v:g}" for v in layout.values[first : first + min(4, levels[at])])
    more = ", ..." if levels[at] > 4 else ""
    where = "the labels are"
    if groups.n_groups > 1:
        query = groups.ids[layout.queries[at : at + 1]].tolist()[0]
        where = f"the labels of query {query!r} are"
    raise DataError(
        f"{owner}: Only binary classification is supported; it knows relevant and not, two labels "
        f"in a query, and {where} {values}{more}.",
        remedy=remedy,
        parameter="y",
    )


# --- Base class of the rankers that weigh features, or rows by a kernel


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


# --- The ranking SVM, as a scikit-learn estimator


@with_parameters
class RankingSVM(KernelMachine):
    """Ask every pair for a margin: the ranking SVM (Herbrich et al. 2000; Joachims 2002).

    The score f is a weighted sum of the features, or a kernel expansion. It minimises ::

        mean over pairs of [1 - (f_hi - f_lo)]_+  +  (l2 / 2) |f|^2

    or half of the mean squared hinge. On two labels without queries this is the AUC-SVM (Brefeld
    & Scheffer 2005; Rakotomamonjy 2004): the share of pairs in the wrong order is at most the
    first term. Pairs that labels imply are never listed: a pass over n rows takes O(n log n). It
    ends at a proven distance from the minimum.

    Attributes
    ----------
    n_iter_ : int
        Newton's steps and cutting planes.

    Notes
    -----
    The C of SVM-light is ``1 / (l2 * number of pairs)``. Features are standardised inside and cut
    off at the range that they had in training. Where a feature abstains it counts as its mean.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import RankingSVM
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = RankingSVM().fit(X, [2, 1, 0, 1, 0], qid=["a", "a", "a", "b", "b"])
    >>> ranker.rank(X[:3], ["a"] * 3).tolist()
    [1, 2, 3]
    """

    l2: float = parameter(
        text="Ridge ``(l2 / 2) |f|^2`` beside the mean over pairs; above 0. A Gaussian kernel "
        "takes a ridge about as many times smaller as there are features.",
        default=0.1,
        kw_only=False,
        grid=(0.001, 0.01, 0.1, 1.0),
    )
    loss: str = parameter(
        one_of("hinge", "squared_hinge"),
        "Mean hinge, or half of the mean squared hinge, which is faster to minimise.",
        default="hinge",
    )
    margin: str = parameter(
        one_of("sign", "product", "gap"),
        'What is asked of a pair. "sign": ``f_hi - f_lo >= 1``. "gap": at least the difference '
        'of their labels. "product": that difference times ``f_hi - f_lo`` is at least 1, as the '
        "review writes it; a pass then takes O(n labels). Explicit pairs ask for 1.",
        default="sign",
    )
    max_iter: int = parameter(text="Newton's steps and cutting planes at most.", default=1000)
    n_jobs: int | None = parameter(
        text="Threads; None for all cores. The result is the same for any number.", default=None
    )

    def _label_feedback(
        self, data: RankingInput, query_weight: QueryWeight | None
    ) -> LabelFeedback:
        return LabelFeedback(
            data.known_labels,
            data.groups,
            weight=data.weight,
            balance=self.balance,
            query_weight=query_weight,
        )

    def _fit(self, data: RankingInput, feedback: Feedback) -> Self:
        threads = count_threads(self.n_jobs)
        seen = represent(data.instances, feedback.rows, feedback.weight, self._settings(), threads)
        hinges = hinges_of(feedback, self.margin, threads)
        rules = (seen.space(threads), self.l2, self.tol, self.max_iter)
        found: HingeMinimum | Minimum
        with one_blas_thread():
            if self.loss == "hinge":
                found = minimise_hinge(hinges, *rules)
            else:
                found = truncated_newton(SquaredHinge(hinges), *rules)
        figures = self._set_figures(found.value, found.gap, found.n_iter, self.tol)
        self._set_solution(data, feedback, seen, found.weights, figures)
        return self


# --- Linear rankers that use few features, as scikit-learn estimators


PENALTIES = ("l1", "l1_ball", "log", "lq", "mcp")


@with_parameters
class SparseLinearRanker(LinearRanker):
    """Base of linear rankers with weights of exactly 0: a subclass learns in `_minimise`.

    Attributes
    ----------
    selected_ : int array
        Features with a weight other than 0, ascending.
    objective_ : float
        Loss and penalty.
    gap_ : float
        The objective is at most this far above its minimum; NaN where no bound is known.
    violation_ : float
        By how much the conditions of a minimum are violated, at most.
    """

    l1: float = parameter(
        above(0), "Weight of the penalty; above 0.", default=0.01, grid=(0.001, 0.003, 0.01, 0.03)
    )
    standardise: bool = parameter(
        flag,
        "Whether features get mean 0 and standard deviation 1 on the training rows; else they are "
        "taken as they are.",
        default=True,
    )
    tol: float = parameter(
        above(0), "How far above its minimum the objective may be left.", default=1e-6
    )
    max_iter: int = parameter(at_least(1), "Steps at most.", default=1000)
    n_jobs: int | None = parameter(text="Threads; None for all cores.", default=None)

    def _minimise(self, matrix: Matrix, feedback: LabelFeedback) -> SparseMinimum:
        """Find the weights of the columns of a design."""
        raise NotImplementedError

    def _learn(self, instances: Instances, feedback: LabelFeedback) -> WeightedFeatures:
        design = Design.of(instances, feedback.rows, feedback.weight, standard=self.standardise)
        if not self.standardise:
            design = _in_own_units(design)
        found = self._minimise(design.matrix, feedback)
        self.objective_, self.gap_, self.violation_ = found.value, found.gap, found.violation
        self.n_iter_ = max(1, found.n_iter)
        used = np.flatnonzero(found.weights)
        rankers = tuple(design.rankers[j] for j in used.tolist())
        self.selected_ = np.array([one.feature for one in rankers], np.int64)
        figures = {"objective": found.value, "selected": len(used)}
        if not np.isnan(found.gap):
            figures["gap"] = found.gap
        learned = WeightedFeatures(rankers, found.weights[used] * design.scale[used], figures)
        if len(design.rankers) and not len(used):
            return learned.but_empty(self._too_sparse())
        return learned

    def _too_sparse(self) -> str:
        """Return the warning where all weights are 0."""
        return f"l1={self.l1:g} makes all weights 0, and with them all scores; lower it."

    def _warn_of_steps(self, found: SparseMinimum, remedy: str) -> None:
        """Warn if a solver ended before it was within ``tol`` of the minimum."""
        if found.gap > self.tol and len(found.weights):
            warn_caller(
                f"{found.n_iter} steps left the objective up to {found.gap:.2g} above its "
                f"minimum; {remedy}.",
                ConvergenceWarning,
            )


def _in_own_units(design: Design) -> Design:
    """Return columns in the units of their features, which a design scales to a range of 1."""
    span = np.array(
        [getattr(one, "high", 1.0) - getattr(one, "low", 0.0) for one in design.rankers]
    )
    scaled = design.matrix * span
    # (up to scipy 1.15, sparse rows times an array have no columns to choose from)
    matrix = scaled if isinstance(scaled, np.ndarray) else scaled.tocsr()
    return Design(matrix, design.rankers, design.scale * span)


@with_parameters
class SparseRankingSVM(SparseLinearRanker):
    """Rank by a weighted sum of few features, with a margin between rows of different labels.

    RankingSVM's squared hinge, with a penalty that sets most weights to 0::

        mean over pairs of  [1 - (s_hi - s_lo)]_+^2 / 2  +  l1 sum_j g(|w_j|)

    ``penalty`` chooses g. With "l1" it is ``|w|`` itself, and the minimum is found to a proven gap,
    by FISTA and Newton's method. "log" is ``ln(1 + |w| / epsilon)``, "lq" is
    ``(|w| + epsilon)^q - epsilon^q`` and "mcp" is ``|w| - w^2 / (2 gamma l1)`` up to
    ``gamma l1`` and constant from there on; they take less off large weights and select fewer
    features at the same loss (Laporte et al. 2014). These are solved by weighted l1 problems, each
    of which lowers the objective, from that of "l1" on. "l1_ball" has no penalty: it minimises the
    loss over all weights with ``|w|_1 <= radius`` (Lai et al. 2013, FenchelRank), one feature per
    step, to a proven gap.

    Attributes
    ----------
    selected_ : int array
        Features with a weight other than 0, ascending.
    objective_ : float
        Loss and penalty.
    gap_ : float
        The objective is at most this far above its minimum. NaN for "log", "lq" and "mcp", whose
        minima are local.
    violation_ : float
        By how much the conditions of a (local) minimum are violated, at most; for "l1_ball" the
        gap.
    objectives_ : tuple of floats
        For "log", "lq" and "mcp": the objective after every weighted l1 problem. For "l1_ball":
        the loss after every step. It never rises, except with ``steps="decay"``.

    Notes
    -----
    Pairs are never listed: a pass takes O(n p + n log n). Where a feature abstains it counts as
    its mean. Features are cut off at the range that they had in training.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import SparseRankingSVM
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(200, 20))
    >>> y = np.round(X[:, 3] - X[:, 7] + 0.3 * random.normal(size=200))
    >>> ranker = SparseRankingSVM(l1=0.05).fit(X, y)
    >>> ranker.selected_.tolist()
    [3, 7]
    """

    penalty: str = parameter(
        one_of(*PENALTIES), "What keeps the weights few and small.", default="l1", kw_only=False
    )
    radius: float = parameter(
        above(0), 'With "l1_ball": how large the sum of the absolute weights may be.', default=1.0
    )
    epsilon: float = parameter(
        above(0),
        'With "log" and "lq": below about this size weights are penalised as by "l1".',
        default=0.1,
    )
    q: float = parameter(
        between(0, 1, low_open=True, high_open=True), 'With "lq": the power.', default=0.5
    )
    gamma: float = parameter(
        above(0),
        'With "mcp": weights from ``gamma`` times ``l1`` on are not penalised any further.',
        default=3.0,
    )
    steps: str = parameter(
        one_of("corrective", "exact", "decay"),
        'With "l1_ball": go the exact distance towards a feature, and after every tenth step '
        "reweight the features chosen so far; only the former; or 2 / (t + 2) of the way in step "
        "t.",
        default="corrective",
    )

    def _minimise(self, matrix: Matrix, feedback: LabelFeedback) -> SparseMinimum:
        loss = HalfSquaredHinge(hinges_of(feedback, "sign", count_threads(self.n_jobs)))
        if self.penalty == "l1_ball":
            steps: Any = self.steps
            found = frank_wolfe(loss, matrix, self.radius, self.tol, self.max_iter, steps)
            self._warn_of_steps(found, "raise max_iter or tol")
        elif self.penalty == "l1":
            shrink = np.full(matrix.shape[1], float(self.l1))
            found = minimise_l1(loss, matrix, shrink, self.tol, self.max_iter)
            self._warn_of_steps(found, "raise max_iter, l1 or tol")
        else:
            found = minimise_concave(
                loss, matrix, float(self.l1), self._concave(), self.tol, self.max_iter
            )
            if found.n_iter >= self.max_iter:
                warn_caller(
                    f"{found.n_iter} steps left the conditions of a minimum violated by "
                    f"{found.violation:.2g}; raise max_iter, l1 or tol.",
                    ConvergenceWarning,
                )
        self.objectives_ = found.path
        return found

    def _concave(self) -> Penalty:
        if self.penalty == "log":
            return LogPenalty(self.epsilon)
        if self.penalty == "lq":
            return PowerPenalty(self.q, self.epsilon)
        return MinimaxConcave(self.gamma * self.l1)


# --- RSRank, as a scikit-learn estimator


@with_parameters
class RSRank(SparseLinearRanker):
    """Rank by a weighted sum of few features, pairs weighted by their part in NDCG (RSRank).

    After Sun, Qin, Tao & Wang (2009). A pair of rows of one query weighs what exchanging the two
    would take off NDCG; all weights c sum to 1::

        c_ij ~ (2^y_i - 2^y_j) |d_i - d_j| / idealDCG,  d = 1 / log2(1 + position)
        sum over pairs of  c_ij h(s_i - s_j)  +  l1 |w|_1

    h is the modified Huber loss: ``(1 - z)^2`` for margins in [-1, 1], 0 above, ``-4 z`` below.
    Positions are those of the ideal order, which makes the problem convex: it is solved to a
    proven gap.

    Attributes
    ----------
    selected_ : int array
        Features with a weight other than 0, ascending.
    objective_ : float
        Loss and penalty.
    gap_ : float
        The objective is at most this far above its minimum.
    violation_ : float
        By how much the conditions of a minimum are violated, at most.

    Notes
    -----
    Labels are grades from 0 on. Pairs are never listed: a pass takes O(n p + n log n). A row of
    weight 2 takes two positions. Where a feature abstains it counts as its mean. Features are cut
    off at the range that they had in training.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import RSRank
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = RSRank().fit(X, [2, 1, 0, 1, 0], qid=["a", "a", "a", "b", "b"])
    >>> ranker.rank(X[:3], ["a"] * 3).tolist()
    [1, 2, 3]
    """

    _counts_weights = True

    l1: float = parameter(
        text="Weight of ``|w|_1``; above 0.",
        default=0.03,
        kw_only=False,
        grid=(0.003, 0.01, 0.03, 0.1),
    )
    ties: str = parameter(
        one_of("mean", "first"),
        "Rows of equal labels get the mean of their discounts, so that the order of the rows "
        "changes nothing, or stand in the order of the rows.",
        default="mean",
    )

    def _minimise(self, matrix: Matrix, feedback: LabelFeedback) -> SparseMinimum:
        pairs = DiscountedPairs(feedback, count_threads(self.n_jobs))
        loss = HuberLoss(pairs, ideal_discounts(pairs, self.ties))
        shrink = np.full(matrix.shape[1], float(self.l1))
        found = minimise_l1(loss, matrix, shrink, self.tol, self.max_iter)
        self._warn_of_steps(found, "raise max_iter, l1 or tol")
        return found


# --- The infinite push, as a scikit-learn estimator


@with_parameters
class InfinitePush(RidgeRanker):
    """Push down the highest irrelevant row of every query.

    The limit of the p-norm push for large p (Agarwal 2011; Rudin 2009): of the irrelevant rows
    of a query only the highest one counts, by the number of relevant rows that it ranks above. The
    score is a weighted sum of the features themselves, each scaled to [0, 1] by its range in
    training (and clipped there in prediction), so that the problem is convex::

        sum_q c_q sum_hi u_hi ln(1 + e^(max_lo s_lo - s_hi)) + (l2 / 2) |w|^2

    with s the scores, lo the irrelevant and hi the relevant rows of query q. It is solved to a
    proven distance from the minimum, in O(n) per pass over the data.

    With ``penalty="l1"`` it is the sparse infinite push (Rakotomamonjy 2012), which uses few
    features: hinges ``[1 - (s_hi - max_lo s_lo)]_+`` in place of the logarithms and ``l1 |w|_1`` in
    place of the ridge. That is a linear program, solved to a proven distance by cutting planes.

    Attributes
    ----------
    objective_ : float
        Value of the objective.
    gap_ : float
        The objective is at most this far above its minimum.
    selected_ : int array
        Features with a weight other than 0, ascending.

    Notes
    -----
    Labels are relevant or not: two values in a query. For grades, and for stumps instead of
    weighted features, there is `PNormPush`. A row of weight 2 counts as two rows: twice if it
    is relevant; if not, a maximum does not see the difference.

    Where most queries have an irrelevant row above their relevant ones whatever the weights are,
    weights of 0 are the minimum. The sparse push then says so; take `PNormPush`, which also counts
    the rows below the highest one.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import InfinitePush
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = InfinitePush().fit(X, [1, 1, 0, 1, 0], qid=["a", "a", "a", "b", "b"])
    >>> ranker.rank(X[:3], ["a"] * 3).tolist()
    [2, 1, 3]
    """

    _abstentions = "learned"

    l2: float = parameter(
        text="Ridge on the weights; above 0. The smaller, the closer the top is fitted.",
        default=0.01,
        kw_only=False,
    )
    penalty: str = parameter(
        one_of("l2", "l1"), "A ridge, or the l1 norm and hinges, for few features.", default="l2"
    )
    l1: float = parameter(
        above(0), 'With ``penalty="l1"``: weight of ``|w|_1``; above 0.', default=0.01
    )
    balance: str = parameter(
        one_of("queries", "pairs"),
        "Whether all queries weigh the same, or all relevant rows do.",
        default="queries",
        grid=("pairs", "queries"),
    )
    max_iter: int = parameter(text="Newton's steps, or linear programs, at most.", default=1000)

    def _needs_two_labels(self) -> bool:
        return True

    def _minimise(self, matrix: Matrix, feedback: LabelFeedback) -> Solution:
        remedy = "Make them two (y >= threshold), or use PNormPush, which takes grades."
        check_two_labels("InfinitePush", feedback, remedy)
        rows = feedback.labelled()
        if self.penalty == "l1":
            push = HingePush(rows.layout, self._row_weights(rows))
            sparse = l1_planes(push, matrix, self.l1, self.tol, self.max_iter)
            found = Solution(sparse.weights, sparse.value, sparse.gap, sparse.n_iter)
            self._warn_of_gap(found, "linear programs")
            return found
        loss = InfinitePushLoss(rows.layout, self._row_weights(rows))
        found = newton(loss, matrix, self.l2, self.tol, self.max_iter)
        self._warn_of_gap(found, "steps")
        return found

    def _learn(self, instances: Instances, feedback: LabelFeedback) -> WeightedFeatures:
        learned = super()._learn(instances, feedback)
        used = np.flatnonzero(learned.weights)
        chosen = [learned.rankers[j] for j in used.tolist()]
        features = {one.feature for one in chosen if isinstance(one, ScaledFeature | Presence)}
        self.selected_ = np.array(sorted(features), np.int64)
        if self.penalty == "l2":
            return learned
        sparse = WeightedFeatures(chosen, learned.weights[used], learned.figures)
        if len(learned.rankers) and not len(used):
            return sparse.but_empty(
                "no weights are better than 0, which all scores are now: an irrelevant row stays "
                f"at the top of most queries, or l1={self.l1:g} is too large. Lower it, or use "
                "PNormPush, which also counts the rows below the highest one."
            )
        return sparse

    def _row_weights(self, rows: LabelledRows) -> Floats:
        """Weights of all winners, which sum to 1, and shares of the losers of each query."""
        layout = rows.layout
        u = np.ones(len(layout.rows)) if rows.weight is None else rows.weight
        wins, query = layout.level_of_row() == 1, layout.query_of_row()
        factor = rows.coefficient
        if self.balance == "queries":
            factor = factor / np.bincount(query, u * wins, layout.n_queries)
        winners = np.where(wins, u * factor[query], 0.0)
        losers = np.where(wins, 0.0, u)
        losing = np.bincount(query, losers, layout.n_queries)
        if not (losing > 0.0).all() or not np.isfinite(winners).all():
            raise DataError(
                "InfinitePush: sample_weight is so uneven that all relevant, or all irrelevant, "
                "rows of a query weigh nothing beside others. Use weights of a similar size.",
                parameter="sample_weight",
            )
        losers /= losing[query]
        weights: Floats = winners / winners.sum() + losers
        return weights


# --- ListMLE, as a scikit-learn estimator


@with_parameters
class ListMLE(RidgeRanker):
    """Make the given orders likely: Plackett and Luce's model of lists (Xia et al. 2008).

    A list is made by choosing its first row among all, the next among the others, and so on,
    each with a probability proportional to e to the power of its score. The score is a weighted
    sum of the features; the weights are those that make the lists of all queries most likely,
    less a ridge. The problem is convex, and solved by L-BFGS with the exact gradient, O(n) a
    pass after one sort.

    Attributes
    ----------
    objective_ : float
        Mean loss of a choice and the ridge.

    Notes
    -----
    The model is about strict orders. Where labels tie, every row above the lowest label of its
    query is chosen among itself and the rows of lower labels: equal labels are not compared. On a
    strict order that is the model itself; for two labels it is the cross entropy of each relevant
    row against all that are not.

    Features are standardised inside (mean 0, standard deviation 1, on the training rows) and cut
    off at the range that they had in training. Where a feature abstains it counts as its mean.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import ListMLE
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = ListMLE().fit(X, [3, 2, 1, 2, 1], qid=["a", "a", "a", "b", "b"])
    >>> ranker.rank(X[:3], ["a"] * 3).tolist()
    [1, 2, 3]
    """

    l2: float = parameter(
        text="Ridge ``(l2 / 2) |w|^2`` on the weights of standardised features, beside the mean "
        "loss of a choice; above 0.",
        default=1e-3,
        kw_only=False,
    )
    tol: float = parameter(text="Ends where no entry of the gradient is larger.", default=1e-8)

    def _minimise(self, matrix: Matrix, feedback: LabelFeedback) -> Solution:
        rows = feedback.labelled()
        likelihood = ListLikelihood(rows.layout, feedback.weight, rows.coefficient)
        found = lbfgs(likelihood, matrix, self.l2, self.tol, self.max_iter)
        if found.n_iter >= self.max_iter and found.slope and found.slope > self.tol:
            warn_caller(
                f"{found.n_iter} steps left a slope of {found.slope:.2g}; raise max_iter, l2 or "
                "tol.",
                ConvergenceWarning,
            )
        return found

    def _learn(self, instances: Instances, feedback: LabelFeedback) -> WeightedFeatures:
        learned = super()._learn(instances, feedback)
        return replace(learned, figures={"objective": self.objective_})


# --- RankCosine, as a scikit-learn estimator


@with_parameters
class RankCosine(LinearRanker):
    """Bring the scores of a query into line with its labels (Qin et al. 2008).

    The loss of a query is ``(1 - cos(labels, scores)) / 2``, between 0 and 1 for every query,
    long or short. The score is a sum of features, added one per round: the one that, with its
    weight in closed form, brings the mean loss over queries lowest.

    Attributes
    ----------
    model_ : AdditiveRanker
        The weighted features, one term per round, which can be saved and shown.
    loss_curve_ : array of shape (n_rounds,)
        Mean loss after every round; it falls.
    n_iter_ : int
        Rounds.

    Notes
    -----
    The loss looks at the sizes of labels: grades 0, 1, 2 are not grades 0, 1, 3. Labels may tie.

    Features are standardised inside (mean 0, standard deviation 1, on the training rows) where
    ``centred``, and cut off at the range that they had in training. Where a feature abstains it
    counts as its mean.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import RankCosine
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = RankCosine().fit(X, [3, 2, 1, 2, 1], qid=["a", "a", "a", "b", "b"])
    >>> ranker.rank(X[:3], ["a"] * 3).tolist()
    [1, 2, 3]
    """

    n_estimators: int = parameter(at_least(1), "Rounds at most.", default=100, kw_only=False)
    centred: bool = parameter(
        flag,
        "Take the mean of a query from its labels and scores first: the cosine is then their "
        "correlation, and what is added to all labels or scores of a query changes nothing, as it "
        "changes no order. False is the cosine as published: features lie in [0, 1] by their "
        "range in training, and labels count as they are.",
        default=True,
    )
    tol: float = parameter(
        between(0, np.inf), "Ends where no feature brings the loss down by more.", default=1e-7
    )

    def _learn(self, instances: Instances, feedback: LabelFeedback) -> WeightedFeatures:
        rows, weight, centred = feedback.labelled(), feedback.weight, bool(self.centred)
        design = Design.of(instances, feedback.rows, weight, standard=centred)
        cosines = CosineLists(rows.layout, weight, rows.coefficient, centred=centred)
        rounds = list(add_features(cosines, design.matrix, self.n_estimators, self.tol))
        losses = np.array([one.loss for one in rounds])
        weights = np.array([one.weight * design.scale[one.column] for one in rounds])
        rankers = [design.rankers[one.column] for one in rounds]
        self.loss_curve_, self.n_iter_ = losses, max(1, len(rounds))
        loss = float(losses[-1]) if len(losses) else 0.5
        return WeightedFeatures(rankers, weights, {"loss": loss})

    def _set_model(self, model: AdditiveRanker, with_qid: bool) -> None:
        super()._set_model(model, with_qid)
        self.ensemble_ = self.model_

    def staged_predict(self, X: TableLike) -> Iterator[Floats]:
        """Yield the scores after every round."""
        check_is_fitted(self, "model_")
        return self.ensemble_.staged_predict(self._table(X))

    def truncate(self, n_rounds: int) -> AdditiveRanker:
        """Return the ranker as it was after ``n_rounds`` rounds."""
        check_is_fitted(self, "model_")
        return self.ensemble_.truncate(n_rounds)


# --- RankRLS, as a scikit-learn estimator


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


# --- SVM-map, as a scikit-learn estimator


#: Rows that weights may make of the given ones: beyond, memory ends.
_MOST_ROWS = 1e8

_GRADES = (
    "Set top= to how many of a query's first positions are relevant, make the labels two "
    "(y >= threshold), or use ListMLE or RankBoost, which take grades."
)


@with_parameters
class SVMMap(RidgeRanker):
    """Rank by a margin that grows with the loss in average precision (Yue et al. 2007).

    In every query the right order should score above any other by at least the average precision
    that the other loses. The score is a weighted sum of the features::

        (l2 / 2) |w|^2 + sum_q c_q max over orders of (1 - AP(order) - w.(Psi_right - Psi_order))

    is minimised by cutting planes to a proven distance from its minimum; the worst order of every
    query is found exactly. It needs a solver of quadratic problems: ``pip install crucial[qp]``.

    Attributes
    ----------
    objective_ : float
        Value of the objective.
    gap_ : float
        The objective is at most this far above its minimum.
    n_iter_ : int
        Planes that were made.

    Notes
    -----
    A pass takes O(relevant times other rows) of every query. Average precision counts rows, so
    weights of rows must be whole numbers: a row of weight 2 is a row twice.

    Features are standardised inside (mean 0, standard deviation 1, on the training rows) and cut
    off at the range that they had in training. Where a feature abstains it counts as its mean.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import SVMMap
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = SVMMap().fit(X, [1, 1, 0, 1, 0], qid=["a", "a", "a", "b", "b"])
    >>> ranker.rank(X[:3], ["a"] * 3).tolist()
    [1, 2, 3]
    """

    _counts_weights = True

    l2: float = parameter(
        text="Ridge on the weights of standardised features; above 0. It is 1/C of the paper, with "
        "the mean of the queries' losses for their sum.",
        default=0.01,
        kw_only=False,
    )
    top: int | float | None = parameter(
        none_or(either(at_least(1), between(0, 1, low_open=True, high_open=True, noun="share"))),
        "Which rows are relevant. None: labels are of two values in a query, and the higher is "
        "relevant. A number or a share: those among the first so many positions of their query by "
        "label, for grades and strict orders; rows of equal labels share the best of their "
        "positions, and those of a query's lowest label are never relevant.",
        default=None,
    )
    tol: float = parameter(default=1e-3)
    max_iter: int = parameter(text="Planes at most.", default=1000)

    def _needs_two_labels(self) -> bool:
        return self.top is None

    def _check_combinations(self) -> None:
        load_solver()

    def _labels(self, data: RankingInput) -> Floats:
        y, groups, weight = super()._labels(data), data.groups, data.weight
        if weight is not None and np.any(weight != np.floor(weight)):
            row = int(np.flatnonzero(weight != np.floor(weight))[0])
            raise DataError(
                "SVMMap: sample_weight must be whole numbers, since average precision counts "
                f"rows. Row {row} is {weight[row]:g}. Use query_weight to weigh queries, or "
                "ListMLE, which takes any weights."
            )
        if weight is not None and weight.sum() > _MOST_ROWS:
            raise DataError(
                f"SVMMap: sample_weight adds up to {weight.sum():g} rows, and rows are counted one "
                f"by one, up to {_MOST_ROWS:g}. Use smaller weights, or ListMLE."
            )
        if self.top is None:
            return y
        kept = top_labels(y, groups, self.top, weight)
        lowest = np.full(groups.n_groups, np.inf)
        np.minimum.at(lowest, groups.codes, y)
        return (kept > lowest[groups.codes]).astype(np.float64)

    def _minimise(self, matrix: Matrix, feedback: LabelFeedback) -> Solution:
        check_two_labels("SVMMap", feedback, _GRADES)
        rows, weight = feedback.labelled(), feedback.weight
        layout = rows.layout
        if weight is not None:
            matrix = matrix[np.repeat(np.arange(len(weight)), weight.astype(np.int64))]
            layout = layout.repeated(weight.astype(np.int64))
        loss = PrecisionLoss(layout, rows.coefficient)
        found = cutting_planes(loss, matrix, float(self.l2), self.tol, self.max_iter)
        self._warn_of_gap(found, "planes")
        return found
