"""Files in parts that the workers of a Dask cluster read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from crucial.cli.shared.options import RowOptions
from crucial.cli.shared.row_files import (
    RowFormat,
    check_for_model,
    note_assumptions,
    reader_for_model,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crucial.data.dataset import Dataset
    from crucial.distributed.input import ColumnRoles, Source
    from crucial.model.file import Model
    from crucial.types import Floats

__all__ = ["file_sources", "named", "part_files", "score_files"]


def part_files(paths: Sequence[str]) -> list[str]:
    """Return the files that a folder, a pattern or several paths name."""
    from crucial.io.parts import list_parts

    if not paths:
        raise click.UsageError("Missing argument 'DATA'.")
    return [str(file) for path in paths for file in list_parts(path, once=False)]


def named(paths: Sequence[str]) -> str:
    """Return what messages call the files."""
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"


def file_sources(
    files: Sequence[str], how: RowFormat, columns: ColumnRoles, **reader: Any
) -> list[Source]:
    """Return the files as parts for workers to read.

    Parameters
    ----------
    files : sequence of str
    how : RowFormat
    columns : Columns
    **reader
        Further options of the reader.
    """
    from crucial.distributed.input import list_sources

    if how.group_sizes is not None:
        raise click.UsageError("--group-sizes is for one file: write qid:Q into parts.")
    options = {"format": how.form, **how.reader_options(), **reader}
    if how.form == "svmlight":
        del options["group_sizes"]
    return list_sources(list(files), {}, columns, options)


def score_files(
    client: Any,
    paths: Sequence[str],
    model: Model,
    options: RowOptions,
    *,
    labels: bool,
    ordered: bool = False,
) -> tuple[Dataset, Floats]:
    """Score files on a cluster; return the rows without their features, and the scores.

    Parameters
    ----------
    client : distributed.Client
    paths : sequence of str
        A folder, a pattern, or files.
    labels : bool
        Whether the rows are to be measured, so that they need labels.
    ordered : bool
        Whether the rows are to be put in order.
    """
    from crucial.distributed.input import ColumnRoles
    from crucial.distributed.scoring import joined, scored_parts
    from crucial.progress import progress_bar

    files = part_files(paths)
    how, reader = reader_for_model(files[0], model, options, labels=labels, weights=labels)
    # (what a part lacks is reported as for a single file, once all are read)
    columns = ColumnRoles(qid=None, labelled=False)
    parts = scored_parts(model, file_sources(files, how, columns, **reader))
    futures = client.compute(parts)
    found = []
    with how.stated(options), progress_bar("scoring parts", len(futures)) as show:
        for number, one in enumerate(futures, 1):
            found.append(one.result())
            if show is not None:
                show(number, "")
    rows = joined(found)
    data = rows.dataset(model.n_features)
    note_assumptions(named(paths), data)
    check_for_model(named(paths), data, model, how, labels=labels, ordered=ordered)
    return data, rows.scores
