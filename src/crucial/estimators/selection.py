"""Select the best K rows of every query: the answer to a weak ranking problem."""

from __future__ import annotations

import numpy as np

from crucial.data.groups import Groups
from crucial.types import Floats

__all__ = ["membership"]


def membership(scores: Floats, groups: Groups, k: int) -> Floats:
    """Return the chance of every row to be among the first k of its query, ties at random.

    Parameters
    ----------
    scores : array of shape (n_rows,)
    groups : Groups
    k : int
        Of a query of fewer rows, all are selected.

    Examples
    --------
    >>> membership(np.array([1.0, 3.0, 1.0, 2.0]), Groups.single(4), 3).tolist()
    [0.5, 1.0, 0.5, 1.0]
    """
    query = np.repeat(np.arange(groups.n_groups), groups.sizes)
    order = groups.order[np.lexsort((-scores[groups.order], query))]
    place = np.arange(len(order)) - np.repeat(groups.starts[:-1], groups.sizes)
    ranked = scores[order]
    new = np.ones(len(order), bool)
    new[1:] = (ranked[1:] != ranked[:-1]) | (query[1:] != query[:-1])
    first = np.flatnonzero(new)
    sizes = np.diff(np.append(first, len(order)))
    share = np.clip((k - place[first]) / sizes, 0.0, 1.0)
    out = np.empty(len(order))
    out[order] = np.repeat(share, sizes)
    return out
