"""Inspect a ranker: compute a result that has only data, then print or draw it.

``shapes``
    The step function that each feature adds, with the share of the data on each step.
``importances``
    How much each feature matters: by weight, by drop in loss, by permutation.
``why``, ``contributions``
    Why one item ranks above another; what the score of one is made of.
``learning_curve``
    Bounds, risks and measures round by round.
``roc_curve``, ``gain_curve``, ``profit_curve``
    Curves of scores against two labels or amounts.
``calibration_curve``
    How often rows are good beside how often they should be.
``iroc_curve``, ``roc_surface``
    The same for continuous labels and for three classes.
``margins``, ``max_margin``, ``class_margins``
    How confidently pairs are ordered.
``training_bound``, ``margin_bound``, ``vc_bound``, ``finite_class_bound``
    The papers' guarantees.
``scorecard``
    Integer points per bin of each feature, scaled to odds; reason codes; a page to print.
``report``
    All of it on one page of HTML.

Results can be printed and have ``to_frame()``, which notebooks show; most have ``plot()``.
Names are imported on first use; `__init__.pyi` lists them.
"""

from __future__ import annotations

from crucial._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
