"""Write the docstring of a class from its prose and its declared parameters."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable

from crucial.parameters.rules import quoted

__all__ = ["compose", "entry"]

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
    entries = re.split(r"\n(?=\S)", sections.get("Attributes", ""))
    cls._documented = {one.split(" :")[0]: one for one in entries if one}  # type: ignore[attr-defined]
    written = {
        "Parameters": "\n".join(parameters),
        "Attributes": "\n".join(_attributes(cls)),
    }
    parts = [
        f"{title}\n{'-' * len(title)}\n{text}"
        for title, text in (written | sections | written).items()
        if text
    ]
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
