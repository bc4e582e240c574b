"""What results share: names, frames, JSON values and drawings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np

from crucial.errors import MissingExtraError
from crucial.wording import printable

if TYPE_CHECKING:
    import matplotlib.axes


# --- What results share: names, frames and drawings


#: A pandas DataFrame, or a dict of lists where pandas is not installed.
Frame: TypeAlias = Any
Axes: TypeAlias = "matplotlib.axes.Axes"


def feature_name(names: Sequence[str] | None, feature: int) -> str:
    """Return the name of a feature, or a substitute if it has none.

    Examples
    --------
    >>> feature_name(("bm25",), 0), feature_name(None, 7)
    ('bm25', 'feature 7')
    """
    return names[feature] if names is not None else f"feature {feature}"


def padded(name: str, width: int) -> str:
    """Return a name without control characters, padded or cut to a width."""
    return f"{printable(name, width):<{width}}"


def literal(text: str) -> str:
    """Return a text that matplotlib draws as it is: between two signs of $ it expects formulas.

    For labels of legends, which know no ``parse_math=False``.

    Examples
    --------
    >>> literal("US$ to A$")
    'US\\\\$ to A\\\\$'
    """
    return text.replace("$", r"\$")


def json_value(value: Any) -> Any:
    """Return a value as JSON has it: no NaN, no infinity, no NumPy numbers, text for the rest."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): json_value(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(one) for one in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)


def listed(names: Sequence[str], count: int = 8) -> str:
    """Return the first few names as text, and how many more there are."""
    few = ", ".join(padded(name, 24).strip() for name in names[:count])
    return few + (f" and {len(names) - count} more" if len(names) > count else "")


def as_frame(columns: Mapping[str, Sequence[object]]) -> Frame:
    """Return a pandas frame where pandas is installed, else a dict of lists."""
    plain = {name: list(values) for name, values in columns.items()}
    try:
        import pandas
    except ImportError:
        return plain
    return pandas.DataFrame(plain)


def _new_figure(
    rows: int, columns: int, size: tuple[float, float] | None, projection: str | None = None
) -> list[Axes]:
    """Return the axes of a new figure; without matplotlib, raise how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError(
            "plot() needs matplotlib: pip install crucial[plots]. print() and to_frame() show the "
            "same without."
        ) from error
    _, axes = plt.subplots(
        rows,
        columns,
        squeeze=False,
        layout="constrained",
        figsize=size,
        subplot_kw={"projection": projection},
    )
    return list(axes.flat)


def new_axes(
    ax: Axes | None = None, size: tuple[float, float] | None = None, projection: str | None = None
) -> Axes:
    """Return ``ax``, or the axes of a new figure if it is None."""
    return _new_figure(1, 1, size, projection)[0] if ax is None else ax


def axes_grid(count: int, columns: int = 3) -> list[Axes]:
    """Return axes for a number of small pictures, in one new figure."""
    columns = max(1, min(columns, count))
    rows = max(1, -(-count // columns))
    axes = _new_figure(rows, columns, (3.6 * columns, 2.4 * rows))
    for spare in axes[count:]:
        spare.remove()
    return axes[:count]


# --- Names of features that have none, made one by one: a model may have millions


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
