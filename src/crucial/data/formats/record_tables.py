"""Tables whose rows another library has cut into cells."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain, islice

from crucial.data.dataset import Dataset
from crucial.data.formats.cell_format import CellFormat
from crucial.data.formats.columns import RoleNames, assign_roles
from crucial.data.formats.table_rows import SAMPLE, ColumnPlan, Record, parse_records, to_dataset
from crucial.types import PathLike

__all__ = ["read_records"]


def read_records(
    path: PathLike,
    line: int | None,
    names: list[str],
    records: Iterator[Record],
    form: CellFormat,
    wanted: RoleNames,
) -> Dataset:
    """Read a table from its rows.

    Parameters
    ----------
    path : str or path
        The file, for errors.
    line : int or None
        The line of the names, for errors; None where they are not in a line.
    names : list of str
        Of the columns.
    records : iterator of (line, cells)
    form : CellFormat
    wanted : RoleNames
    """
    roles = assign_roles(path, line, names, wanted)
    plan = ColumnPlan(os.fspath(path), names, roles, "\t", form)
    sample = list(islice(records, SAMPLE))
    plan = plan.for_rows(sample)
    records = chain(sample, records)
    return to_dataset(plan, parse_records(plan, records))
