"""TreeRank Tournament, its forest and its baseline, as scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from crucial.errors import DataError
from crucial.estimators.base import RankingInput
from crucial.estimators.ranking_forest import ForestRanker, agreed
from crucial.estimators.trees import SplitTrees
from crucial.feedback.labels import LabelFeedback
from crucial.measures.pairs import MAX_LABELS, volume_of_counts
from crucial.model.ranking_trees import RankingTrees
from crucial.parameters import one_of, parameter, with_parameters
from crucial.trees.forest import tree_generator
from crucial.trees.scan import NodeRows
from crucial.trees.tasks import TaskAlgorithm
from crucial.trees.tournament import TournamentTask, class_pairs
from crucial.trees.tree_rank import MakeSplitter, TreeRankAlgorithm
from crucial.types import Bytes, Floats

__all__ = ["TournamentForest", "TreeRankAggregation", "TreeRankTournament"]


@with_parameters
class Tournament(SplitTrees):
    """Base of tournaments: classes in place of two labels, and which of them compete."""

    _one_curve: ClassVar[str] = "ROC surface"

    pairs: str = parameter(
        one_of("neighbours", "all"),
        "Pairs of classes that compete for a split: neighbouring ones, or all. All pairs can find "
        "a split that neighbours miss.",
        default="neighbours",
        grid=("neighbours", "all"),
    )

    def _needs_two_labels(self) -> bool:
        return False

    def _classes(self, feedback: LabelFeedback) -> Bytes:
        """Return the class of every row of ``feedback.rows``, 0 for the lowest label."""
        if feedback.n_levels > MAX_LABELS:
            raise DataError(
                f"{type(self).__name__} is for at most {MAX_LABELS} classes, and y has "
                f"{feedback.n_levels} labels.",
                remedy="Use CRank for continuous labels, or RankBoost.",
                parameter="y",
            )
        sizes = np.diff(feedback.labelled().layout.level_start)
        return np.repeat(np.arange(len(sizes)), sizes).astype(np.uint8)

    def _algorithm(
        self, rows: NodeRows, classes: Bytes, make_splitter: MakeSplitter
    ) -> TaskAlgorithm:
        """Return what grows the trees."""
        n_classes = int(classes[-1]) + 1
        pairs = class_pairs(n_classes, self.pairs)

        def make_task(weight: Floats) -> TournamentTask:
            return TournamentTask(classes, n_classes, weight, pairs)

        return TaskAlgorithm(rows, make_task, make_splitter, self.max_depth, self._min_rows(rows))


@with_parameters
class TreeRankTournament(Tournament):
    """Grow a ranking tree for several ordered classes (Clemencon, Robbiano & Vayatis 2013).

    Per node and pair of classes the splitter finds the split of these two with the largest
    TPR - FPR; of these candidates the one is made after which the whole tree has the largest
    volume under the ROC surface, the chance that one random row per class is in order. A node
    that raises it by no split is a leaf. Leaves score (L - k) / L, k = 0, ..., L - 1 from the
    left.

    Attributes
    ----------
    model_ : RankingTrees
        The tree, which can be saved and shown.
    vus_ : float
        Volume under the ROC surface of the tree on the training rows; see the measure ``vus``.
    classes_per_leaf_ : array of shape (n_leaves, n_classes)
        Weight of the training rows of each class in the leaves, from left to right.

    Notes
    -----
    For 2 to 30 different labels; for two labels it is `TreeRank` that stops at splits which do
    not raise the AUC. Queries are refused, since there is one ROC surface for all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import TreeRankTournament
    >>> X = np.array([[0.5], [0.0], [0.25], [0.125], [1.0], [0.375], [0.875], [0.75]])
    >>> ranker = TreeRankTournament(1, splitter="stump", min_rows=2)
    >>> ranker = ranker.fit(X, [0, 1, 0, 0, 2, 1, 2, 1])
    >>> ranker.predict(X[3:6]).tolist(), round(ranker.vus_, 3)
    ([0.5, 1.0, 0.5], 0.5)
    """

    def _learn(
        self, data: RankingInput, feedback: LabelFeedback, good: Bytes
    ) -> tuple[RankingTrees, Mapping[str, object]]:
        rows, seed = self._rows(data, feedback, 1), self._seed()
        algorithm = self._algorithm(
            rows, good, lambda random: self._make_splitter(rows, random, None)
        )
        root = algorithm.grow(rows.weight, np.random.default_rng(seed))
        n_classes = int(good[-1]) + 1
        self.classes_per_leaf_ = np.array(
            [np.bincount(good[leaf.rows], rows.weight[leaf.rows], n_classes)
             for leaf in root.leaves()]
        )  # fmt: skip
        self.vus_ = _volume(self.classes_per_leaf_)
        return algorithm.table(root), {"vus": self.vus_, "classes": n_classes}


def _volume(classes_per_leaf: Floats) -> float:
    """Return the volume under the ROC surface of leaves, the best first."""
    return float(volume_of_counts(classes_per_leaf[::-1].T[:, None, :])[0])


@with_parameters
class TournamentForest(ForestRanker, Tournament):
    """Let many tournament trees agree on one ranking of several ordered classes.

    Every tree is a `TreeRankTournament`, grown on a bootstrap drawn inside each class, with some
    of the features, drawn at random, per split.

    Attributes
    ----------
    model_ : RankingTrees
        The trees, which can be saved and shown.
    exact_ : bool
        For the Kendall median: whether no order of the cells is proven to be better; else no move
        of a single cell is.

    Notes
    -----
    For 2 to 30 different labels. Queries are refused, since there is one ROC surface for all
    rows. Draws depend on what the rows are, and not on their order.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import TournamentForest
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])
    >>> forest = TournamentForest(10, random_state=0).fit(X, y)
    >>> bool(forest.score(X, y, measure="vus") > 0.6)
    True
    """

    def _learn(
        self, data: RankingInput, feedback: LabelFeedback, good: Bytes
    ) -> tuple[RankingTrees, Mapping[str, object]]:
        rows, seed = self._rows(data, feedback, self.n_estimators), self._seed()
        model = self._forest(
            rows,
            good,
            lambda make_splitter: self._algorithm(rows, good, make_splitter).grow,
            seed,
        )
        return model, {"classes": int(good[-1]) + 1}


@with_parameters
class TreeRankAggregation(Tournament):
    """Let one tree per pair of classes agree on one ranking of several ordered classes.

    Every tree is a `TreeRank` of the rows of two classes; all rows are then ranked by the
    consensus of the trees (Clemencon, Robbiano & Vayatis 2013). It is the baseline of
    `TreeRankTournament`: no tree sees all classes.

    Attributes
    ----------
    model_ : RankingTrees
        The trees, one per pair of classes, which can be saved and shown.
    exact_ : bool
        For the Kendall median: whether no order of the cells is proven to be better; else no move
        of a single cell is.

    Notes
    -----
    For 2 to 30 different labels. Queries are refused, since there is one ROC surface for all
    rows.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import TreeRankAggregation
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])
    >>> ranker = TreeRankAggregation().fit(X, y)
    >>> bool(ranker.score(X, y, measure="vus") > 0.5)
    True
    """

    consensus: str = parameter(
        one_of("rank", "median"),
        'How the trees agree. "rank": by the mean rank of a row. "median": by the order with the '
        "least Kendall distance, over cells of rows that share all leaves; for small trees.",
        default="rank",
    )

    def _learn(
        self, data: RankingInput, feedback: LabelFeedback, good: Bytes
    ) -> tuple[RankingTrees, Mapping[str, object]]:
        if self.consensus == "median" and not isinstance(self.splitter, str):
            raise DataError(
                "consensus='median' needs trees of thresholds.",
                remedy="Use splitter='stump' or 'tree', or consensus='rank'.",
                parameter="consensus",
            )
        rows, seed = self._rows(data, feedback, 1), self._seed()
        n_classes = int(good[-1]) + 1
        roots = []
        for number, (low, high) in enumerate(class_pairs(n_classes, self.pairs)):
            algorithm = TreeRankAlgorithm(
                rows,
                (good == high).astype(np.uint8),
                lambda random: self._make_splitter(rows, random, None),
                self.max_depth,
                self._min_rows(rows),
            )
            weight = np.where((good == low) | (good == high), rows.weight, 0.0)
            roots.append(algorithm.grow(weight, tree_generator(seed, number)))
        model, exact = agreed(rows, roots, self.consensus, self.n_jobs)
        if exact is not None:
            self.exact_ = exact
        return model, {"classes": n_classes}
