"""Rankings of many voters, and PrefLib's files of them: .soc, .soi, .toc, .toi."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crucial.data.files import PathLike
from crucial.data.formats.fields import filled_lines
from crucial.data.formats.words import decode, shown
from crucial.errors import DataError, FileError, in_file
from crucial.types import Floats

__all__ = ["Rankings", "read_preflib"]

#: One ranking: groups of places in ``items``, best first; several in a group are tied.
Order = tuple[tuple[int, ...], ...]

_ORDER = re.compile(r"(?:[0-9]+|\{[0-9, \t]*\})(?:\s*,\s*(?:[0-9]+|\{[0-9, \t]*\}))*\s*,?")
_GROUP = re.compile(r"\{([0-9, \t]*)\}|([0-9]+)")


@dataclass(frozen=True, eq=False, repr=False)
class Rankings:
    """Rankings of items, full or partial, with how often each was given.

    Attributes
    ----------
    items : tuple of str
    orders : tuple of orders
        Each a tuple of groups, best first; a group is a tuple of places in ``items``,
        tied where it has several. An item that is not in an order was not ranked in it:
        nothing is said about it.
    count : float64 array
        How many voters gave each order.
    """

    items: tuple[str, ...]
    orders: tuple[Order, ...]
    count: Floats

    def __repr__(self) -> str:
        return (
            f"Rankings({self.count.sum():g} of {len(self.items)} items, "
            f"{len(self.orders)} different)"
        )

    @property
    def complete(self) -> bool:
        """Whether every order ranks every item."""
        return all(sum(map(len, order)) == len(self.items) for order in self.orders)

    @property
    def strict(self) -> bool:
        """Whether no order has a tie."""
        return all(len(group) == 1 for order in self.orders for group in order)

    @classmethod
    def from_orders(
        cls, orders: Sequence[Sequence[Any]], count: Sequence[float] | None = None
    ) -> Rankings:
        """Take rankings of names, best first; a set, list or tuple inside one is a tie.

        Examples
        --------
        >>> Rankings.from_orders([["tea", "milk"], [{"milk", "wine"}, "tea"]])
        Rankings(2 of 3 items, 2 different)
        """
        groups = [
            [
                [str(name) for name in one]
                if isinstance(one, set | frozenset | list | tuple)
                else [str(one)]
                for one in order
            ]
            for order in orders
        ]
        names = sorted({name for order in groups for group in order for name in group})
        place = {name: k for k, name in enumerate(names)}
        made = [
            tuple(tuple(sorted(place[name] for name in group)) for group in order)
            for order in groups
        ]
        return cls._checked(tuple(names), made, count)

    @classmethod
    def _checked(
        cls, items: tuple[str, ...], orders: Sequence[Order], count: Sequence[float] | None
    ) -> Rankings:
        if not orders:
            raise DataError("there is no ranking.")
        counts = np.ones(len(orders)) if count is None else np.array(count, np.float64)
        if len(counts) != len(orders):
            raise DataError(f"count must have a number for each of the {len(orders)} rankings. "
                            f"Got {len(counts)}.")  # fmt: skip
        if not (np.isfinite(counts).all() and (counts >= 0).all() and counts.sum() > 0):
            raise DataError("counts must be finite, at least 0, and not all 0.")
        for number, order in enumerate(orders):
            flat = [k for group in order for k in group]
            if not flat or any(not group for group in order):
                raise DataError(f"ranking {number} (from 0) is empty or has an empty tie.")
            if len(set(flat)) < len(flat):
                twice = next(k for k in flat if flat.count(k) > 1)
                raise DataError(f"ranking {number} (from 0) has {shown(items[twice])} twice.")
        return cls(items, tuple(orders), counts)

    def above(self) -> Floats:
        """Voters who put item i above item j, as a matrix."""
        n = len(self.items)
        matrix = np.zeros((n, n))
        for order, count in zip(self.orders, self.count.tolist()):
            for k, group in enumerate(order):
                below = [one for other in order[k + 1 :] for one in other]
                matrix[np.ix_(group, below)] += count
        return matrix


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
    both = _chain(first, lines)
    heading = _new_heading if first[1].lstrip().startswith(b"#") else _old_heading
    names, kind, body, colon = heading(path, both)
    kind = kind or _kind_of(path)
    orders: list[Order] = []
    counts: list[float] = []
    for number, text in body:
        count, order = _order(path, number, text, len(names), colon)
        _check_kind(path, number, order, len(names), kind)
        orders.append(order)
        counts.append(count)
    with in_file(path):
        return Rankings._checked(tuple(names), orders, counts)


def _chain(
    first: tuple[int, bytes], lines: Iterator[tuple[int, bytes]]
) -> Iterator[tuple[int, str]]:
    yield first[0], decode(first[1]).strip()
    for number, raw in lines:
        yield number, decode(raw).strip()


_Heading = tuple[list[str], str, Iterator[tuple[int, str]], bool]


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
    if kind and kind not in ("soc", "soi", "toc", "toi"):
        raise FileError(path, f"its data type is {shown(kind)}; soc, soi, toc and toi are read.")
    if sorted(names) != list(range(1, len(names) + 1)) or len(names) != total:
        raise FileError(path, f"the heading must name alternatives 1 to {total}, each once. "
                        f"Got {len(names)} names.")  # fmt: skip
    known = [names[k] or str(k) for k in range(1, total + 1)]
    rest = lines if body is None else _with(body, lines)
    return _apart(known), kind, rest, True


def _with(first: tuple[int, str], rest: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    yield first
    yield from rest


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
    return _apart(names), "", lines, False


def _apart(names: list[str]) -> list[str]:
    """Names that are given twice get the number of their item."""
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return [f"{name} ({k})" if counts[name] > 1 else name for k, name in enumerate(names, 1)]


def _kind_of(path: PathLike) -> str:
    name = str(path).lower().removesuffix(".gz")
    return name[-3:] if name.endswith((".soc", ".soi", ".toc", ".toi")) else ""


def _whole(path: PathLike, number: int, text: str, what: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise FileError(path, f"expected {what}. Got {shown(text)}.", number)
    return int(text)


def _order(
    path: PathLike, number: int, text: str, n_items: int, colon: bool
) -> tuple[float, Order]:
    sign = ":" if colon else ","
    count, found, rest = text.partition(sign)
    if not found or not re.fullmatch(r"[0-9]{1,15}\s*", count):
        raise FileError(path, f"expected 'COUNT{sign} ITEM,ITEM,...'. Got {shown(text)}.", number)
    if not _ORDER.fullmatch(rest.strip()):
        raise FileError(path, "expected numbers of items with commas between, ties in braces. "
                        f"Got {shown(rest.strip())}.", number)  # fmt: skip
    groups: list[tuple[int, ...]] = []
    seen: set[int] = set()
    for tied, alone in _GROUP.findall(rest):
        members = [int(word) for word in re.findall(r"[0-9]{1,10}", alone or tied)]
        for member in members:
            if not 1 <= member <= n_items:
                raise FileError(path, f"items go from 1 to {n_items}. Got {member}.", number)
            if member in seen:
                raise FileError(path, f"item {member} stands twice in this order.", number)
            seen.add(member)
        if members:  # ("{}" says that nothing else is ranked)
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
