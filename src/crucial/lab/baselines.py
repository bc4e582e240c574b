"""Two baselines that every ranker should beat."""

from __future__ import annotations

from typing import Self

import numpy as np
from sklearn.base import BaseEstimator

from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.feedback.labels import LabelFeedback, check_labels
from crucial.types import Floats, TableLike, VectorLike

__all__ = ["BestFeature", "RandomOrder"]


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
