"""Which ranker ``crucial train`` makes, and with which settings."""

from __future__ import annotations

import difflib
import inspect
import json
from collections.abc import Iterable, Mapping
from typing import Any

import click

from crucial.estimators.registry import RANKERS, ranker_class

__all__ = ["DEFAULT", "make_ranker", "parse_setting", "takes"]

DEFAULT = "rankboost"

# Options whose names are not those of the parameters they set.
_PARAMETERS = {
    "rounds": "n_estimators",
    "seed": "random_state",
    "jobs": "n_jobs",
    "positive": "positive_weights",
    "early_stopping": "early_stopping_rounds",
}
_SAME = ("learning_rate", "choice", "step", "balance", "subsample", "default_rank", "max_bins", "p")
# Set by other means than --set.
_OWN_OPTION = {"eval_metric": "--metric", "n_jobs": "--jobs"}


def make_ranker(given: Mapping[str, Any], metrics: list[str]) -> Any:
    """The estimator that the options describe; its own checks of the values come with ``fit``.

    Parameters
    ----------
    given : mapping
        The options of ``crucial train``.
    metrics : list of str
        What to measure after every round, for a ranker that has rounds.
    """
    name = given["ranker"] or DEFAULT
    if given["preset"] is not None and name != DEFAULT:
        raise click.UsageError(
            f"--preset {given['preset']} is a form of {DEFAULT}, and --ranker is {name}: leave one "
            "of them out."
        )
    maker = ranker_class(name)
    known = sorted(inspect.signature(maker).parameters)
    settings: dict[str, Any] = {}
    for option, value in _said(given).items():
        parameter = _PARAMETERS.get(option, option)
        if parameter not in known:
            flag = "--" + option.replace("_", "-")
            raise click.UsageError(f"{flag}: {_lacks(name, parameter, known)}")
        settings[parameter] = value
    for text in given["settings"]:
        parameter, value = parse_setting(text)
        if parameter not in known:
            raise click.UsageError(f"--set {parameter}: {_lacks(name, parameter, known)}")
        if parameter in _OWN_OPTION:
            raise click.UsageError(f"--set {parameter}: use {_OWN_OPTION[parameter]}.")
        if parameter in settings:
            raise click.UsageError(f"{parameter} is given twice, with --set {text} too.")
        settings[parameter] = value
    fixed = {"eval_metric": metrics, "verbose": 1}
    settings = {key: value for key, value in fixed.items() if key in known} | settings
    if given["preset"] is not None:
        return maker.preset(given["preset"], **settings)
    return maker(**settings)


def takes(ranker: Any, method: str, argument: str | None = None) -> bool:
    """Whether a ranker has a method, and the method an argument."""
    found = getattr(ranker, method, None)
    if found is None or argument is None:
        return found is not None
    return argument in inspect.signature(found).parameters


def parse_setting(text: str) -> tuple[str, Any]:
    """Name and value of ``NAME=VALUE``; a value is JSON, a Python constant, or a word.

    Examples
    --------
    >>> parse_setting("p=16"), parse_setting("search=optimal"), parse_setting("max_bins=None")
    (('p', 16), ('search', 'optimal'), ('max_bins', None))
    """
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name or not value:
        raise click.UsageError(f"--set {text}: a setting is NAME=VALUE, such as p=16.")
    words = {"True": True, "False": False, "None": None}
    if value in words:
        return name, words[value]
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


def _said(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options that were given, with their values as the estimators want them."""
    said = {name: given[name] for name in (*_PARAMETERS, *_SAME) if given[name] is not None}
    if "positive" in said:
        said["positive"] = "cumulative" if said["positive"] else None
    if said.get("default_rank") in ("0", "1"):
        said["default_rank"] = int(said["default_rank"])
    if said.get("max_bins") == "all":
        said["max_bins"] = None
    if "early_stopping" in said:
        said["early_stopping"] = said["early_stopping"] or None
    return said


def _lacks(name: str, parameter: str, known: Iterable[str]) -> str:
    """What to say of a parameter that a ranker has not got."""
    shown = [one for one in known if one not in ("verbose", "warm_start")]
    close = difflib.get_close_matches(parameter, shown, n=2)
    hint = f" Did you mean {' or '.join(close)}?" if close else ""
    others = [
        one for one in RANKERS if parameter in inspect.signature(ranker_class(one)).parameters
    ]
    where = f" ({', '.join(others)} {'has' if len(others) == 1 else 'have'} it)" if others else ""
    return f"{name} has no parameter '{parameter}'{where}.{hint} It takes {', '.join(shown)}."
