"""Rankers by name, for the command line and for experiments."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from crucial.parameters import lookup

# Where each lives: imported on first use, so that listing the names costs nothing.
RANKERS: dict[str, str] = {
    "adaboost": "crucial.rankers.adaboost:AdaBoostRanker",
    "logitboost": "crucial.rankers.regression_boosting:LogitBoost",
    "componentwise": "crucial.rankers.regression_boosting:ComponentwiseBoost",
    "bl-featurerank": "crucial.rankers.feature_rank:BLFeatureRank",
    "crank": "crucial.rankers.ranking_trees.estimators:CRank",
    "crank-forest": "crucial.rankers.ranking_trees.estimators:CRankForest",
    "diffrank": "crucial.rankers.feature_rank:DiffRank",
    "featurerank": "crucial.rankers.feature_rank:FeatureRank",
    "rankboost": "crucial.rankers.rankboost:RankBoost",
    "rankboost-plus": "crucial.rankers.rankboost_plus:RankBoostPlus",
    "infinite-push": "crucial.rankers.linear.estimators:InfinitePush",
    "ranknet": "crucial.rankers.rank_net:RankNet",
    "listmle": "crucial.rankers.linear.estimators:ListMLE",
    "rankcosine": "crucial.rankers.linear.estimators:RankCosine",
    "rankrls": "crucial.rankers.linear.estimators:RankRLS",
    "ranking-svm": "crucial.rankers.linear.estimators:RankingSVM",
    "rankover": "crucial.rankers.ranking_trees.estimators:RankOver",
    "svm-map": "crucial.rankers.linear.estimators:SVMMap",
    "rsrank": "crucial.rankers.linear.estimators:RSRank",
    "sparse-ranking-svm": "crucial.rankers.linear.estimators:SparseRankingSVM",
    "pnorm-push": "crucial.rankers.rankboost:PNormPush",
    "gradient": "crucial.rankers.gradient:GradientRanker",
    "logistic": "crucial.rankers.rankboost:LogisticRanker",
    "smooth-margin": "crucial.rankers.rankboost:SmoothMarginRanker",
    "tournament-forest": "crucial.rankers.ranking_trees.estimators:TournamentForest",
    "treerank": "crucial.rankers.ranking_trees.estimators:TreeRank",
    "treerank-aggregation": "crucial.rankers.ranking_trees.estimators:TreeRankAggregation",
    "treerank-tournament": "crucial.rankers.ranking_trees.estimators:TreeRankTournament",
    "ranking-forest": "crucial.rankers.ranking_trees.estimators:RankingForest",
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
