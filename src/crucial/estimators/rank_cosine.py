"""RankCosine, as a scikit-learn estimator."""

from __future__ import annotations

import numpy as np

from crucial.data.instances import Instances
from crucial.estimators.linear import LinearRanker, WeightedFeatures
from crucial.estimators.rounds import StagedRanker
from crucial.feedback.labels import LabelFeedback
from crucial.linear.cosine import CosineLists, add_features
from crucial.linear.design import Design
from crucial.model.additive import AdditiveRanker
from crucial.parameters import at_least, between, flag, parameter, with_parameters

__all__ = ["RankCosine"]


@with_parameters
class RankCosine(LinearRanker, StagedRanker[AdditiveRanker]):
    """Bring the scores of a query into line with its labels (Qin et al. 2008).

    The loss of a query is ``(1 - cos(labels, scores)) / 2``, between 0 and 1 for every query,
    long or short. The score is a sum of features, added one per round: the one that, with its
    weight in closed form, brings the mean loss over queries lowest.

    Attributes
    ----------
    model_ : AdditiveRanker
        The weighted features, one term per round, which can be saved and shown.
    loss_curve_ : array of shape (n_rounds,)
        Mean loss after every round; it falls.
    n_iter_ : int
        Rounds.

    Notes
    -----
    The loss looks at the sizes of labels: grades 0, 1, 2 are not grades 0, 1, 3. Labels may tie.

    Features are standardised inside (mean 0, standard deviation 1, on the training rows) where
    ``centred``, and cut off at the range that they had in training. Where a feature abstains it
    counts as its mean.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import RankCosine
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = RankCosine().fit(X, [3, 2, 1, 2, 1], qid=["a", "a", "a", "b", "b"])
    >>> ranker.rank(X[:3], ["a"] * 3).tolist()
    [1, 2, 3]
    """

    n_estimators: int = parameter(at_least(1), "Rounds at most.", default=100, kw_only=False)
    centred: bool = parameter(
        flag,
        "Take the mean of a query from its labels and scores first: the cosine is then their "
        "correlation, and what is added to all labels or scores of a query changes nothing, as it "
        "changes no order. False is the cosine as published: features lie in [0, 1] by their "
        "range in training, and labels count as they are.",
        default=True,
    )
    tol: float = parameter(
        between(0, np.inf), "Ends where no feature brings the loss down by more.", default=1e-7
    )

    def _learn(self, instances: Instances, feedback: LabelFeedback) -> WeightedFeatures:
        rows, weight, centred = feedback.labelled(), feedback.weight, bool(self.centred)
        design = Design.of(instances, feedback.rows, weight, standard=centred)
        cosines = CosineLists(rows.layout, weight, rows.coefficient, centred=centred)
        rounds = list(add_features(cosines, design.matrix, self.n_estimators, self.tol))
        losses = np.array([one.loss for one in rounds])
        weights = np.array([one.weight * design.scale[one.column] for one in rounds])
        rankers = [design.rankers[one.column] for one in rounds]
        self.loss_curve_, self.n_iter_ = losses, max(1, len(rounds))
        loss = float(losses[-1]) if len(losses) else 0.5
        return WeightedFeatures(rankers, weights, {"loss": loss})

    def _set_model(self, model: AdditiveRanker, with_qid: bool) -> None:
        super()._set_model(model, with_qid)
        self.ensemble_ = self.model_
