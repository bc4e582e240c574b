"""The description of a model, with the functions of features that trees of pairs add up to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crucial.inspection.pair_shapes import pair_shapes
from crucial.model.additive import AdditiveRanker, Shape
from crucial.model.base import FrozenModel
from crucial.model.describe import Description, FeatureSummary, describe, direction_of

__all__ = ["describe_with_pairs"]


def describe_with_pairs(model: FrozenModel, top: int = 10) -> Description:
    """Summarise a model as `crucial.model.describe.describe` does, trees of two features split.

    What one feature explains of a table of two is part of its function, over all combinations of
    steps. Where trees combine more features than two, those have no function of their own.

    Parameters
    ----------
    model : FrozenModel
    top : int
        Number of features to describe.
    """
    learned = describe(model, top)
    if not isinstance(model, AdditiveRanker) or model.tree_sums is None:
        return learned
    together = [features for features in model.tree_sums.by_features if len(features) > 1]
    if not together:
        return learned
    large = {f for features in together if len(features) > 2 for f in features}
    moved = pair_shapes(model)[1]
    features = tuple(_whole(one, moved.get(one.feature), large) for one in learned.features)
    return replace(learned, features=features)


def _whole(one: FeatureSummary, moved: Shape | None, large: set[int]) -> FeatureSummary:
    """Return the summary of a feature with its part of the pairs; none if it has no function."""
    if one.feature in large:
        return replace(one, shape=None, direction="")
    if moved is None:
        return one
    shape = one.shape
    if shape is None:
        shape = Shape(one.feature, None, np.zeros(0), np.zeros(1), 0.0)
    whole = shape + moved
    return replace(one, shape=whole, direction=direction_of(whole, one.ramps, one.rungs))
