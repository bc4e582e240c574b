"""One reader for all files with rows to rank: the kind is seen from name and content."""

from __future__ import annotations

import inspect
import os
import re
from typing import Any, Literal

from crucial.data.dataset import Dataset
from crucial.data.files import first_bytes
from crucial.data.formats.svmlight import read_svmlight
from crucial.data.formats.tables import EXCEL, JSON, PARQUET, SVMLIGHT, read_table
from crucial.data.words import BOM
from crucial.errors import Argument, FileError, Message, ParameterError
from crucial.parameters import at_least, check, either, flag, one_of
from crucial.progress import reading_lines
from crucial.types import PathLike

__all__ = ["find_format", "read_data"]

_TABLES = (".csv", ".tsv", ".tab", ".xls", ".json", *PARQUET, *EXCEL, *JSON)
_ROW = re.compile(rb"^[ \t]*[^\s#:,;]+(?:[ \t]+(?:qid|[0-9]+):[^\s]+)", re.MULTILINE)
_LOOK = 1 << 16  # bytes of the start that are looked at


def find_format(
    path: PathLike, otherwise: Literal["svmlight", "table"] | None = None
) -> Literal["svmlight", "table"]:
    """Find out what kind of file this is.

    By its name (before ``.gz``): .csv, .tsv, .tab, .parquet, .pq, .xlsx, .xlsm, .jsonl and .ndjson
    are tables, .svm, .svmlight, .libsvm and .letor are svmlight. Else by its start: ``PAR1`` and
    ``{`` begin a table; the first line that is neither empty nor comment is svmlight if it goes
    ``label qid:...`` or ``label index:...``, and the head of a table if it has a comma, tab or
    semicolon. What is neither is ``otherwise``, if that is given.

    Raises
    ------
    FileError
        It is neither, or cannot be read.
    """
    name = os.fspath(path).lower().removesuffix(".gz")
    if name.endswith(_TABLES):
        return "table"
    if name.endswith(SVMLIGHT):
        return "svmlight"
    start = first_bytes(path, _LOOK).removeprefix(BOM)
    if start.startswith((b"PAR1", b"\xff\xfe", b"\xfe\xff")) or start.lstrip().startswith(b"{"):
        return "table"
    lines = (
        line for line in start.split(b"\n") if line.strip() and not line.strip().startswith(b"#")
    )
    first = next(lines, b"")
    if not first:
        raise FileError(path, "there is no row at the start of this file.")
    if _ROW.match(first):
        return "svmlight"
    if any(mark in first.split(b"#")[0] for mark in (b",", b"\t", b";")):
        return "table"
    if otherwise is not None:
        return otherwise
    raise FileError(
        path,
        "this is neither svmlight (label qid:Q index:value ...) nor a table with named columns.",
        remedy=Message(
            "Say which it is with ",
            Argument("format", "svmlight"),
            " or ",
            Argument("format", "table"),
            ".",
        ),
    )


def read_data(
    path: PathLike,
    format: Literal["auto", "svmlight", "table"] = "auto",
    *,
    verbose: int = 0,
    **options: Any,
) -> Dataset:
    """Read rows to rank from a file of any kind.

    Parameters
    ----------
    path : str or path
        The file, plain or gzip.
    format : {"auto", "svmlight", "table"}
        The kind of file; "auto" as in `find_format`.
    verbose : int
        1 or True writes lines about the progress of large files where standard error is no
        terminal; a terminal shows a bar in any case.
    **options
        Those of `read_svmlight` or `read_table`.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "train.txt")
    ...     with open(name, "w") as file:
    ...         _ = file.write("1 qid:7 1:0.5\\n0 qid:7 1:0.25\\n")
    ...     data = read_data(name)
    >>> data.X.tolist(), data.y.tolist(), data.qid.tolist()
    ([[0.5], [0.25]], [1.0, 0.0], [7, 7])
    """
    check("read_data", "format", format, one_of("auto", "svmlight", "table"))
    check("read_data", "verbose", verbose, either(at_least(0), flag))
    readers: dict[str, Any] = {"svmlight": read_svmlight, "table": read_table}
    found = find_format(path) if format == "auto" else format
    known = [one for one in inspect.signature(readers[found]).parameters if one != "path"]
    for option in options:
        if option not in known:
            raise ParameterError(
                f"{os.fspath(path)} is read as {found}, which has no option {option!r}; "
                f"it has: {', '.join(known)}."
            )
    with reading_lines(bool(verbose)):
        data: Dataset = readers[found](path, **options)
    return data
