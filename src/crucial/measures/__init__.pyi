# Measures
from crucial.measures.base import Measure as Measure
from crucial.measures.evaluation import Evaluation as Evaluation
from crucial.measures.evaluation import evaluate as evaluate
from crucial.measures.evaluation import evaluate_run as evaluate_run
from crucial.measures.names import get_measure as get_measure
