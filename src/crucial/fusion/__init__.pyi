# Fuse
from crucial.fusion.rules import fuse as fuse
from crucial.fusion.learning import learn_fusion as learn_fusion
from crucial.fusion.comparison import compare_fusions as compare_fusions
from crucial.fusion.rules import METHODS as METHODS
from crucial.fusion.pool import Pool as Pool

# Results
from crucial.fusion.ranker import FusionRanker as FusionRanker
from crucial.fusion.comparison import FusionComparison as FusionComparison
from crucial.fusion.comparison import fusion_page as fusion_page
