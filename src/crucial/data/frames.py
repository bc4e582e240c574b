"""Columns of data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from crucial.data.words import one_line, shown
from crucial.errors import DataError, DataTypeError
from crucial.types import FrameLike

__all__ = ["frame_columns", "whole_table"]


def whole_table(frame: Any) -> Any:
    """Return a batch of pyarrow as a table, and any other frame as it is."""
    if type(frame).__name__ == "RecordBatch" and type(frame).__module__.startswith("pyarrow"):
        import pyarrow as pa

        return pa.Table.from_batches([frame])
    return frame


def frame_columns(
    frame: FrameLike | Mapping[str, Sequence[object]],
    needed: Sequence[str] | None = None,
    extra: Sequence[str] = (),
) -> dict[str, list[Any]]:
    """Return columns of a frame (pandas, polars, pyarrow) or of a mapping, as lists.

    Parameters
    ----------
    frame : frame or mapping
    needed : sequence of str, optional
        Columns that must be there; without, all columns are returned.
    extra : sequence of str
        Columns that are returned if they are there.
    """
    if isinstance(frame, Mapping):
        names = list(frame)
        wanted = names if needed is None else (*needed, *extra)
        columns = {name: list(frame[name]) for name in wanted if name in frame}
    else:
        import narwhals as nw

        try:
            data: nw.DataFrame[Any] = nw.from_native(whole_table(frame), eager_only=True)
        except TypeError as error:
            raise DataTypeError(
                f"a frame or a mapping of columns is needed. Got {type(frame).__name__}."
            ) from error
        except nw.exceptions.DuplicateError as error:
            raise DataError(f"the frame: column names must differ. {one_line(error)}") from None
        names = data.columns
        wanted = names if needed is None else (*needed, *extra)
        columns = {name: data[name].to_list() for name in wanted if name in names}
    for name in needed or ():
        if name not in columns:
            known = ", ".join(map(shown, names))
            raise DataError(f"the frame has no column {shown(name)}; columns: {known}.", value=name)
    return columns
