"""Turn grown trees into the tables of a model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crucial.model.tree_table import Router, TestRow, TreeTable
from crucial.trees.grow import Node
from crucial.trees.scan import NodeTest
from crucial.types import Floats

__all__ = ["frozen_tree", "leaf_places"]


def leaf_places(n_leaves: int) -> Floats:
    """Return the scores of leaves from left to right: (L - k) / L for k = 0, ..., L - 1.

    Examples
    --------
    >>> leaf_places(4).tolist()
    [1.0, 0.75, 0.5, 0.25]
    """
    return np.arange(n_leaves, 0, -1) / n_leaves


def frozen_tree(
    root: Node, routers: list[Router], scores: Sequence[float] | Floats | None = None
) -> TreeTable:
    """Return a grown tree as a table.

    Parameters
    ----------
    root : Node
    routers : list of Router
        Those of the tree are added to it.
    scores : sequence of float, optional
        Scores of the leaves from left to right; default: `leaf_places`.
    """
    leaves = root.leaves()
    leaf_of = {id(leaf): number for number, leaf in enumerate(leaves)}
    inner = list(root.inner())
    sizes = [len(node.tests) for node in inner]
    first = dict(zip(map(id, inner), np.cumsum([0, *sizes]).tolist(), strict=False))
    rows: list[TestRow] = []
    for number, node in enumerate(inner):
        assert node.children is not None
        start = first[id(node)]
        ends = {
            side: first[id(child)] if child.children is not None else ~leaf_of[id(child)]
            for side, child in zip((NodeTest.LEFT, NodeTest.RIGHT), node.children, strict=True)
        }
        for test in node.tests:
            threshold = test.threshold
            if test.router is not None:
                threshold = float(len(routers))
                routers.append(test.router)
            yes, no = (ends[t] if t < 0 else start + t for t in (test.yes, test.no))
            # (a split that ranks more pairs wrong than right has no importance)
            gain = test.gain * max(node.gain, 0.0)
            rows.append((number, test.feature, threshold, test.missing, yes, no, gain))
    found = leaf_places(len(leaves)) if scores is None else np.asarray(scores)
    return TreeTable.of(rows, found.tolist())
