"""``crucial show``: what a model learned."""

from __future__ import annotations

from dataclasses import dataclass

import click

from crucial.cli.shared.options import File, argument, option, verb

__all__ = ["ShowOptions", "show_command"]


@dataclass(frozen=True)
class ShowOptions:
    """The options of ``crucial show``."""

    model: File = argument()
    features: int = option(
        "Number of features to draw, largest weight first.", "-n", low=0, default=10
    )
    json: bool = option("Print everything as JSON.")


@verb("show", ShowOptions)
def show_command(options: ShowOptions) -> None:
    """Show what MODEL learned: draw its main features.

    \b
    Examples:
      crucial show model.json
      crucial show model.json --features 3
      crucial show model.json --json > learned.json

    Each drawing shows what a feature adds to the score, from its lowest values on the left to its
    highest on the right; every step has the same width. "no opinion" is what a missing value adds.
    Only differences between scores count. In trees of two features, what one feature explains of a
    pair is part of its drawing; features of larger trees have their share of the gains alone.
    """
    from crucial.cli.tables.model import model_json, print_model
    from crucial.errors import NotRankedError, ParameterError
    from crucial.inspection.bounds import training_bound
    from crucial.inspection.shape_functions import describe_with_pairs
    from crucial.model.file import load_model, row_model

    model = row_model(load_model(options.model))
    learned = describe_with_pairs(model, options.features)
    try:
        bound = training_bound(model)
    except (NotRankedError, ParameterError):  # (the second: models of this kind have no bound)
        bound = None
    if options.json:
        click.echo(model_json(learned, bound))
    else:
        print_model(options.model, learned, bound)
