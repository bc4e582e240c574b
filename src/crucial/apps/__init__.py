"""Applications: fuse search results, compare items in pairs."""

from __future__ import annotations

from crucial._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
