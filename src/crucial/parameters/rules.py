"""Rules for the values of parameters, with the words in which errors state them."""

from __future__ import annotations

import difflib
import math
import numbers
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from crucial.errors import ParameterError

__all__ = [
    "Rule",
    "above",
    "anything",
    "at_least",
    "between",
    "check",
    "either",
    "flag",
    "function",
    "instance_of",
    "int_between",
    "lookup",
    "mapping",
    "none_or",
    "nonzero",
    "one_of",
    "plain",
    "quoted",
    "refuse",
]

T = TypeVar("T")


@dataclass(frozen=True)
class Rule:
    """The values that a parameter may take, and their wording in messages.

    Attributes
    ----------
    words : tuple of str
        The alternatives, in the words of error messages.
    kinds : tuple of str
        Their types, in the words of a numpydoc section.
    accepts : callable
        Whether a value is one of the alternatives. NumPy's scalars count as Python's.
    choices : tuple
        The values themselves, where they can be listed.
    remedy : str
        What to do instead; ends the error message.

    Examples
    --------
    >>> none_or(int_between(2, 255)).wording
    'an int in [2, 255] or None'
    >>> one_of(0, 1).accepts(1), one_of(0, 1).accepts(True)
    (True, False)
    """

    words: tuple[str, ...]
    kinds: tuple[str, ...]
    accepts: Callable[[Any], bool]
    choices: tuple[object, ...] = ()
    remedy: str = ""

    @property
    def wording(self) -> str:
        """What a value must be, to follow the words "must be"."""
        if 1 < len(self.words) == len(self.choices):
            return f"one of {', '.join(self.words)}"
        return _listed(self.words)

    @property
    def kind(self) -> str:
        """The type of the values, in the words of a numpydoc section."""
        return _listed(self.kinds)


def _listed(words: tuple[str, ...]) -> str:
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def plain(value: object) -> object:
    """Return a NumPy scalar as the equal Python value, and anything else unchanged."""
    numpy = sys.modules.get("numpy")  # (not imported for its own sake: the command line is quick)
    return value.item() if numpy is not None and isinstance(value, numpy.generic) else value


def quoted(value: object) -> str:
    """Return a value as documentation writes it: text in double quotes, 1e-8 for 1e-08."""
    if isinstance(value, str):
        return f'"{value}"'
    return repr(value).replace("e-0", "e-") if isinstance(value, float) else repr(value)


def _is_int(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _fits_float(value: Any) -> bool:
    try:
        float(value)
    except OverflowError:  # (an integer or a fraction beyond the floats)
        return False
    return True


def int_between(low: int, high: int | None) -> Rule:
    """Allow the integers from ``low`` to ``high``, both included; True and False are none."""

    def accepts(value: Any) -> bool:
        return _is_int(value) and low <= value and (high is None or value <= high)

    words = f"an int of at least {low}" if high is None else f"an int in [{low}, {high}]"
    return Rule((words,), ("int",), accepts)


def at_least(low: int) -> Rule:
    """Allow the integers from ``low``."""
    return int_between(low, None)


def between(
    low: float,
    high: float,
    *,
    low_open: bool = False,
    high_open: bool = False,
    noun: str = "number",
    remedy: str = "",
) -> Rule:
    """Allow the finite numbers from ``low`` to ``high``; an open end is not included."""

    def accepts(value: Any) -> bool:
        real = isinstance(value, numbers.Real) and not isinstance(value, bool)
        inside = real and _fits_float(value) and math.isfinite(value) and low <= value <= high
        return inside and not (low_open and value == low) and not (high_open and value == high)

    left, right = "(" if low_open else "[", ")" if high_open or math.isinf(high) else "]"
    words = f"a {noun} in {left}{low:g}, {high:g}{right}"
    return Rule((words,), ("float",), accepts, remedy=remedy)


def above(low: float) -> Rule:
    """Allow the finite numbers above ``low``."""
    return between(low, math.inf, low_open=True)


def one_of(*choices: object) -> Rule:
    """Allow listed values; they are compared with their types, so that True is not 1."""

    def accepts(value: Any) -> bool:
        value = plain(value)
        return any(value is one or (type(value) is type(one) and value == one) for one in choices)

    kind = ", ".join(map(quoted, choices))
    kinds = (kind if len(choices) == 1 else f"{{{kind}}}",)
    return Rule(tuple(map(repr, choices)), kinds, accepts, choices)


def either(*rules: Rule) -> Rule:
    """Allow what any of the rules allows."""
    return Rule(
        tuple(word for rule in rules for word in rule.words),
        tuple(kind for rule in rules for kind in rule.kinds),
        lambda value: any(rule.accepts(value) for rule in rules),
        tuple(choice for rule in rules for choice in rule.choices),
    )


def none_or(rule: Rule) -> Rule:
    """Allow None and what the rule allows."""
    return either(rule, one_of(None))


def anything(kind: str) -> Rule:
    """Allow every value, where it can only be checked against the data."""
    return Rule((kind,), (kind,), lambda value: True)


def instance_of(*classes: type, remedy: str = "") -> Rule:
    """Allow the instances of some classes.

    Examples
    --------
    >>> instance_of(int, str).wording
    'int or str'
    """
    names = tuple(one.__name__ for one in classes)
    return Rule(names, names, lambda value: isinstance(value, classes), remedy=remedy)


mapping = Rule(("a mapping",), ("mapping",), lambda value: isinstance(value, Mapping))
flag = Rule(("True", "False"), ("bool",), lambda value: isinstance(plain(value), bool))
nonzero = Rule(("a nonzero int",), ("int",), lambda value: _is_int(value) and value != 0)
function = Rule(("a function",), ("callable",), callable)


def refuse(owner: str, name: str, rule: str, value: object, remedy: str = "") -> ParameterError:
    """Return the error for a parameter that breaks its rule.

    Examples
    --------
    >>> str(refuse("RankBoost", "max_bins", "an int in [2, 65535] or None", 1))
    "The 'max_bins' parameter of RankBoost must be an int in [2, 65535] or None. Got 1 instead."
    """
    return ParameterError.refused(owner, name, rule, value, remedy)


def check(owner: str, name: str, value: object, rule: Rule) -> None:
    """Raise `ParameterError` if the rule does not allow the value.

    Examples
    --------
    >>> check("evaluate", "resamples", 0, at_least(1))
    Traceback (most recent call last):
    ...
    crucial.errors.ParameterError: The 'resamples' parameter of evaluate must be an int of at ...
    """
    if not rule.accepts(value):
        raise refuse(owner, name, rule.wording, value, rule.remedy or _beyond_floats(value))


def _beyond_floats(value: object) -> str:
    """Return what is wrong with a number that only seems to keep the rule."""
    is_number = isinstance(value, numbers.Real)
    return "" if not is_number or _fits_float(value) else "No float can hold it."


def lookup(registry: Mapping[str, T], name: str, what: str) -> T:
    """Return the entry of a name; an unknown one is answered with the names close to it.

    Examples
    --------
    >>> lookup({"rankboost": 1, "random": 2}, "rankbost", "ranker")
    Traceback (most recent call last):
    ...
    crucial.errors.ParameterError: unknown ranker 'rankbost'; did you mean 'rankboost'? ...
    """
    if isinstance(name, str) and name in registry:
        return registry[name]
    known = sorted(registry)
    close = [one for one in known if sorted(one) == sorted(str(name))]  # (letters changed places)
    close = close or difflib.get_close_matches(str(name), known, n=3)
    hint = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
    raise ParameterError(f"unknown {what} {name!r}; {hint}known: {', '.join(known)}")
