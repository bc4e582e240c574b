"""The infinite push, as a scikit-learn estimator."""

from __future__ import annotations

import numpy as np

from crucial.data.instances import Instances
from crucial.errors import DataError
from crucial.estimators.linear import RidgeRanker, WeightedFeatures, check_two_labels
from crucial.feedback.labels import LabelFeedback
from crucial.feedback.layout import LabelledRows
from crucial.linear.design import Matrix
from crucial.linear.infinite_push import InfinitePushLoss
from crucial.linear.solution import Solution
from crucial.linear.solvers import newton
from crucial.linear.sparse_push import HingePush, l1_planes
from crucial.model.weak import Presence, ScaledFeature
from crucial.parameters import above, one_of, parameter, with_parameters
from crucial.types import Floats

__all__ = ["InfinitePush"]


@with_parameters
class InfinitePush(RidgeRanker):
    """Push down the highest irrelevant row of every query.

    The limit of the p-norm push for large p (Agarwal 2011; Rudin 2009): of the irrelevant rows
    of a query only the highest one counts, by the number of relevant rows that it ranks above. The
    score is a weighted sum of the features themselves, each scaled to [0, 1] by its range in
    training (and clipped there in prediction), so that the problem is convex::

        sum_q c_q sum_hi u_hi ln(1 + e^(max_lo s_lo - s_hi)) + (l2 / 2) |w|^2

    with s the scores, lo the irrelevant and hi the relevant rows of query q. It is solved to a
    proven distance from the minimum, in O(n) per pass over the data.

    With ``penalty="l1"`` it is the sparse infinite push (Rakotomamonjy 2012), which uses few
    features: hinges ``[1 - (s_hi - max_lo s_lo)]_+`` in place of the logarithms and ``l1 |w|_1`` in
    place of the ridge. That is a linear program, solved to a proven distance by cutting planes.

    Attributes
    ----------
    objective_ : float
        Value of the objective.
    gap_ : float
        The objective is at most this far above its minimum.
    selected_ : int array
        Features with a weight other than 0, ascending.

    Notes
    -----
    Labels are relevant or not: two values in a query. For grades, and for stumps instead of
    weighted features, there is `PNormPush`. A row of weight 2 counts as two rows: twice if it
    is relevant; if not, a maximum does not see the difference.

    Where most queries have an irrelevant row above their relevant ones whatever the weights are,
    weights of 0 are the minimum. The sparse push then says so; take `PNormPush`, which also counts
    the rows below the highest one.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import InfinitePush
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = InfinitePush().fit(X, [1, 1, 0, 1, 0], qid=["a", "a", "a", "b", "b"])
    >>> ranker.rank(X[:3], ["a"] * 3).tolist()
    [2, 1, 3]
    """

    _abstentions = "learned"

    l2: float = parameter(
        text="Ridge on the weights; above 0. The smaller, the closer the top is fitted.",
        default=0.01,
        kw_only=False,
    )
    penalty: str = parameter(
        one_of("l2", "l1"),
        "A ridge, or the l1 norm and hinges, for few features.",
        default="l2",
    )
    l1: float = parameter(
        above(0), 'With ``penalty="l1"``: weight of ``|w|_1``; above 0.', default=0.01
    )
    balance: str = parameter(
        one_of("queries", "pairs"),
        "Whether all queries weigh the same, or all relevant rows do.",
        default="queries",
        grid=("pairs", "queries"),
    )
    max_iter: int = parameter(text="Newton's steps, or linear programs, at most.", default=1000)

    def _needs_two_labels(self) -> bool:
        return True

    def _minimise(self, matrix: Matrix, feedback: LabelFeedback) -> Solution:
        remedy = "Make them two (y >= threshold), or use PNormPush, which takes grades."
        check_two_labels("InfinitePush", feedback, remedy)
        rows = feedback.labelled()
        if self.penalty == "l1":
            push = HingePush(rows.layout, self._row_weights(rows))
            sparse = l1_planes(push, matrix, self.l1, self.tol, self.max_iter)
            found = Solution(sparse.weights, sparse.value, sparse.gap, sparse.n_iter)
            self._warn_of_gap(found, "linear programs")
            return found
        loss = InfinitePushLoss(rows.layout, self._row_weights(rows))
        found = newton(loss, matrix, self.l2, self.tol, self.max_iter)
        self._warn_of_gap(found, "steps")
        return found

    def _learn(self, instances: Instances, feedback: LabelFeedback) -> WeightedFeatures:
        learned = super()._learn(instances, feedback)
        used = np.flatnonzero(learned.weights)
        chosen = [learned.rankers[j] for j in used.tolist()]
        features = {one.feature for one in chosen if isinstance(one, ScaledFeature | Presence)}
        self.selected_ = np.array(sorted(features), np.int64)
        if self.penalty == "l2":
            return learned
        sparse = WeightedFeatures(chosen, learned.weights[used], learned.figures)
        if len(learned.rankers) and not len(used):
            return sparse.but_empty(
                "no weights are better than 0, which all scores are now: an irrelevant row stays "
                f"at the top of most queries, or l1={self.l1:g} is too large. Lower it, or use "
                "PNormPush, which also counts the rows below the highest one."
            )
        return sparse

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
        losing = np.bincount(query, losers, layout.n_queries)
        if not (losing > 0.0).all() or not np.isfinite(winners).all():
            raise DataError(
                "InfinitePush: sample_weight is so uneven that all relevant, or all irrelevant, "
                "rows of a query weigh nothing beside others. Use weights of a similar size.",
                parameter="sample_weight",
            )
        losers /= losing[query]
        weights: Floats = winners / winners.sum() + losers
        return weights
