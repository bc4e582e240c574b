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
Names are imported on first use; `__init__.pyi` lists them.
"""

from __future__ import annotations

from crucial._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
