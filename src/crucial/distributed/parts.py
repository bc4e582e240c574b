"""The parts of the rows, wherever they are: call a method of every part, merge what it returns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any, Protocol, cast

__all__ = ["LocalParts", "Parts", "merged"]


def merged(results: Iterable[Any]) -> list[Any]:
    """Merge results that offer `merge`, in order; return all others as they are.

    Merging adds exactly: neither the cut into parts nor their order changes the result.

    A part without rows may return None, which takes no part in a merge.

    Examples
    --------
    >>> class Total(int):
    ...     merge = int.__add__
    >>> merged([Total(1), None, Total(2)])
    [3]
    >>> merged(["x", "y"])
    ['x', 'y']
    """
    listed = list(results)
    there = [one for one in listed if one is not None]
    if there and all(hasattr(one, "merge") for one in there):
        return [reduce(lambda one, other: one.merge(other), there)]
    return listed


class Parts(Protocol):
    """The parts of the rows, in a fixed order.

    Attributes
    ----------
    n_parts : int
    """

    n_parts: int

    @abstractmethod
    def call(self, method: str, *args: Any, changes: bool = False) -> list[Any]:
        """Call a method of every part; return the results in the order of the parts.

        Results that offer `merge` come back merged, per worker or all together.

        Parameters
        ----------
        changes : bool
            Whether the call alters the parts. Such calls are kept: a part that has to be loaded
            again is brought up to date by its method ``replay(calls)``, with all of them as pairs
            (method, arguments), the oldest first. So arguments are small, and what a call does
            depends on them alone.
        """

    def total(self, method: str, *args: Any, changes: bool = False) -> Any:
        """Call a method of every part; return its results merged into one.

        None where no part has a result.
        """
        found = merged(self.call(method, *args, changes=changes))
        (one,) = merged(one for one in found if one is not None) or (None,)
        return one


class LocalParts(Parts):
    """Parts in this process.

    Parameters
    ----------
    parts : sequence of objects with the methods to call

    Examples
    --------
    >>> LocalParts(["one", "three"]).call("upper")
    ['ONE', 'THREE']
    """

    def __init__(self, parts: Sequence[object]) -> None:
        self._parts = list(parts)
        self.n_parts = len(self._parts)

    def call(self, method: str, *args: Any, changes: bool = False) -> list[Any]:
        """Call a method of every part; return the results, merged where they offer it."""
        return merged(cast(Any, getattr(part, method))(*args) for part in self._parts)
