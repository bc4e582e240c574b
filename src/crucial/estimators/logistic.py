"""Boosting with the logistic loss over pairs, as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

from crucial.boosting.line_steps import LineStep
from crucial.boosting.steps import BoundStep
from crucial.estimators.stump_boosted import StumpBoostedRanker
from crucial.feedback.base import Feedback, smoothing_of
from crucial.objectives.base import Objective
from crucial.objectives.logistic import LogisticLoss
from crucial.weak.base import StepRule, WeakLearner

__all__ = ["LogisticRanker"]


class LogisticRanker(StumpBoostedRanker):
    """RankBoost's loop under the logistic loss, RankNet's (Burges et al. 2005).

    A pair costs ``ln(1 + e^-(H(hi) - H(lo)))``. Where a pair is badly wrong this grows like
    the margin and not like its exponential, so that wrong labels and rows that cannot be
    helped draw less attention than in RankBoost.

    The price is time: this loss cannot be summed up without looking at every pair, so a round
    costs O(pairs) and not O(n): nothing to speak of for queries of some hundred rows, and
    much for a million rows in one query. Pairs are never kept.

    Parameters
    ----------
    n_estimators : int, default=300
        Rounds.
    learning_rate : float, default=0.3
        Factor on every weight, in (0, 1].
    step : {"exact", "bound"}, default="exact"
        Weight of a stump: the minimum of the loss along it, by Newton's method, each step of
        which takes another look at all pairs; or RankBoost's method 3, which lowers this loss
        too (Collins, Schapire & Singer 2002) and is cheaper, but goes a shorter way: it needs
        some times as many rounds.
    positive_weights : {None, "cumulative"}, default=None
        "cumulative": the summed weight of every stump stays positive, for features known
        to point up.
    default_rank : {"learned", 0, 1}, default="learned"
        What a stump says where its feature abstains.
    balance : {"pairs", "queries"}, default="pairs"
        Whether all pairs weigh the same, or all queries do.
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
        What happened in every round. Its loss is the mean of log2(1 + e^-margin): 1 at
        equal scores, and never below R1.
    best_round_ : int
        Rounds in ``model_``.
    feature_importances_ : array of shape (n_features,)
        Share of the absolute weight that went to each feature.
    n_features_in_ : int
    feature_names_in_ : array of str, where X had names

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import LogisticRanker
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = LogisticRanker(n_estimators=20)
    >>> ranker.fit(X, [2, 1, 0, 1, 0], qid=["a", "a", "a", "b", "b"]).rank(X[:3]).tolist()
    [1, 2, 3]
    """

    bounded_risk = "R1"

    def __init__(
        self,
        n_estimators: int = 300,
        learning_rate: float = 0.3,
        *,
        step: str = "exact",
        positive_weights: str | None = None,
        default_rank: str | int = "learned",
        balance: str = "pairs",
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
        kind = BoundStep if self.step == "bound" else LineStep
        step = kind(smoothing_of(feedback.total), self.on_perfect == "stop")
        return LogisticLoss(), self._learner(), step
