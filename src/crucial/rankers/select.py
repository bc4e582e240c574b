"""Features that rank well and differ from each other, as a scikit-learn transformer."""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from crucial.boosting.stumps import TIE, first_largest
from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.errors import DataError
from crucial.feedback.labels import check_labels
from crucial.kernels.runtime import count_threads
from crucial.measures.names import MeasureLike, default_measure, get_measure
from crucial.measures.pairs import order_agreement
from crucial.parameters import (
    Rule,
    at_least,
    between,
    either,
    function,
    none_or,
    parameter,
    with_parameters,
)
from crucial.rankers.base import TableEstimator
from crucial.types import Bools, Floats, Ints, TableLike, VectorLike

# A larger c selects the same features: scores vanish beside it. Sums of it would be infinite.
_HUGE = 1e100

_MEASURE = Rule(
    ("the name of a measure", "a Measure"),
    ("str", "Measure"),
    lambda value: isinstance(value, str) or hasattr(value, "prepare"),
)


@with_parameters
class SelectByRanking(SelectorMixin, TableEstimator):
    """Select features that rank well alone and differ from each other (Geng et al. 2007, GAS).

    A feature is worth the measure of the ranking by it, up or down, whichever is better. Two
    features are alike by the share of pairs of rows that both, each in its direction, order the
    same way. Of all sets S of ``n_features`` features, the method seeks the one with the largest::

        sum_{j in S} score_j - c sum_{j != k in S} similarity_jk

    It is greedy: it takes the feature with the largest score, lowers every other score by
    ``2 c`` times the similarity with it, and repeats. The rankers that follow it in a pipeline can
    be of any kind.

    Attributes
    ----------
    scores_ : array of shape (n_features,)
        Measure of the ranking by each feature in its better direction.
    directions_ : int array of shape (n_features,)
        1 where high values of the feature are better, -1 where low ones are.
    similarity_ : array of shape (n_features, n_features)
        Share of the pairs that two features order alike, each in its direction.
    chosen_ : int array
        The selected features in the order in which they were chosen.
    objective_ : float
        The sum above, for the selected features.

    Notes
    -----
    The similarity takes O(n log n) for every two features. Labels do not enter it; a pair that is
    tied in one of the features counts half. Where a feature abstains it counts as its mean.
    A loss as measure counts negated.

    In a pipeline, scikit-learn passes ``qid`` to the selection and to the ranker after
    ``sklearn.set_config(enable_metadata_routing=True)``; `crucial.cross_validate` needs no switch.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial.rankers import SelectByRanking
    >>> good = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    >>> X = np.column_stack([good, good * 2.0, [1.0, 3.0, 2.0, 5.0, 6.0, 4.0]])
    >>> y = [0, 0, 1, 1, 2, 2]
    >>> SelectByRanking(2, c=0.5).fit(X, y).get_support().tolist()
    [True, False, True]
    >>> SelectByRanking(2, c=0.0).fit(X, y).get_support().tolist()
    [True, True, False]
    """

    # Routed without being asked for: without queries, other pairs would be compared.
    __metadata_request__fit = {"qid": True}  # noqa: RUF012

    n_features: int | float = parameter(
        either(at_least(1), between(0, 1, low_open=True, high_open=True, noun="share")),
        "How many features to select (all, if there are no more), or which share of them, rounded "
        "up.",
        default=10,
        kw_only=False,
    )
    c: float = parameter(
        between(0, math.inf),
        "How much two features lose for being alike; 0 selects by score alone. Choose it by "
        "validation.",
        default=0.1,
        kw_only=False,
        grid=(0.0, 0.01, 0.1, 1.0),
    )
    measure: MeasureLike | None = parameter(
        none_or(either(_MEASURE, function)),
        'Measure of the ranking by one feature. None: "ndcg@10", or "auc" without queries or with '
        "labels below 0.",
        default=None,
    )

    def fit(self, X: TableLike, y: VectorLike, *, qid: VectorLike | None = None) -> Self:
        """Score the features, compare them, and select.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
            NaN: the feature abstains.
        y : array of shape (n_rows,)
            Labels, higher is better.
        qid : array of shape (n_rows,), optional
            Query of every row, of any type, in any order. Without, all rows are one list.
        """
        if y is None:
            raise DataError(
                "SelectByRanking requires y to be passed, but the target y is None: features are "
                "scored by how well they rank."
            )
        self._check_parameters()
        instances = Instances.from_input(X)
        self._learn_columns(instances)
        labels = check_labels(y, instances.n_rows)
        groups = Groups.from_qid(qid, instances.n_rows)
        columns = _filled(instances)
        self.scores_, self.directions_ = self._score(columns, labels, groups, qid is not None)
        threads = count_threads(self.n_jobs)
        self.similarity_ = order_agreement(columns * self.directions_, groups, threads)
        self.chosen_ = self._choose()
        alike = self.similarity_[np.ix_(self.chosen_, self.chosen_)]
        apart = float(alike.sum() - np.trace(alike))
        self.objective_ = float(self.scores_[self.chosen_].sum()) - self.c * apart
        return self

    def _score(
        self, columns: Floats, labels: Floats, groups: Groups, has_qid: bool
    ) -> tuple[Floats, Ints]:
        """Return the measure of the ranking by every feature, and its better direction."""
        named = default_measure(labels, has_qid) if self.measure is None else self.measure
        measure = get_measure(named)
        value = measure.prepare(labels, groups)
        sign = 1.0 if measure.higher_is_better else -1.0
        up, down = (
            np.array([sign * value(way * column) for column in columns.T]) for way in (1.0, -1.0)
        )
        if np.isnan(up).any():
            raise DataError(
                f"{measure.name} has no value on these labels, in no query: no feature can be "
                "scored by it. It takes at least two labels (not one class) in some query.",
                parameter="y",
            )
        rises = up >= down - TIE * np.abs(down)
        return np.where(rises, up, down), np.where(rises, 1, -1)

    def _choose(self) -> Ints:
        """Return the features of the greedy search, in its order."""
        n_features = len(self.scores_)
        count = self.n_features
        if isinstance(count, float | np.floating) and count < 1.0:
            count = math.ceil(count * n_features)
        penalty, worth, chosen = 2.0 * min(float(self.c), _HUGE), self.scores_.copy(), []
        for _ in range(min(int(count), n_features)):
            best = first_largest(worth)
            chosen.append(best)
            worth -= penalty * self.similarity_[best]
            worth[best] = -np.inf
        return np.array(chosen, np.int64)

    def _get_support_mask(self) -> Bools:
        check_is_fitted(self, "chosen_")
        mask = np.zeros(self.n_features_in_, bool)
        mask[self.chosen_] = True
        return mask


def _filled(instances: Instances) -> Floats:
    """Return the features as columns, each with its mean where it abstains."""
    columns = np.empty((instances.n_rows, instances.n_features), order="F")
    for j in range(instances.n_features):
        column = instances.column(j).astype(np.float64)
        absent = np.isnan(column)
        if absent.all():
            column[:] = 0.0
        elif absent.any():
            # (sorted first: the mean then does not depend on the order of the rows)
            column[absent] = np.sort(column[~absent]).mean()
        columns[:, j] = column
    return columns
