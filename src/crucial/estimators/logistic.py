"""Boosting with the logistic loss over pairs, as a scikit-learn estimator."""

from __future__ import annotations

from crucial.boosting.pair_losses import LogisticLoss
from crucial.boosting.steps import BoundStep, LineStep
from crucial.estimators.boosted import Algorithm
from crucial.estimators.stumps import StumpRanker
from crucial.feedback.base import Feedback
from crucial.parameters import one_of, parameter, with_parameters

__all__ = ["LogisticRanker"]


@with_parameters
class LogisticRanker(StumpRanker):
    """RankBoost's loop under the logistic loss, RankNet's (Burges et al. 2005).

    A pair costs ``ln(1 + e^-(H(hi) - H(lo)))``. Where a pair is badly wrong this grows like
    the margin and not like its exponential, so that wrong labels and rows that cannot be
    helped draw less attention than in RankBoost.

    The price is time: a round looks at every pair of a query, which is little for queries of
    some hundred rows; queries of more than 2^24 pairs are summed up by interpolation, in O(n)
    times the range of the scores and with an error below 1e-11 of their weight. Pairs are never
    stored.

    Attributes
    ----------
    trace_ : Trace
        What happened in every round. Its loss is the mean of log2(1 + e^-margin): 1 at
        equal scores, and never below R1.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import LogisticRanker
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = LogisticRanker(n_estimators=20)
    >>> ranker = ranker.fit(X, [2, 1, 0, 1, 0], qid=["a", "a", "a", "b", "b"])
    >>> ranker.rank(X[:3], ["a"] * 3).tolist()
    [1, 2, 3]
    """

    bounded_risk = "R1"

    step: str = parameter(
        one_of("exact", "bound"),
        "Weight of a stump or tree: the minimum of the loss along it, each step towards "
        "which visits all pairs again; or RankBoost's method 3, which lowers this loss too "
        "(Collins, Schapire & Singer 2002) and is cheaper, but takes shorter steps and needs "
        "several times as many rounds.",
        default="exact",
    )

    def _parts(self, feedback: Feedback) -> Algorithm:
        kind = BoundStep if self.step == "bound" else LineStep
        return LogisticLoss(), self._learner(), kind(*self._perfect(feedback))
