"""``crucial list``: names that other verbs take."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import crucial
from crucial.cli.options import argument, estimator_named, verb
from crucial.cli.terminal import TextTable, console, label_column
from crucial.parameters import parameters_of
from crucial.rankers.registry import PEER_NAMES, RANKERS


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
    from crucial.measures.names import ALIASES, MEASURES

    shown = TextTable(label_column("name"), "what it is", "options")
    for name, family in sorted(MEASURES.items()):
        cutoff = {"no": "", "may": "[@k]", "must": "@k"}[family.cutoff]
        settings = [setting.form(key) for key, setting in family.options.items()]
        shown.add_row(name + cutoff, family.summary, "; ".join(settings))
    console().print(shown)
    console().print(f"\nOther names: {', '.join(f'{one} ({ALIASES[one]})' for one in ALIASES)}")
    console().print(
        "Names as in trec_eval (P_10), ir_measures (AP(rel=2)@20) and ranx (rbp.95) work."
    )


def _print_rankers() -> None:
    shown = TextTable(label_column("ranker"), "what it is")
    for name, summary in sorted(ranker_summaries().items()):
        shown.add_row(name, summary)
    console().print(shown)
    console().print("\n'crucial list rankers NAME' lists the parameters of one.")
    console().print(f"To compare with, in experiments: {', '.join(PEER_NAMES)}")


def ranker_summaries() -> dict[str, str]:
    """Return the first paragraph of each ranker's docstring, by name.

    It is read from the source: to import all rankers takes a second.
    """
    package = Path(crucial.__file__).parent
    stub = (package / "rankers" / "__init__.pyi").read_text("utf-8")
    imports = re.findall(r"from crucial\.([\w.]+) import \w+ as (\w+)", stub)
    homes = {name: home for home, name in imports} | {"AutoRanker": "lab.auto_ranker"}
    found = {}
    for name, owner in {**RANKERS, "auto": "AutoRanker"}.items():
        source = package.joinpath(*homes[owner].split(".")).with_suffix(".py").read_text("utf-8")
        text = re.search(rf'^class {owner}\b[^"]*r?"""(.*?)\n\n', source, re.M | re.S)
        found[name] = " ".join(text[1].split()) if text else ""
    return found


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
    shown = TextTable("option", "name", "what it is")
    for flag, names in fusion_summaries().items():
        for name, text in names.items():
            shown.add_row(flag, name, text)
    console().print(shown)
    console().print("* tried by default")


def fusion_summaries() -> dict[str, dict[str, str]]:
    """Return the names of fusion by option, with what they are, read from the source."""
    folder, tables = Path(crucial.__file__).parent / "fusion", dict[str, Any]()
    for file in ("rules.py", "learning.py"):
        for node in ast.parse((folder / file).read_text("utf-8")).body:
            if isinstance(node, ast.Assign):
                tables[ast.unparse(node.targets[0])] = node.value
    rules = zip(tables["METHODS"].keys, tables["METHODS"].values)
    methods = {name.value: rule.args[2].value for name, rule in rules}
    names = "NORMALISATIONS", "FEATURES", "DEFAULT_FEATURES"
    scales, features, default = (ast.literal_eval(tables[name]) for name in names)
    tried = {name: f"{text}{' *' * (name in default)}" for name, text in features.items()}
    return {"--method": methods, "--normalise": scales, "--features": tried}


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
