"""Bins that several runs on parts of the same rows share."""

from __future__ import annotations

import numpy as np

from crucial.data.bins import Bins
from crucial.data.instances import Instances
from crucial.types import Floats, Ints

__all__ = ["SharedBins"]


class SharedBins:
    """The bins of all rows of a fit, from which a run on some of the rows takes its codes.

    The runs have the same thresholds, so that the sum of their models has no more of them than
    each, and features are cut once.

    Parameters
    ----------
    instances : Instances
    rows : int array
        The rows that any run may use.
    weight : array of the same length, or None
    threads : int

    Examples
    --------
    >>> table = Instances.from_input(np.arange(6.0)[:, None])
    >>> shared = SharedBins(table, np.arange(6), None, 1)
    >>> shared.of(np.array([4, 0]), 3).thresholds[0].tolist()
    [1.5, 3.5]
    >>> shared.of(np.array([4, 0]), 3).codes[0, :2].tolist()
    [2, 0]
    """

    def __init__(
        self, instances: Instances, rows: Ints, weight: Floats | None, threads: int
    ) -> None:
        self._instances, self._rows, self._weight = instances, rows, weight
        self._threads = threads
        self._key: tuple[int | None, int | None, bool] | None = None
        self._place = np.full(instances.n_rows, -1)
        self._place[rows] = np.arange(len(rows))

    def of(
        self, rows: Ints, max_bins: int | None, drawn_by: int | None = None, sparse: bool = False
    ) -> Bins:
        """Return the codes of some of the rows; parameters as in `Bins.build`."""
        if self._key != (max_bins, drawn_by, sparse):
            rows_of = (self._instances, self._rows, self._weight)
            self._bins = Bins.build(*rows_of, max_bins, self._threads, drawn_by, sparse)
            self._key = max_bins, drawn_by, sparse
        places = self._place[rows]
        if np.array_equal(places, np.arange(self._bins.n_rows)):
            return self._bins
        return self._bins.taken(places)
