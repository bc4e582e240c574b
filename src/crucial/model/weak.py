"""Weak rankers, frozen: what one round of boosting learned.

A weak ranker gives every instance a score in [0, 1] (a weak classifier, in {-1, 1}) and
says what an instance gets on which its feature abstains (is missing, NaN). Those here can
be written to a model file; any other object with a method ``scores(X, groups)`` can take
part in a model too, but not be saved.
"""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import msgspec
import numpy as np
from msgspec.structs import force_setattr
from numpy.typing import NDArray

from crucial.model.quasi_knn import QuasiKNN
from crucial.parameters import refuse
from crucial.types import Floats

if TYPE_CHECKING:
    from crucial.data.groups import Groups

__all__ = [
    "Constant",
    "Presence",
    "QuasiKNN",
    "ScaledFeature",
    "Stump",
    "Vote",
    "WeakRanker",
    "WeakRankerLike",
]


@runtime_checkable
class WeakRankerLike(Protocol):
    """What a model asks of a weak ranker.

    A ranker that must see whole queries (one that ranks inside a query, say) also has
    an attribute ``needs_query = True``; prediction then asks for the queries.
    """

    def scores(self, X: NDArray[Any], groups: Groups | None = None) -> Floats:
        """Score every row of ``X``."""
        ...


def _plain_index(owner: str, value: Any) -> int:
    """Feature number as a plain int (NumPy's are taken, True is not)."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 0:
        raise refuse(owner, "feature", "the number of a feature, counted from 0", value)
    return int(value)


def _plain_number(owner: str, name: str, value: Any) -> float:
    """Finite number as a plain float."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not math.isfinite(value):
        raise refuse(owner, name, "a finite number", value)
    return float(value)


def _plain_bit(owner: str, value: Any) -> int:
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value not in (0, 1):
        raise refuse(owner, "default", "0 or 1", value)
    return int(value)


class Stump(msgspec.Struct, frozen=True, tag_field="kind", tag="stump", forbid_unknown_fields=True):
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
    needs_query: ClassVar[bool] = False

    def __post_init__(self) -> None:
        force_setattr(self, "feature", _plain_index("Stump", self.feature))
        force_setattr(self, "threshold", _plain_number("Stump", "threshold", self.threshold))
        force_setattr(self, "default", _plain_bit("Stump", self.default))

    def scores(self, X: NDArray[Any], groups: Groups | None = None) -> Floats:
        """Score every row of ``X``."""
        x = X[:, self.feature].astype(np.float64)
        above = x > self.threshold
        return np.where(np.isnan(x), float(self.default), above)


class Presence(
    msgspec.Struct, frozen=True, tag_field="kind", tag="presence", forbid_unknown_fields=True
):
    """Whether the feature ranks the instance at all.

    This is the stump whose threshold lies below (``default=0``) or above (``default=1``)
    every value: it separates what is ranked from what is abstained on.

    Parameters
    ----------
    feature : int
        Number of the feature, from 0.
    default : int
        Score where the feature abstains: 0 or 1. What is ranked scores ``1 - default``.

    Examples
    --------
    >>> Presence(feature=0, default=0).scores(np.array([[2.0], [np.nan]]))
    array([1., 0.])
    """

    feature: int
    default: int
    needs_query: ClassVar[bool] = False

    def __post_init__(self) -> None:
        force_setattr(self, "feature", _plain_index("Presence", self.feature))
        force_setattr(self, "default", _plain_bit("Presence", self.default))

    def scores(self, X: NDArray[Any], groups: Groups | None = None) -> Floats:
        """Score every row of ``X``."""
        missing = np.isnan(X[:, self.feature].astype(np.float64))
        return np.where(missing, float(self.default), float(1 - self.default))


class ScaledFeature(
    msgspec.Struct, frozen=True, tag_field="kind", tag="scaled", forbid_unknown_fields=True
):
    """The feature itself, brought to [0, 1] and cut off there.

    Parameters
    ----------
    feature : int
        Number of the feature, from 0.
    low, high : float
        The values that score 0 and 1; ``low < high``.
    default : float
        Score where the feature abstains, in [0, 1].

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
    needs_query: ClassVar[bool] = False

    def __post_init__(self) -> None:
        force_setattr(self, "feature", _plain_index("ScaledFeature", self.feature))
        for name in ("low", "high", "default"):
            value = _plain_number("ScaledFeature", name, getattr(self, name))
            force_setattr(self, name, value)
        if not self.low < self.high:
            raise refuse("ScaledFeature", "high", f"greater than low ({self.low!r})", self.high)
        if not 0.0 <= self.default <= 1.0:
            raise refuse("ScaledFeature", "default", "a number in [0, 1]", self.default)

    @property
    def unit(self) -> float:
        """1, or 1/2 where ``high - low`` would overflow: half of everything scales alike."""
        return 1.0 if math.isfinite(self.high - self.low) else 0.5

    def scores(self, X: NDArray[Any], groups: Groups | None = None) -> Floats:
        """Score every row of ``X``."""
        # Cut off first: then no difference exceeds high - low.
        x = np.clip(X[:, self.feature].astype(np.float64), self.low, self.high)
        low, high = self.low * self.unit, self.high * self.unit
        scaled = (x * self.unit - low) / (high - low)
        return np.where(np.isnan(scaled), self.default, scaled)


class Vote(msgspec.Struct, frozen=True, tag_field="kind", tag="vote", forbid_unknown_fields=True):
    """A weak classifier: 1 where a stump says 1, -1 where it says 0.

    Parameters
    ----------
    ranker : Stump or Presence

    Examples
    --------
    >>> Vote(Stump(feature=0, threshold=2.5, default=1)).scores(np.array([[2.0], [3.0]]))
    array([-1.,  1.])
    """

    ranker: Stump | Presence
    needs_query: ClassVar[bool] = False

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
        """What the stump says where the feature abstains, 0 or 1."""
        return self.ranker.default

    def scores(self, X: NDArray[Any], groups: Groups | None = None) -> Floats:
        """Score every row of ``X``."""
        return 2.0 * self.ranker.scores(X) - 1.0


class Constant(
    msgspec.Struct, frozen=True, tag_field="kind", tag="constant", forbid_unknown_fields=True
):
    """1 for every instance: its weight is an intercept, which moves no rank.

    With it among the hypotheses, AdaBoost minimises what RankBoost does (Rudin & Schapire
    2009, corollary 11).

    Examples
    --------
    >>> Constant().scores(np.array([[2.0], [np.nan]]))
    array([1., 1.])
    """

    needs_query: ClassVar[bool] = False

    def scores(self, X: NDArray[Any], groups: Groups | None = None) -> Floats:
        """Score every row of ``X``."""
        return np.ones(len(X))


WeakRanker = Stump | Presence | ScaledFeature | Vote | Constant | QuasiKNN
