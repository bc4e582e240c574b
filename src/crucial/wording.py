"""Numbers and names in words: counted nouns, p-values, intervals, text that is safe to print."""

from __future__ import annotations

import math

# --- Numbers in words: counted nouns, p-values, and intervals with the digits that stand


#: Digits after the point that are printed where nothing was drawn.
MOST_DIGITS = 4


def noun_for(number: int, noun: str) -> str:
    """Return a noun in the form that follows the number.

    Examples
    --------
    >>> noun_for(1, "query"), noun_for(2, "query"), noun_for(0, "day"), noun_for(2, "leaf")
    ('query', 'queries', 'days', 'leaves')
    """
    if number == 1:
        return noun
    if noun.endswith("leaf"):
        return f"{noun[:-1]}ves"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def counted(number: int, noun: str) -> str:
    """Return a number and its noun, in the plural where it takes one.

    Examples
    --------
    >>> counted(1, "query"), counted(1200, "query"), counted(0, "row")
    ('1 query', '1,200 queries', '0 rows')
    """
    return f"{number:,} {noun_for(int(number), noun)}"


def number_text(value: float, sign: str = "", digits: int = MOST_DIGITS) -> str:
    """Return a number for a table; "none" for NaN.

    Examples
    --------
    >>> number_text(0.5), number_text(0.5, "+"), number_text(float("nan"))
    ('0.5000', '+0.5000', 'none')
    """
    return "none" if math.isnan(value) else f"{value:{sign}.{digits}f}"


def p_text(p: float) -> str:
    """Return a p-value for a table; never 0.0000, which no test can find.

    Examples
    --------
    >>> p_text(0.03125), p_text(2e-7), p_text(float("nan"))
    ('0.0312', '< 1e-4', 'none')
    """
    if math.isnan(p):
        return "none"
    return "< 1e-4" if p < 1e-4 else f"{p:.4f}"


def digits_that_stand(error: float | None) -> int:
    """Return how many digits after the point a drawn number has.

    The last digit stands if another seed moves the number by less than half a unit of it, in 19
    of 20 cases. At least one digit is printed, and at most four.

    Parameters
    ----------
    error : float or None
        Standard error of the number that is due to the draws; None if nothing was drawn.

    Examples
    --------
    >>> digits_that_stand(0.0002), digits_that_stand(0.002), digits_that_stand(None)
    (3, 2, 4)
    """
    if error is None or not error > 0.0:
        return MOST_DIGITS
    return max(1, min(MOST_DIGITS, math.floor(-math.log10(4.0 * error) + 1e-9)))


def interval_text(
    interval: tuple[float, float] | None,
    error: float | None = None,
    *,
    sign: str = "",
    between: str = " to ",
) -> str:
    """Return both ends of an interval with the digits that stand; "none" without one.

    Examples
    --------
    >>> interval_text((0.71234, 0.81), 0.0002), interval_text(None)
    ('0.712 to 0.810', 'none')
    """
    if interval is None or math.isnan(interval[0]) or math.isnan(interval[1]):
        return "none"
    digits = digits_that_stand(error)
    return between.join(f"{end:{sign}.{digits}f}" for end in interval)


# --- Text from files, made safe for a terminal


def printable(text: str, limit: int = 60) -> str:
    """Make text from a file safe to print: no control characters, not too long.

    Examples
    --------
    >>> printable("bm25\\x1b[31m\\n")
    'bm25\\\\x1b[31m\\\\n'
    """
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return safe if len(safe) <= limit else safe[: limit - 1] + "…"
