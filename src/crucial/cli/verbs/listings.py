"""``crucial measures``, ``rankers`` and ``presets``: names that other verbs take."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

import click

from crucial.cli.shared.options import argument, verb
from crucial.cli.shared.terminal import console, label_column, table
from crucial.estimators.registry import RANKERS, ranker_class
from crucial.parameters import parameters_of

__all__ = ["measures_command", "presets_command", "rankers_command"]


@dataclass(frozen=True)
class NoOptions:
    """No options."""


@verb("measures", NoOptions)
def measures_command(options: NoOptions) -> None:
    """List the measures and their options.

    \b
    Examples:
      crucial measures
      crucial evaluate model.json test.txt -m ndcg@10 -m ndcg_exp@10 -m 'map(rel=2)'

    Unless stated otherwise, a label above 0 is relevant, a query without a value is left out of
    the mean and reported, and equal scores count by the exact expectation over random order.
    """
    from crucial.measures.names import MEASURES

    shown = table(label_column("name"), "what it is", "options")
    for name, family in MEASURES.items():
        cutoff = {"no": "", "may": "[@k]", "must": "@k"}[family.cutoff]
        settings = [setting.form(key) for key, setting in family.options.items()]
        shown.add_row(name + cutoff, family.summary, "; ".join(settings))
    console().print(shown)


@dataclass(frozen=True)
class RankersOptions:
    """The options of ``crucial rankers``."""

    ranker: str | None = argument(
        required=False, type=click.Choice(sorted(RANKERS)), metavar="[RANKER]"
    )


@verb("rankers", RankersOptions)
def rankers_command(options: RankersOptions) -> None:
    """List the rankers, or all parameters of one.

    Without RANKER, parameters that most rankers share are left out.

    \b
    Examples:
      crucial rankers
      crucial rankers pnorm-push
      crucial train train.txt --ranker pnorm-push --p 8 -o model.json
      crucial train train.txt --ranker rankboost-plus --set search=optimal -o model.json

    Parameters that are not options of 'crucial train' are set with --set NAME=VALUE.
    """
    if options.ranker is not None:
        _print_parameters(options.ranker)
        return
    classes = {name: ranker_class(name) for name in sorted(RANKERS)}
    parameters = {name: parameters_of(one) for name, one in classes.items()}
    common = {
        key
        for key in parameters["rankboost"]
        if sum(key in some for some in parameters.values()) > len(classes) / 2
    }
    shown = table(label_column("ranker"), "what it is", "own parameters")
    for name, one in classes.items():
        first = (inspect.getdoc(one) or "").split("\n\n")[0].replace("\n", " ")
        own = [f"{key}={p.default}" for key, p in parameters[name].items() if key not in common]
        shown.add_row(name, first, ", ".join(own))
    console().print(shown)


def _print_parameters(ranker: str) -> None:
    """Print every parameter of a ranker: its default, its values and what it does."""
    shown = table(label_column("parameter"), "default", "values", "what it does")
    for name, one in parameters_of(ranker_class(ranker)).items():
        values = one.rule.wording.removeprefix("one of ")
        shown.add_row(name, repr(one.default), values, one.text.replace("`", ""))
    console().print(shown)


@verb("presets", NoOptions)
def presets_command(options: NoOptions) -> None:
    """List the papers' variants of RankBoost.

    \b
    Examples:
      crucial presets
      crucial train train.txt --preset rankboost.3 --rounds 500 -o model.json
    """
    from crucial.estimators.presets import PRESETS

    shown = table(label_column("preset"), "parameters")
    for name, values in PRESETS.items():
        settings = (f"{key}={value}" for key, value in values.items() if value is not None)
        shown.add_row(name, ", ".join(settings))
    console().print(shown)
