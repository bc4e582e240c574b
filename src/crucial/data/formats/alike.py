"""Read several files of rows with the same columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from crucial.data.dataset import Dataset
from crucial.data.formats.reading import find_format, read_data
from crucial.data.instances import Instances
from crucial.types import PathLike

__all__ = ["read_alike"]


def _categories(first: Instances, options: dict[str, Any]) -> list[str]:
    """Return the features that are categories in the first file, or are said to be."""
    own = [first.names[j] for j in first.levels or () if first.names is not None]
    return list(dict.fromkeys([*options.get("categories", ()), *own]))


def read_alike(
    paths: Sequence[PathLike],
    format: Literal["auto", "svmlight", "table"] = "auto",
    *,
    group_sizes: Sequence[PathLike | None] | None = None,
    **options: Any,
) -> list[Dataset]:
    """Read files of one format with the same columns.

    Parameters
    ----------
    paths : sequence of str or path
        The first of several tables determines the features. Of svmlight files the widest
        determines their number, and index 0 in any of them makes all begin at 0.
    format : {"auto", "svmlight", "table"}
        The kind of all files; "auto" as in `find_format`, of the first one.
    group_sizes : sequence of str or path, optional
        Of svmlight files: the file of group sizes of each.
    **options
        Those of `read_data`.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = [os.path.join(folder, name) for name in ("train.txt", "test.txt")]
    ...     for path, line in zip(paths, ["1 qid:1 1:5\\n", "0 qid:2 0:3 2:7\\n"]):
    ...         with open(path, "w") as file:
    ...             _ = file.write(line)
    ...     [data.X.tolist() for data in read_alike(paths)]
    [[[0.0, 5.0, 0.0]], [[3.0, 0.0, 7.0]]]
    """
    form = find_format(paths[0]) if format == "auto" else format
    each: list[dict[str, Any]] = [{} for _ in paths]
    if group_sizes is not None:
        each = [{"group_sizes": one} for one in group_sizes]

    def read(number: int, **columns: Any) -> Dataset:
        return read_data(paths[number], form, **{**options, **each[number], **columns})

    others = range(1, len(paths))
    data = [read(0)]
    if form == "table":
        first = data[0].instances()
        same = {"features": data[0].feature_names, "categories": _categories(first, options)}
        return data + [read(number, **same) for number in others]
    data += [read(number) for number in others]
    base = min(one.index_base or 0 for one in data)
    width = max(one.n_features + (one.index_base or 0) for one in data) - base
    return [
        one
        if (one.index_base, one.n_features) == (base, width)
        else read(number, index_base=base, n_features=width)
        for number, one in enumerate(data)
    ]
