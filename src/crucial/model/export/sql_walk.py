"""Many trees in DuckDB: a walk through lists of nodes in place of nested CASE.

DuckDB needs milliseconds to plan each nested CASE, and much longer for many of them. Lists of
numbers are planned at once, and a step through all trees is one function of all rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from crucial.model.export.form import FormTree, ScoreForm
from crucial.model.export.tables import ProgramTables
from crucial.types import Floats

__all__ = ["WALKED", "FoundWalk", "found_walk", "walked_trees"]

#: Trees of this many nodes and leaves together are walked.
WALKED = 400

_BEGIN, _END = "/* trees */", "/* end of trees */"
# A number above 0 is a node, one below 0 a leaf. NULL has no opinion; a node that asks for a value
# at all compares with infinity, which nothing is above.
_STEP = (
    "CASE WHEN s < 0 THEN s WHEN COALESCE(x[({features})[s]] > ({thresholds})[s], ({missing})[s]) "
    "THEN ({right})[s] ELSE ({left})[s] END"
)
_WALK = (
    "list_transform([[{values}]], lambda x: list_sum(list_transform(list_reduce(list_prepend("
    "{roots}, list_transform(range({depth}), lambda level: [CAST(level AS INTEGER)])), "
    "lambda states, level: list_transform(states, lambda s: {step})), "
    "lambda s: ({leaves})[-s])))[1]"
)


def walked_trees(trees: Sequence[FormTree], value: Callable[[int], str]) -> str:
    """Return the sum of trees, added in their order.

    Parameters
    ----------
    trees : sequence of FormTree
    value : callable
        Returns the value of a feature as a double, NULL where it has no opinion.
    """
    used = sorted({feature for tree in trees for feature in tree.features.tolist()})
    place = {feature: at for at, feature in enumerate(used, 1)}
    form = ScoreForm(0, (), False, trees=tuple(trees))
    tables = ProgramTables.of(form)
    numbers = {
        "roots": _list(_states(tables.roots), "INTEGER"),
        "features": _list([place[feature] for feature in tables.node_feature], "INTEGER"),
        "thresholds": _list(["inf" if t is None else t for t in tables.node_threshold], "DOUBLE"),
        "missing": _list([bool(one) for one in tables.node_missing], "BOOLEAN"),
        "left": _list(_states(tables.node_left), "INTEGER"),
        "right": _list(_states(tables.node_right), "INTEGER"),
        "leaves": _list(tables.leaves, "DOUBLE"),
    }
    step = _STEP.format(**numbers)
    depth = max((_depth(tree) for tree in trees), default=0)
    values = ", ".join(map(value, used)) or "NULL"
    return f"{_BEGIN} {_WALK.format(values=values, depth=depth, step=step, **numbers)} {_END}"


def _states(nodes: Sequence[int]) -> list[int]:
    return [node + 1 if node >= 0 else node for node in nodes]


def _list(numbers: Sequence[object], kind: str) -> str:
    """Return a list; as text, since DuckDB reads that much quicker than an array of literals."""
    return f"CAST('[{', '.join(map(str, numbers))}]' AS {kind}[])"


def _depth(tree: FormTree) -> int:
    """Return the length of the longest way to a leaf."""
    depths = [1] * len(tree.features)
    for node, children in enumerate(zip(tree.left.tolist(), tree.right.tolist(), strict=True)):
        for child in children:
            if child >= 0:
                depths[child] = max(depths[child], depths[node] + 1)
    return max(depths, default=0)


class FoundWalk(NamedTuple):
    """The walk of a written expression: where it is, and its lists in the order of the text."""

    begin: int
    end: int
    values: str
    lists: tuple[np.ndarray, ...]

    def scores(self, X: Floats) -> Floats:
        """Return the sums of the trees of rows, whose columns are those in ``values``."""
        roots, features, thresholds, missing, right, left, leaves = self.lists
        total = np.zeros(len(X))
        rows = np.arange(len(X))
        for root in roots:
            state = np.full(len(X), root)
            while (going := state > 0).any():
                node = np.maximum(state, 1) - 1
                x = X[rows, features[node] - 1]
                goes_right = np.where(np.isnan(x), missing[node], x > thresholds[node])
                state = np.where(going, np.where(goes_right, right[node], left[node]), state)
            total += leaves[-state - 1]
        return total


def found_walk(text: str) -> FoundWalk | None:
    """Return the walk in an expression, read back; None if there is none."""
    begin = text.find(_BEGIN)
    if begin < 0:
        return None
    end = text.index(_END, begin) + len(_END)
    own = text[begin:end]
    values = own[own.index("([[") + 3 : own.index("]], lambda x: ")]
    lists = re.findall(r"CAST\('(\[[^']*\])' AS \w+\[\]\)", own)
    read = [json.loads(one.replace("True", "1").replace("False", "0").replace("inf", "1e999"))
            for one in lists]  # fmt: skip
    return FoundWalk(begin, end, values, tuple(np.array(one) for one in read))
