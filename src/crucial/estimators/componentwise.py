"""Component-wise gradient boosting of linear rankers, as a scikit-learn estimator."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from crucial.boosting.least_squares import boost_squares
from crucial.boosting.loop import Ensemble, boost
from crucial.boosting.parts import Constraints, Objective, TrainingRows
from crucial.boosting.steps import FixedStep
from crucial.boosting.trace import Progress, Round, Trace
from crucial.boosting.watch import Watch
from crucial.data.arrays import check_values
from crucial.data.instances import Instances
from crucial.errors import ParameterError
from crucial.estimators.base import RankingInput
from crucial.estimators.boosted import BoostedRanker
from crucial.estimators.linear import check_two_labels
from crucial.estimators.warn import warn_caller
from crucial.feedback.base import Feedback
from crucial.feedback.labels import LabelFeedback, QueryWeight
from crucial.kernels.elementary import exp, logaddexp
from crucial.model.weak import ScaledFeature
from crucial.objectives.regression import RegressionLoss, SurrogateLoss, labelled_rows, query_means
from crucial.parameters import between, fixed, flag, one_of, parameter, with_parameters
from crucial.types import Floats
from crucial.weak.lines import LineLearner

__all__ = ["ComponentwiseBoost"]

_OF_ROWS = ("l2", "l1", "binomial")
_OF_PAIRS = ("exp", "hinge", "piecewise")


@with_parameters
class ComponentwiseBoost(BoostedRanker):
    """Boost lines over single features: a sparse linear ranker by early stopping.

    A round fits minus the gradient of the loss by one feature with an intercept, and adds
    ``learning_rate`` times the fit (Werner 2019, algorithm 1). Coefficients add up to a linear
    model with no more features than rounds.

    Losses of rows compare a score with its label: ``l2`` the squared residual (L2 boosting,
    Buehlmann & Yu 2003; a round costs O(features), whatever the number of rows), ``l1`` the
    absolute one, ``binomial`` the logistic loss of two labels. They choose the feature with the
    least squares.

    Losses of pairs are surrogates of the hard ranking loss, of
    ``z = (y_i - y_j) (s_i - s_j)``: ``exp`` e^-z, ``hinge`` max(0, 1 - z), ``piecewise`` 1 below 0,
    falling to 0 at ``width``. They try every feature in every round, each in O(n log n + n d) for d
    different labels in a query: O(n^2) for labels that all differ.

    Attributes
    ----------
    model_ : AdditiveRanker
    coef_ : array of shape (n_features,)
        Weights of the features as they come, before the cut-off at their training range.
    intercept_ : float
    objective_ : float
        Mean loss on the training rows or pairs, of ``model_``.
    diverged_ : int or None
        The round in which the scores diverged; it is not in the model.
    trace_ : Trace
        What happened in every round: ``r`` is the slope of the fit over a feature scaled to [0, 1],
        ``risk`` the mean loss, ``loss`` the same over its value at the start; with ``aicc``, also
        the corrected AIC and the effective number of ``parameters``.

    Notes
    -----
    Every query has an intercept of its own, which no comparison sees; the model has their mean.
    Where a feature abstains it counts as its mean, and beyond its range in training as the end of
    the range. Coefficients are not held back by anything but the number of rounds: choose it by
    ``early_stopping_rounds`` or ``aicc``.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import ComponentwiseBoost
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = ComponentwiseBoost(50).fit(X, [2.0, 1.1, 0.3, 1.5, 0.2])
    >>> ranker.rank(X).tolist()
    [2, 3, 4, 1, 5]
    """

    learning_rate: float = parameter(
        text="Share of every fit that is added, in (0, 1].", default=0.1, kw_only=False
    )
    loss: str = parameter(
        one_of(*_OF_ROWS, *_OF_PAIRS),
        "What is minimised: a loss of rows or a surrogate over pairs.",
        default="l2",
        grid=("l2", "hinge"),
    )
    selection: str = parameter(
        one_of("updated", "simple"),
        "For losses of pairs, which feature to take: the one with the least loss of the scores "
        "after the round, or of its fit alone, as the review has it.",
        default="updated",
    )
    width: float = parameter(
        between(0, 1, low_open=True),
        "Of the sloping part of the piecewise loss, in (0, 1].",
        default=0.5,
    )
    expit: bool = parameter(
        flag,
        "Replace labels y by 1 / (1 + e^-y), which is in the same order and bounded.",
        default=False,
    )
    aicc: bool = parameter(
        flag,
        'For ``loss="l2"``: keep the rounds with the smallest corrected AIC (Buehlmann 2006).',
        default=False,
    )
    balance: str = fixed(default="pairs")
    gain: None = fixed(default=None)
    contradictions: str = fixed(default="keep")
    on_perfect: str = fixed(default="smooth")
    subsample: float = fixed(default=1.0)
    n_bags: int = fixed(default=1)

    def _needs_two_labels(self) -> bool:
        return self.loss == "binomial"

    def _check_combinations(self) -> None:
        if self.aicc and self.loss != "l2":
            raise ParameterError(
                "ComponentwiseBoost: aicc is a criterion of least squares, for loss='l2'. Use "
                "early_stopping_rounds for other losses."
            )
        for name in ("early_stopping_rounds", "validation_folds"):
            if self.aicc and getattr(self, name) is not None:
                raise ParameterError(
                    f"ComponentwiseBoost: aicc and {name} both choose the number of rounds; set "
                    "one of them."
                )

    def _label_feedback(
        self, data: RankingInput, weight: Floats | None, query_weight: QueryWeight | None
    ) -> LabelFeedback:
        labels = data.known_labels
        if self.expit:
            labels = exp(-logaddexp(0.0, -labels))
        return LabelFeedback(labels, data.groups, weight=weight, query_weight=query_weight)

    def _boost(
        self,
        training: TrainingRows,
        feedback: Feedback,
        watch: Watch | None,
        seed: int,
        rounds: int,
        progress: Progress | None,
        earlier: Sequence[Round],
    ) -> Ensemble:
        owner = type(self).__name__
        rows = labelled_rows(feedback, owner)
        if self.loss == "binomial":
            assert isinstance(feedback, LabelFeedback)
            remedy = "Make them two (y >= threshold), or use another loss, or RankBoost."
            check_two_labels(owner, feedback, remedy)
        else:
            check_values(rows.labels, owner)
        means = query_means(rows, by_query=self.loss in _OF_ROWS)
        if self.loss == "l2":
            # (the same rounds again cost less than to remember them)
            return boost_squares(
                training,
                feedback,
                rows.labels,
                means,
                rounds=rounds,
                rate=self.learning_rate,
                watch=watch,
                record_risks=self.record_risks,
                progress=progress,
                criterion=self.aicc,
            )
        objective: Objective = RegressionLoss(self.loss, owner)
        if self.loss in _OF_PAIRS:
            objective = SurrogateLoss(self.loss, self.width, owner)
        return boost(
            training,
            feedback,
            objective,
            LineLearner(means, self.selection if self.loss in _OF_PAIRS else "squares"),
            FixedStep(),
            rounds=rounds,
            constraints=Constraints(rate=self.learning_rate),
            watch=watch,
            record_risks=self.record_risks,
            progress=progress,
            earlier=earlier,
        )

    def _best_round(self, trace: Trace, watch: Watch | None) -> int:
        if not self.aicc or not len(trace):
            return super()._best_round(trace, watch)
        return int(np.argmin(trace.column("aicc"))) + 1

    def _after_fit(self, ensemble: Ensemble, instances: Instances) -> None:
        trace, best = ensemble.trace, self.best_round_
        self.objective_ = trace[best - 1].extras["risk"] if best else math.nan
        self.coef_ = np.zeros(instances.n_features)
        self.intercept_ = self.model_.intercept
        for ranker, weight in self.model_.weighted():
            assert isinstance(ranker, ScaledFeature)
            slope = weight * ranker.unit / (ranker.high * ranker.unit - ranker.low * ranker.unit)
            self.coef_[ranker.feature] += slope
            self.intercept_ -= slope * ranker.low
        diverged = trace.stopped.startswith("diverged")
        self.diverged_ = len(trace) + 1 if diverged else None
        if diverged:
            warn_caller(
                f"the scores {trace.stopped}, which is not in the model. Lower learning_rate, set "
                "expit=True, or use another loss.",
                ConvergenceWarning,
            )
