"""AdaBoost as a ranker of two classes."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.utils import ClassifierTags

from crucial.boosting.steps import ExactStep
from crucial.data.instances import Instances
from crucial.errors import DataError
from crucial.estimators.boosted import BoostedRanker
from crucial.feedback.base import Feedback, smoothing_of
from crucial.objectives.base import Objective
from crucial.objectives.classification import ClassificationLoss
from crucial.validation import check_choice, check_integer, check_real
from crucial.weak.base import Constraints, StepRule, WeakLearner
from crucial.weak.stumps import StumpLearner
from crucial.weak.votes import VoteLearner

__all__ = ["AdaBoostRanker"]


class AdaBoostRanker(BoostedRanker):
    """AdaBoost with the constant hypothesis, which ranks as RankBoost does.

    For labels of two values. Every row is an example ``y_i`` in {-1, 1} and the loss is the
    sum of ``exp(-y_i H(x_i))``, so that a round costs O(n) without any thought of pairs.
    With the constant among its hypotheses AdaBoost minimises RankBoost's objective too, and
    where the minimum exists both rank alike (Rudin & Schapire 2009, corollary 11 and
    theorem 12). The price: a round may go to the constant, which moves no rank.

    Hypotheses are RankBoost's stumps h as votes ``2 h - 1`` in {-1, 1}, weighted by
    ``.5 ln(W+ / W-)``, the exact minimum; with the constant they span the same ensembles as
    the stumps themselves. The steepest vote is also the one that lowers the loss most, so
    that there is no choice to make here between the two.

    Labels of more than two values, pairs and queries are refused: the equivalence does not
    hold there (one intercept cannot balance several queries), and `RankBoost` takes them.

    Parameters
    ----------
    n_estimators : int, default=300
        Rounds.
    learning_rate : float, default=0.3
        Factor on every weight, in (0, 1]. The papers use 1.
    default_rank : {"learned", 0, 1}, default="learned"
        What a stump says where its feature abstains; 0 becomes a vote of -1.
    on_perfect : {"smooth", "stop"}, default="smooth"
        What to do in a round whose hypothesis errs nowhere, so that its best weight is
        infinite: smooth the weights by half a row, or end before it.
    max_bins : int or None, default=255
        Bins a feature; None for one per distinct value.
    subsample : float, default=1.0
        Share of the rows of each class that count in a round.
    early_stopping_rounds : int or None, default=None
        Stop after so many rounds without a better value on the eval set; the first best
        round is what predict uses.
    eval_metric : str, Measure or list of them, optional
        Measured on the eval set after every round; default: "auc".
    validation_fraction : float, default=0.2
        Share of the rows set aside for early stopping where no eval set is given.
    record_risks : bool, default=False
        Put R1 and R2 on the pairs of a good and a bad row into the trace, every round.
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
        What predict uses; constants are part of the scores and of no rank.
    ensemble_ : AdditiveRanker
        All rounds.
    trace_ : Trace
        What happened in every round: ``loss`` is F over its value at the start, ``f_skew``
        the F-skew ``F+ - F-`` (equation 15), which goes to 0.
    best_round_ : int
        Rounds in ``model_``.
    feature_importances_ : array of shape (n_features,)
    n_features_in_ : int
    feature_names_in_ : array of str, where X had names

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import AdaBoostRanker
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = AdaBoostRanker(n_estimators=20).fit(X, [1, 1, 0, 1, 0])
    >>> ranker.score(X, [1, 1, 0, 1, 0])
    1.0
    >>> ranker.to_classifier().predict(X).tolist()
    [1, 1, 0, 1, 0]
    """

    # There are no pairs to be weighed or to contradict each other.
    balance: ClassVar[str] = "pairs"  # type: ignore[misc]
    gain: ClassVar[None] = None  # type: ignore[misc]
    contradictions: ClassVar[str] = "keep"  # type: ignore[misc]

    def __init__(
        self,
        n_estimators: int = 300,
        learning_rate: float = 0.3,
        *,
        default_rank: str | int = "learned",
        on_perfect: str = "smooth",
        max_bins: int | None = 255,
        subsample: float = 1.0,
        early_stopping_rounds: int | None = None,
        eval_metric: Any = None,
        validation_fraction: float = 0.2,
        record_risks: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.default_rank = default_rank
        self.on_perfect = on_perfect
        self.max_bins = max_bins
        self.subsample = subsample
        self.early_stopping_rounds = early_stopping_rounds
        self.eval_metric = eval_metric
        self.validation_fraction = validation_fraction
        self.record_risks = record_risks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.warm_start = warm_start

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    def _parts(self, feedback: Feedback) -> tuple[Objective, WeakLearner, StepRule]:
        _check_classes(feedback)
        weight = feedback.weight
        total = float(len(feedback.rows) if weight is None else weight.sum())
        step = ExactStep(smoothing_of(total), self.on_perfect == "stop")
        stumps = StumpLearner("steepest", self.default_rank, self.max_bins)
        return ClassificationLoss(), VoteLearner(stumps), step

    def _constraints(self, instances: Instances) -> Constraints:
        return Constraints(rate=self.learning_rate)

    def _check_parameters(self) -> None:
        self._check_common()
        owner = type(self).__name__
        check_real(owner, "learning_rate", self.learning_rate, 0.0, 1.0, low_open=True)
        check_choice(owner, "default_rank", self.default_rank, ["learned", 0, 1])
        check_choice(owner, "on_perfect", self.on_perfect, ["smooth", "stop"])
        check_integer(owner, "max_bins", self.max_bins, 2, 65535, none=True)


def _check_classes(feedback: Feedback) -> None:
    """Refuse what is no classification into two."""
    rows, n_queries = feedback.labelled(), feedback.n_queries + feedback.n_skipped
    if rows is None:
        raise DataError(
            "AdaBoostRanker learns from labels of two values alone. For explicit pairs use "
            "RankBoost or RankBoostPlus."
        )
    if n_queries > 1:
        raise DataError(
            f"AdaBoostRanker compares every row with the same zero, and qid names "
            f"{n_queries} queries, whose scores have none in common. Use RankBoost, "
            "or leave qid out to compare all rows."
        )
    if feedback.two_classes() is None:
        raise DataError(
            f"AdaBoostRanker needs labels of two values, and y has {rows.layout.n_levels}. For "
            "grades use RankBoost, which takes any order of labels (or set y = y >= threshold); "
            "for classes without an order use LabelRanker."
        )
