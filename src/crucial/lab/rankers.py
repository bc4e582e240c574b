"""The rankers of an experiment: ours, other packages', baselines, or any estimator."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any, Self, TypeAlias

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import ParameterGrid
from sklearn.utils.metadata_routing import MetadataRouter, get_routing_for_object

from crucial.data.groups import Groups
from crucial.data.instances import Instances, take_rows
from crucial.errors import DataError, MissingExtraError, ParameterError
from crucial.feedback.labels import LabelFeedback, check_labels
from crucial.lab.protocols import Rows
from crucial.measures.lists import as_numbers
from crucial.parameters import (
    above,
    anything,
    at_least,
    check,
    lookup,
    none_or,
    parameter,
    parameters_of,
    refuse,
    with_parameters,
)
from crucial.rankers.registry import KNOWN_AS, PRESETS, RANKERS, ranker_class
from crucial.results import json_value
from crucial.types import Floats, TableLike, VectorLike

#: Anything with scikit-learn's ``fit`` and ``predict``.
Estimator: TypeAlias = Any

# --- Two baselines that every ranker should beat


class BestFeature(BaseEstimator):
    """Rank by the one feature, up or down, that orders most training pairs correctly.

    Ties count half (R2); rows where the feature is missing come last.

    Attributes
    ----------
    feature_ : int
    direction_ : {1, -1}
        Whether high or low values are better.
    """

    def fit(self, X: TableLike, y: VectorLike, *, qid: VectorLike | None = None) -> Self:
        """Try every feature in both directions; of equals, the first and upwards."""
        instances = Instances.from_input(X)
        labels = check_labels(y, instances.n_rows)
        groups = Groups.from_qid(qid, instances.n_rows)
        feedback = LabelFeedback(labels, groups, balance="queries")
        best = np.inf
        for feature in range(instances.n_features):
            for direction in (1, -1):
                scores = self._scores(instances, feature, direction)
                wrong = feedback.r2(scores)
                if wrong < best - 1e-12:
                    best, self.feature_, self.direction_ = wrong, feature, direction
        return self

    @staticmethod
    def _scores(instances: Instances, feature: int, direction: int) -> Floats:
        values = direction * instances.column(feature).astype(np.float64)
        there = ~np.isnan(values)
        lowest = float(values[there].min()) if there.any() else 0.0
        below = np.nextafter(lowest, -np.inf) if lowest > -1e300 else lowest
        return np.where(there, values, below)

    def predict(self, X: TableLike) -> Floats:
        """Return the values of the feature, with their sign."""
        return self._scores(Instances.from_input(X), self.feature_, self.direction_)


class RandomOrder(BaseEstimator):
    """Rank at random.

    Parameters
    ----------
    random_state : int
    """

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, X: TableLike, y: VectorLike) -> Self:
        """Learn nothing."""
        self.fitted_ = True
        return self

    def predict(self, X: TableLike) -> Floats:
        """Return random scores, the same for the same seed."""
        n_rows = Instances.from_input(X, texts=True).n_rows
        return np.random.default_rng(self.random_state).random(n_rows)


# --- Rankers of other packages, for comparison; every peer by its name
#
# They are fitted like ours: rows in any order, queries by id. The other packages are imported when
# they are used.


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
    return _plain_table(Instances.from_input(X))


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
            "objective": self.objective, "learning_rate": self.learning_rate,
            "num_leaves": self.num_leaves, "min_data_in_leaf": self.min_child_samples,
            "seed": self.random_state, "num_threads": self._threads,
            "deterministic": True, "force_col_wise": True, "verbosity": -1,
        }  # fmt: skip
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
            "objective": self.objective, "eta": self.learning_rate, "max_depth": self.max_depth,
            "min_child_weight": self.min_child_weight, "seed": self.random_state,
            "nthread": self._threads, "base_score": 0.0, "verbosity": 0,
        }  # fmt: skip
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
            iterations=self.n_estimators, learning_rate=self.learning_rate, depth=self.depth,
            loss_function=self.objective, random_seed=self.random_state,
            thread_count=self._threads, allow_writing_files=False, verbose=False,
        )  # fmt: skip
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
    return getattr(import_module(f"sklearn.{module}"), name)(**parameters)


def _linear(name: str, **parameters: object) -> Estimator:
    """Make a linear model that first fills in missing values and scales the features."""
    from sklearn.pipeline import make_pipeline

    fill = _sklearn("impute", "SimpleImputer", strategy="median", keep_empty_features=True)
    model = _sklearn("linear_model", name, **parameters)
    return make_pipeline(fill, _sklearn("preprocessing", "StandardScaler"), model)


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


# --- The rankers of an experiment: by name, or as estimators, each with a grid to tune it by


#: Values to try, by parameter.
Grid: TypeAlias = dict[str, list[Any]]


@dataclass(frozen=True, eq=False)
class Contender:
    """A ranker in an experiment.

    Attributes
    ----------
    name : str
    estimator : object with fit and predict
        Cloned before every fit.
    grid : dict of str to list
        Values of parameters to try; all combinations are tried.
    """

    name: str
    estimator: Any
    grid: Grid = field(default_factory=dict)

    def candidates(self) -> list[dict[str, object]]:
        """Return every combination of the grid; a single empty one without a grid."""
        return [dict(one) for one in ParameterGrid(self.grid)] if self.grid else [{}]

    def make(self, parameters: Mapping[str, object], n_jobs: int | None) -> Any:
        """Return a fresh estimator; ``n_jobs`` sets its threads where it runs beside others."""
        estimator = clone(self.estimator, safe=False)
        if parameters:
            estimator.set_params(**parameters)
        if n_jobs is not None and hasattr(estimator, "get_params"):
            names = estimator.get_params()
            threads = [name for name in names if name == "n_jobs" or name.endswith("__n_jobs")]
            estimator.set_params(**dict.fromkeys(threads, n_jobs))
        return estimator

    def settings(self) -> dict[str, Any]:
        """Return the settings that decide what a ranker learns, for JSON."""
        found: dict[str, Any] = {"estimator": self.estimator, "grid": self.grid}
        return dict(json_value(found, _described))


def ranker_names() -> dict[str, str]:
    """Return every name that an experiment takes, and what kind of ranker it is."""
    return (
        dict.fromkeys(PEERS, "peer")
        | dict.fromkeys(PRESETS, "preset of rankboost")
        | dict.fromkeys(RANKERS, "ranker")
    )


def _by_name(name: str) -> tuple[Any, Grid]:
    """Return the ranker of a name and its small grid, which its parameters declare."""
    kind = lookup(ranker_names(), name, "ranker", KNOWN_AS)
    if kind == "peer":
        return make_peer(name), PEERS[name][1]
    estimator = ranker_class(name if kind == "ranker" else "rankboost")
    grid = {one.name: list(one.grid) for one in parameters_of(estimator).values() if one.grid}
    if kind == "ranker":
        return estimator(), grid
    preset = PRESETS[name]
    return estimator.preset(name), {key: grid[key] for key in grid if key not in preset}


def as_contenders(
    rankers: Any, grids: Any = None, changes: Mapping[str, Any] | None = None
) -> list[Contender]:
    """Return rankers in any form as contenders, each under a unique name.

    Parameters
    ----------
    rankers : str, estimator, list of them, or mapping from name to either
    grids : None, "small" or mapping from name to grid
        What to tune: nothing, the small grids that come with the names, or these grids.
    changes : mapping, optional
        Parameters set in every ranker that has them, such as n_estimators.

    Examples
    --------
    >>> [one.name for one in as_contenders(["rankboost", "rb_c", "random"])]
    ['rankboost', 'rb_c', 'random']
    >>> as_contenders("rankbost")
    Traceback (most recent call last):
    ...
    crucial.errors.ParameterError: unknown ranker 'rankbost'; did you mean 'rankboost'...
    """
    if not (grids is None or grids == "small" or isinstance(grids, Mapping)):
        raise refuse("Experiment", "grids", "None, 'small' or a mapping from ranker to grid", grids)
    if not (changes is None or isinstance(changes, Mapping)):
        raise refuse("Experiment", "changes", "None or a mapping from parameter to value", changes)
    found: dict[str, Contender] = {}
    changed = set[str]()
    for name, ranker in _named(rankers):
        if name in found:
            raise ParameterError(f"two rankers have the name {name!r}; give a mapping with names.")
        estimator, small = _by_name(ranker) if isinstance(ranker, str) else (ranker, {})
        if isinstance(estimator, type) or not hasattr(estimator, "fit"):
            raise refuse("Experiment", "rankers", "names or objects with fit and predict", ranker)
        known = set(estimator.get_params()) if hasattr(estimator, "get_params") else set[str]()
        own = {key: value for key, value in (changes or {}).items() if key in known}
        if own:
            estimator = clone(estimator, safe=False).set_params(**own)
            changed |= own.keys()
        grid = small if grids == "small" else {}
        if isinstance(grids, Mapping):
            grid = _checked_grid(name, estimator, grids.get(name, {}), known)
        found[name] = Contender(name, estimator, grid)
    if not found:
        raise ParameterError("rankers is empty: name at least one, for example 'rankboost'.")
    for name in changes or ():
        if name not in changed:
            raise ParameterError(f"changes: no ranker has a parameter {name!r}.")
    if isinstance(grids, Mapping):
        for name in grids:
            lookup(found, name, "ranker in grids")
    return list(found.values())


def _named(rankers: Any) -> list[tuple[str, Any]]:
    """Return pairs of a name and a ranker: the class is the name of an estimator without one."""
    if isinstance(rankers, Mapping):
        return [(str(name), one) for name, one in rankers.items()]
    if isinstance(rankers, str) or not isinstance(rankers, Iterable) or hasattr(rankers, "fit"):
        rankers = [rankers]
    return [(one, one) if isinstance(one, str) else (type(one).__name__, one) for one in rankers]


def _checked_grid(name: str, estimator: Any, grid: object, known: Iterable[str]) -> Grid:
    """Return a user's grid; its parameters must exist, and its values obey their rules."""
    if not isinstance(grid, Mapping):
        rule = "a mapping from parameter to a list of values"
        raise refuse("Experiment", f"grids[{name!r}]", rule, grid)
    declared = parameters_of(estimator)
    checked: Grid = {}
    for key, values in grid.items():
        lookup(dict.fromkeys(known), str(key), f"parameter of {name}")
        listed = (
            list(values) if isinstance(values, Iterable) and not isinstance(values, str) else []
        )
        if not listed:
            raise refuse("Experiment", f"grids[{name!r}][{key!r}]", "a list of values", values)
        if key in declared:
            for value in listed:
                check(type(estimator).__name__, key, value, declared[key].rule)
        checked[str(key)] = listed
    return checked


def _described(value: Any) -> Any:
    """Return a parameter's value for JSON, the same in every process: without addresses."""
    kind = type(value)
    name = f"{kind.__module__}.{kind.__qualname__}"
    if hasattr(value, "get_params") and not isinstance(value, type):
        running = ("n_jobs", "verbose", "thread_count")  # (they do not change what is learned)
        parameters = value.get_params(deep=False).items()
        settings = {key: one for key, one in parameters if key not in running}
        return {"class": name} | json_value(settings, _described)
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    if "__repr__" in vars(kind):  # (the one of object has an address in it)
        return repr(value)
    return {"class": name} | json_value(vars(value), _described)


# --- Fit any estimator, and get one score per row out of it
#
# A ranker gets the query ids; one of LightGBM, XGBoost or CatBoost gets its rows query by query,
# with
# the sizes or numbers of the queries. A regressor or classifier of scikit-learn, compared with
# rankers, is fitted on rows and labels alone. A pipeline or search passes the query ids to the
# ranker
# inside it, by scikit-learn's metadata routing.


#: Forms of the queries that need rows of a query to stand together.
_GROUPED = frozenset({"group", "group_id"})


@dataclass(frozen=True)
class Adapter:
    """An estimator, and which of the query ids and weights its methods take.

    Attributes
    ----------
    estimator : object with fit and predict
    to_fit, to_predict : sets of "qid", "group", "group_id", "sample_weight"
        "group" are the sizes of the queries (LightGBM, XGBoost), "group_id" one number per row
        (CatBoost).
    routed : bool
        Whether it only passes them on, which scikit-learn must be set to allow.
    weighs_queries : bool
        Whether it takes one weight per query, not per row (XGBoost).
    """

    estimator: Estimator
    to_fit: frozenset[str]
    to_predict: frozenset[str]
    routed: bool = False
    weighs_queries: bool = False

    @classmethod
    def of(cls, estimator: Estimator, has_qid: bool, has_weight: bool) -> Adapter:
        """Return an adapter that passes the estimator those of the data that it accepts."""
        if isinstance(estimator, type) or not all(
            callable(getattr(estimator, name, None)) for name in ("fit", "predict")
        ):
            rule = "an object with fit and predict"
            raise refuse("cross_validate", "estimator", rule, estimator)
        available = {"qid": has_qid, "sample_weight": has_weight}
        offered = frozenset(name for name, present in available.items() if present)
        router = _router_of(estimator)
        weighs_queries = False
        if router is None:
            to_fit, to_predict = (
                _accepted(method, offered) for method in (estimator.fit, estimator.predict)
            )
            weighs_queries = {"group", "qid"} <= set(inspect.signature(estimator.fit).parameters)
        else:
            offered |= _GROUPED
            to_fit, to_predict = (
                frozenset(router.consumes(m, offered)) for m in ("fit", "predict")
            )
        if has_weight and "sample_weight" not in to_fit:
            why = "its fit has no such parameter."
            if router is not None:
                why = (
                    "nothing inside it asks for it. Call set_fit_request(sample_weight=True) of "
                    "the ranker inside."
                )
            raise ParameterError(
                f"sample_weight cannot be given to {type(estimator).__name__}: {why}"
            )
        routed = router is not None and bool(to_fit | to_predict)
        return cls(estimator, to_fit, to_predict, routed, weighs_queries)

    def fit(self, rows: Rows) -> float:
        """Fit the estimator, and return the seconds that it took."""
        # (classifiers need whole numbers as labels)
        whole = bool(np.all(rows.y == np.floor(rows.y))) and bool(np.all(np.abs(rows.y) < 2**31))
        y = rows.y.astype(np.int64) if whole else rows.y
        offered: dict[str, object] = {"qid": rows.qid, "sample_weight": rows.weight}
        X = rows.X
        if self.to_fit & _GROUPED:
            order = rows.groups.order
            X, y = take_rows(_plain_table(X), order), y[order]
            offered = self._by_query(rows)
        began = time.perf_counter()
        with self._routing():
            self.estimator.fit(X, y, **{name: offered[name] for name in self.to_fit})
        return time.perf_counter() - began

    def _by_query(self, rows: Rows) -> dict[str, object]:
        """Return the arguments of ``fit`` beside rows in the order of the queries."""
        groups = rows.groups
        weight = None if rows.weight is None else rows.weight[groups.order]
        if weight is not None and self.weighs_queries:
            first = weight[groups.starts[:-1]]
            if not np.array_equal(weight, np.repeat(first, groups.sizes)):
                raise DataError(
                    f"{type(self.estimator).__name__} takes one weight per query, and rows of a "
                    "query have different ones in sample_weight. Give all rows of a query the "
                    "same, or none."
                )
            weight = first
        return {
            "qid": None if rows.qid is None else rows.qid[groups.order],
            "group": groups.sizes,
            "group_id": np.repeat(np.arange(groups.n_groups), groups.sizes),
            "sample_weight": weight,
        }

    def scores(self, rows: Rows) -> Floats:
        """Return one score per row: predictions, or a classifier's confidence in a high label."""
        offered = {"qid": rows.qid, "sample_weight": rows.weight}
        X = _plain_table(rows.X) if self.to_fit & _GROUPED else rows.X
        with self._routing():
            if is_scorer(self.estimator):
                passed = {name: offered[name] for name in self.to_predict}
                found = np.asarray(self.estimator.predict(X, **passed), np.float64)
            else:
                found = _grades(self.estimator, X)
        return as_numbers(found, "scores", len(rows.y))

    def stages(self, rows: Rows) -> Iterator[Floats] | None:
        """Yield the scores after every round; None for an estimator without rounds."""
        name = "staged_predict"
        if not is_scorer(self.estimator):
            if len(getattr(self.estimator, "classes_", ())) > 2:
                return None
            name = "staged_decision_function"
        method = getattr(self.estimator, name, None)
        if method is None:
            return None
        more = {"qid": rows.qid} if "qid" in inspect.signature(method).parameters else {}
        found: Iterator[Floats] = iter(method(rows.X, **more))
        return found

    @contextmanager
    def _routing(self) -> Iterator[None]:
        """Enable scikit-learn's metadata routing, if it is needed, inside the block."""
        if not self.routed:
            yield
            return
        with config_context(enable_metadata_routing=True):
            yield


def _plain_table(X: Any) -> Any:
    """Return rows as other packages take them."""
    if not isinstance(X, Instances):
        return X
    return X.table.tocsr() if X.is_sparse else X.table


def _accepted(method: Callable[..., object], offered: frozenset[str]) -> frozenset[str]:
    """Return the offered arguments that a method takes: of the forms of the queries, one."""
    names = set(inspect.signature(method).parameters)
    for form in ("group", "group_id"):
        # Needed even if there is one query alone; other packages' qid must be numbers in order.
        if form in names:
            return (offered & names) - {"qid"} | {form}
    return offered & names


def is_scorer(estimator: object) -> bool:
    """Return whether ``predict`` returns scores, as scikit-learn's classifiers do not."""
    return not (hasattr(estimator, "__sklearn_tags__") and is_classifier(estimator))


def _router_of(estimator: Estimator) -> MetadataRouter | None:
    """Return how a pipeline or search passes metadata on; None for other estimators."""
    if "qid" in inspect.signature(estimator.fit).parameters:
        return None
    if not hasattr(estimator, "get_metadata_routing"):
        return None
    with config_context(enable_metadata_routing=True):
        routing = get_routing_for_object(estimator)
    return routing if isinstance(routing, MetadataRouter) else None


def _grades(classifier: Estimator, X: TableLike) -> Floats:
    """Return the decision value of the higher of two labels; of more labels the expected one."""
    if hasattr(classifier, "decision_function") and len(classifier.classes_) <= 2:
        return np.asarray(classifier.decision_function(X), np.float64)
    if hasattr(classifier, "predict_proba"):
        chances = np.asarray(classifier.predict_proba(X), np.float64)
        return np.asarray(chances @ np.asarray(classifier.classes_, np.float64))
    raise DataError(
        f"{type(classifier).__name__} has no score to rank by: it has no predict_proba, and "
        f"its decision_function, if it has one, is not one number for "
        f"{len(classifier.classes_)} labels. Use a regressor, or a classifier with "
        "probabilities."
    )
