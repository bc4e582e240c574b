"""Ranking trees and forests as scikit-learn estimators."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.errors import DataError, NoProgressWarning
from crucial.feedback.labels import LabelFeedback
from crucial.kernels.runtime import count_threads
from crucial.measures.pairs import MAX_LABELS, volume_of_counts
from crucial.model.ranking_trees import RankingTrees
from crucial.model.tree_table import Router
from crucial.parameters import (
    Rule,
    at_least,
    between,
    either,
    flag,
    int_between,
    none_or,
    one_of,
    parameter,
    refuse,
    with_parameters,
)
from crucial.rankers.base import (
    MAX_BINS,
    RANDOM_STATE,
    RandomState,
    Ranker,
    RankingInput,
    warn_caller,
)
from crucial.rankers.ranking_trees.forests import (
    ClassSampler,
    GrowTree,
    best_penalty,
    candidate_penalties,
    grow_forest,
    held_out_values,
    mean_rank_scores,
    median_of_cells,
    prune,
    pruning_path,
    tree_generator,
)
from crucial.rankers.ranking_trees.growth import Node, TaskAlgorithm, frozen_tree, tree_area
from crucial.rankers.ranking_trees.splitters import (
    ClassifierSplitter,
    NodeRows,
    Splitter,
    StumpSplitter,
    TreeSplitter,
)
from crucial.rankers.ranking_trees.tasks import (
    HalfLines,
    LevelSets,
    MakeSplitter,
    MedianTask,
    PairGains,
    PenaltySearch,
    SetClass,
    TournamentTask,
    TreeRankAlgorithm,
    adaptive_levels,
    class_pairs,
    held_out_gains,
    overlay,
    overlay_table,
    search_penalty,
)
from crucial.types import Bytes, Floats, Ints, TableLike, VectorLike

# --- Base of the rankers that are trees over two classes


_CLASSIFIER = Rule(
    ("a scikit-learn classifier",),
    ("classifier",),
    lambda value: (
        not isinstance(value, type) and hasattr(value, "fit") and hasattr(value, "predict")
    ),
)


@with_parameters
class PooledRanker(Ranker[RankingTrees]):
    """Base of rankers of two labels that compare all rows with all; fitted by `_learn`."""

    pool: bool = parameter(
        flag,
        "Whether to ignore ``qid`` and rank the rows of all queries together; else several queries "
        "are refused.",
        default=False,
    )
    max_bins: int | None = MAX_BINS
    random_state: RandomState = RANDOM_STATE

    #: What would be different for every query.
    _one_curve: ClassVar[str] = "ROC curve"

    def _needs_two_labels(self) -> bool:
        return True

    def fit(
        self,
        X: TableLike,
        y: VectorLike,
        *,
        qid: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> Self:
        """Learn from labels of two values: a row of the higher one should rank higher.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
            NaN: the feature abstains.
        y : array of shape (n_rows,)
            Labels of two values.
        qid : array of shape (n_rows,), optional
            Query of every row. More than one query is refused, unless ``pool`` is set.
        sample_weight : array of shape (n_rows,), optional
            A row of weight 2 counts as two rows, of weight 0 as none.
        """
        data = self._input(X, y, qid, sample_weight)
        self._check_queries(data)
        groups = Groups.single(data.instances.n_rows)
        feedback = LabelFeedback(data.known_labels, groups, weight=data.weight)
        model, figures = self._learn(data, feedback, self._classes(feedback))
        summary = self._summary(figures, feedback, False)
        self._set_model(_with_summary(model, data, summary), False)
        if all(not tree.node for tree in model.trees):
            warn_caller(
                "no node could be split: all scores are equal. min_rows counts weights: a node "
                "that weighs less is not split.",
                NoProgressWarning,
            )
        return self

    def _learn(
        self, data: RankingInput, feedback: LabelFeedback, good: Bytes
    ) -> tuple[RankingTrees, Mapping[str, object]]:
        """Return the model without names and summary, and figures for the summary."""
        raise NotImplementedError

    def _check_queries(self, data: RankingInput) -> None:
        if data.groups.n_groups > 1 and not self.pool:
            raise DataError(
                f"{type(self).__name__} has one {self._one_curve} for all rows, and qid names "
                f"{data.groups.n_groups} queries.",
                remedy="Use RankBoost, or set pool=True to rank the rows of all queries together.",
                parameter="qid",
            )

    def _classes(self, feedback: LabelFeedback) -> Bytes:
        """Return 1 for high and 0 for low rows, in the order of ``feedback.rows``."""
        classes = feedback.two_classes()
        if classes is None:
            raise DataError(
                f"{type(self).__name__}: Only binary classification is supported; it needs labels "
                f"of two values, and y has {feedback.n_levels}.",
                remedy="Make them two (y >= threshold), or use TreeRankTournament for grades, "
                "CRank for numbers, or RankBoost for both.",
                parameter="y",
            )
        return (np.arange(len(feedback.rows)) >= classes.n_low).astype(np.uint8)

    def _rows(self, data: RankingInput, feedback: LabelFeedback, n_trees: int) -> NodeRows:
        """Cut the features into bins; several trees share the threads instead of the scans."""
        threads = count_threads(self.n_jobs)
        rows = NodeRows.build(
            data.instances, feedback.rows, feedback.weight, self.max_bins, threads
        )
        inside = threads if n_trees == 1 else 1
        learned = self._learned_sides()
        return NodeRows(rows.instances, rows.rows, rows.weight, rows.bins, inside, learned)

    def _learned_sides(self) -> bool:
        """Return whether abstentions go to the side that is better in training."""
        return True


def _with_summary(
    model: RankingTrees, data: RankingInput, summary: Mapping[str, object]
) -> RankingTrees:
    return RankingTrees(
        model.n_features,
        model.trees,
        model.consensus,
        model.cells,
        model.cell_weights,
        data.instances.names,
        summary,
        model.routers,
    )


@with_parameters
class SplitTrees(PooledRanker):
    """Base of rankers whose trees are grown by a splitter."""

    max_depth: int | None = parameter(
        none_or(at_least(1)),
        "Depth of a tree; None for no limit.",
        default=6,
        kw_only=False,
        grid=(3, 6, 9),
    )
    splitter: Any = parameter(
        either(one_of("stump", "tree"), _CLASSIFIER),
        'How a node is split. "stump": by one feature and threshold. "tree": by a small '
        "classification tree whose positive leaves together make the left child. A scikit-learn "
        "classifier that takes ``sample_weight``: by its prediction; such a ranker cannot be "
        "saved to a file.",
        default="tree",
    )
    splitter_depth: int = parameter(
        at_least(1), 'Depth of the small trees of splitter "tree".', default=4
    )
    splitter_search: str = parameter(
        one_of("greedy", "exact"),
        'How the small trees of splitter "tree" are grown. "greedy": level by level, by the Gini '
        'impurity. "exact": the last two levels together, the best of all; O(p^2) per box, for '
        "few features.",
        default="greedy",
    )
    min_z: float = parameter(
        between(0.0, math.inf),
        "What a test of the small trees must gain in order to stay: standard deviations of its "
        "gain, if both classes were drawn alike. 0 keeps every test with a gain.",
        default=0.5,
    )
    min_rows: int | None = parameter(
        none_or(at_least(1)),
        "A node of fewer rows is not split; a row of weight 2 counts as two. None: the square root "
        "of the number of rows.",
        default=None,
    )

    side: str = parameter(
        one_of("learned", "below"),
        'Where a row goes if the feature abstains. "learned": to the side that is better in '
        'training. "below": as if below every threshold.',
        default="learned",
    )

    def _learned_sides(self) -> bool:
        return self.side == "learned"

    def _min_rows(self, rows: NodeRows) -> float:
        """Return the weight below which a node is not split."""
        if self.min_rows is not None:
            return float(self.min_rows)
        return max(2.0, math.sqrt(float(rows.weight.sum())))

    def _make_splitter(
        self, rows: NodeRows, random: np.random.Generator, max_features: int | None
    ) -> Splitter:
        """Return the splitter of one tree."""
        if not isinstance(self.splitter, str):
            return ClassifierSplitter(rows, self.splitter, max_features, random)
        if self.splitter == "stump":
            return StumpSplitter(rows, max_features, random)
        least, depth = self._min_rows(rows), self.splitter_depth
        exact = self.splitter_search == "exact"
        return TreeSplitter(rows, depth, least, self.min_z, exact, max_features, random)


# --- TreeRank, as a scikit-learn estimator


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


# --- The ranking forest, as a scikit-learn estimator


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
        self, rows: NodeRows, classes: Bytes, grower: Callable[[MakeSplitter], GrowTree], seed: int
    ) -> RankingTrees:
        """Grow the trees on bootstraps drawn inside each class, and return their consensus.

        Parameters
        ----------
        rows : NodeRows
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


# --- CRank and its forest, as scikit-learn estimators


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


# --- TreeRank Tournament, its forest and its baseline, as scikit-learn estimators


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
            rows, good, lambda make_splitter: self._algorithm(rows, good, make_splitter).grow, seed
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


# --- RankOver, as a scikit-learn estimator


_LEVELS = Rule(
    ("numbers in [0, 1], ascending",),
    ("array-like",),
    lambda value: not isinstance(value, str) and hasattr(value, "__len__"),
)
_SCORER = Rule(
    ("an estimator with fit and decision_function or predict",),
    ("estimator",),
    lambda value: not isinstance(value, type) and hasattr(value, "fit"),
)


@with_parameters
class RankOver(PooledRanker):
    """Lay the best sets at several rates of false positives over each other.

    For each level a, the set of a class that holds the largest share beta of the high rows with at
    most a share a of the low ones (ties: fewer low rows, then the first); R_k is the union of the
    sets up to level k, and the score of a row is the number of R_k that hold it (Clemencon &
    Vayatis 2010).

    Attributes
    ----------
    model_ : RankingTrees
        The overlays, as a chain of tests.
    levels_ : array
    alpha_, beta_ : arrays like ``levels_``
        Shares of the low and of the high training rows in the set of each level.

    Notes
    -----
    For labels of two values; queries are refused, since there is one ROC curve for all rows. The
    adaptive levels halve the interval from 0 to 1, and go on where beta at the middle is more
    than ``tolerance`` above the mean of beta at both ends.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import RankOver
    >>> X = np.array([[0.0, 0.5], [0.5, 0.0], [0.125, 0.25], [0.75, 0.125], [0.25, 1.0]])
    >>> ranker = RankOver([0.5, 1.0]).fit(X, [1, 0, 1, 0, 1])
    >>> ranker.predict(X).tolist()
    [2.0, 0.0, 2.0, 0.0, 2.0]
    """

    levels: Any = parameter(
        either(one_of("adaptive"), int_between(1, 1_000_000), _LEVELS),
        'Rates of false positives: "adaptive", a number of equal steps up to 1, or the levels '
        "themselves.",
        default="adaptive",
        kw_only=False,
    )
    sets: Any = parameter(
        either(one_of("half-lines"), _SCORER),
        'Class of the sets. "half-lines": values of one feature above or below a threshold. An '
        "estimator: rows that it scores above a threshold; such a ranker cannot be saved to a "
        "file.",
        default="half-lines",
    )
    tolerance: float = parameter(
        between(0.0, 1.0), "Adaptive levels: rise of beta below which to stop.", default=0.005
    )
    max_depth: int = parameter(
        at_least(1), "Adaptive levels: how often an interval is halved at most.", default=6
    )

    def _learn(
        self, data: RankingInput, feedback: LabelFeedback, good: Bytes
    ) -> tuple[RankingTrees, Mapping[str, object]]:
        rows = self._rows(data, feedback, 1)
        sets = self._sets(rows, good)
        if isinstance(self.levels, str):
            levels = adaptive_levels(sets, self.tolerance, self.max_depth)
        else:
            levels = self._fixed_levels()
        found = overlay(sets, levels)
        routers: list[Router] = []
        table = overlay_table(sets, found, good, rows.weight, routers)
        self.levels_ = levels
        self.alpha_, self.beta_ = (
            np.array([0.0 if n is None else share[n] for n in found.numbers])
            for share in (sets.alpha, sets.beta)
        )
        model = RankingTrees(data.instances.n_features, [table], routers=routers)
        return model, {"levels": levels.tolist()}

    def _fixed_levels(self) -> Floats:
        """Return the levels that ``levels`` names, checked."""
        if isinstance(self.levels, int | np.integer):
            return np.arange(1, int(self.levels) + 1) / int(self.levels)
        try:
            levels = np.asarray(self.levels, np.float64).ravel()
        except (TypeError, ValueError, OverflowError):
            levels = np.zeros(0)
        inside = len(levels) and np.all(np.diff(levels) > 0) and levels[0] >= 0 and levels[-1] <= 1
        if not inside:
            raise refuse("RankOver", "levels", "numbers in [0, 1], ascending", self.levels)
        return levels

    def _sets(self, rows: NodeRows, good: Bytes) -> SetClass:
        """Return the class of the sets."""
        if isinstance(self.sets, str):
            return HalfLines(rows, good)
        scorer = clone(self.sets)
        table = _table(rows.instances, rows)
        scorer.fit(table, good.astype(np.int64), sample_weight=rows.weight)
        score = getattr(scorer, "decision_function", None) or getattr(scorer, "predict", None)
        if score is None:
            raise DataError(
                f"sets={type(self.sets).__name__}() has neither decision_function nor predict.",
                parameter="sets",
            )
        return LevelSets(rows, good, score)


def _table(instances: Instances, rows: NodeRows) -> Any:
    chosen = instances.take_rows(rows.rows)
    return chosen.table.tocsr() if chosen.is_sparse else chosen.table
