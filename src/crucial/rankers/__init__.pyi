# Boosting
from crucial.rankers.gradient import GradientRanker as GradientRanker
from crucial.rankers.rankboost import RankBoost as RankBoost
from crucial.rankers.rankboost_plus import RankBoostPlus as RankBoostPlus
from crucial.rankers.rankboost import SmoothMarginRanker as SmoothMarginRanker
from crucial.rankers.rankboost import PNormPush as PNormPush
from crucial.rankers.rankboost import LogisticRanker as LogisticRanker
from crucial.rankers.rankboost import AdaBoostRanker as AdaBoostRanker
from crucial.rankers.regression_boosting import LogitBoost as LogitBoost
from crucial.rankers.regression_boosting import ComponentwiseBoost as ComponentwiseBoost

# Linear and kernel rankers, nets
from crucial.rankers.linear.estimators import RankingSVM as RankingSVM
from crucial.rankers.linear.estimators import RankRLS as RankRLS
from crucial.rankers.linear.estimators import ListMLE as ListMLE
from crucial.rankers.linear.estimators import RankCosine as RankCosine
from crucial.rankers.linear.estimators import RSRank as RSRank
from crucial.rankers.linear.estimators import SVMMap as SVMMap
from crucial.rankers.linear.estimators import InfinitePush as InfinitePush
from crucial.rankers.rank_net import RankNet as RankNet

# Ranking trees
from crucial.rankers.ranking_trees.estimators import TreeRank as TreeRank
from crucial.rankers.ranking_trees.estimators import RankingForest as RankingForest
from crucial.rankers.ranking_trees.rank_over import RankOver as RankOver

# Rankings of features inside queries
from crucial.rankers.feature_rank import FeatureRank as FeatureRank
from crucial.rankers.feature_rank import DiffRank as DiffRank

# Rankings of labels; features chosen by ranking
from crucial.rankers.label_ranker import LabelRanker as LabelRanker
from crucial.rankers.select import SelectByRanking as SelectByRanking
