# Rankers to begin with; all of them are in crucial.rankers
from crucial.rankers.gradient import GradientRanker as GradientRanker
from crucial.lab.auto_ranker import AutoRanker as AutoRanker
from crucial.rankers.rankboost import RankBoost as RankBoost
from crucial.rankers.rankboost_plus import RankBoostPlus as RankBoostPlus

# Read and write files
from crucial.io.tables import read_data as read_data
from crucial.io.svmlight import read_svmlight as read_svmlight
from crucial.io.svmlight import write_svmlight as write_svmlight
from crucial.io.tables import read_table as read_table
from crucial.io.writing import write_table as write_table
from crucial.io.runs import read_run as read_run
from crucial.io.runs import write_run as write_run
from crucial.io.runs import read_qrels as read_qrels
from crucial.io.runs import write_qrels as write_qrels
from crucial.io.comparisons import read_pairs as read_pairs
from crucial.io.comparisons import write_pairs as write_pairs
from crucial.io.ratings import read_ratings as read_ratings

# Data sets, runs, judgements
from crucial.data.dataset import Dataset as Dataset
from crucial.data.dataset import Run as Run
from crucial.data.dataset import Qrels as Qrels

# Measure and compare rankings
from crucial.measures.evaluation import evaluate as evaluate
from crucial.measures.evaluation import evaluate_run as evaluate_run
from crucial.lab.comparison import compare_rankings as compare_rankings
from crucial.lab.comparison import compare_runs as compare_runs
from crucial.lab.cross_validation import cross_validate as cross_validate
from crucial.lab.cross_validation import make_scorer as make_scorer
from crucial.lab.experiment import Experiment as Experiment

# Save and load models
from crucial.model.file import save_model as save_model
from crucial.model.file import load_model as load_model

# Data to try things on
from crucial.data.problems import make_letor as make_letor
from crucial.data.problems import make_bipartite as make_bipartite
from crucial.data.problems import load_digits_search as load_digits_search

# Errors
from crucial.errors import CrucialError as CrucialError

# Packages
from crucial import rankers as rankers
from crucial import inspection as inspection
from crucial import fusion as fusion
from crucial import preferences as preferences
from crucial import recommend as recommend
from crucial import lab as lab
from crucial import measures as measures
from crucial import data as data
from crucial import io as io
from crucial import feedback as feedback
from crucial import model as model
from crucial import distributed as distributed

__version__: str
