"""Numbers that SQLite reads exactly.

SQLite before 3.43 reads about one decimal fraction in ten thousand as the neighbouring double. Such
numbers are written as a whole number divided by powers of two, which is exact.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from types import ModuleType

from crucial.errors import MissingExtraError

__all__ = ["ExactLiterals", "exact_numbers", "sqlite_module"]

# Quoted text and names, and numbers with an exponent, as the writer makes them.
_TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\d+(?:\.\d+)?e[+-]?\d+""")
_SQLITE_BATCH = 500


def sqlite_module() -> ModuleType:
    """Return Python's module of SQLite, which some builds of Python lack.

    Raises
    ------
    MissingExtraError
        This one does.
    """
    try:
        import sqlite3
    except ImportError as error:
        raise MissingExtraError(
            "SQL is written and tried with SQLite, and this Python was built without its module "
            "sqlite3: install the development files of SQLite and build it again, or use another "
            "Python."
        ) from error
    return sqlite3


def exact_numbers(text: str) -> str:
    """Return an expression with every number that SQLite misreads written as a fraction.

    Examples
    --------
    >>> exact_numbers('"x" <= 0.5e0')
    '"x" <= 0.5e0'
    """
    found = sorted({one for one in _TOKEN.findall(text) if one[0] not in "'\"`"})
    wrong = _misread(found)
    if not wrong:
        return text
    return _TOKEN.sub(lambda one: _fraction(one[0]) if one[0] in wrong else one[0], text)


class ExactLiterals:
    """Writes literals as another function does, but as fractions where SQLite misreads them.

    Parameters
    ----------
    literal : callable
        Returns a literal with an exponent.
    numbers : iterable of float
        What will be written, as far as it is known: asking SQLite for all at once is quicker.

    Examples
    --------
    >>> ExactLiterals("{!r}e0".format, [0.5])(-0.5)
    '-0.5e0'
    """

    def __init__(self, literal: Callable[[float], str], numbers: Iterable[float]) -> None:
        self.literal = literal
        self._checked = {literal(number) for number in {*map(abs, numbers)}}
        self._wrong = {one: _fraction(one) for one in _misread(sorted(self._checked))}

    def __call__(self, number: float) -> str:
        """Return a literal that SQLite reads as this number."""
        text = self.literal(number)
        sign, size = text[: text.startswith("-")], text.removeprefix("-")
        if size not in self._checked:
            self._checked.add(size)
            self._wrong |= {one: _fraction(one) for one in _misread([size])}
        return sign + self._wrong[size] if size in self._wrong else text


def _misread(numbers: list[str]) -> set[str]:
    connection = sqlite_module().connect(":memory:")
    wrong: set[str] = set()
    for at in range(0, len(numbers), _SQLITE_BATCH):
        some = numbers[at : at + _SQLITE_BATCH]
        read = connection.execute(f"SELECT {', '.join(some)}").fetchone()
        wrong |= {text for text, value in zip(some, read, strict=True) if value != float(text)}
    connection.close()
    return wrong


def _fraction(text: str) -> str:
    """Return a number as a whole number times or divided by powers of two.

    Examples
    --------
    >>> _fraction("0.75e0")
    '(CAST(6755399441055744 AS REAL) / CAST(9007199254740992 AS REAL))'
    """
    mantissa, exponent = math.frexp(float(text))
    out = f"CAST({int(math.ldexp(mantissa, 53))} AS REAL)"
    exponent -= 53
    sign, left = ("*", exponent) if exponent > 0 else ("/", -exponent)
    while left:
        step = min(left, 62)
        out += f" {sign} CAST({2**step} AS REAL)"
        left -= step
    return f"({out})"
