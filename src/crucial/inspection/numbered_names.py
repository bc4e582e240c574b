"""Names of features that have none, made one by one: a model may have millions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import overload

import numpy as np

from crucial.inspection.results import feature_name

__all__ = ["NumberedNames", "names_of"]


class NumberedNames(Sequence[str]):
    """The substitutes for names of the features 0 to n - 1, some left out, like a tuple of them.

    Parameters
    ----------
    n_features : int
    left_out : iterable of int
        Features that are left out.

    Examples
    --------
    >>> names = NumberedNames(5, [0, 2])
    >>> names, len(names), names[:2], "feature 2" in names, names.index("feature 4")
    (('feature 1', 'feature 3', 'feature 4'), 3, ('feature 1', 'feature 3'), False, 2)
    """

    def __init__(self, n_features: int, left_out: Iterable[int] = ()) -> None:
        out = np.array(sorted({*left_out}), np.int64)
        self._length = n_features - len(out)
        self._before = out - np.arange(len(out))  # names before each feature that is left out

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self._name(k) for k in range(self._length)[index])
        return self._name(range(self._length)[index])

    def _name(self, k: int) -> str:
        return feature_name(None, k + int(np.searchsorted(self._before, k, "right")))

    def __contains__(self, name: object) -> bool:
        return self._place(name) is not None

    def index(self, name: object, start: int = 0, stop: int | None = None) -> int:
        """Return the place of a name, as a tuple does."""
        place = self._place(name)
        if place is None or place not in range(self._length)[start:stop]:
            raise ValueError(f"{name!r} is not in the names")
        return place

    def _place(self, name: object) -> int | None:
        digits = name.removeprefix("feature ") if isinstance(name, str) else ""
        if not digits.isdecimal() or len(digits) > 18:
            return None
        feature = int(digits)
        place = feature - int(np.searchsorted(self._before + np.arange(len(self._before)), feature))
        there = 0 <= place < self._length and self._name(place) == name
        return place if there else None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NumberedNames | tuple):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash((self._length, self._before.tobytes()))

    def __repr__(self) -> str:
        return repr(tuple(self))


def names_of(
    names: Sequence[str] | None, n_features: int, left_out: Iterable[int] = ()
) -> Sequence[str]:
    """Return the names of all features but those left out, or substitutes.

    Examples
    --------
    >>> names_of(("bm25", "age"), 2, [0]), names_of(None, 2)
    (('age',), ('feature 0', 'feature 1'))
    """
    if names is None:
        return NumberedNames(n_features, left_out)
    out = {*left_out}
    return tuple(name for feature, name in enumerate(names) if feature not in out)
