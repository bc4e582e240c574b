"""Shape functions: what a ranker adds for each feature, as a function of its value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from crucial.data.instances import Instances
from crucial.inspection.pair_shapes import PairShape, pair_shapes
from crucial.inspection.parts import additive_model, step_of
from crucial.inspection.pipelines import inner_ranker
from crucial.inspection.shape_drawing import draw_shape
from crucial.model.additive import Shape, sparkline
from crucial.model.base import checked_rows
from crucial.model.describe import Ramp, describe, direction_of
from crucial.notebook import HtmlResult, HtmlTable
from crucial.parameters import at_least, check
from crucial.results import Axes, Frame, as_frame, axes_grid, feature_name, listed, names_of, padded
from crucial.types import Floats, Ints, TableLike
from crucial.wording import counted

__all__ = ["FeatureShape", "Shapes", "shapes"]

_BINS = 40  # of the histograms of rows
_MOST = (0.01, 0.99)  # quantiles of the rows between which a plot shows them


@dataclass(frozen=True, eq=False)
class FeatureShape(HtmlResult):
    """What a ranker adds for one feature.

    Attributes
    ----------
    feature : int
        Number of the feature, from 0.
    name : str
    weight : float
        Absolute weight of its weak rankers.
    share_of_weight : float
        The same as a share of the whole ranker, in [0, 1].
    direction : str
        "rising", "falling", "both ways", "flat" where only presence counts, or "by category".
    thresholds : array of shape (k,)
        Where the function steps, ascending.
    values : array of shape (k + 1,)
        ``values[c]`` is added where exactly ``c`` thresholds are below the feature's value.
    missing : float
        Added where the feature is missing (ramps included).
    ramps : tuple of Ramp
        Parts that rise linearly from ``low`` to ``high`` instead of stepping.
    share : array of shape (k + 1,) or None
        Share of the rows on each step, if rows were passed.
    share_missing : float or None
        Share of the rows on which the feature is missing.
    categories : mapping from str to float
        The number of each category, where the feature has categories.
    histogram : (edges, counts) or None
        Counts of rows between the edges, if rows were passed: from the first to the last
        percentile or mark, whichever is farther out. Values beyond count at the ends.
    category_rows : mapping from str to int
        Rows of each category, if rows were passed.
    unit : str
        Unit of the values of dates and times.
    """

    _html_bars: ClassVar[Mapping[str, float | None]] = {"adds": None, "share": 1.0}

    feature: int
    name: str
    weight: float
    share_of_weight: float
    direction: str
    thresholds: Floats
    values: Floats
    missing: float
    ramps: tuple[Ramp, ...] = ()
    share: Floats | None = None
    share_missing: float | None = None
    categories: Mapping[str, float] = field(default_factory=dict)
    histogram: tuple[Floats, Ints] | None = None
    category_rows: Mapping[str, int] = field(default_factory=dict)
    unit: str = ""

    @property
    def marks(self) -> Floats:
        """Values at which the function changes its course."""
        ends = [end for ramp in self.ramps for end in (ramp.low, ramp.high)]
        return np.array([*self.thresholds.tolist(), *ends])

    @property
    def window(self) -> tuple[float, float]:
        """The values that a plot shows: those of the rows, or else all marks and a little more."""
        if self.histogram is not None:
            return float(self.histogram[0][0]), float(self.histogram[0][-1])
        marks = self.marks
        low, high = (float(marks.min()), float(marks.max())) if len(marks) else (0.0, 0.0)
        margin = 0.08 * (high - low) or 1.0
        return low - margin, high + margin

    def __call__(self, value: float | str) -> float:
        """Return what is added at a value or for a category; NaN is a missing value."""
        if isinstance(value, str):
            value = self.categories.get(value, math.nan)
        if math.isnan(value):
            return self.missing
        steps = float(self.values[self.thresholds.searchsorted(value)])
        rising = ((min(max(value, r.low), r.high) - r.low) / (r.high - r.low) for r in self.ramps)
        return steps + sum(r.weight * part for r, part in zip(self.ramps, rising))

    def by_category(self) -> dict[str, float]:
        """Return what is added for each category, largest first; empty without categories."""
        parts = {text: self(value) for text, value in self.categories.items()}
        return dict(sorted(parts.items(), key=lambda one: (-one[1], one[0])))

    def _html_title(self) -> str:
        return f"{self.name}: {self.direction}, {self.share_of_weight:.1%} of the weight"

    def _html_tables(self) -> list[HtmlTable]:
        columns = _steps((self,))
        return [HtmlTable({n: columns[n] for n in columns if n != "name"}, self._html_bars)]


@dataclass(frozen=True, eq=False)
class Shapes(HtmlResult):
    """Result of `shapes`; ``result["bm25"]`` is the function of one feature.

    Attributes
    ----------
    features : tuple of FeatureShape
        Features with any weight, heaviest first.
    unused : sequence of str
        Names of the others.
    n_rows : int or None
        Number of rows behind the shares.
    pairs : tuple of PairShape
        What pairs of features add beyond that, most important first.
    """

    features: tuple[FeatureShape, ...]
    unused: Sequence[str]
    n_rows: int | None = None
    pairs: tuple[PairShape, ...] = ()

    def __getitem__(self, name: str) -> FeatureShape:
        for one in self.features:
            if one.name == name:
                return one
        raise KeyError(name)

    def __repr__(self) -> str:
        return f"Shapes({counted(len(self.features), 'used feature')}, {len(self.unused)} unused)"

    def __str__(self) -> str:
        lines = []
        for one in self.features:
            ends = f"{one(-math.inf):.3g} to {one(math.inf):.3g}"
            lines.append(
                f"{padded(one.name, 24)} {one.share_of_weight:6.1%}  "
                f"{sparkline(one.values.tolist(), 24):<24}  {ends:<16} missing {one.missing:.3g}"
                + ("" if one.share_missing is None else f" ({one.share_missing:.0%} of rows)")
            )
            if one.categories:
                parts = [f"{text} {part:.3g}" for text, part in one.by_category().items()]
                lines.append(f"{'':>25}{listed(parts)}")
        for pair in self.pairs:
            first, second = (padded(name, 24).strip() for name in pair.names)
            low, high = pair.values.min(), pair.values.max()
            lines.append(f"{first} with {second}: {low:.3g} to {high:.3g} ({pair.importance:.1%})")
        if self.unused:
            lines.append(f"never used: {listed(self.unused)}")
        return "\n".join(lines)

    def to_frame(self) -> Frame:
        """Return one row per step: feature, from, to, what it adds, share of the data.

        The step for missing values has neither ``above`` nor ``up_to``. A feature of categories
        has one row per category instead, with the category as its ``step``.
        """
        return as_frame(_steps(self.features))

    def plot(self, top: int = 9) -> list[Axes]:
        """Draw the heaviest features; needs matplotlib.

        The line is what a value adds to the score, the dotted line what a missing value adds.
        Where rows were passed, grey bars at the bottom show how many of them have such values.

        Returns
        -------
        list of Axes
        """
        check("plot", "top", top, at_least(1))
        axes = axes_grid(min(top, len(self.features)))
        for ax, one in zip(axes, self.features):
            draw_shape(ax, one)
        return axes

    def plot_pairs(self, top: int = 6) -> list[Axes]:
        """Draw the most important pairs as heat maps; needs matplotlib.

        Returns
        -------
        list of Axes
        """
        check("plot_pairs", "top", top, at_least(1))
        axes = axes_grid(min(top, len(self.pairs)))
        for ax, pair in zip(axes, self.pairs):
            pair.draw(ax)
        return axes

    def _html_tables(self) -> list[HtmlTable]:
        columns: dict[str, Sequence[object]] = {
            "feature": [one.name for one in self.features],
            "weight": [one.share_of_weight for one in self.features],
            "direction": [one.direction for one in self.features],
            "shape": [sparkline(one.values.tolist(), 24) for one in self.features],
            "lowest": [float(one.values.min()) for one in self.features],
            "highest": [float(one.values.max()) for one in self.features],
            "missing adds": [one.missing for one in self.features],
        }
        if self.n_rows is not None:
            columns["missing in rows"] = [one.share_missing for one in self.features]
        tables = [HtmlTable(columns, {"weight": None})]
        if self.pairs:
            pairs: dict[str, Sequence[object]] = {
                "features": [" with ".join(one.names) for one in self.pairs],
                "importance": [one.importance for one in self.pairs],
                "lowest": [float(one.values.min()) for one in self.pairs],
                "highest": [float(one.values.max()) for one in self.pairs],
            }
            tables.append(HtmlTable(pairs, {"importance": None}, heading="Pairs of features"))
        return tables

    def _html_notes(self) -> list[str]:
        return [f"never used: {listed(self.unused)}"] if self.unused else []


def _with_rows(shape: FeatureShape, instances: Instances) -> FeatureShape:
    """Return a shape that knows how many rows have which values."""
    if shape.categories:
        source = instances if instances.origin is None else instances.origin
        column = np.asarray(source.table[:, shape.feature], np.float64)
        _, first, counts = np.unique(column, return_index=True, return_counts=True)
        texts = [source.text(row, shape.feature) for row in first.tolist()]
        rows = dict(zip(texts, counts.tolist(), strict=True))
        return replace(shape, category_rows={text: rows.get(text, 0) for text in shape.categories})
    values = instances.column(shape.feature).astype(np.float64)
    values = values[~np.isnan(values)]
    low, high = shape.window
    if len(values):
        most = np.quantile(values, _MOST)
        low, high = min(low, float(most[0])), max(high, float(most[1]))
    counts, edges = np.histogram(np.clip(values, low, high), _BINS, (low, high))
    return replace(shape, histogram=(edges.astype(np.float64), counts.astype(np.int64)))


def _steps(features: Sequence[FeatureShape]) -> dict[str, list[object]]:
    """Return one row per step of each feature, as columns."""
    names = ("feature", "name", "step", "above", "up_to", "adds", "share")
    rows: list[tuple[object, ...]] = []
    for one in features:
        ends = [-math.inf, *one.thresholds.tolist(), math.inf]
        shares = [math.nan] * len(one.values) if one.share is None else one.share.tolist()
        head = (one.feature, one.name)
        for text, part in one.by_category().items():
            rows.append((*head, text, math.nan, math.nan, part, math.nan))
        if one.categories:
            ends = []
        for low, high, value, share in zip(ends, ends[1:], one.values.tolist(), shares):
            rows.append((*head, "value", low, high, value, share))
        silent = math.nan if one.share_missing is None else one.share_missing
        rows.append((*head, "missing", math.nan, math.nan, one.missing, silent))
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def shapes(ranker: object, X: TableLike | None = None) -> Shapes:
    """Return what each feature adds to a score, as a function of its value.

    Parameters
    ----------
    ranker : AdditiveRanker or fitted estimator
        A sum of functions of one feature, or of two where it has trees of pairs; others have no
        such functions. Of a pipeline, the last step: features are those that arrive there.
    X : array, sparse matrix or frame, optional
        Rows to count per step; `Shapes.plot` draws where they are.

    Returns
    -------
    Shapes

    Examples
    --------
    >>> from crucial.model.additive import AdditiveRanker
    >>> from crucial.model.weak import Stump
    >>> model = AdditiveRanker(2, [Stump(0, 0.5, 0)], [2.0], ["bm25", "age"])
    >>> found = shapes(model, np.array([[0.0, 1.0], [1.0, 1.0], [np.nan, 1.0], [2.0, 1.0]]))
    >>> found["bm25"].values.tolist(), found["bm25"].share.tolist(), found.unused
    ([0.0, 2.0], [0.25, 0.5], ('age',))
    """
    inner = inner_ranker(ranker)
    model = additive_model(inner.ranker, "shapes", features=2, names=inner.names)
    instances = None if X is None else checked_rows(model, inner.rows(X))
    pairs, moved = pair_shapes(model, instances)
    found = []
    for one in describe(model, top=model.n_features).features:
        shape = one.shape
        if shape is None:
            shape = Shape(one.feature, None, np.zeros(0), np.zeros(1), 0.0)
        if one.feature in moved:
            shape = shape + moved[one.feature]
        share, silent = None, None
        if instances is not None:
            steps = step_of(shape, instances.column(one.feature))
            counts = np.bincount(steps, minlength=len(shape.values) + 1)
            parts = counts / max(1, instances.n_rows)
            share, silent = parts[:-1], float(parts[-1])
        found.append(
            FeatureShape(
                one.feature,
                feature_name(model.feature_names, one.feature),
                one.weight,
                one.share,
                one.direction
                if not pairs or one.direction == "by category"
                else direction_of(shape, one.ramps, one.rungs),
                shape.thresholds,
                shape.values,
                shape.missing + sum(ramp.missing for ramp in one.ramps),
                one.ramps,
                share,
                silent,
                model.encodings.categories.get(one.feature, {}),
                unit=model.encodings.times.get(one.feature, ""),
            )
        )
        if instances is not None:
            found[-1] = _with_rows(found[-1], instances)
    used = [one.feature for one in found]
    unused = names_of(model.feature_names, model.n_features, used)
    n_rows = None if instances is None else instances.n_rows
    return Shapes(tuple(found), unused, n_rows, pairs)
