"""Write a model in another engine's format, verified before the file is moved into place."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.files import atomic_write
from crucial.data.instances import Instances
from crucial.errors import DataError, NotRankedError
from crucial.model.base import FrozenModel
from crucial.model.export.checks import check_export, engine_names
from crucial.model.export.engine_numbers import EngineForm, engine_form
from crucial.model.export.form import ScoreForm
from crucial.model.export.forms import score_form
from crucial.model.export.row_values import whole_ticks
from crucial.model.export.settings import ExportSettings
from crucial.model.export.target import Target
from crucial.model.export.targets import target_named
from crucial.model.export.ties import tied_rows
from crucial.model.export.trial_rows import trial_rows
from crucial.model.export.verify import Verification, verified
from crucial.model.inputs import checked_rows
from crucial.notebook import HtmlResult, HtmlTable
from crucial.parameters import check, flag, instance_of, lookup, none_or, refuse
from crucial.types import Floats, PathLike
from crucial.wording import counted

__all__ = ["Export", "export_form", "export_model"]

_ROWS = 10_000
_DATA_ROWS = 100_000
_CELLS = 1 << 25  # of rows that an export is tried on


@dataclass(frozen=True)
class Export(HtmlResult):
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

    def _html_tables(self) -> list[HtmlTable]:
        return []

    def _html_notes(self) -> list[str]:
        return str(self).splitlines()


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
    """Return what makes the least possible score 0, or a rounding error above it.

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
