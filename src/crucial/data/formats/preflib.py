"""PrefLib's files of rankings: .soc, .soi, .toc, .toi; its other files are named and refused."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crucial.data.comparisons import MAX_WEIGHT
from crucial.data.formats.cells import filled_lines
from crucial.data.rankings import Order, Rankings
from crucial.data.words import decode, shown
from crucial.errors import FileError, in_file
from crucial.types import PathLike

__all__ = ["read_preflib"]

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
    _check_readable(path, str(path).lower().removesuffix(".gz").rpartition(".")[2], named=True)
    both = _chain(first, lines)
    heading = _new_heading if first[1].lstrip().startswith(b"#") else _old_heading
    names, kind, body, colon = heading(path, both)
    kind = kind or _kind_of(path)
    orders: list[Order] = []
    counts: list[float] = []
    for number, text in body:
        count, order = _order(path, number, text, len(names), colon)
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
    _check_readable(path, kind)
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
    """Read a line ``count: order`` (``count,order`` without colon)."""
    sign = ":" if colon else ","
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
