"""One tree of tests, as a model file has it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeAlias

import msgspec

from crucial.data.instances import Instances
from crucial.parameters import refuse
from crucial.types import Bools, Ints

__all__ = ["OUTSIDE", "Router", "TestRow", "TreeTable"]

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
