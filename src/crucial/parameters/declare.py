"""Declare parameters in the body of a class, and write its constructor from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar, cast, dataclass_transform

from crucial.parameters.document import compose, entry
from crucial.parameters.rules import Rule, check

__all__ = [
    "Parameter",
    "check_parameters",
    "fixed",
    "parameter",
    "parameters_of",
    "with_parameters",
]

T = TypeVar("T")
ClassT = TypeVar("ClassT", bound=type)


@dataclass(frozen=True)
class Parameter:
    """A declared parameter.

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
        return replace(
            base,
            default=self.default,
            rule=self.rule or base.rule,
            text=base.text if self.text is None else self.text,
            annotation=annotation,
            kw_only=self.kw_only,
            grid=base.grid if self.grid is None else self.grid,
            shapes_model=base.shapes_model if self.shapes_model is None else self.shapes_model,
        )


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
    end of the signature of every class that inherits them.
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
    """Return what the body of a class declares; None for a parameter that it takes away."""
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
        if one.name in shared and home[one.name] is not cls:
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
