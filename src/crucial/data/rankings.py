"""Rankings of the same items by many voters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from crucial.data.arrays import as_reals, is_missing
from crucial.data.comparisons import MAX_WEIGHT
from crucial.data.words import number_rule, shown
from crucial.errors import DataError, DataTypeError
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
        if isinstance(orders, str) or not isinstance(orders, Iterable):
            raise DataTypeError(f"orders must be a list of rankings. Got {type(orders).__name__}.")
        groups = [
            [_names(one, number) for one in _groups(order, number)]
            for number, order in enumerate(orders)
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
        counts = np.ones(len(orders)) if count is None else np.atleast_1d(as_reals(count, "count"))
        if len(counts) != len(orders):
            raise DataError(f"count must have a number for each of the {len(orders)} rankings. "
                            f"Got {len(counts)}.")  # fmt: skip
        bad = np.flatnonzero(~((counts >= 0) & (counts <= MAX_WEIGHT)))
        if len(bad):
            raise DataError(
                f"counts must be {number_rule(0.0, MAX_WEIGHT)}. Got {counts[bad[0]]} for ranking "
                f"{bad[0]} (from 0)."
            )
        if not counts.any():
            raise DataError("the counts of the rankings must add up to a number above 0.")
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


def _groups(order: Iterable[object], number: int) -> Iterable[object]:
    """Return the names and ties of a ranking."""
    if isinstance(order, str) or not isinstance(order, Iterable):
        raise DataTypeError(
            f"ranking {number} (from 0) must be a list of names. Got {type(order).__name__}."
        )
    return order


def _names(one: object, number: int) -> list[str]:
    """Return a name, or those of a tie."""
    tied = list(one) if isinstance(one, set | frozenset | list | tuple) else [one]
    if any(is_missing(name) for name in tied):
        raise DataError(f"ranking {number} (from 0) lacks the name of an item.")
    return [str(name) for name in tied]
