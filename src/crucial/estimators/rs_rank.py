"""RSRank, as a scikit-learn estimator."""

from __future__ import annotations

import numpy as np

from crucial.errors import ParameterError
from crucial.estimators.sparse import SparseLinearRanker
from crucial.feedback.labels import LabelFeedback
from crucial.kernels.threads import count_threads
from crucial.linear.design import Matrix
from crucial.linear.discounted import (
    DiscountedPairs,
    HuberLoss,
    RefreshedHuberLoss,
    ideal_discounts,
)
from crucial.linear.l1 import SparseMinimum, assess_l1, minimise_l1, violation
from crucial.linear.spaces import FeatureSpace
from crucial.linear.truncated_gradient import largest_curvature, truncated_gradient
from crucial.parameters import above, at_least, one_of, parameter, with_parameters
from crucial.types import Floats

__all__ = ["RSRank"]


@with_parameters
class RSRank(SparseLinearRanker):
    """Rank by a weighted sum of few features, pairs weighted by their part in NDCG (RSRank).

    After Sun, Qin, Tao & Wang (2009). A pair of rows of one query weighs what exchanging the two
    would take off NDCG; all weights c sum to 1::

        c_ij ~ (2^y_i - 2^y_j) |d_i - d_j| / idealDCG,  d = 1 / log2(1 + position)
        sum over pairs of  c_ij h(s_i - s_j)  +  l1 |w|_1

    h is the modified Huber loss: ``(1 - z)^2`` for margins in [-1, 1], 0 above, ``-4 z`` below.
    Positions are those of the ideal order, which makes the problem convex: it is solved to a
    proven gap. With ``ranks="current"`` they are those of the scores so far, new in every step.

    Attributes
    ----------
    selected_ : int array
        Features with a weight other than 0, ascending.
    objective_ : float
        Loss and penalty.
    gap_ : float
        The objective is at most this far above its minimum; NaN with ``ranks="current"``.
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
    ranks: str = parameter(
        one_of("ideal", "current"),
        "Whose positions weigh the pairs: those of the labels, or of the scores so far.",
        default="ideal",
    )
    ties: str = parameter(
        one_of("mean", "first"),
        "Rows of equal labels get the mean of their discounts, so that the order of the rows "
        "changes nothing, or stand in the order of the rows.",
        default="mean",
    )
    solver: str = parameter(
        one_of("auto", "fista", "truncated_gradient"),
        'FISTA, or truncated gradients as published. "auto" takes FISTA unless ranks are current, '
        "which need truncated gradients.",
        default="auto",
    )
    learning_rate: float = parameter(
        above(0),
        "With truncated gradients: length of a step, as a share of one over the largest "
        "curvature; at most 1 is safe. With current ranks the length falls with the number of "
        "the step.",
        default=1.0,
    )
    shrink_every: int = parameter(
        at_least(1),
        "With truncated gradients: every how many steps weights are moved towards 0.",
        default=1,
    )

    def _check_combinations(self) -> None:
        if self.solver == "fista" and self.ranks == "current":
            raise ParameterError(
                "RSRank: solver='fista' minimises a convex loss, which that of ranks='current' is "
                "not. Use solver='truncated_gradient' or 'auto', or ranks='ideal'."
            )

    def _minimise(self, matrix: Matrix, feedback: LabelFeedback) -> SparseMinimum:
        pairs = DiscountedPairs(feedback, count_threads(self.n_jobs))
        ideal = HuberLoss(pairs, ideal_discounts(pairs, self.ties))
        if self.ranks == "ideal" and self.solver != "truncated_gradient":
            found = minimise_l1(
                ideal, matrix, np.full(matrix.shape[1], float(self.l1)), self.tol, self.max_iter
            )
            self._warn_of_steps(found, "raise max_iter, l1 or tol")
            return found
        return self._follow_gradients(matrix, ideal, pairs)

    def _follow_gradients(
        self, matrix: Matrix, ideal: HuberLoss, pairs: DiscountedPairs
    ) -> SparseMinimum:
        """Take truncated gradient steps, with the ideal or the current positions."""
        shrink = np.full(matrix.shape[1], float(self.l1))
        bend = largest_curvature(ideal.curvature(np.zeros(matrix.shape[0])), matrix)
        rate = self.learning_rate / bend if bend > 0.0 else 0.0
        loss = ideal if self.ranks == "ideal" else RefreshedHuberLoss(pairs)
        start = self._first_move(matrix, ideal, rate) if self.ranks == "current" else None
        w, steps = truncated_gradient(
            loss,
            matrix,
            self.l1,
            # Weights of pairs that change from step to step need ever shorter ones.
            (lambda step: rate) if self.ranks == "ideal" else (lambda step: rate / (1 + step / 20)),
            self.shrink_every,
            self.tol,
            self.max_iter,
            start,
        )
        if self.ranks == "ideal":
            found = assess_l1(ideal, matrix, shrink, w, steps)
            self._warn_of_steps(found, "raise max_iter, l1 or tol")
            return found
        space = FeatureSpace(matrix)
        value, by_score = loss(space.scores(w))
        slope = space.back(by_score)
        penalty = self.l1 * float(np.abs(w).sum())
        return SparseMinimum(w, value + penalty, np.nan, violation(w, slope, shrink), steps)

    def _first_move(self, matrix: Matrix, ideal: HuberLoss, rate: float) -> Floats:
        """Return one step by the ideal positions: equal scores have no order to begin with."""
        by_score = ideal(np.zeros(matrix.shape[0]))[1]
        return np.asarray(-rate * FeatureSpace(matrix).back(by_score))
