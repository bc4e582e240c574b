"""The ranking forest, as a scikit-learn estimator."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from crucial.errors import DataError
from crucial.estimators.base import RankingInput
from crucial.estimators.trees import SplitTrees
from crucial.feedback.labels import LabelFeedback
from crucial.kernels.runtime import count_threads
from crucial.model.ranking_trees import RankingTrees
from crucial.model.tree_table import Router
from crucial.parameters import (
    at_least,
    between,
    either,
    flag,
    none_or,
    one_of,
    parameter,
    with_parameters,
)
from crucial.trees.consensus import mean_rank_scores, median_of_cells
from crucial.trees.forest import GrowTree, grow_forest
from crucial.trees.freeze import frozen_tree
from crucial.trees.grow import Node
from crucial.trees.scan import NodeRows
from crucial.trees.tree_rank import MakeSplitter, TreeRankAlgorithm
from crucial.types import Bytes

__all__ = ["ForestRanker", "RankingForest", "agreed"]


@with_parameters
class ForestRanker(SplitTrees):
    """Parameters of forests, and how many features they try."""

    n_estimators: int = parameter(at_least(1), "Number of trees.", default=50, kw_only=False)
    max_depth: int | None = parameter(default=6)
    max_features: str | int | float | None = parameter(
        none_or(either(one_of("sqrt"), at_least(1), between(0.0, 1.0, low_open=True))),
        "Features to try in a split, drawn at random: a number, a share, the square root of their "
        "number (rounded up), or None for all.",
        default="sqrt",
    )
    bootstrap: bool = parameter(
        flag,
        "Whether every tree learns from rows drawn with replacement inside each class; else from "
        "all rows.",
        default=True,
    )

    consensus: str = parameter(
        one_of("mean", "rank", "median"),
        'How the trees agree. "mean": by the mean of their scores, the ranking with the least '
        'squared distance to them. "rank": by the mean rank of a row. "median": by the order with '
        "the least Kendall distance, over cells of rows that share all leaves; for few and small "
        "trees.",
        default="mean",
    )

    def _features_tried(self, n_features: int) -> int | None:
        """Return how many features a split tries; None for all."""
        if self.max_features is None:
            return None
        if isinstance(self.max_features, str):
            return math.isqrt(max(n_features - 1, 0)) + 1
        if isinstance(self.max_features, int | np.integer):
            return int(self.max_features)
        return max(1, int(np.ceil(self.max_features * n_features)))

    def _forest(
        self,
        rows: NodeRows,
        classes: Bytes,
        grower: Callable[[MakeSplitter], GrowTree],
        seed: int,
    ) -> RankingTrees:
        """Grow the trees on bootstraps drawn inside each class, and return their consensus.

        Parameters
        ----------
        rows : TreeRows
        classes : uint8 array, one entry per row
        grower : callable
            Returns the function that grows a tree, from the maker of its splitter.
        seed : int
        """
        if self.consensus == "median" and not isinstance(self.splitter, str):
            raise DataError(
                "consensus='median' needs trees of thresholds.",
                remedy="Use splitter='stump' or 'tree', or another consensus.",
                parameter="consensus",
            )
        tried = self._features_tried(
            rows.n_slots if isinstance(self.splitter, str) else rows.instances.n_features
        )
        roots = grow_forest(
            rows,
            classes,
            grower(lambda random: self._make_splitter(rows, random, tried)),
            self.n_estimators,
            seed,
            count_threads(self.n_jobs),
            self.bootstrap,
        )
        return self._agree(rows, roots)

    def _agree(self, rows: NodeRows, roots: list[Node]) -> RankingTrees:
        """Return the model of the trees and their consensus."""
        model, exact = agreed(rows, roots, self.consensus, self.n_jobs)
        if exact is not None:
            self.exact_ = exact
        return model


def agreed(
    rows: NodeRows, roots: list[Node], consensus: str, n_jobs: int | None
) -> tuple[RankingTrees, bool | None]:
    """Return the model of trees by a consensus, and whether a median is proven to be the best."""
    routers: list[Router] = []
    trees = [frozen_tree(root, routers) for root in roots]
    n_features = rows.instances.n_features
    model = RankingTrees(n_features, trees, routers=routers)
    if consensus == "mean":
        return model, None
    leaves = model.leaves(rows.instances.take_rows(rows.rows), n_jobs=n_jobs)
    if consensus == "median":
        return median_of_cells(n_features, trees, leaves, rows.weight)
    routers.clear()
    ranked = [
        frozen_tree(
            root, routers, mean_rank_scores(leaves[:, k], rows.weight, len(trees[k].scores))
        )
        for k, root in enumerate(roots)
    ]
    return RankingTrees(n_features, ranked, routers=routers), None


@with_parameters
class RankingForest(ForestRanker):
    """Let many ranking trees agree on one ranking (Clemencon, Depecker & Vayatis 2013).

    Every tree is a `TreeRank` without pruning, grown on a bootstrap drawn inside each class, with
    some of the features, drawn at random, per split.

    Attributes
    ----------
    model_ : RankingTrees
        The trees, which can be saved and shown.
    exact_ : bool
        For the Kendall median: whether no order of the cells is proven to be better; else no move
        of a single cell is.

    Notes
    -----
    For labels of two values; queries are refused, since there is one ROC curve for all rows. Draws
    depend on what the rows are, and not on their order.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import RankingForest, make_bipartite
    >>> data = make_bipartite(seed=0)
    >>> forest = RankingForest(10, random_state=0).fit(data.X, data.y)
    >>> bool(forest.score(data.X, data.y) > 0.8)
    True
    """

    def _learn(
        self, data: RankingInput, feedback: LabelFeedback, good: Bytes
    ) -> tuple[RankingTrees, Mapping[str, object]]:
        rows, seed = self._rows(data, feedback, self.n_estimators), self._seed()
        model = self._forest(
            rows,
            good,
            lambda make_splitter: (
                TreeRankAlgorithm(
                    rows, good, make_splitter, self.max_depth, self._min_rows(rows)
                ).grow
            ),
            seed,
        )
        return model, {}
