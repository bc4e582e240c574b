"""Rankers of other packages, for comparison; every peer by its name.

All fit as ours do: rows in any order, queries by id, no group sizes. Other packages are
imported when one of theirs is fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.errors import DataError, MissingExtraError
from crucial.feedback.labels import check_labels
from crucial.lab.baselines import BestFeature, RandomOrder
from crucial.types import Floats, Ints

__all__ = [
    "PEERS",
    "CatBoostPeer",
    "LightGBMPeer",
    "XGBoostPeer",
    "make_peer",
]


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError(
            f"this ranker needs {name}, which is not installed: pip install {name}."
        ) from error


def _by_query(X: Any, y: Any, qid: Any) -> tuple[Any, Floats, Groups]:
    """Rows and labels in the order of their queries, which other packages want contiguous."""
    table = Instances.from_input(X).table
    labels = check_labels(y, int(table.shape[0]))
    groups = Groups.from_qid(qid, len(labels))
    if hasattr(table, "tocsr"):
        table = table.tocsr()
    return table[groups.order], labels[groups.order], groups


def _rows_of(X: Any) -> Any:
    table = Instances.from_input(X).table
    return table.tocsr() if hasattr(table, "tocsr") else table


def _whole_labels(name: str, y: Floats, highest: int) -> Ints:
    bad = (y < 0) | (y > highest) | (y != np.floor(y))
    if bad.any():
        raise DataError(
            f"{name} needs whole labels from 0 to {highest} for this objective. Got {y[bad][0]:g}."
        )
    return y.astype(np.int64)


class LightGBMPeer(BaseEstimator):
    """LightGBM's ranker, on one thread and deterministic.

    Parameters
    ----------
    n_estimators, learning_rate, num_leaves, min_child_samples
        As LightGBM has them.
    objective : {"lambdarank", "rank_xendcg"}
    random_state : int
    n_jobs : int
        Threads.
    """

    def __init__(
        self,
        n_estimators: int = 300,
        learning_rate: float = 0.1,
        num_leaves: int = 31,
        min_child_samples: int = 20,
        objective: str = "lambdarank",
        random_state: int = 0,
        n_jobs: int = 1,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.min_child_samples = min_child_samples
        self.objective = objective
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, *, qid: Any = None) -> Self:
        """Learn from labels within queries."""
        lightgbm = _package("lightgbm")
        table, labels, groups = _by_query(X, y, qid)
        grades = _whole_labels("LightGBM", labels, 30)
        settings = {
            "objective": self.objective,
            "learning_rate": self.learning_rate,
            "num_leaves": self.num_leaves,
            "min_data_in_leaf": self.min_child_samples,
            "seed": self.random_state,
            "num_threads": self.n_jobs or 1,
            "deterministic": True,
            "force_col_wise": True,
            "verbosity": -1,
        }
        data = lightgbm.Dataset(table, grades, group=groups.sizes, free_raw_data=True)
        self.booster_ = lightgbm.train(settings, data, num_boost_round=self.n_estimators)
        return self

    def predict(self, X: Any) -> Floats:
        """Scores after all rounds."""
        return np.asarray(self.booster_.predict(_rows_of(X), num_threads=self.n_jobs or 1))

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Scores after every round."""
        table = _rows_of(X)
        total = np.zeros(table.shape[0])
        for number in range(self.booster_.current_iteration()):
            more = self.booster_.predict(
                table, start_iteration=number, num_iteration=1, num_threads=self.n_jobs or 1
            )
            total = total + np.asarray(more, np.float64)
            yield total


class XGBoostPeer(BaseEstimator):
    """XGBoost's ranker, on one thread.

    Parameters
    ----------
    n_estimators, learning_rate, max_depth, min_child_weight
        As XGBoost has them.
    objective : {"rank:pairwise", "rank:ndcg", "rank:map"}
    random_state : int
    n_jobs : int
        Threads.
    """

    def __init__(
        self,
        n_estimators: int = 300,
        learning_rate: float = 0.1,
        max_depth: int = 6,
        min_child_weight: float = 1.0,
        objective: str = "rank:pairwise",
        random_state: int = 0,
        n_jobs: int = 1,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_child_weight = min_child_weight
        self.objective = objective
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, *, qid: Any = None) -> Self:
        """Learn from labels within queries."""
        xgboost = _package("xgboost")
        table, labels, groups = _by_query(X, y, qid)
        if self.objective != "rank:pairwise":
            _whole_labels("XGBoost", labels, 31)
        settings = {
            "objective": self.objective,
            "eta": self.learning_rate,
            "max_depth": self.max_depth,
            "min_child_weight": self.min_child_weight,
            "seed": self.random_state,
            "nthread": self.n_jobs or 1,
            "base_score": 0.0,
            "verbosity": 0,
        }
        if self.objective == "rank:pairwise":
            settings["ndcg_exp_gain"] = False  # (labels above 31 or below 1 are fine then)
        codes = np.repeat(np.arange(groups.n_groups), groups.sizes)
        data = xgboost.DMatrix(table, labels, qid=codes, nthread=self.n_jobs or 1)
        self.booster_ = xgboost.train(settings, data, num_boost_round=self.n_estimators)
        return self

    def _margins(self, data: Any, begin: int, end: int) -> Floats:
        found = self.booster_.predict(data, output_margin=True, iteration_range=(begin, end))
        return np.asarray(found, np.float64)

    def predict(self, X: Any) -> Floats:
        """Scores after all rounds."""
        xgboost = _package("xgboost")
        rounds = self.booster_.num_boosted_rounds()
        return self._margins(xgboost.DMatrix(_rows_of(X), nthread=self.n_jobs or 1), 0, rounds)

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Scores after every round."""
        xgboost = _package("xgboost")
        data = xgboost.DMatrix(_rows_of(X), nthread=self.n_jobs or 1)
        total = np.zeros(data.num_row())
        for number in range(self.booster_.num_boosted_rounds()):
            total = total + self._margins(data, number, number + 1)
            yield total


class CatBoostPeer(BaseEstimator):
    """CatBoost's ranker, on one thread.

    Parameters
    ----------
    n_estimators, learning_rate, depth
        As CatBoost has them.
    objective : str
        Its loss, such as "YetiRank" or "PairLogit".
    random_state : int
    n_jobs : int
        Threads.
    """

    def __init__(
        self,
        n_estimators: int = 300,
        learning_rate: float = 0.1,
        depth: int = 6,
        objective: str = "YetiRank",
        random_state: int = 0,
        n_jobs: int = 1,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.depth = depth
        self.objective = objective
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, *, qid: Any = None) -> Self:
        """Learn from labels within queries."""
        catboost = _package("catboost")
        table, labels, groups = _by_query(X, y, qid)
        self.ranker_ = catboost.CatBoostRanker(
            iterations=self.n_estimators,
            learning_rate=self.learning_rate,
            depth=self.depth,
            loss_function=self.objective,
            random_seed=self.random_state,
            thread_count=self.n_jobs or 1,
            allow_writing_files=False,
            verbose=False,
        )
        codes = np.repeat(np.arange(groups.n_groups), groups.sizes)
        self.ranker_.fit(table, labels, group_id=codes)
        return self

    def predict(self, X: Any) -> Floats:
        """Scores after all rounds."""
        return np.asarray(self.ranker_.predict(_rows_of(X)), np.float64)

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Scores after every round."""
        for scores in self.ranker_.staged_predict(_rows_of(X)):
            yield np.array(scores, np.float64)


def _filled(estimator: Any) -> Any:
    """Behind what linear models need: no NaN, one scale."""
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler(), estimator
    )


def _ridge() -> Any:
    from sklearn.linear_model import Ridge

    return _filled(Ridge())


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return _filled(LogisticRegression(max_iter=1000))


def _random_forest() -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(100, min_samples_leaf=5, random_state=0, n_jobs=1)


def _gradient_boosting() -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(early_stopping=False, random_state=0)


#: By name: what makes it, and a small grid to tune it by.
PEERS: dict[str, tuple[Callable[[], Any], dict[str, list[Any]]]] = {
    "lightgbm": (LightGBMPeer, {"num_leaves": [2, 7, 31], "learning_rate": [0.03, 0.1]}),
    "lightgbm-xendcg": (
        lambda: LightGBMPeer(objective="rank_xendcg"),
        {"num_leaves": [2, 7, 31], "learning_rate": [0.03, 0.1]},
    ),
    "xgboost": (XGBoostPeer, {"max_depth": [1, 3, 6], "learning_rate": [0.03, 0.1]}),
    "catboost": (CatBoostPeer, {"depth": [1, 3, 6], "learning_rate": [0.03, 0.1]}),
    "ridge": (_ridge, {"ridge__alpha": [0.1, 1.0, 10.0, 100.0]}),
    "logistic-regression": (_logistic, {"logisticregression__C": [0.01, 0.1, 1.0, 10.0]}),
    "random-forest": (_random_forest, {"min_samples_leaf": [1, 5, 20]}),
    "hist-gradient-boosting": (
        _gradient_boosting,
        {"max_leaf_nodes": [3, 15, 31], "learning_rate": [0.03, 0.1]},
    ),
    "best-feature": (BestFeature, {}),
    "random": (RandomOrder, {}),
}

#: What has to be installed for which.
PACKAGES = {
    "lightgbm": "lightgbm",
    "lightgbm-xendcg": "lightgbm",
    "xgboost": "xgboost",
    "catboost": "catboost",
}


def make_peer(name: str) -> Any:
    """A peer by name, ready to be fitted.

    Raises
    ------
    MissingExtraError
        Its package is not installed; the message names it.
    """
    if name in PACKAGES:
        _package(PACKAGES[name])
    return PEERS[name][0]()
