"""The p-norm push, as a scikit-learn estimator."""

from __future__ import annotations

from crucial.boosting.pair_losses import ExponentialLoss
from crucial.boosting.parts import StepRule
from crucial.boosting.push import PNormLoss
from crucial.boosting.steps import STEPS, LineStep, ShortBoundStep
from crucial.estimators.boosted import Algorithm
from crucial.estimators.stumps import StumpRanker
from crucial.feedback.base import Feedback
from crucial.parameters import between, one_of, parameter, with_parameters

__all__ = ["MAX_P", "PNormPush"]

# Rudin's experiments go up to 64; a hundred times the p-norm is the maximum but for a few per
# cent (n^(1/100) is 1.1 for a thousand negatives and 1.15 for a million).
MAX_P = 100.0


@with_parameters
class _Exponent:
    # A class of its own, so that p is the first positional parameter.

    p: float = parameter(
        between(
            1,
            MAX_P,
            remedy="For the limit of large p use InfinitePush, which minimises the maximum itself.",
        ),
        "Power of the push, in [1, 100]. Its limit for large p, the infinite push, is another "
        "problem: `InfinitePush`.",
        default=4.0,
        kw_only=False,
    )


@with_parameters
class PNormPush(StumpRanker, _Exponent):
    """Rank with few mistakes at the very top of the list (Rudin 2009).

    RankBoost counts every misordered pair alike. The push sums, for each row, the cost of
    the rows that it is wrongly above, and raises that sum to the power p:
    ``sum_lo (sum_hi e^(H(lo) - H(hi)))^p`` over the rows lo and the rows hi of their query that
    should rank above them. One row that is wrongly above many costs far more than many that
    are above one each, so a large p improves the top of the list at the expense of the rest.
    ``p=1`` is RankBoost.

    Labels may be graded: a row is pushed down by all rows of its query with higher labels.
    A round costs O(n), as in RankBoost.

    Attributes
    ----------
    trace_ : Trace
        What happened in every round. Its loss is the p-norm, relative to that of equal scores.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import PNormPush
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = PNormPush(p=8, n_estimators=20)
    >>> ranker = ranker.fit(X, [2, 1, 0, 1, 0], qid=["a", "a", "a", "b", "b"])
    >>> ranker.rank(X[:3], ["a"] * 3).tolist()
    [1, 2, 3]
    """

    step: str = parameter(
        one_of("exact", "bound"),
        "Weight of a stump or tree: the minimum of the loss along it (for a stump, one query and "
        "two labels ``ln(A1 B0 / (A0 B1)) / (p + 1)``, else iterated), or the bound of RankBoost's "
        "method 3, ``ln((1 + r) / (1 - r)) / 2p``, which is cheaper and more careful.",
        default="exact",
    )
    balance: str = parameter(
        text='Whether all pairs weigh the same at equal scores, or all queries do. With "pairs" '
        "a query of twice as many relevant rows counts 2^p times as much.",
        default="queries",
    )

    def _parts(self, feedback: Feedback) -> Algorithm:
        perfect = self._perfect(feedback)
        learner = self._learner()
        if self.p == 1:  # RankBoost, and to the last bit
            exact = "numeric" if self.weak == "tree" else "exact"
            return ExponentialLoss(), learner, STEPS[self.step.replace("exact", exact)](*perfect)
        step: StepRule = LineStep(*perfect)
        if self.step == "bound":
            step = ShortBoundStep(self.p, *perfect)
        return PNormLoss(self.p), learner, step
