"""The values of a part, feature by feature: checked, and added to sketches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crucial.data.checked_parts import TablePart
from crucial.data.cutting import Cutter, over_features
from crucial.data.sketches import QuantileSketch
from crucial.errors import DataError
from crucial.types import Bools

__all__ = ["look_at"]


def look_at(
    part: TablePart,
    sketches: Sequence[QuantileSketch] = (),
    *,
    others: bool = False,
    threads: int = 1,
) -> Bools:
    """Return which features abstain on some row; refuse infinite values.

    Parameters
    ----------
    part : TablePart
    sketches : sequence of QuantileSketch
        To add the rows to, one per feature; none by default.
    others : bool
        Whether other parts are known to follow, so that sketches may be compressed at once.
    threads : int

    Raises
    ------
    DataError
        Naming the part, and the row and column of an infinite value.
    """
    instances, weight = part.instances, part.weights()
    rows = np.arange(instances.n_rows)

    def look(feature: int, cutter: Cutter) -> bool:
        values = cutter.fetch(feature)
        if sketches and weight is None:
            ranked = cutter.ranked(feature)
            n_missing = len(rows) - len(ranked)
            sketches[feature].add_ranked(ranked, n_missing, others)
            return n_missing > 0
        instances.checked(values, feature, rows)
        if sketches:
            sketches[feature].add(values, weight)
            if others:
                sketches[feature].compress()
        return bool(np.isnan(values).any())

    try:
        found = over_features(instances, np.arange(instances.n_features), rows, threads, look)
    except DataError as error:
        raise part.failed(error) from None
    return np.array(found, bool)
