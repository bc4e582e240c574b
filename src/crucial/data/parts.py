"""A table in parts: cut by sketches, coded part by part, joined as one table of codes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.bins import Bins
from crucial.data.coded_table import CodedTable
from crucial.data.dataset import Dataset
from crucial.data.instances import Instances
from crucial.data.memory import check_room
from crucial.data.part_files import list_parts, read_part
from crucial.data.sketches import QuantileSketch
from crucial.errors import DataError, FileError
from crucial.kernels.threads import count_threads, run_all
from crucial.parameters import check, int_between
from crucial.types import Codes, Floats, Ids

__all__ = ["code_parts"]

_COLUMNS = ("y", "qid", "item", "weight")


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
    if bins is None:
        cuts = _cut(_checked(listed, options), max_bins, threads)
    else:
        cuts = _without_rows(bins)
    return _join(_checked(listed, options), cuts, bins is not None, threads)


@dataclass
class _Part:
    """A part whose columns are those of the first one.

    Attributes
    ----------
    name : str
        As messages call it.
    data : Dataset
        Labels, queries and so on.
    instances : Instances
    """

    name: str
    data: Dataset
    instances: Instances

    def failed(self, error: DataError) -> DataError:
        """Return an error with the name of the part."""
        return error if isinstance(error, FileError) else error.about(self.name)

    def head(self) -> _Part:
        """Return the first row alone, which says what columns there are."""
        row, heads = self.instances.take_rows([0]), {}
        for name, values in _columns_of(self.data).items():
            heads[name] = None if values is None else values[:1]
        notes, base, complete = self.data.notes, self.data.index_base, self.data.complete
        head = Dataset(row, **heads, notes=notes, index_base=base, complete=complete)
        return _Part(self.name, head, row)

    def add_to(self, sketches: list[QuantileSketch], weight: Floats | None, feature: int) -> None:
        """Add the rows to the sketch of a feature."""
        sketches[feature].add(self.column(feature), weight)

    def column(self, feature: int) -> Floats:
        """Return the values of a feature; infinite ones are refused."""
        try:
            return self.instances.column(feature).astype(np.float64, copy=False)
        except DataError as error:
            raise self.failed(error) from None


def _checked(parts: Iterable[Any], options: dict[str, Any]) -> Iterator[_Part]:
    """Yield the parts with rows, each checked against the first."""
    first: _Part | None = None
    for number, one in enumerate(parts):
        name, data = read_part(one, number, options)
        if data is None:
            continue
        try:
            instances = Instances.from_input(data.X)
        except DataError as error:
            raise error.about(name) from None
        if data.feature_names is not None and instances.names is None:
            instances = replace(instances, names=tuple(data.feature_names))
        part = _Part(name, data, instances)
        if first is not None:
            part = _like(first, part)
        yield part
        if first is None:
            first = part.head()
        del data, instances, part  # (before the next part is read)
    if first is None:
        raise DataError("there is no row in any part.")


def _columns_of(data: Dataset) -> dict[str, Any]:
    return {name: getattr(data, name) for name in _COLUMNS}


def _like(first: _Part, part: _Part) -> _Part:
    """Return a part with its features in the order of the first part; refuse any that differs."""
    own, wanted = part.instances, first.instances
    for name, there in _columns_of(first.data).items():
        has = getattr(part.data, name) is not None
        if has != (there is not None):
            with_it, without = (part, first) if has else (first, part)
            raise DataError(f"{without.name} has no {name}, and {with_it.name} has one.")
    if first.data.qid is not None and part.data.qid is not None:
        kinds = [_kind(one.data.qid) for one in (first, part) if one.data.qid is not None]
        if kinds[0] != kinds[1]:
            raise DataError(
                f"qid: {first.name} has {kinds[0]}, and {part.name} has {kinds[1]}; write ids of "
                "one type."
            )
    if first.data.index_base != part.data.index_base:
        raise DataError(
            f"features count from {first.data.index_base} in {first.name} and from "
            f"{part.data.index_base} in {part.name}, as it seems; say which by index_base."
        )
    numbered = first.data.index_base is not None or own.names is None
    if (own.names is None) != (wanted.names is None) or (
        numbered and own.n_features != wanted.n_features
    ):
        remedy = " Pass n_features." if first.data.index_base is not None else ""
        raise DataError(
            f"{part.name} has {own.n_features} features{_named(own)}, and {first.name} has "
            f"{wanted.n_features}{_named(wanted)}.{remedy}"
        )
    if own.names is not None and wanted.names is not None and own.names != wanted.names:
        if sorted(own.names) != sorted(wanted.names):
            lacks = [name for name in wanted.names if name not in own.names]
            extra = [name for name in own.names if name not in wanted.names]
            problem = f"lacks {_list(lacks)}" if lacks else f"also has {_list(extra)}"
            raise DataError(f"{part.name} {problem}; its columns must be those of {first.name}.")
        order = own.columns_of(wanted.names)
        times = {order.index(j): unit for j, unit in (own.times or {}).items()}
        own = Instances(own.table[:, order], wanted.names, times=times or None)
    if (own.times or {}) != (wanted.times or {}):
        raise DataError(f"columns of dates differ in type between {first.name} and {part.name}.")
    return replace(part, instances=own)


def _named(instances: Instances) -> str:
    return " without names" if instances.names is None else " with names"


def _list(names: list[str]) -> str:
    """Return some names for a message."""
    shown = ", ".join(map(repr, names[:3]))
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more columns"


def _kind(ids: Ids) -> str:
    return "numbers" if ids.dtype.kind in "iuf" else "text"


# -- bins -------------------------------------------------------------------------------


def _cut(parts: Iterator[_Part], max_bins: int, threads: int) -> Bins:
    """Return the bins of all rows of positive weight, without codes."""
    sketches: list[QuantileSketch] = []
    n_rows = 0
    for part in parts:
        sketches = sketches or [QuantileSketch() for _ in range(part.instances.n_features)]
        weight = None if part.data.weight is None else _weights(part)
        add = partial(part.add_to, sketches, weight)
        run_all(threads, [partial(add, feature) for feature in range(len(sketches))])
        n_rows += part.instances.n_rows
        del add, part  # (before the next part is read)
    found = [(one.cut(max_bins), one.n_missing) for one in sketches]
    n = sketches[0].n_rows
    kept = [j for j, (cuts, missing) in enumerate(found) if len(cuts) or 0 < missing < n]
    check_room(
        n_rows * len(kept),
        f"{n_rows:,} rows of {len(kept):,} features that vary, at one byte per cell,",
        "Choose fewer features or parts.",
    )
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


def _weights(part: _Part) -> Floats:
    """Return the weights of the rows of a part."""
    weight = np.asarray(part.data.weight, np.float64)
    wrong = ~((weight >= 0) & (weight < np.inf))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise DataError(
            f"{part.name}: weights must be finite and not negative. Row {row} is {weight[row]}."
        )
    return weight


def _without_rows(bins: Bins | Dataset) -> Bins:
    """Return given bins without the rows that they were made from."""
    if isinstance(bins, Dataset):
        table = bins.X.table if isinstance(bins.X, Instances) else None
        if not isinstance(table, CodedTable):
            raise DataError(
                "the data set given for bins was not made by Dataset.from_parts and has none.",
                parameter="bins",
            )
        bins = table.bins
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

    def add(self, part: _Part, codes: Codes) -> None:
        self.codes.append(codes)
        for name, values in _columns_of(part.data).items():
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


def _join(parts: Iterator[_Part], cuts: Bins, unseen: bool, threads: int) -> Dataset:
    """Code the parts; ``unseen`` where their values have not been checked yet."""
    joined = _Joined()
    head: _Part | None = None
    for part in parts:
        instances = part.instances
        if instances.n_features != cuts.n_features:
            raise DataError(
                f"{part.name} has {instances.n_features} features, and the bins are those of "
                f"{cuts.n_features}.",
                parameter="bins",
            )
        if unseen:
            for feature in range(instances.n_features):
                part.column(feature)
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
