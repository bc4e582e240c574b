"""SVM-map, as a scikit-learn estimator."""

from __future__ import annotations

import numpy as np

from crucial.errors import DataError
from crucial.estimators.base import RankingInput
from crucial.estimators.linear import RidgeRanker, check_two_labels
from crucial.feedback.labels import LabelFeedback, top_labels
from crucial.linear.average_precision import PrecisionLoss
from crucial.linear.cutting_planes import cutting_planes, load_solver
from crucial.linear.design import Matrix
from crucial.linear.solution import Solution
from crucial.parameters import at_least, between, either, none_or, parameter, with_parameters
from crucial.types import Floats

__all__ = ["SVMMap"]


#: Rows that weights may make of the given ones: beyond, memory ends.
_MOST_ROWS = 1e8

_GRADES = (
    "Set top= to how many of a query's first positions are relevant, make the labels two "
    "(y >= threshold), or use ListMLE or RankBoost, which take grades."
)


@with_parameters
class SVMMap(RidgeRanker):
    """Rank by a margin that grows with the loss in average precision (Yue et al. 2007).

    In every query the right order should score above any other by at least the average precision
    that the other loses. The score is a weighted sum of the features::

        (l2 / 2) |w|^2 + sum_q c_q max over orders of (1 - AP(order) - w.(Psi_right - Psi_order))

    is minimised by cutting planes to a proven distance from its minimum; the worst order of every
    query is found exactly. It needs a solver of quadratic problems: ``pip install crucial[qp]``.

    Attributes
    ----------
    objective_ : float
        Value of the objective.
    gap_ : float
        The objective is at most this far above its minimum.
    n_iter_ : int
        Planes that were made.

    Notes
    -----
    A pass takes O(relevant times other rows) of every query. Average precision counts rows, so
    weights of rows must be whole numbers: a row of weight 2 is a row twice.

    Features are standardised inside (mean 0, standard deviation 1, on the training rows) and cut
    off at the range that they had in training. Where a feature abstains it counts as its mean.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import SVMMap
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = SVMMap().fit(X, [1, 1, 0, 1, 0], qid=["a", "a", "a", "b", "b"])
    >>> ranker.rank(X[:3], ["a"] * 3).tolist()
    [1, 2, 3]
    """

    _counts_weights = True

    l2: float = parameter(
        text="Ridge on the weights of standardised features; above 0. It is 1/C of the paper, with "
        "the mean of the queries' losses for their sum.",
        default=0.01,
        kw_only=False,
    )
    top: int | float | None = parameter(
        none_or(either(at_least(1), between(0, 1, low_open=True, high_open=True, noun="share"))),
        "Which rows are relevant. None: labels are of two values in a query, and the higher is "
        "relevant. A number or a share: those among the first so many positions of their query by "
        "label, for grades and strict orders; rows of equal labels share the best of their "
        "positions, and those of a query's lowest label are never relevant.",
        default=None,
    )
    tol: float = parameter(default=1e-3)
    max_iter: int = parameter(text="Planes at most.", default=1000)

    def _needs_two_labels(self) -> bool:
        return self.top is None

    def _check_combinations(self) -> None:
        load_solver()

    def _labels(self, data: RankingInput) -> Floats:
        y, groups, weight = super()._labels(data), data.groups, data.weight
        if weight is not None and np.any(weight != np.floor(weight)):
            row = int(np.flatnonzero(weight != np.floor(weight))[0])
            raise DataError(
                "SVMMap: sample_weight must be whole numbers, since average precision counts "
                f"rows. Row {row} is {weight[row]:g}. Use query_weight to weigh queries, or "
                "ListMLE, which takes any weights."
            )
        if weight is not None and weight.sum() > _MOST_ROWS:
            raise DataError(
                f"SVMMap: sample_weight adds up to {weight.sum():g} rows, and rows are counted one "
                f"by one, up to {_MOST_ROWS:g}. Use smaller weights, or ListMLE."
            )
        if self.top is None:
            return y
        kept = top_labels(y, groups, self.top, weight)
        lowest = np.full(groups.n_groups, np.inf)
        np.minimum.at(lowest, groups.codes, y)
        return (kept > lowest[groups.codes]).astype(np.float64)

    def _minimise(self, matrix: Matrix, feedback: LabelFeedback) -> Solution:
        check_two_labels("SVMMap", feedback, _GRADES)
        rows, weight = feedback.labelled(), feedback.weight
        layout = rows.layout
        if weight is not None:
            matrix = matrix[np.repeat(np.arange(len(weight)), weight.astype(np.int64))]
            layout = layout.repeated(weight.astype(np.int64))
        loss = PrecisionLoss(layout, rows.coefficient)
        found = cutting_planes(loss, matrix, float(self.l2), self.tol, self.max_iter)
        self._warn_of_gap(found, "planes")
        return found
