"""The infinite push, as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from crucial.data.groups import Groups
from crucial.errors import DataError, NoProgressWarning
from crucial.estimators.base import Ranker
from crucial.feedback.labels import LabelFeedback, check_labels
from crucial.feedback.layout import LabelledRows
from crucial.linear.design import Design
from crucial.linear.infinite_push import TopLoss
from crucial.linear.solvers import newton
from crucial.model.additive import AdditiveRanker
from crucial.types import Floats
from crucial.validation import check_choice, check_integer, check_real, refuse

__all__ = ["InfinitePush"]


class InfinitePush(Ranker):
    """Rank so that the single highest row that should not stand there stands low.

    The limit of the p-norm push for large p (Agarwal 2011; Rudin 2009): what counts of the
    irrelevant rows of a query is the highest one alone, and how many relevant rows it stands
    above. The score is a weighted sum of the features themselves, each brought to [0, 1] by its
    range in training (and cut off there in prediction), so that the problem is convex::

        sum_q c_q sum_hi u_hi ln(1 + e^(max_lo s_lo - s_hi)) + (l2 / 2) |w|^2

    with s the scores, lo the irrelevant and hi the relevant rows of query q. It is solved to a
    proven distance from the minimum, O(n) a pass over the data.

    Parameters
    ----------
    l2 : float, default=0.01
        Ridge on the weights; above 0. The smaller, the closer the top is fitted.
    balance : {"queries", "pairs"}, default="queries"
        Whether all queries weigh the same, or all relevant rows do.
    tol : float, default=1e-4
        How far above its minimum the objective may be left.
    max_iter : int, default=1000
        Newton's steps at most.
    n_jobs : int or None, default=None
        Threads of `predict`; None for all cores.

    Attributes
    ----------
    model_ : AdditiveRanker
        The weighted features, which can be saved and shown.
    objective_ : float
        Value of the objective.
    gap_ : float
        The objective is at most this far above its minimum.
    n_iter_ : int
    feature_importances_ : array of shape (n_features,)
        Share of the absolute weight that went to each feature.
    n_features_in_ : int
    feature_names_in_ : array of str, where X had names

    Notes
    -----
    Labels are relevant or not: two values in a query. For grades, and for stumps instead of
    weighted features, there is `PNormPush`. A row of weight 2 counts as two rows: twice if it
    is relevant; if not, a maximum does not see the difference.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import InfinitePush
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = InfinitePush().fit(X, [1, 1, 0, 1, 0], qid=["a", "a", "a", "b", "b"])
    >>> ranker.rank(X[:3]).tolist()
    [2, 1, 3]
    """

    def __init__(
        self,
        l2: float = 0.01,
        *,
        balance: str = "queries",
        tol: float = 1e-4,
        max_iter: int = 1000,
        n_jobs: int | None = None,
    ) -> None:
        self.l2 = l2
        self.balance = balance
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    def _check_parameters(self) -> None:
        owner = type(self).__name__
        check_real(owner, "l2", self.l2, 0.0, low_open=True)
        check_choice(owner, "balance", self.balance, ["pairs", "queries"])
        check_real(owner, "tol", self.tol, 0.0, low_open=True)
        check_integer(owner, "max_iter", self.max_iter, 1)
        whole = isinstance(self.n_jobs, Integral) and not isinstance(self.n_jobs, bool)
        if self.n_jobs is not None and not (whole and self.n_jobs != 0):
            raise refuse(owner, "n_jobs", "an int other than 0, or None", self.n_jobs)

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
    ) -> Self:
        """Learn from labels of two values: within a query, the higher should rank higher.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
            NaN: the feature abstains; what that is worth is learned.
        y : array of shape (n_rows,)
            Labels, two values in every query.
        qid : array of shape (n_rows,), optional
            Query of every row. Without, all rows are compared.
        sample_weight : array of shape (n_rows,), optional
            A row of weight 2 counts as two rows, of weight 0 as none.
        query_weight : array of shape (n_rows,) or mapping from query id, optional
            Factor on a query.
        """
        if y is None:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        self._check_parameters()
        instances = self._instances(X, reset=True)
        labels = check_labels(y, instances.n_rows)
        groups = Groups.from_qid(qid, instances.n_rows)
        feedback = LabelFeedback(labels, groups, weight=sample_weight, query_weight=query_weight)
        rows = feedback.labelled()
        _check_two(labels, rows, groups)
        design = Design.of(instances, feedback.rows, abstentions="learned")
        loss = TopLoss(rows.layout, self._row_weights(rows))
        if not design.rankers:
            warnings.warn(
                "no feature tells any rows apart; all scores are 0.",
                NoProgressWarning,
                stacklevel=2,
            )
        found = newton(loss, design.matrix, self.l2, self.tol, self.max_iter)
        if found.gap > self.tol:
            warnings.warn(
                f"{found.n_iter} steps left the objective up to {found.gap:.2g} above its minimum; "
                "raise max_iter, l2 or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.objective_, self.gap_, self.n_iter_ = found.value, found.gap, max(1, found.n_iter)
        self.fitted_with_qid_ = qid is not None
        told = {name: value for name, value in self.get_params().items() if name != "n_jobs"}
        summary = {
            "estimator": type(self).__name__,
            "parameters": told,
            "objective": found.value,
            "gap": found.gap,
            "rows": len(feedback.rows),
            "with_qid": qid is not None,
            **feedback.summary(),
        }
        self.model_ = AdditiveRanker(
            instances.n_features, design.rankers, found.weights, instances.names, summary
        )
        return self

    def _row_weights(self, rows: LabelledRows) -> Floats:
        """Weights of all winners, which sum to 1, and shares of the losers of each query."""
        layout = rows.layout
        u = np.ones(len(layout.rows)) if rows.weight is None else rows.weight
        wins, query = layout.level_of_row() == 1, layout.query_of_row()
        factor = rows.coefficient
        if self.balance == "queries":
            factor = factor / np.bincount(query, u * wins, layout.n_queries)
        winners = np.where(wins, u * factor[query], 0.0)
        losers = np.where(wins, 0.0, u)
        losers /= np.bincount(query, losers, layout.n_queries)[query]
        weights: Floats = winners / winners.sum() + losers
        return weights

    @property
    def feature_importances_(self) -> Floats:
        """Share of the absolute weight that went to each feature."""
        check_is_fitted(self, "model_")
        return self.model_.feature_importances()

    def save(self, path: Any) -> None:
        """Write ``model_`` to a JSON file; `crucial.load_model` reads it."""
        check_is_fitted(self, "model_")
        self.model_.save(path)


def _check_two(labels: Floats, rows: LabelledRows, groups: Groups) -> None:
    """Refuse a query of more than two labels."""
    levels = np.diff(rows.layout.query_first)
    deep = np.flatnonzero(levels > 2)
    if not len(deep):
        return
    at = int(deep[0])
    first = int(rows.layout.query_first[at])
    said = ", ".join(f"{v:g}" for v in rows.layout.values[first : first + min(4, levels[at])])
    more = ", ..." if levels[at] > 4 else ""
    where = "the labels are"
    if groups.n_groups > 1:
        query = groups.ids[rows.layout.queries[at : at + 1]].tolist()[0]
        where = f"the labels of query {query!r} are"
    raise DataError(
        "InfinitePush: Only binary classification is supported; it knows relevant and not, two "
        f"labels in a query, and {where} {said}{more}. Make them two (y >= threshold), or use "
        "PNormPush, which takes grades."
    )
