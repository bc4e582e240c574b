"""Fuse the results of several systems into one ranking.

``fuse``
    Without judgements: reciprocal ranks, sums of scores, votes.
``learn_fusion``
    With judgements: RankBoost on the positions in every run (Freund, Iyer, Schapire & Singer
    2003, section 6.1), its settings chosen by cross-validation over topics.
``FusionRanker``
    What was learned; fuses the runs of new topics, saves and loads.
``compare_fusions``
    Every run, every fusion and the learned one on topics that were held out.

Names are imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "FusionComparison": "crucial.apps.fusion.comparison",
    "FusionRanker": "crucial.apps.fusion.ranker",
    "METHODS": "crucial.apps.fusion.methods",
    "Pool": "crucial.apps.fusion.pool",
    "compare_fusions": "crucial.apps.fusion.comparison",
    "fuse": "crucial.apps.fusion.unsupervised",
    "learn_fusion": "crucial.apps.fusion.learning",
}

__all__ = sorted(_HOME)

if TYPE_CHECKING:
    from crucial.apps.fusion.comparison import FusionComparison as FusionComparison
    from crucial.apps.fusion.comparison import compare_fusions as compare_fusions
    from crucial.apps.fusion.learning import learn_fusion as learn_fusion
    from crucial.apps.fusion.methods import METHODS as METHODS
    from crucial.apps.fusion.pool import Pool as Pool
    from crucial.apps.fusion.ranker import FusionRanker as FusionRanker
    from crucial.apps.fusion.unsupervised import fuse as fuse


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'crucial.apps.fusion' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*_HOME, *(name for name in globals() if name.startswith("__"))})
