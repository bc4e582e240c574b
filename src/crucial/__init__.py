"""Learn one ranking from many opinions.

Names are imported on first use, so that ``import crucial`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Groups": "crucial.data.groups",
}

__all__ = ["__version__", *sorted(_HOME)]

if TYPE_CHECKING:
    from crucial.data.groups import Groups as Groups


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'crucial' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
