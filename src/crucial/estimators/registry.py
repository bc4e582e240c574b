"""Rankers by name, for the command line and for experiments."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from crucial.parameters import lookup

__all__ = ["RANKERS", "ranker_class"]

# Where each lives: imported on first use, so that listing the names costs nothing.
RANKERS: dict[str, str] = {
    "adaboost": "crucial.estimators.adaboost:AdaBoostRanker",
    "logitboost": "crucial.estimators.logit_boost:LogitBoost",
    "componentwise": "crucial.estimators.componentwise:ComponentwiseBoost",
    "bl-featurerank": "crucial.estimators.feature_rank:BLFeatureRank",
    "crank": "crucial.estimators.crank:CRank",
    "crank-forest": "crucial.estimators.crank:CRankForest",
    "diffrank": "crucial.estimators.diff_rank:DiffRank",
    "featurerank": "crucial.estimators.feature_rank:FeatureRank",
    "rankboost": "crucial.estimators.rankboost:RankBoost",
    "rankboost-plus": "crucial.estimators.rankboost_plus:RankBoostPlus",
    "infinite-push": "crucial.estimators.infinite_push:InfinitePush",
    "ranknet": "crucial.estimators.rank_net:RankNet",
    "listmle": "crucial.estimators.list_mle:ListMLE",
    "rankcosine": "crucial.estimators.rank_cosine:RankCosine",
    "rankrls": "crucial.estimators.rank_rls:RankRLS",
    "ranking-svm": "crucial.estimators.ranking_svm:RankingSVM",
    "rankover": "crucial.estimators.rank_over:RankOver",
    "svm-map": "crucial.estimators.svm_map:SVMMap",
    "rsrank": "crucial.estimators.rs_rank:RSRank",
    "sparse-ranking-svm": "crucial.estimators.sparse:SparseRankingSVM",
    "pnorm-push": "crucial.estimators.pnorm_push:PNormPush",
    "gradient": "crucial.estimators.gradient:GradientRanker",
    "logistic": "crucial.estimators.logistic:LogisticRanker",
    "smooth-margin": "crucial.estimators.smooth_margin:SmoothMarginRanker",
    "tournament-forest": "crucial.estimators.tournament:TournamentForest",
    "treerank": "crucial.estimators.tree_rank:TreeRank",
    "treerank-aggregation": "crucial.estimators.tournament:TreeRankAggregation",
    "treerank-tournament": "crucial.estimators.tournament:TreeRankTournament",
    "ranking-forest": "crucial.estimators.ranking_forest:RankingForest",
}


def ranker_class(name: str) -> type[Any]:
    """Return the estimator of a name.

    Examples
    --------
    >>> ranker_class("rankboost").__name__
    'RankBoost'
    """
    module, _, attribute = lookup(RANKERS, name, "ranker").partition(":")
    found: type[Any] = getattr(import_module(module), attribute)
    return found
