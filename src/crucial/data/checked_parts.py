"""The parts of a table, each checked against the first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crucial.data.arrays import as_reals, check_sum
from crucial.data.dataset import Dataset
from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.data.part_files import read_part
from crucial.errors import DataError, FileError
from crucial.types import Floats, Ids

__all__ = ["TablePart", "checked_part", "checked_parts", "columns_of"]

_COLUMNS = ("y", "qid", "item", "weight")


@dataclass
class TablePart:
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

    def head(self) -> TablePart:
        """Return the first row alone, which says what columns there are."""
        row, heads = self.instances.take_rows([0]), {}
        for name, values in columns_of(self.data).items():
            heads[name] = None if values is None else values[:1]
        notes, base, complete = self.data.notes, self.data.index_base, self.data.complete
        head = Dataset(row, **heads, notes=notes, index_base=base, complete=complete)
        return TablePart(self.name, head, row)

    def weights(self) -> Floats | None:
        """Return the weights of the rows, None where they have none; bad ones are refused."""
        if self.data.weight is None:
            return None
        weight = as_reals(self.data.weight, f"{self.name}: weights")
        wrong = ~((weight >= 0) & (weight < np.inf))
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise DataError(
                f"{self.name}: weights must be finite and not negative. Row {row} is {weight[row]}."
            )
        check_sum(weight, f"{self.name}: weight")
        return weight


def checked_parts(parts: Iterable[Any], options: dict[str, Any]) -> Iterator[TablePart]:
    """Yield the parts with rows, each checked against the first."""
    first: TablePart | None = None
    for number, one in enumerate(parts):
        name, data = read_part(one, number, options, compact=True)
        if data is None:
            continue
        part = checked_part(name, data, first)
        yield part
        if first is None:
            first = part.head()
        del data, part  # (before the next part is read)
    if first is None:
        raise DataError("there is no row in any part.")


def checked_part(name: str, data: Dataset, first: TablePart | None) -> TablePart:
    """Return a part with the columns of the first one, in its order; errors name the part."""
    try:
        instances = Instances.from_input(data.X)
        _check_columns(data, instances.n_rows)
    except DataError as error:
        raise error.about(name) from None
    if data.feature_names is not None and instances.names is None:
        instances = replace(instances, names=tuple(data.feature_names))
    part = TablePart(name, data, instances)
    return part if first is None else _like(first, part)


def _check_columns(data: Dataset, n_rows: int) -> None:
    """Refuse labels and ids that are missing, and columns of another length than the features."""
    for name, values in columns_of(data).items():
        if values is not None and len(values) != n_rows:
            raise DataError(f"X has {n_rows} rows, and {name} has {len(values)}.")
    if data.y is not None:
        missing = np.flatnonzero(~np.isfinite(np.asarray(data.y, np.float64)))
        if len(missing):
            raise DataError(
                f"the label of row {missing[0]} is {data.y[missing[0]]}. Leave rows without a "
                "label out."
            )
    if data.qid is not None:
        Groups.from_qid(data.qid, n_rows)  # (raises, naming the row)


def columns_of(data: Dataset) -> dict[str, Any]:
    """Return the columns beside the features by name, None for those that are not there."""
    return {name: getattr(data, name) for name in _COLUMNS}


def _like(first: TablePart, part: TablePart) -> TablePart:
    """Return a part with its features in the order of the first part; refuse any that differs."""
    own, wanted = part.instances, first.instances
    for name, there in columns_of(first.data).items():
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
