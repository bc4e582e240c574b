"""Look into a ranker: compute, get a result that holds only data, then draw it.

``shapes``
    The step function that every feature adds, with the share of the data on each step.
``importances``
    How much each feature matters: by weight, by drop in loss, by permutation.
``why``, ``contributions``
    Why one item stands above another; what makes up the score of one.
``learning_curve``
    Bounds, risks and measures round by round.
``report``
    All of it on one page of HTML that needs nothing else.

Every result has ``plot()``, ``to_frame()`` and a form to print. Names are imported on
first use.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

_HOME = {
    "contributions": "crucial.inspection.explanations",
    "importances": "crucial.inspection.importance",
    "learning_curve": "crucial.inspection.curves",
    "shapes": "crucial.inspection.shape_functions",
    "why": "crucial.inspection.explanations",
}

__all__ = sorted(_HOME)

if TYPE_CHECKING:
    from crucial.inspection.curves import learning_curve as learning_curve
    from crucial.inspection.explanations import contributions as contributions
    from crucial.inspection.explanations import why as why
    from crucial.inspection.importance import importances as importances
    from crucial.inspection.shape_functions import shapes as shapes


class _Package(ModuleType):
    """The package, in which a function may have the name of the module it lives in."""

    def __setattr__(self, name: str, value: Any) -> None:
        # (importing a module would else put it in the place of its function)
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'crucial.inspection' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*_HOME, *(name for name in globals() if name.startswith("__"))})
