"""Thresholds as an engine's numbers, of which most have float32."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from crucial.errors import NotRankedError
from crucial.model.export.form import FormTree, ScoreForm, by_feature, joined
from crucial.types import Floats

__all__ = ["FLOAT32_LIMIT", "EngineCuts", "EngineForm", "engine_form", "float32_cuts"]

#: Values as large as this, or larger, are no float32 numbers that a threshold can be above.
FLOAT32_LIMIT = float(np.finfo(np.float32).max)


@dataclass(frozen=True, eq=False)
class EngineCuts:
    """The thresholds of one feature as numbers of an engine.

    Attributes
    ----------
    cuts : float64 array
        One per threshold, ascending, each a number that the engine has: greater values go right.
    lost : list of (float, float)
        Neighbouring values that the thresholds tell apart and the engine does not.
    """

    cuts: Floats
    lost: list[tuple[float, float]]


@dataclass(frozen=True, eq=False)
class EngineForm:
    """A form with an engine's thresholds.

    Attributes
    ----------
    form : ScoreForm
    cuts : dict of float64 arrays
        By feature, the engine's number for every threshold in the model's ``cuts()``, in the same
        order; two thresholds may have become one.
    n_lost : int
        Places where the engine cannot tell values apart that the model does.
    """

    form: ScoreForm
    cuts: dict[int, Floats]
    n_lost: int = 0


def _rounded_down(values: Floats) -> Floats:
    near = values.astype(np.float32)
    down = np.where(near > values, np.nextafter(near, np.float32(-np.inf)), near)
    return down.astype(np.float64)


def float32_cuts(thresholds: Floats, values: Floats | None = None) -> EngineCuts:
    """Return thresholds that float32 values fall on the same side of.

    Without ``values``, each is the largest float32 number that is not above the threshold: every
    value that is a float32 number stays on its side. A value that is none may be rounded across
    the threshold; with ``values`` the threshold is moved between the two neighbours, where float32
    has a number there.

    Parameters
    ----------
    thresholds : ascending float64 array
    values : ascending float64 array, optional
        All values that must stay on their side.

    Examples
    --------
    >>> found = float32_cuts(np.array([0.15, 0.2]))
    >>> bool(np.float32(0.15) > np.float32(found.cuts[0])), found.lost
    (True, [])
    >>> float32_cuts(np.array([1.0, 1.0 + 1e-12])).lost
    [(1.0, 1.000000000001)]
    """
    cuts = _rounded_down(thresholds)
    lost: list[tuple[float, float]] = []
    if values is not None and len(values):
        place = np.searchsorted(values, thresholds, "right")
        inside = (place > 0) & (place < len(values))
        below, above = values[np.maximum(place - 1, 0)], values[np.minimum(place, len(values) - 1)]
        low, high = (one.astype(np.float32).astype(np.float64) for one in (below, above))
        wrong = inside & ((cuts < low) | (cuts >= high))
        cuts = np.where(wrong & (low < high), low, cuts)
        same = inside & (low == high)
        lost += list(zip(below[same].tolist(), above[same].tolist(), strict=True))
    for left in np.flatnonzero(np.diff(cuts) <= 0.0).tolist():
        lost.append((float(thresholds[left]), float(thresholds[left + 1])))
    return EngineCuts(cuts, lost)


def engine_form(
    form: ScoreForm,
    values_of: Callable[[int], Floats | None],
    allow_ties: bool,
    engine: str,
    cuts_of: Callable[[Floats, Floats | None], EngineCuts] = float32_cuts,
    limit: float = FLOAT32_LIMIT,
) -> EngineForm:
    """Return the form with thresholds that are numbers of an engine.

    Parameters
    ----------
    form : ScoreForm
    values_of : callable
        Returns the ascending values of a feature that must stay on their sides; None if they are
        not known.
    allow_ties : bool
        Go on where the engine cannot tell values apart.
    engine : str
        What it does with numbers, for messages: "xgboost computes with float32".
    cuts_of : callable
        The rule; `float32_cuts` for engines that compare float32 numbers as they are.
    limit : float
        Thresholds and values must be smaller, or the engine has no number for them.

    Raises
    ------
    NotRankedError
        The engine cannot tell values apart that the model tells apart, or has no number for one;
        it names the feature and the values.
    """
    cuts: dict[int, Floats] = {}
    n_lost = 0
    own = form.cuts()
    for feature, thresholds in own.items():
        name = form.names[feature]
        values = values_of(feature)
        _refuse_beyond(thresholds, "threshold", name, engine, limit)
        if values is not None:
            _refuse_beyond(values, "value", name, engine, limit)
        found = cuts_of(thresholds, values)
        if found.lost and not allow_ties:
            raise _lost(found.lost, name, engine, values is not None)
        n_lost += len(found.lost)
        cuts[feature] = found.cuts
    moved = replace(
        form,
        steps=tuple(
            replace(step, thresholds=_moved(step.thresholds, own[step.feature], cuts[step.feature]))
            for step in form.steps
        ),
        trees=_moved_trees(form, own, cuts),
    )
    return EngineForm(moved, cuts, n_lost)


def _refuse_beyond(numbers: Floats, what: str, name: str, engine: str, limit: float) -> None:
    """Refuse numbers that are infinite in the engine, where they pass for missing ones."""
    largest = float(numbers[np.abs(numbers).argmax()]) if len(numbers) else 0.0
    if abs(largest) >= limit:
        raise NotRankedError(
            f"{engine}, and the {what} {largest!r} of feature {name!r} is beyond its range: scale "
            "the feature down and train again, or export to a target of doubles, such as onnx or "
            "sql."
        )


def _lost(
    lost: list[tuple[float, float]], name: str, engine: str, has_data: bool
) -> NotRankedError:
    a, b = lost[0]
    places = f"{len(lost)} such place{'' if len(lost) == 1 else 's'}"
    first = "" if has_data else "Pass the training data, if no row of them has a value there. "
    other = "Scale" if has_data else "Otherwise scale"
    return NotRankedError(
        f"{engine}, where {a!r} and {b!r} of feature {name!r} are the same number and the model "
        f"tells them apart ({places} in this feature). {first}{other} or shift the feature "
        "and train again, export to a target of doubles such as onnx or sql, or allow ties."
    )


def _moved(thresholds: Floats, own: Floats, cuts: Floats) -> Floats:
    """Return the engine's numbers for some of a feature's thresholds."""
    return cuts[np.searchsorted(own, thresholds)]


def _moved_trees(
    form: ScoreForm, own: dict[int, Floats], cuts: dict[int, Floats]
) -> tuple[FormTree, ...]:
    """Return the trees with the engine's thresholds, found for all nodes of a feature at once."""
    if not form.trees:
        return ()
    features = np.concatenate([tree.features for tree in form.trees])
    thresholds = joined([tree.thresholds for tree in form.trees])
    out = np.full(len(thresholds), np.nan)
    present = np.flatnonzero(~np.isnan(thresholds))
    for feature, some in by_feature(features[present]):
        at = present[some]
        out[at] = _moved(thresholds[at], own[feature], cuts[feature])
    ends = np.cumsum([len(tree.features) for tree in form.trees])
    parts = np.split(out, ends[:-1])
    return tuple(
        replace(tree, thresholds=part) for tree, part in zip(form.trees, parts, strict=True)
    )
