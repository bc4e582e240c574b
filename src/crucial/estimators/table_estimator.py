"""Base of the estimators that learn from a table: parameters, columns, rows to predict."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from crucial.data.instances import Encodings, Instances
from crucial.estimators.warn import warn_caller
from crucial.model.base import check_columns
from crucial.parameters import (
    check_parameters,
    none_or,
    nonzero,
    parameter,
    parameters_of,
    plain,
    with_parameters,
)
from crucial.types import TableLike

__all__ = ["TableEstimator"]


@with_parameters
class TableEstimator(BaseEstimator):
    """Base of estimators that learn from a table whose cells may be missing.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : array of str, where X had names
    """

    # Shared keyword parameters come last in every signature, in this order.
    _shared_order: ClassVar[tuple[str, ...]] = (
        "default_rank", "balance", "gain", "on_perfect", "max_bins", "subsample",
        "n_bags", "early_stopping_rounds", "stopping_tolerance", "eval_metric",
        "validation_fraction", "validation_folds", "monotone_constraints", "weak",
        "contradictions", "record_risks", "random_state", "n_jobs", "verbose", "callbacks",
        "warm_start",
    )  # fmt: skip

    #: Whether columns of text become categories.
    _takes_texts: ClassVar[bool] = False

    n_jobs: int | None = parameter(
        none_or(nonzero),
        "Threads; None for all cores. The result is the same for any number.",
        default=None,
        shapes_model=False,
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def _check_parameters(self) -> None:
        """Check every parameter by its rule, then those that must go together."""
        check_parameters(self)
        self._check_combinations()

    def _check_combinations(self) -> None:
        """Refuse parameters that do not go together."""

    def _parameters_of_model(self) -> dict[str, object]:
        """Return the parameters that shape the model, as JSON can write them."""
        running = {p.name for p in parameters_of(self).values() if not p.shapes_model}
        return {
            name: _as_json(plain(value))
            for name, value in self.get_params().items()
            if name not in running
        }

    def _learn_columns(self, instances: Instances) -> None:
        """Remember number and names of the features that a fit sees."""
        self.n_features_in_ = instances.n_features
        if instances.names is not None:
            self.feature_names_in_ = np.array(instances.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _table(self, X: TableLike) -> Instances:
        """Return rows to predict, for a model that checks their columns itself."""
        instances = Instances.from_input(X, texts=self._takes_texts)
        owner, named = type(self).__name__, hasattr(self, "feature_names_in_")
        if named and instances.names is None:
            warn_caller(
                f"X does not have valid feature names, but {owner} was fitted with feature names"
            )
        elif not named and instances.names is not None:
            warn_caller(f"X has feature names, but {owner} was fitted without feature names")
        return instances

    def _encoded(self, instances: Instances) -> Instances:
        """Return rows whose columns of text are numbers, as those of the last fit."""
        encodings: Encodings | None = vars(self).get("_encodings")
        return instances if encodings is None else encodings.encode(instances)

    def _checked_table(self, X: TableLike) -> Instances:
        """Return rows whose columns are those of fit, where there is no model to check them."""
        instances = self._table(X)
        names = tuple(self.feature_names_in_) if hasattr(self, "feature_names_in_") else None
        check_columns(instances, self.n_features_in_, names, type(self).__name__)
        return instances


def _as_json(value: object) -> object:
    """Return a value that JSON can write: objects by their name, never by their address."""
    if isinstance(value, int) and 2**63 <= abs(value) < 2**1023:
        return float(value)  # (a model file has whole numbers of 64 bits)
    if isinstance(value, str | int | float | bool | type(None)):
        return value
    if isinstance(own := getattr(value, "__qualname__", None), str):  # a function, or a class
        return own
    text = repr(value)  # (NumPy writes the addresses of its generators in capitals)
    return type(value).__qualname__ if f"0x{id(value):x}" in text.lower() else text
