"""LogitBoost as a ranker of two classes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from crucial.boosting.loop import Ensemble
from crucial.boosting.steps import FixedStep
from crucial.boosting.watch import Watch
from crucial.data.instances import Instances
from crucial.errors import ParameterError
from crucial.estimators.boosted import Algorithm
from crucial.estimators.classifier import ClassSums
from crucial.estimators.eval_set import EvalRows
from crucial.estimators.stumps import MonotoneRanker
from crucial.estimators.targets import check_one_list_of_two
from crucial.estimators.weak_rankers import TREES, StumpsOrTrees
from crucial.feedback.base import Feedback
from crucial.kernels.elementary import exp, logaddexp
from crucial.measures.names import Measures
from crucial.objectives.logit import LogitLoss
from crucial.objectives.regression import RegressionLoss, labelled_rows, logit_loss, query_means
from crucial.parameters import (
    above,
    fixed,
    flag,
    none_or,
    one_of,
    parameter,
    with_parameters,
)
from crucial.types import Floats, TableLike
from crucial.weak.lines import LineLearner
from crucial.weak.regression_stumps import RegressionStumps

__all__ = ["LogitBoost"]


@with_parameters
class LogitBoost(StumpsOrTrees, MonotoneRanker):
    """Rank by the probability of the better class, learned by LogitBoost.

    For labels of two values, Y = -1 and 1, and no queries. The loss is the mean of
    ``log2(1 + e^(-2 Y s))``, so that a score s says how probable the better class is:
    ``1 / (1 + e^(-2 s))``. Ranking by an estimate of this probability is the plug-in approach to
    bipartite ranking (Werner 2019, section 3; Friedman, Hastie & Tibshirani 2000).

    With ``weak="stump"`` a round is a step of Newton's method: the stump with the least weighted
    squares of the working responses, a value on each side, half of which is added to the score.
    With ``weak="tree"`` a round is the same step with a tree, one value per leaf.
    With ``weak="linear"`` a round fits the gradient of the loss by one feature and adds a share of
    the fit, from half the log odds of the classes on: a logistic regression that grows feature by
    feature, as mboost's ``Binomial`` family.

    Queries are refused, since their scores have no common zero; more than two labels too.

    Attributes
    ----------
    model_ : AdditiveRanker
        What predict uses; its scores are half of log odds.
    classes_ : array of shape (2,)
        The two labels, the better one last.
    trace_ : Trace
        What happened in every round: ``loss`` is the mean loss for stumps (1 at scores of 0), and
        over its value at the offset for ``weak="linear"``.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import LogitBoost
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = LogitBoost(n_estimators=20).fit(X, [1, 1, 0, 1, 0])
    >>> ranker.score(X, [1, 1, 0, 1, 0])
    1.0
    >>> (ranker.predict_proba(X)[:, 1] > 0.5).tolist()
    [True, True, False, True, False]
    """

    learning_rate: float = parameter(default=0.1, kw_only=False)
    weak: str = parameter(
        one_of("stump", "tree", "linear"),
        f"Weak rankers: stumps with a value on each side, lines over one feature, {TREES}.",
        default="stump",
    )
    clip: float | None = parameter(
        none_or(above(0)),
        "Largest absolute working response of a row, for stumps and trees; None for no limit.",
        default=4.0,
    )
    l2: float = parameter(
        text='Ridge ``(l2 / 2) |w|^2`` on the weights of the features, for ``weak="linear"``: '
        "above 0, rounds lead to the minimum of loss and ridge together. For trees, curvature "
        "that every leaf has beside that of its rows, in average rows.",
        default=0.0,
    )
    monotone_constraints: Any = parameter(
        text="For trees: 1, -1 or 0 per feature (or feature name: 1): the score never falls (never "
        "rises) where the feature grows. The score of an abstention is not constrained.",
        default=None,
    )
    standardise: bool = parameter(
        flag,
        "Whether the ridge is on weights of features with standard deviation 1, or of range 1.",
        default=True,
    )
    default_rank: str | int = parameter(
        text="Side of a stump for rows on which its feature abstains: the lower (0), the higher "
        "(1) or the better one. Lines use the mean of the feature.",
        default="learned",
    )
    subsample: float = parameter(
        text="Share of the rows of each class that count in a round; for stumps.", default=1.0
    )
    _own_metrics: ClassVar[tuple[str, ...]] = ("loss",)

    eval_metric: Measures | None = parameter(
        text='Measured on the eval set after every round; default: "auc". "loss" is the mean '
        "loss itself.",
        default=None,
    )
    validation_fraction: float = parameter(
        text="Share of the rows held out for early stopping where no eval set is given.",
        default=0.2,
    )
    record_risks: bool = parameter(
        text="Record R1 and R2 on the pairs of a good and a bad row in the trace, every round.",
        default=False,
    )
    # There are no pairs to be weighed or to contradict each other, and no infinite steps.
    balance: str = fixed(default="pairs")
    gain: None = fixed(default=None)
    contradictions: str = fixed(default="keep")
    n_bags: int = fixed(default=1)
    on_perfect: str = fixed(default="smooth")

    def _needs_two_labels(self) -> bool:
        return True

    def _check_combinations(self) -> None:
        self._check_weak(("monotone_constraints",))
        if self.weak == "linear" and self.subsample < 1.0:
            raise ParameterError(
                "LogitBoost: subsample is for weak='stump' and 'tree'; all rows count in every "
                "round of weak='linear'. Set subsample=1.0."
            )
        if self.weak == "stump" and self.l2 > 0.0:
            raise ParameterError(
                "LogitBoost: l2 is a ridge on the weights of features or the values of leaves, "
                "for weak='linear' and 'tree'; a smaller learning_rate holds stumps back."
            )

    def _takes(self, name: str) -> bool:
        return name == "l2"

    def _parts(self, feedback: Feedback) -> Algorithm:
        check_one_list_of_two("LogitBoost", feedback)
        if self.weak == "stump":
            learner = RegressionStumps(self.default_rank, self.max_bins)
            return LogitLoss(self.clip), learner, FixedStep(0.5)
        if self.weak == "tree":
            return LogitLoss(self.clip), self._trees(), FixedStep(0.5)
        means = query_means(labelled_rows(feedback, "LogitBoost"), by_query=True)
        line = LineLearner(means, l2=self.l2, standardise=self.standardise)
        return RegressionLoss("binomial", "LogitBoost"), line, FixedStep()

    def _watch(self, rows: EvalRows, patience: int | None = None) -> Watch:
        """Prepare ``eval_metric``, the loss of the eval set among them."""
        named = self.eval_metric
        wanted: list[Any] = list(named) if isinstance(named, list | tuple) else [named]
        if "loss" not in wanted:
            return super()._watch(rows, patience)
        others = [one for one in wanted if one != "loss"]
        measures = self._prepared(rows, others) if others else []
        measures.insert(wanted.index("loss"), ("loss", _mean_loss(rows.labels), False))
        return Watch(rows.instances, rows.groups, measures, patience)

    def _set_fitted(
        self,
        ensemble: Ensemble,
        instances: Instances,
        feedback: Feedback,
        watch: Watch | None,
        with_qid: bool,
    ) -> None:
        super()._set_fitted(ensemble, instances, feedback, watch, with_qid)
        both = feedback.two_classes()
        assert both is not None
        # The score is a decision function as it is: no intercept is added to it.
        self._classes = ClassSums(both.low, both.high, 0.0, 0.0)
        self.classes_ = self._classes.classes

    def predict_proba(self, X: TableLike) -> Floats:
        """Return the probabilities of both labels for every row, the lower label first.

        That of the higher label is ``1 / (1 + e^(-2 s))`` with s the score.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        """
        check_is_fitted(self, "model_")
        scores = self.predict(X)
        good = exp(-logaddexp(0.0, -2.0 * scores))
        return np.column_stack((exp(-logaddexp(0.0, 2.0 * scores)), good))


def _mean_loss(labels: Floats) -> Any:
    """Return the mean loss of an eval set, as a function of its scores."""
    sign = np.where(labels == labels.max(), 1.0, -1.0)
    return lambda scores: float(np.mean(logit_loss(sign, scores)))
