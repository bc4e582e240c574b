"""Refuse what a target cannot hold: parts of a form, columns, names, settings."""

from __future__ import annotations

from collections import Counter
from difflib import get_close_matches

from crucial.errors import Argument, Message, NotRankedError, ParameterError
from crucial.model.export.engine_numbers import FLOAT32_LIMIT
from crucial.model.export.form import ScoreForm
from crucial.model.export.settings import ExportSettings
from crucial.model.export.target import Target
from crucial.model.export.targets import TARGETS, target_named
from crucial.parameters import check, one_of

__all__ = ["check_export", "engine_names"]

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
