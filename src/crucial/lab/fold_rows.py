"""The test rows of an experiment without queries, fold by fold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from crucial.data.groups import Groups
from crucial.lab.records import Cell
from crucial.measures.lists import JudgedLists
from crucial.types import Floats, Ints

__all__ = ["FoldRows", "rows_of_folds"]


@dataclass(frozen=True, eq=False)
class FoldRows:
    """Labels and scores of the test rows of all folds.

    Attributes
    ----------
    judged : Judged
        The labels; every fold is a list.
    scores : callable
        ``scores(measure)`` returns the scores of every ranker, as chosen by the measure.
    numbers : int array of shape (n_rows,)
        Which row of the task each one is.
    """

    judged: JudgedLists
    scores: Callable[[str], Mapping[str, Floats]]
    numbers: Ints


def rows_of_folds(cells: Iterable[Cell], rankers: Iterable[str]) -> FoldRows | None:
    """Return the test rows of all folds; None unless every cell has kept them.

    Parameters
    ----------
    cells : iterable of Cell
        Of one task.
    rankers : iterable of str
    """
    by_split: dict[str, dict[str, Cell]] = {}
    for cell in cells:
        by_split.setdefault(cell["split"], {})[cell["ranker"]] = cell
    wanted = tuple(rankers)
    whole = by_split and all(
        name in some and "test_rows" in some[name] for some in by_split.values() for name in wanted
    )
    if not whole:
        return None
    first = [some[wanted[0]]["test_rows"] for some in by_split.values()]
    sizes = [len(one["y"]) for one in first]
    starts = np.append(0, np.cumsum(sizes))
    numbers = [
        np.arange(start, start + size) if one["numbers"] is None else np.array(one["numbers"])
        for one, start, size in zip(first, starts, sizes)
    ]

    def scores(measure: str) -> dict[str, Floats]:
        key = first[0]["chosen_by"][measure]
        return {
            name: np.concatenate(
                [np.array(some[name]["test_rows"]["scores"][key]) for some in by_split.values()]
            )
            for name in wanted
        }

    lists = Groups(np.arange(len(sizes)), starts.astype(np.int64))
    judged = JudgedLists.from_labels(np.concatenate([one["y"] for one in first]), lists)
    return FoldRows(judged, scores, np.concatenate(numbers).astype(np.int64))
