"""Sorting documents by majority."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crucial.kernels import sizes
from crucial.kernels.plain.votes import NOT_RETURNED
from crucial.kernels.plain.votes import sort_by_majority as plain
from crucial.types import Ints

__all__ = ["NOT_RETURNED", "sort_by_majority"]


def sort_by_majority(positions: NDArray[np.int32], starts: Ints, order: Ints) -> None:
    """Merge sort every query by majority of the runs, in place.

    See `crucial.kernels.plain.votes.sort_by_majority` for the parameters.
    """
    if len(order) <= sizes.VOTE_PLAIN:
        plain(positions, starts, order)
        return
    from crucial.kernels.compiled.votes import sort_by_majority as compiled

    compiled(positions, starts, order, np.empty_like(order))
