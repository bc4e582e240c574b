"""One tree of tests as a model file has it, and as lines of text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeAlias

import msgspec
import numpy as np

from crucial.data.arrays import DAYS
from crucial.data.instances import Encodings, Instances
from crucial.model.weak import Tree
from crucial.parameters import refuse
from crucial.types import Bools, Ints
from crucial.wording import printable

# --- One tree of tests, as a model file has it


_OWNER = "RankingTrees"
#: Feature of a test that a `Router` answers; its threshold is the router's number.
OUTSIDE = -1
#: Node, feature, threshold (minus infinity: present at all), missing, yes, no and gain of a test.
TestRow: TypeAlias = tuple[int, int, float, bool, int, int, float]


class Router(Protocol):
    """A test that is no comparison of a feature with a threshold, such as a classifier."""

    def goes_left(self, instances: Instances, rows: Ints) -> Bools:
        """Return the answer for some rows."""


class TreeTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The tests and the leaves of one tree.

    A test asks whether a feature is above a threshold. Tests that find the side of the same
    node of the tree have the same number in ``node``. Several answers may lead to the same test
    or leaf: the left child of a node can be a union of boxes.

    Attributes
    ----------
    node : tuple of int
        The node each test belongs to.
    feature : tuple of int
        The feature each test asks about.
    threshold : tuple of float or None
        None asks whether the feature has a value at all.
    missing : tuple of bool
        The answer where the feature abstains.
    yes, no : tuple of int
        The next test, always a later one, or ``~leaf``.
    gain : tuple of float
        Share of the test in the gain of its node.
    scores : tuple of float
        The score of each leaf, from left to right.
    """

    node: tuple[int, ...]
    feature: tuple[int, ...]
    threshold: tuple[float | None, ...]
    missing: tuple[bool, ...]
    yes: tuple[int, ...]
    no: tuple[int, ...]
    gain: tuple[float, ...]
    scores: tuple[float, ...]

    @classmethod
    def of(cls, tests: Sequence[TestRow], scores: Iterable[float]) -> TreeTable:
        """Return the table of tests, whose fields are in the order of the attributes."""
        return cls(
            tuple(test[0] for test in tests),
            tuple(test[1] for test in tests),
            tuple(test[2] if math.isfinite(test[2]) else None for test in tests),
            tuple(test[3] for test in tests),
            tuple(test[4] for test in tests),
            tuple(test[5] for test in tests),
            tuple(test[6] for test in tests),
            tuple(map(float, scores)),
        )

    def check(self, n_features: int) -> None:
        """Refuse a table that does not describe a tree over this many features."""
        n_tests, n_leaves = len(self.node), len(self.scores)
        columns = (self.feature, self.threshold, self.missing, self.yes, self.no, self.gain)
        if any(len(column) != n_tests for column in columns):
            raise refuse(_OWNER, "trees", "tests with all their fields", f"{n_tests} tests")
        if not n_leaves or (not n_tests and n_leaves != 1):
            raise refuse(_OWNER, "trees", "one leaf, or tests and leaves", f"{n_leaves} leaves")
        for number, score in enumerate(self.scores):
            if not math.isfinite(score):
                raise refuse(_OWNER, "trees", f"a finite score of leaf {number}", score)
        for test in range(n_tests):
            feature, threshold, gain = self.feature[test], self.threshold[test], self.gain[test]
            if not OUTSIDE <= feature < n_features:
                rule = f"features in [0, {n_features - 1}]"
                raise refuse(_OWNER, "trees", rule, feature)
            if threshold is not None and not math.isfinite(threshold):
                raise refuse(_OWNER, "trees", "finite thresholds", threshold)
            if not (math.isfinite(gain) and gain >= 0.0):
                raise refuse(_OWNER, "trees", "finite gains of at least 0", gain)
            for target in (self.yes[test], self.no[test]):
                if not (test < target < n_tests or 0 <= ~target < n_leaves):
                    rule = f"a test after {test} or a leaf to follow test {test}"
                    raise refuse(_OWNER, "trees", rule, target)


# --- Values and tests of features as text: categories by name, dates as dates


_NAMED = 5  # categories that a question names
_WIDTH = 30
_DAY, _MINUTE, _SECOND, _THOUSANDTH = 86_400_000_000, 60_000_000, 1_000_000, 1_000  # microseconds


def value_text(encodings: Encodings, feature: int, value: float) -> str:
    """Return a value of a feature that has no categories: a date where it is one.

    A time of day has the digits that it needs, up to microseconds.

    Examples
    --------
    >>> dates = Encodings(times={0: DAYS})
    >>> value_text(dates, 0, 18262.5), value_text(dates, 0, 18262.00001)
    ('2020-01-01 12:00', '2020-01-01 00:00:00.864')
    """
    if math.isnan(value):
        return "missing"
    if encodings.times.get(feature) == DAYS and -700_000 < value < 2_900_000:
        return _moment_text(value)
    return f"{value:.6g}"


def _moment_text(days: float) -> str:
    """Return days since 1970 as a date, with the time of day where they are not whole."""
    ticks = round(days * _DAY)
    # Far from 1970 a float is coarser than a microsecond: of several times, the shortest text.
    for unit in (_MINUTE, _SECOND, _THOUSANDTH):
        near = round(days * _DAY / unit) * unit
        if float(near) / _DAY == days:
            ticks = near
            break
    date, time = str(np.datetime64(ticks, "us")).split("T")
    if ticks % _DAY == 0:
        return date
    return f"{date} {time[:5] if ticks % _MINUTE == 0 else time.rstrip('0').rstrip('.')}"


def question_text(encodings: Encodings, name: str, feature: int, threshold: float) -> str:
    """Return the test whether a feature is above a threshold: for categories, which are.

    Examples
    --------
    >>> encodings = Encodings({0: {"red": 0.5, "blue": -0.5, "pink": 0.1}})
    >>> question_text(encodings, "colour", 0, 0.0)
    'colour is pink or red'
    """
    if feature not in encodings.categories:
        return f"{name} > {value_text(encodings, feature, threshold)}"
    above = sorted(text for text, v in encodings.categories[feature].items() if v > threshold)
    if not above:
        return f"{name} is none of the categories"
    few = [printable(text, _WIDTH) for text in above[:_NAMED]]
    more = [f"{len(above) - len(few)} others"] if len(above) > len(few) else []
    *first, last = [*few, *more]
    return f"{name} is {', '.join(first)}{' or ' if first else ''}{last}"


def cell_text(encodings: Encodings, instances: Instances, row: int, feature: int) -> str:
    """Return a cell of encoded rows as it was before, with a word if its category is new."""
    source = instances if instances.origin is None else instances.origin
    value = float(instances.column(feature, None)[row])
    if feature not in encodings.categories:
        return value_text(encodings, feature, value)
    text = source.text(row, feature)
    if text is None:
        return "missing"
    return printable(text, _WIDTH) + (" (unseen)" if math.isnan(value) else "")


# --- A tree of tests as lines of text


_NUMBERS = Encodings()


def tree_lines(
    trees: Sequence[TreeTable],
    names: tuple[str, ...] | None,
    top: int,
    encodings: Encodings = _NUMBERS,
) -> list[str]:
    """Draw the first tree, its first nodes from the top; tests of categories name them.

    Examples
    --------
    >>> tree = TreeTable((0,), (1,), (0.5,), (False,), (~0,), (~1,), (0.2,), (1.0, 0.5))
    >>> print("\\n".join(tree_lines([tree], ("age", "size"), 10)))
    size > 0.5 (gain 0.2)
      yes: score 1
      no: score 0.5
    """
    tree = trees[0]
    lines = ["the first tree:"] if len(trees) > 1 else []
    if not tree.node:
        return [*lines, f"one leaf, score {tree.scores[0]:.4g}"]
    if len(set(tree.node)) < len(tree.node):
        return lines + _by_node(tree, names, top, encodings)
    return lines + _inside_each_other(
        tree.no, tree.yes, top,
        lambda node: _question(tree, node, names, encodings),
        lambda leaf: f"score {tree.scores[leaf]:.4g}",
    )  # fmt: skip


def _inside_each_other(
    no: Sequence[int],
    yes: Sequence[int],
    top: int,
    question: Callable[[int], str],
    answer: Callable[[int], str],
) -> list[str]:
    """Draw a tree from its root, the answers below their question.

    Parameters
    ----------
    no, yes : sequences of int, one entry per node
        Where an answer leads: to a node, or to ``~leaf``.
    top : int
        Nodes from this number on are not shown.
    question, answer : functions of the number of a node, and of a leaf
    """
    lines: list[str] = []
    waiting = [(0, 0, "")]
    while waiting:
        target, depth, before = waiting.pop()
        start = "  " * depth + before
        if target < 0:
            lines.append(start + answer(~target))
        elif target >= top:
            lines.append(f"{start}not shown")
        else:
            lines.append(start + question(target))
            waiting.append((no[target], depth + 1, "no: "))
            waiting.append((yes[target], depth + 1, "yes: "))
    return lines


def _by_node(
    tree: TreeTable, names: tuple[str, ...] | None, top: int, encodings: Encodings
) -> list[str]:
    """Draw the tests of each node, which lead to other nodes or to leaves."""
    first: dict[int, int] = {}
    gains: dict[int, float] = {}
    for test, node in enumerate(tree.node):
        first.setdefault(node, test)
        gains[node] = gains.get(node, 0.0) + tree.gain[test]
    lines: list[str] = []
    for node in sorted(first)[:top]:
        lines.append(f"node {node} (gain {gains[node]:.4g})")
        waiting = [(first[node], 1, "")]
        while waiting:
            target, depth, before = waiting.pop()
            start = "  " * depth + before
            if target < 0:
                lines.append(f"{start}score {tree.scores[~target]:.4g}")
            elif tree.node[target] != node:
                lines.append(f"{start}node {tree.node[target]}")
            else:
                lines.append(f"{start}{_question(tree, target, names, encodings, gain=False)}")
                waiting.append((tree.no[target], depth + 1, "no: "))
                waiting.append((tree.yes[target], depth + 1, "yes: "))
    hidden = len(first) - top
    many = "1 node is" if hidden == 1 else f"{hidden} nodes are"
    return [*lines, f"{many} not shown"] if hidden > 0 else lines


def _question(
    tree: TreeTable,
    test: int,
    names: tuple[str, ...] | None,
    encodings: Encodings,
    gain: bool = True,
) -> str:
    """Return the question of a test, in words."""
    feature, threshold = tree.feature[test], tree.threshold[test]
    ending = f" (gain {tree.gain[test]:.4g})" if gain else ""
    if feature == OUTSIDE:
        return f"classifier {threshold:g}{ending}"
    name = printable(names[feature]) if names is not None else f"feature {feature}"
    if threshold is None:
        return f"{name} is present{ending}"
    missing = ", or missing" if tree.missing[test] else ""
    return f"{question_text(encodings, name, feature, threshold)}{missing}{ending}"


def boosted_lines(
    tree: Tree, names: Sequence[str] | None, top: int, encodings: Encodings = _NUMBERS
) -> list[str]:
    """Draw a boosted tree, its first nodes from the top; tests of categories name them.

    Examples
    --------
    >>> tree = Tree((1,), (0.5,), (1,), (~0,), (~1,), (0.2,), (-0.5, 0.25))
    >>> print("\\n".join(boosted_lines(tree, ("age", "size"), 10)))
    size > 0.5, or missing (gain 0.2)
      yes: adds 0.25
      no: adds -0.5
    """
    return _inside_each_other(
        tree.left, tree.right, top,
        lambda node: _boosted_question(tree, node, names, encodings),
        lambda leaf: f"adds {tree.values[leaf]:.4g}",
    )  # fmt: skip


def _boosted_question(
    tree: Tree, node: int, names: Sequence[str] | None, encodings: Encodings
) -> str:
    """Return the question of a node, in words; yes goes right."""
    feature, threshold = tree.features[node], tree.thresholds[node]
    name = f"feature {feature}" if names is None else printable(names[feature])
    ending = f" (gain {tree.gains[node]:.4g})"
    if threshold is None:
        return f"{name} is {'missing' if tree.missing[node] else 'above all values'}{ending}"
    missing = ", or missing" if tree.missing[node] else ""
    return f"{question_text(encodings, name, feature, threshold)}{missing}{ending}"
