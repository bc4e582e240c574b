"""ListMLE, as a scikit-learn estimator."""

from __future__ import annotations

import warnings

from sklearn.exceptions import ConvergenceWarning

from crucial.estimators.listwise import Learned, ListRanker, Lists
from crucial.linear.design import Design
from crucial.linear.likelihood import ListLikelihood
from crucial.linear.solvers import lbfgs
from crucial.validation import check_integer, check_real

__all__ = ["ListMLE"]


class ListMLE(ListRanker):
    """Make the given orders likely: Plackett and Luce's model of lists (Xia et al. 2008).

    A list is made by choosing its first row among all, the next among the others, and so on,
    each with a probability proportional to e to the power of its score. The score is a weighted
    sum of the features; the weights are those that make the lists of all queries most likely,
    less a ridge. The problem is convex, and solved by L-BFGS with the exact gradient, O(n) a
    pass after one sort.

    Parameters
    ----------
    l2 : float, default=0.001
        Ridge ``(l2 / 2) |w|^2`` on the weights of standardised features, beside the mean loss of
        a choice; above 0.
    tol : float, default=1e-8
        Ends where no entry of the gradient is larger.
    max_iter : int, default=1000
    n_jobs : int or None, default=None
        Threads of `predict`; None for all cores.

    Attributes
    ----------
    model_ : AdditiveRanker
        The weighted features, which can be saved and shown.
    objective_ : float
        Mean loss of a choice and the ridge.
    n_iter_ : int
    feature_importances_ : array of shape (n_features,)
        Share of the absolute weight that went to each feature.
    n_features_in_ : int
    feature_names_in_ : array of str, where X had names

    Notes
    -----
    The model is about strict orders. Where labels tie, every row above the lowest label of its
    query is chosen among itself and the rows of lower labels: equal labels are not compared. On a
    strict order that is the model itself; for two labels it is the cross entropy of each relevant
    row against all that are not.

    Features are standardised inside (mean 0, standard deviation 1, on the training rows) and cut
    off at the range that they had in training. Where a feature abstains it counts as its mean.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import ListMLE
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = ListMLE().fit(X, [3, 2, 1, 2, 1], qid=["a", "a", "a", "b", "b"])
    >>> ranker.rank(X[:3]).tolist()
    [1, 2, 3]
    """

    def __init__(
        self,
        l2: float = 1e-3,
        *,
        tol: float = 1e-8,
        max_iter: int = 1000,
        n_jobs: int | None = None,
    ) -> None:
        self.l2 = l2
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        owner = type(self).__name__
        check_real(owner, "l2", self.l2, 0.0, low_open=True)
        check_real(owner, "tol", self.tol, 0.0, low_open=True)
        check_integer(owner, "max_iter", self.max_iter, 1)
        self._check_threads()

    def _learn(self, lists: Lists) -> Learned:
        weight = lists.feedback.weight
        design = Design.of(lists.instances, lists.rows, weight)
        likelihood = ListLikelihood(lists.layout, weight, lists.factor)
        found = lbfgs(likelihood, design.matrix, self.l2, self.tol, self.max_iter)
        if found.n_iter >= self.max_iter and found.slope and found.slope > self.tol:
            warnings.warn(
                f"{found.n_iter} steps left a slope of {found.slope:.2g}; raise max_iter, l2 or "
                "tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        attributes = {"objective_": found.value, "n_iter_": max(1, found.n_iter)}
        weights = found.weights * design.scale
        return Learned(design.rankers, weights, attributes, {"objective": found.value})
