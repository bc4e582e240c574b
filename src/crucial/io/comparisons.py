"""Files of comparisons, pairs and rankings: named columns, arena files, PrefLib."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from crucial.data.comparisons import (
    MAX_WEIGHT,
    ComparisonColumns,
    Comparisons,
    Order,
    PairTable,
    Rankings,
    comparisons_of_table,
)
from crucial.data.files import atomic_write, first_bytes
from crucial.data.words import CellTable, as_ids, decode, finite_number, number_rule, shown
from crucial.errors import DataError, FileError, in_file
from crucial.io.text import NO_ROW, filled_lines, read_cells, table_kind
from crucial.io.writing import write_columns
from crucial.parameters import with_fields
from crucial.types import PathLike

# --- Pairs in a file: ``winner TAB loser [TAB weight]``


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
    for line, raw in filled_lines(path):
        cells = decode(raw).split("\t")
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


def write_pairs(path: PathLike, pairs: PairTable) -> None:
    """Write a file that `read_pairs` reads back the same.

    Parameters
    ----------
    path : str or path
        Replaced whole or not at all; packed with gzip if the name ends in ``.gz``.
    pairs : PairTable
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
        file.write(("\t".join(["winner", "loser", "weight"][: len(columns)]) + "\n").encode())
        for row, (winner, loser, *weight) in enumerate(zip(*columns)):
            names = [_checked(winner, row, first=True), _checked(loser, row, first=False)]
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


# --- Comparisons in a CSV, a TSV or JSON lines with named columns


_NEEDED = ("winner", "loser")


@with_fields(ComparisonColumns)
def read_comparisons(path: PathLike, *, sep: str | None = None, **columns: Any) -> Comparisons:
    """Read a CSV, a TSV, JSON lines or a sheet of Excel with comparisons, text plain or gzip.

    The first line (the keys of JSON) names the columns; names are found in any case, and columns
    with other names are passed over. Keys inside objects of JSON have dotted names, such as
    ``conv_metadata.turns``. A file has winner and loser, or the items of two sides and
    who won, as arena files do: ``model_a``, ``model_b`` (or ``left``, ``right`` and the like) and
    a ``winner`` that is the side, ``tie``, or the name of the item; ``notes`` of the result say
    what was understood. A file without names of columns is read as ``winner TAB loser [TAB
    weight]`` (`read_pairs`).

    Parameters
    ----------
    path : str or path
    winner, loser, tie, weight, judge, context : str
        Names of the columns. ``tie`` contains 1, true, yes or tie; or 0, false, no or nothing.
    category : str or sequence of str, optional
        Column of the kinds of comparisons, for `leaderboards`, or several columns.
    covariates : sequence of str
        Columns of numbers that may have decided: of the first side less the second, or of the
        winner less the loser. ``"length_a-length_b"`` is the difference of two columns, and
        ``"length=length_a-length_b"`` gives it a name.
    left, right : str, optional
        Columns of the items of both sides, if their names do not say so.
    sep : str, optional
        Sign between cells, seen from the file by default.

    Raises
    ------
    FileError
        Naming file, line and column (the number of the cell in its line).

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "judged.csv")
    ...     with open(name, "w") as file:
    ...         _ = file.write("winner,loser,judge\\ntea,milk,ann\\nmilk,wine,bob\\n")
    ...     read_comparisons(name)
    Comparisons(2 of 3 items, 0 ties, 2 judges)
    """
    wanted = ComparisonColumns(**columns)
    table = read_cells(path, sep=sep)
    unnamed = (wanted.winner, wanted.loser, wanted.left) == ("winner", "loser", None)
    if unnamed and _may_be_pairs(table, sep):
        pairs = read_pairs(path, max_weight=MAX_WEIGHT)
        weights = None if pairs.weight is None else pairs.weight.tolist()
        with in_file(path):
            return Comparisons.from_columns([*pairs.winner], [*pairs.loser], weight=weights)
    if not table.n_rows:
        table.require(wanted.winner)
        raise FileError(path, NO_ROW)
    with in_file(path):
        return comparisons_of_table(table, wanted)


def _may_be_pairs(table: CellTable, sep: str | None) -> bool:
    """Return whether an unnamed table may be lines ``winner TAB loser [TAB weight]``."""
    if table_kind(table.path) != "text" or b"\t" not in first_bytes(table.path, 4096):
        return False
    if not table.n_rows:
        return True
    named = [name for name in _NEEDED if table.place(name) is not None]
    commas = any("," in name or ";" in name for name in table.names)
    return sep is None and not named and 1 < len(table.names) <= 3 and not commas


def write_comparisons(path: PathLike, comparisons: Comparisons) -> None:
    """Write a table that `read_comparisons` reads back the same; whole or not at all.

    The end of its name decides: ``.csv``, ``.tsv``, ``.jsonl``. Columns are winner, loser and tie;
    or, if it is known which item was shown first, model_a, model_b and winner. Categories and
    covariates are read back where they are named.
    """
    write_columns(path, comparison_columns(comparisons), exact=True)


def comparison_columns(comparisons: Comparisons) -> dict[str, list[Any]]:
    """The columns of such a table."""
    table = comparisons
    high = [table.items[k] for k in table.winner]
    low = [table.items[k] for k in table.loser]
    columns: dict[str, list[Any]]
    turn = np.ones(len(table))
    if table.first is None:
        columns = {"winner": [*high], "loser": [*low], "tie": table.tie.astype(int).tolist()}
    else:
        sides = list(zip(high, low, table.first.tolist(), table.tie.tolist()))
        columns = {
            "model_a": [a if first else b for a, b, first, _ in sides],
            "model_b": [b if first else a for a, b, first, _ in sides],
            "winner": [
                "tie" if tie else "model_a" if first else "model_b" for _, _, first, tie in sides
            ],
        }
        turn = np.where(table.first, 1.0, -1.0)
    columns["weight"] = table.weight.tolist()
    names = {"judge": table.judges, "context": table.contexts, "category": table.categories}
    for role, known in names.items():
        codes = getattr(table, role)
        if codes is not None and codes.ndim == 1:
            columns[role] = [known[k] for k in codes]
        elif codes is not None:  # (of several columns: "column: category")
            for own in codes.T:
                cells = [known[k].partition(": ") for k in own]
                columns[cells[0][0]] = [cell for _, _, cell in cells]
    for k, name in enumerate(table.covariate_names):
        if table.covariates is not None:
            columns[name] = (table.covariates[:, k] * turn).tolist()
    return columns


# --- PrefLib's files of rankings: .soc, .soi, .toc, .toi; its other files are named and refused


_ITEMS = r"(?:[0-9]{1,10}|\{[, \t]*(?:[0-9]{1,10}(?:[, \t]+|(?=\})))*\})"
_ORDER = re.compile(rf"{_ITEMS}(?:\s*,\s*{_ITEMS})*\s*,?")
_KINDS = ("soc", "soi", "toc", "toi")
_OTHER_KINDS = {
    "cat": "categorical data: every voter puts items into categories, which ranks no single items",
    "wmd": "a weighted matching graph, as of kidney exchanges, not rankings",
    "dat": "data in a form of their own, described beside the file, not rankings",
}
_GROUP = re.compile(r"\{([0-9, \t]*)\}|([0-9]+)")


def read_preflib(path: PathLike) -> Rankings:
    """Read orders in PrefLib's format, plain or gzip, the present one or that of before 2022.

    ``.soc`` and ``.toc`` rank every item, ``.soi`` and ``.toi`` may leave some out; in
    ``.toc`` and ``.toi`` groups in braces are tied. The kind is taken from the heading
    (``# DATA TYPE``), else from the name; what contradicts it is refused.

    Raises
    ------
    FileError
        Naming file and line.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "drinks.toc")
    ...     with open(name, "w") as file:
    ...         _ = file.write("# NUMBER ALTERNATIVES: 3\\n# ALTERNATIVE NAME 1: tea\\n"
    ...                        "# ALTERNATIVE NAME 2: milk\\n# ALTERNATIVE NAME 3: wine\\n"
    ...                        "4: 1,2,3\\n2: 3,{1,2}\\n")
    ...     read_preflib(name)
    Rankings(6 of 3 items, 2 different)
    """
    lines = filled_lines(path)
    first = next(lines, None)
    if first is None:
        raise FileError(path, "the file is empty; expected orders in PrefLib's format.")
    ending = str(path).lower().removesuffix(".gz").rpartition(".")[2]
    _check_readable(path, ending, named=True)
    texts = ((number, decode(raw).strip()) for number, raw in chain([first], lines))
    is_new = first[1].lstrip().startswith(b"#")
    names, kind, body = (_new_heading if is_new else _old_heading)(path, texts)
    kind = kind or (ending if ending in _KINDS else "")
    orders: list[Order] = []
    counts: list[float] = []
    for number, text in body:
        count, order = _order(path, number, text, len(names), ":" if is_new else ",")
        if count > MAX_WEIGHT:
            problem = f"an order may be given at most {MAX_WEIGHT:g} times. Got {count:g}."
            raise FileError(path, problem, number, 1)
        _check_kind(path, number, order, len(names), kind)
        orders.append(order)
        counts.append(count)
    with in_file(path):
        return Rankings.from_places(tuple(names), orders, counts)


def _check_readable(path: PathLike, kind: str, *, named: bool = False) -> None:
    """Refuse files of PrefLib that are not rankings, and say what they are."""
    if kind in _OTHER_KINDS:
        raise FileError(
            path,
            f"a .{kind} file of PrefLib is {_OTHER_KINDS[kind]}; .soc, .soi, .toc and .toi are "
            "read.",
        )
    if kind and not named and kind not in _KINDS:
        raise FileError(path, f"its data type is {shown(kind)}; soc, soi, toc and toi are read.")


_Heading = tuple[list[str], str, Iterator[tuple[int, str]]]


def _new_heading(path: PathLike, lines: Iterator[tuple[int, str]]) -> _Heading:
    """Lines ``# KEY: VALUE``; what follows are lines ``count: order``."""
    names: dict[int, str] = {}
    total, kind, body = None, "", None
    for number, text in lines:
        if not text.startswith("#"):
            body = (number, text)
            break
        head, _, value = text[1:].partition(":")
        key, value = head.split(), value.strip()
        if key == ["NUMBER", "ALTERNATIVES"]:
            total = _whole(path, number, value, "the number of alternatives")
        elif key == ["DATA", "TYPE"]:
            kind = value.lower()
        elif key[:2] == ["ALTERNATIVE", "NAME"] and len(key) == 3:
            names[_whole(path, number, key[2], "the number of an alternative")] = value
    if total is None:
        raise FileError(path, "the heading does not say '# NUMBER ALTERNATIVES: ...'.")
    _check_readable(path, kind)
    if sorted(names) != list(range(1, len(names) + 1)) or len(names) != total:
        raise FileError(path, f"the heading must name alternatives 1 to {total}, each once. "
                        f"Got {len(names)} names.")  # fmt: skip
    known = [names[k] or str(k) for k in range(1, total + 1)]
    return _apart(known), kind, chain([] if body is None else [body], lines)


def _old_heading(path: PathLike, lines: Iterator[tuple[int, str]]) -> _Heading:
    """A number, lines ``k,name``, a line of three numbers; then lines ``count,order``."""
    number, text = next(lines)
    total = _whole(path, number, text, "the number of alternatives, or '#' and a heading")
    names = []
    for k in range(1, total + 1):
        number, text = next(lines, (number, ""))
        index, comma, name = text.partition(",")
        if index.strip() != str(k) or not comma:
            raise FileError(path, f"expected '{k},NAME'. Got {shown(text)}.", number)
        names.append(name.strip() or str(k))
    number, text = next(lines, (number, ""))
    if not re.fullmatch(r"[0-9]+\s*,\s*[0-9]+\s*,\s*[0-9]+", text):
        raise FileError(path, "expected the numbers of voters, votes and different orders. "
                        f"Got {shown(text)}.", number)  # fmt: skip
    return _apart(names), "", lines


def _apart(names: list[str]) -> list[str]:
    """Names that are given twice get the number of their item."""
    counts = Counter(names)
    return [f"{name} ({k})" if counts[name] > 1 else name for k, name in enumerate(names, 1)]


def _whole(path: PathLike, number: int, text: str, what: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise FileError(path, f"expected {what}. Got {shown(text)}.", number)
    return int(text)


def _order(path: PathLike, number: int, text: str, n_items: int, sign: str) -> tuple[float, Order]:
    """Read a line ``count: order``, with ``sign`` after the count."""
    count, found, rest = text.partition(sign)
    if not found or not re.fullmatch(r"[0-9]{1,15}[ \t]*", count):
        raise FileError(path, f"expected 'COUNT{sign} ITEM,ITEM,...'. Got {shown(text)}.", number)
    if not _ORDER.fullmatch(rest.strip()):
        raise FileError(path, "expected numbers of items with commas between, ties in braces. "
                        f"Got {shown(rest.strip())}.", number)  # fmt: skip
    groups: list[tuple[int, ...]] = []
    seen: set[int] = set()
    for tied, alone in _GROUP.findall(rest):
        members = [int(word) for word in re.findall(r"[0-9]+", alone or tied)]
        for member in members:
            if not 1 <= member <= n_items:
                raise FileError(path, f"items go from 1 to {n_items}. Got {member}.", number)
            if member in seen:
                raise FileError(path, f"item {member} occurs twice in this order.", number)
            seen.add(member)
        if members:  # ("{}" means that nothing else is ranked)
            groups.append(tuple(sorted(member - 1 for member in members)))
    if not groups:
        raise FileError(path, "this order ranks nothing.", number)
    return float(count), tuple(groups)


def _check_kind(path: PathLike, number: int, order: Order, n_items: int, kind: str) -> None:
    """Refuse what the kind of file rules out."""
    if kind.startswith("so") and any(len(group) > 1 for group in order):
        raise FileError(path, f"there is a tie, and a .{kind} file has none.", number)
    ranked = sum(map(len, order))
    if kind.endswith("c") and ranked < n_items:
        raise FileError(
            path, f"a .{kind} file ranks all {n_items} items; this order has {ranked}.", number
        )
