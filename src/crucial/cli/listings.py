"""``crucial list``: names that other verbs take."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

import click

from crucial.cli.options import RANKER_NAMES, argument, estimator_named, verb
from crucial.cli.terminal import TextTable, console, label_column
from crucial.parameters import parameters_of


@dataclass(frozen=True)
class ListOptions:
    """The arguments of ``crucial list``."""

    what: str | None = argument(
        required=False,
        type=click.Choice(["measures", "rankers", "presets", "fusions", "targets"]),
        metavar="[measures|rankers|presets|fusions|targets]",
    )
    ranker: str | None = argument(required=False, type=str, metavar="[RANKER]")


@verb("list", ListOptions)
def list_command(options: ListOptions) -> None:
    """List the names that other verbs take: measures, rankers and more.

    'rankers' with the name of a RANKER lists its parameters.

    \b
    Examples:
      crucial list measures
      crucial list rankers
      crucial list rankers pnorm-push
      crucial list presets
      crucial list fusions
      crucial list targets

    Unless a measure states otherwise, a label above 0 is relevant, a query without a value is left
    out of the mean and reported, and equal scores count by the exact expectation over random order.
    Parameters of rankers that are not options of 'crucial train' are set with --set NAME=VALUE.
    """
    if options.ranker is not None and options.what != "rankers":
        raise click.UsageError(f"'crucial list {options.what}' takes no name of a ranker.")
    if options.ranker is not None:
        _print_parameters(options.ranker)
        return
    lists = {
        None: _print_lists,
        "measures": _print_measures,
        "rankers": _print_rankers,
        "presets": _print_presets,
        "fusions": _print_fusions,
        "targets": _print_targets,
    }
    lists[options.what]()


def _print_lists() -> None:
    """Print what can be listed, and a command that takes a name of each list."""
    shown = TextTable(label_column("crucial list"), "what it lists", "where the names go")
    shown.add_row("measures", "measures and their options", "crucial evaluate ... -m ndcg@10")
    shown.add_row(
        "rankers", "rankers; with a name, its parameters", "crucial train ... --ranker gradient"
    )
    shown.add_row(
        "presets", "papers' variants of RankBoost", "crucial train ... --preset rankboost.3"
    )
    shown.add_row(
        "fusions", "rules of fusion, and features to learn one", "crucial fuse ... --method rrf"
    )
    shown.add_row("targets", "formats of other engines", "crucial export ... --to onnx")
    console().print(shown)


def _print_measures() -> None:
    from crucial.measures.names import MEASURES

    shown = TextTable(label_column("name"), "what it is", "options")
    for name, family in sorted(MEASURES.items()):
        cutoff = {"no": "", "may": "[@k]", "must": "@k"}[family.cutoff]
        settings = [setting.form(key) for key, setting in family.options.items()]
        shown.add_row(name + cutoff, family.summary, "; ".join(settings))
    console().print(shown)


def _print_rankers() -> None:
    from crucial.lab.rankers import PEERS

    shown = TextTable(label_column("ranker"), "what it is")
    for name in sorted(RANKER_NAMES):
        first = (inspect.getdoc(estimator_named(name)) or "").split("\n\n")[0].replace("\n", " ")
        shown.add_row(name, first)
    console().print(shown)
    console().print("\n'crucial list rankers NAME' lists the parameters of one.")
    console().print(f"To compare with, in experiments: {', '.join(PEERS)}")


def _print_parameters(ranker: str) -> None:
    """Print every parameter of a ranker: its default, its values and what it does."""
    shown = TextTable(label_column("parameter"), "default", "values", "what it does")
    for name, one in parameters_of(estimator_named(ranker)).items():
        values = one.rule.wording.removeprefix("one of ")
        shown.add_row(name, repr(one.default), values, one.text.replace("`", ""))
    console().print(shown)


def _print_presets() -> None:
    from crucial.rankers.registry import PRESETS

    shown = TextTable(label_column("preset"), "parameters")
    for name, values in PRESETS.items():
        settings = (f"{key}={value}" for key, value in values.items() if value is not None)
        shown.add_row(name, ", ".join(settings))
    console().print(shown)


def _print_fusions() -> None:
    from crucial.fusion.learning import DEFAULT_FEATURES, FEATURES
    from crucial.fusion.rules import METHODS, NORMALISATIONS

    rules = {name: rule.summary for name, rule in METHODS.items()}
    tried = {name: f"{text}{' *' * (name in DEFAULT_FEATURES)}" for name, text in FEATURES.items()}
    lists = {"--method": rules, "--normalise": NORMALISATIONS, "--features": tried}
    shown = TextTable("option", "name", "what it is")
    for flag, names in lists.items():
        for name, text in names.items():
            shown.add_row(flag, name, text)
    console().print(shown)
    console().print("* tried by default")


def _print_targets() -> None:
    from crucial.export.sql import DIALECTS
    from crucial.export.targets import TARGETS, target_named
    from crucial.fusion.export import FLAT_TARGETS

    shown = TextTable(label_column("target"), "what it is", "numbers")
    targets = {name: target_named(name) for name in TARGETS}
    for name, target in targets.items():
        shown.add_row(name, target.title, target.numbers)
    console().print(shown)
    console().print(f"\ndialects of sql: {', '.join(DIALECTS)}\n")
    kinds = TextTable(label_column("models"), "go to")
    for kind, part, otherwise in _KINDS:
        able = [name for name, target in targets.items() if part in target.holds | target.takes]
        names = "all targets" if len(able) == len(targets) else ", ".join(able) or "no target"
        kinds.add_row(kind, f"{names}{otherwise}")
    kinds.add_row("learned fusions", f"{', '.join(FLAT_TARGETS)} as weights, with a loss")
    console().print(kinds)


# Kinds of models and columns, what a target must hold for them, and what to do with the others.
_KINDS = (
    ("of stumps: rankboost, logitboost, adaboost ...", "trees", ""),
    ("of trees: gradient; treerank, ranking-forest by the mean", "trees", ""),
    (
        "of straight lines: linear rankers, componentwise, --weak feature",
        "pieces",
        "; others: train stumps or trees",
    ),
    ("probabilities: logitboost, to_classifier()", "probability", "; scores to all targets"),
    ("columns of text", "text", "; others with --encoded"),
    ("columns of dates", "dates", " (sqlite, duckdb, postgres); others with --encoded"),
    (
        "ranking inside queries (featurerank, diffrank ...), kernels, nets, medians of trees",
        "queries",
        ": score with crucial rank",
    ),
)
