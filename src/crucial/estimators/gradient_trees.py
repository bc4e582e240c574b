"""Parameters of estimators whose weak rankers are trees, and the learner they describe."""

from __future__ import annotations

import math

from crucial.boosting.tree_growth import TreeLimits
from crucial.boosting.trees import Sampling, TreeLearner
from crucial.data.instances import Instances
from crucial.errors import ParameterError
from crucial.estimators.shared import Binned, Seeded
from crucial.parameters import (
    at_least,
    between,
    flag,
    int_between,
    none_or,
    one_of,
    parameter,
    with_parameters,
)
from crucial.types import Floats

__all__ = ["GradientTrees", "Trees"]


@with_parameters
class Trees(Seeded):
    """Estimators whose weak rankers may be trees grown on gradient and curvature."""

    max_leaves: int = parameter(
        at_least(2),
        "Leaves of a tree, grown where they gain most.",
        default=8,
        grid=(2, 4, 8, 31),
    )
    max_depth: int | None = parameter(
        none_or(at_least(1)), "Depth of a tree; None for any.", default=None
    )
    symmetric: bool = parameter(
        flag,
        "Split all leaves of a level by the same test, as CatBoost does: log2(max_leaves) tests "
        "per tree, each chosen by all rows. Such trees bear more leaves on little data.",
        default=False,
    )
    min_rows: float = parameter(
        between(0, math.inf), "Least weight of the rows of a leaf.", default=20.0
    )
    l2: float | None = parameter(
        between(0, math.inf),
        "Makes the values of leaves smaller, small leaves most: curvature that every leaf has "
        "beside that of its rows, in average rows.",
        default=1.0,
        grid=(0.0, 1.0, 10.0),
    )
    interactions: int | None = parameter(
        one_of(None, 1, 2),
        "Most features of one tree: 1 makes a sum of functions of one feature each, 2 of one and "
        "two features, None has no limit.",
        default=None,
    )
    max_pairs: int | None = parameter(
        none_or(at_least(0)),
        "With interactions=2: most pairs of features, those whose trees gain most in a trial of "
        "100 rounds with all pairs. Bags share theirs; 0 is interactions=1.",
        default=None,
    )
    subsample_rows: float = parameter(
        between(0, 1, low_open=True), "Share of the rows that each tree is grown on.", default=1.0
    )
    max_features: float = parameter(
        between(0, 1, low_open=True), "Share of the features that each tree may use.", default=1.0
    )

    def _limits(self, max_leaves: int | None = None) -> TreeLimits:
        """Return how far a tree grows; ``max_leaves`` replaces the parameter."""
        if self.max_pairs is not None and self.interactions != 2:
            raise ParameterError(
                f"{type(self).__name__}: max_pairs limits the pairs of features of trees with "
                f"interactions=2, and interactions is {self.interactions}. Set interactions=2, or "
                "leave max_pairs at None."
            )
        return TreeLimits(
            self.max_leaves if max_leaves is None else max_leaves,
            self.max_depth,
            self.min_rows,
            self._leaf_l2(),
            self.interactions,
            self.max_pairs,
            self.symmetric,
        )

    def _remedy(self, instances: Instances, weight: Floats | None) -> str:
        """Return what would help where no tree could be grown."""
        if weight is not None and weight.sum() < 2 * self.min_rows <= instances.n_rows:
            return (
                f" The weights of the rows add up to {weight.sum():.3g}, and two leaves need "
                f"min_rows={self.min_rows:g} each: multiply the weights, or set min_rows lower."
            )
        if 2 * self.min_rows <= instances.n_rows:
            return ""
        return (
            f" {instances.n_rows:,} rows do not fill two leaves of min_rows={self.min_rows:g}: set "
            "min_rows lower."
        )

    def _leaf_l2(self) -> float:
        """Return the curvature that every leaf has beside that of its rows."""
        assert self.l2 is not None
        return self.l2

    def _sampling(self, seed: int) -> Sampling:
        """Return what a tree sees of the data."""
        return Sampling(self.subsample_rows, self.max_features, seed)


@with_parameters
class GradientTrees(Trees, Binned):
    """Estimators whose weak rankers are trees grown on gradient and curvature."""

    max_bins: int = parameter(int_between(2, 255), "Bins per feature.", default=255)

    def _tree_learner(self, seed: int, max_leaves: int | None = None) -> TreeLearner:
        """Make the learner of trees; ``max_leaves`` replaces the parameter."""
        return TreeLearner(self._limits(max_leaves), self.max_bins, self._sampling(seed))
