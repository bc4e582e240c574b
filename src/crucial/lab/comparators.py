"""Fitting anything that fits, and getting one score a row out of it.

A ranker is handed the queries; a regressor or classifier of scikit-learn's, put beside it
for comparison, is fitted on rows and labels alone. A pipeline or search passes the queries
to the ranker inside it, by scikit-learn's metadata routing.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import is_classifier
from sklearn.utils.metadata_routing import MetadataRouter, get_routing_for_object

from crucial.errors import DataError, ParameterError
from crucial.types import Floats
from crucial.validation import refuse

__all__ = ["Handover", "fit", "scores_of"]


@dataclass(frozen=True)
class Handover:
    """What an estimator is given beside the rows.

    Attributes
    ----------
    to_fit, to_predict : sets of "qid", "sample_weight"
    routed : bool
        Whether it only passes them on, which scikit-learn must be told to allow.
    """

    to_fit: frozenset[str]
    to_predict: frozenset[str]
    routed: bool = False

    @classmethod
    def to(cls, estimator: Any, has_qid: bool, has_weight: bool) -> Handover:
        """Find out what the estimator takes of what there is."""
        if isinstance(estimator, type) or not all(
            callable(getattr(estimator, name, None)) for name in ("fit", "predict")
        ):
            rule = "an object with fit and predict"
            raise refuse("cross_validate", "estimator", rule, estimator)
        there = {"qid": has_qid, "sample_weight": has_weight}
        offered = frozenset(name for name, given in there.items() if given)
        router = _router_of(estimator)
        if router is None:
            to_fit, to_predict = (_named(m, offered) for m in (estimator.fit, estimator.predict))
        else:
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
        return cls(to_fit, to_predict, router is not None and bool(to_fit | to_predict))

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Let scikit-learn pass things on, in here alone."""
        if not self.routed:
            yield
            return
        with config_context(enable_metadata_routing=True):
            yield


def _named(method: Any, offered: frozenset[str]) -> frozenset[str]:
    return offered & set(inspect.signature(method).parameters)


def _router_of(estimator: Any) -> Any:
    """How a pipeline or search passes things on; None for what keeps them itself."""
    if "qid" in inspect.signature(estimator.fit).parameters:
        return None
    if not hasattr(estimator, "get_metadata_routing"):
        return None
    with config_context(enable_metadata_routing=True):
        routing = get_routing_for_object(estimator)
    return routing if isinstance(routing, MetadataRouter) else None


def fit(
    estimator: Any, X: Any, y: NDArray[Any], handover: Handover, beside: dict[str, Any]
) -> None:
    """Fit it, with those of the arrays beside that it takes."""
    with handover.allowed():
        estimator.fit(X, y, **{name: beside[name] for name in handover.to_fit})


def scores_of(estimator: Any, X: Any, handover: Handover, beside: dict[str, Any]) -> Floats:
    """One score a row: predictions, or how sure a classifier is of a high label."""
    with handover.allowed():
        # (what is not scikit-learn's own has no tags to say that it classifies)
        if hasattr(estimator, "__sklearn_tags__") and is_classifier(estimator):
            return _grades(estimator, X)
        passed = {name: beside[name] for name in handover.to_predict}
        return np.asarray(estimator.predict(X, **passed), np.float64)


def _grades(classifier: Any, X: Any) -> Floats:
    """Decision value of the higher of two labels; of more labels the expected one."""
    if hasattr(classifier, "decision_function") and len(classifier.classes_) <= 2:
        return np.asarray(classifier.decision_function(X), np.float64)
    if hasattr(classifier, "predict_proba"):
        chances = np.asarray(classifier.predict_proba(X), np.float64)
        return np.asarray(chances @ np.asarray(classifier.classes_, np.float64))
    raise DataError(
        f"{type(classifier).__name__} gives no score to rank by: it has no predict_proba, and "
        f"its decision_function, if it has one, is not one number for "
        f"{len(classifier.classes_)} labels. Use a regressor, or a classifier with "
        "probabilities."
    )
