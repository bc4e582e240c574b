"""Options of learning a fusion, and the fit of one setting."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import stdtrit

from crucial.apps.fusion.choice import Setting
from crucial.apps.fusion.methods import Fusion
from crucial.apps.fusion.normalise import NORMALISATIONS
from crucial.apps.fusion.plan import FusionPlan
from crucial.apps.fusion.pool import Pool
from crucial.errors import NoProgressWarning
from crucial.measures.base import Measure
from crucial.measures.names import get_measure
from crucial.model.additive import AdditiveRanker
from crucial.parameters import at_least, between, check, lookup, one_of, refuse
from crucial.rankers.rankboost import RankBoost
from crucial.types import Floats, Ints, Singles

__all__ = ["DEFAULT_FEATURES", "FEATURES", "MIN_QUERIES", "LearningOptions"]

#: What a fusion may learn from, simplest first.
FEATURES = {
    "reciprocal": "1 / (k + position) in each run, one weight per run",
    "positions": "minus the position in each run, as stumps",
    "positions+rrf": "positions, and the ranking by reciprocal rank fusion",
    "positions+combsum": "positions, and the ranking by the sum of scores",
    "positions+scores": "positions, and normalised scores",
    "reciprocal+scores": "1 / (k + position) and normalised scores, two weights per run",
}

#: The names in `FEATURES` that are tried unless others are named. The fewer are tried, the more
#: the best of them is worth; settled on TREC runs, learning-to-rank features used as runs, and
#: the built-in digits.
DEFAULT_FEATURES = ("reciprocal", "positions", "reciprocal+scores")

#: Number of judged queries below which nothing but reciprocal rank fusion is chosen.
MIN_QUERIES = 5

#: Confidence that the gain of a setting over reciprocal rank fusion is above its lower bound.
_CONFIDENCE = 0.9

_RULES = {
    "folds": at_least(2),
    "rounds": at_least(1),
    "random_state": at_least(0),
    "learning_rate": between(0, 1, low_open=True),
    "default_rank": one_of("learned", 0, 1),
    "balance": one_of(None, "pairs", "queries"),
    "positive": one_of(None, True, False),
}


@dataclass(frozen=True, kw_only=True)
class LearningOptions:
    """How to learn; parameters as in `learn_fusion`."""

    measure: str | Measure = "map"
    folds: int = 5
    rounds: int = 100
    features: str | Sequence[str] | None = None
    balance: str | None = "queries"
    positive: bool | None = True
    normalise: str = "min-max"
    default_rank: str | int = 0
    learning_rate: float = 0.3
    random_state: int = 0
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        for name, rule in _RULES.items():
            check("learn_fusion", name, getattr(self, name), rule)
        lookup(NORMALISATIONS, self.normalise, "normalisation")
        if not self.feature_sets:
            raise refuse("learn_fusion", "features", "one or more names, or None", self.features)
        get_measure(self.measure)

    @cached_property
    def target(self) -> Measure:
        """The measure that settings are chosen by."""
        return get_measure(self.measure)

    @cached_property
    def feature_sets(self) -> list[str]:
        """Names in `FEATURES` to choose from, simplest first."""
        if self.features is None:
            return list(DEFAULT_FEATURES)
        chosen = [self.features] if isinstance(self.features, str) else list(self.features)
        for one in chosen:
            lookup(FEATURES, one, "features")
        return [one for one in FEATURES if one in chosen]

    def settings(self) -> list[Setting]:
        """Return the settings to try, simplest first: features, balances and signs."""
        return [
            Setting(features, balance, positive, self.rounds)
            for features in self.feature_sets
            for balance in (["queries", "pairs"] if self.balance is None else [self.balance])
            for positive in ([True, False] if self.positive is None else [self.positive])
        ]

    def gain(self, values: Floats, plain: Floats) -> tuple[float, float]:
        """Return the mean gain over simpler fusion on the same queries, and its lower bound.

        The bound is one-sided, from Student's t over queries: with few of them the best of several
        settings is often the luckiest, and the bound of a lucky one is low. It is minus infinity
        for fewer than `MIN_QUERIES`.
        """
        change = (values - plain) * (1.0 if self.target.higher_is_better else -1.0)
        change = change[~np.isnan(change)]
        mean = float(change.mean()) if len(change) else 0.0
        if len(change) < MIN_QUERIES:
            return mean, -math.inf
        error = float(change.std(ddof=1)) / math.sqrt(len(change))
        return mean, mean - float(stdtrit(len(change) - 1, _CONFIDENCE)) * error

    def plan(self, pool: Pool, features: str, k: float = 60.0) -> FusionPlan:
        """Return the columns of a name in `FEATURES`."""
        kind, _, more = features.partition("+")
        extra = {
            "rrf": Fusion("rrf", k),
            "combsum": Fusion("combsum", normalise=self.normalise),
        }.get(more)
        return FusionPlan(
            pool.names,
            pool.tags,
            "positions" if kind == "positions" else "reciprocal",
            k,
            self.normalise if more == "scores" else None,
            extra,
        )

    def fit(self, table: Singles, labels: Floats, query: Ints, setting: Setting) -> AdditiveRanker:
        """Learn with one setting."""
        ranker = RankBoost(
            setting.rounds,
            self.learning_rate,
            balance=setting.balance,
            positive_weights="cumulative" if setting.positive else None,
            default_rank=self.default_rank,
            weak="stump" if setting.features.startswith("positions") else "feature",
            n_jobs=self.n_jobs,
        )
        with warnings.catch_warnings():
            # (a fusion of few features converges early, which is no reason for concern)
            warnings.simplefilter("ignore", NoProgressWarning)
            return ranker.fit(table, labels, qid=query).model_
