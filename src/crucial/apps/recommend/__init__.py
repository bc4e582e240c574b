"""Recommend items to users by the ratings of other users.

``Recommender``
    Items for one user, a new one, or all of them: found by EASE or item neighbours with RankBoost
    as the last word, or ordered by RankBoost with the other users' ratings as features (Freund,
    Iyer, Schapire & Singer 2003, section 6.2).
``Ease``, ``ItemNeighbours``
    Rankers of unseen items in closed form.
``Regression``, ``NearestNeighbours``, ``VectorSimilarity``, ``Popularity``
    The rankers that the paper compares it with.

Names are imported on first use; `__init__.pyi` lists them.
"""

from __future__ import annotations

from crucial._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
