"""The first reading of the parts: check them, count their queries, find the bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crucial.data.arrays import check_sum
from crucial.data.bins import Bins
from crucial.data.groups import Groups
from crucial.distributed.columns import RankingPart
from crucial.distributed.results import result_of
from crucial.distributed.sources import Source
from crucial.errors import DataError
from crucial.feedback.labels import query_factors
from crucial.io.parts import QuantileSketch, TablePart, checked_part, cut_sketches, look_at
from crucial.progress import progress_bar
from crucial.types import Bools, Floats, Ids, Ints

__all__ = ["Survey", "SurveyedPart", "checked_rows", "gathered", "same", "survey"]

# Sketches that one task merges; neighbours are mostly on the same worker. A power of two: then the
# levels of the merged sketches are those of one sketch that sees all parts in order.
_MERGED = 4


@dataclass(frozen=True)
class SurveyedPart:
    """What is known of a part after the first reading.

    Attributes
    ----------
    ids : array
        Of its queries, ascending.
    sizes : int array
        Rows of each of them.
    missing : bool array of shape (n_features,)
        Which features abstain on some row.
    lowest, highest : float
        Label; NaN without labels.
    weight : float
        The largest weight of a row, 1 without weights.
    notes : tuple of str
        Assumptions made in reading.
    factors : array, optional
        Weight of each of its queries.
    """

    ids: Ids
    sizes: Ints
    missing: Bools
    lowest: float
    highest: float
    weight: float
    notes: tuple[str, ...]
    factors: Floats | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.sizes.sum())


@dataclass(frozen=True)
class Survey:
    """What is known of all parts after the first reading.

    Attributes
    ----------
    sources : list of Source
        Those with rows.
    parts : list of SurveyedPart
        One per source.
    first : TablePart
        The first row of the first part, which says what columns there are.
    bins : Bins
        Without rows.
    ids : array
        Of all queries, ascending: a query is known by its place among them.
    numbers : list of int arrays
        Places of the ids of each part.
    """

    sources: list[Source]
    parts: list[SurveyedPart]
    first: TablePart
    bins: Bins
    ids: Ids
    numbers: list[Ints]

    @property
    def n_rows(self) -> int:
        """Number of rows of all parts."""
        return sum(part.n_rows for part in self.parts)

    def query_sizes(self) -> Ints:
        """Return the number of rows of every query."""
        sizes = np.zeros(len(self.ids), np.int64)
        for part, numbers in zip(self.parts, self.numbers):
            sizes[numbers] += part.sizes
        return sizes


# -- on a worker ------------------------------------------------------------------------


def checked_rows(
    source: Source, value: Any, first: TablePart | None
) -> tuple[TablePart, RankingPart] | None:
    """Read a part and check it against the first one; None without rows."""
    read = source.read(value, compact=True)
    if read is None:
        return None
    part = checked_part(source.name, read.data, first)
    factor = read.query_weight
    if factor is not None and not ((factor >= 0) & (factor < np.inf)).all():
        row = int(np.flatnonzero(~((factor >= 0) & (factor < np.inf)))[0])
        raise DataError(
            f"{source.name}: query weights must be finite and not negative. Row {row} is "
            f"{factor[row]}."
        )
    if factor is not None:
        check_sum(factor, f"{source.name}: query weight")
    return part, read


def _head(source: Source, value: Any) -> TablePart | None:
    """Return the first row of a part; None without rows."""
    found = checked_rows(source, value, None)
    return None if found is None else found[0].head()


def _look(
    source: Source, value: Any, first: TablePart, sketched: bool, alone: bool
) -> tuple[SurveyedPart | None, list[QuantileSketch]]:
    """Return what is known of a part, and the sketches of its features if they are wanted."""
    found = checked_rows(source, value, first)
    if found is None:
        return None, []
    (part, read), data = found, found[0].data
    weight = part.weights()
    sketches = [QuantileSketch() for _ in range(part.instances.n_features)] if sketched else []
    missing = look_at(part, sketches, others=not alone)
    groups = Groups.from_qid(data.qid, part.instances.n_rows)
    low, high = (np.nan, np.nan) if data.y is None else (data.y.min(), data.y.max())
    largest = 1.0 if weight is None else float(weight.max())
    try:
        factors = query_factors(read.query_weight, groups)
    except DataError as error:
        raise part.failed(error) from None
    labels = float(low), float(high)
    found_part = SurveyedPart(
        groups.ids, groups.sizes, missing, *labels, largest, tuple(data.notes), factors
    )
    return found_part, sketches


def _item(pair: tuple[Any, Any], place: int) -> Any:
    return pair[place]


def _merge(sketches: list[list[QuantileSketch]]) -> list[QuantileSketch]:
    """Return the sketches of several parts as one per feature; those given stay as they are."""
    merged = [QuantileSketch() for _ in sketches[0]]
    for part in sketches:
        for own, added in zip(merged, part, strict=True):
            own.merge(added)
    return merged


# -- on the driver ----------------------------------------------------------------------


def survey(
    client: Any,
    sources: Sequence[Source],
    *,
    bins: Bins | None = None,
    max_bins: int = 255,
    first: TablePart | None = None,
    verbose: int = 0,
) -> Survey:
    """Read all parts once, on the workers.

    Parameters
    ----------
    client : distributed.Client
    sources : sequence of Source
    bins : Bins, optional
        To use, without rows. By default they are found from sketches.
    max_bins : int
    first : TablePart, optional
        What the columns must be; by default those of the first part with rows.

    Raises
    ------
    DataError
        A part cannot be read or does not fit the first one; it is named.
    """
    from dask import delayed

    first = first or _first(client, sources)
    head = client.submit(same, first, pure=False)
    alone = len(sources) == 1
    look, item = delayed(_look, pure=False), delayed(_item, pure=False)
    looks = [look(one.without_value(), one.value, head, bins is None, alone) for one in sources]
    wanted = [(item(one, 0), item(one, 1)) for one in looks]
    computed = client.compute([one for pair in wanted for one in pair])
    found = gathered("reading parts", [one.name for one in sources], computed[::2], verbose)
    kept = [number for number, one in enumerate(found) if one is not None]
    parts = [one for one in found if one is not None]
    if not parts:
        raise DataError("there is no row in any part.")
    if bins is None:
        sketches = _merged(client, [computed[2 * number + 1] for number in kept])
        cut = client.submit(cut_sketches, sketches, max_bins, pure=False)
        bins = result_of("the bins", cut)
        assert bins is not None
    elif bins.n_features != first.instances.n_features:
        raise DataError(
            f"the rows have {first.instances.n_features} features, and the bins are those of "
            f"{bins.n_features}.",
            parameter="bins",
        )
    missing = np.logical_or.reduce([part.missing for part in parts])
    bins = replace(bins, has_missing=missing[bins.features])
    ids, numbers = _numbered([part.ids for part in parts])
    return Survey([sources[number] for number in kept], parts, first, bins, ids, numbers)


def same(value: Any) -> Any:
    """Return a value: a task that makes it known to all workers."""
    return value


def _first(client: Any, sources: Sequence[Source]) -> TablePart:
    """Return the first row of the first part that has one."""
    from dask import delayed

    head = delayed(_head, pure=False)
    for one in sources:
        found = result_of(one.name, client.compute(head(one.without_value(), one.value)))
        if found is not None:
            assert isinstance(found, TablePart)
            return found
    raise DataError("there is no row in any part.")


def gathered(label: str, names: Sequence[str], futures: Sequence[Any], verbose: int) -> list[Any]:
    """Return the results of one task per part, in order, and show how many there are.

    Raises
    ------
    DataError
        Naming the part whose task failed.
    """
    found = []
    with progress_bar(label, len(names), wanted=bool(verbose)) as show:
        for number, (name, future) in enumerate(zip(names, futures)):
            found.append(result_of(name, future))
            if show is not None:
                show(number + 1, "")
    return found


def _merged(client: Any, sketches: Sequence[Any]) -> Any:
    """Return a future of one sketch per feature, of those of all parts, merged in their order."""
    left = list(sketches)
    while len(left) > 1:
        runs = [left[k : k + _MERGED] for k in range(0, len(left), _MERGED)]
        left = [client.submit(_merge, run, pure=False) for run in runs]
    return left[0]


def _numbered(ids: Sequence[Ids]) -> tuple[Ids, list[Ints]]:
    """Return all ids once, ascending, and the places of those of each part."""
    every = np.concatenate([*ids])
    distinct = np.unique(every)
    return distinct, [np.searchsorted(distinct, own).astype(np.int64) for own in ids]
