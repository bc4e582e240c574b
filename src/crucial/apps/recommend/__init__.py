"""Recommend items to users by the opinions of other users.

``Recommender``
    RankBoost with the other users' ratings as features (Freund, Iyer, Schapire & Singer 2003,
    section 6.2), for one user, a new one, or all of them.
``Regression``, ``NearestNeighbours``, ``VectorSimilarity``, ``Popularity``
    What the paper holds it against, as rankers.

Names are imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "METHODS": "crucial.apps.recommend.taste",
    "NearestNeighbours": "crucial.apps.recommend.comparators",
    "Pick": "crucial.apps.recommend.recommender",
    "Popularity": "crucial.apps.recommend.comparators",
    "Reason": "crucial.apps.recommend.reasons",
    "Recommendations": "crucial.apps.recommend.recommender",
    "Recommender": "crucial.apps.recommend.recommender",
    "Regression": "crucial.apps.recommend.comparators",
    "VectorSimilarity": "crucial.apps.recommend.comparators",
}

__all__ = sorted(_HOME)

if TYPE_CHECKING:
    from crucial.apps.recommend.comparators import NearestNeighbours as NearestNeighbours
    from crucial.apps.recommend.comparators import Popularity as Popularity
    from crucial.apps.recommend.comparators import Regression as Regression
    from crucial.apps.recommend.comparators import VectorSimilarity as VectorSimilarity
    from crucial.apps.recommend.reasons import Reason as Reason
    from crucial.apps.recommend.recommender import Pick as Pick
    from crucial.apps.recommend.recommender import Recommendations as Recommendations
    from crucial.apps.recommend.recommender import Recommender as Recommender
    from crucial.apps.recommend.taste import METHODS as METHODS


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'crucial.apps.recommend' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*_HOME, *(name for name in globals() if name.startswith("__"))})
