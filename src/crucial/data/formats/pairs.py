"""Pairs in a file: ``winner TAB loser [TAB weight]``."""

from __future__ import annotations

import math

import numpy as np

from crucial.data.files import atomic_write, open_bytes
from crucial.data.formats.cells import CellReader, text_lines
from crucial.data.pairs import PairTable
from crucial.data.words import as_ids, decode, finite_number, number_rule, shown
from crucial.errors import DataError, FileError
from crucial.types import PathLike

__all__ = ["read_pairs", "write_pairs"]

_SPACES = " \t\r\n\v\f"  # (those of ASCII: others may belong to an id)


def read_pairs(path: PathLike, *, max_weight: float = math.inf) -> PairTable:
    """Read lines ``winner TAB loser [TAB weight]``, plain or gzip.

    Empty lines and lines that begin with ``#`` are skipped. The first other line is taken
    as a header if its first two fields are ``winner`` and ``loser``, in any case. Either
    every line has a weight or none. Spaces around a field are dropped.

    Parameters
    ----------
    path : str or path
    max_weight : float
        The largest weight that is accepted.

    Returns
    -------
    PairTable
        Ids are int64 if all of them are whole numbers, else str.

    Raises
    ------
    FileError
        Naming file, line and column.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "judged.tsv")
    ...     with open(name, "w") as file:
    ...         _ = file.write("winner\\tloser\\tweight\\nalien\\tantz\\t2\\n")
    ...     pairs = read_pairs(name)
    >>> pairs.winner.tolist(), pairs.loser.tolist(), pairs.weight.tolist()
    (['alien'], ['antz'], [2.0])
    """
    winners: list[str] = []
    losers: list[str] = []
    weights: list[float] = []
    header_seen, first, width = False, 0, 0
    with open_bytes(path) as source:
        for line, cells in CellReader(path, text_lines(source), "\t", quotes="none", decode=decode):
            fields = [cell.strip(_SPACES) for cell in cells]
            if cells[0].startswith("#"):
                continue
            if not (header_seen or winners):
                header_seen = [field.lower() for field in fields[:2]] == ["winner", "loser"]
                if header_seen:
                    continue
            if len(fields) not in (2, 3) or "" in fields or fields[0] == fields[1]:
                raise _no_pair(path, line, cells, fields)
            if not winners:
                first, width = line, len(fields)
            elif len(fields) != width:
                has, had = ("a", "none") if len(fields) == 3 else ("no", "one")
                problem = f"there is {has} weight, but the first pair (line {first}) has {had}."
                raise FileError(path, problem, line, remedy="Weight every pair or none.")
            winners.append(fields[0])
            losers.append(fields[1])
            if width == 3:
                weight = finite_number(fields[2].encode())
                if weight is None or not 0 <= weight <= max_weight:
                    problem = f"the weight must be {number_rule(0.0, max_weight)}. "
                    column = len(cells[0]) + len(cells[1]) + 3
                    raise FileError(path, f"{problem}Got {shown(fields[2])}.", line, column)
                weights.append(weight)
    if not winners:
        raise FileError(path, "there is no pair in this file; expected winner TAB loser.")
    ids = as_ids(winners + losers)
    half = len(winners)
    return PairTable(ids[:half], ids[half:], np.array(weights) if weights else None)


def _no_pair(path: PathLike, line: int, cells: list[str], fields: list[str]) -> FileError:
    """Return the error for a line that is not a pair."""
    if len(fields) in (2, 3) and "" not in fields:
        return FileError(path, f"{shown(fields[0])} cannot rank above itself.", line, 1)
    problem = "expected winner TAB loser, or winner TAB loser TAB weight. "
    got = shown("\t".join(cells).strip(_SPACES))
    return FileError(path, f"{problem}Got {got}.", line, 1)


def write_pairs(path: PathLike, pairs: PairTable, *, header: bool = True) -> None:
    """Write a file that `read_pairs` reads back the same.

    Parameters
    ----------
    path : str or path
        Replaced whole or not at all; packed with gzip if the name ends in ``.gz``.
    pairs : PairTable
    header : bool
        Whether the first line names the columns; some other programs want none.
    """
    columns = [list(pairs.winner), list(pairs.loser)]
    if pairs.weight is not None:
        columns.append(np.asarray(pairs.weight, np.float64).tolist())
    if len({len(column) for column in columns}) != 1:
        raise DataError("winner, loser and weight must be of one length.")
    if (
        pairs.weight is not None
        and not (np.isfinite(columns[2]) & (np.array(columns[2]) >= 0)).all()
    ):
        raise DataError("weights must be finite and at least 0.")
    with atomic_write(path) as file:
        if header:
            names = ["winner", "loser", "weight"][: len(columns)]
            file.write(("\t".join(names) + "\n").encode())
        for row, (winner, loser, *weight) in enumerate(zip(*columns)):
            names = [_checked(winner, row, first=True), _checked(loser, row, first=False)]
            if row == 0 and not header and [n.lower() for n in names] == ["winner", "loser"]:
                raise DataError("the first pair would be read as a header; write one.")
            file.write(("\t".join([*names, *map(repr, weight)]) + "\n").encode())


def _checked(name: object, row: int, *, first: bool) -> str:
    """Refuse an id that would not come back."""
    text = str(name)
    raw = text.encode()
    bad = raw.strip() != raw or not raw or any(mark in raw for mark in (b"\t", b"\n", b"\0"))
    if bad or (first and raw.startswith(b"#")):
        raise DataError(
            f"the id {shown(text)} of pair {row} cannot be written: it must not be empty, begin "
            "with '#', begin or end with a space, or contain a tab, line end or NUL."
        )
    return text
