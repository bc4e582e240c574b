"""Import public names on first use, so that ``import crucial`` costs next to nothing.

The names of a package are listed once, in the ``__init__.pyi`` beside its ``__init__.py``, where
type checkers read them too (scientific Python's SPEC 1).
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import crucial._forks  # noqa: F401  (a fork waits for imports from now on)

__all__ = ["attach"]


def attach(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package from its stub.

    Parameters
    ----------
    package : str
        ``__name__`` of the package.
    file : str
        ``__file__`` of its ``__init__.py``; the stub lies beside it.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text("utf-8"))
    home = {
        name.name: str(line.module)
        for line in stub.body
        if isinstance(line, ast.ImportFrom)
        for name in line.names
    }
    names = sorted(home)

    def __getattr__(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = home[name]
        # (a package's own submodule, or a name inside a module)
        value = None if module == package else getattr(import_module(module), name, None)
        if value is None:
            value = import_module(f"{module}.{name}")
        setattr(sys.modules[package], name, value)
        return value

    def __dir__() -> list[str]:
        return sorted({*names, *(n for n in vars(sys.modules[package]) if n.startswith("__"))})

    return __getattr__, __dir__, names
