"""A form as flat tables, for exports that are programs: C, JavaScript, Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crucial.model.export.form import ScoreForm
from crucial.types import Floats

__all__ = ["ProgramTables"]


@dataclass(frozen=True)
class ProgramTables:
    """Lists of numbers that a small program scores a row by.

    Attributes
    ----------
    steps : list of int
        The feature of every step function.
    step_start : list of int
        Where its thresholds begin; one more than there are functions. Those of function ``i`` end
        where the next begin, and its values begin at ``step_start[i] + 2 * i``: that of an
        abstention, then one more than there are thresholds.
    thresholds, values : list of float
        Of all step functions.
    roots : list of int
        The first node of every tree, or ``~leaf``.
    node_feature, node_missing, node_left, node_right : list of int
        Of all nodes; a child that is negative is ``~leaf``.
    node_threshold : list of float or None
        None: any value goes left.
    leaves : list of float
        The values of all leaves.
    pieces : list of lists
        Feature, low, high, unit, default and weight; see `StraightPiece`.
    """

    steps: list[int]
    step_start: list[int]
    thresholds: list[float]
    values: list[float]
    roots: list[int]
    node_feature: list[int]
    node_threshold: list[float | None]
    node_missing: list[int]
    node_left: list[int]
    node_right: list[int]
    leaves: list[float]
    pieces: list[list[float]]

    @classmethod
    def of(cls, form: ScoreForm) -> ProgramTables:
        """Return the tables of a form."""
        roots: list[int] = []
        features: list[int] = []
        missing: list[int] = []
        left: list[int] = []
        right: list[int] = []
        thresholds: list[float | None] = []
        leaves: list[float] = []
        for tree in form.trees:
            nodes, before = len(features), len(leaves)
            roots.append(nodes if len(tree.features) else ~before)
            for side, children in ((left, tree.left), (right, tree.right)):
                side += np.where(children >= 0, children + nodes, children - before).tolist()
            features += tree.features.tolist()
            thresholds += [None if t != t else t for t in tree.thresholds.tolist()]
            missing += tree.missing_right.astype(int).tolist()
            leaves += tree.values.tolist()
        return cls(
            [step.feature for step in form.steps],
            np.cumsum([0, *(len(step.thresholds) for step in form.steps)]).tolist(),
            [t for step in form.steps for t in step.thresholds.tolist()],
            [v for step in form.steps for v in (step.missing, *step.values.tolist())],
            roots,
            features,
            thresholds,
            missing,
            left,
            right,
            leaves,
            [[p.feature, p.low, p.high, p.unit, p.default, p.weight] for p in form.pieces],
        )

    def scores(self, X: Floats, end: tuple[float, float, float]) -> Floats:
        """Score rows as the programs do, one after the other.

        Parameters
        ----------
        X : float64 array of shape (n_rows, n_features)
        end : intercept, divisor and offset
        """
        out = [self._score(row, *end) for row in X.tolist()]
        return np.array(out, np.float64)

    def _score(self, x: list[float], intercept: float, divisor: float, offset: float) -> float:
        from bisect import bisect_left

        steps = 0.0
        for at, feature in enumerate(self.steps):
            begin, stop = self.step_start[at], self.step_start[at + 1]
            value, first = x[feature], begin + 2 * at
            if value == value:
                first += 1 + bisect_left(self.thresholds, value, begin, stop) - begin
            steps += self.values[first]
        trees = 0.0
        for node in self.roots:
            while node >= 0:
                value, threshold = x[self.node_feature[node]], self.node_threshold[node]
                if value != value:
                    right = bool(self.node_missing[node])
                else:
                    right = threshold is not None and value > threshold
                node = self.node_right[node] if right else self.node_left[node]
            trees += self.leaves[~node]
        pieces = 0.0
        for place, low, high, unit, default, weight in self.pieces:
            value = x[int(place)]
            if value == value:
                value = min(max(value, low), high)
                pieces += weight * ((value * unit - low * unit) / (high * unit - low * unit))
            else:
                pieces += weight * default
        return (((steps + trees) + pieces) + intercept) / divisor + offset

    def plain(self) -> dict[str, Any]:
        """Return the tables by their names."""
        return dict(vars(self))

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> ProgramTables:
        """Return tables read back from a program."""
        return cls(**{name: plain[name] for name in cls.__dataclass_fields__})
