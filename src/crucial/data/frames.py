"""Columns of data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from crucial.data.words import shown
from crucial.errors import DataError
from crucial.types import FrameLike

__all__ = ["frame_columns"]


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

        data: nw.DataFrame[Any] = nw.from_native(frame, eager_only=True, pass_through=False)
        names = data.columns
        wanted = names if needed is None else (*needed, *extra)
        columns = {name: data[name].to_list() for name in wanted if name in names}
    for name in needed or ():
        if name not in columns:
            known = ", ".join(map(shown, names))
            raise DataError(f"the frame has no column {shown(name)}; columns: {known}.", value=name)
    return columns
