"""AdaBoost as a ranker of two classes."""

from __future__ import annotations

from typing import Any

from crucial.boosting.loop import Ensemble, StepRule, WeakLearner
from crucial.boosting.pair_losses import ClassificationLoss
from crucial.boosting.steps import ExactStep, NumericStep, SmoothClassMarginStep
from crucial.boosting.stumps import VoteLearner
from crucial.data.instances import Instances
from crucial.errors import NotSeparableWarning, ParameterError
from crucial.feedback.base import Feedback, smoothing_of
from crucial.measures.names import Measures
from crucial.parameters import fixed, one_of, parameter, with_parameters
from crucial.rankers.base import warn_caller
from crucial.rankers.boosted import Algorithm, StumpRanker
from crucial.rankers.classifiers import check_one_list_of_two
from crucial.rankers.rankboost import first_separable


@with_parameters
class AdaBoostRanker(StumpRanker):
    """AdaBoost with the constant hypothesis, which ranks as RankBoost does.

    For labels of two values. Every row is an example ``y_i`` in {-1, 1} and the loss is the
    sum of ``exp(-y_i H(x_i))``, so that a round costs O(n) without any thought of pairs.
    With the constant among its hypotheses AdaBoost minimises RankBoost's objective too, and
    where the minimum exists both rank alike (Rudin & Schapire 2009, corollary 11 and
    theorem 12). The price: a round may go to the constant, which moves no rank.

    Hypotheses are RankBoost's stumps h as votes ``2 h - 1`` in {-1, 1}, weighted by
    ``.5 ln(W+ / W-)``, the exact minimum; with the constant they span the same ensembles as
    the stumps themselves. The steepest vote is also the one that lowers the loss most, so
    that there is no choice to make here between the two. With ``weak="tree"`` a hypothesis is a
    tree with real values, grown on the weights of the rows, whose own weight minimises the loss
    (confidence-rated predictions: Schapire & Singer 1999); its leaves include the constant.

    AdaBoost need not reach the largest margin ``min_i y_i H(x_i) / |lambda|_1`` there is.
    ``step="smooth"`` and ``"line_search"`` do: approximate coordinate ascent boosting and
    coordinate ascent boosting (Rudin, Schapire & Daubechies 2007), which maximise a smooth form
    ``G = -ln F / |lambda|_1`` of it once it is above 0. Where no sum of votes classifies all rows
    right that moment never comes, and a warning says so.

    Labels of more than two values, pairs and queries are refused: the equivalence does not
    hold there (one intercept cannot balance several queries), and `RankBoost` takes them.

    Attributes
    ----------
    model_ : AdditiveRanker
        What predict uses; constants are part of the scores and of no rank.
    trace_ : Trace
        What happened in every round: ``loss`` is F over its value at the start, ``f_skew``
        the F-skew ``F+ - F-`` (equation 15), which goes to 0. With ``step="smooth"`` or
        ``"line_search"``, ``smooth_margin`` is G and ``margin`` the smallest margin.
    separable_round_ : int or None
        The round after which G was above 0 for the first time; None for ``step="exact"``.

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

    step: str = parameter(
        one_of("exact", "smooth", "line_search"),
        "Weight of a vote: AdaBoost's, the minimum of the loss; or, once all rows are classified "
        "right with G > 0, steps that raise the smooth margin G: approximate coordinate ascent "
        "boosting in closed form, or coordinate ascent boosting by a line search.",
        default="exact",
    )
    monotone_constraints: Any = parameter(
        text="For trees: 1, -1 or 0 per feature (or feature name: 1): the score never falls (never "
        "rises) where the feature grows. The score of an abstention is not constrained.",
        default=None,
    )
    default_rank: str | int = parameter(
        text="Score of a stump where its feature abstains; 0 becomes a vote of -1.",
        default="learned",
    )
    on_perfect: str = parameter(
        text="What to do in a round whose hypothesis errs nowhere, so that its best weight is "
        "infinite: smooth the weights by half a row, or stop before it.",
        default="smooth",
    )
    subsample: float = parameter(
        text="Share of the rows of each class that count in a round.", default=1.0
    )
    eval_metric: Measures | None = parameter(
        text='Measured on the eval set after every round; default: "auc".', default=None
    )
    validation_fraction: float = parameter(
        text="Share of the rows held out for early stopping where no eval set is given.",
        default=0.2,
    )
    record_risks: bool = parameter(
        text="Record R1 and R2 on the pairs of a good and a bad row in the trace, every round.",
        default=False,
    )
    # There are no pairs to be weighed or to contradict each other.
    balance: str = fixed(default="pairs")
    gain: None = fixed(default=None)
    contradictions: str = fixed(default="keep")
    n_bags: int = fixed(default=1)
    positive_weights: str | None = fixed(default=None)

    def _needs_two_labels(self) -> bool:
        return True

    def _parts(self, feedback: Feedback) -> Algorithm:
        check_one_list_of_two("AdaBoostRanker", feedback)
        perfect = smoothing_of(feedback.row_mass().total), self.on_perfect == "stop"
        tree = self.weak == "tree"
        step: StepRule = NumericStep(*perfect) if tree else ExactStep(*perfect)
        if self.step != "exact":
            step = SmoothClassMarginStep(feedback, self.step == "line_search", *perfect)
        learner: WeakLearner = (
            self._unit_trees(votes=True) if tree else VoteLearner(self._stump_learner())
        )
        return ClassificationLoss(), learner, step

    def _check_combinations(self) -> None:
        self._check_weak(("monotone_constraints",))
        if self.step != "exact" and self.subsample < 1.0:
            raise ParameterError(
                f"step={self.step!r} needs subsample=1: the smooth margin is about all rows, and "
                "on a draw of them it could fall."
            )

    def _after_fit(self, ensemble: Ensemble, instances: Instances) -> None:
        self.separable_round_: int | None = None
        if self.step == "exact" or not len(ensemble.trace):
            return
        self.separable_round_ = first_separable(ensemble.trace)
        if self.separable_round_ is None:
            last = ensemble.trace[-1].extras
            warn_caller(
                f"after {len(ensemble.trace)} rounds the smooth margin is "
                f"{last['smooth_margin']:.4g}, not above 0 (the smallest margin is "
                f"{last['margin']:.4g}), so all steps were AdaBoost's. More rounds may get there, "
                "if any sum of votes classifies every row right.",
                NotSeparableWarning,
            )
