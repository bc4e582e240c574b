"""Linear rankers that use few features, as scikit-learn estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from crucial.data.instances import Instances
from crucial.estimators.linear import LinearRanker, WeightedFeatures
from crucial.estimators.warn import warn_caller
from crucial.feedback.labels import LabelFeedback
from crucial.kernels.runtime import count_threads
from crucial.linear.design import Design, Matrix
from crucial.linear.frank_wolfe import frank_wolfe
from crucial.linear.hinge import hinges_of
from crucial.linear.l1 import SparseMinimum, minimise_l1
from crucial.linear.pair_losses import HalfSquaredHinge
from crucial.linear.penalties import (
    LogPenalty,
    MinimaxConcave,
    Penalty,
    PowerPenalty,
    minimise_concave,
)
from crucial.parameters import above, at_least, between, flag, one_of, parameter, with_parameters

__all__ = ["SparseLinearRanker", "SparseRankingSVM"]

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
        one_of(*PENALTIES),
        "What keeps the weights few and small.",
        default="l1",
        kw_only=False,
    )
    radius: float = parameter(
        above(0),
        'With "l1_ball": how large the sum of the absolute weights may be.',
        default=1.0,
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
