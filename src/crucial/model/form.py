"""The form of a model: the steps, trees and pieces that a score adds up.

Scorers and export targets start from it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from crucial.data.instances import Encodings
from crucial.errors import NotRankedError
from crucial.model.additive import AdditiveRanker
from crucial.model.base import FrozenModel
from crucial.model.ranking_trees import RankingTrees
from crucial.model.tree_table import TreeTable
from crucial.model.weak import Constant, QuasiKNN, ScaledFeature, Tree
from crucial.types import Floats, Numbers

# --- The form that every export target starts from: what a score is added up of
#
# A model that scores each row by itself is a sum of step functions, trees and straight pieces. A
# new
# kind of model that offers this form has all targets.


@dataclass(frozen=True, eq=False)
class StepFunction:
    """What the stumps of one feature add up to.

    Attributes
    ----------
    feature : int
        Number of the feature, from 0.
    thresholds : float64 array of shape (k,)
        Ascending.
    values : float64 array of shape (k + 1,)
        ``values[c]`` is added where exactly ``c`` thresholds are smaller than the value.
    missing : float
        Added where the feature abstains.
    """

    feature: int
    thresholds: Floats
    values: Floats
    missing: float

    def scores(self, X: Numbers) -> Floats:
        """Return what the function adds to every row."""
        x = X[:, self.feature].astype(np.float64)
        inside = self.values[np.searchsorted(self.thresholds, x, "left")]
        return np.where(np.isnan(x), self.missing, inside)

    def tree(self) -> FormTree:
        """Return the function as one balanced search tree.

        Its root asks whether the feature has a value at all, so that abstention is a leaf of its
        own in every engine that knows missing values; the depth is the logarithm of the number of
        steps.

        Examples
        --------
        >>> step = StepFunction(0, np.array([1.0, 2.0]), np.array([0.0, 0.5, 1.0]), -1.0)
        >>> step.tree().scores(np.array([[1.0], [1.5], [9.0], [np.nan]])).tolist()
        [0.0, 0.5, 1.0, -1.0]
        """
        waiting: list[tuple[int, int]] = []  # of every node but the root, its thresholds low:high

        def child(low: int, high: int) -> int:
            if low == high:
                return ~(low + 1)
            waiting.append((low, high))
            return len(waiting)

        thresholds, sides = [np.nan], [(child(0, len(self.thresholds)), ~0)]
        for low, high in waiting:  # (which grows)
            middle = (low + high) // 2
            thresholds.append(float(self.thresholds[middle]))
            sides.append((child(low, middle), child(middle + 1, high)))
        n = len(thresholds)
        left, right = zip(*sides, strict=True)
        nodes = ([self.feature] * n, thresholds, [True] * n, left, right)
        return FormTree.of(nodes, [self.missing, *self.values])


@dataclass(frozen=True, eq=False)
class FormTree:
    """A tree of comparisons; every node comes before its children.

    Several nodes may lead to the same one where a form shares them; see `spread`.

    Attributes
    ----------
    features : int array, one per node
    thresholds : float64 array, one per node
        A value that is greater goes right, any other left. NaN: every value goes left, so that the
        node tells whether the feature abstains.
    missing_right : bool array, one per node
        Whether a row on which the feature abstains goes right.
    left, right : int array, one per node
        The next node, or ``~leaf``.
    values : float64 array, one per leaf
        The weight of the tree is part of them.
    parts : int array, one per node, or None
        Nodes of one number decide together which of two ways a row goes. None: every node does so
        by itself, and no two nodes lead to the same one.
    """

    features: np.ndarray
    thresholds: Floats
    missing_right: np.ndarray
    left: np.ndarray
    right: np.ndarray
    values: Floats
    parts: np.ndarray | None = None

    @classmethod
    def of(cls, nodes: Sequence[Sequence[Any]], values: Sequence[float] | Floats) -> FormTree:
        """Return the tree of lists: those of nodes, in the order of the fields, and the leaves.

        A threshold may be None for NaN; a tree that is one leaf has no nodes.
        """
        kinds = (np.int64, np.float64, np.bool_, np.int64, np.int64, np.float64)
        lists = zip((*(nodes or [()] * 5), values), kinds, strict=True)
        return cls(*(np.array(one, kind) for one, kind in lists))

    def scores(self, X: Numbers) -> Floats:
        """Return the value of the leaf that every row reaches."""
        if not len(self.features):
            return np.full(len(X), self.values[0])
        at = np.zeros(len(X), np.int64)
        for node in range(len(self.features)):
            rows = np.flatnonzero(at == node)
            x = X[rows, self.features[node]].astype(np.float64)
            right = np.where(np.isnan(x), self.missing_right[node], x > self.thresholds[node])
            at[rows] = np.where(right, self.right[node], self.left[node])
        return self.values[~at]

    def spread(self, most: int | None = None) -> FormTree | None:
        """Return the tree with every node repeated for every way that leads to it.

        Parameters
        ----------
        most : int, optional
            None is returned for a tree that would have more nodes.
        """
        if self.parts is None:
            return self
        nodes, leaves, sides = [0], list[int](), list[list[int]]()
        for node in nodes:  # (which grows)
            sides.append([])
            for child in (int(self.left[node]), int(self.right[node])):
                sides[-1].append(len(nodes) if child >= 0 else ~len(leaves))
                (nodes if child >= 0 else leaves).append(child if child >= 0 else ~child)
            if most is not None and len(nodes) > most:
                return None
        left, right = np.array(sides, np.int64).T
        columns = (self.features[nodes], self.thresholds[nodes], self.missing_right[nodes])
        return FormTree(*columns, left, right, self.values[leaves])


@dataclass(frozen=True, eq=False)
class StraightPiece:
    """A feature cut off at two values and scaled to [0, 1], times a weight.

    Its score is ``weight * ((clip(x, low, high) * unit - low * unit) / (high * unit - low *
    unit))``, and ``weight * default`` where the feature abstains, by exactly these operations.

    Attributes
    ----------
    feature : int
    low, high, unit, default : float
        See `crucial.model.weak.ScaledFeature`.
    weight : float
    """

    feature: int
    low: float
    high: float
    unit: float
    default: float
    weight: float

    def scores(self, X: Numbers) -> Floats:
        """Return what the piece adds to every row."""
        x = np.clip(X[:, self.feature].astype(np.float64), self.low, self.high)
        low, high = self.low * self.unit, self.high * self.unit
        scaled = (x * self.unit - low) / (high - low)
        return self.weight * np.where(np.isnan(scaled), self.default, scaled)


@dataclass(frozen=True, eq=False)
class ScoreForm:
    """What the score of a row is added up of, in the order in which it is added.

    The score is ``(((steps) + (trees)) + (pieces)) + intercept``, divided by ``divisor``; each sum
    in brackets starts at 0 and goes from first to last; ``offset`` is added last. A probability is
    made of it by ``1 / (1 + exp(-slope * score))``.

    Attributes
    ----------
    n_features : int
    names : tuple of str
        One per feature; ``f0``, ``f1`` ... where the model has none.
    named : bool
        Whether the names are the model's own.
    steps : tuple of StepFunction
        Ascending by feature.
    trees : tuple of FormTree
    pieces : tuple of StraightPiece
    intercept : float
    divisor, offset : float
    slope : float or None
        Of the probability; None if the model has none.
    encodings : Encodings
        How columns of text and dates become numbers.
    """

    n_features: int
    names: tuple[str, ...]
    named: bool
    steps: tuple[StepFunction, ...] = ()
    trees: tuple[FormTree, ...] = ()
    pieces: tuple[StraightPiece, ...] = ()
    intercept: float = 0.0
    divisor: float = 1.0
    offset: float = 0.0
    slope: float | None = None
    encodings: Encodings = field(default_factory=Encodings)

    def scores(self, X: Numbers) -> Floats:
        """Return the score of every row of numbers, by the slow way that defines it."""
        total = np.zeros(len(X))
        for parts in (self.steps, self.trees, self.pieces):
            total += _added(parts, X)
        return (total + self.intercept) / self.divisor + self.offset

    @cached_property
    def used(self) -> tuple[int, ...]:
        """The features that the score looks at, ascending."""
        found = {step.feature for step in self.steps} | {one.feature for one in self.pieces}
        return tuple(sorted(found.union(self._tests[0].tolist())))

    @cached_property
    def _tests(self) -> tuple[np.ndarray, Floats]:
        """The features and thresholds of all nodes of all trees."""
        features = [np.zeros(0, np.int64), *(tree.features for tree in self.trees)]
        return np.concatenate(features), joined([tree.thresholds for tree in self.trees])

    def cuts(self) -> dict[int, Floats]:
        """Return all thresholds of every used feature, ascending; of pieces, their two ends."""
        return dict(self._cuts)

    @cached_property
    def _cuts(self) -> dict[int, Floats]:
        found: dict[int, list[Floats]] = {feature: [] for feature in self.used}
        for step in self.steps:
            found[step.feature].append(step.thresholds)
        for piece in self.pieces:
            found[piece.feature].append(np.array([piece.low, piece.high]))
        features, thresholds = self._tests
        for feature, some in by_feature(features):
            found[feature].append(thresholds[some])
        every = {feature: np.unique(joined(parts)) for feature, parts in found.items()}
        return {feature: cuts[~np.isnan(cuts)] for feature, cuts in every.items()}

    def all_trees(self) -> tuple[FormTree, ...]:
        """Return steps and trees as trees, for targets that know nothing else."""
        return (*(step.tree() for step in self.steps), *self.trees)

    def largest(self) -> float:
        """Return a size that no score is above: the sum of the largest size of every part."""
        most = [max(float(np.abs(step.values).max()), abs(step.missing)) for step in self.steps]
        most += [float(np.abs(tree.values).max()) for tree in self.trees]
        most += [abs(one.weight) * max(1.0, abs(one.default)) for one in self.pieces]
        return (math.fsum(most) + abs(self.intercept)) / self.divisor + abs(self.offset)

    def lowest(self) -> float:
        """Return a score that no row is below: the sum of the least value of every part."""
        return (math.fsum(self._least) + self.intercept) / self.divisor + self.offset

    @property
    def may_be_negative(self) -> bool:
        """Whether any part of a score is negative, so that a score may be."""
        return min((*self._least, self.intercept, self.offset)) < 0.0

    @cached_property
    def _least(self) -> list[float]:
        """The least value of every part."""
        least = [min(float(step.values.min()), step.missing) for step in self.steps]
        least += [float(tree.values.min()) for tree in self.trees]
        least += [min(0.0, one.weight, one.weight * one.default) for one in self.pieces]
        return least


def _added(parts: Sequence[StepFunction | FormTree | StraightPiece], X: Numbers) -> Floats:
    out = np.zeros(len(X))
    for part in parts:
        out += part.scores(X)
    return out


def joined(arrays: Sequence[Floats]) -> Floats:
    """Return float64 arrays one after the other; there may be none."""
    return np.concatenate([np.zeros(0), *arrays])


def by_feature(features: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield every feature, ascending, and the places that have it."""
    if not len(features):
        return
    order = np.argsort(features, kind="stable")
    found, begins = np.unique(features[order], return_index=True)
    yield from zip(found.tolist(), np.split(order, begins[1:]), strict=True)


# --- The form of every kind of model, or the reason why it has none


# Nodes that one tree of an export may have, where several answers lead to the same test.
_MAX_NODES = 1 << 16
# Features that a model may have: targets name all of them, and verifying needs whole rows.
_MAX_FEATURES = 1 << 20
_TRAIN = "train RankBoost or GradientRanker on the same data for a model that can."


def score_form(model: FrozenModel, *, shared: bool = False) -> ScoreForm:
    """Return the pieces that the score of a model is the sum of.

    Parameters
    ----------
    model : FrozenModel
    shared : bool
        Several nodes of a tree may lead to the same one; otherwise it is repeated for each.

    Raises
    ------
    NotRankedError
        The model does not score each row by itself, or not by comparisons and sums; the message
        says what to do instead.

    Examples
    --------
    >>> from crucial.model.weak import Stump
    >>> model = AdditiveRanker(2, [Stump(0, 0.5, 0), Stump(1, 2.0, 1)], [1.0, 0.25])
    >>> score_form(model).scores(np.array([[1.0, 0.0], [0.0, 3.0], [1.0, np.nan]])).tolist()
    [1.0, 0.25, 1.25]
    """
    if isinstance(model, AdditiveRanker):
        return _of_additive(model)
    if isinstance(model, RankingTrees):
        return _of_ranking_trees(model, shared)
    if model.needs_query:
        raise NotRankedError(
            f"a {type(model).__name__} ranks every row against the others of its query, which no "
            f"target can do row by row: score with crucial rank, or {_TRAIN}"
        )
    raise NotRankedError(
        f"a {type(model).__name__} is no sum of comparisons of features with thresholds, which is "
        f"what the targets can hold: score with crucial rank, or {_TRAIN}"
    )


def _common(model: FrozenModel) -> dict[str, Any]:
    names = model.feature_names
    if model.n_features > _MAX_FEATURES:
        raise NotRankedError(
            f"this model has {model.n_features:,} features, and at most {_MAX_FEATURES:,} can be "
            "exported: train it on the features that it uses."
        )
    return {
        "n_features": model.n_features,
        "names": names if names is not None else tuple(f"f{j}" for j in range(model.n_features)),
        "named": names is not None,
        "encodings": model.encodings,
    }


def _of_additive(model: AdditiveRanker) -> ScoreForm:
    pieces, trees = [], []
    for number, (ranker, weight) in enumerate(model.weighted()):
        if isinstance(ranker, QuasiKNN):
            raise NotRankedError(
                f"round {number + 1} ranks every row against the others of its query, which no "
                f"target can do row by row: score with crucial rank, or {_TRAIN}"
            )
        if isinstance(ranker, ScaledFeature):
            own = (ranker.feature, ranker.low, ranker.high, ranker.unit, ranker.default)
            pieces.append(StraightPiece(*own, weight))
        elif isinstance(ranker, Tree):
            nodes = (ranker.features, ranker.thresholds, ranker.missing, ranker.left, ranker.right)
            trees.append(FormTree.of(nodes, weight * np.array(ranker.values)))
        elif not isinstance(ranker, Constant) and not hasattr(ranker, "default"):
            raise NotRankedError(
                f"round {number + 1} is a weak ranker of class {type(ranker).__name__}, which no "
                "target knows: export what your own code computes by yourself."
            )
    # (those of the stumps alone: trees of one feature stay trees)
    steps = (StepFunction(f, t[1:], v[1:], float(v[0])) for f, t, v in model.step_tables())
    return ScoreForm(
        **_common(model),
        steps=tuple(steps),
        trees=tuple(trees),
        pieces=tuple(pieces),
        intercept=model.intercept,
        slope=2.0 if model.training.get("estimator") == "LogitBoost" else None,
    )


def _of_ranking_trees(model: RankingTrees, shared: bool) -> ScoreForm:
    if model.consensus == "median":
        raise NotRankedError(
            "the median of several rankings looks at all trees at once, and no target adds trees "
            'up like that: train with consensus="mean", or score with crucial rank.'
        )
    if model.routers:
        raise NotRankedError(
            "this model asks a classifier of its own in its nodes, which no target can hold: "
            "train with splits that compare features with thresholds."
        )
    trees = [_shared_tree(table) for table in model.trees]
    if not shared:
        trees = [_spread(tree, number) for number, tree in enumerate(trees)]
    return ScoreForm(**_common(model), trees=tuple(trees), divisor=float(len(trees)))


def _shared_tree(table: TreeTable) -> FormTree:
    """Return a table of tests as a tree; several answers may lead to the same test.

    A test for any value at all answers yes to it, which here goes left.
    """
    if not table.node:
        return FormTree.of((), table.scores)
    thresholds = np.array(table.threshold, np.float64)  # (None is NaN)
    missing, yes, no = np.array(table.missing, bool), np.array(table.yes), np.array(table.no)
    turned = np.isnan(thresholds)
    return FormTree(
        np.array(table.feature, np.int64),
        thresholds,
        np.where(turned, ~missing, missing),
        np.where(turned, yes, no),
        np.where(turned, no, yes),
        np.array(table.scores),
        np.array(table.node, np.int64),
    )


def _spread(tree: FormTree, number: int) -> FormTree:
    """Return a plain tree: tests that several answers lead to are repeated."""
    plain = tree.spread(_MAX_NODES)
    if plain is None:
        raise NotRankedError(
            f"tree {number + 1} has nodes that many answers lead to, and as a plain tree it has "
            f"more than {_MAX_NODES:,} nodes: train with fewer leaves, or export to c, javascript, "
            "python or sql, which need no plain trees."
        )
    return plain


# --- Trees whose nodes are small trees of tests, for exports that are nested expressions
#
# A node of a ranking tree sends a row left or right by several tests, and many answers lead to the
# same side. Written as one tree of tests, what is below a side is repeated for each of them;
# written
# as a tree of regions, every test is there once.


#: Whether a row goes right: known, or by a test: (test, answer if true, answer if not).
Answer: TypeAlias = "bool | tuple[int, Answer, Answer]"
# Tests of one node that several answers lead to are repeated, up to this many times in all.
_REPEATED = 4


@dataclass(frozen=True, eq=False)
class RegionTree:
    """A tree of regions; every region comes before those below it.

    Attributes
    ----------
    answers : list of Answer
        Per region, which way a row goes. Tests are nodes of the `FormTree`.
    left, right : list of int
        The next region, or ``~leaf``.
    """

    answers: list[Answer]
    left: list[int]
    right: list[int]

    def depth(self) -> int:
        """Return the largest number of tests that one region asks in a row."""
        return max(map(_depth, self.answers), default=0)


def _depth(answer: Answer) -> int:
    return 0 if isinstance(answer, bool) else 1 + max(_depth(answer[1]), _depth(answer[2]))


def region_tree(tree: FormTree) -> RegionTree | None:
    """Return a tree by its regions; None if its parts do not have one way in and two ways out.

    A tree without parts has one region per test.

    Examples
    --------
    >>> tree = FormTree(np.array([0, 1]), np.array([0.5, 2.5]), np.array([False, False]),
    ...     np.array([~0, ~0]), np.array([1, ~1]), np.array([0.0, 1.0]), np.array([0, 0]))
    >>> region_tree(tree)
    RegionTree(answers=[(0, (1, True, False), False)], left=[-1], right=[-2])
    """
    n = len(tree.features)
    if tree.parts is None:
        tests: list[Answer] = [(node, True, False) for node in range(n)]
        return RegionTree(tests, tree.left.tolist(), tree.right.tolist())
    parts = tree.parts
    _, first = np.unique(parts, return_index=True)
    entries = sorted(first.tolist())
    region_of = {int(entry): at for at, entry in enumerate(entries)}
    own = parts.tolist()
    left, right = tree.left.tolist(), tree.right.tolist()
    asked = 0

    def answer(node: int, part: int, exits: list[int]) -> Answer:
        """Return the answer below a node or at an exit, whose number is added to ``exits``."""
        nonlocal asked
        if node < 0 or own[node] != part:
            if node not in exits:
                exits.append(node)
            return exits.index(node) == 1
        asked += 1
        if asked > _REPEATED * n:
            return False
        below = answer(left[node], part, exits)
        return (node, answer(right[node], part, exits), below)

    answers: list[Answer] = []
    ways: tuple[list[int], list[int]] = ([], [])
    reached: set[int] = set()
    for entry in entries:
        exits: list[int] = []
        answers.append(answer(entry, own[entry], exits))
        inner = {node for node in exits if node >= 0}
        if len(exits) > 2 or asked > _REPEATED * n or not inner <= {*region_of} - reached:
            return None
        reached |= inner
        for side, node in zip(ways, (exits[0], exits[-1]), strict=True):
            side.append(region_of[node] if node >= 0 else node)
    return RegionTree(answers, *ways)
