"""The quasi-KNN weak ranker, frozen: interval centres of one feature."""

from __future__ import annotations

import math
import numbers
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import numpy as np
from msgspec.structs import force_setattr
from numpy.typing import NDArray

from crucial.model.query_ranks import Regions, middle_positions
from crucial.parameters import at_least, check, refuse
from crucial.types import Floats

if TYPE_CHECKING:
    from crucial.data.groups import Groups

__all__ = ["MAX_INTERVALS", "QuasiKNN"]


MAX_INTERVALS = 65535


class QuasiKNN(
    msgspec.Struct, frozen=True, tag_field="kind", tag="quasi_knn", forbid_unknown_fields=True
):
    """Rank the rows of a query by the interval whose centre is nearest (Wang et al., 3.2).

    A row in a higher interval ranks above one in a lower; inside an interval rows rank by
    their values, in the direction from the centre of the interval below to its own. With
    two intervals that is the plain ranking by the feature, upwards or downwards.

    A row on which the feature abstains ranks at the middle of its query: the feature says
    neither that it is good nor that it is bad. The rows that it does rank keep their order,
    half of them above the middle and half below.

    Parameters
    ----------
    feature : int
        Number of the feature, from 0.
    centres : sequence of float or None
        One an interval, least relevant first; None for an interval without a value.

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
        check("QuasiKNN", "feature", self.feature, at_least(0))
        force_setattr(self, "feature", int(self.feature))
        centres = tuple(_plain(one) for one in self.centres)
        if not 2 <= len(centres) <= MAX_INTERVALS:
            rule = f"2 to {MAX_INTERVALS} numbers, one an interval"
            raise refuse("QuasiKNN", "centres", rule, f"{len(centres)} of them")
        if all(one is None for one in centres):
            raise refuse("QuasiKNN", "centres", "a number for one interval at least", None)
        force_setattr(self, "centres", centres)

    @property
    def regions(self) -> Regions:
        """Which values belong to which interval, and how they rank inside."""
        return _regions(self.centres)

    def ranks(self, X: NDArray[Any], groups: Groups | None = None) -> Floats:
        """Rank of every row in its query, 1 for the lowest; equal rows share the mean."""
        return self._positions(X, groups)[0] + 0.5

    def scores(self, X: NDArray[Any], groups: Groups | None = None) -> Floats:
        """Rank of every row in its query, from 0 for the lowest to 1 for the highest.

        That is ``(rank - 1) / (n_q - 1)``, so that no two rows differ by more than 1; a
        row that is alone in its query scores 0.
        """
        positions, sizes = self._positions(X, groups)
        scores: Floats = (positions - 0.5) / np.maximum(sizes - 1, 1)
        return scores

    def _positions(self, X: NDArray[Any], groups: Groups | None) -> tuple[Floats, Any]:
        """Middle positions, and the size of every row's query."""
        values = X[:, self.feature].astype(np.float64)
        if groups is None:
            return middle_positions(values, np.array([0, len(values)]), self.regions), len(values)
        order = groups.permutation
        if order is None:
            found = middle_positions(values, groups.starts, self.regions)
            return found, np.repeat(groups.sizes, groups.sizes)
        out, sizes = np.empty(len(values)), np.empty(len(values), np.int64)
        out[order] = middle_positions(values[order], groups.starts, self.regions)
        sizes[order] = np.repeat(groups.sizes, groups.sizes)
        return out, sizes


def _plain(value: Any) -> float | None:
    if value is None:
        return None
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not math.isfinite(value):
        raise refuse("QuasiKNN", "centres", "finite numbers, or None", value)
    return float(value)


@lru_cache(maxsize=256)
def _regions(centres: tuple[float | None, ...]) -> Regions:
    return Regions.around(centres)
