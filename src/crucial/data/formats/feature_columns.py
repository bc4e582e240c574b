"""The features of a table of which some are text or dates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crucial.data.dataset import Dataset
from crucial.data.formats.unusable import UnusableColumn, unusable_error
from crucial.data.frame_columns import NumberColumn
from crucial.data.instances import Instances
from crucial.types import PathLike

__all__ = ["DISTINCT", "all_differ", "set_features"]

DISTINCT = "every value differs: an id, or free text"
"""Why a column of text cannot be a feature."""

_MOST_EXAMPLES = 8


def all_differ(texts: Sequence[str]) -> bool:
    """Whether there are several texts, and no two are equal."""
    return len(texts) > 1 and len(set(texts)) == len(texts)


def set_features(
    path: PathLike, data: Dataset, columns: Sequence[NumberColumn], declared: set[int]
) -> None:
    """Set the features of a data set, with notes on those that are categories or dates.

    Parameters
    ----------
    path : str or path
        The file, for errors.
    data : Dataset
        With the names of the features.
    columns : sequence of NumberColumn
    declared : set of int
        Features that are categories by the user's word.

    Raises
    ------
    FileError
        Every value of a column of text differs; it names all such columns.
    """
    names = data.feature_names
    assert names is not None
    table = np.column_stack([column.values for column in columns]).astype(np.float64)
    levels = {j: one.levels for j, one in enumerate(columns) if one.levels is not None}
    times = {j: one.unit for j, one in enumerate(columns) if one.unit is not None}
    declared = declared | {j for j, one in enumerate(columns) if one.declared}
    unusable = [
        UnusableColumn(names[j], DISTINCT)
        for j, texts in levels.items()
        if j not in declared and 1 < len(texts) == np.count_nonzero(~np.isnan(table[:, j]))
    ]
    if unusable:
        raise unusable_error(path, unusable)
    if levels:
        counted = [f"{names[j]} ({len(texts)})" for j, texts in levels.items()]
        data.notes.append(f"categories, with how many there are: {_few(counted)}")
    if times:
        units = [f"{names[j]} ({unit})" for j, unit in times.items()]
        data.notes.append(f"dates and times, as numbers: {_few(units)}")
    data.X = Instances(table, tuple(names), levels or None, times or None, frozenset(declared))


def _few(parts: list[str]) -> str:
    return ", ".join(parts[:_MOST_EXAMPLES]) + (", ..." if len(parts) > _MOST_EXAMPLES else "")
