"""The same model from rows in parts: in this process, or on the workers of a Dask cluster.

``DaskRanker``
    Fits `RankBoost` and `GradientRanker`; ``DaskRankBoost`` and ``DaskGradientRanker`` are these
    by name.
``predict_parts``, ``rank_parts``, ``evaluate_parts``
    Score, rank and measure Dask collections and files, lazily.

Names are imported on first use; `__init__.pyi` lists them. Needs ``pip install crucial[dask]``.
"""

from __future__ import annotations

from crucial._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
