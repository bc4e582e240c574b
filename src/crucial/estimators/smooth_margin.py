"""Smooth margin ranking, as a scikit-learn estimator."""

from __future__ import annotations

from crucial.boosting.loop import Ensemble
from crucial.boosting.pair_losses import ExponentialLoss
from crucial.boosting.smooth_margin import SmoothMarginStep
from crucial.boosting.trace import Trace
from crucial.data.instances import Instances
from crucial.errors import NotSeparableWarning
from crucial.estimators.boosted import Algorithm
from crucial.estimators.shared import RandomState
from crucial.estimators.stumps import StumpRanker
from crucial.estimators.warn import warn_caller
from crucial.estimators.weak_rankers import WeakRankers
from crucial.feedback.base import Feedback
from crucial.parameters import fixed, one_of, parameter, with_parameters

__all__ = ["SmoothMarginRanker", "first_separable"]


@with_parameters
class SmoothMarginRanker(WeakRankers, StumpRanker):
    """Boost the margin of the worst pair (Rudin & Schapire 2009, section 4.2).

    The margin of a pair is the difference of its scores over the sum of all weights; that
    of a ranker is its smallest. RankBoost need not reach the largest margin there is. This
    ranker begins as coordinate descent on RankBoost's loss until a smooth form G of the
    margin is above 0, so that every pair is in the right order, and then takes steps that
    never let G fall. Where the pairs cannot all be ordered right that moment never comes:
    the answer is coordinate descent's, and a warning says so.

    Weak rankers score in [0, 1]; a tree counts in the sum of the weights with what its values
    span. F counts the lightest pair as 1, so that G lies below the
    margin; a row of weight 2 counts as two rows.

    Attributes
    ----------
    separable_round_ : int or None
        The round after which G was above 0 for the first time.
    trace_ : Trace
        What happened in every round; ``trace_.column("smooth_margin")`` is G after it,
        ``trace_.column("margin")`` the smallest margin.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import SmoothMarginRanker
    >>> X = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [0, 0, 1], [0, 0, 0]], float)
    >>> ranker = SmoothMarginRanker(n_estimators=200, weak="column").fit(X, [3, 2, 2, 1, 0])
    >>> ranker.separable_round_
    4
    >>> round(ranker.trace_[-1].extras["margin"], 3)
    0.192
    """

    bounded_risk = "R1"
    takes_judges = True

    choice: str = parameter(
        one_of("steepest_positive", "steepest"),
        "Which stump: largest ``r``, so that every weight is positive, as in the paper; or "
        "largest ``|r|``, as if each stump were there with its opposite too. Trees are grown by "
        "what their splits gain.",
        default="steepest_positive",
    )
    step: str = parameter(
        one_of("smooth", "line_search"),
        "Weight of a stump once G > 0: equation 12 of the paper (equation 11 for real-valued "
        "weak rankers), or the maximum of G along the stump, equation 10.",
        default="smooth",
    )
    learning_rate: float = parameter(
        text="Factor on every weight, in (0, 1]. G never falls at any rate; the paper's is 1.",
        default=1.0,
        kw_only=False,
    )
    random_state: RandomState = parameter(
        text="Seeds random thresholds, subsample_rows, max_features, validation_fraction and "
        "validation_folds.",
        default=0,
    )
    positive_weights: str | None = fixed(default=None)
    # G is about all pairs: on a draw of them it could fall, and a mean of runs has another.
    subsample: float = fixed(default=1.0)
    n_bags: int = fixed(default=1)

    def _parts(self, feedback: Feedback) -> Algorithm:
        learner = self._weak_learner(self.choice, self.step)
        step = SmoothMarginStep(feedback, self.step == "line_search", *self._perfect(feedback))
        return ExponentialLoss(), learner, step

    def _check_combinations(self) -> None:
        super()._check_combinations()
        self._check_choice(self.choice)
        self._check_default(self.step)

    def _after_fit(self, ensemble: Ensemble, instances: Instances) -> None:
        trace = ensemble.trace
        self.separable_round_ = first_separable(trace)
        if self.separable_round_ is None and len(trace):
            warn_caller(_not_separable(ensemble, self.choice), NotSeparableWarning)


def first_separable(trace: Trace) -> int | None:
    """Return the round after which the smooth margin was above 0 for the first time."""
    reached = (n for n, one in enumerate(trace, 1) if one.extras["smooth_margin"] > 0.0)
    return next(reached, None)


def _not_separable(ensemble: Ensemble, choice: str) -> str:
    """Say that the margin was never worked on, and what might help."""
    last = ensemble.trace[-1].extras
    what = "some pair is in the wrong order, or tied"
    if last["margin"] > 0.0:
        what = "every pair is in the right order, but the weights are too small yet"
    hope = "More rounds may get there, if any ranker can."
    if ensemble.trace.stopped:
        hope = f"The rounds ended by themselves: {ensemble.trace.stopped}."
    if choice == "steepest_positive":
        hope += " choice='steepest' also uses features that point down."
    return (
        f"after {len(ensemble.trace)} rounds the smooth margin is {last['smooth_margin']:.4g}, not "
        f"above 0 ({what}), so all steps were RankBoost's coordinate descent. {hope}"
    )
