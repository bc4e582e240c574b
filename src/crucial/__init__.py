"""Learn one ranking from many opinions.

Names are imported on first use, so that ``import crucial`` costs next to nothing.
"""

from __future__ import annotations

from crucial._lazy import attach

__version__ = "0.1.0"

__getattr__, __dir__, _names = attach(__name__, __file__)
__all__ = ["__version__", *_names]
