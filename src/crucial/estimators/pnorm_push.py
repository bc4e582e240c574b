"""The p-norm push, as a scikit-learn estimator."""

from __future__ import annotations

from numbers import Real
from typing import Any

from crucial.boosting.line_steps import LineStep, ShortBoundStep
from crucial.boosting.steps import STEPS
from crucial.errors import ParameterError
from crucial.estimators.stump_boosted import StumpBoostedRanker
from crucial.feedback.base import Feedback, smoothing_of
from crucial.objectives.base import Objective
from crucial.objectives.exponential import ExponentialLoss
from crucial.objectives.push import PNormLoss
from crucial.validation import check_real
from crucial.weak.base import StepRule, WeakLearner

__all__ = ["MAX_P", "PNormPush"]

# Rudin's experiments go up to 64; a hundred times the p-norm is the maximum but for a few per
# cent (n^(1/100) is 1.1 for a thousand negatives and 1.15 for a million).
MAX_P = 100.0


class PNormPush(StumpBoostedRanker):
    """Rank so that little stands wrongly at the very top (Rudin 2009).

    RankBoost counts every misordered pair alike. The push raises what a row wrongly stands
    above to the power p before it adds up: ``sum_lo (sum_hi e^(H(lo) - H(hi)))^p`` over the
    rows lo and those hi of their query that should stand above them. A row that should stand
    low and stands above many costs far more than many that stand above one each, so a large
    p pays for the top of the list with its lower part. ``p=1`` is RankBoost.

    Labels may be graded: a row is pushed down by all rows of its query with higher labels.
    A round costs O(n), as in RankBoost.

    Parameters
    ----------
    p : float, default=4
        In [1, 100]. The limit of a growing p, the infinite push, is another problem:
        `InfinitePush`.
    n_estimators : int, default=300
        Rounds.
    learning_rate : float, default=0.3
        Factor on every weight, in (0, 1].
    step : {"exact", "bound"}, default="exact"
        Weight of a stump: the minimum of the loss along it (``ln(A1 B0 / (A0 B1)) / (p + 1)``
        for one query of two labels, else by Newton's method), or the bound of RankBoost's
        method 3, ``ln((1 + r) / (1 - r)) / 2p``, which is cheaper and more careful.
    positive_weights : {None, "cumulative"}, default=None
        "cumulative": the summed weight of every stump stays positive, for features known
        to point up.
    default_rank : {"learned", 0, 1}, default="learned"
        What a stump says where its feature abstains.
    balance : {"pairs", "queries"}, default="queries"
        Whether all pairs weigh the same at equal scores, or all queries do. With "pairs" a
        query of twice as many relevant rows counts 2^p times as much.
    gain : {None, "linear", "exp"}, default=None
        Weigh a pair by the difference of the gains of its labels, y or 2^y - 1.
    on_perfect : {"smooth", "stop"}, default="smooth"
        What to do in a round whose stump misorders nothing, so that its best weight is
        infinite: smooth the weights by half a pair, or end before it.
    max_bins : int or None, default=255
        Bins a feature; None for one per distinct value.
    subsample : float, default=1.0
        Share of the queries that count in a round.
    early_stopping_rounds : int or None, default=None
        Stop after so many rounds without a better value on the eval set; the first best
        round is what predict uses.
    eval_metric : str, Measure or list of them, optional
        Measured on the eval set after every round; the first decides when to stop.
        Default: "ndcg@10" with queries, "auc" without or with labels below 0.
    validation_fraction : float, default=0.2
        Share of whole queries set aside for early stopping where no eval set is given.
    monotone_constraints : sequence or mapping, optional
        1, -1 or 0 a feature (or feature name: 1): the score never falls (never rises)
        where the feature grows. What an abstention is worth stays free.
    contradictions : {"keep", "net"}, default="keep"
        For pairs given in both directions: keep both, or their difference.
    record_risks : bool, default=False
        Put R1 and R2 on the training pairs into the trace, every round.
    random_state : int, RandomState or None, default=0
        Seeds subsample and validation_fraction.
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
        What happened in every round. Its loss is the p-norm, relative to that of equal scores.
    best_round_ : int
        Rounds in ``model_``.
    feature_importances_ : array of shape (n_features,)
        Share of the absolute weight that went to each feature.
    n_features_in_ : int
    feature_names_in_ : array of str, where X had names

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import PNormPush
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = PNormPush(p=8, n_estimators=20)
    >>> ranker.fit(X, [2, 1, 0, 1, 0], qid=["a", "a", "a", "b", "b"]).rank(X[:3]).tolist()
    [1, 2, 3]
    """

    def __init__(
        self,
        p: float = 4.0,
        n_estimators: int = 300,
        learning_rate: float = 0.3,
        *,
        step: str = "exact",
        positive_weights: str | None = None,
        default_rank: str | int = "learned",
        balance: str = "queries",
        gain: str | None = None,
        on_perfect: str = "smooth",
        max_bins: int | None = 255,
        subsample: float = 1.0,
        early_stopping_rounds: int | None = None,
        eval_metric: Any = None,
        validation_fraction: float = 0.2,
        monotone_constraints: Any = None,
        contradictions: str = "keep",
        record_risks: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.p = p
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.step = step
        self.positive_weights = positive_weights
        self.default_rank = default_rank
        self.balance = balance
        self.gain = gain
        self.on_perfect = on_perfect
        self.max_bins = max_bins
        self.subsample = subsample
        self.early_stopping_rounds = early_stopping_rounds
        self.eval_metric = eval_metric
        self.validation_fraction = validation_fraction
        self.monotone_constraints = monotone_constraints
        self.contradictions = contradictions
        self.record_risks = record_risks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.warm_start = warm_start

    def _parts(self, feedback: Feedback) -> tuple[Objective, WeakLearner, StepRule]:
        smoothing, stop = smoothing_of(feedback.total), self.on_perfect == "stop"
        learner = self._learner()
        if self.p == 1:  # RankBoost, and to the last bit
            return ExponentialLoss(), learner, STEPS[self.step](smoothing, stop)
        step: StepRule = LineStep(smoothing, stop)
        if self.step == "bound":
            step = ShortBoundStep(self.p, smoothing, stop)
        return PNormLoss(self.p), learner, step

    def _check_parameters(self) -> None:
        super()._check_parameters()
        owner = type(self).__name__
        if isinstance(self.p, Real) and self.p > MAX_P:
            raise ParameterError(
                f"The 'p' parameter of {owner} must be a number in [1, {MAX_P:g}]. Got {self.p!r} "
                "instead. For the limit of large p use InfinitePush, which minimises the maximum "
                "itself."
            )
        check_real(owner, "p", self.p, 1.0, MAX_P)
