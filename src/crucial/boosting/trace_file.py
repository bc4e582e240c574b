"""Write the trace of a fit to a file of tab-separated columns, and read it back."""

from __future__ import annotations

from collections.abc import Sequence

from crucial.boosting.trace import Trace
from crucial.data.files import atomic_write, open_bytes
from crucial.errors import FileError
from crucial.model.weak import Tree
from crucial.types import PathLike
from crucial.wording import printable

__all__ = ["read_trace", "write_trace"]


def write_trace(path: PathLike, trace: Trace, feature_names: Sequence[str] | None = None) -> None:
    """Write one line per round, tab separated, whole or not at all.

    Parameters
    ----------
    path : str or path
    trace : Trace
    feature_names : sequence of str, optional
        Names to write in place of the features' numbers.
    """
    columns = trace.to_dict()
    rankers = columns.pop("ranker")
    columns["feature"] = [", ".join(_features(one, feature_names)) for one in rankers]
    columns["threshold"] = [getattr(one, "threshold", "") for one in rankers]
    lines = ["\t".join(columns)]
    lines += ["\t".join(_cell(cell) for cell in row) for row in zip(*columns.values())]
    with atomic_write(path) as file:
        file.write(("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))


def _features(ranker: object, names: Sequence[str] | None) -> list[str]:
    """Return the names, or the numbers, of the features of a weak ranker."""
    one = getattr(ranker, "feature", None)
    numbers = sorted(set(ranker.features)) if isinstance(ranker, Tree) else [one]
    return [str(f if names is None else names[f]) for f in numbers if f is not None]


def _cell(value: object) -> str:
    return printable(" ".join(str(value).split()), limit=4000)


def read_trace(path: PathLike) -> dict[str, list[str]]:
    """Read the columns of a trace that `write_trace` wrote, as text.

    Raises
    ------
    FileError
        The file is not such a table; the error names the line.
    """
    with open_bytes(path) as source:
        lines = [line.decode("utf-8", "replace").rstrip("\r\n") for line in source.lines()]
    heads = lines[0].split("\t") if lines else []
    if "round" not in heads or len(set(heads)) != len(heads):
        raise FileError(
            path, "this is not a trace: its first line must name columns, 'round' among them.", 1
        )
    columns: dict[str, list[str]] = {head: [] for head in heads}
    for number, line in enumerate(lines[1:], 2):
        cells = line.split("\t")
        if len(cells) != len(heads):
            raise FileError(path, f"expected {len(heads)} cells, got {len(cells)}.", number)
        for head, cell in zip(heads, cells):
            columns[head].append(cell)
    for name in ("round", "loss"):
        for number, cell in enumerate(columns.get(name, []), 2):
            try:
                float(cell)
            except ValueError:
                raise FileError(path, f"{name!r} must be a number, got {cell!r}.", number) from None
    return columns
