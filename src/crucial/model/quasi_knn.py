"""The quasi-KNN weak ranker of a model: interval centres of one feature."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from msgspec.structs import force_setattr

from crucial.model.checks import plain_index, plain_number
from crucial.model.frozen import FrozenRanker
from crucial.model.query_ranks import Regions, middle_positions
from crucial.parameters import refuse
from crucial.types import Floats, Ints, Numbers

if TYPE_CHECKING:
    from crucial.data.groups import Groups

__all__ = ["MAX_INTERVALS", "QuasiKNN"]


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


@lru_cache(maxsize=256)
def _regions(centres: tuple[float | None, ...]) -> Regions:
    return Regions.around(centres)
