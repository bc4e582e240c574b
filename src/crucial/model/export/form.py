"""The form that every export target starts from: what a score is added up of.

A model that scores each row by itself is a sum of step functions, trees and straight pieces. A new
kind of model that offers this form has all targets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from crucial.data.instances import Encodings
from crucial.types import Floats, Numbers

__all__ = ["FormTree", "ScoreForm", "StepFunction", "StraightPiece", "by_feature", "joined"]


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
        k = len(self.thresholds)
        threshold, left, right = [np.nan], [0], [~0]
        waiting = [(0, k, 0)]  # thresholds low:high go below the node
        while waiting:
            low, high, parent = waiting.pop(0)
            if low == high:
                child = ~(low + 1)
            else:
                child = len(threshold)
                middle = (low + high) // 2
                threshold.append(float(self.thresholds[middle]))
                left.append(0)
                right.append(0)
                waiting += [(low, middle, child), (middle + 1, high, ~child)]
            if parent >= 0:
                left[parent] = child
            else:
                right[~parent] = child
        n = len(threshold)
        return FormTree(
            np.full(n, self.feature),
            np.array(threshold),
            np.ones(n, bool),
            np.array(left),
            np.array(right),
            np.concatenate(([self.missing], self.values)),
        )


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
        nodes: list[int] = []
        left: list[int] = []
        right: list[int] = []
        leaves: list[int] = []
        waiting = [(0, -1, False)]  # node, place that leads to it, and on which side
        for node, parent, is_right in waiting:
            if node >= 0:
                place = len(nodes)
                nodes.append(node)
                left.append(0)
                right.append(0)
                waiting.append((int(self.left[node]), place, False))
                waiting.append((int(self.right[node]), place, True))
            else:
                place = ~len(leaves)
                leaves.append(~node)
            if parent >= 0:
                (right if is_right else left)[parent] = place
            if most is not None and len(nodes) > most:
                return None
        return FormTree(
            self.features[nodes],
            self.thresholds[nodes],
            self.missing_right[nodes],
            np.array(left, np.int64),
            np.array(right, np.int64),
            self.values[leaves],
        )


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

    def numbers(self) -> list[float]:
        """Return the thresholds and values of all steps and trees; NaN is none of them."""
        parts = [*self.cuts().values(), *(tree.values for tree in self.trees)]
        parts += [step.values for step in self.steps]
        parts.append(np.array([step.missing for step in self.steps]))
        out: list[float] = np.unique(joined(parts)).tolist()
        return out

    def all_trees(self) -> tuple[FormTree, ...]:
        """Return steps and trees as trees, for targets that know nothing else."""
        return (*(step.tree() for step in self.steps), *self.trees)

    def largest(self) -> float:
        """Return a size that no score is above: the sum of the largest size of every part."""
        most = [max(float(np.abs(step.values).max()), abs(step.missing)) for step in self.steps]
        most += [float(np.abs(tree.values).max()) for tree in self.trees]
        most += [abs(one.weight) * max(1.0, abs(one.default)) for one in self.pieces]
        return (sum(most) + abs(self.intercept)) / self.divisor + abs(self.offset)

    def lowest(self) -> float:
        """Return a score that no row is below: the sum of the least value of every part."""
        return (sum(self._least) + self.intercept) / self.divisor + self.offset

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
