"""The options of ``crucial train`` that choose a ranker, and the ranker they describe."""

from __future__ import annotations

import difflib
import inspect
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Literal, NoReturn

import click

from crucial.cli.shared.options import JobsOptions, option
from crucial.parameters import check_parameters, parameters_of
from crucial.rankers.rankboost import PRESETS
from crucial.rankers.registry import RANKERS, ranker_class

__all__ = ["PARAMETER_OF_OPTION", "EstimatorOptions", "has_method", "make_ranker", "parse_setting"]

_DEFAULT_RANKER = "rankboost"

#: Options that set a parameter of another name.
PARAMETER_OF_OPTION = {
    "rounds": "n_estimators",
    "seed": "random_state",
    "jobs": "n_jobs",
    "positive": "positive_weights",
    "early_stopping": "early_stopping_rounds",
}
#: Parameters that --set does not take, and the options that set them.
_OWN_OPTION = {"eval_metric": "--metric", "n_jobs": "--jobs"}


#: What --auto takes: the rest is chosen.
_AUTO_OPTIONS = ("budget", "store")


def _budget(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
    """Check a budget: a name, or seconds."""
    if value is None or value in ("quick", "normal", "thorough"):
        return value
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0.0 < seconds < float("inf"):
        raise click.BadParameter(
            f"'{value}' is not quick, normal, thorough or a number of seconds above 0."
        )
    return seconds


def _bins(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
    """Check a number of bins: an int, or "all"."""
    if value is None or value == "all":
        return value
    return click.IntRange(2, 65535).convert(value, parameter, context)  # type: ignore[arg-type]


@dataclass(frozen=True)
class EstimatorOptions(JobsOptions):
    """Which ranker to train, and its parameters; None where the ranker's default applies."""

    ranker: str | None = option(
        "The ranker to train. The defaults shown are RankBoost's; 'crucial list rankers' lists the "
        f"others'. [default: {_DEFAULT_RANKER}]",
        type=click.Choice(sorted(RANKERS)),
    )
    preset: str | None = option(
        "A paper's variant of RankBoost ('crucial list presets' lists them); other options "
        "override its parameters.",
        type=click.Choice(sorted(PRESETS)),
    )
    auto: bool = option(
        "Choose the ranker, its settings and rounds by validation on DATA, by the first measure."
    )
    budget: str | float | None = option(
        "--auto: how much to try: quick, normal, thorough, or seconds. A name gives the same model "
        "on any machine; with seconds the clock decides what is tried. [default: normal]",
        callback=_budget,
        metavar="NAME|SECONDS",
    )
    store: str | None = option(
        "--auto: folder of finished fits; a search that was killed continues there.",
        metavar="DIR",
    )
    rounds: int | None = option("Number of boosting rounds. [default: 300]", low=1)
    learning_rate: float | None = option(
        "Factor on every weight; the papers use 1. [default: 0.3]",
        low=0, high=1, low_open=True, metavar="RATE",
    )  # fmt: skip
    early_stopping: int | None = option(
        "Stop after N rounds without a better value of the first measure; 0: never. Without "
        "--valid, a fifth of the queries is held out for this. "
        "[default: never; the best round on --valid is kept]",
        low=0,
    )
    choice: Literal["steepest", "steepest_positive", "largest_drop"] | None = option(
        "Which stump each round adds: largest |r|, largest r, smallest Z. [default: steepest]"
    )
    step: Literal["bound", "exact", "numeric"] | None = option(
        "How its weight is computed: methods 3, 2 and 1 of the paper. By default method 3, and "
        "method 1 for trees."
    )
    positive: bool | None = option(
        "Keep the summed weight of every stump positive, for features whose high values are known "
        "to be better. [default: no]",
        "--positive/--no-positive",
        default=None,
    )
    default_rank: Literal["learned", 0, 1] | None = option(
        "The output of a stump where its feature abstains. [default: learned]"
    )
    balance: Literal["pairs", "queries"] | None = option(
        "Whether all pairs or all queries have the same weight. [default: pairs]"
    )
    max_bins: str | int | None = option(
        "Bins per feature; all: one per distinct value. [default: 255]",
        callback=_bins,
        metavar="N|all",
    )
    p: float | None = option(
        "pnorm-push: how much more the top of the list counts; 1 is RankBoost.", metavar="P"
    )
    loss: (
        Literal["query_rmse", "xendcg", "lambda", "softmax", "yeti", "exponential", "logistic"]
        | None
    ) = option("gradient: what the trees minimise. [default: query_rmse]")
    weak: Literal["stump", "tree", "feature", "column"] | None = option(
        "What each round adds: a stump, a tree, a feature, or a column that is a ranker already; "
        "not all rankers know all of them, and gradient adds trees by default. [default: stump]"
    )
    max_leaves: int | None = option("Trees: leaves per tree. [default: 8]", low=2)
    max_depth: int | None = option("Trees: depth per tree; any by default.", low=1)
    min_rows: float | None = option(
        "Trees: least weight of the rows of a leaf. [default: 20]", low=0, metavar="X"
    )
    l2: float | None = option(
        "Trees: curvature added to every leaf, in average rows, which makes values smaller. For "
        "linear rankers, the ridge. gradient has none by default with lambda and xendcg. "
        "[default: 1]",
        low=0,
        metavar="X",
    )
    interactions: Literal[1, 2] | None = option(
        "Trees: most features of one tree: 1 for functions of one feature, 2 also for tables of "
        "two; any number by default."
    )
    subsample: float | None = option(
        "Share of the queries that each round learns from. [default: 1]",
        low=0, high=1, low_open=True, metavar="SHARE",
    )  # fmt: skip
    n_bags: int | None = option(
        "Average N runs, each on other 63% of the queries, into one model: steadier where there is "
        "little data, and N times the work. [default: 1]",
        low=1,
    )
    settings: tuple[str, ...] = option(
        "Any other parameter of the ranker, by its name in Python; may be repeated.",
        "--set",
        metavar="NAME=VALUE",
    )
    seed: int | None = option("Seed for all random draws. [default: 0]", low=0)

    @property
    def ranker_name(self) -> str:
        """The ranker's name on the command line."""
        return "auto" if self.auto else self.ranker or _DEFAULT_RANKER

    def values(self) -> dict[str, Any]:
        """Return the values of the parameters' options that were given, by option."""
        others = ("ranker", "preset", "settings", "auto")
        names = [one.name for one in fields(EstimatorOptions) if one.name not in others]
        found = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        if "positive" in found:
            found["positive"] = "cumulative" if found["positive"] else None
        if found.get("max_bins") == "all":
            found["max_bins"] = None
        if found.get("early_stopping") == 0:
            found["early_stopping"] = None
        return found


def make_ranker(options: EstimatorOptions, metrics: list[str]) -> Any:
    """Return the unfitted estimator that the options describe; its parameters are checked.

    Parameters
    ----------
    options : EstimatorOptions
    metrics : list of str
        Measures to compute after every round, for a ranker that has rounds.
    """
    name = options.ranker_name
    _check_auto(options)
    if options.preset is not None and name != _DEFAULT_RANKER:
        raise click.UsageError(
            f"--preset {options.preset} is a variant of {_DEFAULT_RANKER}, and --ranker is {name}: "
            "leave one of them out."
        )
    estimator = _auto_ranker() if options.auto else ranker_class(name)
    known = parameters_of(estimator)
    settings: dict[str, Any] = {}
    for field_name, value in options.values().items():
        parameter = PARAMETER_OF_OPTION.get(field_name, field_name)
        if parameter not in known:
            flags = "--" + field_name.replace("_", "-")
            raise click.UsageError(f"{flags}: {_unknown(name, parameter, known)}")
        settings[parameter] = value
    for text in options.settings:
        parameter, value = parse_setting(text)
        if parameter not in known:
            raise click.UsageError(f"--set {parameter}: {_unknown(name, parameter, known)}")
        if parameter in _OWN_OPTION:
            raise click.UsageError(f"--set {parameter}: use {_OWN_OPTION[parameter]}.")
        if parameter in settings:
            raise click.UsageError(f"{parameter} is given twice, with --set {text} too.")
        settings[parameter] = value
    fixed: dict[str, Any] = {"eval_metric": metrics, "verbose": int(sys.stderr.isatty())}
    if options.auto and metrics:
        fixed["measure"] = metrics[0]
    settings = {key: value for key, value in fixed.items() if key in known} | settings
    make = estimator if options.preset is None else partial(estimator.preset, options.preset)
    ranker = make(**settings)
    check_parameters(ranker)  # (before the data are read, which may take long)
    return ranker


def _auto_ranker() -> type[Any]:
    from crucial.lab.auto_ranker import AutoRanker

    return AutoRanker


def _check_auto(options: EstimatorOptions) -> None:
    """Refuse options that only make sense with --auto, or only without."""
    if not options.auto:
        for name in _AUTO_OPTIONS:
            if getattr(options, name) is not None:
                raise click.UsageError(f"--{name} needs --auto, which it is for.")
        return
    for name in ("ranker", "preset"):
        value = getattr(options, name)
        if value is not None:
            raise click.UsageError(
                f"--auto chooses the ranker, and --{name} is {value}: leave one of them out."
            )


def has_method(ranker: object, method: str, argument: str | None = None) -> bool:
    """Return whether a ranker has a method that does not just refuse, and it an argument."""
    found = getattr(ranker, method, None)
    if found is None:
        return False
    signature = inspect.signature(found)
    if signature.return_annotation in (NoReturn, "NoReturn"):
        return False
    return argument is None or argument in signature.parameters


def parse_setting(text: str) -> tuple[str, Any]:
    """Split ``NAME=VALUE``; the value is JSON, a Python constant, or a word.

    Examples
    --------
    >>> parse_setting("p=16"), parse_setting("search=optimal"), parse_setting("max_bins=None")
    (('p', 16), ('search', 'optimal'), ('max_bins', None))
    """
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name or not value:
        raise click.UsageError(f"--set {text}: a setting is NAME=VALUE, such as p=16.")
    constants = {"True": True, "False": False, "None": None}
    if value in constants:
        return name, constants[value]
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


def _unknown(name: str, parameter: str, known: Iterable[str]) -> str:
    """Say which parameters a ranker has, and which rankers have the parameter."""
    shown = sorted(one for one in known if one not in ("verbose", "warm_start"))
    close = difflib.get_close_matches(parameter, shown, n=2)
    hint = f" Did you mean {' or '.join(close)}?" if close else ""
    others = [one for one in RANKERS if parameter in parameters_of(ranker_class(one))]
    where = f" ({', '.join(others)} {'has' if len(others) == 1 else 'have'} it)" if others else ""
    return f"{name} has no parameter '{parameter}'{where}.{hint} It takes {', '.join(shown)}."
