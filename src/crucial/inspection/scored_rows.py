"""Rows with the ranker that scores them, as they are or with one feature shuffled."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.groups import Groups
from crucial.data.instances import Instances, Table, with_shuffled, with_sparse_column
from crucial.errors import DataTypeError, NotRankedError
from crucial.inspection.pipelines import inner_ranker
from crucial.model.base import FrozenModel, checked_rows
from crucial.types import Floats, Ints, TableLike, VectorLike

__all__ = ["EncodedRows", "PassedRows", "predict_any", "scored_rows"]


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """Rows of a model of this library: columns of text and dates are numbers already.

    Attributes
    ----------
    model : FrozenModel
    instances, groups : rows and queries
    """

    model: FrozenModel
    instances: Instances
    groups: Groups

    def scores(self) -> Floats:
        """Return the scores of the rows."""
        return self.model.predict(self.instances, self.groups)

    def shuffled_scores(self, feature: int, order: Ints) -> Floats:
        """Return the scores if a feature has the values of the rows ``order``."""
        column = self.instances.column(feature)[order]
        return self.model.predict(_with_column(self.instances, feature, column), self.groups)


@dataclass(frozen=True, eq=False)
class PassedRows:
    """Rows of any other ranker, which gets the caller's table with its own types and names.

    Attributes
    ----------
    ranker : object with ``predict``
    table : the caller's rows
    instances, groups : rows, as numbers where they are, and queries
    qid : query ids, or None
    """

    ranker: object
    table: Table
    instances: Instances
    groups: Groups
    qid: VectorLike | None

    def scores(self) -> Floats:
        """Return the scores of the rows."""
        return predict_any(self.ranker, self.table, self.qid)

    def shuffled_scores(self, feature: int, order: Ints) -> Floats:
        """Return the scores if a feature has the values of the rows ``order``."""
        return predict_any(self.ranker, with_shuffled(self.table, feature, order), self.qid)


def scored_rows(
    ranker: object, X: TableLike, qid: VectorLike | None = None
) -> EncodedRows | PassedRows:
    """Check rows and return them with the ranker, of this library or any other."""
    model = getattr(ranker, "model_", ranker)
    if isinstance(model, FrozenModel):
        encoded = checked_rows(model, X)
        return EncodedRows(model, encoded, Groups.from_qid(qid, encoded.n_rows))
    instances = Instances.from_input(X, texts=True)
    table: Table = instances.table if isinstance(X, Instances) else X
    table = table if hasattr(table, "shape") else np.asarray(table)
    return PassedRows(ranker, table, instances, Groups.from_qid(qid, instances.n_rows), qid)


def predict_any(ranker: object, X: Table, qid: VectorLike | None) -> Floats:
    """Return one score per row by ``predict`` of any ranker, with the queries if it takes them."""
    outer: Any = ranker
    while hasattr(outer, "best_estimator_"):  # (a search passes rows on, and nothing else)
        outer = outer.best_estimator_
    last: Any = inner_ranker(outer).ranker
    if not (hasattr(outer, "predict") and hasattr(last, "predict")):
        raise NotRankedError(f"importances need a ranker with predict(X). Got {ranker!r}.")
    if qid is None or "qid" not in inspect.signature(last.predict).parameters:
        found = np.asarray(outer.predict(X))
    else:
        from sklearn import config_context

        # (without routing, a pipeline hands everything else to its last step)
        with config_context(enable_metadata_routing=False):
            found = np.asarray(outer.predict(X, qid=qid))
    if found.dtype.kind not in "biuf" or found.size != X.shape[0]:
        raise DataTypeError(
            f"predict of {type(ranker).__name__} must return one number per row. Got {found.dtype} "
            f"of shape {found.shape}.",
            remedy="Pass a ranker or a regressor, or a classifier whose classes are numbers.",
        )
    return found.reshape(-1).astype(np.float64)


def _with_column(instances: Instances, feature: int, column: NDArray[np.generic]) -> Instances:
    """Return the same rows with other values of one feature."""
    if instances.is_sparse:
        return replace(instances, table=with_sparse_column(instances.table, feature, column))
    table = np.array(instances.table, dtype=np.result_type(instances.table, column), copy=True)
    table[:, feature] = column
    return replace(instances, table=table)
