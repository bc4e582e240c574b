"""ListMLE, as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import replace

from sklearn.exceptions import ConvergenceWarning

from crucial.data.instances import Instances
from crucial.estimators.linear import RidgeRanker, WeightedFeatures
from crucial.estimators.warn import warn_caller
from crucial.feedback.labels import LabelFeedback
from crucial.linear.design import Matrix
from crucial.linear.likelihood import ListLikelihood
from crucial.linear.solution import Solution
from crucial.linear.solvers import lbfgs
from crucial.parameters import parameter, with_parameters

__all__ = ["ListMLE"]


@with_parameters
class ListMLE(RidgeRanker):
    """Make the given orders likely: Plackett and Luce's model of lists (Xia et al. 2008).

    A list is made by choosing its first row among all, the next among the others, and so on,
    each with a probability proportional to e to the power of its score. The score is a weighted
    sum of the features; the weights are those that make the lists of all queries most likely,
    less a ridge. The problem is convex, and solved by L-BFGS with the exact gradient, O(n) a
    pass after one sort.

    Attributes
    ----------
    objective_ : float
        Mean loss of a choice and the ridge.

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
    >>> ranker.rank(X[:3], ["a"] * 3).tolist()
    [1, 2, 3]
    """

    l2: float = parameter(
        text="Ridge ``(l2 / 2) |w|^2`` on the weights of standardised features, beside the mean "
        "loss of a choice; above 0.",
        default=1e-3,
        kw_only=False,
    )
    tol: float = parameter(text="Ends where no entry of the gradient is larger.", default=1e-8)

    def _minimise(self, matrix: Matrix, feedback: LabelFeedback) -> Solution:
        rows = feedback.labelled()
        likelihood = ListLikelihood(rows.layout, feedback.weight, rows.coefficient)
        found = lbfgs(likelihood, matrix, self.l2, self.tol, self.max_iter)
        if found.n_iter >= self.max_iter and found.slope and found.slope > self.tol:
            warn_caller(
                f"{found.n_iter} steps left a slope of {found.slope:.2g}; raise max_iter, l2 or "
                "tol.",
                ConvergenceWarning,
            )
        return found

    def _learn(self, instances: Instances, feedback: LabelFeedback) -> WeightedFeatures:
        learned = super()._learn(instances, feedback)
        return replace(learned, figures={"objective": self.objective_})
