"""DiffRank, as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, NoReturn

import numpy as np

from crucial.boosting.diff_rank import DiffRankStep
from crucial.boosting.loop import Ensemble
from crucial.boosting.watch import Watch
from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.errors import DataWarning, NotRankedError
from crucial.estimators.boosted import BoostedRanker
from crucial.feedback.base import Feedback, smoothing_of
from crucial.feedback.labels import LabelFeedback
from crucial.feedback.top import TopFeedback
from crucial.model.quasi_knn import MAX_INTERVALS
from crucial.objectives.base import Objective
from crucial.objectives.exponential import ExponentialLoss
from crucial.types import Floats
from crucial.validation import check_choice, check_integer, check_real, refuse
from crucial.weak.base import Constraints, StepRule, WeakLearner
from crucial.weak.intervals import CENTRES
from crucial.weak.quasi_knn import QuasiKNNLearner, RankedQueries

__all__ = ["DiffRank", "check_intervals", "warn_useless"]


def check_intervals(owner: str, n_intervals: Any, centre: Any, order: Any, cycles: Any) -> None:
    """Refuse parameters that no ranker of feature rankings can use."""
    check_integer(owner, "n_intervals", n_intervals, 2, MAX_INTERVALS)
    check_choice(owner, "centre", centre, CENTRES)
    check_choice(owner, "order", order, ["given", "best_first"])
    check_integer(owner, "cycles", cycles, 1)


def warn_useless(features: list[int], instances: Instances) -> None:
    """Say which features have the same centre in every interval."""
    if features:
        names = ", ".join(instances.name(j) for j in features[:5])
        more = f" and {len(features) - 5} more" if len(features) > 5 else ""
        warnings.warn(
            f"{len(features)} features are constant or abstain on every row of a query that can "
            f"be cut into intervals, and are ignored: {names}{more}.",
            DataWarning,
            stacklevel=5,
        )


class DiffRank(BoostedRanker):
    """Boost the rankings that features make inside queries (Wang et al., figure 4).

    RankBoost's third method, with other weak rankers: every feature, one after the other,
    ranks the rows of a query by where its value lies among the centres of intervals of
    relevance (quasi-KNN), so that a feature may be good in the middle of its range and bad
    at both ends. Ranks are divided by ``n_q - 1``, one less than the rows of the query. The
    share of misordered training pairs is never above the product of Z, which the trace has
    as ``loss`` (lemma 3).

    Its scores depend on the other rows of the query: predict needs whole queries.

    Parameters
    ----------
    n_intervals : int, default=8
        Intervals of relevance, K in the paper: at least 2, which rank by the feature itself,
        up or down; at most the number of rows in the largest query. A query with fewer rows
        places no centre but is learned from all the same.
    prec : int, float or None, default=None
        Learn from the pairs whose better row is among the first ``prec`` positions of its
        query: a number of positions, the last included, or a share of them. None: all
        pairs. Rows of equal labels share the best of their positions.
    centre : {"mean", "prior", "middle", "posterior"}, default="mean"
        Whether the centre of an interval is the mean of all its values, or of its more
        relevant third, the middle one, the less relevant one.
    order : {"given", "best_first"}, default="given"
        Take the features as they come, or by falling ``|r|`` before the first round.
    cycles : int, default=1
        How often to go through the features.
    learning_rate : float, default=1.0
        Factor on every weight, in (0, 1]; the paper's is 1.
    balance : {"pairs", "queries"}, default="pairs"
        Whether all pairs weigh the same, or all queries do.
    on_perfect : {"smooth", "stop"}, default="smooth"
        What to do in a round whose best weight is infinite: smooth the weights of right and
        wrong pairs by half a pair, or end before it.
    early_stopping_rounds : int or None, default=None
        Stop after so many rounds without a better value on the eval set; the first best
        round is what predict uses.
    eval_metric : str, Measure or list of them, optional
        Measured on the eval set after every round; the first decides when to stop.
    validation_fraction : float, default=0.2
        Share of whole queries set aside for early stopping where no eval set is given.
    record_risks : bool, default=False
        Put R1 and R2 on the training pairs into the trace, every round: R2 is the Kendall
        distance, a tie counted half.
    random_state : int, RandomState or None, default=0
        Seeds validation_fraction.
    n_jobs : int or None, default=None
        Threads; None for all cores. The result is the same for any number.
    verbose : int, default=0
        1 shows a progress bar where standard error is a terminal.

    Attributes
    ----------
    model_ : AdditiveRanker
        What predict uses: the best rounds, if an eval set said which.
    ensemble_ : AdditiveRanker
        All rounds.
    trace_ : Trace
        What happened in every round. ``loss`` is the product of Z, ``bound`` what the step
        promises of it.
    best_round_ : int
        Rounds in ``model_``.
    feature_importances_ : array of shape (n_features,)
        Share of the absolute weight that went to each feature.
    n_features_in_ : int
    feature_names_in_ : array of str, where X had names

    Notes
    -----
    The paper orders strictly; here labels may tie. Rows of one label share the interval in
    which the middle of their positions lies. A row on which a feature abstains (NaN) ranks
    at the middle of its query by that feature.

    Figure 4 writes ``i < prec``; the position ``prec`` itself is taken in here.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import DiffRank
    >>> X = np.array([[2.0, 9.0], [1.0, 7.0], [3.0, 8.0], [6.0, 6.0], [4.0, 2.0]])
    >>> ranker = DiffRank(n_intervals=2).fit(X, [5, 4, 3, 2, 1])
    >>> ranker.rank(X).tolist()
    [1, 2, 3, 4, 5]
    """

    bounded_risk = "R1"
    gain = None
    subsample = 1.0
    contradictions = "keep"
    warm_start = False

    def __init__(
        self,
        n_intervals: int = 8,
        prec: int | float | None = None,
        *,
        centre: str = "mean",
        order: str = "given",
        cycles: int = 1,
        learning_rate: float = 1.0,
        balance: str = "pairs",
        on_perfect: str = "smooth",
        early_stopping_rounds: int | None = None,
        eval_metric: Any = None,
        validation_fraction: float = 0.2,
        record_risks: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_intervals = n_intervals
        self.prec = prec
        self.centre = centre
        self.order = order
        self.cycles = cycles
        self.learning_rate = learning_rate
        self.balance = balance
        self.on_perfect = on_perfect
        self.early_stopping_rounds = early_stopping_rounds
        self.eval_metric = eval_metric
        self.validation_fraction = validation_fraction
        self.record_risks = record_risks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def n_estimators(self) -> int:  # type: ignore[override]
        """Rounds at most: every feature in every cycle."""
        return self.cycles * int(getattr(self, "n_features_in_", 1))

    def _check_parameters(self) -> None:
        owner = type(self).__name__
        check_intervals(owner, self.n_intervals, self.centre, self.order, self.cycles)
        self._check_common()
        check_real(owner, "learning_rate", self.learning_rate, 0.0, 1.0, low_open=True)
        check_choice(owner, "on_perfect", self.on_perfect, ["smooth", "stop"])
        if isinstance(self.prec, Integral):
            check_integer(owner, "prec", self.prec, 1)
        elif self.prec is not None:
            try:
                check_real(owner, "prec", self.prec, 0.0, 1.0, low_open=True)
            except ValueError:
                rule = "an int of at least 1, a share in (0, 1] or None"
                raise refuse(owner, "prec", rule, self.prec) from None

    def _label_feedback(
        self, labels: Floats, groups: Groups, weights: Floats | None, query_weight: Any
    ) -> LabelFeedback:
        return TopFeedback(
            labels,
            groups,
            first=self.prec,
            weight=weights,
            balance=self.balance,
            query_weight=query_weight,
        )

    def _parts(self, feedback: Feedback) -> tuple[Objective, WeakLearner, StepRule]:
        first = None
        if self.order == "best_first":
            first = feedback.potentials(np.zeros(feedback.n_rows))[feedback.rows]
        self._learner = QuasiKNNLearner(
            RankedQueries.of(feedback),
            self.n_intervals,
            self.centre,
            first,
            self.cycles,
            type(self).__name__,
        )
        step = DiffRankStep(smoothing_of(feedback.total), self.on_perfect == "stop")
        return ExponentialLoss(), self._learner, step

    def _constraints(self, instances: Instances) -> Constraints:
        return Constraints(rate=self.learning_rate)

    def _keep(
        self,
        made: Ensemble,
        instances: Instances,
        feedback: Feedback,
        watch: Watch | None,
        with_qid: bool,
    ) -> None:
        super()._keep(made, instances, feedback, watch, with_qid)
        warn_useless(self._learner.rankings.useless, instances)
        del self._learner  # (it holds the data)

    def fit_pairs(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: intervals of relevance are made of labels."""
        raise NotRankedError(
            f"{type(self).__name__} cannot learn from pairs: it cuts queries into intervals by "
            "label. Use fit(X, y, qid=...), or RankBoost for pairs."
        )

    def to_classifier(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: the score of a row depends on the other rows of its query."""
        raise NotRankedError(
            f"{type(self).__name__} makes no classifier: it ranks a row against the others that "
            "come with it, and has no score for a row alone. Use RankBoost."
        )
