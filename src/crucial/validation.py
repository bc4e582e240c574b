"""Checks by kind of value; `crucial.parameters` replaces them."""

from __future__ import annotations

import math
from collections.abc import Iterable

from crucial.parameters import (
    Rule,
    between,
    check,
    flag,
    int_between,
    lookup,
    none_or,
    one_of,
    refuse,
)

__all__ = ["check_choice", "check_flag", "check_integer", "check_real", "lookup", "refuse"]


def check_integer(
    owner: str, name: str, value: object, low: int, high: int | None = None, *, none: bool = False
) -> None:
    """Refuse what is not an integer in [low, high] (or None where that is allowed)."""
    check(owner, name, value, _rule(int_between(low, high), none))


def check_real(
    owner: str,
    name: str,
    value: object,
    low: float,
    high: float = math.inf,
    *,
    low_open: bool = False,
    none: bool = False,
) -> None:
    """Refuse what is not a finite real number in [low, high] (``low_open``: above low)."""
    check(owner, name, value, _rule(between(low, high, low_open=low_open), none))


def check_choice(owner: str, name: str, value: object, choices: Iterable[object]) -> None:
    """Refuse what is not one of the choices (compared with their type: True is not 1)."""
    check(owner, name, value, one_of(*choices))


def check_flag(owner: str, name: str, value: object) -> None:
    """Refuse what is not True or False."""
    check(owner, name, value, flag)


def _rule(rule: Rule, none: bool) -> Rule:
    return none_or(rule) if none else rule
