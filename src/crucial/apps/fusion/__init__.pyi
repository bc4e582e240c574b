from crucial.apps.fusion.comparison import compare_fusions as compare_fusions
from crucial.apps.fusion.comparison_result import FusionComparison as FusionComparison
from crucial.apps.fusion.learning import learn_fusion as learn_fusion
from crucial.apps.fusion.methods import METHODS as METHODS
from crucial.apps.fusion.methods import fuse as fuse
from crucial.apps.fusion.pool import Pool as Pool
from crucial.apps.fusion.ranker import FusionRanker as FusionRanker
