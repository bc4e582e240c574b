"""``crucial measures``, ``rankers`` and ``presets``: names that other verbs take."""

from __future__ import annotations

from dataclasses import dataclass

from crucial.cli.shared.options import verb
from crucial.cli.shared.terminal import console, label_column, table

__all__ = ["measures_command", "presets_command", "rankers_command"]


@dataclass(frozen=True)
class NoOptions:
    """No options."""


@verb("measures", NoOptions)
def measures_command(options: NoOptions) -> None:
    """List the measures and what may follow their names.

    \b
    Examples:
      crucial measures
      crucial evaluate model.json test.txt -m ndcg@10 -m ndcg_exp@10 -m 'map(rel=2)'

    Unless stated otherwise, a label above 0 is relevant, a query without a value is left out and
    counted, and equal scores count by the exact expectation over their random order.
    """
    from crucial.measures.names import MEASURES

    shown = table(label_column("name"), "what it is", "options")
    for name, family in MEASURES.items():
        cutoff = {"no": "", "may": "[@k]", "must": "@k"}[family.cutoff]
        settings = [
            key + (f"={setting.rule}" if setting.rule else "")
            for key, setting in family.options.items()
        ]
        shown.add_row(name + cutoff, family.summary, "; ".join(settings))
    console().print(shown)


@verb("rankers", NoOptions)
def rankers_command(options: NoOptions) -> None:
    """List the rankers and their own parameters.

    \b
    Examples:
      crucial rankers
      crucial train train.txt --ranker pnorm-push --p 8 -o model.json
      crucial train train.txt --ranker rankboost-plus --set search=optimal -o model.json

    Parameters that are not options of 'crucial train' are set with --set NAME=VALUE.
    """
    import inspect

    from crucial.estimators.registry import RANKERS, ranker_class

    classes = {name: ranker_class(name) for name in sorted(RANKERS)}
    parameters = {name: inspect.signature(one).parameters for name, one in classes.items()}
    common = {
        key
        for key in parameters["rankboost"]
        if sum(key in some for some in parameters.values()) > len(classes) / 2
    }
    shown = table(label_column("ranker"), "what it is", "parameters of its own")
    for name, one in classes.items():
        first = (inspect.getdoc(one) or "").split("\n\n")[0].replace("\n", " ")
        own = [f"{key}={p.default}" for key, p in parameters[name].items() if key not in common]
        shown.add_row(name, first, ", ".join(own))
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
