"""The second reading of the parts: code their cells, bring the rows of each query together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crucial.data.bins import Bins
from crucial.data.groups import Groups
from crucial.distributed.homes import Homes
from crucial.distributed.part import Part
from crucial.distributed.part_rows import PartRows
from crucial.distributed.sources import Source
from crucial.distributed.survey import Survey, checked_rows, same
from crucial.errors import DataError
from crucial.io.parts import TablePart
from crucial.types import Bools, Floats, Ints

__all__ = ["RowsRecipe", "coded_parts", "no_rows"]


# -- on a worker ------------------------------------------------------------------------


def code_rows(
    source: Source,
    value: Any,
    first: TablePart,
    bins: Bins,
    numbers: Ints,
    sizes: Ints,
) -> PartRows:
    """Read a part again and code its cells; the rows are put in the order of their queries.

    Parameters
    ----------
    numbers, sizes : int arrays
        The number of each of its queries, by ascending id, and how many rows it had.
    """
    found = checked_rows(source, value, first)
    groups = None
    if found is not None:
        part, read = found
        groups = Groups.from_qid(part.data.qid, part.instances.n_rows)
    if groups is None or not np.array_equal(groups.sizes, sizes):
        raise DataError(f"{source.name} has other rows than when it was read first.")
    order, n = groups.order, part.instances.n_rows
    codes = bins.recode(part.instances, order)
    labels = np.asarray(part.data.y, np.float64)[order]
    weight, factor = part.weights(), read.query_weight
    return PartRows(
        replace(bins, codes=codes, n_rows=n),
        labels,
        np.repeat(numbers, groups.sizes),
        None if weight is None else weight[order],
        None if factor is None else factor[order],
    )


def take_rows(rows: PartRows, there: Bools, numbers: Ints) -> PartRows:
    """Return the rows of some queries.

    Parameters
    ----------
    rows : PartRows
    there, numbers : arrays
        The queries of the rows, ascending, and which of them are wanted.
    """
    return _chosen(rows, np.flatnonzero(there[np.searchsorted(numbers, rows.query)]))


def join_rows(pieces: Sequence[PartRows]) -> PartRows:
    """Return the rows of several pieces, query after query, in the order of the pieces."""
    if len(pieces) == 1:
        return pieces[0]
    bins = pieces[0].bins
    n = sum(piece.n_rows for piece in pieces)
    codes = np.zeros((len(bins.features), -(-n // 8) * 8), np.uint8)
    begin = 0
    for piece in pieces:
        codes[:, begin : begin + piece.n_rows] = piece.bins.codes[:, : piece.n_rows]
        begin += piece.n_rows
    whole = PartRows(
        replace(bins, codes=codes, n_rows=n),
        np.concatenate([piece.labels for piece in pieces]),
        np.concatenate([piece.query for piece in pieces]),
        _joined([piece.weight for piece in pieces]),
        _joined([piece.query_weight for piece in pieces]),
    )
    if (whole.query[1:] >= whole.query[:-1]).all():
        return whole
    return _chosen(whole, np.argsort(whole.query, kind="stable"))


def _joined(columns: Sequence[Floats | None]) -> Floats | None:
    there = [column for column in columns if column is not None]
    return np.concatenate(there) if there else None


def _chosen(rows: PartRows, places: Ints) -> PartRows:
    """Return some of the rows, in the order given."""
    taken = rows.taken(places)
    # (which features abstain somewhere is a fact about all parts)
    return replace(taken, bins=replace(taken.bins, has_missing=rows.bins.has_missing))


def no_rows(bins: Bins, weighted: bool, factors: bool) -> PartRows:
    """Return a part without rows."""
    none = np.zeros(0)
    empty = replace(bins, codes=np.zeros((len(bins.features), 0), np.uint8), n_rows=0)
    return PartRows(
        empty, none, np.zeros(0, np.int64), none if weighted else None, none if factors else None
    )


@dataclass(frozen=True)
class RowsRecipe:
    """Makes a part from rows that Dask has computed, or computes again where they were lost.

    Attributes
    ----------
    name : str
        As messages call the part.
    rows, eval_rows : key of the result, or None
    bins : Bins or None
        To make a part without eval rows, where other parts have some.
    """

    name: str
    rows: Any
    eval_rows: Any = None
    bins: Bins | None = None

    def __str__(self) -> str:
        return self.name

    def load(self) -> Part:
        """Return the part, on a worker."""
        watched = None if self.bins is None else no_rows(self.bins, False, False)
        if self.eval_rows is not None:
            watched = _fetched(self.eval_rows)
        return Part(_fetched(self.rows), watched)


def _fetched(key: Any) -> PartRows:
    """Return a result of the cluster by its key."""
    from distributed import Future, get_client

    client = get_client()
    # (a task of its own: a client learns about the results of its own tasks only)
    rows = client.submit(same, Future(key, client), pure=False).result()
    assert isinstance(rows, PartRows)
    return rows


# -- on the driver ----------------------------------------------------------------------


def coded_parts(client: Any, survey: Survey, homes: Homes) -> list[Any]:
    """Return futures of the rows of each part.

    Parameters
    ----------
    client : distributed.Client
    survey, homes : what is known of the parts of the input, and where their queries go
    """
    from dask import delayed

    head = client.submit(same, survey.first, pure=False)
    bins = client.submit(same, survey.bins, pure=False)
    code, take, join = (delayed(one, pure=False) for one in (code_rows, take_rows, join_rows))
    pieces: list[list[Any]] = [[] for _ in range(homes.n_parts)]
    for source, part, numbers in zip(survey.sources, survey.parts, survey.numbers):
        rows = code(source.without_value(), source.value, head, bins, numbers, part.sizes)
        homes_of = homes.part[numbers]
        targets = np.unique(homes_of)
        for target in targets.tolist():
            there = homes_of == target
            pieces[target].append(rows if len(targets) == 1 else take(rows, there, numbers))
    # (not tied to workers, even as a wish: once no worker is left, Dask would wait for the one
    # that is gone, though another joins)
    futures: list[Any] = client.compute([join(own) for own in pieces])
    return futures
