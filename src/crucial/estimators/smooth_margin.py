"""Smooth margin ranking, as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from typing import Any

from crucial.boosting.loop import Ensemble
from crucial.boosting.smooth_margin import SmoothMarginStep
from crucial.data.instances import Instances
from crucial.errors import NotSeparableWarning
from crucial.estimators.boosted import BoostedRanker
from crucial.estimators.monotone import monotone_signs
from crucial.estimators.weak_learners import check_weak, named_learner
from crucial.feedback.base import Feedback, smoothing_of
from crucial.objectives.base import Objective
from crucial.objectives.exponential import ExponentialLoss
from crucial.validation import check_choice, check_integer, check_real
from crucial.weak.base import Constraints, StepRule, WeakLearner

__all__ = ["SmoothMarginRanker"]


class SmoothMarginRanker(BoostedRanker):
    """Boost the margin of the worst pair (Rudin & Schapire 2009, section 4.2).

    The margin of a pair is the difference of its scores over the sum of all weights; that
    of a ranker is its smallest. RankBoost need not reach the largest margin there is. This
    ranker begins as coordinate descent on RankBoost's loss until a smooth form G of the
    margin is above 0, so that every pair is in the right order, and then takes steps that
    never let G fall. Where the pairs cannot all be ordered right that moment never comes:
    the answer is coordinate descent's, and a warning says so.

    Weak rankers score in [0, 1]. F counts the lightest pair as 1, so that G lies below the
    margin; a row of weight 2 counts as two rows.

    Parameters
    ----------
    n_estimators : int, default=300
        Rounds.
    learning_rate : float, default=1.0
        Factor on every weight, in (0, 1]. G never falls at any rate; the paper's is 1.
    choice : {"steepest_positive", "steepest"}, default="steepest_positive"
        Which stump: largest ``r``, so that every weight is positive, as in the paper; or
        largest ``|r|``, as if each stump were there with its opposite too.
    step : {"smooth", "line_search"}, default="smooth"
        Weight of a stump once G > 0: equation 12 of the paper (equation 11 for real-valued
        weak rankers), or the maximum of G along the stump, equation 10.
    default_rank : {"learned", 0, 1}, default="learned"
        What a stump says where its feature abstains.
    balance : {"pairs", "queries"}, default="pairs"
        Whether all pairs weigh the same, or all queries do.
    gain : {None, "linear", "exp"}, default=None
        Weigh a pair by the difference of the gains of its labels, y or 2^y - 1.
    on_perfect : {"smooth", "stop"}, default="smooth"
        What to do in a round whose best weight is infinite: smooth the weights of right and
        wrong pairs by half a pair, or end before it.
    max_bins : int or None, default=255
        Bins a feature; None for one per distinct value.
    early_stopping_rounds : int or None, default=None
        Stop after so many rounds without a better value on the eval set; the first best
        round is what predict uses.
    eval_metric : str, Measure or list of them, optional
        Measured on the eval set after every round; the first decides when to stop.
    validation_fraction : float, default=0.2
        Share of whole queries set aside for early stopping where no eval set is given.
    monotone_constraints : sequence or mapping, optional
        1, -1 or 0 a feature (or feature name: 1): the score never falls (never rises)
        where the feature grows.
    weak : {"stump", "feature", "column"} or object, default="stump"
        Weak rankers: stumps, features scaled to [0, 1], columns that are weak rankers
        already, or a weak learner of your own.
    contradictions : {"keep", "net"}, default="keep"
        For pairs given in both directions: keep both, or their difference.
    record_risks : bool, default=False
        Put R1 and R2 on the training pairs into the trace, every round.
    random_state : int, RandomState or None, default=0
        Seeds validation_fraction.
    n_jobs : int or None, default=None
        Threads; None for all cores. The result is the same for any number.
    verbose : int, default=0
        1 shows a progress bar where standard error is a terminal.
    warm_start : bool, default=False
        Continue the ensemble of the last fit, on the same data, up to n_estimators.

    Attributes
    ----------
    model_ : AdditiveRanker
        What predict uses: the best rounds, if an eval set said which.
    ensemble_ : AdditiveRanker
        All rounds.
    trace_ : Trace
        What happened in every round; ``trace_.column("smooth_margin")`` is G after it,
        ``trace_.column("margin")`` the smallest margin.
    separable_round_ : int or None
        The round after which G was above 0 for the first time.
    best_round_ : int
        Rounds in ``model_``.
    feature_importances_ : array of shape (n_features,)
        Share of the absolute weight that went to each feature.
    n_features_in_ : int
    feature_names_in_ : array of str, where X had names

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

    subsample = 1.0  # (G is about all pairs: on a draw of them it could fall)
    bounded_risk = "R1"

    def __init__(
        self,
        n_estimators: int = 300,
        learning_rate: float = 1.0,
        *,
        choice: str = "steepest_positive",
        step: str = "smooth",
        default_rank: str | int = "learned",
        balance: str = "pairs",
        gain: str | None = None,
        on_perfect: str = "smooth",
        max_bins: int | None = 255,
        early_stopping_rounds: int | None = None,
        eval_metric: Any = None,
        validation_fraction: float = 0.2,
        monotone_constraints: Any = None,
        weak: Any = "stump",
        contradictions: str = "keep",
        record_risks: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.choice = choice
        self.step = step
        self.default_rank = default_rank
        self.balance = balance
        self.gain = gain
        self.on_perfect = on_perfect
        self.max_bins = max_bins
        self.early_stopping_rounds = early_stopping_rounds
        self.eval_metric = eval_metric
        self.validation_fraction = validation_fraction
        self.monotone_constraints = monotone_constraints
        self.weak = weak
        self.contradictions = contradictions
        self.record_risks = record_risks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.warm_start = warm_start

    def _parts(self, feedback: Feedback) -> tuple[Objective, WeakLearner, StepRule]:
        learner = named_learner(self.weak, self.choice, self.default_rank, self.max_bins, self.step)
        step = SmoothMarginStep(
            feedback,
            self.step == "line_search",
            smoothing_of(feedback.total),
            self.on_perfect == "stop",
        )
        return ExponentialLoss(), learner, step

    def _constraints(self, instances: Instances) -> Constraints:
        signs = monotone_signs(type(self).__name__, self.monotone_constraints, instances)
        return Constraints(False, signs, self.learning_rate)

    def _check_parameters(self) -> None:
        self._check_common()
        owner = type(self).__name__
        check_real(owner, "learning_rate", self.learning_rate, 0.0, 1.0, low_open=True)
        check_choice(owner, "choice", self.choice, ["steepest_positive", "steepest"])
        check_choice(owner, "step", self.step, ["smooth", "line_search"])
        check_choice(owner, "default_rank", self.default_rank, ["learned", 0, 1])
        check_choice(owner, "on_perfect", self.on_perfect, ["smooth", "stop"])
        check_integer(owner, "max_bins", self.max_bins, 2, 65535, none=True)
        check_weak(owner, self.weak)

    def _look_back(self, made: Ensemble) -> None:
        reached = (n for n, one in enumerate(made.trace, 1) if one.extras["smooth_margin"] > 0.0)
        self.separable_round_: int | None = next(reached, None)
        if self.separable_round_ is None and len(made.trace):
            warnings.warn(_not_separable(made, self.choice), NotSeparableWarning, stacklevel=5)


def _not_separable(made: Ensemble, choice: str) -> str:
    """Say that the margin was never worked on, and what might help."""
    last = made.trace[-1].extras
    what = "some pair is in the wrong order, or tied"
    if last["margin"] > 0.0:
        what = "every pair is in the right order, but the weights are too small yet"
    hope = "More rounds may get there, if any ranker can."
    if made.trace.stopped:
        hope = f"The rounds ended by themselves: {made.trace.stopped}."
    if choice == "steepest_positive":
        hope += " choice='steepest' also uses features that point down."
    return (
        f"after {len(made.trace)} rounds the smooth margin is {last['smooth_margin']:.4g}, not "
        f"above 0 ({what}), so all steps were RankBoost's coordinate descent. {hope}"
    )
