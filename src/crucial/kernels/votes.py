"""Sorting documents by majority."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crucial.types import Ints

__all__ = ["NOT_RETURNED", "sort_by_majority"]

#: Position of a document that a run did not return: behind every other.
NOT_RETURNED = np.iinfo(np.int32).max


def sort_by_majority(positions: NDArray[np.int32], starts: Ints, order: Ints) -> None:
    """Merge sort every query by majority of the runs, in place.

    See `crucial.kernels.compiled.votes.sort_by_majority` for the parameters.
    """
    from crucial.kernels.compiled.votes import sort_by_majority as compiled

    compiled(positions, starts, order, np.empty_like(order))
