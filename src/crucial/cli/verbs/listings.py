"""``crucial measures``, ``rankers`` and ``presets``: names that other verbs take."""

from __future__ import annotations

import click

from crucial.cli.shared.terminal import console, table

__all__ = ["measures_command", "presets_command", "rankers_command"]

_MEASURES_EPILOG = """\
\b
Examples:
  crucial evaluate model.json test.txt -m ndcg@10 -m ndcg_exp@10 -m 'map(rel=2)'

Unless said otherwise a label above 0 is relevant, a query without a value is left out and
counted, and equal scores count by the exact expectation over their random order.
"""

_RANKERS_EPILOG = """\
\b
Examples:
  crucial train train.txt --ranker pnorm-push --p 8 -o model.json
  crucial train train.txt --ranker rankboost-plus --set search=optimal -o model.json

Parameters that are not options of 'crucial train' are set with --set NAME=VALUE.
"""

_PRESETS_EPILOG = """\
\b
Examples:
  crucial train train.txt --preset rankboost.3 --rounds 500 -o model.json
"""


@click.command("measures", epilog=_MEASURES_EPILOG)
def measures_command() -> None:
    """List the measures and what may follow their names."""
    from crucial.measures.names import MEASURES

    shown = table()
    shown.add_column("name", no_wrap=True)
    shown.add_column("what it is")
    shown.add_column("options")
    for name, family in MEASURES.items():
        at = {"no": "", "may": "[@k]", "must": "@k"}[family.cutoff]
        options = [
            key + (f"={option.rule}" if option.rule else "")
            for key, option in family.options.items()
        ]
        shown.add_row(name + at, family.summary, "; ".join(options))
    console().print(shown)


@click.command("rankers", epilog=_RANKERS_EPILOG)
def rankers_command() -> None:
    """List the rankers and their own parameters."""
    import inspect

    from crucial.estimators.registry import RANKERS, ranker_class

    made = {name: ranker_class(name) for name in sorted(RANKERS)}
    common = {
        name
        for name in inspect.signature(made["rankboost"]).parameters
        if sum(name in inspect.signature(one).parameters for one in made.values()) > len(made) / 2
    }
    shown = table()
    shown.add_column("ranker", no_wrap=True)
    shown.add_column("what it is")
    shown.add_column("parameters of its own")
    for name, one in made.items():
        first = (inspect.getdoc(one) or "").split("\n\n")[0].replace("\n", " ")
        own = [
            f"{key}={parameter.default}"
            for key, parameter in inspect.signature(one).parameters.items()
            if key not in common
        ]
        shown.add_row(name, first, ", ".join(own))
    console().print(shown)


@click.command("presets", epilog=_PRESETS_EPILOG)
def presets_command() -> None:
    """List the papers' variants of RankBoost."""
    from crucial.estimators.presets import PRESETS

    shown = table()
    shown.add_column("preset", no_wrap=True)
    shown.add_column("parameters")
    for name, values in PRESETS.items():
        said = (f"{key}={value}" for key, value in values.items() if value is not None)
        shown.add_row(name, ", ".join(said))
    console().print(shown)
