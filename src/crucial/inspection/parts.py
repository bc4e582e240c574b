"""Scores of additive rankers, split into what each feature adds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crucial.data.instances import Instances
from crucial.errors import NotRankedError
from crucial.inspection.pipelines import with_names
from crucial.model.additive import AdditiveRanker, Shape
from crucial.model.base import FrozenModel
from crucial.model.weak import Constant, Presence, ScaledFeature, Stump, Tree, Vote
from crucial.types import Floats, Ints

__all__ = ["FeatureParts", "additive_model", "feature_parts", "model_of", "step_of"]


_ALTERNATIVE = "importances(ranker, X, y, kind='permutation') works for every ranker that predicts"
_OF_TREES = "why(ranker, X, a, b) explains the order of two items in any trees"


def model_of(ranker: object) -> object:
    """Return the model of a fitted estimator; anything else as it is."""
    if not isinstance(ranker, FrozenModel) and hasattr(ranker, "fit"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(ranker)
    return getattr(ranker, "model_", ranker)


def additive_model(
    ranker: object,
    what: str,
    *,
    features: int | None = 1,
    names: tuple[str, ...] | None = None,
) -> AdditiveRanker:
    """Return a ranker as a sum of functions of one feature each.

    Parameters
    ----------
    ranker : AdditiveRanker or fitted estimator
    what : str
        The caller, for the error.
    features : int or None
        Most features that one weak ranker may combine; None for any number.
    names : tuple of str, optional
        Names of the features, for a model that has none.

    Raises
    ------
    NotRankedError
        The ranker is not such a sum: its score cannot be split exactly.
    """
    model = model_of(ranker)
    if not isinstance(model, AdditiveRanker):
        raise NotRankedError(
            f"{what} splits the scores of additive rankers, and {type(ranker).__name__} is none: "
            f"what its features do together has no exact parts. {_ALTERNATIVE}."
        )
    for number, (weak, _) in enumerate(model.weighted()):
        if isinstance(weak, Tree):
            combined = len(set(weak.features))
            if features is not None and combined > features:
                raise NotRankedError(
                    f"{what} needs trees of at most {features} feature{'s' * (features > 1)}, and "
                    f"that of round {number + 1} combines {combined}. {_OF_TREES}; to train a "
                    f"ranker that can be split, set interactions={features}."
                )
            continue
        if not isinstance(weak, Stump | Presence | ScaledFeature | Vote | Constant):
            raise NotRankedError(
                f"{what} needs weak rankers of one feature each, and round {number + 1} is a "
                f"{type(weak).__name__}, no function of one feature's value. {_ALTERNATIVE}."
            )
    return with_names(model, names)


def step_of(shape: Shape, column: NDArray[np.generic]) -> Ints:
    """Return the number of the step of each value; one after the last where it is missing.

    Examples
    --------
    >>> shape = Shape(0, None, np.array([1.0]), np.array([0.0, 2.0]), 0.5)
    >>> step_of(shape, np.array([1.0, 1.5, np.nan])).tolist()
    [0, 1, 2]
    """
    values = column.astype(np.float64)
    return np.where(np.isnan(values), len(shape.values), shape.thresholds.searchsorted(values))


@dataclass(frozen=True, eq=False)
class FeatureParts:
    """What each used feature adds to the score of each row.

    Attributes
    ----------
    features : int64 array of shape (n_used,)
        Numbers of the used features, ascending.
    columns : float64 array of shape (n_rows, n_used)
        Values of the features; NaN where one is missing.
    added : float64 array of the same shape
        What they add. For stumps, the sum of a row from left to right is its score to the last
        bit. The intercept of constants, the same for all rows, is not included.
    """

    features: Ints
    columns: Floats
    added: Floats


def feature_parts(model: AdditiveRanker, instances: Instances) -> FeatureParts:
    """Split the scores of all rows of a model that `additive_model` returned."""
    shapes = model.shapes()
    ramps: dict[int, dict[ScaledFeature, float]] = {}
    for weak, weight in model.weighted():
        if isinstance(weak, ScaledFeature):
            of_feature = ramps.setdefault(weak.feature, {})
            of_feature[weak] = of_feature.get(weak, 0.0) + weight
    used = sorted({*shapes, *ramps})
    columns = np.empty((instances.n_rows, len(used)))
    added = np.zeros((instances.n_rows, len(used)))
    for slot, feature in enumerate(used):
        column = columns[:, slot] = instances.column(feature)
        if feature in shapes:
            shape = shapes[feature]
            added[:, slot] = np.append(shape.values, shape.missing)[step_of(shape, column)]
        for weak, weight in ramps.get(feature, {}).items():
            alone = ScaledFeature(0, weak.low, weak.high, weak.default)
            added[:, slot] += weight * alone.scores(columns[:, slot : slot + 1])
    return FeatureParts(np.array(used, np.int64), columns, added)
