"""Rankers of other packages, for comparison; every peer by its name.

They are fitted like ours: rows in any order, queries by id. The other packages are imported when
they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.errors import DataError, MissingExtraError
from crucial.feedback.labels import check_labels
from crucial.lab.baselines import BestFeature, RandomOrder
from crucial.parameters import above, anything, at_least, none_or, parameter, with_parameters
from crucial.types import Floats, TableLike, VectorLike

if TYPE_CHECKING:
    from crucial.lab.adapter import Estimator

__all__ = ["PEERS", "CatBoostPeer", "LightGBMPeer", "XGBoostPeer", "make_peer"]


def _package(name: str) -> Any:
    """Import a package, which is untyped or not installed."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError(
            f"this ranker needs {name}, which is not installed: pip install {name}."
        ) from error


def _table(X: TableLike) -> Any:
    """Return rows as the other packages take them: an array, or compressed sparse rows."""
    table = Instances.from_input(X).table
    return table.tocsr() if hasattr(table, "tocsr") else table


def _by_query(X: TableLike, y: VectorLike, qid: VectorLike | None) -> tuple[Any, Floats, Groups]:
    """Sort rows and labels by query: other packages need the rows of a query together."""
    table = _table(X)
    labels = check_labels(y, int(table.shape[0]))
    groups = Groups.from_qid(qid, len(labels))
    return table[groups.order], labels[groups.order], groups


def _check_whole(name: str, y: Floats, highest: int) -> None:
    bad = (y < 0) | (y > highest) | (y != np.floor(y))
    if bad.any():
        raise DataError(
            f"{name} needs whole labels from 0 to {highest} for this objective. Got {y[bad][0]:g}."
        )


@with_parameters
class _BoostedPeer(BaseEstimator):
    """A gradient boosting ranker of another package."""

    n_estimators: int = parameter(at_least(1), "Rounds.", default=300, kw_only=False)
    learning_rate: float = parameter(above(0), "Shrinkage of each round.", default=0.1)
    objective: str = parameter(anything("str"), "Loss, by the package's name for it.", default="")
    random_state: int = parameter(at_least(0), "Seed.", default=0)
    n_jobs: int | None = parameter(none_or(at_least(1)), "Threads; None is 1.", default=1)

    @property
    def _threads(self) -> int:
        return self.n_jobs or 1


@with_parameters
class LightGBMPeer(_BoostedPeer):
    """LightGBM's ranker, on one thread and deterministic."""

    num_leaves: int = parameter(at_least(2), "Leaves of a tree.", default=31)
    min_child_samples: int = parameter(at_least(1), "Rows of a leaf, at least.", default=20)
    objective: str = parameter(default="lambdarank")

    def fit(self, X: TableLike, y: VectorLike, *, qid: VectorLike | None = None) -> Self:
        """Fit on labels within queries."""
        lightgbm = _package("lightgbm")
        table, labels, groups = _by_query(X, y, qid)
        _check_whole("LightGBM", labels, 30)
        settings = {
            "objective": self.objective,
            "learning_rate": self.learning_rate,
            "num_leaves": self.num_leaves,
            "min_data_in_leaf": self.min_child_samples,
            "seed": self.random_state,
            "num_threads": self._threads,
            "deterministic": True,
            "force_col_wise": True,
            "verbosity": -1,
        }
        grades = labels.astype(np.int64)
        data = lightgbm.Dataset(table, grades, group=groups.sizes, free_raw_data=True)
        self.booster_ = lightgbm.train(settings, data, num_boost_round=self.n_estimators)
        return self

    def predict(self, X: TableLike) -> Floats:
        """Return the scores after all rounds."""
        return np.asarray(self.booster_.predict(_table(X), num_threads=self._threads))

    def staged_predict(self, X: TableLike) -> Iterator[Floats]:
        """Yield the scores after every round."""
        table = _table(X)
        total = np.zeros(table.shape[0])
        for number in range(self.booster_.current_iteration()):
            more = self.booster_.predict(
                table, start_iteration=number, num_iteration=1, num_threads=self._threads
            )
            total = total + np.asarray(more, np.float64)
            yield total


@with_parameters
class XGBoostPeer(_BoostedPeer):
    """XGBoost's ranker, on one thread."""

    max_depth: int = parameter(at_least(0), "Depth of a tree, at most.", default=6)
    min_child_weight: float = parameter(
        anything("float"), "Weight of a leaf, at least.", default=1.0
    )
    objective: str = parameter(default="rank:pairwise")

    def fit(self, X: TableLike, y: VectorLike, *, qid: VectorLike | None = None) -> Self:
        """Fit on labels within queries."""
        xgboost = _package("xgboost")
        table, labels, groups = _by_query(X, y, qid)
        settings = {
            "objective": self.objective,
            "eta": self.learning_rate,
            "max_depth": self.max_depth,
            "min_child_weight": self.min_child_weight,
            "seed": self.random_state,
            "nthread": self._threads,
            "base_score": 0.0,
            "verbosity": 0,
        }
        if self.objective == "rank:pairwise":
            settings["ndcg_exp_gain"] = False  # (labels above 31 or below 1 are fine then)
        else:
            _check_whole("XGBoost", labels, 31)
        codes = np.repeat(np.arange(groups.n_groups), groups.sizes)
        data = xgboost.DMatrix(table, labels, qid=codes, nthread=self._threads)
        self.booster_ = xgboost.train(settings, data, num_boost_round=self.n_estimators)
        return self

    def _margins(self, data: object, begin: int, end: int) -> Floats:
        found = self.booster_.predict(data, output_margin=True, iteration_range=(begin, end))
        return np.asarray(found, np.float64)

    def predict(self, X: TableLike) -> Floats:
        """Return the scores after all rounds."""
        data = _package("xgboost").DMatrix(_table(X), nthread=self._threads)
        return self._margins(data, 0, self.booster_.num_boosted_rounds())

    def staged_predict(self, X: TableLike) -> Iterator[Floats]:
        """Yield the scores after every round."""
        data = _package("xgboost").DMatrix(_table(X), nthread=self._threads)
        total = np.zeros(data.num_row())
        for number in range(self.booster_.num_boosted_rounds()):
            total = total + self._margins(data, number, number + 1)
            yield total


@with_parameters
class CatBoostPeer(_BoostedPeer):
    """CatBoost's ranker, on one thread."""

    depth: int = parameter(at_least(1), "Depth of a tree.", default=6)
    objective: str = parameter(default="YetiRank")

    def fit(self, X: TableLike, y: VectorLike, *, qid: VectorLike | None = None) -> Self:
        """Fit on labels within queries."""
        catboost = _package("catboost")
        table, labels, groups = _by_query(X, y, qid)
        self.ranker_ = catboost.CatBoostRanker(
            iterations=self.n_estimators,
            learning_rate=self.learning_rate,
            depth=self.depth,
            loss_function=self.objective,
            random_seed=self.random_state,
            thread_count=self._threads,
            allow_writing_files=False,
            verbose=False,
        )
        codes = np.repeat(np.arange(groups.n_groups), groups.sizes)
        self.ranker_.fit(table, labels, group_id=codes)
        return self

    def predict(self, X: TableLike) -> Floats:
        """Return the scores after all rounds."""
        return np.asarray(self.ranker_.predict(_table(X)), np.float64)

    def staged_predict(self, X: TableLike) -> Iterator[Floats]:
        """Yield the scores after every round."""
        for scores in self.ranker_.staged_predict(_table(X)):
            yield np.array(scores, np.float64)


def _sklearn(module: str, name: str, **parameters: object) -> Estimator:
    """Make an estimator of scikit-learn; its modules are slow to import."""
    found: Estimator = getattr(import_module(f"sklearn.{module}"), name)(**parameters)
    return found


def _linear(name: str, **parameters: object) -> Estimator:
    """Make a linear model that first fills in missing values and scales the features."""
    from sklearn.pipeline import make_pipeline

    fill = _sklearn("impute", "SimpleImputer", strategy="median", keep_empty_features=True)
    model = _sklearn("linear_model", name, **parameters)
    pipeline: Estimator = make_pipeline(fill, _sklearn("preprocessing", "StandardScaler"), model)
    return pipeline


_FOREST = {"n_estimators": 100, "min_samples_leaf": 5, "random_state": 0, "n_jobs": 1}
_BOOSTING = {"early_stopping": False, "random_state": 0}
_LEAVES: dict[str, list[Any]] = {"num_leaves": [2, 7, 31], "learning_rate": [0.03, 0.1]}

#: By name: what makes it, and a small grid to tune it over.
PEERS: dict[str, tuple[Callable[[], Estimator], dict[str, list[Any]]]] = {
    "lightgbm": (LightGBMPeer, _LEAVES),
    "lightgbm-xendcg": (partial(LightGBMPeer, objective="rank_xendcg"), _LEAVES),
    "xgboost": (XGBoostPeer, {"max_depth": [1, 3, 6], "learning_rate": [0.03, 0.1]}),
    "catboost": (CatBoostPeer, {"depth": [1, 3, 6], "learning_rate": [0.03, 0.1]}),
    "ridge": (partial(_linear, "Ridge"), {"ridge__alpha": [0.1, 1.0, 10.0, 100.0]}),
    "logistic-regression": (
        partial(_linear, "LogisticRegression", max_iter=1000),
        {"logisticregression__C": [0.01, 0.1, 1.0, 10.0]},
    ),
    "random-forest": (
        partial(_sklearn, "ensemble", "RandomForestRegressor", **_FOREST),
        {"min_samples_leaf": [1, 5, 20]},
    ),
    "hist-gradient-boosting": (
        partial(_sklearn, "ensemble", "HistGradientBoostingRegressor", **_BOOSTING),
        {"max_leaf_nodes": [3, 15, 31], "learning_rate": [0.03, 0.1]},
    ),
    "best-feature": (BestFeature, {}),
    "random": (RandomOrder, {}),
}

#: The packages that peers need, and the beginning of their names.
PACKAGES = ("lightgbm", "xgboost", "catboost")


def make_peer(name: str) -> Estimator:
    """Return a peer by name, unfitted.

    Raises
    ------
    MissingExtraError
        Its package is not installed; the message names it.
    """
    for package in PACKAGES:
        if name.startswith(package):
            _package(package)
    return PEERS[name][0]()
