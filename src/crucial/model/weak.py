"""Weak rankers of a model: what one round of boosting learned.

A weak ranker scores every row in [0, 1] (a weak classifier, in {-1, 1}) and defines the
score of rows on which its feature abstains (is missing, NaN), which a scaled feature may put
outside [0, 1]. Those here can be written to
a model file; any other object with a method ``scores(X, groups)`` can be part of a model
too, but not be saved.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from msgspec.structs import force_setattr

from crucial.model.checks import plain_bit, plain_index, plain_number
from crucial.model.frozen import FrozenRanker
from crucial.model.quasi_knn import QuasiKNN
from crucial.model.tree import Tree
from crucial.parameters import refuse
from crucial.types import Floats, Numbers

if TYPE_CHECKING:
    from crucial.data.groups import Groups

__all__ = [
    "Affine",
    "Constant",
    "Presence",
    "QuasiKNN",
    "ScaledFeature",
    "Stump",
    "Tree",
    "Vote",
    "WeakRanker",
    "WeakRankerLike",
]


@runtime_checkable
class WeakRankerLike(Protocol):
    """What a model needs of a weak ranker.

    A ranker that must see whole queries (because it ranks inside them) also has an
    attribute ``needs_query = True``; prediction then requires the queries.
    """

    def scores(self, X: Numbers, groups: Groups | None = None) -> Floats:
        """Return the score of every row."""


class Stump(FrozenRanker, frozen=True, tag="stump"):
    """1 above a threshold, 0 up to it (Freund et al. 2003, equation 9).

    Parameters
    ----------
    feature : int
        Number of the feature, from 0.
    threshold : float
        The score is 1 where the feature is greater, 0 where it is smaller or equal.
    default : int
        Score where the feature abstains: 0 or 1 (``q_def``).

    Examples
    --------
    >>> Stump(feature=0, threshold=2.5, default=1).scores(np.array([[2.0], [3.0], [np.nan]]))
    array([0., 1., 1.])
    """

    feature: int
    threshold: float
    default: int

    def __post_init__(self) -> None:
        force_setattr(self, "feature", plain_index("Stump", self.feature))
        force_setattr(self, "threshold", plain_number("Stump", "threshold", self.threshold))
        force_setattr(self, "default", plain_bit("Stump", self.default))

    def scores(self, X: Numbers, groups: Groups | None = None) -> Floats:
        """Return the score of every row."""
        x = X[:, self.feature].astype(np.float64)
        above = x > self.threshold
        return np.where(np.isnan(x), float(self.default), above)


class Presence(FrozenRanker, frozen=True, tag="presence"):
    """Whether the feature ranks the row at all.

    This is the stump whose threshold lies below (``default=0``) or above (``default=1``)
    every value: it separates the rows that are ranked from those that are not.

    Parameters
    ----------
    feature : int
        Number of the feature, from 0.
    default : int
        Score where the feature abstains: 0 or 1. All other rows score ``1 - default``.

    Examples
    --------
    >>> Presence(feature=0, default=0).scores(np.array([[2.0], [np.nan]]))
    array([1., 0.])
    """

    feature: int
    default: int

    def __post_init__(self) -> None:
        force_setattr(self, "feature", plain_index("Presence", self.feature))
        force_setattr(self, "default", plain_bit("Presence", self.default))

    def scores(self, X: Numbers, groups: Groups | None = None) -> Floats:
        """Return the score of every row."""
        missing = np.isnan(X[:, self.feature].astype(np.float64))
        return np.where(missing, float(self.default), float(1 - self.default))


class ScaledFeature(FrozenRanker, frozen=True, tag="scaled"):
    """The feature itself, scaled to [0, 1] and clipped.

    Parameters
    ----------
    feature : int
        Number of the feature, from 0.
    low, high : float
        The values that score 0 and 1; ``low < high``.
    default : float
        Score where the feature abstains; any finite number.

    Examples
    --------
    >>> half = ScaledFeature(feature=0, low=0.0, high=4.0, default=0.0)
    >>> half.scores(np.array([[1.0], [9.0], [np.nan]]))
    array([0.25, 1.  , 0.  ])
    """

    feature: int
    low: float
    high: float
    default: float

    def __post_init__(self) -> None:
        force_setattr(self, "feature", plain_index("ScaledFeature", self.feature))
        for name in ("low", "high", "default"):
            value = plain_number("ScaledFeature", name, getattr(self, name))
            force_setattr(self, name, value + 0.0)  # (which of both zeros is least depends on CPUs)
        if not self.low < self.high:
            raise refuse("ScaledFeature", "high", f"greater than low ({self.low!r})", self.high)

    @property
    def reach(self) -> float:
        """Largest absolute score."""
        return max(1.0, abs(self.default))

    @property
    def unit(self) -> float:
        """1, or 1/2 where ``high - low`` would overflow: then everything is halved first."""
        return 1.0 if math.isfinite(self.high - self.low) else 0.5

    def scores(self, X: Numbers, groups: Groups | None = None) -> Floats:
        """Return the score of every row."""
        # Clip first: then no difference exceeds high - low.
        x = np.clip(X[:, self.feature].astype(np.float64), self.low, self.high)
        low, high = self.low * self.unit, self.high * self.unit
        scaled = (x * self.unit - low) / (high - low)
        return np.where(np.isnan(scaled), self.default, scaled)


class Vote(FrozenRanker, frozen=True, tag="vote"):
    """A weak classifier: 1 where a stump scores 1, -1 where it scores 0.

    Parameters
    ----------
    ranker : Stump or Presence

    Examples
    --------
    >>> Vote(Stump(feature=0, threshold=2.5, default=1)).scores(np.array([[2.0], [3.0]]))
    array([-1.,  1.])
    """

    ranker: Stump | Presence

    def __post_init__(self) -> None:
        if not isinstance(self.ranker, Stump | Presence):
            raise refuse("Vote", "ranker", "a Stump or a Presence", self.ranker)

    @property
    def feature(self) -> int:
        """Number of the feature, from 0."""
        return self.ranker.feature

    @property
    def threshold(self) -> float:
        """The threshold of its stump; a Presence has none."""
        if isinstance(self.ranker, Presence):
            raise AttributeError("a vote on presence has no threshold")
        return self.ranker.threshold

    @property
    def default(self) -> int:
        """Score of the stump where the feature abstains, 0 or 1."""
        return self.ranker.default

    def scores(self, X: Numbers, groups: Groups | None = None) -> Floats:
        """Return the score of every row."""
        return 2.0 * self.ranker.scores(X) - 1.0


class Constant(FrozenRanker, frozen=True, tag="constant"):
    """1 for every row: its weight is an intercept, which changes no rank.

    With it among the hypotheses, AdaBoost minimises the objective of RankBoost (Rudin & Schapire
    2009, corollary 11).

    Examples
    --------
    >>> Constant().scores(np.array([[2.0], [np.nan]]))
    array([1., 1.])
    """

    def scores(self, X: Numbers, groups: Groups | None = None) -> Floats:
        """Return the score of every row."""
        return np.ones(len(X))


class Affine(FrozenRanker, frozen=True, tag="affine"):
    """What least squares made of a weak ranker h: ``intercept + slope * h(x)``.

    Boosting by regression fits a line to a feature, or two values to a stump, in every round.

    Parameters
    ----------
    ranker : Stump, Presence or ScaledFeature
        h.
    intercept, slope : float

    Examples
    --------
    >>> Affine(Stump(0, 2.5, 1), intercept=-0.5, slope=2.0).scores(np.array([[2.0], [3.0]]))
    array([-0.5,  1.5])
    """

    ranker: Stump | Presence | ScaledFeature
    intercept: float
    slope: float

    def __post_init__(self) -> None:
        if not isinstance(self.ranker, Stump | Presence | ScaledFeature):
            rule = "a Stump, a Presence or a ScaledFeature"
            raise refuse("Affine", "ranker", rule, self.ranker)
        for name in ("intercept", "slope"):
            force_setattr(self, name, plain_number("Affine", name, getattr(self, name)))

    @property
    def feature(self) -> int:
        """Number of the feature, from 0."""
        return self.ranker.feature

    @property
    def reach(self) -> float:
        """Largest absolute score, at least 1."""
        inner = getattr(self.ranker, "reach", 1.0)
        return max(1.0, abs(self.intercept) + abs(self.slope) * inner)

    @property
    def threshold(self) -> float:
        """The threshold of its stump; other rankers have none."""
        if not isinstance(self.ranker, Stump):
            raise AttributeError("only a stump has a threshold")
        return self.ranker.threshold

    def scores(self, X: Numbers, groups: Groups | None = None) -> Floats:
        """Return the score of every row."""
        return self.intercept + self.slope * self.ranker.scores(X)


WeakRanker = Stump | Presence | ScaledFeature | Vote | Constant | QuasiKNN | Tree | Affine
