"""Training data: instances, queries, bins, files, built-in problems.

Names are imported on first use; `__init__.pyi` lists them.
"""

from __future__ import annotations

from crucial._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
