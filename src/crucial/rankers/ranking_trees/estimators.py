"""Ranking trees and forests of them as scikit-learn estimators; the labels decide the task.

`TreeRank` grows one tree, `RankingForest` many that agree on one ranking. What their nodes tell
apart is a task: two classes, several ordered classes in a tournament, or continuous labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import msgspec
import numpy as np

from crucial.boosting.stumps import worst_tied
from crucial.data.groups import Groups
from crucial.errors import DataError, NoProgressWarning
from crucial.feedback.labels import LabelFeedback
from crucial.kernels.elementary import dot
from crucial.kernels.runtime import count_threads, run_all
from crucial.measures.pairs import MAX_LABELS, kemeny_order, volume_of_counts
from crucial.model.ranking_trees import RankingTrees
from crucial.model.tree_table import Router, TreeTable
from crucial.parameters import (
    Rule,
    at_least,
    between,
    either,
    flag,
    none_or,
    one_of,
    parameter,
    with_parameters,
)
from crucial.rankers.base import (
    MAX_BINS,
    RANDOM_STATE,
    RandomState,
    Ranker,
    RankingInput,
    documented,
    warn_caller,
)
from crucial.rankers.ranking_trees.growth import (
    ClassifierSplitter,
    MedianTask,
    Node,
    NodeRows,
    PairGains,
    Splitter,
    StumpSplitter,
    TournamentTask,
    TreeGrower,
    TreeSplitter,
    TreeTask,
    TwoClassTask,
    class_pairs,
    frozen_tree,
)
from crucial.types import Bools, Bytes, Floats, Ints, TableLike, VectorLike

# --- Bootstraps and folds that depend on what the rows are, and not on their order
#
# Rows are numbered by a hash of their binned features. So the same rows in another order draw the
# same bootstraps, and a row of weight 2 draws like the same row twice.


# Rows are drawn one by one up to this number; so that a weight of 2 draws like two rows.
_MOST_DRAWS = 1 << 24


class ClassSampler:
    """Draws rows class by class.

    Parameters
    ----------
    rows : NodeRows
    classes : uint8 array, one entry per row
        Each class is drawn from separately, and keeps its weight.
    """

    def __init__(self, rows: NodeRows, classes: Bytes) -> None:
        self._n = len(rows.rows)
        self._hash = _hashes(rows)
        self._members: list[Ints] = []
        self._sums: list[Floats] = []
        self._whole: list[bool] = []
        for number in np.unique(classes):
            members = np.flatnonzero(classes == number)
            members = members[np.argsort(self._hash[members], kind="stable")]
            weight = rows.weight[members]
            self._members.append(members)
            self._sums.append(np.cumsum(weight))
            self._whole.append(bool(np.all(weight == np.floor(weight))))

    def bootstrap(self, random: np.random.Generator) -> Floats:
        """Return how often each row is drawn, with replacement.

        As many rows are drawn from a class as it weighs, if weights are whole numbers; else as
        many as it has. The chance of a row is proportional to its weight.
        """
        counts = np.zeros(self._n)
        for members, sums, whole in zip(self._members, self._sums, self._whole, strict=True):
            if whole and sums[-1] > _MOST_DRAWS:
                shares = np.diff(sums, prepend=0.0) / sums[-1]
                counts[members] = random.multinomial(int(sums[-1]), shares)
                continue
            if whole:
                drawn = random.integers(0, int(sums[-1]), int(sums[-1])).astype(np.float64)
            else:
                drawn = random.random(len(members)) * sums[-1]
            at = np.searchsorted(sums, drawn, side="right")
            counts[members] = np.bincount(np.minimum(at, len(members) - 1), minlength=len(members))
        return counts

    def folds(self, n_folds: int, random: np.random.Generator) -> Ints:
        """Return a fold per row; rows that are alike are in the same fold."""
        fold = np.zeros(self._n, np.int64)
        for members in self._members:
            _, which = np.unique(self._hash[members], return_inverse=True)
            order = random.permutation(int(which.max()) + 1)
            fold[members] = order[which] % n_folds
        return fold


def _hashes(rows: NodeRows) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Return 64 random bits per row that depend on its codes alone."""
    bins = rows.bins
    factors = np.random.default_rng(0).integers(0, 2**64, (len(bins.features), 2), np.uint64)
    out = np.zeros(len(rows.rows), np.uint64)
    with np.errstate(over="ignore"):
        for codes, (factor, _) in zip(bins.codes, factors, strict=True):
            out += codes[: len(out)].astype(np.uint64) * (factor | np.uint64(1))
        out ^= out >> np.uint64(31)  # (high bits are mixed better than low ones)
        out *= np.uint64(0x9E3779B97F4A7C15)
    return out


# --- How the trees of a forest agree on one ranking
#
# The mean of the scores is the ranking with the least squared distance to all trees. The mean rank
# replaces the score of a leaf by the mean rank of its rows. The Kendall median orders the cells,
# rows that share the leaves of all trees, with the least summed Kendall distance to the trees.


_MOST_CELLS = 3000


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
    ranked = [
        msgspec.structs.replace(
            tree, scores=mean_rank_scores(leaves[:, number], rows.weight, len(tree.scores))
        )
        for number, tree in enumerate(trees)
    ]
    return RankingTrees(n_features, ranked, routers=routers), None


def mean_rank_scores(leaf: Ints, weight: Floats, n_leaves: int) -> tuple[float, ...]:
    """Return the share of all weight below each leaf, half of its own included.

    Parameters
    ----------
    leaf : int array
        The leaf of every row, counted from the left, the best.
    weight : array like ``leaf``
    n_leaves : int

    Examples
    --------
    >>> mean_rank_scores(np.array([0, 1, 1, 1]), np.ones(4), 2)
    (0.875, 0.375)
    """
    mass = np.bincount(leaf, weight, n_leaves)
    below = mass.sum() - np.cumsum(mass)
    return tuple(((below + 0.5 * mass) / mass.sum()).tolist())


def median_of_cells(
    n_features: int, trees: list[TreeTable], leaves: Ints, weight: Floats
) -> tuple[RankingTrees, bool]:
    """Return the model of the Kendall median, and whether no order of the cells is better.

    A pair of cells weighs the product of their weights, once per tree that tells them apart.

    Parameters
    ----------
    n_features : int
    trees : list of TreeTable
    leaves : int array of shape (n_rows, n_trees)
    weight : array of shape (n_rows,)
    """
    cells, which = np.unique(leaves, axis=0, return_inverse=True)
    if len(cells) > _MOST_CELLS:
        raise DataError(
            f"the trees cut the rows into {len(cells)} cells, and the Kendall median orders at "
            f"most {_MOST_CELLS}.",
            remedy="Use consensus='mean', or fewer and smaller trees (n_estimators, max_depth).",
            parameter="consensus",
        )
    mass = np.bincount(which.ravel(), weight, len(cells))
    votes = np.zeros((len(cells), len(cells)))
    for number in range(leaves.shape[1]):
        votes += cells[:, None, number] < cells[None, :, number]
    above = votes * mass[:, None] * mass
    mean = np.zeros(len(cells))
    for number, tree in enumerate(trees):
        mean += np.array(tree.scores)[cells[:, number]]
    order, exact = kemeny_order(above, np.argsort(-mean, kind="stable"))
    ranked = [tuple(cell) for cell in cells[order].tolist()]
    model = RankingTrees(n_features, trees, "median", ranked, mass[order].tolist())
    return model, exact


# --- Cost-complexity pruning of ranking trees (Clemencon, Depecker & Vayatis 2011)
#
# A pruned tree maximises ``value(T) - lambda leaves(T)``, its value being the AUC, the integrated
# AUC or 1 - Kendall distance. As in CART, the trees that do so for some lambda are nested: the
# weakest link, the node whose subtree gains least per leaf, is cut first.


@dataclass(frozen=True)
class Pruning:
    """One step of the pruning path.

    Attributes
    ----------
    penalty : float
        The lambda from which on the nodes are leaves.
    nodes : tuple of Node
        The nodes that become leaves.
    """

    penalty: float
    nodes: tuple[Node, ...]


def pruning_path(root: Node) -> list[Pruning]:
    """Return the nodes to cut, by rising penalty; penalties that tie are one step.

    The weakest link has the smallest ``g = (gains of its subtree) / (its leaves - 1)``.
    """
    nodes = list(root.inner())
    if not nodes:
        return []
    number = {id(node): place for place, node in enumerate(nodes)}
    parent = np.full(len(nodes), -1)
    gains, leaves = np.array([node.gain for node in nodes]), np.full(len(nodes), 2)
    for place in range(len(nodes) - 1, -1, -1):  # (children come after their parents)
        for child in nodes[place].children or ():
            below = number.get(id(child))
            if below is not None:
                parent[below] = place
                gains[place] += gains[below]
                leaves[place] += leaves[below] - 1
    alive = np.ones(len(nodes), bool)
    path: list[Pruning] = []
    while alive[0]:
        link = gains / np.maximum(leaves - 1, 1)
        weakest = float(link[alive].min())
        # (a split may rank more pairs of continuous labels wrong than right: links below 0)
        close = weakest - worst_tied(abs(weakest)) + abs(weakest)
        tied = np.flatnonzero(alive & (link <= close))
        # (a penalty never falls: what rounding leaves of the rise is none)
        penalty = max(weakest, path[-1].penalty if path else 0.0)
        path.append(Pruning(penalty, tuple(nodes[place] for place in tied.tolist())))
        for place in tied.tolist():
            if not alive[place]:  # (a node above it was cut in this step)
                continue
            gain, fewer, above = gains[place], leaves[place] - 1, int(parent[place])
            while above >= 0:
                gains[above] -= gain
                leaves[above] -= fewer
                above = int(parent[above])
            for below_node in nodes[place].inner():
                alive[number[id(below_node)]] = False
    return path


def prune(root: Node, penalty: float) -> Node:
    """Cut a tree to the smallest one that maximises ``AUC(T) - penalty leaves(T)``."""
    for step in pruning_path(root):
        if worst_tied(step.penalty) > penalty:
            break
        for node in step.nodes:
            node.cut()
    return root


def candidate_penalties(path: list[Pruning]) -> Floats:
    """Return 0, the geometric means of neighbouring critical penalties, and the last one."""
    critical = np.array([step.penalty for step in path])
    return np.concatenate(([0.0], np.sqrt(critical[:-1] * critical[1:]), critical[-1:]))


def held_out_values(root: Node, gain: dict[int, float], penalties: Floats) -> Floats:
    """Return the value of held-out rows per penalty, ascending: 1/2 plus the gains of nodes.

    Parameters
    ----------
    root : Node
    gain : dict
        What each split adds to the value of the held-out rows, by the id of its node.
    penalties : array
    """
    path = pruning_path(root)
    left_over = dict(gain)
    out = np.empty(len(penalties))
    step = 0
    for number, penalty in enumerate(penalties.tolist()):
        while step < len(path) and worst_tied(path[step].penalty) <= penalty:
            for node in path[step].nodes:
                for below in node.inner():
                    left_over.pop(id(below), None)
            step += 1
        out[number] = 0.5 + math.fsum(left_over.values())
    return out


def held_out_gains(root: Node, leaf: Ints, gains: PairGains) -> dict[int, float]:
    """Return what every node of a tree adds to the measure of other rows, by its id.

    Parameters
    ----------
    root : Node
    leaf : int array
        The leaf of every row, counted from the left.
    gains : PairGains
        Of these rows.
    """
    number = {id(node): at for at, node in enumerate(root.leaves())}
    rows: dict[int, Ints] = {id(root): np.arange(len(leaf))}
    out: dict[int, float] = {}
    for node in root.inner():
        assert node.left is not None
        assert node.right is not None
        # The leaves below a node are neighbours, and those of its left child come first.
        last = max(number[id(one)] for one in node.left.leaves())
        here = rows.pop(id(node))
        left = leaf[here] <= last
        out[id(node)] = gains.between(here, left) if len(here) else 0.0
        rows[id(node.left)], rows[id(node.right)] = here[left], here[~left]
    return out


def best_penalty(penalties: Floats, areas: Floats) -> float:
    """Return the penalty with the largest area; of equal ones the largest, the smaller tree."""
    tied: Bools = areas >= worst_tied(float(areas.max()))
    return float(penalties[np.flatnonzero(tied)[-1]])


@dataclass(frozen=True)
class PenaltySearch:
    """How pruning by cross-validation chose its penalty.

    Attributes
    ----------
    penalties : array
        The penalties that were tried, ascending.
    areas : array
        Mean value of the held-out rows, one per penalty.
    best : float
    """

    penalties: Floats
    areas: Floats
    best: float


def search_penalty(
    grower: TreeGrower, root: Node, label: Ints, classes: Bytes, measure: str, folds: int, seed: int
) -> PenaltySearch | None:
    """Choose the penalty of a grown tree by cross-validation; None if it is a leaf.

    The candidates are geometric means of the critical penalties of the tree. A fold whose rows, or
    whose other rows, have one label is left out.

    Parameters
    ----------
    grower : TreeGrower
    root : Node
    label : int array, one entry per row
        Numbers of the labels, never falling.
    classes : uint8 array, one entry per row
        Rows are dealt to the folds from each class separately.
    measure : {"kendall", "iauc"}
        The value of a tree; of two labels both are the AUC.
    folds, seed : int
    """
    path = pruning_path(root)
    if not path:
        return None
    penalties, rows = candidate_penalties(path), grower.rows
    fold = ClassSampler(rows, classes).folds(folds, np.random.default_rng([seed, 2**31]))
    values = []
    for number in range(folds):
        held, kept = np.flatnonzero(fold == number), fold != number
        if len(np.unique(label[held])) < 2 or len(np.unique(label[kept])) < 2:
            continue
        tree = grower.grow(np.where(kept, rows.weight, 0.0), np.random.default_rng([seed, number]))
        leaf = grower.model(tree).leaves(rows.instances.take_rows(rows.rows[held]))[:, 0]
        gains = PairGains.of(label[held], rows.weight[held], measure)
        values.append(held_out_values(tree, held_out_gains(tree, leaf, gains), penalties))
    if not values:
        return PenaltySearch(penalties, np.full(len(penalties), 0.5), 0.0)
    mean = np.mean(values, axis=0)
    return PenaltySearch(penalties, mean, best_penalty(penalties, mean))


# --- What all of them share: rows of one ranking, labels and the task that they ask for


_CLASSIFIER = Rule(
    ("a scikit-learn classifier",),
    ("classifier",),
    lambda value: (
        not isinstance(value, type) and hasattr(value, "fit") and hasattr(value, "predict")
    ),
)
#: What is different for every query.
_CURVES = {
    "bipartite": "ROC curve",
    "tournament": "ROC surface",
    "aggregation": "ROC surface",
    "continuous": "IROC curve",
}


@with_parameters
class PooledRanker(Ranker[RankingTrees]):
    """Base of rankers that compare all rows with all; fitted by `_learn`."""

    #: Where a row goes if a feature abstains; `SplitTrees` has a parameter for it.
    side: str = "learned"

    pool: bool = parameter(
        flag,
        "Whether to ignore ``qid`` and rank the rows of all queries together; else several queries "
        "are refused.",
        default=False,
    )
    max_bins: int | None = MAX_BINS
    random_state: RandomState = RANDOM_STATE

    @documented
    def fit(
        self,
        X: TableLike,
        y: VectorLike,
        *,
        qid: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> Self:
        """Learn from labels: a row of a higher one should rank higher.

        Parameters
        ----------
        qid : array of shape (n_rows,), optional
            Query of every row. More than one query is refused, unless ``pool`` is set.
        """
        data = self._input(X, y, qid, sample_weight)
        groups = Groups.single(data.instances.n_rows)
        feedback = LabelFeedback(data.known_labels, groups, weight=data.weight)
        task = self._chosen_task(feedback)
        if data.groups.n_groups > 1 and not self.pool:
            raise DataError(
                f"{type(self).__name__} has one {_CURVES[task]} for all rows, and qid names "
                f"{data.groups.n_groups} queries.",
                remedy="Use RankBoost, or set pool=True to rank the rows of all queries together.",
                parameter="qid",
            )
        model, figures = self._learn(data, feedback, task)
        summary = self._summary(figures, feedback, False) | feedback.class_summary()
        named = replace(model, feature_names=data.instances.names, training=summary)
        self._set_model(named, False)
        if all(not tree.node for tree in model.trees):
            warn_caller(
                "no node could be split: all scores are equal. min_rows counts weights: a node "
                "that weighs less is not split.",
                NoProgressWarning,
            )
        return self

    def _chosen_task(self, feedback: LabelFeedback) -> str:
        """Return the task, whose labels are checked."""
        raise NotImplementedError

    def _learn(
        self, data: RankingInput, feedback: LabelFeedback, task: str
    ) -> tuple[RankingTrees, Mapping[str, object]]:
        """Return the model without names and summary, and figures for the summary."""
        raise NotImplementedError

    def _check_two_labels(self, feedback: LabelFeedback, remedy: str) -> None:
        if feedback.n_levels != 2:
            raise DataError(
                f"{type(self).__name__}: Only binary classification is supported; it needs labels "
                f"of two values, and y has {feedback.n_levels}.",
                remedy=f"Make them two (y >= threshold), {remedy}",
                parameter="y",
            )

    def _rows(self, data: RankingInput, feedback: LabelFeedback, n_trees: int) -> NodeRows:
        """Cut the features into bins; several trees share the threads instead of the scans."""
        threads = count_threads(self.n_jobs)
        shown = (data.instances, feedback.rows, feedback.weight)
        rows = NodeRows.build(*shown, self.max_bins, threads)
        return replace(rows, threads=threads if n_trees == 1 else 1, learned=self.side == "learned")


def _classes(label: Ints, task: str) -> Bytes:
    """Return the class of every row; continuous labels are drawn from as one class."""
    return (np.zeros_like(label) if task == "continuous" else label).astype(np.uint8)


def labels_of(feedback: LabelFeedback) -> Ints:
    """Return the number of the label of every row of ``feedback.rows``, never falling."""
    sizes = np.diff(feedback.labelled().layout.level_start)
    return np.repeat(np.arange(len(sizes)), sizes)


@with_parameters
class SplitTrees(PooledRanker):
    """Base of rankers whose trees are grown by a splitter, for the task that labels ask for."""

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

    task: str = parameter(
        one_of("auto", "bipartite", "tournament", "continuous"),
        'What to learn from. "bipartite": labels of two values. "tournament": grades, at most 30. '
        '"continuous": numbers. "auto": "bipartite" for two values, "tournament" for up to 30 '
        'whole numbers, else "continuous".',
        default="auto",
    )
    pairs: str = parameter(
        one_of("neighbours", "all"),
        "Pairs of grades that compete for a split: neighbouring ones, or all. All pairs can find "
        "a split that neighbours miss.",
        default="neighbours",
        grid=("neighbours", "all"),
    )
    side: str = parameter(
        one_of("learned", "below"),
        'Where a row goes if the feature abstains. "learned": to the side that is better in '
        'training. "below": as if below every threshold.',
        default="learned",
    )

    def _needs_two_labels(self) -> bool:
        return self.task == "bipartite"

    def _chosen_task(self, feedback: LabelFeedback) -> str:
        n_labels, task = feedback.n_levels, self.task
        if task == "auto":
            labels = feedback.labelled().labels
            grades = n_labels <= MAX_LABELS and bool((labels == np.floor(labels)).all())
            task = "bipartite" if n_labels == 2 else "tournament" if grades else "continuous"
        if task == "bipartite":
            self._check_two_labels(feedback, "or leave task='auto'.")
        elif task != "continuous" and n_labels > MAX_LABELS:
            raise DataError(
                f"task={task!r} is for at most {MAX_LABELS} classes, and y has {n_labels} labels.",
                remedy="Use task='continuous', or RankBoost.",
                parameter="y",
            )
        self.task_ = task
        return task

    def _grower(
        self, rows: NodeRows, label: Ints, task: str, measure: str, max_features: int | None
    ) -> TreeGrower:
        """Return the function that grows the trees of a task.

        Parameters
        ----------
        rows : NodeRows
        label : int array, one entry per row
            Numbers of the labels; never falling, but for two classes.
        task : {"bipartite", "tournament", "continuous"}
        measure : {"iauc", "kendall"}
            Continuous labels: the measure of which gains are shares.
        max_features : int, optional
            Features to try in a split.
        """
        classes, n_classes = _classes(label, task), int(label.max()) + 1

        pairs = class_pairs(n_classes, self.pairs)
        least = float(self.min_rows or max(2.0, math.sqrt(float(rows.weight.sum()))))

        def make_task(weight: Floats) -> TreeTask:
            if task == "bipartite":
                return TwoClassTask(classes, weight)
            if task == "tournament":
                return TournamentTask(classes, n_classes, weight, pairs)
            return MedianTask(label, weight, PairGains.of(label, weight, measure))

        def make_splitter(random: np.random.Generator) -> Splitter:
            if not isinstance(self.splitter, str):
                return ClassifierSplitter(rows, self.splitter, max_features, random)
            if self.splitter == "stump":
                return StumpSplitter(rows, max_features, random)
            depth, exact = self.splitter_depth, self.splitter_search == "exact"
            return TreeSplitter(rows, depth, least, self.min_z, exact, max_features, random)

        return TreeGrower(rows, make_task, make_splitter, self.max_depth, least)


# --- One tree


@with_parameters
class TreeRank(SplitTrees):
    """Grow a ranking tree whose leaves, from left to right, are ranked.

    Two classes (Clemencon & Vayatis 2009): a node is split so as to maximise the gain
    ``(alpha(C) beta(L) - beta(C) alpha(L)) / 2``, with alpha and beta the shares of all low and all
    high rows in the node C and its left child L: a classification with both classes of the node
    weighing the same. The area under the ROC curve of the tree is 1/2 plus the sum of all gains.

    Grades, TreeRank Tournament (Clemencon, Robbiano & Vayatis 2013): per node and pair of classes
    the splitter finds the split of these two with the largest TPR - FPR; of these candidates the
    one is made after which the whole tree has the largest volume under the ROC surface, the chance
    that one random row per class is in order. A node that raises it by no split is a leaf.

    Continuous labels, CRank (Clemencon & Achab 2017): a node asks which rows have a label above the
    median of the node, and is split so that the answer is right most often, with both sides
    weighing the same: the largest TPR - FPR.

    Leaves score (L - k) / L, k = 0, ..., L - 1 from the left.

    Attributes
    ----------
    model_ : RankingTrees
        The tree, which can be saved and shown.
    task_ : str
        The task that ``task`` or the labels chose.
    auc_ : float
        Two classes: area under the ROC curve of the tree on the training rows.
    leaf_alpha_, leaf_beta_ : arrays
        Two classes: shares of all low and of all high training rows in the leaves, from left to
        right; see `crucial.inspection.tree_roc`.
    vus_ : float
        Grades: volume under the ROC surface of the tree on the training rows; see the measure
        ``vus``.
    classes_per_leaf_ : array of shape (n_leaves, n_classes)
        Grades: weight of the training rows of each class in the leaves, from left to right.
    iauc_ : float
        Continuous labels: integrated AUC of the tree on the training rows, NaN for two labels; see
        the measure ``iauc``.
    kendall_ : float
        Continuous labels: Kendall distance of the tree on the training rows; see the measure
        ``kendall``.
    penalty_ : float
        The lambda that the tree was pruned with; 0 without pruning.
    penalty_search_ : PenaltySearch or None
        How cross-validation chose it.

    Notes
    -----
    Queries are refused, since there is one curve or surface for all rows. Where a feature abstains,
    a row goes to the side that is better in training; to the right where training has no such row.
    If no label of a node is above its median, the highest one counts as above. A tournament of two
    labels is a tree of two classes that stops at splits which do not raise the AUC.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial.rankers import TreeRank
    >>> X = np.array([[0.0], [0.5], [0.125], [0.75], [0.25], [1.0], [0.625], [0.875]])
    >>> ranker = TreeRank(2, splitter="stump", min_rows=2)
    >>> ranker = ranker.fit(X, [1, 0, 1, 0, 1, 0, 0, 1])
    >>> ranker.predict(X[:4]).round(3).tolist()
    [1.0, 0.333, 1.0, 0.333]
    >>> ranker.auc_
    0.96875

    Grades, and continuous labels:

    >>> X = np.array([[0.5], [0.0], [0.25], [0.125], [1.0], [0.375], [0.875], [0.75]])
    >>> ranker = TreeRank(1, splitter="stump", min_rows=2)
    >>> round(ranker.fit(X, [0, 1, 0, 0, 2, 1, 2, 1]).vus_, 3), ranker.task_
    (0.5, 'tournament')
    >>> y = [-1.5, 0.3, -0.4, -2.2, 2.1, 0.8, 3.0, 1.2]
    >>> round(ranker.fit(X, y).iauc_, 4), ranker.task_
    (0.7903, 'continuous')
    """

    pruning: str | float | None = parameter(
        none_or(either(one_of("cv"), between(0.0, 1.0))),
        "The price lambda of a leaf: the tree is cut to maximise its AUC, or what ``prune_by`` "
        'names, less lambda per leaf. "cv": chosen by cross-validation. None: no pruning. Not for '
        "tournaments, which stop by themselves.",
        default=None,
    )
    prune_by: str = parameter(
        one_of("iauc", "kendall"),
        "Continuous labels: the measure that pruning maximises, and of which importances are "
        "shares: the integrated AUC, or 1 - Kendall distance.",
        default="iauc",
    )
    n_folds: int = parameter(at_least(2), 'Folds of pruning "cv".', default=5)

    def _learn(
        self, data: RankingInput, feedback: LabelFeedback, task: str
    ) -> tuple[RankingTrees, Mapping[str, object]]:
        if task == "tournament" and self.pruning is not None:
            raise DataError(
                "pruning is for two classes and continuous labels, and this is a tournament.",
                remedy="Leave pruning=None, or use task='continuous'.",
                parameter="pruning",
            )
        rows, seed, label = self._rows(data, feedback, 1), self._seed(), labels_of(feedback)
        grower = self._grower(rows, label, task, self.prune_by, None)
        root = grower.grow(rows.weight, np.random.default_rng(seed))
        self.penalty_search_: PenaltySearch | None = None
        self.penalty_ = 0.0
        if self.pruning == "cv":
            classes = _classes(label, task)
            search = search_penalty(grower, root, label, classes, self.prune_by, self.n_folds, seed)
            self.penalty_search_, self.penalty_ = search, 0.0 if search is None else search.best
        elif self.pruning is not None:
            self.penalty_ = float(self.pruning)
        if self.pruning is not None:  # (a price of 0 still cuts splits that lose)
            prune(root, self.penalty_)
        figures = {"task": task, "penalty": self.penalty_} | self._figures(root, rows, label, task)
        return grower.model(root), figures

    def _figures(self, root: Node, rows: NodeRows, label: Ints, task: str) -> dict[str, float]:
        """Set the attributes of a task, and return figures for the summary."""
        leaves, n_classes = root.leaves(), int(label[-1]) + 1
        if task == "bipartite":
            self.leaf_alpha_ = np.array([leaf.alpha for leaf in leaves])
            self.leaf_beta_ = np.array([leaf.beta for leaf in leaves])
            reached = np.cumsum(self.leaf_beta_) - 0.5 * self.leaf_beta_
            self.auc_ = dot(self.leaf_alpha_, reached)
            return {"auc": self.auc_}
        if task == "tournament":
            self.classes_per_leaf_ = np.array(
                [np.bincount(label[leaf.rows], rows.weight[leaf.rows], n_classes)
                 for leaf in leaves]
            )  # fmt: skip
            # (the lowest leaf first)
            self.vus_ = float(volume_of_counts(self.classes_per_leaf_[::-1].T[:, None, :])[0])
            return {"vus": self.vus_, "classes": n_classes}
        self.kendall_ = 1.0 - _value(root, PairGains.of(label, rows.weight, "kendall"))
        self.iauc_ = math.nan
        if n_classes == 2:
            return {"kendall": self.kendall_}
        self.iauc_ = _value(root, PairGains.of(label, rows.weight, "iauc"))
        return {"kendall": self.kendall_, "iauc": self.iauc_}


def _value(root: Node, gains: PairGains) -> float:
    """Return the measure of a tree on the rows that it was grown on."""
    return 0.5 + math.fsum(
        gains.between(rows := np.sort(node.rows), np.isin(rows, node.left.rows))
        for node in root.inner()
        if node.left is not None
    )


# --- Many trees


@with_parameters
class RankingForest(SplitTrees):
    """Let many ranking trees agree on one ranking (Clemencon, Depecker & Vayatis 2013).

    Every tree is a `TreeRank` without pruning, grown on a bootstrap, with some of the features,
    drawn at random, per split. Rows are drawn inside each class; continuous labels from all rows.

    With ``task="aggregation"`` every tree ranks the rows of two grades only, as many trees as
    ``n_estimators`` per pair of grades. ``RankingForest(1, task="aggregation", bootstrap=False,
    max_features=None, consensus="rank")`` is TreeRank Aggregation, the baseline of the tournament
    (Clemencon, Robbiano & Vayatis 2013).

    Attributes
    ----------
    model_ : RankingTrees
        The trees, which can be saved and shown.
    task_ : str
        The task that ``task`` or the labels chose.
    exact_ : bool
        For the Kendall median: whether no order of the cells is proven to be better; else no move
        of a single cell is.

    Notes
    -----
    Queries are refused, since there is one curve or surface for all rows. Draws depend on what the
    rows are, and not on their order.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import make_bipartite
    >>> from crucial.rankers import RankingForest
    >>> data = make_bipartite(seed=0)
    >>> forest = RankingForest(10, random_state=0).fit(data.X, data.y)
    >>> bool(forest.score(data.X, data.y) > 0.8)
    True

    Continuous labels:

    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = X[:, 0] + X[:, 1]
    >>> forest = RankingForest(10, random_state=0).fit(X, y)
    >>> bool(forest.score(X, y, measure="iauc") > 0.8)
    True
    """

    n_estimators: int = parameter(at_least(1), "Number of trees.", default=50, kw_only=False)
    max_depth: int | None = parameter(default=6)
    task: str = parameter(
        one_of("auto", "bipartite", "tournament", "aggregation", "continuous"),
        'What to learn from. "bipartite": labels of two values. "tournament" and "aggregation": '
        'grades, at most 30. "continuous": numbers. "auto": "bipartite" for two values, '
        '"tournament" for up to 30 whole numbers, else "continuous".',
        default="auto",
    )
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

    def _learn(
        self, data: RankingInput, feedback: LabelFeedback, task: str
    ) -> tuple[RankingTrees, Mapping[str, object]]:
        if self.consensus == "median" and not isinstance(self.splitter, str):
            raise DataError(
                "consensus='median' needs trees of thresholds.",
                remedy="Use splitter='stump' or 'tree', or another consensus.",
                parameter="consensus",
            )
        rows, label = self._rows(data, feedback, self.n_estimators), labels_of(feedback)
        tried = self._features_tried(
            rows.n_slots if isinstance(self.splitter, str) else rows.instances.n_features
        )
        growers: list[Callable[[Floats, np.random.Generator], Node]] = []
        if task == "aggregation":
            for low, high in class_pairs(int(label[-1]) + 1, self.pairs):
                grower = self._grower(rows, (label == high).astype(int), "bipartite", "", tried)
                growers.append(partial(_grow_inside, grower, (label == low) | (label == high)))
        else:
            growers.append(self._grower(rows, label, task, "iauc", tried).grow)
        sampler = ClassSampler(rows, _classes(label, task)) if self.bootstrap else None
        seed, n_trees = self._seed(), self.n_estimators * len(growers)

        def grown(tree: int) -> Node:
            random = np.random.default_rng([seed, tree])  # (whatever the number of threads)
            weight = rows.weight if sampler is None else sampler.bootstrap(random)
            root = growers[tree % len(growers)](weight, random)
            root.forget_rows()  # (of fifty trees they would be most of the memory)
            return root

        tasks = [partial(grown, tree) for tree in range(n_trees)]
        roots = run_all(count_threads(self.n_jobs), tasks)
        model, exact = agreed(rows, roots, self.consensus, self.n_jobs)
        if exact is not None:
            self.exact_ = exact
        return model, {"task": task}


def _grow_inside(
    grower: TreeGrower, inside: Bools, weight: Floats, random: np.random.Generator
) -> Node:
    """Grow a tree on some of the rows."""
    return grower.grow(np.where(inside, weight, 0.0), random)
