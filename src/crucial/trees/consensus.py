"""How the trees of a forest agree on one ranking.

The mean of the scores is the ranking with the least squared distance to all trees. The mean rank
replaces the score of a leaf by the mean rank of its rows. The Kendall median orders the cells,
rows that share the leaves of all trees, with the least summed Kendall distance to the trees.
"""

from __future__ import annotations

import numpy as np

from crucial.errors import DataError
from crucial.measures.median_order import kemeny_order
from crucial.model.ranking_trees import RankingTrees
from crucial.model.tree_table import TreeTable
from crucial.types import Floats, Ints

__all__ = ["mean_rank_scores", "median_of_cells"]

_MOST_CELLS = 3000


def mean_rank_scores(leaf: Ints, weight: Floats, n_leaves: int) -> Floats:
    """Return the share of all weight below each leaf, half of its own included.

    Parameters
    ----------
    leaf : int array
        The leaf of every row, counted from the left, the best.
    weight : array like ``leaf``
    n_leaves : int

    Examples
    --------
    >>> mean_rank_scores(np.array([0, 1, 1, 1]), np.ones(4), 2).tolist()
    [0.875, 0.375]
    """
    mass = np.bincount(leaf, weight, n_leaves)
    below = mass.sum() - np.cumsum(mass)
    scores: Floats = (below + 0.5 * mass) / mass.sum()
    return scores


def median_of_cells(
    n_features: int, trees: list[TreeTable], leaves: Ints, weight: Floats
) -> tuple[RankingTrees, bool]:
    """Return the model of the Kendall median, and whether no order of the cells is better.

    A pair of cells weighs the product of their weights, once per tree that tells them apart.

    Parameters
    ----------
    n_features : int
    trees : list of TreeTable
    leaves : int array of shape (n_rows, n_trees)
    weight : array of shape (n_rows,)
    """
    cells, which = np.unique(leaves, axis=0, return_inverse=True)
    if len(cells) > _MOST_CELLS:
        raise DataError(
            f"the trees cut the rows into {len(cells)} cells, and the Kendall median orders at "
            f"most {_MOST_CELLS}.",
            remedy="Use consensus='mean', or fewer and smaller trees (n_estimators, max_depth).",
            parameter="consensus",
        )
    mass = np.bincount(which.ravel(), weight, len(cells))
    votes = np.zeros((len(cells), len(cells)))
    for number in range(leaves.shape[1]):
        votes += cells[:, None, number] < cells[None, :, number]
    above = votes * mass[:, None] * mass
    mean = np.zeros(len(cells))
    for number, tree in enumerate(trees):
        mean += np.array(tree.scores)[cells[:, number]]
    order, exact = kemeny_order(above, np.argsort(-mean, kind="stable"))
    ranked = [tuple(cell) for cell in cells[order].tolist()]
    model = RankingTrees(n_features, trees, "median", ranked, mass[order].tolist())
    return model, exact
