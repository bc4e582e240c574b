# Models
from crucial.model.additive import AdditiveRanker as AdditiveRanker
from crucial.model.file import load_model as load_model
from crucial.model.file import save_model as save_model
from crucial.model.kernel import KernelRanker as KernelRanker
from crucial.model.rank_addition import RankAdditionRanker as RankAdditionRanker
from crucial.model.ranking_trees import RankingTrees as RankingTrees
