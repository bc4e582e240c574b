"""Attributes under their old names, which still work for one release with a warning."""

from __future__ import annotations

import warnings

__all__ = ["renamed"]


def renamed(old: str, new: str) -> property:
    """Return a property that warns and passes on to the attribute ``new``."""

    def passed_on(self: object) -> object:
        warnings.warn(
            f"{type(self).__name__}.{old} is deprecated; use {new}.",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(self, new)

    return property(passed_on, doc=f"Deprecated: use ``{new}``.")
