"""A tree of tests as lines of text."""

from __future__ import annotations

from collections.abc import Sequence

from crucial.model.text import printable
from crucial.model.tree_table import OUTSIDE, TreeTable

__all__ = ["tree_lines"]


def tree_lines(trees: Sequence[TreeTable], names: tuple[str, ...] | None, top: int) -> list[str]:
    """Draw the first tree, its first nodes from the top; the left child of a node comes first.

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
    shown = sorted(set(tree.node))[:top]
    drawn: set[int] = set()

    def draw(target: int, depth: int, before: str) -> None:
        """Draw what follows an answer."""
        indent = "  " * depth
        if target < 0:
            lines.append(f"{indent}{before}score {tree.scores[~target]:.4g}")
        elif tree.node[target] not in shown:
            lines.append(f"{indent}{before}node {tree.node[target]}, not shown")
        elif target in drawn:
            lines.append(f"{indent}{before}as node {tree.node[target]} above")
        else:
            drawn.add(target)
            lines.append(f"{indent}{before}{_question(tree, target, names)}")
            draw(tree.yes[target], depth + 1, "yes: ")
            draw(tree.no[target], depth + 1, "no: ")

    draw(0, 0, "")
    return lines


def _question(tree: TreeTable, test: int, names: tuple[str, ...] | None) -> str:
    """Return what a test asks, and its gain."""
    feature, threshold = tree.feature[test], tree.threshold[test]
    gain = f" (gain {tree.gain[test]:.4g})"
    if feature == OUTSIDE:
        return f"classifier {threshold:g}{gain}"
    name = printable(names[feature]) if names is not None else f"feature {feature}"
    if threshold is None:
        return f"{name} is present{gain}"
    missing = ", or missing" if tree.missing[test] else ""
    return f"{name} > {threshold:.6g}{missing}{gain}"
