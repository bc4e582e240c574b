"""Write a model in another engine's format, verified before the file is moved into place."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from crucial.data.files import atomic_write
from crucial.data.instances import Instances
from crucial.errors import Argument, DataError, Message, NotRankedError, ParameterError
from crucial.model.base import FrozenModel
from crucial.model.export.engine_numbers import engine_form
from crucial.model.export.form import ScoreForm
from crucial.model.export.forms import score_form
from crucial.model.export.settings import ExportSettings
from crucial.model.export.target import Target
from crucial.model.export.targets import TARGETS, target_named
from crucial.model.export.trial_rows import trial_rows
from crucial.model.export.verify import Verification, verified
from crucial.model.inputs import checked_rows
from crucial.parameters import check, lookup, one_of
from crucial.types import Floats, PathLike

__all__ = ["Export", "export_form", "export_model"]

_ROWS = 10_000
_DATA_ROWS = 100_000
_SETTINGS = {"shift": False, "missing": "abstain", "probability": False, "dialect": "ansi"}


@dataclass(frozen=True)
class Export:
    """What was written.

    Attributes
    ----------
    path : str
    target : str
    n_bytes : int
    verification : Verification or None
        None if it was skipped.
    notes : tuple of str
        What to know before the file is used.
    """

    path: str
    target: str
    n_bytes: int
    verification: Verification | None
    notes: tuple[str, ...] = ()

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
        One of `TARGETS`; ``crucial export --list`` describes them.
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
    form = score_form(model)
    form = replace(form, offset=offset, slope=form.slope if slope is None else slope)
    return export_form(form, model.predict, path, target, _settings(model, settings), verify=verify)


def _settings(model: FrozenModel, given: dict[str, Any]) -> ExportSettings:
    """Return settings by their names; rows are checked and encoded as the model does it."""
    known = {one.name for one in fields(ExportSettings)}
    for name in given:
        lookup(dict.fromkeys(known), name, "setting of an export")
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
    _check(own, form, settings)
    named = replace(form, names=_engine_names(own, form, settings))
    if settings.shift:
        named = replace(named, offset=named.offset + _shift(own, named))
    data = settings.data
    values_of = None if data is None else lambda feature: _values(data, feature)
    written = named
    if own.cuts_of is not None:
        engine = f"{own.name} {own.number_words}"
        written = engine_form(named, values_of, settings.allow_ties, engine, own.cuts_of)
    content = own.write(written, settings)
    found = _verified(own, content, named, written, settings, score) if verify else None
    with atomic_write(path) as file:
        file.write(content)
    return Export(os.fspath(path), own.name, len(content), found, _notes(own, form, settings))


def _check(target: Target, form: ScoreForm, settings: ExportSettings) -> None:
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
    if not target.knows_missing and settings.missing != "zero":
        raise NotRankedError(
            Message(
                f"{target.name} takes a missing value for 0, which changes the score of every row "
                "on which a feature abstains: pass ",
                Argument("missing", "zero"),
                " if 0 is what your data have there, or export to another target.",
            ),
            parameter="missing",
        )
    if settings.probability and form.slope is None:
        raise NotRankedError(
            "this model has no probabilities: train LogitBoost, or export a classifier made by "
            "to_classifier().",
            parameter="probability",
        )
    _check_columns(target, form, settings)


def _check_columns(target: Target, form: ScoreForm, settings: ExportSettings) -> None:
    """Refuse columns of text and dates where the target takes numbers."""
    if settings.encoded:
        return
    used = set(form.used)
    for part, columns in (
        ("text", form.encodings.categories),
        ("dates", form.encodings.times),
    ):
        names = [repr(form.names[feature]) for feature in sorted(used & {*columns})]
        if names and part not in target.holds:
            raise NotRankedError(
                Message(
                    f"{target.name} takes numbers, and {', '.join(names[:5])} "
                    f"{'is a column' if len(names) == 1 else 'are columns'} of {part}: pass ",
                    Argument("encoded"),
                    " if the engine gets the numbers that stand in the model file under "
                    f"training.columns{_or_able(part)}.",
                ),
                parameter="encoded",
            )


def _able(part: str) -> str:
    names = [name for name in TARGETS if part in target_named(name).holds]
    return ", ".join(names[:-1]) + " or " + names[-1] if len(names) > 1 else "".join(names)


def _or_able(part: str) -> str:
    return f", or export to {_able(part)}" if _able(part) else ""


def _engine_names(target: Target, form: ScoreForm, settings: ExportSettings) -> tuple[str, ...]:
    """Return the names of the features in the engine."""
    unknown = sorted({*settings.features} - {*form.names})
    if unknown:
        raise ParameterError(
            f"features names {unknown[0]!r}, which is no feature of the model: it has "
            f"{', '.join(form.names[:5])}{' ...' if len(form.names) > 5 else ''}.",
            parameter="features",
        )
    nameless = [form.names[at] for at in form.used if form.names[at] not in settings.features]
    if target.by_name and not form.named and nameless:
        raise ParameterError(
            f"{target.name} finds features by their names, and this model has none: name them "
            f"there, as in {{{nameless[0]!r}: 'title_match'}} (features; f0 is the first column).",
            parameter="features",
        )
    names = tuple(settings.features.get(name, name) for name in form.names)
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ParameterError(
            f"two features are called {twice[0]!r} in the engine: give each a name of its own.",
            parameter="features",
        )
    for feature in form.used:
        problem = target.check_name(names[feature]) if target.check_name is not None else ""
        if problem:
            raise ParameterError(
                f"{target.name} cannot hold the feature name {names[feature]!r}: {problem}. Give "
                "it another name there (features).",
                parameter="features",
            )
    return names


def _shift(target: Target, form: ScoreForm) -> float:
    """Return what makes the least possible score 0, or a rounding error above it."""
    lowest = form.lowest()
    return max(target.rounding(form), 1e-12 * abs(lowest)) - lowest


def _values(data: Instances, feature: int) -> Floats:
    values = np.unique(np.asarray(data.column(feature), np.float64))
    return values[~np.isnan(values)]


def _verified(
    target: Target,
    content: bytes,
    form: ScoreForm,
    written: ScoreForm,
    settings: ExportSettings,
    score: Callable[..., Floats],
) -> Verification:
    n_rows = max(200, min(_ROWS, target.trial_cells // max(1, len(form.steps) + len(form.trees))))
    rows = trial_rows(form, written, n_rows, target)
    n_data = 0
    if settings.data is not None:
        own = _dense(settings.data)
        if own.shape[1] != form.n_features:
            raise DataError(
                f"the data have {own.shape[1]} features, and the model has {form.n_features}.",
                parameter="data",
            )
        rows, n_data = np.concatenate((own, rows)), len(own)
    if settings.missing == "zero":
        rows = np.nan_to_num(rows, nan=0.0)
    expected = score(Instances(rows, origin=Instances(rows))) + form.offset
    if settings.probability:
        assert form.slope is not None
        expected = np.exp(-np.logaddexp(0.0, -form.slope * expected))
    return verified(target, content, written, settings, rows, expected, n_data)


def _dense(data: Instances) -> Floats:
    step = max(1, data.n_rows // _DATA_ROWS)
    part = data.table[::step]
    return np.asarray(part.toarray() if data.is_sparse else part, np.float64)


def _notes(target: Target, form: ScoreForm, settings: ExportSettings) -> tuple[str, ...]:
    notes = []
    if target.numbers == "float32" and settings.data is None:
        notes.append(
            "exact for every value that is a float32 number; pass the training data to check "
            "that rounding moves none of its values across a threshold"
        )
    if settings.missing == "zero":
        notes.append("a missing value counts as 0 there, and not as no opinion")
    if not form.named:
        notes.append("the model has no feature names: they are f0, f1 ... in the order of columns")
    return tuple(notes)
