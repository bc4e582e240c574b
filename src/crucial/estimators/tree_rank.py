"""TreeRank, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from crucial.estimators.base import RankingInput
from crucial.estimators.trees import SplitTrees
from crucial.feedback.labels import LabelFeedback
from crucial.model.ranking_trees import RankingTrees
from crucial.parameters import (
    at_least,
    between,
    either,
    none_or,
    one_of,
    parameter,
    with_parameters,
)
from crucial.trees.pruning import prune
from crucial.trees.tree_rank import PenaltySearch, TreeRankAlgorithm, search_penalty
from crucial.trees.two_classes import tree_area
from crucial.types import Bytes

__all__ = ["TreeRank"]


@with_parameters
class TreeRank(SplitTrees):
    """Grow a tree whose leaves, from left to right, make the ROC curve rise most.

    A node is split so as to maximise the gain ``(alpha(C) beta(L) - beta(C) alpha(L)) / 2``, with
    alpha and beta the shares of all low and all high rows in the node C and its left child L
    (Clemencon & Vayatis 2009): a classification with both classes of the node weighing the
    same. The area under the ROC curve of the tree is 1/2 plus the sum of all gains. Leaves score
    (L - k) / L, k = 0, ..., L - 1 from the left.

    Attributes
    ----------
    model_ : RankingTrees
        The tree, which can be saved and shown.
    auc_ : float
        Area under the ROC curve of the tree on the training rows.
    leaf_alpha_, leaf_beta_ : arrays
        Shares of all low and of all high training rows in the leaves, from left to right; see
        `crucial.inspection.tree_roc`.
    penalty_ : float
        The lambda that the tree was pruned with; 0 without pruning.
    penalty_search_ : PenaltySearch or None
        How cross-validation chose it.

    Notes
    -----
    For labels of two values; queries are refused, since there is one ROC curve for all rows.
    Where a feature abstains, a row goes to the side that is better in training; to the right where
    training has no such row.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import TreeRank
    >>> X = np.array([[0.0], [0.5], [0.125], [0.75], [0.25], [1.0], [0.625], [0.875]])
    >>> ranker = TreeRank(2, splitter="stump", min_rows=2)
    >>> ranker = ranker.fit(X, [1, 0, 1, 0, 1, 0, 0, 1])
    >>> ranker.predict(X[:4]).round(3).tolist()
    [1.0, 0.333, 1.0, 0.333]
    >>> ranker.auc_
    0.96875
    """

    pruning: str | float | None = parameter(
        none_or(either(one_of("cv"), between(0.0, 1.0))),
        "The price lambda of a leaf: the tree is cut to maximise AUC - lambda leaves. "
        '"cv": chosen by cross-validation. None: no pruning.',
        default=None,
    )
    n_folds: int = parameter(at_least(2), 'Folds of pruning "cv".', default=5)

    def _learn(
        self, data: RankingInput, feedback: LabelFeedback, good: Bytes
    ) -> tuple[RankingTrees, Mapping[str, object]]:
        rows, seed = self._rows(data, feedback, 1), self._seed()
        algorithm = TreeRankAlgorithm(
            rows,
            good,
            lambda random: self._make_splitter(rows, random, None),
            self.max_depth,
            self._min_rows(rows),
        )
        root = algorithm.grow(rows.weight, np.random.default_rng(seed))
        self.penalty_search_: PenaltySearch | None = None
        self.penalty_ = 0.0
        if self.pruning == "cv":
            found = search_penalty(algorithm, root, self.n_folds, seed)
            self.penalty_search_, self.penalty_ = found, 0.0 if found is None else found.best
        elif self.pruning is not None:
            self.penalty_ = float(self.pruning)
        if self.penalty_ > 0.0:
            prune(root, self.penalty_)
        leaves = root.leaves()
        self.leaf_alpha_ = np.array([leaf.alpha for leaf in leaves])
        self.leaf_beta_ = np.array([leaf.beta for leaf in leaves])
        self.auc_ = tree_area(root)
        return algorithm.table(root), {"auc": self.auc_, "penalty": self.penalty_}
