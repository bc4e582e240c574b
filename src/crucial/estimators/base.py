"""What all ranking estimators share: names of features, predict, rank, score."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.errors import DataError, NotRankedError
from crucial.feedback.labels import check_labels, check_weights
from crucial.measures.names import get_measure
from crucial.model.additive import AdditiveRanker
from crucial.types import Floats, Ints
from crucial.validation import check_choice

__all__ = ["Ranker", "TableEstimator", "positions"]


def positions(scores: Floats, groups: Groups, ties: str = "min") -> Ints:
    """Position of every row in its query, 1 for the highest score.

    Parameters
    ----------
    ties : {"min", "first"}
        Equal scores share the best position, or stand in the order of their rows.

    Examples
    --------
    >>> positions(np.array([1.0, 3.0, 3.0]), Groups.single(3)).tolist()
    [3, 1, 1]
    """
    check_choice("rank", "ties", ties, ["min", "first"])
    query = np.repeat(np.arange(groups.n_groups), groups.sizes)
    order = groups.order[np.lexsort((-scores[groups.order], query))]
    place = np.arange(len(order)) - np.repeat(groups.starts[:-1], groups.sizes) + 1
    if ties == "min":
        ranked = scores[order]
        new = np.ones(len(order), bool)
        new[1:] = (ranked[1:] != ranked[:-1]) | (query[1:] != query[:-1])
        place = place[np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))]
    out = np.empty(len(order), np.int64)
    out[order] = place
    return out


class TableEstimator(BaseEstimator):
    """What learns from a table whose cells may be missing."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def _instances(self, X: Any, *, reset: bool) -> Instances:
        """Check X; at fit take its shape and names, later hold it to them."""
        instances = Instances.from_input(X)
        owner = type(self).__name__
        if reset:
            self.n_features_in_ = instances.n_features
            if instances.names is not None:
                self.feature_names_in_ = np.array(instances.names, dtype=object)
            elif hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            return instances
        known = getattr(self, "feature_names_in_", None)
        if known is not None and instances.names is not None:
            _check_names(tuple(known), instances.names)
        elif known is not None:
            warnings.warn(
                f"X does not have valid feature names, but {owner} was fitted with feature names",
                UserWarning,
                stacklevel=3,
            )
        elif instances.names is not None:
            warnings.warn(
                f"X has feature names, but {owner} was fitted without feature names",
                UserWarning,
                stacklevel=3,
            )
        if instances.n_features != self.n_features_in_:
            raise DataError(
                f"X has {instances.n_features} features, but {owner} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return instances


class Ranker(TableEstimator):
    """Base of the rankers; ``fit`` of a subclass sets ``model_`` and ``fitted_with_qid_``."""

    # Routed without being asked for: a ranker without its queries is another ranker.
    __metadata_request__fit = {"qid": True}  # noqa: RUF012
    __metadata_request__predict = {"qid": True}  # noqa: RUF012
    __metadata_request__score = {"qid": True}  # noqa: RUF012

    model_: AdditiveRanker
    fitted_with_qid_: bool
    n_jobs: int | None

    def predict(self, X: Any, qid: Any = None) -> Floats:
        """Score every row; scores are comparable within a query only.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        qid : array of shape (n_rows,), optional
            Query of every row. Stumps and features score a row by itself and do not look
            at it; a weak ranker of your own that sees whole queries asks for it.

        Returns
        -------
        scores : float64 array of shape (n_rows,)
        """
        check_is_fitted(self, "model_")
        instances = self._instances(X, reset=False)
        return self.model_.predict(
            instances, self._queries(self.model_, qid, instances.n_rows), n_jobs=self.n_jobs
        )

    def _queries(self, model: AdditiveRanker, qid: Any, n_rows: int) -> Groups | None:
        """The queries, for a model that looks at them."""
        if qid is None and (not model.needs_query or self.fitted_with_qid_):
            return None
        groups = Groups.from_qid(qid, n_rows)
        return groups if model.needs_query else None

    def rank(self, X: Any, qid: Any = None, *, ties: str = "min") -> Ints:
        """Position of every row in its query, 1 for the best.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        qid : array of shape (n_rows,), optional
            Query of every row; without, all rows are ranked together.
        ties : {"min", "first"}
            Equal scores share the best position, or stand in the order of their rows.
        """
        scores = self.predict(X, qid)
        return positions(scores, Groups.from_qid(qid, len(scores)), ties)

    def score(
        self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None, measure: Any = None
    ) -> float:
        """How well the ranking agrees with the labels; higher is better.

        Parameters
        ----------
        X, y : rows and their labels
        qid : array of shape (n_rows,), optional
            Required of a ranker that was fitted with one.
        sample_weight : array of shape (n_rows,), optional
            Weights of rows, for the default measure and others over pairs; rows of weight 0
            are left out.
        measure : str or Measure, optional
            Any measure by name, losses with their sign turned. Default: 1 - R2, the share
            of pairs in the right order with half of the ties, averaged over queries (the
            AUC for two labels).
        """
        check_is_fitted(self, "model_")
        if qid is None and self.fitted_with_qid_:
            raise NotRankedError(
                "score needs qid, since this ranker was fitted with one: scores of different "
                "queries cannot be compared. Call score(X, y, qid=...). Inside scikit-learn's "
                "GridSearchCV and its like, switch on what passes qid along: "
                "sklearn.set_config(enable_metadata_routing=True); crucial.cross_validate needs "
                "no switch."
            )
        scores = self.predict(X, qid)
        labels = check_labels(y, len(scores))
        groups = Groups.from_qid(qid, len(scores))
        weights = check_weights(sample_weight, len(scores))
        if measure is not None:
            chosen = get_measure(measure)
            value = float(chosen.prepare(labels, groups, sample_weight=weights)(scores))
            return value if chosen.higher_is_better else -value
        return 1.0 - _mean_r2(labels, scores, groups, weights)


def _mean_r2(labels: Floats, scores: Floats, groups: Groups, weights: Floats | None) -> float:
    """R2 averaged over the queries that have a pair."""
    from crucial.feedback.labels import LabelFeedback

    return LabelFeedback(labels, groups, weight=weights, balance="queries").r2(scores)


def _check_names(known: tuple[str, ...], given: tuple[str, ...]) -> None:
    """Refuse other names than those of fit, in scikit-learn's words."""
    if known == given:
        return
    lines = ["The feature names should match those that were passed during fit."]
    unseen = [name for name in given if name not in set(known)]
    missing = [name for name in known if name not in set(given)]
    for title, names in (
        ("Feature names unseen at fit time:", sorted(unseen)),
        ("Feature names seen at fit time, yet now missing:", sorted(missing)),
    ):
        if names:
            lines.append(title)
            lines += [f"- {name}" for name in names[:5]]
            lines += [f"- ... and {len(names) - 5} more"] if len(names) > 5 else []
    if not unseen and not missing:
        lines.append("Feature names must be in the same order as they were in fit.")
    raise DataError("\n".join(lines) + "\n")
