"""The rankers and settings that `crucial.AutoRanker` chooses from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from crucial.data.groups import Groups
from crucial.rankers.gradient import GradientRanker
from crucial.rankers.linear.estimators import ListMLE, RankRLS
from crucial.rankers.rankboost import RankBoost
from crucial.types import Floats

__all__ = ["KINDS", "Facts", "RankerCandidate", "candidates_for"]

#: Kinds of rankers, the simplest first: a weighted sum of the features, a sum of functions of one
#: feature each, of one and two features, and trees without limits.
KINDS = ("linear", "stumps", "pairs", "trees")

#: Labels above this are no exponents: 2^y - 1 would drown all other rows.
_LARGEST_GRADE = 10.0
#: ListMLE sorts every query in every step: beyond this many cells of X it takes too long.
_LIST_CELLS = 400_000
#: Without queries, logistic pairs of more rows take too long: all are compared.
_ROWS_FOR_LOGISTIC = 2_000
#: Times as many rounds, where a ranker still gains at its last one.
_LONGER = 3
#: Rankers of more rounds do not get them.
_LONG = 400


@dataclass(frozen=True)
class Facts:
    """What decides which rankers may suit the data.

    Attributes
    ----------
    n_rows, n_features : int
    n_queries : int or None
        Queries with different labels; None where there are no queries.
    n_labels : int
        Different labels.
    lowest, highest : float
        Extreme labels.
    """

    n_rows: int
    n_features: int
    n_queries: int | None
    n_labels: int
    lowest: float
    highest: float

    @classmethod
    def of(cls, n_features: int, y: Floats, groups: Groups, has_qid: bool) -> Facts:
        """Look at the labels of the rows."""
        queries = int((~groups.one_valued(y)).sum()) if has_qid else None
        values = np.unique(y)
        return cls(len(y), n_features, queries, len(values), values[0], values[-1])

    @property
    def has_gains(self) -> bool:
        """Whether labels can be gains: none below 0."""
        return self.lowest >= 0.0

    @property
    def has_large_gains(self) -> bool:
        """Whether gains are large enough to be seen beside XE-NDCG's noise, which is up to 1."""
        return self.has_gains and self.highest >= 1.0

    @property
    def has_grades(self) -> bool:
        """Whether 2^y - 1 is a gain that tells more than y."""
        return self.has_gains and self.n_labels > 2 and 1.0 < self.highest <= _LARGEST_GRADE


@dataclass(frozen=True, eq=False)
class RankerCandidate:
    """A ranker with its settings.

    Attributes
    ----------
    name : str
    kind : str
        One of `KINDS`.
    family : str
        Its loss, or algorithm. An average has one ranker of every family.
    estimator : object
        Unfitted.
    cost : float
        Time of a fit, relative to others: that of one round per row and feature.
    members : tuple of str
        What an average is made of; empty for a single ranker.
    shares : tuple of float
        Share of every member.
    larger : tuple of Candidate
        The same with larger trees, to try where this one gains by its size.
    """

    name: str
    kind: str
    family: str
    estimator: Any
    cost: float = 1.0
    members: tuple[str, ...] = ()
    shares: tuple[float, ...] = ()
    larger: tuple[RankerCandidate, ...] = ()

    @property
    def longer(self) -> RankerCandidate | None:
        """The same with more rounds; None for one that has many, or chooses them itself."""
        if self.rounds is None or self.rounds > _LONG:
            return None
        rounds = _LONGER * self.rounds
        estimator = clone(self.estimator).set_params(n_estimators=rounds)
        return replace(self, name=f"{self.name}, {rounds} rounds", estimator=estimator, larger=())

    @property
    def rounds(self) -> int | None:
        """Number of rounds; None for a ranker that has none, or bags that choose their own."""
        if getattr(self.estimator, "n_bags", 1) > 1:
            return None
        found: int | None = getattr(self.estimator, "n_estimators", None)
        return found


#: Time of a round under each loss, beside that of the histograms.
_LOSS_COST = {
    "query_rmse": 1.0,
    "xendcg": 2.0,
    "softmax": 1.5,
    "exponential": 2.0,
    "logistic": 3.0,
    "yeti": 4.0,
    "lambda": 4.0,
}
#: Few tests, each by all rows, need no least weight of a leaf; samples of rows steady them.
_SYMMETRIC: dict[str, Any] = {
    "symmetric": True, "min_rows": 1.0, "l2": 3.0, "subsample_rows": 0.8,
}  # fmt: skip
_SHAPES: dict[str, tuple[str, str, int, dict[str, Any]]] = {
    "stumps": ("stumps", "stumps", 400, {"weak": "stump"}),
    "pairs": ("pairs, 4 leaves", "pairs", 300, {"max_leaves": 4, "interactions": 2}),
    "small": ("4 leaves", "trees", 300, {"max_leaves": 4}),
    "middle": ("8 leaves", "trees", 300, {"max_leaves": 8}),
    "large": ("31 leaves", "trees", 300, {"max_leaves": 31}),
    "huge": ("127 leaves", "trees", 300, {"max_leaves": 127}),
    "large pairs": ("pairs, 16 leaves", "pairs", 300, {"max_leaves": 16, "interactions": 2}),
    "symmetric": ("16 leaves, symmetric", "trees", 300, {"max_leaves": 16, **_SYMMETRIC}),
    "large symmetric": ("64 leaves, symmetric", "trees", 300, {"max_leaves": 64, **_SYMMETRIC}),
    "huge symmetric": ("256 leaves, symmetric", "trees", 300, {"max_leaves": 256, **_SYMMETRIC}),
}
_LARGER: dict[str, tuple[str, ...]] = {
    "pairs": ("large pairs",),
    "small": ("middle",),
    "middle": ("symmetric", "large"),
    "large": ("huge",),
    "symmetric": ("large symmetric",),
    "large symmetric": ("huge symmetric",),
}


def _boosted(loss: str, shape: str, family: str = "", **more: Any) -> RankerCandidate:
    """Return gradient boosting under a loss with trees of a shape; its family is the loss."""
    text, kind, rounds, settings = _SHAPES[shape]
    name = ", ".join([loss, text, *(f"{key} {value}" for key, value in more.items())])
    if loss in ("lambda", "xendcg"):  # (their curvature is that of few rows: no more is added)
        settings = {"l2": 0.0, **settings}
    estimator = GradientRanker(rounds, loss=loss, **settings, **more)
    larger = tuple(_boosted(loss, one, family, **more) for one in _LARGER.get(shape, ()))
    return RankerCandidate(name, kind, family or loss, estimator, _LOSS_COST[loss], larger=larger)


def _bagged(loss: str, shape: str) -> RankerCandidate:
    """Return the average of ten runs, each on other queries, with rounds chosen by the others."""
    text, kind, _, settings = _SHAPES[shape]
    estimator = GradientRanker(200, loss=loss, n_bags=10, early_stopping_rounds=30, **settings)
    cost = 1200 * _LOSS_COST[loss]  # (rounds of all bags, as it counts as a ranker without any)
    return RankerCandidate(f"{loss}, {text}, 10 bags", kind, "bags", estimator, cost)


def _noisy() -> RankerCandidate:
    """Return larger trees, each grown on other rows and features: a family of its own."""
    estimator = GradientRanker(
        200, max_leaves=31, max_depth=6, l2=3.0, min_rows=1.0, subsample_rows=0.8, max_features=0.3
    )
    return RankerCandidate("query_rmse, 31 leaves, sampled", "trees", "sampled", estimator, 2.0)


def _with_queries(facts: Facts) -> list[RankerCandidate]:
    """Return candidates for labels in queries: trees and stumps of every loss, then the rest.

    Those that win most often come first. An average gains more from another loss than from
    another shape of trees under the same; larger trees are tried where smaller ones gain by their
    size (`crucial.lab.auto.climb`).
    """
    small = facts.n_rows * facts.n_features <= _LIST_CELLS
    gains, large = facts.has_gains, facts.has_large_gains
    gain: dict[str, Any] = {"gain": "exp"} if facts.has_grades else {}
    wanted = [
        (True, _boosted("query_rmse", "stumps")),
        (True, _boosted("query_rmse", "symmetric", "symmetric")),
        (True, _boosted("logistic", "symmetric", **gain)),
        (True, _boosted("query_rmse", "pairs")),
        (True, _linear(RankRLS())),
        (gains, _boosted("yeti", "symmetric")),
        (True, _boosted("logistic", "stumps", **gain)),
        (True, _bagged("query_rmse", "middle")),
        (True, _boosted("query_rmse", "small")),
        (True, _bagged("query_rmse", "stumps")),
        (True, _noisy()),
        (gains, _boosted("lambda", "symmetric")),
        (large, _boosted("xendcg", "small")),
        (small, _linear(ListMLE(), 30.0)),
        (True, _boosted("exponential", "symmetric", **gain)),
        (True, _boosted("query_rmse", "middle")),
        (True, _boosted("logistic", "small", **gain)),
        (large, _boosted("xendcg", "symmetric")),
        (large, _boosted("xendcg", "stumps")),
        (True, RankerCandidate("RankBoost", "stumps", "RankBoost", RankBoost(300, **gain))),
        (gains, _boosted("yeti", "stumps")),
        (gains, _boosted("lambda", "stumps")),
        (True, _boosted("exponential", "stumps", **gain)),
        (gains, _boosted("yeti", "small")),
        (True, _boosted("logistic", "pairs", **gain)),
        (gains, _boosted("yeti", "pairs")),
        (gains, _boosted("lambda", "small")),
        (large, _boosted("xendcg", "pairs")),
        (True, _boosted("exponential", "small", **gain)),
        (True, _boosted("exponential", "pairs", **gain)),
        (gains, _boosted("softmax", "small")),
        (gains, _boosted("lambda", "pairs")),
    ]
    return [one for suits, one in wanted if suits]


def _without_queries(facts: Facts) -> list[RankerCandidate]:
    """Return candidates for rows that are all compared, those that win most often first."""
    few = facts.n_rows <= _ROWS_FOR_LOGISTIC
    wanted = [
        (few, _boosted("logistic", "stumps")),
        (few, _boosted("logistic", "small")),
        (True, _boosted("exponential", "middle")),
        (True, _boosted("query_rmse", "middle")),
        (True, _linear(RankRLS())),
        (few, _bagged("logistic", "small")),
        (few, _boosted("logistic", "pairs")),
        (few, _boosted("logistic", "symmetric")),
        (True, _boosted("query_rmse", "symmetric", "symmetric")),
        (not few, _boosted("exponential", "pairs")),
        (not few, _boosted("exponential", "stumps")),
        (True, RankerCandidate("RankBoost", "stumps", "RankBoost", RankBoost(300))),
        (True, _boosted("query_rmse", "stumps")),
        (True, _boosted("query_rmse", "pairs")),
        (few, _boosted("exponential", "stumps")),
        (few, _boosted("exponential", "pairs")),
        (True, _boosted("exponential", "small")),
        (True, _boosted("query_rmse", "small")),
    ]
    return [one for suits, one in wanted if suits]


def _linear(estimator: Any, cost: float = 1.0) -> RankerCandidate:
    name = type(estimator).__name__
    return RankerCandidate(name, "linear", name, estimator, cost)


def candidates_for(facts: Facts, interactions: int | None, count: int) -> list[RankerCandidate]:
    """Return the first candidates that suit the data.

    Parameters
    ----------
    facts : Facts
    interactions : 1, 2 or None
        Most features that may act together.
    count : int
        How many at most.

    Examples
    --------
    >>> facts = Facts(1000, 10, None, 2, 0.0, 1.0)
    >>> [one.name for one in candidates_for(facts, 1, 3)]
    ['logistic, stumps', 'RankRLS', 'RankBoost']
    """
    source = _without_queries(facts) if facts.n_queries is None else _with_queries(facts)
    allowed = {1: KINDS[:2], 2: KINDS[:3], None: KINDS}[interactions]
    return [one for one in source if one.kind in allowed][:count]
