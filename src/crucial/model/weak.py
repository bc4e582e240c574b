"""Weak rankers of a model: stumps, features, trees, quasi-KNN rankings, ranks inside queries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

import msgspec
import numpy as np
from msgspec.structs import force_setattr, replace

from crucial.kernels.predict import rank_rows
from crucial.model.base import plain_bit, plain_index, plain_number
from crucial.parameters import refuse
from crucial.types import Floats, Ints, Numbers

if TYPE_CHECKING:
    from crucial.data.groups import Groups


# --- The base of the weak rankers that a model file can hold


class FrozenRanker(msgspec.Struct, frozen=True, tag_field="kind", forbid_unknown_fields=True):
    """A weak ranker that is written with its kind and read with every field checked."""

    #: Whether the score of a row depends on the other rows of its query.
    needs_query: ClassVar[bool] = False


# --- Ranks inside queries, of values as they are or cut into regions


# Values this close to the half way between two centres, as a share of the centres' distance and of
# their size, are halfway.
_HALFWAY = 1e-10
_ROUNDING = 4 * 2.0**-52


@dataclass(frozen=True, eq=False)
class Regions:
    """The real line, cut into regions that are ranked one above the other.

    Attributes
    ----------
    cuts : ascending float64 array
        Region ``g`` has the values that are greater than exactly ``g`` of them.
    by_interval : int64 array
        The regions, lowest ranked first.
    direction : float64 array over the regions
        1 where larger values rank higher inside it, -1 where smaller do, 0 where none does.
    """

    cuts: Floats
    by_interval: Ints
    direction: Floats

    @classmethod
    def around(cls, centres: Sequence[float | None]) -> Regions:
        """Return the regions of the values nearest to each centre (Wang et al., equations 6-8).

        The later a centre is in the list, the higher its region ranks. Inside a region, values
        rank in the direction from the previous centre to its own; in the first, from its own
        to the next different one. A value halfway between two centres belongs to the
        earlier one, and so does everything where two centres are equal. Halfway are the values
        that are halfway but for rounding, 1e-10 of the distance of the centres.

        Examples
        --------
        >>> regions = Regions.around([0.6, 0.3])
        >>> regions.by_interval.tolist(), regions.direction.tolist()
        ([1, 0], [-1.0, -1.0])
        """
        known = [(k, c) for k, c in enumerate(centres) if c is not None]
        if not known:
            raise ValueError("there is no centre")
        values = [c for _, c in known]
        steps = [float(np.sign(b - a)) for a, b in pairwise(values)]
        first = next((step for step in steps if step != 0.0), 0.0)
        toward = [first, *steps]
        # Equal centres: a sort that keeps the order leaves the earliest in front.
        order = sorted(range(len(known)), key=lambda at: values[at])
        kept = [
            at
            for place, at in enumerate(order)
            if place == 0 or values[at] != values[order[place - 1]]
        ]
        cuts = []
        for left, right in pairwise(kept):
            cuts.append(_cut(values[left], values[right], left < right))
        return cls(
            np.array(cuts, np.float64),
            np.argsort(kept, kind="stable").astype(np.int64),
            np.array([toward[at] for at in kept]),
        )


def _cut(left: float, right: float, left_is_earlier: bool) -> float:
    """Return the cut between two centres; a value half way belongs to the earlier one."""
    half = left / 2 + right / 2  # (their sum could overflow)
    slack = _HALFWAY * (right / 2 - left / 2) + _ROUNDING * max(abs(left), abs(right))
    if left_is_earlier:
        return min(half + slack, float(np.nextafter(right, -np.inf)))
    return max(half - slack, left)


#: No cuts: larger values rank higher.
UPWARD = Regions(np.zeros(0), np.zeros(1, np.int64), np.ones(1))


def middle_positions(
    values: Floats,
    starts: Ints,
    regions: Regions = UPWARD,
    weight: Floats | None = None,
    threads: int = 1,
) -> Floats:
    """Return the middle of the positions of every row in its query; 0.5 for the lowest.

    Parameters
    ----------
    values : float64 array, rows query after query
        NaN where a row is not ranked: such rows are at the middle of their query.
    starts : int64 array of shape (n_queries + 1,)
        Query ``q`` is rows ``starts[q]:starts[q + 1]``.
    regions : Regions
    weight : array like values, optional
        A row of weight 2 takes two positions.
    threads : int
        They share out queries and cannot change a result.

    Examples
    --------
    >>> middle_positions(np.array([3.0, 1.0, np.nan, 2.0, 2.0]), np.array([0, 3, 5])).tolist()
    [2.5, 0.5, 1.5, 1.0, 1.0]
    """
    weight = np.zeros(0) if weight is None else weight
    cuts = (regions.cuts, regions.by_interval, regions.direction)
    with np.errstate(over="ignore"):  # (shares of rows of hardly any weight are cut off at 1)
        return rank_rows(values, weight, cuts, starts, threads)


# --- The quasi-KNN weak ranker of a model: interval centres of one feature


MAX_INTERVALS = 65535
_CENTRES = "finite numbers, or None"


class QuasiKNN(FrozenRanker, frozen=True, tag="quasi_knn"):
    """Rank the rows of a query by the interval whose centre is nearest (Wang et al., 3.2).

    A row in a higher interval ranks above one in a lower; inside an interval rows rank by
    their values, in the direction from the centre of the interval below to its own. With
    two intervals that is the plain ranking by the feature, upwards or downwards.

    A row on which the feature abstains ranks at the middle of its query. The rows that it
    does rank keep their order, half of them above the middle and half below.

    Parameters
    ----------
    feature : int
        Number of the feature, from 0.
    centres : sequence of float or None
        One per interval, least relevant first; None for an interval without a value.

    Examples
    --------
    Centres 0.6 and then 0.3: smaller is better (the example after equation 8).

    >>> from crucial.data.groups import Groups
    >>> ranker = QuasiKNN(feature=0, centres=(0.6, 0.3))
    >>> ranker.ranks(np.array([[0.5], [0.4], [0.9]]), Groups.single(3)).tolist()
    [2.0, 3.0, 1.0]
    >>> ranker.scores(np.array([[0.5], [0.4], [0.9]]), Groups.single(3)).tolist()
    [0.5, 1.0, 0.0]
    """

    feature: int
    centres: tuple[float | None, ...]
    needs_query: ClassVar[bool] = True

    def __post_init__(self) -> None:
        force_setattr(self, "feature", plain_index("QuasiKNN", self.feature))
        centres = tuple(
            None if one is None else plain_number("QuasiKNN", "centres", one, _CENTRES)
            for one in self.centres
        )
        if not 2 <= len(centres) <= MAX_INTERVALS:
            rule = f"2 to {MAX_INTERVALS} numbers, one per interval"
            raise refuse("QuasiKNN", "centres", rule, f"{len(centres)} of them")
        if all(one is None for one in centres):
            raise refuse("QuasiKNN", "centres", "a number for at least one interval", None)
        force_setattr(self, "centres", centres)

    @property
    def regions(self) -> Regions:
        """The values of each interval, and how they rank inside."""
        return _regions(self.centres)

    def ranks(self, X: Numbers, groups: Groups | None = None) -> Floats:
        """Return the rank of each row in its query, 1 for the lowest; equal rows share the mean."""
        return self._positions(X, groups)[0] + 0.5

    def scores(self, X: Numbers, groups: Groups | None = None) -> Floats:
        """Return the rank of every row in its query, from 0 for the lowest to 1 for the highest.

        That is ``(rank - 1) / (n_q - 1)``, so that no two rows differ by more than 1; a
        row that is alone in its query scores 0.
        """
        positions, sizes = self._positions(X, groups)
        scores: Floats = (positions - 0.5) / np.maximum(sizes - 1, 1)
        return scores

    def _positions(self, X: Numbers, groups: Groups | None) -> tuple[Floats, Ints]:
        """Return the middle positions, and the size of every row's query."""
        values = X[:, self.feature].astype(np.float64)
        if groups is None:
            found = middle_positions(values, np.array([0, len(values)]), self.regions)
            return found, np.full(len(values), len(values))
        order = groups.permutation
        if order is None:
            found = middle_positions(values, groups.starts, self.regions)
            return found, np.repeat(groups.sizes, groups.sizes)
        out, sizes = np.empty(len(values)), np.empty(len(values), np.int64)
        out[order] = middle_positions(values[order], groups.starts, self.regions)
        sizes[order] = np.repeat(groups.sizes, groups.sizes)
        return out, sizes


_regions = lru_cache(maxsize=256)(Regions.around)


# --- A tree as a weak ranker: comparisons of features with thresholds, one value per leaf


_LARGEST_VALUE = 1e100  # so that no sum of values can overflow


class Tree(FrozenRanker, frozen=True, tag="tree"):
    """The value of the leaf that a row reaches.

    Every node compares one feature with a threshold. Nodes come before their children, so that a
    tree read from a file cannot contain a circle.

    Parameters
    ----------
    features : tuple of int, one per node
        The compared feature.
    thresholds : tuple of float or None, one per node
        A row whose feature is greater goes right, others go left. None: any value goes left, so
        that the node tells whether the feature abstains.
    missing : tuple of int, one per node
        Where a row goes on which the feature abstains: 0 for left, 1 for right.
    left, right : tuple of int, one per node
        The next node, or ``~leaf``.
    gains : tuple of float, one per node
        What the split gained in training.
    values : tuple of float, one per leaf

    Examples
    --------
    >>> tree = Tree((0,), (2.5,), (1,), (~0,), (~1,), (1.0,), (-0.5, 0.25))
    >>> tree.scores(np.array([[2.0], [3.0], [np.nan]]))
    array([-0.5 ,  0.25,  0.25])
    """

    features: tuple[int, ...]
    thresholds: tuple[float | None, ...]
    missing: tuple[int, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    gains: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        n_nodes, n_leaves = len(self.features), len(self.values)
        columns = (self.thresholds, self.missing, self.left, self.right, self.gains)
        if not n_nodes or n_leaves != n_nodes + 1 or any(len(one) != n_nodes for one in columns):
            raise refuse("Tree", "values", "one leaf more than there are nodes", n_leaves)
        for node in range(n_nodes):
            threshold = self.thresholds[node]
            if self.features[node] < 0:
                raise refuse("Tree", "features", "at least 0", self.features[node])
            if threshold is not None and not math.isfinite(threshold):
                raise refuse("Tree", "thresholds", "finite numbers or None", threshold)
            if self.missing[node] not in (0, 1):
                raise refuse("Tree", "missing", "0 or 1", self.missing[node])
            if not (math.isfinite(self.gains[node]) and self.gains[node] >= 0.0):
                raise refuse("Tree", "gains", "finite numbers of at least 0", self.gains[node])
        for value in self.values:
            if not abs(value) <= _LARGEST_VALUE:
                raise refuse("Tree", "values", "numbers of at most 1e100", value)
        reached = sorted(self.left + self.right)
        everything = [*range(-n_leaves, 0), *range(1, n_nodes)]
        ordered = all(
            child < 0 or child > node
            for side in (self.left, self.right)
            for node, child in enumerate(side)
        )
        if reached != everything or not ordered:
            rule = "later nodes or ~leaf, each reached once"
            raise refuse("Tree", "left", rule, (self.left, self.right))

    @property
    def largest_feature(self) -> int:
        """The last feature that is compared."""
        return max(self.features)

    @property
    def span(self) -> float:
        """Difference of the largest and the smallest value."""
        return max(self.values) - min(self.values)

    @property
    def size(self) -> float:
        """Largest absolute value."""
        return max(map(abs, self.values))

    @property
    def reach(self) -> float:
        """Largest absolute score, at least 1."""
        return max(1.0, self.size)

    def gain_by_feature(self) -> dict[int, float]:
        """Return what the splits of every feature gained."""
        out: dict[int, float] = {}
        for feature, gain in zip(self.features, self.gains, strict=True):
            out[feature] = out.get(feature, 0.0) + gain
        return out

    def leaves(self, X: Numbers) -> Ints:
        """Return the number of the leaf of every row."""
        out = np.zeros(len(X), np.int64)
        waiting = {0: np.arange(len(X))}
        for node in range(len(self.features)):
            rows = waiting.pop(node)
            x = X[rows, self.features[node]].astype(np.float64)
            threshold = self.thresholds[node]
            right = np.zeros(len(x), bool) if threshold is None else x > threshold
            right[np.isnan(x)] = bool(self.missing[node])
            for child, part in ((self.left[node], rows[~right]), (self.right[node], rows[right])):
                if child < 0:
                    out[part] = ~child
                else:
                    waiting[child] = part
        return out

    def scores(self, X: Numbers, groups: Groups | None = None) -> Floats:
        """Return the value of the leaf of every row."""
        return np.array(self.values)[self.leaves(X)]

    def with_features(self, slot: Mapping[int, int]) -> Tree:
        """Return the tree over other numbers of the same features."""
        return replace(self, features=tuple(slot[feature] for feature in self.features))


# --- Weak rankers of a model: what one round of boosting learned
#
# A weak ranker scores every row in [0, 1] (a weak classifier, in {-1, 1}) and defines the
# score of rows on which its feature abstains (is missing, NaN), which a scaled feature may put
# outside [0, 1]. Those here can be written to
# a model file; any other object with a method ``scores(X, groups)`` can be part of a model
# too, but not be saved.


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
