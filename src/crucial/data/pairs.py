"""Pairs in a file: ``winner TAB loser [TAB weight]``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crucial.data.files import PathLike, atomic_write
from crucial.data.formats.fields import field_error, filled_lines, finite_number
from crucial.data.formats.words import as_ids, decode, shown
from crucial.errors import Argument, DataError, FileError, Message
from crucial.types import Floats, Ints
from crucial.validation import check_choice

__all__ = ["PairTable", "read_pairs", "write_pairs"]

_CELL = re.compile(rb"[^\t]+")


@dataclass
class PairTable:
    """What should rank above what.

    Attributes
    ----------
    winner, loser : int64 arrays, or object arrays of str
        Row numbers (from 0) or item ids; both of one kind.
    weight : float64 array or None
        Importance of each pair.
    """

    winner: NDArray[Any]
    loser: NDArray[Any]
    weight: Floats | None = None

    def rows(
        self, n_rows: int, item: Any = None, *, by: Literal["auto", "row", "item"] = "auto"
    ) -> Ints:
        """Give the pairs as row numbers of a table.

        Parameters
        ----------
        n_rows : int
            Number of rows of the table.
        item : array of shape (n_rows,), optional
            Item ids of its rows.
        by : {"auto", "row", "item"}
            Whether pairs name row numbers or items; "auto": items where ``item`` is given.

        Returns
        -------
        int64 array of shape (n_pairs, 2)
            Winner and loser.

        Examples
        --------
        >>> pairs = PairTable(np.array(["b"], object), np.array(["a"], object))
        >>> pairs.rows(3, ["a", "b", "c"]).tolist()
        [[1, 0]]
        """
        check_choice("rows", "by", by, ["auto", "row", "item"])
        if by == "item" and item is None:
            raise DataError("pairs by item need the item ids of the rows.")
        if by == "row" or item is None:
            return self._by_number(n_rows)
        return self._by_item(n_rows, item)

    def _by_number(self, n_rows: int) -> Ints:
        table = np.column_stack([self.winner, self.loser])
        if table.dtype.kind not in "iu":
            text = next(name for name in table.ravel() if isinstance(name, str))
            raise DataError(
                f"pairs must name row numbers where rows have no item ids. Got {shown(text)}."
            )
        outside = (table < 0) | (table >= n_rows)
        if outside.any():
            pair, side = np.argwhere(outside)[0].tolist()
            raise DataError(
                f"pair {pair} (from 0) names row {table[pair, side]}, but rows go from 0 to "
                f"{n_rows - 1}."
            )
        return table.astype(np.int64)

    def _by_item(self, n_rows: int, item: Any) -> Ints:
        if len(item) != n_rows:
            raise DataError(f"item must have an id for each of the {n_rows} rows. Got {len(item)}.")
        places: dict[str, list[int]] = {}
        for row, name in enumerate(item):
            places.setdefault(str(name), []).append(row)
        table = np.empty((len(self.winner), 2), np.int64)
        for side, names in enumerate((self.winner, self.loser)):
            for pair, name in enumerate(names):
                found = places.get(str(name), [])
                if len(found) != 1:
                    what = f"rows {found[0]} and {found[1]} have both" if found else "no row has"
                    raise DataError(
                        f"pair {pair} (from 0) names item {shown(str(name))}, which {what}.",
                        remedy=Message("Use ", Argument("by", "row"), " if these are row numbers."),
                    )
                table[pair, side] = found[0]
        return table


def read_pairs(path: PathLike) -> PairTable:
    """Read lines ``winner TAB loser [TAB weight]``, plain or gzip.

    Empty lines and lines that begin with ``#`` are skipped. The first other line is taken
    as a header if its first two fields are ``winner`` and ``loser``, in any case. Either
    every line has a weight or none. Spaces around a field are dropped.

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
    header_seen, first_line, width = False, 0, 0
    for number, line in filled_lines(path):
        if line.startswith(b"#"):
            continue
        fields = [field.strip() for field in line.split(b"\t")]
        if not (header_seen or winners):
            header_seen = [field.lower() for field in fields[:2]] == [b"winner", b"loser"]
            if header_seen:
                continue
        _check_fields(path, number, line, fields)
        if not winners:
            first_line, width = number, len(fields)
        elif len(fields) != width:
            has, had = ("a", "none") if len(fields) == 3 else ("no", "one")
            raise FileError(
                path,
                f"there is {has} weight, but the first pair (line {first_line}) has {had}. Give a "
                "weight to every pair or to none.",
                number,
            )
        winners.append(decode(fields[0]))
        losers.append(decode(fields[1]))
        if width == 3:
            weight = finite_number(fields[2])
            if weight is None or weight < 0:
                rule = "the weight must be a finite number of at least 0"
                raise field_error(path, number, line, 2, rule, _CELL)
            weights.append(weight)
    if not winners:
        raise FileError(path, "there is no pair in this file; expected winner TAB loser.")
    ids = as_ids(winners + losers)
    half = len(winners)
    return PairTable(ids[:half], ids[half:], np.array(weights) if weights else None)


def _check_fields(path: PathLike, number: int, line: bytes, fields: list[bytes]) -> None:
    """Refuse a line that is not a pair."""
    if len(fields) not in (2, 3) or b"" in fields:
        raise FileError(
            path,
            "expected winner TAB loser, or winner TAB loser TAB weight. "
            f"Got {shown(line.strip())}.",
            number,
            1,
        )
    if fields[0] == fields[1]:
        raise FileError(path, f"{shown(fields[0])} cannot rank above itself.", number, 1)


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


def _checked(name: Any, row: int, *, first: bool) -> str:
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
