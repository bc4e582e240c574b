"""What a model learned, as plain data to be displayed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from crucial.model.additive import Shape, draw_shape, sparkline
from crucial.model.base import FrozenModel, RoundsModel
from crucial.model.weak import (
    Affine,
    Constant,
    Presence,
    QuasiKNN,
    ScaledFeature,
    Stump,
    Tree,
    Vote,
)
from crucial.wording import counted, printable

__all__ = ["Description", "FeatureSummary", "Ramp", "Rung", "describe", "direction_of", "drawing"]

T = TypeVar("T", QuasiKNN, ScaledFeature)

_CATEGORIES = 20  # that a drawing shows


@dataclass(frozen=True)
class Ramp:
    """A scaled feature of the model: it adds 0 up to ``low``, ``weight`` from ``high`` on."""

    low: float
    high: float
    missing: float
    weight: float


@dataclass(frozen=True, eq=False)
class Rung:
    """A quasi-KNN ranking of the model: the centres of its intervals, lowest ranked first."""

    centres: tuple[float | None, ...]
    weight: float


@dataclass(frozen=True, eq=False)
class FeatureSummary:
    """Summary of one feature: its importance, direction and thresholds.

    Attributes
    ----------
    feature : int
        Its number, from 0.
    label : str
        Its name, made safe for a terminal, or "feature 7" where it has none.
    weight : float
        Absolute weight of its weak rankers.
    share : float
        Share of the total absolute weight, in [0, 1].
    direction : str
        "rising", "falling", "both ways", "flat" where only presence counts, or "by category";
        empty where what the feature adds depends on others.
    shape : Shape or None
        The sum of its stumps, if it has any.
    ramps : tuple of Ramp
        Its scaled forms, if it has any.
    rungs : tuple of Rung
        Its quasi-KNN rankings, if it has any.
    categories : mapping from category to number
        What the feature adds for each category, largest first, where it has categories.
    unit : str
        What its numbers count, where they are dates or times.
    """

    feature: int
    label: str
    weight: float
    share: float
    direction: str
    shape: Shape | None
    ramps: tuple[Ramp, ...]
    rungs: tuple[Rung, ...] = ()
    categories: Mapping[str, float] = field(default_factory=dict)
    unit: str = ""


@dataclass(frozen=True, eq=False)
class Description:
    """What a model is and what it learned.

    Attributes
    ----------
    n_features, n_rounds : int
        Its size.
    kinds : dict
        Number of rounds per kind of weak ranker.
    n_used : int
        Number of features with any weight.
    features : tuple of FeatureSummary
        The heaviest features, heaviest first.
    training : dict
        The training summary.
    intercept : float
        Summed weight of the constants.
    size : str
        The size of the model in words.
    lines : tuple of str
        Further lines of text on what was learned.
    importance_of : str
        What the shares of the features count.
    """

    n_features: int
    n_rounds: int
    kinds: dict[str, int]
    n_used: int
    features: tuple[FeatureSummary, ...]
    training: dict[str, Any]
    intercept: float = 0.0
    size: str = ""
    lines: tuple[str, ...] = ()
    importance_of: str = ""


def describe(model: FrozenModel, top: int = 10) -> Description:
    """Summarise a model.

    Parameters
    ----------
    model : FrozenModel
        The model.
    top : int
        Number of features to describe.

    Returns
    -------
    Description
        Plain data; `drawing` draws a feature as lines of text.
    """
    common = (model.size, tuple(model.explain(top)), model.importance_of)
    if not isinstance(model, RoundsModel):
        every = model.feature_importances()
        used = np.flatnonzero(every)  # (of what may be millions)
        shares = dict(zip(used.tolist(), every[used].tolist(), strict=True))
        n_used, features = _features(model, shares, top, {}, {}, {})
        training = dict(model.training)
        return Description(model.n_features, 0, {}, n_used, features, training, 0.0, *common)
    n_used, features = _features(
        model, model.weight_by_feature(), top, model.shapes(), _ramps(model), _rungs(model)
    )
    kinds = Counter(_kind(ranker) for ranker in model.rankers)
    return Description(
        model.n_features,
        model.n_rounds,
        dict(kinds.most_common()),
        n_used,
        features,
        dict(model.training),
        model.intercept,
        *common,
    )


def _features(
    model: FrozenModel,
    by_feature: Mapping[int, float],
    top: int,
    shapes: Mapping[int, Shape],
    ramps: Mapping[int, tuple[Ramp, ...]],
    rungs: Mapping[int, tuple[Rung, ...]],
) -> tuple[int, tuple[FeatureSummary, ...]]:
    """Return the number of used features, and the heaviest of them."""
    weights = {f: w for f, w in by_feature.items() if w > 0}
    total = math.fsum(weights.values())
    features = []
    for feature in sorted(weights, key=lambda feature: (-weights[feature], feature))[:top]:
        name = model.feature_names[feature] if model.feature_names is not None else None
        learned = shapes.get(feature), ramps.get(feature, ()), rungs.get(feature, ())
        features.append(
            FeatureSummary(
                feature,
                printable(name) if name is not None else f"feature {feature}",
                weights[feature],
                weights[feature] / total,
                _direction(model, feature, learned),
                *learned,
                _category_parts(model, feature, learned[0], learned[1]),
                model.encodings.times.get(feature, ""),
            )
        )
    return len(weights), tuple(features)


def _direction(
    model: FrozenModel,
    feature: int,
    learned: tuple[Shape | None, tuple[Ramp, ...], tuple[Rung, ...]],
) -> str:
    """Return which way a feature goes, if it has a function of its own."""
    if not any(learned):
        return ""
    return "by category" if feature in model.encodings.categories else direction_of(*learned)


def _category_parts(
    model: FrozenModel, feature: int, shape: Shape | None, ramps: tuple[Ramp, ...]
) -> dict[str, float]:
    """Return what a feature adds for each category, largest first."""
    values = model.encodings.categories.get(feature, {})
    if shape is None and not ramps:
        return {}
    parts = {text: part_at(value, shape, ramps) for text, value in values.items()}
    return dict(sorted(parts.items(), key=lambda one: (-one[1], one[0])))


def part_at(value: float, shape: Shape | None, ramps: tuple[Ramp, ...]) -> float:
    """Return what steps and ramps add at a value."""
    steps = 0.0 if shape is None else float(shape.values[shape.thresholds.searchsorted(value)])
    rising = ((min(max(value, r.low), r.high) - r.low) / (r.high - r.low) for r in ramps)
    return steps + math.fsum(ramp.weight * part for ramp, part in zip(ramps, rising))


def _kind(ranker: object) -> str:
    if isinstance(ranker, Affine):
        return f"fitted {_kind(ranker.ranker)}"
    own: dict[type, str] = {
        Stump: "stump",
        Presence: "presence",
        ScaledFeature: "scaled feature",
        Vote: "vote",
        Constant: "constant",
        QuasiKNN: "quasi-KNN",
        Tree: "tree",
    }
    return own.get(type(ranker), type(ranker).__name__)


def _weights_of(model: RoundsModel, kind: type[T]) -> dict[T, float]:
    """Return the distinct weak rankers of a kind, with their summed weights."""
    total: dict[T, float] = {}
    for ranker, weight in model.weighted():
        if isinstance(ranker, kind):
            total[ranker] = total.get(ranker, 0.0) + weight
    return total


def _rungs(model: RoundsModel) -> dict[int, tuple[Rung, ...]]:
    out: dict[int, tuple[Rung, ...]] = {}
    for ranker, weight in _weights_of(model, QuasiKNN).items():
        out[ranker.feature] = (*out.get(ranker.feature, ()), Rung(ranker.centres, weight))
    return out


def _ramps(model: RoundsModel) -> dict[int, tuple[Ramp, ...]]:
    out: dict[int, tuple[Ramp, ...]] = {}
    for ranker, weight in _weights_of(model, ScaledFeature).items():
        ramp = Ramp(ranker.low, ranker.high, weight * ranker.default, weight)
        out[ranker.feature] = (*out.get(ranker.feature, ()), ramp)
    return out


def direction_of(shape: Shape | None, ramps: tuple[Ramp, ...], rungs: tuple[Rung, ...]) -> str:
    """Return which way the scores move as the feature rises."""
    moves = [ramp.weight for ramp in ramps]
    for rung in rungs:
        known = [centre for centre in rung.centres if centre is not None]
        sign = 1.0 if rung.weight > 0 else -1.0
        moves += [sign * (b > a) - sign * (b < a) for a, b in pairwise(known)]
    if shape is not None:
        moves += np.diff(shape.values).tolist()
    up, down = any(move > 0 for move in moves), any(move < 0 for move in moves)
    if up and down:
        return "both ways"
    return "rising" if up else "falling" if down else "flat"


def drawing(summary: FeatureSummary, width: int = 48, height: int = 3) -> list[str]:
    """Draw what was learned about a feature as lines of text."""
    if summary.categories:
        return _category_lines(summary, width)
    lines = draw_shape(summary.shape, width, height) if summary.shape is not None else []
    if summary.unit:
        lines.append(f"{'':>12}in {summary.unit}")
    for ramp in summary.ramps:
        slope = sparkline([0.0, ramp.weight] if ramp.weight < 0 else [0.0, 1.0], 2)
        lines.append(
            f"{'':>12}{slope} from 0 at {ramp.low:.6g} to {ramp.weight:.4g} at {ramp.high:.6g}"
        )
        lines.append(f"{'':>12}no opinion: {ramp.missing:.4g}")
    for rung in summary.rungs:
        known = [centre for centre in rung.centres if centre is not None]
        bars = sparkline(known, min(width, 2 * len(known)))
        lines.append(f"{'':>12}{bars} ranked by the nearest centre, weight {rung.weight:.4g}")
        centres = ["none" if centre is None else f"{centre:.4g}" for centre in rung.centres]
        lines.append(f"{'':>12}centres, lowest rank first: {', '.join(centres)}")
        lines.append(f"{'':>12}no opinion: the middle of the query")
    return lines


def _category_lines(summary: FeatureSummary, width: int) -> list[str]:
    """Draw what each category adds as bars; of many, the ends."""
    parts = list(summary.categories.items())
    low, high = parts[-1][1], parts[0][1]
    hidden = len(parts) - _CATEGORIES
    shown = parts if hidden <= 0 else [*parts[: _CATEGORIES // 2], *parts[-(_CATEGORIES // 2) :]]
    label = max(len(printable(text, 24)) for text, _ in shown)
    lines = []
    for number, (text, part) in enumerate(shown):
        if hidden > 0 and number == _CATEGORIES // 2:
            lines.append(f"{'':>12}{counted(hidden, 'more category')}")
        filled = round((width - label) * (part - low) / (high - low)) if high > low else 0
        lines.append(f"{part:>10.4g}  {printable(text, 24):<{label}} {'█' * filled}".rstrip())
    missing = math.fsum(ramp.missing for ramp in summary.ramps)
    missing += 0.0 if summary.shape is None else summary.shape.missing
    lines.append(f"{missing:>10.4g}  missing, or a new category")
    return lines
