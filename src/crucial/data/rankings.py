"""Rankings of the same items by many voters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from crucial.data.arrays import as_reals
from crucial.data.words import shown
from crucial.errors import DataError
from crucial.types import Floats, Ints
from crucial.wording import counted

__all__ = ["Order", "Rankings"]

#: One ranking: groups of places in ``items``, best first; several in a group are tied.
Order = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False, repr=False)
class Rankings:
    """Rankings of items, full or partial, and the number of voters of each.

    Attributes
    ----------
    items : tuple of str
    orders : tuple of orders
        Each a tuple of groups, best first; a group is a tuple of places in ``items``,
        tied where it has several. An item that is not in an order is not ranked in it.
    count : float64 array
        Number of voters of each order.
    """

    items: tuple[str, ...]
    orders: tuple[Order, ...]
    count: Floats

    def __repr__(self) -> str:
        return (
            f"Rankings({self.count.sum():g} of {counted(len(self.items), 'item')}, "
            f"{len(self.orders)} different)"
        )

    @property
    def complete(self) -> bool:
        """Whether every order ranks every item."""
        return all(sum(map(len, order)) == len(self.items) for order in self.orders)

    @property
    def strict(self) -> bool:
        """Whether no order has a tie."""
        return all(len(group) == 1 for order in self.orders for group in order)

    @classmethod
    def from_orders(
        cls, orders: Sequence[Sequence[object]], count: Sequence[float] | None = None
    ) -> Rankings:
        """Return rankings of names, best first; a set, list or tuple inside one is a tie.

        Examples
        --------
        >>> Rankings.from_orders([["tea", "milk"], [{"milk", "wine"}, "tea"]])
        Rankings(2 of 3 items, 2 different)
        """
        groups = [
            [
                [str(name) for name in one]
                if isinstance(one, set | frozenset | list | tuple)
                else [str(one)]
                for one in order
            ]
            for order in orders
        ]
        names = sorted({name for order in groups for group in order for name in group})
        place = {name: k for k, name in enumerate(names)}
        placed = [
            tuple(tuple(sorted(place[name] for name in group)) for group in order)
            for order in groups
        ]
        return cls.from_places(tuple(names), placed, count)

    @classmethod
    def from_places(
        cls, items: tuple[str, ...], orders: Sequence[Order], count: Sequence[float] | None
    ) -> Rankings:
        """Return rankings of places in ``items``, checked."""
        if not orders:
            raise DataError("there is no ranking.")
        counts = np.ones(len(orders)) if count is None else as_reals(count, "count")
        if len(counts) != len(orders):
            raise DataError(f"count must have a number for each of the {len(orders)} rankings. "
                            f"Got {len(counts)}.")  # fmt: skip
        if not (np.isfinite(counts).all() and (counts >= 0).all() and counts.any()):
            raise DataError("counts must be finite, at least 0, and not all 0.")
        with np.errstate(over="ignore"):
            if not np.isfinite(counts.sum()):
                raise DataError("counts add up to infinity; divide all of them by the largest.")
        for number, order in enumerate(orders):
            flat = [k for group in order for k in group]
            if not flat or any(not group for group in order):
                raise DataError(f"ranking {number} (from 0) is empty or has an empty tie.")
            if len(set(flat)) < len(flat):
                twice = next(k for k in flat if flat.count(k) > 1)
                raise DataError(f"ranking {number} (from 0) has {shown(items[twice])} twice.")
        return cls(items, tuple(orders), counts)

    def wins(self) -> tuple[Ints, Ints, Floats]:
        """Return every pair that some ranking orders: above, below, and the number of voters.

        Examples
        --------
        >>> high, low, voters = Rankings.from_orders([["a", "b"], ["b", "a"]], [3, 1]).wins()
        >>> list(zip(high.tolist(), low.tolist(), voters.tolist()))
        [(0, 1, 3.0), (1, 0, 1.0)]
        """
        return self._wins

    @cached_property
    def _wins(self) -> tuple[Ints, Ints, Floats]:
        table = self.above()
        high, low = np.nonzero(table)
        return high, low, table[high, low]

    def above(self) -> Floats:
        """Return a matrix of the numbers of voters who rank item i above item j."""
        n = len(self.items)
        matrix = np.zeros((n, n))
        # Rankings with as many groups of as many items are added up together.
        alike: dict[tuple[int, ...], list[int]] = {}
        for number, order in enumerate(self.orders):
            alike.setdefault(tuple(map(len, order)), []).append(number)
        for sizes, numbers in alike.items():
            flat = np.array([[k for group in self.orders[one] for k in group] for one in numbers])
            level = np.repeat(np.arange(len(sizes)), sizes)
            count = self.count[numbers]
            if len(numbers) == 1 or flat.shape[1] > 200:
                self._add_each(matrix, flat, level, count)
                continue
            upper, lower = np.nonzero(level[:, None] < level[None, :])
            many = max(1, 4_000_000 // max(1, len(upper)))
            for begin in range(0, len(flat), many):
                some = flat[begin : begin + many]
                at = (some[:, upper] * n + some[:, lower]).ravel()
                weight = np.repeat(count[begin : begin + many], len(upper))
                matrix += np.bincount(at, weight, minlength=n * n).reshape(n, n)
        return matrix

    @staticmethod
    def _add_each(matrix: Floats, flat: Ints, level: Ints, count: Floats) -> None:
        """Add rankings one by one; with most of the items, in the order of the items."""
        below = level[:, None] < level[None, :]
        for order, weight in zip(flat, count.tolist()):
            if 5 * len(order) < 3 * len(matrix):
                matrix[order[:, None], order[None, :]] += weight * below
                continue
            place = np.full(len(matrix), np.nan)
            place[order] = level
            matrix += weight * (place[:, None] < place[None, :])
