"""What a scorecard is made of: a model that can be one, labels of two values, weights."""

from __future__ import annotations

import numpy as np

from crucial.data.arrays import check_sum
from crucial.errors import Argument, DataError, Message, NotRankedError
from crucial.feedback.labels import check_labels
from crucial.inspection.calibration import weight_unit
from crucial.inspection.parts import additive_model
from crucial.measures.lists import as_numbers
from crucial.model.additive import AdditiveRanker
from crucial.types import Floats, VectorLike

__all__ = ["card_model", "check_classes", "good_words", "row_weights", "two_labels"]


def card_model(ranker: object, names: tuple[str, ...] | None = None) -> AdditiveRanker:
    """Return the model of a ranker that can be a scorecard; refuse others.

    Parameters
    ----------
    ranker : fitted estimator or AdditiveRanker
    names : tuple of str, optional
        Names of the features, for a model that has none.

    Raises
    ------
    NotRankedError
        The ranker is no sum of functions of one feature; the error names what to train instead.
    DataError
        The ranker was trained with queries.
    """
    instead = (
        "Train a sum of functions of one feature: RankBoost, PNormPush, LogisticRanker, or boosted "
        "trees with interactions=1"
    )
    try:
        model = additive_model(ranker, "a scorecard", names=names)
    except NotRankedError as error:
        raise NotRankedError(f"{str(error).split('. ')[0]}. {instead}.") from None
    if model.training.get("with_qid") is True:
        raise DataError(
            "a scorecard needs scores that can be compared over all rows, and the ranker was "
            "trained with queries. Train it without qid."
        )
    return model


def two_labels(y: VectorLike, n_rows: int, good_from: float | None) -> Floats:
    """Return 1 for rows of the higher label, 0 for the others."""
    labels = check_labels(y, n_rows)
    if good_from is not None:
        return np.asarray((labels >= good_from).astype(np.float64))
    values = np.unique(labels)
    if len(values) > 2:
        raise DataError(
            f"a scorecard needs labels of two values. Got {len(values)}, from {values[0]:g} to "
            f"{values[-1]:g}.",
            remedy=Message(
                "Set ", Argument("good_from"), " to the lowest label that counts as the higher one."
            ),
        )
    return np.asarray((labels == values[-1]).astype(np.float64)) * (len(values) > 1)


def row_weights(sample_weight: VectorLike | None, n_rows: int) -> tuple[Floats, float]:
    """Return the weights of the rows, divided by a unit close to their mean, and the unit."""
    if sample_weight is None:
        return np.ones(n_rows), 1.0
    weight = as_numbers(sample_weight, "sample_weight", n_rows)
    if (weight < 0).any():
        raise DataError("scorecard: sample_weight must not be negative.")
    check_sum(weight, "sample_weight")
    unit = weight_unit(weight) if weight.any() else 1.0
    return weight / unit, unit


def check_classes(labels: Floats, weight: Floats) -> None:
    """Refuse rows of one label."""
    if not (weight[labels > 0].sum() > 0 and weight[labels == 0].sum() > 0):
        raise DataError(
            "a scorecard needs good and bad rows to fit odds. Got rows of one label only."
        )


def good_words(y: VectorLike, labels: Floats, low_is_good: bool, good_from: float | None) -> str:
    """Return which labels are good."""
    if good_from is not None:
        return f"label below {good_from:g}" if low_is_good else f"label {good_from:g} or more"
    given = check_labels(y, len(labels))
    value = float(given[labels == (0.0 if low_is_good else 1.0)][0])
    return f"label {value:g}"
