"""The labels a ranking is measured against, in lists and checked once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.arrays import as_array, as_reals, check_sum
from crucial.data.groups import Groups
from crucial.data.words import name_places
from crucial.errors import DataError, DataTypeError
from crucial.measures.ragged import size_classes, slots
from crucial.measures.ranking import Table, TieBlocks, sort_into_blocks
from crucial.types import Bools, Floats, Ints, VectorLike

__all__ = ["TIES", "JudgedLists", "Ranking", "as_numbers"]

#: How tied scores are treated; see `crucial.evaluate`.
TIES = ("expected", "trec")


def as_numbers(values: VectorLike, name: str, n_rows: int | None = None) -> Floats:
    """Return one finite number per row as float64; errors name the row."""
    array = as_array(values, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(
            f"{name} must be one number per row (1 dimension). Got an array of shape {array.shape}."
        )
    if array.dtype.kind not in "fiub":
        if array.dtype.kind != "O":
            raise DataTypeError(
                f"{name} must be numbers. Got {array.dtype} values such as {array[:1].tolist()}."
            )
        array = as_reals(array, name)
    array = np.ascontiguousarray(array, np.float64) + 0.0  # (one zero: see `crucial.data.arrays`)
    if n_rows is not None and len(array) != n_rows:
        raise DataError(f"{name} must have one value for each of the {n_rows} rows of y. "
                        f"Got {len(array)}.")  # fmt: skip
    fine = np.isfinite(array)
    if not fine.all():
        row = int(np.flatnonzero(~fine)[0])
        raise DataError(f"{name} must be finite. Got {array[row]} in row {row}.")
    return array


@dataclass(frozen=True)
class JudgedLists:
    """Labels in lists, with everything about them that does not depend on scores.

    Attributes
    ----------
    y : array of shape (n_rows,)
        Labels, higher is more relevant.
    groups : Groups
        The lists.
    weight : array of shape (n_rows,) or None
        Weights of rows, for measures over pairs.
    ids : array of shape (n_rows,) or None
        Names of the items, by which ``ties="trec"`` breaks ties.
    retrieved : bool array of shape (n_rows,) or None
        Which rows the run returned; the others are judged and have no position. None: all
        rows are ranked, and there are no other items.
    judged : bool array of shape (n_rows,) or None
        Which rows have a judgement.
    """

    y: Floats
    groups: Groups
    weight: Floats | None = None
    ids: NDArray[Any] | None = None
    retrieved: Bools | None = None
    judged: Bools | None = None

    @classmethod
    def from_labels(
        cls,
        y: VectorLike,
        groups: Groups | VectorLike | None = None,
        *,
        sample_weight: VectorLike | None = None,
        ids: VectorLike | None = None,
    ) -> JudgedLists:
        """Check labels, query ids (or `Groups`), weights and names."""
        labels = as_numbers(y, "y")
        n = len(labels)
        if not isinstance(groups, Groups):
            groups = Groups.from_qid(groups, n)
        elif groups.n_rows != n:
            raise DataError(f"groups is made for {groups.n_rows} rows. y has {n}.")
        if n == 0:
            raise DataError("y is empty: there is nothing to measure.")
        weight = None
        if sample_weight is not None:
            weight = as_numbers(sample_weight, "sample_weight", n)
            if weight.min() < 0:
                row = int(np.flatnonzero(weight < 0)[0])
                raise DataError(
                    f"sample_weight must not be negative. Got {weight[row]} in row {row}."
                )
            check_sum(weight, "sample_weight")
        # (a list of text as objects: an array of text is as wide as the longest for every row)
        kind = object if isinstance(ids, list | tuple) else None
        names = None if ids is None else np.asarray(ids, kind)
        if names is not None and names.shape != (n,):
            raise DataError(f"ids must have one value for each of the {n} rows of y. "
                            f"Got an array of shape {names.shape}.")  # fmt: skip
        return cls(labels, groups, weight, names)

    @property
    def n_queries(self) -> int:
        """Number of lists."""
        return self.groups.n_groups

    @cached_property
    def codes(self) -> Ints:
        """Number of the list of every row."""
        return self.groups.codes

    @cached_property
    def longest(self) -> int:
        """Items in the longest list."""
        return int(self.groups.sizes.max(initial=0))

    def per_query(self, values: NDArray[np.generic]) -> Floats:
        """Return the sum over the rows of each list."""
        sums = np.bincount(self.codes, np.asarray(values, float), minlength=self.n_queries)
        return sums.astype(np.float64, copy=False)

    def _tables(self, order: Ints) -> list[Table]:
        """Return lists of similar length as tables, cells in the given order of rows."""
        starts, sizes = self.groups.starts, self.groups.sizes
        in_order = bool(np.array_equal(order, np.arange(len(order))))
        tables = []
        for lists in size_classes(sizes):
            columns, filled = slots(sizes[lists])
            whole = bool(filled.all())
            cells = order[np.where(filled, starts[lists, None] + columns, 0)]
            as_it_is = in_order and whole and len(lists) == len(sizes)
            tables.append(Table(lists, cells, None if whole else filled, as_it_is))
        return tables

    @cached_property
    def _plain_tables(self) -> list[Table]:
        return self._tables(self.groups.order)

    @cached_property
    def _trec_tables(self) -> list[Table]:
        """Cells in the order in which trec_eval lists equal scores: last name first."""
        if self.ids is None:
            return self._plain_tables
        ids = self.ids if self.ids.dtype.kind == "O" else self.ids.astype(str)
        place = name_places(list(map(str, ids.tolist())))
        order = self.groups.order
        return self._tables(order[np.lexsort((-place[order], self.codes[order]))])

    def sort(
        self, keys: Floats, *, depth: int | None = None, keep_hidden: bool = False
    ) -> TieBlocks:
        """Sort by ascending key (see `sort_into_blocks`), ties kept."""
        return sort_into_blocks(self._plain_tables, keys, depth=depth, keep_hidden=keep_hidden)

    def sort_by_name(self, keys: Floats, *, depth: int | None = None) -> TieBlocks:
        """Sort by ascending key, ties broken as trec_eval does."""
        return sort_into_blocks(self._trec_tables, keys, depth=depth, break_ties=True)


class Ranking:
    """One vector of scores on the judged lists, sorted when a measure needs it.

    Parameters
    ----------
    judged : Judged
        The lists.
    scores : array of shape (n_rows,)
        Higher is ranked first. Scores of rows that were not retrieved are ignored.
    ties : {"expected", "trec"}
        "trec" compares scores in single precision and puts the greater name first among
        equals (the earlier row where there are no names), as trec_eval does.
    """

    def __init__(self, judged: JudgedLists, scores: Floats, ties: str = "expected") -> None:
        self.judged, self.scores, self.ties = judged, scores, ties
        self._cut: dict[int | None, TieBlocks] = {}

    def _keys(self, scores: Floats) -> Floats:
        hidden = self.judged.retrieved
        return -scores if hidden is None else np.where(hidden, -scores, np.inf)

    def blocks(self, depth: int | None = None) -> TieBlocks:
        """Return the blocks of the retrieved items that begin in the first ``depth``, or more."""
        for known, blocks in self._cut.items():
            if known is None or (depth is not None and known >= depth):
                return blocks
        if self.ties == "trec":
            far = float(np.finfo(np.float32).max)
            single = np.clip(self.scores, -far, far).astype(np.float32).astype(np.float64)
            blocks = self.judged.sort_by_name(self._keys(single), depth=depth)
        else:
            blocks = self.judged.sort(self._keys(self.scores), depth=depth)
        self._cut[depth] = blocks
        return blocks

    @cached_property
    def all_blocks(self) -> TieBlocks:
        """Blocks of equal scores of all items; items not retrieved are tied at the end."""
        if self.ties == "expected" and self.judged.retrieved is None:
            return self.blocks()
        return self.judged.sort(self._keys(self.scores), keep_hidden=True)
