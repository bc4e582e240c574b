"""Scorers for scikit-learn's searches and cross-validation, by the names of measures."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from sklearn.utils.metadata_routing import MetadataRequest

from crucial.errors import DataWarning
from crucial.inspection.shape_functions import inner_ranker
from crucial.lab.adapter import Adapter, Estimator
from crucial.measures.evaluation import agreement_score
from crucial.measures.names import MeasureLike, get_measure
from crucial.parameters import lookup
from crucial.rankers.base import warn_caller
from crucial.types import TableLike, VectorLike

__all__ = ["RankingScorer", "make_scorer"]

_HOW = (
    "Switch on scikit-learn's metadata routing, sklearn.set_config(enable_metadata_routing=True), "
    "and pass the queries: search.fit(X, y, qid=qid), or params={'qid': qid} of cross_val_score. "
    "cv=GroupKFold(5).set_split_request(groups='qid') keeps queries whole."
)


class RankingScorer:
    """A measure as scikit-learn's searches call it; `make_scorer` makes it.

    Losses are negated, so that more is better. ``qid`` is requested by scikit-learn's metadata
    routing without being asked for; ``sample_weight`` is, after
    ``set_score_request(sample_weight=True)``.

    Attributes
    ----------
    measure : Measure
    """

    def __init__(self, measure: MeasureLike) -> None:
        self.measure = get_measure(measure)
        self._request: dict[str, bool | str | None] = {"qid": True, "sample_weight": None}
        self._warned = False  # (once per scorer: scikit-learn repeats the warnings of all folds)

    def __call__(
        self,
        estimator: Estimator,
        X: TableLike,
        y: VectorLike,
        *,
        qid: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> float:
        """Measure a fitted estimator on rows; NaN, with a warning, where it needs their queries.

        Parameters
        ----------
        estimator : fitted estimator
            A ranker, a pipeline around one, or a regressor or classifier to rank by.
        X, y : rows and their labels
        qid : array of shape (n_rows,), optional
        sample_weight : array of shape (n_rows,), optional
            Weights of rows, for measures over pairs.
        """
        name = self.measure.name
        if qid is None and getattr(inner_ranker(estimator).ranker, "fitted_with_qid_", False):
            self._warn(
                f"{name} is NaN: the ranker was fitted with queries, and qid was not routed."
            )
            return math.nan
        if qid is None and self.measure.depth is not None:
            self._warn(f"qid was not routed to {name}: all rows of a fold are one list.")
        scores = Adapter.of(estimator, qid is not None, False).scores(
            X, None if qid is None else np.asarray(qid)
        )
        return agreement_score(scores, y, qid, sample_weight, self.measure)

    def _warn(self, problem: str) -> None:
        if not self._warned:
            warn_caller(f"{problem} {_HOW}", DataWarning)
        self._warned = True

    def get_metadata_routing(self) -> Any:
        """Return what scikit-learn's metadata routing passes on to the scorer."""
        request = MetadataRequest(owner=self)
        for name, wanted in self._request.items():
            request.score.add_request(param=name, alias=wanted)
        return request

    def set_score_request(self, **requests: bool | str | None) -> Self:
        """Change what is requested: True, False, None (an error if passed), or another name.

        Parameters
        ----------
        **requests
            ``qid`` and ``sample_weight``.
        """
        for name, wanted in requests.items():
            lookup(self._request, name, "metadata of a scorer")
            self._request[name] = wanted
        return self

    def __repr__(self) -> str:
        return f"make_scorer({self.measure.name!r})"


def make_scorer(measure: MeasureLike = "ndcg@10") -> RankingScorer:
    """Return a scorer for ``scoring=`` of GridSearchCV, cross_val_score and their like.

    Parameters
    ----------
    measure : str, Measure or callable
        Names as in `crucial.measures.names`. Losses are negated.

    Returns
    -------
    RankingScorer

    Examples
    --------
    >>> import sklearn
    >>> from sklearn.model_selection import GridSearchCV, GroupKFold
    >>> from crucial import RankBoost, make_letor
    >>> data = make_letor(n_queries=12, docs_per_query=20, n_features=4)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     search = GridSearchCV(
    ...         RankBoost(n_estimators=5),
    ...         {"learning_rate": [0.1, 1.0]},
    ...         scoring=make_scorer("ndcg@10"),
    ...         cv=GroupKFold(3).set_split_request(groups="qid"),
    ...     ).fit(data.X, data.y, qid=data.qid)
    >>> bool(0.0 < search.best_score_ < 1.0)
    True
    """
    return RankingScorer(measure)
