"""Shape functions: what a ranker adds for each feature, or pair of features, by value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from crucial.data.arrays import DAYS
from crucial.data.instances import Instances
from crucial.errors import NotRankedError
from crucial.model.additive import AdditiveRanker, Shape, sparkline
from crucial.model.base import FrozenModel, checked_rows
from crucial.model.describe import Description, FeatureSummary, Ramp, describe, direction_of
from crucial.model.tree_sums import PairTerm
from crucial.model.weak import Constant, Presence, ScaledFeature, Stump, Tree, Vote
from crucial.parameters import at_least, check
from crucial.results import (
    Axes,
    Frame,
    Result,
    as_frame,
    axes_grid,
    bar_chart,
    feature_name,
    listed,
    names_of,
    padded,
)
from crucial.types import Floats, Ints, TableLike
from crucial.wording import counted

# --- What pairs of features add to a score beyond what each adds alone


_PASSES = 50  # of moving what one feature explains out of the tables
_SETTLED = 1e-10


@dataclass(frozen=True, eq=False, repr=False)
class PairShape(Result):
    """The joint part of two features in a score, beyond the parts of each alone.

    Attributes
    ----------
    features : (int, int)
        Numbers of the features.
    names : (str, str)
    importance : float
        Share of the pair in what all splits of the ranker gained, in [0, 1].
    thresholds : pair of arrays
        Where the table steps, ascending, for each feature.
    values : array of shape (k1 + 2, k2 + 2)
        ``values[c1 + 1, c2 + 1]`` is added where ``c1`` and ``c2`` thresholds are below the values
        of the features; row 0 and column 0 are for missing values.
    """

    _bars = ("adds",)

    features: tuple[int, int]
    names: tuple[str, str]
    importance: float
    thresholds: tuple[Floats, Floats]
    values: Floats

    def __call__(self, first: float, second: float) -> float:
        """Return the joint part of two values; NaN is a missing one."""
        cells = [
            0 if math.isnan(value) else 1 + int(cuts.searchsorted(value))
            for value, cuts in zip((first, second), self.thresholds, strict=True)
        ]
        return float(self.values[cells[0], cells[1]])

    def __str__(self) -> str:
        first, second = (padded(name, 24).strip() for name in self.names)
        low, high = self.values.min(), self.values.max()
        return f"{first} with {second}: {low:.3g} to {high:.3g} ({self.importance:.1%})"

    def to_frame(self) -> Frame:
        """Return one row per cell of the table, those that add most first."""
        order = np.argsort(-np.abs(self.values), axis=None, kind="stable")
        cells = np.unravel_index(order, self.values.shape)
        columns: dict[str, Any] = {
            name: [_range(cuts, at) for at in places.tolist()]
            for name, cuts, places in zip(self.names, self.thresholds, cells, strict=True)
        }
        return as_frame({**columns, "adds": self.values[cells]})

    def draw(self, ax: Axes) -> None:
        """Draw the table as a heat map, without missing values; the first feature goes right."""
        inside = self.values[1:, 1:].T
        limit = float(np.abs(inside).max(initial=0.0)) or 1.0
        edges = [_edges(cuts) for cuts in self.thresholds]
        ax.pcolormesh(*edges, inside, cmap="RdBu_r", vmin=-limit, vmax=limit)
        ax.set_xlabel(self.names[0], parse_math=False)
        ax.set_ylabel(self.names[1], parse_math=False)
        ax.set_title(f"up to {limit:.3g} ({self.importance:.0%})", fontsize=9)


def _edges(cuts: Floats) -> Floats:
    """Return the edges of the cells of a feature, with a margin for the outer ones."""
    if not len(cuts):
        return np.array([0.0, 1.0])
    margin = 0.08 * (cuts[-1] - cuts[0]) or 1.0
    return np.concatenate(([cuts[0] - margin], cuts, [cuts[-1] + margin]))


def _range(cuts: Floats, place: int) -> str:
    """Return in words which values fall into a cell of a table; the first is for missing ones."""
    if place == 0:
        return "missing"
    if not len(cuts):
        return "any"
    low = f"above {cuts[place - 2]:.4g}" if place > 1 else ""
    high = f"up to {cuts[place - 1]:.4g}" if place <= len(cuts) else ""
    return " ".join(filter(None, (low, high)))


def pair_shapes(
    model: AdditiveRanker, instances: Instances | None = None
) -> tuple[tuple[PairShape, ...], dict[int, Shape]]:
    """Split the trees of pairs of features into what is joint and what one feature explains.

    A table of a pair has no unique form: any function of one feature can be moved from it to the
    feature. Here the mean of every row and column is 0 over the rows of data, or over all cells
    if there are none (the purified form of Lengerich et al. 2020).

    Returns
    -------
    pairs : tuple of PairShape
        By importance.
    moved : dict from feature to Shape
        What was moved to each feature; a constant is left out.
    """
    if model.tree_sums is None:
        return (), {}
    shares = model.tree_sums.shares()
    pairs = []
    moved: dict[int, Shape] = {}
    for table in model.pair_tables():
        values, parts = _purified(table, instances)
        for feature, cuts, part in zip(table.features, table.thresholds, parts, strict=True):
            shape = Shape(feature, None, cuts, part[1:], float(part[0]))
            moved[feature] = moved[feature] + shape if feature in moved else shape
        first, second = (feature_name(model.feature_names, f) for f in table.features)
        share = shares[table.features]
        pairs.append(PairShape(table.features, (first, second), share, table.thresholds, values))
    return tuple(sorted(pairs, key=lambda one: (-one.importance, one.features))), moved


def _purified(table: PairTerm, instances: Instances | None) -> tuple[Floats, tuple[Floats, Floats]]:
    """Return the table with rows and columns of mean 0, and what was taken from either side."""
    values = table.values.copy()
    weight = np.ones_like(values)
    if instances is not None:
        cells = []
        for feature, cuts in zip(table.features, table.thresholds, strict=True):
            column = instances.column(feature).astype(np.float64)
            cells.append(np.where(np.isnan(column), 0, 1 + cuts.searchsorted(column)))
        # A little everywhere, so that cells without rows have a mean too.
        weight = np.full_like(values, 1e-6)
        np.add.at(weight, tuple(cells), 1.0)
    rows, columns = np.zeros(len(values)), np.zeros(values.shape[1])
    for _ in range(_PASSES):
        by_row = (values * weight).sum(axis=1) / weight.sum(axis=1)
        values -= by_row[:, None]
        rows += by_row
        by_column = (values * weight).sum(axis=0) / weight.sum(axis=0)
        values -= by_column
        columns += by_column
        if max(np.abs(by_row).max(), np.abs(by_column).max()) <= _SETTLED:
            break
    return values, (rows, columns)


# --- The ranker inside a pipeline or a search, and the rows and names as they arrive there


Model = TypeVar("Model", bound=FrozenModel)


@dataclass(frozen=True, eq=False)
class InnerRanker:
    """The ranker that a pipeline or a search ends with.

    Attributes
    ----------
    ranker : object
        The ranker itself; what was passed where there is nothing around it.
    before : tuple of pipelines
        Fitted steps in front of it.
    names : tuple of str, or None
        Names of the features as they arrive at the ranker, where the steps have names for them.
    """

    ranker: object
    before: tuple[Any, ...] = ()
    names: tuple[str, ...] | None = None

    def rows(self, X: TableLike) -> TableLike:
        """Return rows as they arrive at the ranker."""
        for steps in self.before:
            X = steps.transform(X)
        return X


def inner_ranker(ranker: object) -> InnerRanker:
    """Return the last step of a pipeline, and the best one of a search; anything else as it is.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from crucial import RankBoost
    >>> pipeline = make_pipeline(StandardScaler(), RankBoost(n_estimators=2))
    >>> found = inner_ranker(pipeline.fit([[1.0], [2.0]], [0, 1]))
    >>> found.ranker, found.names
    (RankBoost(n_estimators=2), ('x0',))
    """
    before: list[Any] = []
    names: Sequence[str] | None = None
    while True:
        if hasattr(ranker, "best_estimator_"):
            ranker = ranker.best_estimator_
        elif hasattr(ranker, "steps") and hasattr(ranker, "named_steps"):
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(ranker)
            pipeline: Any = ranker
            if len(pipeline.steps) > 1:
                before.append(pipeline[:-1])
                names = _names_out(pipeline[:-1], names)
            ranker = pipeline.steps[-1][1]
        else:
            return InnerRanker(ranker, tuple(before), None if names is None else tuple(names))


def _names_out(steps: Any, names: Sequence[str] | None) -> Sequence[str] | None:
    """Return the names of the columns after fitted steps; None where one of them has no names."""
    try:
        found = (
            steps.get_feature_names_out() if names is None else steps.get_feature_names_out(names)
        )
    except (AttributeError, ValueError):
        return None
    return [str(name) for name in found]


def with_names(model: Model, names: tuple[str, ...] | None) -> Model:
    """Return a model with names of its features; one that has names keeps them."""
    if names is None or model.feature_names is not None or len(names) != model.n_features:
        return model
    return replace(model, feature_names=names)


# --- Scores of additive rankers, split into what each feature adds


_ALTERNATIVE = "importances(ranker, X, y, kind='permutation') works for every ranker that predicts"
_OF_TREES = (
    "why(ranker, X, a, b) explains the order of two items in any trees, and contributions(ranker, "
    "X) what features add to the scores of several rows"
)


def model_of(ranker: object) -> object:
    """Return the model of a fitted estimator; anything else as it is."""
    if not isinstance(ranker, FrozenModel) and hasattr(ranker, "fit"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(ranker)
    return getattr(ranker, "model_", ranker)


def additive_model(
    ranker: object, what: str, *, features: int | None = 1, names: tuple[str, ...] | None = None
) -> AdditiveRanker:
    """Return a ranker as a sum of functions of one feature each.

    Parameters
    ----------
    ranker : AdditiveRanker or fitted estimator
    what : str
        The caller, for the error.
    features : int or None
        Most features that one weak ranker may combine; None for any number.
    names : tuple of str, optional
        Names of the features, for a model that has none.

    Raises
    ------
    NotRankedError
        The ranker is not such a sum: its score cannot be split exactly.
    """
    model = model_of(ranker)
    if not isinstance(model, AdditiveRanker):
        raise NotRankedError(
            f"{what} splits the scores of additive rankers, and {type(ranker).__name__} is none: "
            f"what its features do together has no exact parts. {_ALTERNATIVE}."
        )
    for number, (weak, _) in enumerate(model.weighted()):
        if isinstance(weak, Tree):
            combined = len(set(weak.features))
            if features is not None and combined > features:
                raise NotRankedError(
                    f"{what} needs trees of at most {features} feature{'s' * (features > 1)}, and "
                    f"that of round {number + 1} combines {combined}. {_OF_TREES}; to train a "
                    f"ranker that can be split, set interactions={features}."
                )
            continue
        if not isinstance(weak, Stump | Presence | ScaledFeature | Vote | Constant):
            raise NotRankedError(
                f"{what} needs weak rankers of one feature each, and round {number + 1} is a "
                f"{type(weak).__name__}, no function of one feature's value. {_ALTERNATIVE}."
            )
    return with_names(model, names)


def step_of(shape: Shape, column: NDArray[np.generic]) -> Ints:
    """Return the number of the step of each value; one after the last where it is missing.

    Examples
    --------
    >>> shape = Shape(0, None, np.array([1.0]), np.array([0.0, 2.0]), 0.5)
    >>> step_of(shape, np.array([1.0, 1.5, np.nan])).tolist()
    [0, 1, 2]
    """
    values = column.astype(np.float64)
    return np.where(np.isnan(values), len(shape.values), shape.thresholds.searchsorted(values))


@dataclass(frozen=True, eq=False)
class FeatureParts:
    """The part of each used feature in the score of each row.

    Attributes
    ----------
    features : int64 array of shape (n_used,)
        Numbers of the used features, ascending.
    columns : float64 array of shape (n_rows, n_used)
        Values of the features; NaN where one is missing.
    added : float64 array of the same shape
        What they add. For stumps, the sum of a row from left to right is its score to the last
        bit. The intercept of constants, the same for all rows, is not included.
    """

    features: Ints
    columns: Floats
    added: Floats


def feature_parts(model: AdditiveRanker, instances: Instances) -> FeatureParts:
    """Split the scores of all rows of a model that `additive_model` returned."""
    shapes = model.shapes()
    ramps: dict[int, dict[ScaledFeature, float]] = {}
    for weak, weight in model.weighted():
        if isinstance(weak, ScaledFeature):
            of_feature = ramps.setdefault(weak.feature, {})
            of_feature[weak] = of_feature.get(weak, 0.0) + weight
    used = sorted({*shapes, *ramps})
    columns = np.empty((instances.n_rows, len(used)))
    added = np.zeros((instances.n_rows, len(used)))
    for slot, feature in enumerate(used):
        column = columns[:, slot] = instances.column(feature)
        if feature in shapes:
            shape = shapes[feature]
            added[:, slot] = np.append(shape.values, shape.missing)[step_of(shape, column)]
        for weak, weight in ramps.get(feature, {}).items():
            alone = ScaledFeature(0, weak.low, weak.high, weak.default)
            added[:, slot] += weight * alone.scores(columns[:, slot : slot + 1])
    return FeatureParts(np.array(used, np.int64), columns, added)


# --- Draw what one feature adds to a score, and where the rows are


_DRAWN = 20  # categories that a plot shows
_FLOOR = 0.2  # share of the height for the rows


def draw_shape(ax: Axes, shape: FeatureShape) -> None:
    """Draw the function of a feature, what a missing value adds, and the rows at the bottom."""
    title = f"{shape.name} ({shape.share_of_weight:.0%} of the weight)"
    ax.set_title(title, fontsize=9, pad=15, parse_math=False)
    if shape.categories:
        _draw_categories(ax, shape)
    else:
        _draw_steps(ax, shape)
    # Between the title and the axes, where it covers nothing.
    ax.legend(
        loc="lower center", bbox_to_anchor=(0.5, 0.99), ncols=2, fontsize=7, frameon=False,
        borderpad=0.1, handlelength=1.5, columnspacing=1.0,
    )  # fmt: skip


def _missing_text(shape: FeatureShape) -> str:
    """Return the label of a missing value: its part of the score, and the rows that have it."""
    rows = ""
    if shape.share_missing is not None:
        rows = f" ({shape.share_missing:.0%} of rows)" if shape.share_missing else " (no row)"
    return f"missing value adds {shape.missing:.3g}{rows}"


def _draw_steps(ax: Axes, shape: FeatureShape) -> None:
    low, high = shape.window
    marks = shape.marks
    fine = np.linspace(low, high, 400)
    xs = np.unique(np.concatenate([fine, marks, np.nextafter(marks, np.inf)]))
    ax.plot(xs, [shape(float(x)) for x in xs])
    ax.axhline(shape.missing, linestyle=":", color="0.5", label=_missing_text(shape))
    _label_values(ax, shape)
    ax.set_ylabel("adds to the score")
    if shape.histogram is None:
        return
    edges, counts = shape.histogram
    bottom, top = ax.get_ylim()
    ax.set_ylim(bottom - (top - bottom) * _FLOOR / (1.0 - _FLOOR), top)
    shares, rows = 0.9 * _FLOOR * counts / max(1, counts.max()), counted(int(counts.sum()), "row")
    ax.bar(
        edges[:-1], shares, np.diff(edges), align="edge", transform=ax.get_xaxis_transform(),
        color="0.5", alpha=0.6, label=rows,
    )  # fmt: skip
    ax.set_xlim(edges[0], edges[-1])


def _label_values(ax: Axes, shape: FeatureShape) -> None:
    """Name the axis of the values, as dates where they are days since 1970."""
    unit = f" ({shape.unit})" if shape.unit and shape.unit != DAYS else ""
    ax.set_xlabel(f"{shape.name}{unit}", parse_math=False)
    if shape.unit == DAYS:
        dates: Any = import_module("matplotlib.dates")
        locator = dates.AutoDateLocator(
            minticks=2, maxticks=5
        )  # (matplotlib's dates are days since 1970 too)
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))


def _draw_categories(ax: Axes, shape: FeatureShape) -> None:
    parts = list(shape.by_category().items())
    if len(parts) > _DRAWN:
        parts = [*parts[: _DRAWN // 2], *parts[-_DRAWN // 2 :]]
    rows = shape.category_rows
    texts = [
        padded(text, 16).strip() + (f" ({counted(rows.get(text, 0), 'row')})" if rows else "")
        for text, _ in parts
    ]
    bar_chart(ax, texts, np.array([part for _, part in parts]))
    ax.axvline(shape.missing, linestyle=":", color="0.5", label=_missing_text(shape))
    ax.set_xlabel("adds to the score")
    ax.set_ylabel(shape.name, parse_math=False)


# --- Shape functions: what a ranker adds for each feature, as a function of its value


_BINS = 40  # of the histograms of rows
_MOST = (0.01, 0.99)  # quantiles of the rows between which a plot shows them


@dataclass(frozen=True, eq=False, repr=False)
class FeatureShape(Result):
    """The part of one feature in a score, as a function of its value.

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

    _bars = ("adds", "share")

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
        """Return the part of a value or a category; NaN is a missing value."""
        if isinstance(value, str):
            value = self.categories.get(value, math.nan)
        if math.isnan(value):
            return self.missing
        steps = float(self.values[self.thresholds.searchsorted(value)])
        rising = ((min(max(value, r.low), r.high) - r.low) / (r.high - r.low) for r in self.ramps)
        return steps + math.fsum(r.weight * part for r, part in zip(self.ramps, rising))

    def __str__(self) -> str:
        ends = f"{self(-math.inf):.3g} to {self(math.inf):.3g}"
        text = (
            f"{padded(self.name, 24)} {self.share_of_weight:6.1%}  "
            f"{sparkline(self.values.tolist(), 24):<24}  {ends:<16} missing {self.missing:.3g}"
        )
        if self.share_missing is not None:
            text += f" ({self.share_missing:.0%} of rows)"
        if self.categories:
            parts = [f"{text} {part:.3g}" for text, part in self.by_category().items()]
            text += f"\n{'':>25}{listed(parts)}"
        return text

    def to_frame(self) -> Frame:
        """Return one row per step, as `Shapes.to_frame` does."""
        return as_frame(_steps((self,)))

    def by_category(self) -> dict[str, float]:
        """Return the part of each category, largest first; empty without categories."""
        parts = {text: self(value) for text, value in self.categories.items()}
        return dict(sorted(parts.items(), key=lambda one: (-one[1], one[0])))


@dataclass(frozen=True, eq=False, repr=False)
class Shapes(Result):
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

    _bars = ("adds",)

    features: tuple[FeatureShape, ...]
    unused: Sequence[str]
    n_rows: int | None = None
    pairs: tuple[PairShape, ...] = ()

    def _title(self) -> str:
        used = counted(len(self.features), "used feature")
        return f"what each value of {used} adds to the score, {len(self.unused)} unused"

    def __getitem__(self, name: str) -> FeatureShape:
        for one in self.features:
            if one.name == name:
                return one
        raise KeyError(name)

    def __str__(self) -> str:
        lines = [*map(str, self.features), *map(str, self.pairs)]
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
    """Return the part of each feature in a score, as a function of its value.

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
        direction = one.direction
        if pairs and direction != "by category":
            direction = direction_of(shape, one.ramps, one.rungs)
        name = feature_name(model.feature_names, one.feature)
        missing = shape.missing + math.fsum(ramp.missing for ramp in one.ramps)
        head = (one.feature, name, one.weight, one.share, direction)
        steps_of = (shape.thresholds, shape.values, missing)
        categories = model.encodings.categories.get(one.feature, {})
        unit = model.encodings.times.get(one.feature, "")
        found.append(
            FeatureShape(*head, *steps_of, one.ramps, share, silent, categories, unit=unit)
        )
        if instances is not None:
            found[-1] = _with_rows(found[-1], instances)
    used = [one.feature for one in found]
    unused = names_of(model.feature_names, model.n_features, used)
    n_rows = None if instances is None else instances.n_rows
    return Shapes(tuple(found), unused, n_rows, pairs)


# --- The description of a model, with the functions of features that trees of pairs add up to


def describe_with_pairs(model: FrozenModel, top: int = 10) -> Description:
    """Summarise a model as `crucial.model.describe.describe` does, trees of two features split.

    What one feature explains of a table of two is part of its function, over all combinations of
    steps. Where trees combine more features than two, those have no function of their own.

    Parameters
    ----------
    model : FrozenModel
    top : int
        Number of features to describe.
    """
    learned = describe(model, top)
    if not isinstance(model, AdditiveRanker) or model.tree_sums is None:
        return learned
    together = [features for features in model.tree_sums.by_features if len(features) > 1]
    if not together:
        return learned
    large = {f for features in together if len(features) > 2 for f in features}
    moved = pair_shapes(model)[1]
    features = tuple(_whole(one, moved.get(one.feature), large) for one in learned.features)
    return replace(learned, features=features)


def _whole(one: FeatureSummary, moved: Shape | None, large: set[int]) -> FeatureSummary:
    """Return the summary of a feature with its part of the pairs; none if it has no function."""
    if one.feature in large:
        return replace(one, shape=None, direction="")
    if moved is None:
        return one
    shape = one.shape
    if shape is None:
        shape = Shape(one.feature, None, np.zeros(0), np.zeros(1), 0.0)
    whole = shape + moved
    return replace(one, shape=whole, direction=direction_of(whole, one.ramps, one.rungs))
