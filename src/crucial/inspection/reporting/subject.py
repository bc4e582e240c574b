"""What a report is about: a ranker and labelled rows, checked once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.groups import Groups, as_array
from crucial.data.instances import Instances
from crucial.errors import DataError, NotRankedError
from crucial.feedback.labels import check_labels
from crucial.inspection.importance import predictor
from crucial.inspection.parts import additive_model
from crucial.inspection.results import feature_name
from crucial.measures.base import Measure
from crucial.measures.defaults import default_measure
from crucial.measures.names import get_measure
from crucial.model.additive import AdditiveRanker
from crucial.model.inputs import checked_rows
from crucial.model.rank_addition import RankAdditionRanker
from crucial.types import Bytes, Floats, Ints

__all__ = ["Subject"]


@dataclass(frozen=True, eq=False)
class Subject:
    """A ranker on labelled rows.

    Attributes
    ----------
    ranker, given : the ranker and the rows as they came
    model : AdditiveRanker or None
        The sum that it is; None where it cannot be split by feature.
    reason : str
        Why it cannot.
    instances, y, groups : rows, labels, queries
    has_queries : bool
        Whether queries were given, or all rows are one list.
    item : object array of str or None
    scores : array of shape (n_rows,)
    measures : tuple of Measure
        The first one leads: best and worst queries are those by it.
    pictures, query_pictures : mapping from the name of an item, a query, to grey values
    seed : int
    """

    ranker: Any
    given: Any
    model: AdditiveRanker | None
    reason: str
    instances: Instances
    y: Floats
    groups: Groups
    has_queries: bool
    item: NDArray[Any] | None
    scores: Floats
    measures: tuple[Measure, ...]
    pictures: Mapping[str, Bytes]
    query_pictures: Mapping[str, Bytes]
    seed: int

    @classmethod
    def of(
        cls,
        ranker: Any,
        X: Any,
        y: Any,
        qid: Any,
        item: Any,
        metrics: Any,
        pictures: Mapping[Any, Any] | None,
        query_pictures: Mapping[Any, Any] | None,
        seed: int,
        n_jobs: int | None,
    ) -> Subject:
        """Check everything that was given, before any work is done."""
        chosen = _chosen(metrics)
        whole = getattr(ranker, "model_", ranker)
        frozen = isinstance(whole, AdditiveRanker | RankAdditionRanker)
        model, reason = None, ""
        try:
            model = additive_model(ranker, "the report")
        except NotRankedError as error:
            reason = str(error)
        instances = checked_rows(whole, X) if frozen else Instances.from_input(X)
        groups = Groups.from_qid(qid, instances.n_rows)
        if qid is None and getattr(whole, "training", {}).get("with_qid") is True:
            raise DataError(
                "the rows have no query ids (qid), and the ranker was trained with queries: "
                "scores of different queries cannot be compared."
            )
        labels = check_labels(y, instances.n_rows)
        if frozen:
            scores = whole.predict(instances, groups, n_jobs=n_jobs)
        else:
            scores = predictor(ranker, whole, groups, qid, X)(instances)
        if not chosen:
            chosen = (get_measure(default_measure(labels, qid is not None)),)
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
            chosen,
            _grey("pictures", pictures),
            _grey("query_pictures", query_pictures),
            seed,
        )

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return self.groups.n_groups

    @property
    def lead(self) -> Measure:
        """The measure that leads."""
        return self.measures[0]

    @cached_property
    def names(self) -> tuple[str, ...] | None:
        """Names of the features, where somebody knows them."""
        known = getattr(getattr(self.ranker, "model_", self.ranker), "feature_names", None)
        return known or self.instances.names

    def called(self, feature: int) -> str:
        """What to call a feature; svmlight files know them by number alone."""
        name = feature_name(self.names, feature)
        return f"feature {name}" if name.isdigit() else name

    def rows_of(self, query: int) -> Ints:
        """Rows of a query, highest score first; equal ones in the order they came."""
        begin, end = self.groups.starts[query], self.groups.starts[query + 1]
        rows = self.groups.order[begin:end]
        return np.asarray(rows[np.argsort(-self.scores[rows], kind="stable")])

    def item_name(self, row: int) -> str:
        """What to call a row."""
        name = "" if self.item is None else str(self.item[row])
        return name or f"row {row + 1}"


def _chosen(metrics: Any) -> tuple[Measure, ...]:
    if metrics is None:
        return ()
    if isinstance(metrics, str | Measure) or not isinstance(metrics, Iterable):
        metrics = [metrics]
    found = {one.name: one for one in map(get_measure, metrics)}
    return tuple(found.values())


def _names(item: Any, n_rows: int) -> NDArray[Any] | None:
    if item is None:
        return None
    names = as_array(item, "item")
    if names.shape != (n_rows,):
        raise DataError(
            f"item must have one name for each of the {n_rows} rows. Got {names.shape}."
        )
    return np.array([str(one) for one in names.tolist()], dtype=object)


def _grey(owner: str, pictures: Mapping[Any, Any] | None) -> dict[str, Bytes]:
    made = {}
    for name, values in (pictures or {}).items():
        grey = np.asarray(values)
        if grey.ndim != 2 or grey.dtype != np.uint8 or not 0 < grey.size <= 64 * 64:
            raise DataError(
                f"{owner} must hold arrays of uint8 with two dimensions and at most 64 x 64 grey "
                f"values, 0 black and 255 white. Got {grey.dtype} of shape {grey.shape} for "
                f"{name!r}."
            )
        made[str(name)] = grey
    return made
