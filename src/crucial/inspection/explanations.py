"""Why one item stands above another, and what makes up a score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.instances import Instances
from crucial.inspection.parts import Parts, additive_model, feature_parts
from crucial.inspection.results import Frame, as_frame, feature_name, new_axes, shown
from crucial.model.additive import AdditiveRanker
from crucial.model.inputs import checked_rows
from crucial.parameters import at_least, check, int_between
from crucial.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Comparison", "Contributions", "contributions", "why"]


_TOP = 12  # features drawn or printed; the others are added up


@dataclass(frozen=True, eq=False)
class Contributions:
    """What makes up the score of one item, the largest part first.

    Attributes
    ----------
    score : float
        As the ranker predicts it.
    features : tuple of int
        Numbers of the used features, by absolute part.
    names : tuple of str
    values : array
        The item's values; NaN where a feature abstains.
    added : array
        What each adds. They and the intercept sum to the score (to the rounding of the sum).
    intercept : float
        What every item gets, if the ranker has constants.
    """

    score: float
    features: tuple[int, ...]
    names: tuple[str, ...]
    values: Floats
    added: Floats
    intercept: float = 0.0

    def __str__(self) -> str:
        lines = [f"score {self.score:.6g}"]
        if self.intercept:
            lines.append(f"{self.intercept:+10.4g}  for every item")
        for name, value, part in zip(self.names, self.values, self.added):
            lines.append(f"{part:+10.4g}  {shown(name, 24)} {_said(value)}")
        return "\n".join(lines)

    def to_frame(self) -> Frame:
        """One row a feature."""
        columns = {"feature": self.features, "name": self.names}
        return as_frame(columns | {"value": self.values.tolist(), "adds": self.added.tolist()})

    def plot(self, ax: Axes | None = None, top: int = _TOP) -> Axes:
        """Draw the largest parts as bars; needs matplotlib. Returns the axes."""
        labels = [f"{n} = {_said(v)}" for n, v in zip(self.names, self.values)]
        return _bars(ax, labels, self.added, top, f"score {self.score:.4g}")


@dataclass(frozen=True, eq=False)
class Comparison:
    """Why item a stands above item b (or below), the largest reason first.

    Attributes
    ----------
    a, b : int
        Rows of the two items.
    score_a, score_b : float
        As the ranker predicts them.
    features : tuple of int
        Numbers of the used features, by absolute part.
    names : tuple of str
    values_a, values_b : array
        The items' values; NaN where a feature abstains.
    added : array
        What each feature adds for a minus what it adds for b.
    """

    a: int
    b: int
    score_a: float
    score_b: float
    features: tuple[int, ...]
    names: tuple[str, ...]
    values_a: Floats
    values_b: Floats
    added: Floats

    @property
    def margin(self) -> float:
        """``score_a - score_b``, which ``added`` sums to (to the rounding of the sums)."""
        return self.score_a - self.score_b

    def __str__(self) -> str:
        said = "above" if self.margin > 0 else "below" if self.margin < 0 else "level with"
        by = f" by {abs(self.margin):.6g}" if self.margin else ""
        lines = [
            f"row {self.a} (score {self.score_a:.6g}) stands {said} row {self.b} "
            f"(score {self.score_b:.6g}){by}:"
        ]
        differ = [slot for slot in range(len(self.names)) if self.added[slot]]
        for slot in differ:
            one, other = _said(self.values_a[slot]), _said(self.values_b[slot])
            lines.append(
                f"{self.added[slot]:+10.4g}  {shown(self.names[slot], 24)} {one} against {other}"
            )
        same = len(self.names) - len(differ)
        if same:
            lines.append(f"{'0':>10}  {same} features make no difference")
        return "\n".join(lines)

    def to_frame(self) -> Frame:
        """One row a feature."""
        return as_frame(
            {
                "feature": self.features,
                "name": self.names,
                "value_a": self.values_a.tolist(),
                "value_b": self.values_b.tolist(),
                "adds": self.added.tolist(),
            }
        )

    def plot(self, ax: Axes | None = None, top: int = _TOP) -> Axes:
        """Draw the largest reasons as bars; needs matplotlib. Returns the axes."""
        values = zip(self.names, self.values_a, self.values_b)
        labels = [f"{name}: {_said(x)} against {_said(y)}" for name, x, y in values]
        title = f"row {self.a} above row {self.b}: {self.margin:+.4g}"
        return _bars(ax, labels, self.added, top, title)


def _said(value: float) -> str:
    return "missing" if math.isnan(value) else f"{value:.6g}"


def _bars(ax: Axes | None, labels: list[str], added: Floats, top: int, title: str) -> Axes:
    check("plot", "top", top, at_least(1))
    ax = new_axes(ax)
    names, values = labels[:top], added[:top].tolist()
    if len(added) > top:
        names, values = [*names, f"{len(added) - top} others"], [*values, added[top:].sum()]
    places = range(len(values))
    ax.barh(places, values, color=["tab:blue" if v >= 0 else "tab:orange" for v in values])
    ax.set_yticks(places, names, parse_math=False)
    ax.invert_yaxis()
    ax.axvline(0.0, color="0.3", linewidth=0.8)
    ax.set_title(title)
    return ax


def _largest_first(parts: Floats) -> NDArray[np.intp]:
    return np.argsort(-np.abs(parts), kind="stable")


def _split(model: AdditiveRanker, X: Any) -> tuple[Parts, Floats]:
    instances = checked_rows(model, X)
    return feature_parts(model, instances), model.predict(instances)


def contributions(ranker: Any, x: Any) -> Contributions:
    """What every feature adds to the score of one item.

    Parameters
    ----------
    ranker : AdditiveRanker or fitted estimator
        An additive one.
    x : array of shape (n_features,), or a table of one row
        The item.

    Examples
    --------
    >>> from crucial.model.additive import AdditiveRanker
    >>> from crucial.model.weak import Stump
    >>> model = AdditiveRanker(2, [Stump(0, 0.5, 0), Stump(1, 2.0, 1)], [1.0, 0.25])
    >>> print(contributions(model, [1.0, np.nan]))
    score 1.25
            +1  feature 0                1
         +0.25  feature 1                missing
    """
    if not isinstance(x, Instances) and np.ndim(x) == 1 and not hasattr(x, "columns"):
        x = np.asarray(x, np.float64).reshape(1, -1)
    model = additive_model(ranker, "contributions")
    parts, scores = _split(model, x)
    check("contributions", "number of rows in x", len(scores), int_between(1, 1))
    order = _largest_first(parts.added[0])
    used = tuple(parts.features[order].tolist())
    called = tuple(feature_name(model.feature_names, feature) for feature in used)
    return Contributions(
        float(scores[0]),
        used,
        called,
        parts.columns[0, order],
        parts.added[0, order],
        model.intercept,
    )


def why(ranker: Any, X: Any, a: int, b: int) -> Comparison:
    """Why the item in row ``a`` stands above the one in row ``b``.

    Parameters
    ----------
    ranker : AdditiveRanker or fitted estimator
        An additive one: the difference of two scores is then exactly a sum over features.
    X : array, sparse matrix or frame of shape (n_rows, n_features)
    a, b : int
        Rows of two items of the same query.

    Examples
    --------
    >>> from crucial.model.additive import AdditiveRanker
    >>> from crucial.model.weak import Stump
    >>> model = AdditiveRanker(2, [Stump(0, 0.5, 0), Stump(1, 2.0, 1)], [1.0, 0.25])
    >>> print(why(model, np.array([[1.0, 0.0], [0.0, 3.0]]), 0, 1))
    row 0 (score 1) stands above row 1 (score 0.25) by 0.75:
            +1  feature 0                1 against 0
         -0.25  feature 1                0 against 3
    """
    model = additive_model(ranker, "why")
    instances = checked_rows(model, X)
    for name, row in (("a", a), ("b", b)):
        check("why", name, row, int_between(0, instances.n_rows - 1))
    table = instances.table
    pair = table.tocsr()[[a, b]].tocsc() if instances.is_sparse else table[[a, b]]
    parts, scores = _split(model, Instances(pair, instances.names))
    difference = parts.added[0] - parts.added[1]
    order = _largest_first(difference)
    used = tuple(parts.features[order].tolist())
    return Comparison(
        int(a),
        int(b),
        float(scores[0]),
        float(scores[1]),
        used,
        tuple(feature_name(model.feature_names, feature) for feature in used),
        parts.columns[0, order],
        parts.columns[1, order],
        difference[order],
    )
