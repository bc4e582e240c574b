"""RSRank, as a scikit-learn estimator."""

from __future__ import annotations

import numpy as np

from crucial.estimators.sparse import SparseLinearRanker
from crucial.feedback.labels import LabelFeedback
from crucial.kernels.runtime import count_threads
from crucial.linear.design import Matrix
from crucial.linear.discounted import DiscountedPairs, HuberLoss, ideal_discounts
from crucial.linear.l1 import SparseMinimum, minimise_l1
from crucial.parameters import one_of, parameter, with_parameters

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
