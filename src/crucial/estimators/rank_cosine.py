"""RankCosine, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from crucial.estimators.listwise import Learned, ListRanker, Lists
from crucial.linear.cosine import CosineLists, add_features
from crucial.linear.design import Design
from crucial.model.additive import AdditiveRanker
from crucial.types import Floats
from crucial.validation import check_flag, check_integer, check_real

__all__ = ["RankCosine"]


class RankCosine(ListRanker):
    """Bring the scores of a query into line with its labels (Qin et al. 2008).

    The loss of a query is ``(1 - cos(labels, scores)) / 2``, between 0 and 1 for every query,
    long or short. The score is a sum of features, added one a round: the one that, with its
    weight in closed form, brings the mean loss over queries lowest.

    Parameters
    ----------
    n_estimators : int, default=100
        Rounds at most.
    centred : bool, default=True
        Take the mean of a query from its labels and scores first: the cosine is then their
        correlation, and what is added to all labels or scores of a query changes nothing, as it
        changes no order. False is the cosine as published: features lie in [0, 1] by their range
        in training, and labels count as they are.
    tol : float, default=1e-7
        Ends where no feature brings the loss down by more.
    n_jobs : int or None, default=None
        Threads of `predict`; None for all cores.

    Attributes
    ----------
    model_ : AdditiveRanker
        The weighted features, one term a round, which can be saved and shown.
    loss_curve_ : array of shape (n_rounds,)
        Mean loss after every round; it falls.
    n_iter_ : int
        Rounds.
    feature_importances_ : array of shape (n_features,)
        Share of the absolute weight that went to each feature.
    n_features_in_ : int
    feature_names_in_ : array of str, where X had names

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
    >>> ranker.rank(X[:3]).tolist()
    [1, 2, 3]
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        centred: bool = True,
        tol: float = 1e-7,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.centred = centred
        self.tol = tol
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        owner = type(self).__name__
        check_integer(owner, "n_estimators", self.n_estimators, 1)
        check_flag(owner, "centred", self.centred)
        check_real(owner, "tol", self.tol, 0.0)
        self._check_threads()

    def _learn(self, lists: Lists) -> Learned:
        weight = lists.feedback.weight
        design = Design.of(lists.instances, lists.rows, weight, standard=self.centred)
        cosines = CosineLists(lists.layout, weight, lists.factor, centred=self.centred)
        rounds = list(add_features(cosines, design.matrix, self.n_estimators, self.tol))
        losses = np.array([one.loss for one in rounds])
        weights = np.array([one.weight * design.scale[one.column] for one in rounds])
        rankers = [design.rankers[one.column] for one in rounds]
        attributes = {"loss_curve_": losses, "n_iter_": max(1, len(rounds))}
        told = {"loss": float(losses[-1]) if len(losses) else 0.5}
        return Learned(rankers, weights, attributes, told)

    def staged_predict(self, X: Any, qid: Any = None) -> Iterator[Floats]:
        """Scores after every round; arguments as in `predict`."""
        check_is_fitted(self, "model_")
        return self.model_.staged_predict(self._instances(X, reset=False))

    def truncate(self, n_rounds: int) -> AdditiveRanker:
        """The ranker as it was after ``n_rounds`` rounds."""
        check_is_fitted(self, "model_")
        return self.model_.truncate(n_rounds)
