"""Parameters, each declared once: its default, its rule and its text.

A class declares its parameters in its body, and `with_parameters` writes the constructor and the
"Parameters" section of the docstring. Validation (`check_parameters`), ``crucial list rankers``,
``--set NAME=VALUE`` and tuning grids read the same declarations (`parameters_of`).

Subclasses inherit declarations. They may declare a parameter again to change its default, rule or
text (what they leave out stays as it is), or `fixed` it to a value, which takes it out of the
constructor. A parameter that unrelated classes have is a constant that each of them names.

Positional parameters come first, those of base classes before a class's own, which is where type
checkers expect them. Keyword parameters follow: a class's own, then inherited ones.

Examples
--------
>>> N_JOBS = parameter(none_or(nonzero), "Threads, None for all.", default=None)
>>> @with_parameters
... class Ridge:
...     '''Least squares with a penalty on large weights.
...
...     Attributes
...     ----------
...     coef_ : array of shape (n_features,)
...     '''
...
...     l2: float = parameter(above(0), "Weight of the penalty.", default=0.1, kw_only=False)
...     solver: str = parameter(one_of("newton", "cg"), "How to solve it.", default="newton")
...     n_jobs: int | None = N_JOBS

Python, and scikit-learn with it, sees an ordinary constructor:

>>> import inspect
>>> list(inspect.signature(Ridge).parameters)
['l2', 'solver', 'n_jobs']
>>> check_parameters(Ridge(-1.0))
Traceback (most recent call last):
...
crucial.errors.ParameterError: The 'l2' parameter of Ridge must be a number in (0, inf). Got -1.0...
>>> print(Ridge.__doc__)
Least squares with a penalty on large weights.
<BLANKLINE>
Parameters
----------
l2 : float, default=0.1
    Weight of the penalty.
solver : {"newton", "cg"}, default="newton"
    How to solve it.
n_jobs : int or None, default=None
    Threads, None for all.
<BLANKLINE>
Attributes
----------
coef_ : array of shape (n_features,)
"""

from __future__ import annotations

import difflib
import inspect
import json
import math
import numbers
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeVar, cast, dataclass_transform

from crucial.errors import Message, ParameterError

# --- Rules for the values of parameters, with the words in which errors state them


T = TypeVar("T")
FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


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
        """The rule in words, to follow "must be"."""
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
        raise refuse(owner, name, rule.wording, value, rule.remedy or _remedy(value, rule))


def _remedy(value: object, rule: Rule) -> str:
    """Return the listed values close to a text, or that a number is beyond the floats."""
    if isinstance(value, str):
        names = [one for one in rule.choices if isinstance(one, str)]
        close = difflib.get_close_matches(value, names, n=2)
        return f"Did you mean {' or '.join(map(repr, close))}?" if close else ""
    is_number = isinstance(value, numbers.Real)
    return "" if not is_number or _fits_float(value) else "No float can hold it."


def parse(text: str, rule: Rule) -> object:
    """Return the value that a text stands for: a Python constant or JSON, else the text itself.

    A rule that allows only one of the two decides.

    Examples
    --------
    >>> parse("8", at_least(1)), parse("None", none_or(flag)), parse("exact", anything("str"))
    (8, None, 'exact')
    >>> parse("8", one_of("8", "16")), parse("-.5", at_least(-1))
    ('8', -0.5)
    """
    constants = {"None": None, "True": True, "False": False}
    number = re.sub(r"^(-?)(?=\.\d)", r"\g<1>0", text)  # .5, which JSON does not know
    try:
        value: object = constants[text] if text in constants else json.loads(number)
    except (ValueError, RecursionError):
        return text
    return text if rule.accepts(text) and not rule.accepts(value) else value


def lookup(
    registry: Mapping[str, T], name: str, what: str, meant: Mapping[str, Message] | None = None
) -> T:
    """Return the entry of a name; an unknown one is answered with the names close to it.

    ``meant`` has names in lower case that are not in the register, and what to use for them.

    Examples
    --------
    >>> lookup({"rankboost": 1, "random": 2}, "rankbost", "ranker")
    Traceback (most recent call last):
    ...
    crucial.errors.ParameterError: unknown ranker 'rankbost'; did you mean 'rankboost'? ...
    """
    if isinstance(name, str) and name in registry:
        return registry[name]
    known, name_ = sorted(registry), str(name).lower()
    for near in difflib.get_close_matches(name_, meant or (), n=1, cutoff=0.8):
        raise ParameterError(Message(f"unknown {what} {name!r}; ", (meant or {})[near], "."))
    lower = {one.lower(): one for one in known}
    close = [lower[one] for one in lower if sorted(one) == sorted(name_)]  # (changed places)
    close = close or [lower[one] for one in difflib.get_close_matches(name_, lower, n=3)]
    hint = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
    raise ParameterError(f"unknown {what} {name!r}; {hint}known: {', '.join(known)}")


def described(register: Mapping[str, Any]) -> str:
    """Return the entries of a register in sentences, each by its name and its ``about``."""
    return " ".join(f"{quoted(name)}: {one.about}." for name, one in register.items())


# --- Write the docstring of a class from its prose and its declared parameters


_TITLE = re.compile(r"^(\w+)\n-{3,}\n", re.MULTILINE)


def entry(name: str, kind: str, default: object, text: str) -> str:
    """Return the lines of a parameter in a numpydoc "Parameters" section."""
    optional = default is None and "None" not in kind
    ending = "optional" if optional else f"default={quoted(default)}"
    lines = textwrap.wrap(
        text, 92, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False
    )
    return "\n".join([f"{name} : {kind}, {ending}", *lines])


def compose(cls: type, parameters: Iterable[str]) -> str:
    """Return the docstring of a class: prose, parameters, attributes, then its other sections.

    Parameters
    ----------
    cls : type
        Its own docstring has the prose, the attributes that it adds to those of its bases (or
        documents anew), and any other sections.
    parameters : iterable of str
        Made by `entry`.
    """
    sections = _sections(inspect.cleandoc(cls.__doc__ or ""))
    prose = sections.pop("")
    entries = _entries(sections.get("Attributes", ""))
    cls._documented = {one.split(" :")[0]: one for one in entries}  # type: ignore[attr-defined]
    written = {"Parameters": "\n".join(parameters), "Attributes": "\n".join(_attributes(cls))}
    return _joined(prose, written | sections | written)


def _entries(section: str) -> list[str]:
    """Split a section of a docstring into its entries."""
    return [one for one in re.split(r"\n(?=\S)", section) if one]


def _joined(prose: str, sections: Mapping[str, str]) -> str:
    """Return a docstring of a prose and sections by title; empty ones are left out."""
    parts = [f"{title}\n{'-' * len(title)}\n{text}" for title, text in sections.items() if text]
    return "\n\n".join([prose, *parts]) + "\n"


def _sections(text: str) -> dict[str, str]:
    """Split a docstring by the titles of its sections; the prose before the first has none."""
    prose, *rest = _TITLE.split(text)
    texts = {"": prose, **dict(zip(rest[::2], rest[1::2]))}
    return {title: text.strip("\n") for title, text in texts.items()}


def _attributes(cls: type) -> list[str]:
    """Return the entries of all attributes: those that the class adds, then those of its bases."""
    by_class = [vars(base).get("_documented", {}) for base in cls.__mro__]
    found: list[str] = []
    for at, documented in enumerate(by_class):
        for name in documented:
            if not any(name in base for base in by_class[at + 1 :]):
                found.append(next(one[name] for one in by_class if name in one))
    return found


def with_arguments(**texts: tuple[str, str]) -> Callable[[FunctionT], FunctionT]:
    """Return a decorator that documents the arguments of a method, each described once.

    Parameters
    ----------
    **texts : (str, str)
        Type and description of each argument. An entry in the method's own "Parameters" section
        replaces them.

    Examples
    --------
    >>> @with_arguments(x=("array", "Numbers."))
    ... def double(x, times):
    ...     '''Multiply.
    ...
    ...     Parameters
    ...     ----------
    ...     times : int
    ...     '''
    >>> print(double.__doc__)
    Multiply.
    <BLANKLINE>
    Parameters
    ----------
    x : array
        Numbers.
    times : int
    """

    def document(function: FunctionT) -> FunctionT:
        if not function.__doc__:  # (python -OO leaves none)
            return function
        sections = _sections(inspect.cleandoc(function.__doc__))
        own = {one.split(" :")[0]: one for one in _entries(sections.pop("Parameters", ""))}
        names = [name for name in inspect.signature(function).parameters if name != "self"]
        arguments = "\n".join(
            own.get(name) or "{} : {}\n    {}".format(name, *texts[name]) for name in names
        )
        function.__doc__ = _joined(sections.pop(""), {"Parameters": arguments, **sections})
        return function

    return document


def with_fields(options: type[Any]) -> Callable[[FunctionT], FunctionT]:
    """Give a function that takes ``**options`` the signature of a dataclass of options."""

    def sign(function: FunctionT) -> FunctionT:
        signature = inspect.signature(function)
        every = signature.parameters.values()
        explicit = [one for one in every if one.kind is not one.VAR_KEYWORD]
        declared = [
            inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default)
            for one in fields(options)
        ]
        place = sum(one.kind is not one.KEYWORD_ONLY for one in explicit)
        parameters = [*explicit[:place], *declared, *explicit[place:]]
        function.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=parameters
        )
        return function

    return sign


# --- Declare parameters in the body of a class, and write its constructor from them


ClassT = TypeVar("ClassT", bound=type)


@dataclass(frozen=True)
class Parameter:
    """A parameter of an estimator: name, default, rule and documentation.

    Attributes
    ----------
    name : str
    default : object
    rule : Rule
        Which values it may take.
    text : str
        What it does, in one or a few sentences.
    annotation : str
        Its type, as the class body has it.
    kw_only : bool
        Whether the constructor takes it by name alone.
    grid : tuple
        Values to try when an estimator is tuned; empty where tuning leaves it alone.
    shapes_model : bool
        Whether another value may give another model. Threads and verbosity do not.
    """

    name: str
    default: object
    rule: Rule
    text: str
    annotation: str
    kw_only: bool
    grid: tuple[object, ...]
    shapes_model: bool


@dataclass(frozen=True)
class _Declaration:
    """The arguments of `parameter` or `fixed`; None where the value is inherited."""

    default: object
    rule: Rule | None = None
    text: str | None = None
    kw_only: bool = True
    grid: tuple[object, ...] | None = None
    shapes_model: bool | None = None
    init: bool = True

    def complete(self, name: str, annotation: str, base: Parameter | None) -> Parameter:
        """Return the parameter, with what is left out taken from the base class's."""
        if base is None:
            if self.rule is None or self.text is None:
                raise TypeError(f"parameter {name!r} is new and needs a rule and a text.")
            base = Parameter(name, None, self.rule, self.text, "", True, (), True)
        own = {name: getattr(self, name) for name in ("rule", "text", "grid", "shapes_model")}
        new: dict[str, Any] = {name: value for name, value in own.items() if value is not None}
        new |= {"default": self.default, "annotation": annotation, "kw_only": self.kw_only}
        return replace(base, **new)


def parameter(
    rule: Rule | None = None,
    text: str | None = None,
    *,
    default: T,
    kw_only: bool = True,
    grid: tuple[object, ...] | None = None,
    shapes_model: bool | None = None,
) -> T:
    """Declare a parameter in the body of a class; `Parameter` explains the arguments.

    What is left out is inherited where a base class declares the parameter too. ``kw_only`` is
    not: type checkers read it here.
    """
    return cast(T, _Declaration(default, rule, text, kw_only, grid, shapes_model))


def fixed(*, default: T, init: Literal[False] = False) -> T:
    """Give an inherited parameter a value, and take it out of the constructor."""
    return cast(T, _Declaration(default, init=init))


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(parameter, fixed))
def with_parameters(cls: ClassT) -> ClassT:
    """Write the constructor and the docstring of a class from what it and its bases declare.

    A class attribute ``_shared_order`` names keyword parameters that stand in that order at the
    end of the signature of every class that has them.
    """
    cls._declared = _declarations(cls)  # type: ignore[attr-defined]
    cls._parameters = _ordered(cls)  # type: ignore[attr-defined]
    if "__init__" not in vars(cls):
        cls.__init__ = _constructor(cls)  # type: ignore[misc]
    if vars(cls).get("__doc__"):  # (python -OO leaves none)
        every = parameters_of(cls).values()
        cls.__doc__ = compose(cls, (entry(p.name, p.rule.kind, p.default, p.text) for p in every))
    return cls


def parameters_of(owner: object) -> dict[str, Parameter]:
    """Return the parameters of a class or an instance by name, in the order of its signature."""
    return cast("dict[str, Parameter]", getattr(owner, "_parameters", {}))


def check_parameters(owner: object) -> None:
    """Raise `ParameterError` if the value of a parameter breaks its rule."""
    for one in parameters_of(owner).values():
        check(type(owner).__name__, one.name, getattr(owner, one.name), one.rule)


def _declared(cls: type) -> dict[str, Parameter | None]:
    """Return the parameters that a class declares; None for one that it takes away."""
    return cast("dict[str, Parameter | None]", vars(cls).get("_declared", {}))


def _declarations(cls: type) -> dict[str, Parameter | None]:
    """Take the declarations out of the body of a class."""
    inherited: dict[str, Parameter | None] = {}
    for base in reversed(cls.__mro__[1:]):
        inherited |= _declared(base)
    found: dict[str, Parameter | None] = {}
    for name, value in list(vars(cls).items()):
        if isinstance(value, _Declaration):
            delattr(cls, name)
            if value.init:
                annotation = str(cls.__annotations__[name])
                found[name] = value.complete(name, annotation, inherited.get(name))
            else:
                found[name] = None
                setattr(cls, name, value.default)
        elif inherited.get(name) is not None:  # (a property, say, in place of a parameter)
            found[name] = None
    return found


def _ordered(cls: type) -> dict[str, Parameter]:
    """Return all parameters of a class in the order of its signature."""
    found: dict[str, Parameter | None] = {}
    home: dict[str, type] = {}  # the class that introduced the parameter
    for base in reversed(cls.__mro__):
        for name, one in _declared(base).items():
            found[name] = one
            home.setdefault(name, base)
    shared = list(getattr(cls, "_shared_order", ()))

    def place(one: Parameter) -> tuple[int, int]:
        if one.name in shared:
            return len(cls.__mro__), shared.index(one.name)
        return cls.__mro__.index(home[one.name]), 0

    there = [one for one in found.values() if one is not None]
    positional = [one for one in there if not one.kw_only]
    keyword = sorted((one for one in there if one.kw_only), key=place)
    return {one.name: one for one in (*positional, *keyword)}


def _constructor(cls: type) -> Callable[..., None]:
    """Compile the constructor, as `dataclasses` does, so that Python itself checks calls."""
    there = parameters_of(cls)
    positional = [f"{name}=_{name}" for name, one in there.items() if not one.kw_only]
    keyword = [f"{name}=_{name}" for name, one in there.items() if one.kw_only]
    arguments = ", ".join(["self", *positional, *(["*"] if keyword else []), *keyword])
    body = "".join(f"\n    self.{name} = {name}" for name in there) or " pass"
    scope: dict[str, Any] = {f"_{name}": one.default for name, one in there.items()}
    exec(f"def __init__({arguments}):{body}", scope)
    init: Callable[..., None] = scope["__init__"]
    init.__module__, init.__qualname__ = cls.__module__, f"{cls.__qualname__}.__init__"
    init.__annotations__ = {name: one.annotation for name, one in there.items()}
    init.__annotations__["return"] = "None"
    return init
