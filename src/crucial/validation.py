"""Rules for parameters, in one form of words.

Every message reads: The 'max_bins' parameter of RankBoost must be an int in
[2, 65535] or None. Got 1 instead.
"""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from crucial.errors import ParameterError

__all__ = ["check_choice", "check_flag", "check_integer", "check_real", "lookup", "refuse"]

T = TypeVar("T")


def refuse(owner: str, name: str, rule: str, value: object) -> ParameterError:
    """Make the error that says a parameter breaks its rule.

    Examples
    --------
    >>> str(refuse("RankBoost", "max_bins", "an int in [2, 65535] or None", 1))
    "The 'max_bins' parameter of RankBoost must be an int in [2, 65535] or None. Got 1 instead."
    """
    return ParameterError(
        f"The '{name}' parameter of {owner} must be {rule}. Got {value!r} instead."
    )


def check_integer(
    owner: str, name: str, value: Any, low: int, high: int | None = None, *, none: bool = False
) -> None:
    """Refuse what is not an integer in [low, high] (or None where that is allowed)."""
    if value is None and none:
        return
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or value < low or (high is not None and value > high):
        span = f"an int in [{low}, {high}]" if high is not None else f"an int of at least {low}"
        raise refuse(owner, name, span + (" or None" if none else ""), value)


def check_real(
    owner: str,
    name: str,
    value: Any,
    low: float,
    high: float = math.inf,
    *,
    low_open: bool = False,
    none: bool = False,
) -> None:
    """Refuse what is not a finite real number in [low, high] (``low_open``: above low)."""
    if value is None and none:
        return
    fine = isinstance(value, numbers.Real) and not isinstance(value, bool)
    fine = (
        fine and math.isfinite(value) and low <= value <= high and not (low_open and value == low)
    )
    if not fine:
        ends = f"{'(' if low_open else '['}{low:g}, {high:g}{')' if math.isinf(high) else ']'}"
        raise refuse(owner, name, f"a number in {ends}" + (" or None" if none else ""), value)


def check_choice(owner: str, name: str, value: Any, choices: Iterable[Any]) -> None:
    """Refuse what is not one of the choices (compared with their type: True is not 1)."""
    options = list(choices)
    if not any(value is o or (type(value) is type(o) and value == o) for o in options):
        said = ", ".join(repr(o) for o in options)
        raise refuse(owner, name, f"one of {said}", value)


def check_flag(owner: str, name: str, value: Any) -> None:
    """Refuse what is not True or False."""
    if type(value).__name__ not in ("bool", "bool_"):
        raise refuse(owner, name, "True or False", value)


def lookup(registry: Mapping[str, T], name: str, what: str) -> T:
    """Find a name in a registry; an unknown one is answered with the close ones.

    Examples
    --------
    >>> lookup({"rankboost": 1, "random": 2}, "rankbost", "ranker")
    Traceback (most recent call last):
    ...
    crucial.errors.ParameterError: unknown ranker 'rankbost'; did you mean 'rankboost'? ...
    """
    if name in registry:
        return registry[name]
    known = sorted(registry)
    close = difflib.get_close_matches(str(name), known, n=3)
    hint = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
    raise ParameterError(f"unknown {what} {name!r}; {hint}known: {', '.join(known)}")
