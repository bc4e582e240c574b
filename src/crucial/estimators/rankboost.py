"""RankBoost, as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

from crucial.boosting.steps import STEPS
from crucial.data.instances import Instances
from crucial.errors import ParameterError
from crucial.estimators.boosted import BoostedRanker
from crucial.estimators.monotone import monotone_signs
from crucial.estimators.presets import PRESETS
from crucial.estimators.weak_learners import check_weak, named_learner
from crucial.feedback.base import Feedback, smoothing_of
from crucial.objectives.base import Objective
from crucial.objectives.exponential import ExponentialLoss
from crucial.validation import check_choice, check_integer, check_real, lookup
from crucial.weak.base import Constraints, StepRule, WeakLearner

__all__ = ["RankBoost"]


class RankBoost(BoostedRanker):
    """Learn one ranking from many opinions (Freund, Iyer, Schapire & Singer 2003).

    Every feature is an opinion: it ranks the rows it has a value for and abstains where
    it is NaN. Labels or pairs say what should stand above what. The ranker is a weighted
    sum of stumps ``[feature > threshold]``, chosen one a round to minimise the
    exponential loss over all pairs; the pairs that labels imply are never listed.

    Parameters
    ----------
    n_estimators : int, default=300
        Rounds.
    learning_rate : float, default=0.3
        Factor on every weight, in (0, 1]. The papers use 1.
    choice : {"steepest", "steepest_positive", "largest_drop"}, default="steepest"
        Which stump: largest ``|r|``, largest ``r``, or smallest Z.
    step : {"bound", "exact", "numeric"}, default="bound"
        Its weight: methods 3, 2 and 1 of the paper.
    positive_weights : {None, "cumulative"}, default=None
        "cumulative": the summed weight of every stump stays positive, for features known
        to point up (the paper's ``.cum`` variants).
    default_rank : {"learned", 0, 1}, default="learned"
        What a stump says where its feature abstains (``q_def``).
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
    weak : {"stump", "feature", "column"} or object, default="stump"
        Weak rankers: stumps, features scaled to [0, 1], columns that are weak rankers
        already, or a weak learner of your own.
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
        What happened in every round.
    best_round_ : int
        Rounds in ``model_``.
    feature_importances_ : array of shape (n_features,)
        Share of the absolute weight that went to each feature.
    n_features_in_ : int
    feature_names_in_ : array of str, where X had names

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import RankBoost
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = RankBoost(n_estimators=20).fit(X, [2, 1, 0, 1, 0], qid=["a", "a", "a", "b", "b"])
    >>> ranker.rank(X, qid=["a", "a", "a", "b", "b"]).tolist()
    [1, 2, 3, 1, 2]
    """

    bounded_risk = "R1"

    def __init__(
        self,
        n_estimators: int = 300,
        learning_rate: float = 0.3,
        *,
        choice: str = "steepest",
        step: str = "bound",
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
        self.weak = weak
        self.contradictions = contradictions
        self.record_risks = record_risks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.warm_start = warm_start

    @classmethod
    def preset(cls, name: str, **changes: Any) -> RankBoost:
        """A paper's RankBoost by name; ``changes`` override its parameters.

        Examples
        --------
        >>> RankBoost.preset("rb_c", n_estimators=200)
        RankBoost(choice='steepest_positive', learning_rate=1.0, n_estimators=200)
        """
        return cls(**{**lookup(PRESETS, name, "preset"), **changes})

    def _parts(self, feedback: Feedback) -> tuple[Objective, WeakLearner, StepRule]:
        step = STEPS[self.step](smoothing_of(feedback.total), self.on_perfect == "stop")
        learner = named_learner(self.weak, self.choice, self.default_rank, self.max_bins, self.step)
        return ExponentialLoss(), learner, step

    def _constraints(self, instances: Instances) -> Constraints:
        signs = monotone_signs(type(self).__name__, self.monotone_constraints, instances)
        return Constraints(self.positive_weights == "cumulative", signs, self.learning_rate)

    def _check_parameters(self) -> None:
        self._check_common()
        owner = type(self).__name__
        check_real(owner, "learning_rate", self.learning_rate, 0.0, 1.0, low_open=True)
        check_choice(
            owner, "choice", self.choice, ["steepest", "steepest_positive", "largest_drop"]
        )
        check_choice(owner, "step", self.step, list(STEPS))
        check_choice(owner, "positive_weights", self.positive_weights, [None, "cumulative"])
        check_choice(owner, "default_rank", self.default_rank, ["learned", 0, 1])
        check_choice(owner, "on_perfect", self.on_perfect, ["smooth", "stop"])
        check_integer(owner, "max_bins", self.max_bins, 2, 65535, none=True)
        check_weak(owner, self.weak)
        if self.weak == "feature" and self.step == "exact":
            raise ParameterError(
                "step='exact' needs weak rankers of 0 and 1; with weak='feature' use "
                "step='numeric' or 'bound'."
            )
        if self.weak != "stump" and self.choice == "largest_drop":
            raise ParameterError("choice='largest_drop' needs weak='stump'.")
