"""A tree of tests as lines of text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from crucial.data.instances import Encodings
from crucial.model.encoding_text import question_text
from crucial.model.tree import Tree
from crucial.model.tree_table import OUTSIDE, TreeTable
from crucial.wording import printable

__all__ = ["boosted_lines", "tree_lines"]

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
    if len(set(tree.node)) == len(tree.node):
        return lines + _nested(tree, names, top, encodings)
    return lines + _by_node(tree, names, top, encodings)


def _nested(
    tree: TreeTable, names: tuple[str, ...] | None, top: int, encodings: Encodings
) -> list[str]:
    """Draw nodes of one test each inside each other."""
    return _inside_each_other(
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
    """Return what a test asks."""
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
    """Return what a node asks; yes goes right."""
    feature, threshold = tree.features[node], tree.thresholds[node]
    name = f"feature {feature}" if names is None else printable(names[feature])
    ending = f" (gain {tree.gains[node]:.4g})"
    if threshold is None:
        return f"{name} is {'missing' if tree.missing[node] else 'above all values'}{ending}"
    missing = ", or missing" if tree.missing[node] else ""
    return f"{question_text(encodings, name, feature, threshold)}{missing}{ending}"
