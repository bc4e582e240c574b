"""Shape functions: what a ranker adds for each feature, as a function of its value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from crucial.inspection.pair_shapes import PairShape, pair_shapes
from crucial.inspection.parts import additive_model, step_of
from crucial.inspection.pipelines import inner_ranker
from crucial.inspection.results import Axes, Frame, as_frame, axes_grid, feature_name, listed, shown
from crucial.model.describe import Ramp, describe, direction_of
from crucial.model.inputs import checked_rows
from crucial.model.shape import Shape, sparkline
from crucial.parameters import at_least, check
from crucial.types import Floats, TableLike

__all__ = ["FeatureShape", "Shapes", "shapes"]

_DRAWN = 20  # categories that a plot shows


@dataclass(frozen=True, eq=False)
class FeatureShape:
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
    """

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


@dataclass(frozen=True, eq=False)
class Shapes:
    """Result of `shapes`; ``result["bm25"]`` is the function of one feature.

    Attributes
    ----------
    features : tuple of FeatureShape
        Features with any weight, heaviest first.
    unused : tuple of str
        Names of the others.
    n_rows : int or None
        Number of rows behind the shares.
    pairs : tuple of PairShape
        What pairs of features add beyond that, most important first.
    """

    features: tuple[FeatureShape, ...]
    unused: tuple[str, ...]
    n_rows: int | None = None
    pairs: tuple[PairShape, ...] = ()

    def __getitem__(self, name: str) -> FeatureShape:
        for one in self.features:
            if one.name == name:
                return one
        raise KeyError(name)

    def __repr__(self) -> str:
        return f"Shapes({len(self.features)} used features, {len(self.unused)} unused)"

    def __str__(self) -> str:
        lines = []
        for one in self.features:
            ends = f"{one(-math.inf):.3g} to {one(math.inf):.3g}"
            lines.append(
                f"{shown(one.name, 24)} {one.share_of_weight:6.1%}  "
                f"{sparkline(one.values.tolist(), 24):<24}  {ends:<16} missing {one.missing:.3g}"
                + ("" if one.share_missing is None else f" ({one.share_missing:.0%} of rows)")
            )
            if one.categories:
                parts = [f"{text} {part:.3g}" for text, part in one.by_category().items()]
                lines.append(f"{'':>25}{listed(parts)}")
        for pair in self.pairs:
            first, second = (shown(name, 24).strip() for name in pair.names)
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
        names = ("feature", "name", "step", "above", "up_to", "adds", "share")
        rows: list[tuple[object, ...]] = []
        for one in self.features:
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
        return as_frame(dict(zip(names, zip(*rows))) if rows else {name: [] for name in names})

    def plot(self, top: int = 9) -> list[Axes]:
        """Draw the heaviest features; needs matplotlib.

        Returns
        -------
        list of Axes
        """
        check("plot", "top", top, at_least(1))
        axes = axes_grid(min(top, len(self.features)))
        for ax, one in zip(axes, self.features):
            ax.set_title(f"{one.name} ({one.share_of_weight:.0%})", fontsize=9, parse_math=False)
            if one.categories:
                ends = list(one.by_category().items())
                ends = (
                    ends if len(ends) <= _DRAWN else [*ends[: _DRAWN // 2], *ends[-_DRAWN // 2 :]]
                )
                ax.barh(range(len(ends)), [part for _, part in ends])
                ax.set_yticks(range(len(ends)), [shown(t, 16) for t, _ in ends], parse_math=False)
                ax.invert_yaxis()
                continue
            marks = [*one.thresholds.tolist(), *(e for r in one.ramps for e in (r.low, r.high))]
            low, high = (min(marks), max(marks)) if marks else (0.0, 0.0)
            margin = 0.08 * (high - low) or 1.0
            fine = np.linspace(low - margin, high + margin, 400)
            xs = np.unique(np.concatenate([fine, marks, np.nextafter(marks, np.inf)]))
            ax.plot(xs, [one(float(x)) for x in xs])
            ax.axhline(one.missing, linestyle=":", color="0.5", label="missing")
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


def shapes(ranker: object, X: TableLike | None = None) -> Shapes:
    """Return what each feature adds to a score, as a function of its value.

    Parameters
    ----------
    ranker : AdditiveRanker or fitted estimator
        A sum of functions of one feature, or of two where it has trees of pairs; others have no
        such functions. Of a pipeline, the last step: features are those that arrive there.
    X : array, sparse matrix or frame, optional
        Rows to count per step.

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
            )
        )
    others = set(range(model.n_features)) - {one.feature for one in found}
    unused = tuple(feature_name(model.feature_names, f) for f in sorted(others))
    n_rows = None if instances is None else instances.n_rows
    return Shapes(tuple(found), unused, n_rows, pairs)
