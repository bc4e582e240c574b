"""The ranker inside a pipeline or a search, and the rows and names as they arrive there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from crucial.model.base import FrozenModel
from crucial.types import TableLike

__all__ = ["InnerRanker", "inner_ranker", "with_names"]

Model = TypeVar("Model", bound=FrozenModel)


@dataclass(frozen=True, eq=False)
class InnerRanker:
    """The ranker that a pipeline or a search ends with.

    Attributes
    ----------
    ranker : object
        The ranker itself; what was passed where there is nothing around it.
    before : tuple of pipelines
        Fitted steps in front of it.
    names : tuple of str, or None
        Names of the features as they arrive at the ranker, where the steps have names for them.
    """

    ranker: object
    before: tuple[Any, ...] = ()
    names: tuple[str, ...] | None = None

    def rows(self, X: TableLike) -> TableLike:
        """Return rows as they arrive at the ranker."""
        for steps in self.before:
            X = steps.transform(X)
        return X


def inner_ranker(ranker: object) -> InnerRanker:
    """Return the last step of a pipeline, and the best one of a search; anything else as it is.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from crucial import RankBoost
    >>> pipeline = make_pipeline(StandardScaler(), RankBoost(n_estimators=2))
    >>> found = inner_ranker(pipeline.fit([[1.0], [2.0]], [0, 1]))
    >>> found.ranker, found.names
    (RankBoost(n_estimators=2), ('x0',))
    """
    before: list[Any] = []
    names: Sequence[str] | None = None
    while True:
        if hasattr(ranker, "best_estimator_"):
            ranker = ranker.best_estimator_
        elif hasattr(ranker, "steps") and hasattr(ranker, "named_steps"):
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(ranker)
            pipeline: Any = ranker
            if len(pipeline.steps) > 1:
                before.append(pipeline[:-1])
                names = _names_out(pipeline[:-1], names)
            ranker = pipeline.steps[-1][1]
        else:
            return InnerRanker(ranker, tuple(before), None if names is None else tuple(names))


def _names_out(steps: Any, names: Sequence[str] | None) -> Sequence[str] | None:
    """Return what fitted steps call their columns; None where one of them has no names."""
    try:
        found = (
            steps.get_feature_names_out() if names is None else steps.get_feature_names_out(names)
        )
    except (AttributeError, ValueError):
        return None
    return [str(name) for name in found]


def with_names(model: Model, names: tuple[str, ...] | None) -> Model:
    """Return a model without names of its features with these names; others as they are."""
    if names is None or model.feature_names is not None or len(names) != model.n_features:
        return model
    return replace(model, feature_names=names)
