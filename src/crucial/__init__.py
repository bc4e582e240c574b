"""Learn one ranking from many opinions.

Names are imported on first use, so that ``import crucial`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "AdaBoostRanker": "crucial.estimators.adaboost",
    "AdditiveRanker": "crucial.model.additive",
    "BLFeatureRank": "crucial.estimators.feature_rank",
    "Bins": "crucial.data.bins",
    "Comparison": "crucial.lab.comparison",
    "CrossValidation": "crucial.lab.cross_validation_result",
    "CrucialError": "crucial.errors",
    "Dataset": "crucial.data.dataset",
    "DiffRank": "crucial.estimators.diff_rank",
    "Evaluation": "crucial.measures.evaluation",
    "Experiment": "crucial.lab.experiment",
    "ExperimentResult": "crucial.lab.experiment_result",
    "FeatureRank": "crucial.estimators.feature_rank",
    "Groups": "crucial.data.groups",
    "InfinitePush": "crucial.estimators.infinite_push",
    "Instances": "crucial.data.instances",
    "LabelFeedback": "crucial.feedback.labels",
    "LabelRanker": "crucial.estimators.label_ranker",
    "ListMLE": "crucial.estimators.list_mle",
    "LogisticRanker": "crucial.estimators.logistic",
    "Measure": "crucial.measures.base",
    "PNormPush": "crucial.estimators.pnorm_push",
    "PairFeedback": "crucial.feedback.pairs",
    "PairTable": "crucial.data.pairs",
    "Qrels": "crucial.data.trec",
    "RankAdditionRanker": "crucial.model.rank_addition",
    "RankBoost": "crucial.estimators.rankboost",
    "RankBoostPlus": "crucial.estimators.rankboost_plus",
    "RankCosine": "crucial.estimators.rank_cosine",
    "Ratings": "crucial.data.ratings",
    "Run": "crucial.data.trec",
    "SVMMap": "crucial.estimators.svm_map",
    "SmoothMarginRanker": "crucial.estimators.smooth_margin",
    "SumFeedback": "crucial.feedback.combined",
    "Task": "crucial.lab.tasks",
    "compare_runs": "crucial.lab.comparison",
    "cross_validate": "crucial.lab.cross_validation",
    "e2_trace": "crucial.inspection.e2_trace",
    "evaluate": "crucial.measures.evaluation",
    "evaluate_run": "crucial.measures.runs",
    "get_measure": "crucial.measures.names",
    "load_digits_search": "crucial.data.problems.digits",
    "load_experiment": "crucial.lab.experiment_result",
    "load_model": "crucial.model.file",
    "make_bipartite": "crucial.data.problems.synthetic",
    "make_film_club": "crucial.data.problems.synthetic",
    "make_letor": "crucial.data.problems.synthetic",
    "margins": "crucial.inspection.margins",
    "max_margin": "crucial.inspection.margins",
    "read_data": "crucial.data.reading",
    "read_folds": "crucial.lab.given_folds",
    "read_pairs": "crucial.data.pairs",
    "read_qrels": "crucial.data.trec",
    "read_ratings": "crucial.data.rating_files",
    "read_run": "crucial.data.trec",
    "read_svmlight": "crucial.data.svmlight",
    "read_table": "crucial.data.tables",
    "save_model": "crucial.model.file",
    "write_pairs": "crucial.data.pairs",
    "write_qrels": "crucial.data.trec",
    "write_run": "crucial.data.trec",
    "write_svmlight": "crucial.data.svmlight",
    "write_table": "crucial.data.tables",
}

#: Parts with public names of their own: ``crucial.inspection.why``.
_MODULES = ("bounds", "inspection")

__all__ = ["__version__", *sorted([*_HOME, *_MODULES])]

if TYPE_CHECKING:
    from crucial import bounds as bounds
    from crucial import inspection as inspection
    from crucial.data.bins import Bins as Bins
    from crucial.data.dataset import Dataset as Dataset
    from crucial.data.groups import Groups as Groups
    from crucial.data.instances import Instances as Instances
    from crucial.data.pairs import PairTable as PairTable
    from crucial.data.pairs import read_pairs as read_pairs
    from crucial.data.pairs import write_pairs as write_pairs
    from crucial.data.problems.digits import load_digits_search as load_digits_search
    from crucial.data.problems.synthetic import make_bipartite as make_bipartite
    from crucial.data.problems.synthetic import make_film_club as make_film_club
    from crucial.data.problems.synthetic import make_letor as make_letor
    from crucial.data.rating_files import read_ratings as read_ratings
    from crucial.data.ratings import Ratings as Ratings
    from crucial.data.reading import read_data as read_data
    from crucial.data.svmlight import read_svmlight as read_svmlight
    from crucial.data.svmlight import write_svmlight as write_svmlight
    from crucial.data.tables import read_table as read_table
    from crucial.data.tables import write_table as write_table
    from crucial.data.trec import Qrels as Qrels
    from crucial.data.trec import Run as Run
    from crucial.data.trec import read_qrels as read_qrels
    from crucial.data.trec import read_run as read_run
    from crucial.data.trec import write_qrels as write_qrels
    from crucial.data.trec import write_run as write_run
    from crucial.errors import CrucialError as CrucialError
    from crucial.estimators.adaboost import AdaBoostRanker as AdaBoostRanker
    from crucial.estimators.diff_rank import DiffRank as DiffRank
    from crucial.estimators.feature_rank import BLFeatureRank as BLFeatureRank
    from crucial.estimators.feature_rank import FeatureRank as FeatureRank
    from crucial.estimators.infinite_push import InfinitePush as InfinitePush
    from crucial.estimators.label_ranker import LabelRanker as LabelRanker
    from crucial.estimators.list_mle import ListMLE as ListMLE
    from crucial.estimators.logistic import LogisticRanker as LogisticRanker
    from crucial.estimators.pnorm_push import PNormPush as PNormPush
    from crucial.estimators.rank_cosine import RankCosine as RankCosine
    from crucial.estimators.rankboost import RankBoost as RankBoost
    from crucial.estimators.rankboost_plus import RankBoostPlus as RankBoostPlus
    from crucial.estimators.smooth_margin import SmoothMarginRanker as SmoothMarginRanker
    from crucial.estimators.svm_map import SVMMap as SVMMap
    from crucial.feedback.combined import SumFeedback as SumFeedback
    from crucial.feedback.labels import LabelFeedback as LabelFeedback
    from crucial.feedback.pairs import PairFeedback as PairFeedback
    from crucial.inspection.e2_trace import e2_trace as e2_trace
    from crucial.inspection.margins import margins as margins
    from crucial.inspection.margins import max_margin as max_margin
    from crucial.lab.comparison import Comparison as Comparison
    from crucial.lab.comparison import compare_runs as compare_runs
    from crucial.lab.cross_validation import cross_validate as cross_validate
    from crucial.lab.cross_validation_result import CrossValidation as CrossValidation
    from crucial.lab.experiment import Experiment as Experiment
    from crucial.lab.experiment_result import ExperimentResult as ExperimentResult
    from crucial.lab.experiment_result import load_experiment as load_experiment
    from crucial.lab.given_folds import read_folds as read_folds
    from crucial.lab.tasks import Task as Task
    from crucial.measures.base import Measure as Measure
    from crucial.measures.evaluation import Evaluation as Evaluation
    from crucial.measures.evaluation import evaluate as evaluate
    from crucial.measures.names import get_measure as get_measure
    from crucial.measures.runs import evaluate_run as evaluate_run
    from crucial.model.additive import AdditiveRanker as AdditiveRanker
    from crucial.model.file import load_model as load_model
    from crucial.model.file import save_model as save_model
    from crucial.model.rank_addition import RankAdditionRanker as RankAdditionRanker


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"crucial.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'crucial' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*_HOME, *_MODULES, *(name for name in globals() if name.startswith("__"))})
