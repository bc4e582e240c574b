"""CRank and its forest, as scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from crucial.estimators.base import RankingInput
from crucial.estimators.ranking_forest import ForestRanker
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
from crucial.trees.crank import MedianTask, PairGains, held_out_gains
from crucial.trees.forest import GrowTree
from crucial.trees.grow import Node
from crucial.trees.pruning import (
    best_penalty,
    candidate_penalties,
    held_out_values,
    prune,
    pruning_path,
)
from crucial.trees.sampling import ClassSampler
from crucial.trees.scan import NodeRows
from crucial.trees.tasks import TaskAlgorithm
from crucial.trees.tree_rank import MakeSplitter, PenaltySearch
from crucial.types import Bytes, Floats, Ints

__all__ = ["CRank", "CRankForest"]


def labels_of(feedback: LabelFeedback) -> Ints:
    """Return the number of the label of every row of ``feedback.rows``, never falling."""
    sizes = np.diff(feedback.labelled().layout.level_start)
    return np.repeat(np.arange(len(sizes)), sizes)


@with_parameters
class MedianSplit(SplitTrees):
    """Base of rankers that split nodes by the median of their labels."""

    _one_curve: ClassVar[str] = "IROC curve"

    def _needs_two_labels(self) -> bool:
        return False

    def _classes(self, feedback: LabelFeedback) -> Bytes:
        """Return one class for all rows: bootstraps are drawn from all of them."""
        return np.zeros(len(feedback.rows), np.uint8)

    def _algorithm(
        self, rows: NodeRows, label: Ints, measure: str, make_splitter: MakeSplitter
    ) -> TaskAlgorithm:
        """Return what grows the trees."""

        def make_task(weight: Floats) -> MedianTask:
            return MedianTask(label, weight, PairGains.of(label, weight, measure))

        return TaskAlgorithm(rows, make_task, make_splitter, self.max_depth, self._min_rows(rows))


@with_parameters
class CRank(MedianSplit):
    """Grow a ranking tree for continuous labels (Clemencon & Achab 2017).

    A node asks which rows have a label above the median of the node, and is split so that the
    answer is right most often, with both sides weighing the same: the largest TPR - FPR. Leaves
    score (L - k) / L, k = 0, ..., L - 1 from the left.

    Attributes
    ----------
    model_ : RankingTrees
        The tree, which can be saved and shown.
    iauc_ : float
        Integrated AUC of the tree on the training rows, NaN for two labels; see the measure
        ``iauc``.
    kendall_ : float
        Kendall distance of the tree on the training rows; see the measure ``kendall``.
    penalty_ : float
        The lambda that the tree was pruned with; 0 without pruning.
    penalty_search_ : PenaltySearch or None
        How cross-validation chose it.

    Notes
    -----
    Pruning maximises ``1 - Kendall distance`` or ``IAUC``, less lambda per leaf: both are 1/2 plus
    a sum over nodes of half the right less the wrong pairs that a node separates. If no label of
    a node is above its median, the highest one counts as above. Queries are refused, since there
    is one IROC curve for all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import CRank
    >>> X = np.array([[0.5], [0.0], [0.25], [0.125], [1.0], [0.375], [0.875], [0.75]])
    >>> y = [-1.5, 0.3, -0.4, -2.2, 2.1, 0.8, 3.0, 1.2]
    >>> ranker = CRank(1, splitter="stump", min_rows=2).fit(X, y)
    >>> ranker.predict(X[:3]).tolist(), round(ranker.iauc_, 4)
    ([1.0, 0.5, 0.5], 0.7903)
    """

    pruning: str | float | None = parameter(
        none_or(either(one_of("cv"), between(0.0, 1.0))),
        "The price lambda of a leaf: the tree is cut to maximise its measure - lambda leaves. "
        '"cv": chosen by cross-validation. None: no pruning.',
        default=None,
    )
    prune_by: str = parameter(
        one_of("iauc", "kendall"),
        "The measure that pruning maximises, and of which importances are shares: the integrated "
        "AUC, or 1 - Kendall distance.",
        default="iauc",
    )
    n_folds: int = parameter(at_least(2), 'Folds of pruning "cv".', default=5)

    def _learn(
        self, data: RankingInput, feedback: LabelFeedback, good: Bytes
    ) -> tuple[RankingTrees, Mapping[str, object]]:
        rows, seed = self._rows(data, feedback, 1), self._seed()
        label = labels_of(feedback)
        algorithm = self._algorithm(
            rows, label, self.prune_by, lambda random: self._make_splitter(rows, random, None)
        )
        root = algorithm.grow(rows.weight, np.random.default_rng(seed))
        self.penalty_search_: PenaltySearch | None = None
        self.penalty_ = 0.0
        if self.pruning == "cv":
            self.penalty_search_ = self._search(algorithm, root, label, seed)
            self.penalty_ = 0.0 if self.penalty_search_ is None else self.penalty_search_.best
        elif self.pruning is not None:
            self.penalty_ = float(self.pruning)
        if self.pruning is not None:  # (a price of 0 still cuts splits that lose)
            prune(root, self.penalty_)
        self.iauc_, distance = (
            _value(root, PairGains.of(label, rows.weight, measure))
            for measure in ("iauc", "kendall")
        )
        self.kendall_ = 1.0 - distance
        if label[-1] < 2:
            self.iauc_ = float("nan")
        figures = {"kendall": self.kendall_, "penalty": self.penalty_}
        if label[-1] >= 2:
            figures["iauc"] = self.iauc_
        return algorithm.table(root), figures

    def _search(
        self, algorithm: TaskAlgorithm, root: Node, label: Ints, seed: int
    ) -> PenaltySearch | None:
        """Choose the penalty of a grown tree by cross-validation; None if it is a leaf."""
        path = pruning_path(root)
        if not path:
            return None
        penalties, rows = candidate_penalties(path), algorithm.rows
        sampler = ClassSampler(rows, np.zeros(len(label), np.uint8))
        fold = sampler.folds(self.n_folds, np.random.default_rng([seed, 2**31]))
        values = []
        for number in range(self.n_folds):
            held, kept = np.flatnonzero(fold == number), fold != number
            if not len(held) or label[held[0]] == label[held[-1]]:
                continue
            weight = np.where(kept, rows.weight, 0.0)
            inside = label[kept]
            if not len(inside) or inside[0] == inside[-1]:
                continue
            tree = algorithm.grow(weight, np.random.default_rng([seed, number]))
            gains = PairGains.of(label[held], rows.weight[held], self.prune_by)
            held_rows = rows.instances.take_rows(rows.rows[held])
            leaf = algorithm.table(tree).leaves(held_rows)[:, 0]
            found = held_out_gains(tree, leaf, gains)
            values.append(held_out_values(tree, found, penalties))
        if not values:
            return PenaltySearch(penalties, np.full(len(penalties), 0.5), 0.0)
        mean = np.mean(values, axis=0)
        return PenaltySearch(penalties, mean, best_penalty(penalties, mean))


def _value(root: Node, gains: PairGains) -> float:
    """Return the measure of a tree on the rows that it was grown on."""
    return 0.5 + sum(
        gains.between(rows := np.sort(node.rows), np.isin(rows, node.left.rows))
        for node in root.inner()
        if node.left is not None
    )


@with_parameters
class CRankForest(ForestRanker, MedianSplit):
    """Let many CRank trees agree on one ranking by continuous labels.

    Every tree is a `CRank` without pruning, grown on a bootstrap, with some of the features,
    drawn at random, per split.

    Attributes
    ----------
    model_ : RankingTrees
        The trees, which can be saved and shown.
    exact_ : bool
        For the Kendall median: whether no order of the cells is proven to be better; else no move
        of a single cell is.

    Notes
    -----
    Queries are refused, since there is one IROC curve for all rows. Draws depend on what the rows
    are, and not on their order.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import CRankForest
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = X[:, 0] + X[:, 1]
    >>> forest = CRankForest(10, random_state=0).fit(X, y)
    >>> bool(forest.score(X, y, measure="iauc") > 0.8)
    True
    """

    def _learn(
        self, data: RankingInput, feedback: LabelFeedback, good: Bytes
    ) -> tuple[RankingTrees, Mapping[str, object]]:
        rows, seed = self._rows(data, feedback, self.n_estimators), self._seed()
        label = labels_of(feedback)

        def grower(make_splitter: MakeSplitter) -> GrowTree:
            return self._algorithm(rows, label, "iauc", make_splitter).grow

        return self._forest(rows, good, grower, seed), {}
