"""Write a model in another engine's format, tried on rows before the file is moved into place."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.arrays import DAYS, SECONDS, number_text
from crucial.data.files import atomic_write
from crucial.data.instances import Instances
from crucial.errors import Argument, DataError, Message, NotRankedError, ParameterError
from crucial.export.targets import TARGETS, Target, target_named
from crucial.export.trees import FLOAT32_LIMIT, EngineForm, ExportSettings, engine_form
from crucial.model.base import FrozenModel, checked_rows
from crucial.model.form import ScoreForm, score_form
from crucial.parameters import check, flag, instance_of, lookup, none_or, one_of, refuse
from crucial.types import Floats, Objects, PathLike
from crucial.wording import counted

# --- Refuse what a target cannot hold: parts of a form, columns, names, settings


_NUMBERS = {
    "text": "the numbers that stand in the model file under training.columns",
    "dates": "days since 1970-01-01 (UTC, with fractions), or seconds for times of day",
}
_SETTINGS = {"shift": None, "missing": "abstain", "probability": False, "dialect": "ansi"}


def check_export(target: Target, form: ScoreForm, settings: ExportSettings) -> None:
    """Refuse what the target cannot hold, and settings that it does not have."""
    check("export", "missing", settings.missing, one_of("abstain", "zero"))
    for name, default in _SETTINGS.items():
        if getattr(settings, name) != default and name not in target.takes | {"missing"}:
            raise ParameterError(
                f"target {target.name} takes no {name}: leave it out.", parameter=name
            )
    if form.pieces and "pieces" not in target.holds:
        raise NotRankedError(
            f"this model has straight pieces (features that are scaled, not compared), and "
            f"{target.name} holds trees alone: export to {_able('pieces')}."
        )
    if settings.probability and form.slope is None:
        raise NotRankedError(
            "this model has no probabilities: train LogitBoost, or export a classifier made by "
            "to_classifier().",
            parameter="probability",
        )
    if settings.probability and settings.shift:
        raise ParameterError(
            "no probability is negative, and shifted scores have other ones: leave out shift or "
            "probability.",
            parameter="shift",
        )
    if target.numbers == "float32" and form.largest() >= FLOAT32_LIMIT:
        raise NotRankedError(
            f"{target.name} computes with float32, and the parts of this model's scores add up to "
            f"{form.largest():.3g}, which is beyond its range: export to a target of doubles, such "
            "as onnx or sql."
        )
    _check_columns(target, form, settings)


def _check_columns(target: Target, form: ScoreForm, settings: ExportSettings) -> None:
    """Refuse columns of text and dates where the target takes numbers."""
    if settings.encoded:
        return
    used = set(form.used)
    for part, columns in (("text", form.encodings.categories), ("dates", form.encodings.times)):
        names = [repr(form.names[feature]) for feature in sorted(used & {*columns})]
        if names and part not in target.holds:
            raise NotRankedError(
                Message(
                    f"{target.name} takes numbers, and {', '.join(names[:5])} "
                    f"{'is a column' if len(names) == 1 else 'are columns'} of {part}: pass ",
                    Argument("encoded"),
                    f" if the engine gets {_NUMBERS[part]}{_or_able(part)}.",
                ),
                parameter="encoded",
            )


def _able(part: str) -> str:
    names = [name for name in TARGETS if part in target_named(name).holds]
    return ", ".join(names[:-1]) + " or " + names[-1] if len(names) > 1 else "".join(names)


def _or_able(part: str) -> str:
    return f", or export to {_able(part)}" if _able(part) else ""


def engine_names(target: Target, form: ScoreForm, settings: ExportSettings) -> tuple[str, ...]:
    """Return the names of the features in the engine."""
    unknown = sorted({*settings.features} - {*form.names})
    if unknown:
        close = get_close_matches(unknown[0], form.names, n=1)
        hint = f"Did you mean {close[0]!r}?" if close else f"Its first is {form.names[0]!r}."
        raise ParameterError(
            f"features names {unknown[0]!r}, which is no feature of the model. {hint}",
            parameter="features",
        )
    nameless = [form.names[at] for at in form.used if form.names[at] not in settings.features]
    if target.by_name and not form.named and nameless:
        raise ParameterError(
            Message(
                f"{target.name} finds features by their names, and this model has none: name them "
                f'there, as in {{"{nameless[0]}": "title_match"}}, with ',
                Argument("features"),
                " (f0 is the first column).",
            ),
            parameter="features",
        )
    names = tuple(settings.features.get(name, name) for name in form.names)
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        own = [repr(a) for a, b in zip(form.names, names, strict=True) if b == twice[0]]
        raise ParameterError(
            f"two features, {own[0]} and {own[1]}, are called {twice[0]!r} in the engine: give "
            "each a name of its own.",
            parameter="features",
        )
    for feature in range(form.n_features) if target.writes_all_names else form.used:
        problem = target.check_name(names[feature]) if target.check_name is not None else ""
        if problem:
            raise ParameterError(
                Message(
                    f"{target.name} cannot hold the feature name {names[feature]!r}: {problem}. "
                    "Give it another name there with ",
                    Argument("features"),
                    ".",
                ),
                parameter="features",
            )
    return names


# --- Rows as an engine that knows text gets them


#: A category that no model has seen: the feature abstains.
UNSEEN = "a category that was not seen"

# Microseconds of one unit, and those of the years 1 to 9999.
_TICKS = {DAYS: 86_400e6, SECONDS: 1e6}
_FIRST, _LAST = -62_135_596_800_000_000, 253_402_300_799_999_999


def time_ticks(values: Floats, unit: str) -> np.ndarray:
    """Return dates or times as whole microseconds; NaT where a value is missing.

    Examples
    --------
    >>> time_ticks(np.array([1.5, np.nan]), DAYS)
    array(['1970-01-02T12:00:00.000000',                        'NaT'],
          dtype='datetime64[us]')
    """
    present = ~np.isnan(values)
    scaled = np.where(present, values, 0.0) * _TICKS[unit]
    ticks = np.clip(np.rint(scaled), float(_FIRST), float(_LAST - 100)).astype(np.int64)
    kind = "datetime64[us]" if unit == DAYS else "timedelta64[us]"
    out: np.ndarray = ticks.astype(kind)
    out[~present] = np.array("NaT", kind)
    return out


def whole_ticks(values: Floats, unit: str) -> Floats:
    """Return the numbers that a model has of the microseconds nearest to some values."""
    ticks = time_ticks(values, unit)
    return np.where(np.isnat(ticks), np.nan, ticks.astype(np.int64) / _TICKS[unit])


def time_texts(values: Floats, unit: str) -> Objects:
    """Return dates and times of day as ISO text, durations as seconds; None where missing."""
    ticks = time_ticks(values, unit)
    if unit == DAYS:
        return np.array([None if one is None else one.isoformat(" ") for one in ticks.tolist()])
    out = values.astype(object)
    for at, number in enumerate(ticks.astype(np.int64).tolist()):
        if not np.isnat(ticks[at]) and 0 <= number < 86_400_000_000:
            second, tick = divmod(number, 1_000_000)
            clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
            out[at] = f"{clock}.{tick:06}"
    return out


def text_of(numbers: Mapping[str, float]) -> dict[float, str]:
    """Return a category of every number."""
    return {number: category for category, number in numbers.items()}


def numbers_named(
    categories: Mapping[str, float], floats: bool = False
) -> dict[int | float, float]:
    """Return the numbers that categories are the names of, where they are, and what each has.

    Parameters
    ----------
    categories : mapping from name to number
    floats : bool
        Leave out whole numbers that are no floats.

    Examples
    --------
    >>> numbers_named({"red": 0.1, "7": 0.2, "0.5": 0.3, "07": 0.4})
    {7: 0.2, 0.5: 0.3}
    """
    found: dict[int | float, float] = {}
    for name, own in categories.items():
        for kind in (int, float):
            try:
                number = kind(name)
            except ValueError:
                continue
            if number - number == 0 and number_text(number) == name:
                if not floats or (abs(number) < 2**1023 and float(number) == number):
                    found.setdefault(number, own)
                break
    return found


def row_dicts(X: Floats, form: ScoreForm, settings: ExportSettings) -> Iterator[dict[str, object]]:
    """Yield rows by the names of features; columns of text with a category of each number.

    The categories are those of the model, not what an export says they are: it is on trial. In
    every other row a category that is the name of a number is that number, and one that is missing
    is None and not one that was never seen.

    Parameters
    ----------
    X : float64 array of shape (n_rows, n_features)
    form : ScoreForm
    settings : ExportSettings
    """
    texts = _texts(form, settings)
    numbers = {
        feature: {own: number for number, own in numbers_named(known, floats=True).items()}
        for feature, known in form.encodings.categories.items()
    }
    for at, row in enumerate(X.tolist()):
        values: dict[str, object] = dict(zip(form.names, row, strict=True))
        for feature, text in texts.items():
            own, plain = row[feature], text.get(row[feature])
            if at % 2:
                values[form.names[feature]] = numbers[feature].get(own, plain)
            else:
                values[form.names[feature]] = UNSEEN if plain is None else plain
        yield values


def as_written(
    X: Floats, form: ScoreForm, settings: ExportSettings, written: Mapping[int, Mapping[str, float]]
) -> Floats:
    """Return rows with the numbers that an export has for the text of each category.

    Parameters
    ----------
    X, form, settings : as in `row_dicts`
    written : mapping from feature to mapping from category to number
        What the export says.
    """
    out = X.copy()
    for feature, text in _texts(form, settings).items():
        numbers = written[feature]
        seen = [numbers.get(text.get(value, UNSEEN), np.nan) for value in X[:, feature].tolist()]
        out[:, feature] = seen
    return out


def _texts(form: ScoreForm, settings: ExportSettings) -> dict[int, dict[float, str]]:
    """Return a category of every number of each column that the engine gets as text."""
    known = {} if settings.encoded else form.encodings.categories
    return {feature: text_of(numbers) for feature, numbers in known.items()}


# --- Rows that an engine scores differently, since its numbers are coarser than the model's


def tied_rows(
    form: ScoreForm, cuts: Mapping[int, Floats], data: Instances, target: Target
) -> NDArray[np.bool_]:
    """Return which rows have a value that is on another side of a threshold in the engine.

    Parameters
    ----------
    form : ScoreForm
        That of the model.
    cuts : mapping from feature to float64 array
        The engine's number for every threshold of ``form.cuts()``.
    data : Instances
    target : Target
    """
    found = np.zeros(data.n_rows, bool)
    for feature, thresholds in form.cuts().items():
        values = np.asarray(data.column(feature), np.float64)
        there = np.searchsorted(cuts[feature], target.numbers_of(values))
        found |= np.searchsorted(thresholds, values) != there
    return found


# --- Rows that an export is tried on: values at and around the thresholds, and abstentions


_SPECIAL = (0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e-40, 1e30, -1e30)


def trial_rows(
    form: ScoreForm, moved: Mapping[int, Floats], n_rows: int, target: Target, seed: int = 0
) -> Floats:
    """Return made-up rows for every path through the model, as numbers that the engine has.

    Of every used feature a row has, by chance, a threshold, its neighbour on either side, a number
    between two thresholds or beyond them, one of a few special ones, or none. Columns of text have
    the numbers of their categories.

    Parameters
    ----------
    form : ScoreForm
        That of the model.
    moved : mapping from feature to float64 array
        The engine's number for every threshold; values that are on different sides of the two,
        since the user's rows needed the threshold moved, are left out.
    n_rows : int
    target : Target
        The rows contain nothing but numbers that its engine has.
    seed : int

    Returns
    -------
    float64 array of shape (n_rows, form.n_features)
    """
    random = np.random.default_rng(seed)
    out = np.zeros((n_rows, form.n_features))
    for feature, thresholds in form.cuts().items():
        categories = form.encodings.categories.get(feature)
        if categories:
            pool = np.array(sorted({*categories.values()}))
        else:
            pool = target.numbers_of(_pool(thresholds, target.dtype))
        there = np.searchsorted(moved[feature], target.numbers_of(pool))
        pool = pool[np.searchsorted(thresholds, pool) == there]
        column = random.choice(pool, n_rows) if len(pool) else np.full(n_rows, np.nan)
        column[random.random(n_rows) < 0.15] = np.nan
        out[:, feature] = column
    return out


def _pool(thresholds: Floats, numbers: type[np.floating]) -> Floats:
    """Return the values that a feature is tried on."""
    special = np.array(_SPECIAL, numbers)
    if not len(thresholds):
        return special.astype(np.float64)
    own = thresholds.astype(numbers)
    beside = [own, np.nextafter(own, numbers(-np.inf)), np.nextafter(own, numbers(np.inf))]
    between = (own[1:] / 2 + own[:-1] / 2) if len(own) > 1 else own[:0]
    with np.errstate(over="ignore"):
        span = float(np.ptp(thresholds)) or max(1.0, abs(float(thresholds[0])))
        beyond = np.array([thresholds[0] - span, thresholds[-1] + span])
    # (presence is asked by a comparison with the largest float32 number)
    limit = float(np.finfo(numbers).max) / (4 if numbers is np.float32 else 1)
    often = np.repeat(special, max(1, len(own) // 20))
    pool = np.concatenate((*beside, between, np.clip(beyond, -limit, limit).astype(numbers), often))
    inside: Floats = pool[np.abs(pool) <= limit].astype(np.float64)
    return inside


# --- Score what was written, and compare with the model, before a file is moved into place


@dataclass(frozen=True)
class Verification:
    """The rows that an export was tried on, and its differences from the model.

    Attributes
    ----------
    n_rows : int
        Rows that were scored.
    n_data : int
        Those of the user's own among them.
    n_thresholds : int
        Rows with a value that is a threshold.
    by : str
        The engine and its version, or our reference implementation.
    same_scores : bool
        Whether all scores are the same numbers as the model's.
    n_swapped : int
        Neighbours in the order of the model's scores that the engine orders or ties differently.
    difference : float
        Largest difference of two scores.
    lowest : float
        The least score of the engine.
    """

    n_rows: int
    n_data: int
    n_thresholds: int
    by: str
    same_scores: bool
    n_swapped: int
    difference: float
    lowest: float

    def __str__(self) -> str:
        rows = f"{self.n_rows:,} rows"
        if self.n_data:
            rows += f" ({self.n_data:,} of the data)"
        order = "identical order"
        if self.n_swapped:
            order = (
                f"{self.n_swapped:,} of {self.n_rows - 1:,} neighbours in the order differ, by "
                "rounding"
            )
        equal = "scores equal" if self.same_scores else f"scores within {self.difference:.1g}"
        return f"{rows}, {self.n_thresholds:,} on thresholds, {self.by}: {order}, {equal}"


def verified(
    target: Target,
    content: bytes,
    form: ScoreForm,
    settings: ExportSettings,
    rows: Floats,
    expected: Floats,
    n_data: int = 0,
) -> Verification:
    """Score rows by what was written, and refuse an export that scores them differently.

    Parameters
    ----------
    target : Target
    content : bytes
        A written export: its path, target and verification.
    form : ScoreForm
        What it was written from.
    settings : ExportSettings
    rows : float64 array of shape (n_rows, n_features)
        Numbers that the engine has.
    expected : float64 array of shape (n_rows,)
        The scores of the model.
    n_data : int
        The first rows that are the user's own.

    Raises
    ------
    NotRankedError
        A score differs by more than rounding.
    """
    found = target.twin(content, rows, form, settings)
    by = f"our reference implementation of {target.engine_name or target.name}"
    if target.engine is not None:
        try:
            by_engine, by = target.engine(content, rows, form, settings)
        except ImportError as error:
            by += f" ({error})"
        else:
            near = 1e-6 if settings.probability else target.rounding(form)
            near = near if settings.probability or target.numbers == "float64" else 0.0
            pair = f"{by} and our reference implementation"
            if by_engine is not None:
                _refuse_difference(by_engine, found, rows, near, pair)
                found = by_engine
    reach = target.rounding(form)
    reach = max(reach, 1e-12) if settings.probability else reach  # (functions exp differ)
    _refuse_difference(found, expected, rows, reach, f"{by} and the model")
    on = [np.isin(rows[:, feature], cuts) for feature, cuts in form.cuts().items()]
    return Verification(
        len(rows),
        n_data,
        int(np.any(on, axis=0).sum()) if on else 0,
        by,
        bool(np.array_equal(found, expected)),
        _swapped(expected, found),
        float(np.abs(found - expected).max(initial=0.0)),
        float(found.min(initial=np.inf)),
    )


def _refuse_difference(
    found: Floats, expected: Floats, rows: Floats, reach: float, of: str
) -> None:
    wrong = np.flatnonzero(~(np.abs(found - expected) <= reach))
    if len(wrong):
        row = int(wrong[0])
        raise NotRankedError(
            f"the export was not written: {of} differ on {len(wrong):,} of {len(rows):,} rows, "
            f"the first with scores {float(found[row])!r} and {float(expected[row])!r}. This is an "
            "error of the export; please report the model file."
        )


def _swapped(expected: Floats, found: Floats) -> int:
    """Return how many neighbours in the order of the model the engine orders differently."""
    order = np.argsort(expected, kind="stable")
    return int(np.sum(np.sign(np.diff(expected[order])) != np.sign(np.diff(found[order]))))


# --- Write a model in another engine's format, verified before the file is moved into place


_ROWS = 10_000
_DATA_ROWS = 100_000
_CELLS = 1 << 25  # of rows that an export is tried on


@dataclass(frozen=True)
class Export:
    """A written export: its path, target and verification.

    Attributes
    ----------
    path : str
    target : str
    n_bytes : int
    verification : Verification or None
        None if it was skipped.
    notes : tuple of str
        What to know before the file is used.
    n_tied : int or None
        Rows of the data with values that the engine cannot tell apart as the model does, which was
        allowed; None if there are no such values, or no data.
    """

    path: str
    target: str
    n_bytes: int
    verification: Verification | None
    notes: tuple[str, ...] = ()
    n_tied: int | None = None

    def __str__(self) -> str:
        checked = "not verified" if self.verification is None else f"verified: {self.verification}"
        lines = [f"{self.path}: {self.target}, {self.n_bytes:,} bytes", checked, *self.notes]
        return "\n".join(lines)


def export_model(
    model: FrozenModel,
    path: PathLike,
    target: str,
    *,
    verify: bool = True,
    offset: float = 0.0,
    slope: float | None = None,
    **settings: Any,
) -> Export:
    """Write a model in another engine's format, whole or not at all.

    Parameters
    ----------
    model : FrozenModel
    path : str or path
    target : str
        One of `TARGETS`; ``crucial list targets`` describes them.
    verify : bool
        Read the export back and score rows before it is moved into place: made-up rows at and
        around all thresholds, and ``data``.
    offset, slope : float
        Of a classifier around the model: its decision is the score plus ``offset``, and its
        probability ``1 / (1 + exp(-slope * decision))``.
    **settings
        As `ExportSettings` has them; ``data`` may be any table.

    Returns
    -------
    Export
        What was written, and how it was verified.

    Raises
    ------
    NotRankedError
        The target cannot hold the model so that the same rows get the same order; the message
        says what to do.
    """
    form = score_form(model, shared=target_named(target).shares_nodes)
    form = replace(form, offset=offset, slope=form.slope if slope is None else slope)
    return export_form(form, model.predict, path, target, _settings(model, settings), verify=verify)


def _settings(model: FrozenModel, given: dict[str, Any]) -> ExportSettings:
    """Return settings by their names; rows are checked and encoded as the model does it."""
    known = {one.name for one in fields(ExportSettings)}
    for name in given:
        lookup(dict.fromkeys(known), name, "setting of an export")
    names = given.get("features", {})
    if not isinstance(names, Mapping) or not all(
        isinstance(one, str) for pair in names.items() for one in pair
    ):
        raise refuse("export", "features", "a mapping from names to names", names)
    check("export", "name", given.get("name"), none_or(instance_of(str)))
    check("export", "shift", given.get("shift"), none_or(flag))
    for one in ("probability", "encoded", "allow_ties"):
        check("export", one, given.get(one, False), flag)
    data = given.get("data")
    if data is not None:
        given = {**given, "data": checked_rows(model, data)}
    return ExportSettings(**given)


def export_form(
    form: ScoreForm,
    score: Callable[..., Floats],
    path: PathLike,
    target: str,
    settings: ExportSettings | None = None,
    *,
    verify: bool = True,
) -> Export:
    """Write a form; ``score`` is the model's own way to score rows, without the form's offset."""
    settings = settings or ExportSettings()
    own = target_named(target)
    check_export(own, form, settings)
    named = replace(form, names=engine_names(own, form, settings))
    shift = _shift(own, named, settings)
    named = replace(named, offset=named.offset + shift)
    written = EngineForm(named, named.cuts())
    if own.cuts_of is not None:
        engine, limit = f"{own.name} {own.number_words}", own.limit
        values_of, ties = partial(_values, form, settings.data), settings.allow_ties
        written = engine_form(named, values_of, ties, engine, own.cuts_of, limit)
    tied = None
    if written.n_lost and settings.data is not None:
        tied = tied_rows(named, written.cuts, settings.data, own)
    try:
        with _no_collection():
            content = own.write(written.form, settings)
            found = (
                _verified(own, content, named, written, settings, score, tied) if verify else None
            )
    except RecursionError as error:
        raise NotRankedError(
            f"a tree of this model has too many levels for {own.name}, where every node is inside "
            "the one above it: train trees of fewer leaves, or export to xgboost, lightgbm, onnx, "
            "python, javascript or c."
        ) from error
    with atomic_write(path) as file:
        file.write(content)
    notes = (*_shift_notes(own, named, shift, settings), *_notes(own, form, settings))
    if written.n_lost:
        notes = (_ties_note(own, tied), *notes)
    n_tied = None if tied is None else int(tied.sum())
    return Export(os.fspath(path), own.name, len(content), found, notes, n_tied)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Pause the garbage collector, which looks at all nodes of nested trees again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _shift(target: Target, form: ScoreForm, settings: ExportSettings) -> float:
    """Return the constant that makes the least possible score 0, or a rounding error above it.

    By default 0 where the engine takes negative scores, or there are none. A constant is added last
    of all parts: rounding may then make scores equal, but cannot change their order.
    """
    needed = target.rejects_negative and form.may_be_negative and not settings.probability
    if not (needed if settings.shift is None else settings.shift):
        return 0.0
    lowest = form.lowest()
    return max(target.rounding(form), 1e-12 * abs(lowest)) - lowest


def _values(form: ScoreForm, data: Instances | None, feature: int) -> Floats | None:
    """Return all values that a feature can have, or those of the data; None if not known."""
    categories = form.encodings.categories.get(feature)
    if categories is not None:
        return np.unique(np.array([*categories.values()], np.float64))
    if data is None:
        return None
    values = np.unique(np.asarray(data.column(feature), np.float64))
    return values[~np.isnan(values)]


def _verified(
    target: Target,
    content: bytes,
    form: ScoreForm,
    written: EngineForm,
    settings: ExportSettings,
    score: Callable[..., Floats],
    tied: NDArray[np.bool_] | None,
) -> Verification:
    """Score rows by what was written; of the data those that rounding leaves on their sides."""
    n_rows = max(200, min(_ROWS, target.trial_cells // max(1, len(form.steps) + len(form.trees))))
    most = max(1, _CELLS // form.n_features)
    n_rows = min(n_rows, most)
    rows = trial_rows(form, written.cuts, n_rows, target)
    n_data = 0
    if settings.data is not None:
        own = _dense(settings.data, tied, min(_DATA_ROWS, most))
        if own.shape[1] != form.n_features:
            raise DataError(
                f"the data have {own.shape[1]} features, and the model has {form.n_features}.",
                parameter="data",
            )
        rows, n_data = np.concatenate((own, rows)), len(own)
        rows[:, sorted({*range(form.n_features)} - {*form.used})] = 0.0
    if "dates" in target.holds and not settings.encoded:
        for feature, unit in form.encodings.times.items():
            rows[:, feature] = whole_ticks(rows[:, feature], unit)
    if settings.missing == "zero":
        rows = np.nan_to_num(rows, nan=0.0)
    expected = score(Instances(rows, origin=Instances(rows))) + form.offset
    if settings.probability:
        assert form.slope is not None
        expected = np.exp(-np.logaddexp(0.0, -form.slope * expected))
    return verified(target, content, written.form, settings, rows, expected, n_data)


def _dense(data: Instances, left_out: NDArray[np.bool_] | None, most: int) -> Floats:
    rows = np.arange(data.n_rows) if left_out is None else np.flatnonzero(~left_out)
    part = data.table[rows[:: max(1, -(-len(rows) // most))]]
    return np.asarray(part.toarray() if data.is_sparse else part, np.float64)


def _ties_note(target: Target, tied: NDArray[np.bool_] | None) -> str:
    if tied is None:
        return (
            f"{target.name} cannot tell some values apart that the model does: pass the training "
            "data to count the rows that have them"
        )
    return (
        f"{int(tied.sum()):,} of {counted(len(tied), 'row')} of the data "
        f"{'has' if tied.sum() == 1 else 'have'} values that {target.name} cannot tell apart as "
        "the model does, and other scores there"
    )


def _shift_notes(
    target: Target, form: ScoreForm, shift: float, settings: ExportSettings
) -> tuple[str, ...]:
    if shift:
        why = ", which Lucene rejects" if target.rejects_negative else ""
        return (f"every score is the model's plus {shift:.9g}, so that none is negative{why}",)
    if target.rejects_negative and form.may_be_negative and not settings.probability:
        return (f"scores may be negative, down to {form.lowest():.3g}, which Lucene rejects",)
    return ()


def _notes(target: Target, form: ScoreForm, settings: ExportSettings) -> tuple[str, ...]:
    notes = []
    if target.numbers == "float32" and settings.data is None:
        notes.append(
            "exact for every value that is a float32 number; pass the training data to check "
            "that rounding moves none of its values across a threshold"
        )
    if target.has_counts:
        notes.append(
            "SHAP values take every leaf for one row: pass the training data to count its rows"
            if settings.data is None
            else "SHAP values weigh leaves by the rows of the data; one without any counts as one"
        )
    if settings.missing == "zero":
        notes.append(
            f"tried with 0 for every missing value; {target.name} still takes NaN for no opinion"
        )
    if not form.named and any(form.names[one] not in settings.features for one in form.used):
        notes.append("the model has no feature names: they are f0, f1 ... in the order of columns")
    return tuple(notes)
