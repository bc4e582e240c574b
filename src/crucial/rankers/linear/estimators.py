"""Linear and kernel rankers as scikit-learn estimators.

A ranker names its columns (`_space`) and its objective with a solver (`_minimise`); `ConvexRanker`
fits it, reports the proven gap and makes the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from crucial.data.arrays import check_values
from crucial.errors import DataError, NoPairError, NoProgressWarning, ParameterError
from crucial.feedback.base import Feedback, LabelledRows
from crucial.feedback.labels import LabelFeedback, QueryWeight, check_labels_of_weights, top_labels
from crucial.feedback.pairs import PairFeedback, SumFeedback
from crucial.kernels.runtime import count_threads, one_blas_thread
from crucial.model.additive import AdditiveRanker
from crucial.model.base import FrozenModel
from crucial.model.kernel import KERNELS, Kernel, KernelCall
from crucial.model.weak import Presence, ScaledFeature
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
from crucial.rankers.base import BALANCE, Model, Ranker, RankingInput, documented, warn_caller
from crucial.rankers.linear.closed_form import (
    Centring,
    Decomposition,
    LeftOut,
    NormalEquations,
    RegularisationPath,
    check_memory,
    difference_loss,
    normal_equations,
    solve_kernel,
    solve_rows,
)
from crucial.rankers.linear.columns import (
    DenseRows,
    Design,
    DifferenceFeedback,
    FeatureSpace,
    KernelSpace,
    Scaling,
    Space,
    space_of,
)
from crucial.rankers.linear.losses import (
    CosineLists,
    Hinges,
    HuberLoss,
    ListLikelihood,
    PrecisionLoss,
    PushLoss,
    SmoothHinge,
    SmoothPush,
    add_features,
)
from crucial.rankers.linear.solvers import (
    Minimum,
    frank_wolfe,
    l1_planes,
    lbfgs,
    log_penalty,
    minimax_penalty,
    minimise_by_planes,
    minimise_concave,
    minimise_l1,
    power_penalty,
    truncated_newton,
)
from crucial.types import Floats, TableLike, VectorLike

# --- Base classes of the rankers that are one weighted sum of the features


_STANDARDISE: Any = parameter(
    flag,
    "Whether features get mean 0 and standard deviation 1 on the training rows; else they are "
    "taken as they are.",
    default=True,
)


class LinearRanker(Ranker[Model]):
    """Base of linear rankers: a subclass learns from any feedback in `_fit`."""

    def _label_feedback(self, data: RankingInput) -> Feedback:
        """Return the feedback of labels."""
        return data.label_feedback()

    def _fit(self, data: RankingInput, feedback: Any) -> Self:
        """Find the weights, and set the model and the attributes that report how."""
        raise NotImplementedError

    @documented
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
        query_weight : array of shape (n_rows,) or mapping from query id, optional
            Factor on the loss of a query.
        """
        data = self._input(X, y, qid, sample_weight, query_weight)
        return self._fit(data, self._label_feedback(data))


@with_parameters
class ConvexRanker(LinearRanker[FrozenModel]):
    """Base of rankers that minimise a convex loss and a penalty, in `_minimise`.

    Attributes
    ----------
    model_ : AdditiveRanker
        The weighted features, which can be saved and shown.
    objective_ : float
        Value of the objective, the penalty included.
    gap_ : float
        The objective is at most this far above its minimum.
    n_iter_ : int
    """

    tol: float = parameter(
        above(0), "How far above its minimum the objective may be left.", default=1e-4
    )
    max_iter: int = parameter(at_least(1), "Iterations at most.", default=1000)

    def _regulariser(self) -> str:
        """Return the name of the parameter that makes weights smaller: "l2", or "l1"."""
        return "l2" if getattr(self, "penalty", "l2") == "l2" else "l1"

    def _enough(self, found: Minimum) -> float:
        """Return the largest gap that needs no warning."""
        return self.tol

    def _space(self, data: RankingInput, feedback: Any) -> Space:
        """Return where the weights lie."""
        return FeatureSpace(Design.of(data.instances, feedback.rows, feedback.weight))

    def _minimise(self, space: Space, feedback: Any) -> Minimum:
        """Find the weights."""
        raise NotImplementedError

    def _fit(self, data: RankingInput, feedback: Any) -> Self:
        space = self._space(data, feedback)
        with one_blas_thread():
            found = self._minimise(space, feedback)
        return self._keep(data, feedback, space, found, self._enough(found))

    def _keep(
        self, data: RankingInput, feedback: Feedback, space: Space, found: Minimum, enough: float
    ) -> Self:
        """Keep the model and how far a solver got; warn if it did not come close enough."""
        self.objective_, self.gap_, self.n_iter_ = found.value, found.gap, max(1, found.n_iter)
        if found.gap > enough and space.n_weights:
            remedy = f"raise max_iter, {self._regulariser()} or tol."
            if found.n_iter < self.max_iter:
                remedy = "rounding hides the rest: raise tol or l2, or scale the features."
            warn_caller(
                f"{found.n_iter} steps left the objective up to {found.gap:.2g} above its minimum; "
                f"{remedy}",
                ConvergenceWarning,
            )
        if not space.n_columns:
            warn_caller("no feature distinguishes any rows; all scores are 0.", NoProgressWarning)
        elif self._regulariser() == "l1" and not found.weights.any():
            warn_caller(self._too_sparse(), NoProgressWarning)
        # (digits beyond these are rounding, which would differ from machine to machine)
        kept = float(f"{found.value:.12g}")
        figures = {"objective": kept}
        if not np.isnan(found.gap):
            figures["gap"] = max(found.gap, 1e-12 * kept)
        summary = self._summary(figures, feedback, data.with_qid)
        model = space.model(found.weights, data.instances, summary)
        if isinstance(model, AdditiveRanker):
            used = (one for one in model.rankers if isinstance(one, ScaledFeature | Presence))
            features = {one.feature for one in used}
            self.selected_ = np.array(sorted(features), np.int64)
        self._set_model(model, data.with_qid)
        return self

    def _too_sparse(self) -> str:
        """Return the warning where all weights are 0."""
        l1: float = self.get_params()["l1"]
        return f"l1={l1:g} makes all weights 0, and with them all scores; lower it."


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
class KernelMachine(ConvexRanker):
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
    standardise: bool = _STANDARDISE
    balance: str = BALANCE

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

    def _label_feedback(self, data: RankingInput) -> Feedback:
        return data.label_feedback(self.balance)

    def _space(self, data: RankingInput, feedback: Any) -> Space:
        named = str(self.kernel) if isinstance(self.kernel, str) else self.kernel
        kernel = Kernel(named, degree=int(self.degree), coef0=float(self.coef0))
        gamma = None if self.gamma is None else float(self.gamma)
        how = (self.n_landmarks, bool(self.standardise), count_threads(self.n_jobs))
        return space_of(data.instances, feedback, kernel, gamma, *how)

    @documented
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
        """Learn from explicit pairs, each of which asks for 1, and from labels too if given."""
        check_labels_of_weights(y, sample_weight, query_weight)
        data = self._input(X, y, qid, sample_weight, query_weight, needs_y=False)
        explicit = PairFeedback(pairs, data.instances.n_rows, weight=pair_weight)
        parts: list[Feedback] = [explicit]
        if data.labels is not None:
            with suppress(NoPairError):  # (equal labels say nothing)
                parts.insert(0, self._label_feedback(data))
        else:
            data = self._with_numbers(data, pairs=explicit)
        return self._fit(data, parts[0] if len(parts) == 1 else SumFeedback(parts))


# --- The ranking SVM, as a scikit-learn estimator


# Weights from so many times ``l1`` on are not penalised any further (Zhang 2010).
_MINIMAX = 3.0


@with_parameters
class RankingSVM(KernelMachine):
    """Ask every pair for a margin: the ranking SVM (Herbrich et al. 1999; Joachims 2002).

    The score f is a weighted sum of the features, or a kernel expansion. It minimises ::

        mean over pairs of [1 - (f_hi - f_lo)]_+  +  (l2 / 2) |f|^2

    or half of the mean squared hinge. On two labels without queries this is the AUC-SVM (Brefeld
    & Scheffer 2005; Rakotomamonjy 2004): the share of pairs in the wrong order is at most the
    first term. Pairs that labels imply are never listed: a pass over n rows takes O(n log n). It
    ends at a proven distance from the minimum.

    Other penalties set most weights of the features to 0, beside the squared hinge::

        mean over pairs of  [1 - (f_hi - f_lo)]_+^2 / 2  +  l1 sum_j g(|w_j|)

    With ``penalty="l1"`` g is ``|w|`` itself, and the minimum is found to a proven gap, by FISTA
    and Newton's method. "log" is ``ln(1 + |w| / epsilon)``, "lq" is
    ``(|w| + epsilon)^q - epsilon^q`` and "mcp" is ``|w| - w^2 / (6 l1)`` up to ``3 l1`` and
    constant from there on; they take less off large weights and select fewer features at the same
    loss (Laporte et al. 2014). These are solved by weighted l1 problems, each of which lowers the
    objective, from that of "l1" on. "l1_ball" has no penalty: it minimises the loss over all
    weights with ``|w|_1 <= radius`` (Lai et al. 2013, FenchelRank), one feature per step, to a
    proven gap.

    Attributes
    ----------
    model_ : AdditiveRanker or KernelRanker
        The weighted features of a linear kernel, or the support rows of any other.
    objective_ : float
        Loss and penalty.
    gap_ : float
        The objective is at most this far above its minimum. NaN for "log", "lq" and "mcp", whose
        minima are local.
    n_iter_ : int
        Newton's steps and cutting planes, or steps of a sparse solver.
    selected_ : int array
        Of a linear kernel: features with a weight other than 0, ascending.
    violation_ : float
        By how much the conditions of a (local) minimum are violated, at most; for "l1_ball" the
        gap. NaN for "l2".
    objectives_ : tuple of floats
        For "log", "lq" and "mcp": the objective after every weighted l1 problem. For "l1_ball":
        the loss after every step. It never rises.

    Notes
    -----
    The C of SVM-light is ``1 / (l2 * number of pairs)``. Features are standardised inside and cut
    off at the range that they had in training. Where a feature abstains it counts as its mean.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial.rankers import RankingSVM
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = RankingSVM().fit(X, [2, 1, 0, 1, 0], qid=["a", "a", "a", "b", "b"])
    >>> ranker.rank(X[:3], ["a"] * 3).tolist()
    [1, 2, 3]

    With a penalty that selects features:

    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(200, 20))
    >>> y = np.round(X[:, 3] - X[:, 7] + 0.3 * random.normal(size=200))
    >>> RankingSVM(penalty="l1", l1=0.05).fit(X, y).selected_.tolist()
    [3, 7]
    """

    l2: float = parameter(
        text="Ridge ``(l2 / 2) |f|^2`` beside the mean over pairs; above 0. A Gaussian kernel "
        "takes a ridge about as many times smaller as there are features.",
        default=0.1,
        kw_only=False,
        grid=(0.001, 0.01, 0.1, 1.0),
    )
    penalty: str = parameter(
        one_of("l2", "l1", "l1_ball", "log", "lq", "mcp"),
        "A ridge, or what keeps the weights of features few and small.",
        default="l2",
    )
    l1: float = parameter(
        above(0), 'Weight of a penalty other than "l2" and "l1_ball"; above 0.', default=0.01
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
    loss: str | None = parameter(
        none_or(one_of("hinge", "squared_hinge")),
        "Mean hinge, or half of the mean squared hinge, which is faster to minimise; None: the "
        'hinge with ``penalty="l2"``, else the squared one, which other penalties need.',
        default=None,
    )
    margin: str = parameter(
        one_of("sign", "product", "gap"),
        'What is asked of a pair. "sign": ``f_hi - f_lo >= 1``. "gap": at least the difference '
        'of their labels. "product": that difference times ``f_hi - f_lo`` is at least 1, as the '
        "review writes it; a pass then takes O(n labels). Explicit pairs ask for 1.",
        default="sign",
    )
    max_iter: int = parameter(text="Newton's steps and cutting planes at most.", default=1000)

    def _check_combinations(self) -> None:
        super()._check_combinations()
        if self.penalty != "l2" and (self.kernel != "linear" or self.loss == "hinge"):
            raise ParameterError(
                f"penalty={self.penalty!r} selects features by a squared hinge: set "
                "kernel='linear' and loss='squared_hinge', or penalty='l2'."
            )

    def _minimise(self, space: Space, feedback: Any) -> Minimum:
        hinges = Hinges(feedback, self.margin, count_threads(self.n_jobs))
        limits, l1, l2 = (self.tol, self.max_iter), float(self.l1), float(self.l2)
        if self.penalty == "l2" and self.loss == "squared_hinge":
            found = truncated_newton(hinges, space, l2, *limits)
        elif self.penalty == "l2":
            smooth = partial(SmoothHinge, hinges)
            found = minimise_by_planes(lambda s: hinges(s, 1), space, l2, *limits, smooth)
        elif self.penalty == "l1_ball":
            found = frank_wolfe(hinges, space, self.radius, *limits)
        elif self.penalty == "l1":
            shrink = np.full(space.n_weights, l1)
            found = minimise_l1(hinges, space, shrink, *limits)
        else:
            concave = {
                "log": log_penalty(self.epsilon),
                "lq": power_penalty(self.q, self.epsilon),
                "mcp": minimax_penalty(_MINIMAX * l1),
            }
            found = minimise_concave(hinges, space, l1, concave[self.penalty], *limits)
            if found.n_iter >= self.max_iter:
                warn_caller(
                    f"{found.n_iter} steps left the conditions of a minimum violated by "
                    f"{found.violation:.2g}; raise max_iter, l1 or tol.",
                    ConvergenceWarning,
                )
        self.violation_, self.objectives_ = found.violation, found.path
        return found


# --- RSRank, as a scikit-learn estimator


@with_parameters
class RSRank(ConvexRanker):
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
    >>> from crucial.rankers import RSRank
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = RSRank().fit(X, [2, 1, 0, 1, 0], qid=["a", "a", "a", "b", "b"])
    >>> ranker.rank(X[:3], ["a"] * 3).tolist()
    [1, 2, 3]
    """

    _counts_weights = True

    l1: float = parameter(
        above(0),
        "Weight of ``|w|_1``; above 0.",
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

    standardise: bool = _STANDARDISE
    tol: float = parameter(default=1e-6)
    max_iter: int = parameter(text="Steps at most.", default=1000)

    def _regulariser(self) -> str:
        return "l1"

    def _space(self, data: RankingInput, feedback: Any) -> Space:
        scaling: Scaling = "standard" if self.standardise else "raw"
        return FeatureSpace(
            Design.of(data.instances, feedback.rows, feedback.weight, scaling=scaling)
        )

    def _minimise(self, space: Space, feedback: Any) -> Minimum:
        loss = HuberLoss(feedback, self.ties, count_threads(self.n_jobs))
        shrink = np.full(space.n_weights, float(self.l1))
        found = minimise_l1(loss, space, shrink, self.tol, self.max_iter)
        self.violation_ = found.violation
        return found


# --- The infinite push, as a scikit-learn estimator


@with_parameters
class InfinitePush(ConvexRanker):
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
    >>> from crucial.rankers import InfinitePush
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = InfinitePush().fit(X, [1, 1, 0, 1, 0], qid=["a", "a", "a", "b", "b"])
    >>> ranker.rank(X[:3], ["a"] * 3).tolist()
    [2, 1, 3]
    """

    l2: float = parameter(
        above(0),
        "Ridge on the weights; above 0. The smaller, the closer the top is fitted.",
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

    def _space(self, data: RankingInput, feedback: Any) -> Space:
        return FeatureSpace(Design.of(data.instances, feedback.rows, feedback.weight, learned=True))

    def _minimise(self, space: Space, feedback: Any) -> Minimum:
        remedy = "Make them two (y >= threshold), or use PNormPush, which takes grades."
        check_two_labels("InfinitePush", feedback, remedy)
        rows, sparse = feedback.labelled(), self.penalty == "l1"
        push = PushLoss(rows.layout, self._row_weights(rows), hinge=sparse)
        if sparse:
            return l1_planes(push, space, self.l1, self.tol, self.max_iter)
        limits = (self.l2, self.tol, self.max_iter)
        return minimise_by_planes(push, space, *limits, partial(SmoothPush, push), 1e9)

    def _too_sparse(self) -> str:
        return (
            "no weights are better than 0, which all scores are now: an irrelevant row stays at "
            f"the top of most queries, or l1={self.l1:g} is too large. Lower it, or use PNormPush, "
            "which also counts the rows below the highest one."
        )

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
        return np.asarray(winners / winners.sum() + losers)


# --- ListMLE, as a scikit-learn estimator


@with_parameters
class ListMLE(ConvexRanker):
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
    >>> from crucial.rankers import ListMLE
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = ListMLE().fit(X, [3, 2, 1, 2, 1], qid=["a", "a", "a", "b", "b"])
    >>> ranker.rank(X[:3], ["a"] * 3).tolist()
    [1, 2, 3]
    """

    l2: float = parameter(
        above(0),
        "Ridge ``(l2 / 2) |w|^2`` on the weights of standardised features, beside the mean "
        "loss of a choice; above 0.",
        default=1e-3,
        kw_only=False,
    )
    tol: float = parameter(text="Ends where no entry of the gradient is larger.", default=1e-8)

    def _minimise(self, space: Space, feedback: Any) -> Minimum:
        rows = feedback.labelled()
        likelihood = ListLikelihood(rows.layout, feedback.weight, rows.coefficient)
        return lbfgs(likelihood, space, self.l2, self.tol, self.max_iter)

    def _enough(self, found: Minimum) -> float:
        return np.inf if found.violation <= self.tol else 0.0


# --- RankCosine, as a scikit-learn estimator


@with_parameters
class RankCosine(LinearRanker[AdditiveRanker]):
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
    >>> from crucial.rankers import RankCosine
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

    def _fit(self, data: RankingInput, feedback: Any) -> Self:
        rows, weight, centred = feedback.labelled(), feedback.weight, bool(self.centred)
        scaling: Scaling = "standard" if centred else "unit"
        design = Design.of(data.instances, feedback.rows, weight, scaling=scaling)
        cosines = CosineLists(rows.layout, weight, rows.coefficient, centred=centred)
        rounds = list(add_features(cosines, design.matrix, self.n_estimators, self.tol))
        self.loss_curve_ = np.array([one.loss for one in rounds])
        self.n_iter_ = max(1, len(rounds))
        if not rounds:
            warn_caller("no feature distinguishes any rows; all scores are 0.", NoProgressWarning)
        loss = float(self.loss_curve_[-1]) if rounds else 0.5
        model = AdditiveRanker(
            data.instances.n_features,
            [design.rankers[one.column] for one in rounds],
            [one.weight * float(design.scale[one.column]) for one in rounds],
            data.instances.names,
            self._summary({"loss": loss}, feedback, data.with_qid),
        )
        self._set_model(model, data.with_qid)
        self.ensemble_ = self.model_
        return self

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
    """Regress the differences of labels within queries: RankRLS (Pahikkala et al. 2007).

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
    >>> from crucial.rankers import RankRLS
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
        feedback, measured_by = self._label_feedback(data), data.label_feedback(self.balance)
        left_out = LeftOut(feedback, self._decomposed(data, feedback))
        return left_out.path(ridges, measured_by)

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
        feedback = self._label_feedback(data)
        if feedback.n_queries < 2:
            raise DataError(
                "leave_query_out needs at least two queries of two rows.",
                remedy="Use leave_pair_out, which leaves out the rows of a pair.",
                parameter="qid",
            )
        left_out = LeftOut(feedback, self._decomposed(data, feedback))
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
        feedback = self._label_feedback(data)
        left_out = LeftOut(feedback, self._decomposed(data, feedback))
        return left_out.pairs(float(self.l2))[0]

    def _label_feedback(self, data: RankingInput) -> DifferenceFeedback:
        check_values(data.known_labels, "RankRLS")
        return DifferenceFeedback(
            data.known_labels,
            data.groups,
            data.weight,
            balance=self.balance,
            query_weight=data.query_weight,
        )

    def _by_blocks(
        self, data: RankingInput, feedback: DifferenceFeedback
    ) -> tuple[FeatureSpace, Minimum] | None:
        """Solve the normal equations of dense features without a copy of them.

        None where values are so large that sums of them overflow.
        """
        rows = DenseRows(data.instances, feedback.rows, count_threads(self.n_jobs))
        ranges = rows.ranges(feedback.weight)
        if ranges is None:
            return None
        equations, spread = normal_equations(rows, ranges, feedback, bool(self.standardise))
        scale = (ranges.high - ranges.low) / spread
        design = Design(np.zeros((0, len(scale))), ranges.rankers(), scale)
        return FeatureSpace(design), equations.solve(self.l2)

    def _fit(self, data: RankingInput, feedback: Any) -> Self:
        n_features, dense = data.instances.n_features, not data.instances.is_sparse
        closed = isinstance(feedback, DifferenceFeedback)
        wide = dense and len(feedback.rows) < n_features
        if dense and closed and self.kernel == "linear":
            check_memory(len(feedback.rows), n_features)
            solved = None if wide else self._by_blocks(data, feedback)
            if solved is not None:
                return self._keep(data, feedback, *solved, np.inf)
        space, enough = self._space(data, feedback), np.inf
        if not closed or (isinstance(space, FeatureSpace) and not wide):
            loss = difference_loss(feedback)
            enough = self.tol * loss(np.zeros(len(feedback.rows)))[0]
            with one_blas_thread():
                found = truncated_newton(loss, space, self.l2, enough, self.max_iter)
        elif isinstance(space, KernelSpace):
            found = solve_kernel(space, feedback, self.l2)
        elif isinstance(space, FeatureSpace):
            found = solve_rows(space.matrix, feedback, self.l2)
        else:
            found = NormalEquations.of_columns(space.matrix, feedback).solve(self.l2)
        return self._keep(data, feedback, space, found, enough)

    def _decomposed(self, data: RankingInput, feedback: DifferenceFeedback) -> Decomposition:
        """Return the decomposition that serves every ridge and everything that is left out."""
        if self.kernel == "linear":
            check_memory(len(feedback.rows), data.instances.n_features)
        centring, space = Centring(feedback), self._space(data, feedback)
        if isinstance(space, KernelSpace):
            return Decomposition.of_kernel(space.gram, centring, feedback.labels)
        matrix = space.matrix
        dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        return Decomposition.of_columns(dense, centring, feedback.labels)


# --- SVM-map, as a scikit-learn estimator


#: Rows that weights may make of the given ones: beyond, memory ends.
_MOST_ROWS = 1e8

_GRADES = (
    "Set top= to how many of a query's first positions are relevant, make the labels two "
    "(y >= threshold), or use ListMLE or RankBoost, which take grades."
)


@with_parameters
class SVMMap(ConvexRanker):
    """Rank by a margin that grows with the loss in average precision (Yue et al. 2007).

    In every query the right order should score above any other by at least the average precision
    that the other loses. The score is a weighted sum of the features::

        (l2 / 2) |w|^2 + sum_q c_q max over orders of (1 - AP(order) - w.(Psi_right - Psi_order))

    is minimised by cutting planes to a proven distance from its minimum; the worst order of every
    query is found exactly.

    Attributes
    ----------
    objective_ : float
        Value of the objective.
    gap_ : float
        The objective is at most this far above its minimum.
    n_iter_ : int
        Cutting planes.

    Notes
    -----
    A pass takes O(relevant times other rows) of every query. Average precision counts rows, so
    weights of rows must be whole numbers: a row of weight 2 is a row twice.

    Features are standardised inside (mean 0, standard deviation 1, on the training rows) and cut
    off at the range that they had in training. Where a feature abstains it counts as its mean.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial.rankers import SVMMap
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = SVMMap().fit(X, [1, 1, 0, 1, 0], qid=["a", "a", "a", "b", "b"])
    >>> ranker.rank(X[:3], ["a"] * 3).tolist()
    [1, 2, 3]
    """

    _counts_weights = True

    l2: float = parameter(
        above(0),
        "Ridge on the weights of standardised features; above 0. It is 1/C of the paper, with "
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

    def _label_feedback(self, data: RankingInput) -> Feedback:
        return super()._label_feedback(replace(data, labels=self._two_labels(data)))

    def _two_labels(self, data: RankingInput) -> Floats:
        """Return the labels, or which rows are relevant by ``top``; check the weights."""
        y, groups, weight = data.known_labels, data.groups, data.weight
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

    def _minimise(self, space: Space, feedback: Any) -> Minimum:
        check_two_labels("SVMMap", feedback, _GRADES)
        rows, weight = feedback.labelled(), feedback.weight
        layout = rows.layout
        if weight is not None:
            counts = weight.astype(np.int64)
            matrix = space.matrix[np.repeat(np.arange(len(counts)), counts)]
            space, layout = Space(matrix), layout.repeated(counts)
        loss = PrecisionLoss(layout, rows.coefficient)
        return minimise_by_planes(loss, space, float(self.l2), self.tol, self.max_iter)
