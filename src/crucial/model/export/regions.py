"""Trees whose nodes are small trees of tests, for exports that are nested expressions.

A node of a ranking tree sends a row left or right by several tests, and many answers lead to the
same side. Written as one tree of tests, what is below a side is repeated for each of them; written
as a tree of regions, every test is there once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from crucial.model.export.form import FormTree

__all__ = ["Answer", "RegionTree", "region_tree"]

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
