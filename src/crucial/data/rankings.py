"""Rankings of the same items by many voters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crucial.data.words import shown
from crucial.errors import DataError
from crucial.types import Floats

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
            f"Rankings({self.count.sum():g} of {len(self.items)} items, "
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
        counts = np.ones(len(orders)) if count is None else np.array(count, np.float64)
        if len(counts) != len(orders):
            raise DataError(f"count must have a number for each of the {len(orders)} rankings. "
                            f"Got {len(counts)}.")  # fmt: skip
        if not (np.isfinite(counts).all() and (counts >= 0).all() and counts.sum() > 0):
            raise DataError("counts must be finite, at least 0, and not all 0.")
        for number, order in enumerate(orders):
            flat = [k for group in order for k in group]
            if not flat or any(not group for group in order):
                raise DataError(f"ranking {number} (from 0) is empty or has an empty tie.")
            if len(set(flat)) < len(flat):
                twice = next(k for k in flat if flat.count(k) > 1)
                raise DataError(f"ranking {number} (from 0) has {shown(items[twice])} twice.")
        return cls(items, tuple(orders), counts)

    def above(self) -> Floats:
        """Return a matrix of the numbers of voters who rank item i above item j."""
        n = len(self.items)
        matrix = np.zeros((n, n))
        for order, count in zip(self.orders, self.count.tolist()):
            for k, group in enumerate(order):
                below = [one for other in order[k + 1 :] for one in other]
                matrix[np.ix_(group, below)] += count
        return matrix
