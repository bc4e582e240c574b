# Choose and validate
from crucial.lab.auto_ranker import AutoRanker as AutoRanker
from crucial.lab.auto_candidates import TriedRankers as TriedRankers
from crucial.lab.cross_validation import cross_validate as cross_validate
from crucial.lab.cross_validation import CrossValidation as CrossValidation
from crucial.lab.cross_validation import make_scorer as make_scorer

# Comparisons
from crucial.lab.comparison import compare_rankings as compare_rankings
from crucial.lab.comparison import compare_runs as compare_runs
from crucial.lab.comparison import Comparison as Comparison

# Experiments
from crucial.lab.experiment import Experiment as Experiment
from crucial.lab.results import ExperimentResult as ExperimentResult
from crucial.lab.results import load_experiment as load_experiment
from crucial.lab.protocols import Task as Task
from crucial.lab.protocols import read_folds as read_folds

# Features
from crucial.lab.selection import stability_selection as stability_selection
from crucial.lab.selection import StabilitySelection as StabilitySelection
