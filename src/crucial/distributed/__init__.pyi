# Rankers on a cluster
from crucial.distributed.ranker import DaskRanker as DaskRanker
from crucial.distributed.ranker import DaskRankBoost as DaskRankBoost
from crucial.distributed.ranker import DaskGradientRanker as DaskGradientRanker

# Score parts
from crucial.distributed.scoring import predict_parts as predict_parts
from crucial.distributed.scoring import rank_parts as rank_parts
from crucial.distributed.scoring import evaluate_parts as evaluate_parts
