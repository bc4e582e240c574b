"""Fit any estimator, and get one score per row out of it.

A ranker gets the query ids; one of LightGBM, XGBoost or CatBoost gets its rows query by query, with
the sizes or numbers of the queries. A regressor or classifier of scikit-learn, compared with
rankers, is fitted on rows and labels alone. A pipeline or search passes the query ids to the ranker
inside it, by scikit-learn's metadata routing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.utils.metadata_routing import MetadataRouter, get_routing_for_object

from crucial.data.groups import Groups
from crucial.data.instances import Instances, take_rows
from crucial.errors import DataError, ParameterError
from crucial.parameters import refuse
from crucial.types import Floats, TableLike

__all__ = ["Adapter", "Estimator", "is_scorer"]

#: Forms of the queries that need rows of a query to stand together.
_GROUPED = frozenset({"group", "group_id"})


class Estimator(Protocol):
    """Anything with scikit-learn's ``fit`` and ``predict``."""

    @property
    def fit(self) -> Callable[..., object]:
        """Learn from rows and labels."""

    @property
    def predict(self) -> Callable[..., ArrayLike]:
        """Return one score, or one class, per row."""


class _Classifier(Estimator, Protocol):
    classes_: NDArray[np.generic]

    def decision_function(self, X: TableLike) -> ArrayLike: ...

    def predict_proba(self, X: TableLike) -> ArrayLike: ...


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

    def cloned(self) -> Adapter:
        """Return the same for an unfitted clone of the estimator."""
        return replace(self, estimator=clone(self.estimator, safe=False))

    def fit(
        self,
        X: TableLike,
        y: NDArray[np.generic],
        qid: NDArray[np.generic] | None,
        sample_weight: Floats | None = None,
    ) -> None:
        """Fit the estimator."""
        offered: dict[str, object] = {"qid": qid, "sample_weight": sample_weight}
        if self.to_fit & _GROUPED:
            X, y, offered = self._by_query(X, y, qid, sample_weight)
        with self._routing():
            self.estimator.fit(X, y, **{name: offered[name] for name in self.to_fit})

    def _by_query(
        self,
        X: TableLike,
        y: NDArray[np.generic],
        qid: NDArray[np.generic] | None,
        sample_weight: Floats | None,
    ) -> tuple[TableLike, NDArray[np.generic], dict[str, object]]:
        """Sort rows and labels by query, and return what ``fit`` may take beside them."""
        groups = Groups.from_qid(qid, len(y))
        if isinstance(X, Instances):
            X = X.table.tocsr() if X.is_sparse else X.table
        weight = None if sample_weight is None else sample_weight[groups.order]
        if weight is not None and self.weighs_queries:
            first = weight[groups.starts[:-1]]
            if not np.array_equal(weight, np.repeat(first, groups.sizes)):
                raise DataError(
                    f"{type(self.estimator).__name__} takes one weight per query, and rows of a "
                    "query have different ones in sample_weight. Give all rows of a query the "
                    "same, or none."
                )
            weight = first
        offered: dict[str, object] = {
            "qid": None if qid is None else qid[groups.order],
            "group": groups.sizes,
            "group_id": np.repeat(np.arange(groups.n_groups), groups.sizes),
            "sample_weight": weight,
        }
        return take_rows(X, groups.order), y[groups.order], offered

    def scores(
        self,
        X: TableLike,
        qid: NDArray[np.generic] | None,
        sample_weight: Floats | None = None,
    ) -> Floats:
        """Return one score per row: predictions, or a classifier's confidence in a high label."""
        offered = {"qid": qid, "sample_weight": sample_weight}
        with self._routing():
            if isinstance(X, Instances) and self.to_fit & _GROUPED:
                X = X.table.tocsr() if X.is_sparse else X.table
            if is_scorer(self.estimator):
                passed = {name: offered[name] for name in self.to_predict}
                return np.asarray(self.estimator.predict(X, **passed), np.float64)
            return _grades(cast(_Classifier, self.estimator), X)

    @contextmanager
    def _routing(self) -> Iterator[None]:
        """Enable scikit-learn's metadata routing, if it is needed, inside the block."""
        if not self.routed:
            yield
            return
        with config_context(enable_metadata_routing=True):
            yield


def _accepted(method: Callable[..., object], offered: frozenset[str]) -> frozenset[str]:
    """Return what a method takes of what is offered: of the forms of the queries, one."""
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


def _grades(classifier: _Classifier, X: TableLike) -> Floats:
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
