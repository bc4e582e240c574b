"""A table in parts: cut by sketches, coded part by part, joined as one table of codes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.bins import Bins
from crucial.data.checked_parts import TablePart, checked_parts, columns_of
from crucial.data.coded_table import CodedTable
from crucial.data.dataset import Dataset
from crucial.data.instances import Instances
from crucial.data.memory import check_room
from crucial.data.part_files import list_parts, split_parts
from crucial.data.part_values import look_at
from crucial.data.sketches import QuantileSketch
from crucial.errors import DataError
from crucial.kernels.runtime import count_threads
from crucial.parameters import check, int_between, refuse
from crucial.types import Codes

__all__ = ["bins_without_rows", "code_parts", "cut_sketches"]


def code_parts(
    parts: Any,
    bins: Bins | Dataset | None,
    max_bins: int,
    n_jobs: int | None,
    options: dict[str, Any],
) -> Dataset:
    """Return a data set of codes; parameters as in `Dataset.from_parts`."""
    check("Dataset.from_parts", "max_bins", max_bins, int_between(2, 255))
    threads = count_threads(n_jobs)
    listed = list_parts(parts, once=bins is not None)
    if not isinstance(listed, Iterator):
        listed = list(split_parts(listed))
    if bins is None:
        cuts = _cut(checked_parts(listed, options), max_bins, threads)
    else:
        cuts = bins_without_rows(bins)
    return _join(checked_parts(listed, options), cuts, bins is not None, threads)


# -- bins -------------------------------------------------------------------------------


def _cut(parts: Iterator[TablePart], max_bins: int, threads: int) -> Bins:
    """Return the bins of all rows of positive weight, without codes."""
    sketches: list[QuantileSketch] = []
    n_rows = 0
    for part in parts:
        sketches = sketches or [QuantileSketch() for _ in range(part.instances.n_features)]
        look_at(part, sketches, threads=threads)
        n_rows += part.instances.n_rows
        del part  # (before the next part is read)
    bins = cut_sketches(sketches, max_bins)
    kept = len(bins.features)
    check_room(
        n_rows * kept,
        f"{n_rows:,} rows of {kept:,} features that vary, at one byte per cell,",
        "Choose fewer features or parts.",
    )
    return bins


def cut_sketches(sketches: list[QuantileSketch], max_bins: int) -> Bins:
    """Return the bins of the rows that sketches have seen, one per feature, without codes."""
    found = [(one.cut(max_bins), one.n_missing) for one in sketches]
    n = sketches[0].n_rows
    kept = [j for j, (cuts, missing) in enumerate(found) if len(cuts) or 0 < missing < n]
    return Bins(
        np.array(kept, np.int64),
        tuple(found[j][0] for j in kept),
        np.zeros((len(kept), 0), np.uint8),
        np.array([found[j][1] > 0 for j in kept], bool),
        0,
        len(found),
        tuple(j for j, (_, missing) in enumerate(found) if missing == n),
        tuple(j for j, (cuts, missing) in enumerate(found) if not len(cuts) and not missing),
    )


def bins_without_rows(bins: Bins | Dataset) -> Bins:
    """Return given bins without the rows that they were made from."""
    if isinstance(bins, Dataset):
        table = bins.X.table if isinstance(bins.X, Instances) else None
        if not isinstance(table, CodedTable):
            raise DataError(
                "the data set given for bins was not made by Dataset.from_parts and has none.",
                parameter="bins",
            )
        bins = table.bins
    if not isinstance(bins, Bins):
        raise refuse("from_parts", "bins", "Bins or a Dataset made by from_parts", bins)
    most = int(bins.n_bins.max(initial=1))
    if most > 255:
        raise DataError(
            f"bins has a feature with {most} bins; codes of one byte have room for 255.",
            parameter="bins",
        )
    empty = np.zeros((len(bins.features), 0), np.uint8)
    return replace(bins, codes=empty, n_rows=0, stored=None)


# -- codes ------------------------------------------------------------------------------


@dataclass
class _Joined:
    """What is kept of the parts."""

    codes: list[Codes] = field(default_factory=list)
    columns: dict[str, list[NDArray[Any]]] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    def add(self, part: TablePart, codes: Codes) -> None:
        self.codes.append(codes)
        for name, values in columns_of(part.data).items():
            if values is not None:
                column = np.asarray(values)
                if column.dtype == object:  # (one object per text, not one per row)
                    same = [self.texts.setdefault(one, one) for one in column]
                    column = np.empty(len(same), object)
                    column[:] = same
                self.columns.setdefault(name, []).append(column)
        self.notes.update(dict.fromkeys(part.data.notes))

    def bins(self, cuts: Bins) -> Bins:
        """Return the codes of all parts, feature after feature; the parts are forgotten."""
        sizes = [codes.shape[1] for codes in self.codes]
        n = sum(sizes)
        whole = np.zeros((len(cuts.features), -(-n // 8) * 8), np.uint8)
        missing = np.zeros(len(whole), bool)
        end = n
        while self.codes:
            codes = self.codes.pop()
            whole[:, end - codes.shape[1] : end] = codes
            missing |= (codes == cuts.n_bins[:, None]).any(axis=1)
            end -= codes.shape[1]
        return replace(cuts, codes=whole, has_missing=missing, n_rows=n)


def _join(parts: Iterator[TablePart], cuts: Bins, unseen: bool, threads: int) -> Dataset:
    """Code the parts; ``unseen`` where their values have not been checked yet."""
    joined = _Joined()
    head: TablePart | None = None
    for part in parts:
        instances = part.instances
        if instances.n_features != cuts.n_features:
            raise DataError(
                f"{part.name} has {instances.n_features} features, and the bins are those of "
                f"{cuts.n_features}.",
                parameter="bins",
            )
        if unseen:
            look_at(part, threads=threads)
        codes = cuts.recode(instances, np.arange(instances.n_rows), threads)
        joined.add(part, codes[:, : instances.n_rows])
        head = head or part.head()
        del part, instances  # (before the next part is read)
    assert head is not None
    table = CodedTable(joined.bins(cuts))
    rows = Instances(table, head.instances.names, times=head.instances.times)
    names = None if rows.names is None else list(rows.names)
    columns: dict[str, Any] = {n: np.concatenate(own) for n, own in joined.columns.items()}
    return Dataset(
        rows,
        **columns,
        feature_names=names,
        notes=list(joined.notes),
        index_base=head.data.index_base,
        complete=head.data.complete,
    )
