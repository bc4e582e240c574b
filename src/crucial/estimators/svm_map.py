"""SVM-map, as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import ClassifierTags

from crucial.data.groups import Groups
from crucial.errors import DataError
from crucial.estimators.listwise import Learned, ListRanker, Lists
from crucial.feedback.labels import check_weights
from crucial.feedback.top import top_labels
from crucial.linear.average_precision import PrecisionLoss
from crucial.linear.cutting_planes import cutting_planes, load_solver
from crucial.linear.design import Design
from crucial.types import Floats
from crucial.validation import check_integer, check_real, refuse

__all__ = ["SVMMap"]


#: Rows that weights may make of the given ones: beyond, memory ends.
_MOST_ROWS = 1e8


class SVMMap(ListRanker):
    """Rank by a margin that grows with what is lost in average precision (Yue et al. 2007).

    In every query the right order should score above any other by at least the average precision
    that the other loses. The score is a weighted sum of the features::

        (l2 / 2) |w|^2 + sum_q c_q max over orders of (1 - AP(order) - w.(Psi_right - Psi_order))

    is minimised by cutting planes to a proven distance from its minimum; the worst order of every
    query is found exactly. It needs a solver of quadratic problems: ``pip install crucial[qp]``.

    Parameters
    ----------
    l2 : float, default=0.01
        Ridge on the weights of standardised features; above 0. It is 1/C of the paper, with the
        mean of the queries' losses for their sum.
    top : int, float or None, default=None
        Which rows are relevant. None: labels are of two values in a query, and the higher is
        relevant. A number or a share: those among the first so many positions of their query by
        label, for grades and strict orders; rows of equal labels share the best of their
        positions, and those of a query's lowest label are never relevant.
    tol : float, default=0.001
        How far above its minimum the objective may be left.
    max_iter : int, default=1000
        Planes at most.
    n_jobs : int or None, default=None
        Threads of `predict`; None for all cores.

    Attributes
    ----------
    model_ : AdditiveRanker
        The weighted features, which can be saved and shown.
    objective_ : float
    gap_ : float
        The objective is at most this far above its minimum.
    n_iter_ : int
        Planes that were made.
    feature_importances_ : array of shape (n_features,)
        Share of the absolute weight that went to each feature.
    n_features_in_ : int
    feature_names_in_ : array of str, where X had names

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
    >>> ranker.rank(X[:3]).tolist()
    [1, 2, 3]
    """

    def __init__(
        self,
        l2: float = 1e-2,
        *,
        top: int | float | None = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        n_jobs: int | None = None,
    ) -> None:
        self.l2 = l2
        self.top = top
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.top is None:
            tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    def _check_parameters(self) -> None:
        owner = type(self).__name__
        check_real(owner, "l2", self.l2, 0.0, low_open=True)
        check_real(owner, "tol", self.tol, 0.0, low_open=True)
        check_integer(owner, "max_iter", self.max_iter, 1)
        whole = isinstance(self.top, int | np.integer) and not isinstance(self.top, bool)
        share = isinstance(self.top, float | np.floating) and 0.0 < self.top < 1.0
        if not (self.top is None or share or (whole and self.top >= 1)):
            rule = "an int of at least 1, a share in (0, 1), or None"
            raise refuse(owner, "top", rule, self.top)
        self._check_threads()
        load_solver()

    def _labels(self, y: Floats, groups: Groups, sample_weight: Any) -> Floats:
        weight = check_weights(sample_weight, len(y))
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

    def _learn(self, lists: Lists) -> Learned:
        _check_two(lists)
        layout, weight = lists.layout, lists.feedback.weight
        design = Design.of(lists.instances, lists.rows, weight)
        matrix = design.matrix
        if weight is not None:
            matrix = matrix[np.repeat(np.arange(len(weight)), weight.astype(np.int64))]
            layout = layout.repeated(weight.astype(np.int64))
        loss = PrecisionLoss(layout, lists.factor)
        found = cutting_planes(loss, matrix, self.l2, self.tol, self.max_iter)
        if found.gap > self.tol and len(design.rankers):
            warnings.warn(
                f"{found.n_iter} planes left the objective up to {found.gap:.2g} above its "
                "minimum; raise max_iter, l2 or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        attributes = {"objective_": found.value, "gap_": found.gap, "n_iter_": found.n_iter}
        told = {"objective": found.value, "gap": found.gap}
        return Learned(design.rankers, found.weights * design.scale, attributes, told)


def _check_two(lists: Lists) -> None:
    """Refuse a query of more than two labels."""
    layout = lists.layout
    levels = np.diff(layout.query_first)
    deep = np.flatnonzero(levels > 2)
    if not len(deep):
        return
    at = int(deep[0])
    first = int(layout.query_first[at])
    said = ", ".join(f"{v:g}" for v in layout.values[first : first + min(4, levels[at])])
    more = ", ..." if levels[at] > 4 else ""
    where = "the labels are"
    if lists.groups.n_groups > 1:
        query = lists.groups.ids[layout.queries[at : at + 1]].tolist()[0]
        where = f"the labels of query {query!r} are"
    raise DataError(
        "SVMMap: Only binary classification is supported; average precision knows relevant and "
        f"not, two labels in a query, and {where} {said}{more}. Set top= to how many of a query's "
        "first positions are relevant, make the labels two (y >= threshold), or use ListMLE or "
        "RankBoost, which take grades."
    )
