"""The subject of a report: a ranker and labelled rows, checked once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from crucial.data.arrays import as_array
from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.errors import DataError, NotRankedError
from crucial.feedback.labels import check_labels
from crucial.inspection.parts import additive_model
from crucial.inspection.scored_rows import EncodedRows, scored_rows
from crucial.measures.base import Measure, default_measure
from crucial.measures.names import Measures, get_measures
from crucial.model.additive import AdditiveRanker
from crucial.model.base import FrozenModel
from crucial.results import feature_name
from crucial.types import Bytes, Floats, Ints, Objects, TableLike, VectorLike

__all__ = ["PageData", "Subject"]

#: A part of the page as plain data.
PageData: TypeAlias = dict[str, object]


@dataclass(frozen=True, eq=False)
class Subject:
    """A ranker on labelled rows.

    Attributes
    ----------
    ranker, X : the ranker and the rows as the caller passed them
    model : AdditiveRanker or None
        The ranker as a sum of functions of features and of trees; None if it is no such sum.
    reason : str
        Why it cannot.
    instances, y, groups : rows, labels, queries
    has_queries : bool
        Whether there are query ids, or all rows are one list.
    item : object array of str or None
    scores : array of shape (n_rows,)
    measures : tuple of Measure
        The first one chooses the best and the worst queries.
    pictures, query_pictures : mapping from the name of an item, a query, to grey values
    seed : int
    """

    ranker: object
    X: TableLike
    model: AdditiveRanker | None
    reason: str
    instances: Instances
    y: Floats
    groups: Groups
    has_queries: bool
    item: Objects | None
    scores: Floats
    measures: tuple[Measure, ...]
    pictures: Mapping[str, Bytes]
    query_pictures: Mapping[str, Bytes]
    seed: int

    @classmethod
    def of(
        cls,
        ranker: object,
        X: TableLike,
        y: VectorLike,
        qid: VectorLike | None,
        item: VectorLike | None,
        metrics: Measures | None,
        pictures: Mapping[str, ArrayLike] | None,
        query_pictures: Mapping[str, ArrayLike] | None,
        seed: int,
        n_jobs: int | None,
    ) -> Subject:
        """Check all input before any work is done."""
        chosen = get_measures(() if metrics is None else metrics)
        whole = getattr(ranker, "model_", ranker)
        model, reason = None, ""
        try:
            model = additive_model(ranker, "the report", features=None)
        except NotRankedError as error:
            reason = str(error)
        rows = scored_rows(ranker, X, qid)
        instances, groups = rows.instances, rows.groups
        if qid is None and getattr(whole, "training", {}).get("with_qid") is True:
            raise DataError(
                "the rows have no query ids (qid), and the ranker was trained with queries: "
                "scores of different queries cannot be compared."
            )
        labels = check_labels(y, instances.n_rows)
        if isinstance(rows, EncodedRows):
            scores = rows.model.predict(instances, groups, n_jobs=n_jobs)
        else:
            scores = rows.scores()
        if not chosen:
            chosen = get_measures(default_measure(labels, qid is not None))
        return cls(
            ranker,
            X,
            model,
            reason,
            instances,
            labels,
            groups,
            qid is not None,
            _names(item, instances.n_rows),
            scores,
            tuple(chosen),
            _grey("pictures", pictures),
            _grey("query_pictures", query_pictures),
            seed,
        )

    @property
    def is_encoded(self) -> bool:
        """Whether `instances` are what the ranker scores; if not, it scores ``X`` as passed."""
        return isinstance(getattr(self.ranker, "model_", self.ranker), FrozenModel)

    @cached_property
    def order(self) -> int:
        """Most features that one weak ranker combines."""
        trees = None if self.model is None else self.model.tree_sums
        return max((len(set(tree.features)) for tree in trees.trees), default=1) if trees else 1

    @cached_property
    def heaviest(self) -> list[tuple[int, float]]:
        """The used features and their shares of the weight or the gains, heaviest first."""
        weights = {} if self.model is None else self.model.weight_by_feature()
        total = sum(weights.values()) or 1.0
        found = [(feature, weight / total) for feature, weight in weights.items() if weight > 0.0]
        return sorted(found, key=lambda one: (-one[1], one[0]))

    @cached_property
    def leading(self) -> Sequence[int]:
        """The features to look at one by one: used ones, heaviest first, if the model names any."""
        if self.model is not None:
            return [feature for feature, _ in self.heaviest]
        whole = getattr(self.ranker, "model_", self.ranker)
        shares = whole.feature_importances() if isinstance(whole, FrozenModel) else np.zeros(0)
        used = np.flatnonzero(shares)
        heaviest_first: list[int] = used[np.argsort(-shares[used], kind="stable")].tolist()
        return heaviest_first or range(self.instances.n_features)

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return self.groups.n_groups

    @property
    def lead(self) -> Measure:
        """The first measure."""
        return self.measures[0]

    @cached_property
    def names(self) -> tuple[str, ...] | None:
        """Names of the features, if the model or the rows have them."""
        known = getattr(getattr(self.ranker, "model_", self.ranker), "feature_names", None)
        return known or self.instances.names

    def feature_title(self, feature: int) -> str:
        """Return the name of a feature; in svmlight files it is only a number."""
        name = feature_name(self.names, feature)
        return f"feature {name}" if name.isdigit() else name

    def rows_of(self, query: int) -> Ints:
        """Return the rows of a query, highest score first; ties in the order of the input."""
        begin, end = self.groups.starts[query], self.groups.starts[query + 1]
        rows = self.groups.order[begin:end]
        return np.asarray(rows[np.argsort(-self.scores[rows], kind="stable")])

    def item_name(self, row: int) -> str:
        """Return the name of a row, or its number."""
        name = "" if self.item is None else str(self.item[row])
        return name or f"row {row + 1}"


def _names(item: VectorLike | None, n_rows: int) -> Objects | None:
    """Return the names of the items as text."""
    if item is None:
        return None
    names = as_array(item, "item")
    if names.shape != (n_rows,):
        raise DataError(
            f"item must have one name for each of the {n_rows} rows. Got {names.shape}."
        )
    return np.array([str(one) for one in names.tolist()], dtype=object)


def _grey(owner: str, pictures: Mapping[str, ArrayLike] | None) -> dict[str, Bytes]:
    """Check pictures, and return them by name."""
    found = {}
    for name, values in (pictures or {}).items():
        grey = np.asarray(values)
        if grey.ndim != 2 or grey.dtype != np.uint8 or not 0 < grey.size <= 64 * 64:
            raise DataError(
                f"{owner} must be arrays of uint8 with two dimensions and at most 64 x 64 grey "
                f"values, 0 black and 255 white. Got {grey.dtype} of shape {grey.shape} for "
                f"{name!r}."
            )
        found[str(name)] = grey
    return found
