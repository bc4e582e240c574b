"""A score as a sum over features: what each of them adds to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.instances import Instances
from crucial.errors import NotRankedError
from crucial.model.additive import AdditiveRanker
from crucial.model.shape import Shape
from crucial.model.weak import Constant, Presence, ScaledFeature, Stump, Vote
from crucial.types import Floats, Ints

__all__ = ["Parts", "additive_model", "feature_parts", "step_of"]


_ALTERNATIVE = "importances(ranker, X, y, kind='permutation') works for every ranker that predicts"


def additive_model(ranker: Any, what: str) -> AdditiveRanker:
    """The sum of functions of one feature each that a ranker is.

    Parameters
    ----------
    ranker : AdditiveRanker or fitted estimator
    what : str
        Who asks, for the error.

    Raises
    ------
    NotRankedError
        The ranker is no such sum: its score cannot be split exactly.
    """
    if not isinstance(ranker, AdditiveRanker) and hasattr(ranker, "fit"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(ranker)
    model = getattr(ranker, "model_", ranker)
    if not isinstance(model, AdditiveRanker):
        raise NotRankedError(
            f"{what} splits the scores of additive rankers, and {type(ranker).__name__} is none: "
            f"what its features do together has no exact parts. {_ALTERNATIVE}."
        )
    for number, weak in enumerate(model.rankers):
        if not isinstance(weak, Stump | Presence | ScaledFeature | Vote | Constant):
            raise NotRankedError(
                f"{what} needs weak rankers of one feature each, and round {number + 1} is a "
                f"{type(weak).__name__}, no function of one feature's value. {_ALTERNATIVE}."
            )
    return model


def step_of(shape: Shape, column: NDArray[Any]) -> Ints:
    """Number of the step that each value is on; one after the last where it is missing.

    Examples
    --------
    >>> shape = Shape(0, None, np.array([1.0]), np.array([0.0, 2.0]), 0.5)
    >>> step_of(shape, np.array([1.0, 1.5, np.nan])).tolist()
    [0, 1, 2]
    """
    found = shape.thresholds.searchsorted(column.astype(np.float64))
    return np.where(np.isnan(column), len(shape.values), found)


@dataclass(frozen=True, eq=False)
class Parts:
    """What every used feature adds to the score of every row.

    Attributes
    ----------
    features : int64 array of shape (n_used,)
        Numbers of the used features, ascending.
    columns : float64 array of shape (n_rows, n_used)
        Their values; NaN where a feature abstains.
    added : float64 array of the same shape
        What they add. For stumps, adding a row from left to right gives its score to the
        last bit. The intercept of constants, the same for all rows, is not among it.
    """

    features: Ints
    columns: Floats
    added: Floats


def feature_parts(model: AdditiveRanker, instances: Instances) -> Parts:
    """Split the scores of all rows; the model is one that `additive_model` gave."""
    shapes = model.shapes()
    ramps: dict[int, dict[ScaledFeature, float]] = {}
    for weak, weight in zip(model.rankers, model.weights, strict=True):
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
    return Parts(np.array(used, np.int64), columns, added)
