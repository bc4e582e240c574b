"""Look into a ranker: compute, get a result that holds only data, then draw it.

``shapes``
    The step function that every feature adds, with the share of the data on each step.
``importances``
    How much each feature matters: by weight, by drop in loss, by permutation.
``why``, ``contributions``
    Why one item stands above another; what makes up the score of one.
``learning_curve``
    Bounds, risks and measures round by round.
``centres``, ``training_paths``
    Where intervals of relevance lie on a feature; how steadily rankers learned.
``margins``, ``max_margin``
    How surely pairs are ordered.
``training_bound``, ``margin_bound``, ``vc_bound``, ``finite_class_bound``
    What the papers guarantee.
``report``
    All of it on one page of HTML that needs nothing else.

Results print, and where there is something to draw they have ``plot()`` and ``to_frame()``.
Names are imported on first use.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

_HOME = {
    "centres": "crucial.inspection.centres",
    "contributions": "crucial.inspection.explanations",
    "finite_class_bound": "crucial.inspection.bounds",
    "importances": "crucial.inspection.importance",
    "learning_curve": "crucial.inspection.curves",
    "margin_bound": "crucial.inspection.bounds",
    "margins": "crucial.inspection.margins",
    "max_margin": "crucial.inspection.margins",
    "report": "crucial.inspection.report_page",
    "shapes": "crucial.inspection.shape_functions",
    "training_bound": "crucial.inspection.bounds",
    "training_paths": "crucial.inspection.training_paths",
    "vc_bound": "crucial.inspection.bounds",
    "why": "crucial.inspection.explanations",
}

__all__ = sorted(_HOME)

if TYPE_CHECKING:
    from crucial.inspection.bounds import finite_class_bound as finite_class_bound
    from crucial.inspection.bounds import margin_bound as margin_bound
    from crucial.inspection.bounds import training_bound as training_bound
    from crucial.inspection.bounds import vc_bound as vc_bound
    from crucial.inspection.centres import centres as centres
    from crucial.inspection.curves import learning_curve as learning_curve
    from crucial.inspection.explanations import contributions as contributions
    from crucial.inspection.explanations import why as why
    from crucial.inspection.importance import importances as importances
    from crucial.inspection.margins import margins as margins
    from crucial.inspection.margins import max_margin as max_margin
    from crucial.inspection.report_page import report as report
    from crucial.inspection.shape_functions import shapes as shapes
    from crucial.inspection.training_paths import training_paths as training_paths


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
