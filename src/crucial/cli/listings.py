"""``crucial list``: names that other verbs take."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

import click

from crucial.cli.options import argument, verb
from crucial.cli.terminal import console, label_column, table
from crucial.parameters import parameters_of
from crucial.rankers.registry import RANKERS, ranker_class


@dataclass(frozen=True)
class ListOptions:
    """The arguments of ``crucial list``."""

    what: str | None = argument(
        required=False,
        type=click.Choice(["measures", "rankers", "presets"]),
        metavar="[measures|rankers|presets]",
    )
    ranker: str | None = argument(
        required=False, type=click.Choice(sorted(RANKERS)), metavar="[RANKER]"
    )


@verb("list", ListOptions)
def list_command(options: ListOptions) -> None:
    """List the measures, rankers or presets that other verbs take.

    'rankers' leaves out parameters that most rankers share; with RANKER it lists all parameters of
    one ranker.

    \b
    Examples:
      crucial list measures
      crucial list rankers
      crucial list rankers pnorm-push
      crucial list presets

    Unless a measure states otherwise, a label above 0 is relevant, a query without a value is left
    out of the mean and reported, and equal scores count by the exact expectation over random order.
    Parameters of rankers that are not options of 'crucial train' are set with --set NAME=VALUE.
    """
    if options.ranker is not None and options.what != "rankers":
        raise click.UsageError(f"'crucial list {options.what}' takes no name of a ranker.")
    if options.what == "measures":
        _print_measures()
    elif options.what == "presets":
        _print_presets()
    elif options.ranker is not None:
        _print_parameters(options.ranker)
    elif options.what == "rankers":
        _print_rankers()
    else:
        _print_lists()


def _print_lists() -> None:
    """Print what can be listed, and a command that takes a name of each list."""
    shown = table(label_column("crucial list"), "what it lists", "where the names go")
    shown.add_row("measures", "measures and their options", "crucial evaluate ... -m ndcg@10")
    shown.add_row(
        "rankers", "rankers; with a name, its parameters", "crucial train ... --ranker gradient"
    )
    shown.add_row(
        "presets", "papers' variants of RankBoost", "crucial train ... --preset rankboost.3"
    )
    console().print(shown)


def _print_measures() -> None:
    from crucial.measures.names import MEASURES

    shown = table(label_column("name"), "what it is", "options")
    for name, family in sorted(MEASURES.items()):
        cutoff = {"no": "", "may": "[@k]", "must": "@k"}[family.cutoff]
        settings = [setting.form(key) for key, setting in family.options.items()]
        shown.add_row(name + cutoff, family.summary, "; ".join(settings))
    console().print(shown)


def _print_rankers() -> None:
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


def _print_presets() -> None:
    from crucial.rankers.registry import PRESETS

    shown = table(label_column("preset"), "parameters")
    for name, values in PRESETS.items():
        settings = (f"{key}={value}" for key, value in values.items() if value is not None)
        shown.add_row(name, ", ".join(settings))
    console().print(shown)
