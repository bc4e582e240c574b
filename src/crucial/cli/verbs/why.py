"""``crucial why``: why one item ranks above another."""

from __future__ import annotations

from dataclasses import dataclass

import click

from crucial.cli.shared.options import File, RowOptions, argument, option, verb
from crucial.cli.shared.row_files import read_for_model
from crucial.errors import DataError, in_file

__all__ = ["WhyOptions", "why_command"]


@dataclass(frozen=True)
class WhyOptions(RowOptions):
    """The options of ``crucial why``."""

    model: File = argument()
    data: File = argument()
    a: str = argument(metavar="A", type=str)
    b: str = argument(metavar="B", type=str)
    query: str | None = option("Query of both items, where items are in several queries.")
    features: int = option("Number of features to list.", "-n", low=1, default=12)
    json: bool = option("Print everything as JSON.")


@verb("why", WhyOptions)
def why_command(options: WhyOptions) -> None:
    """Explain why MODEL ranks item A of DATA above item B, or below.

    \b
    Examples:
      crucial why model.json test.txt d17 d4
      crucial why model.json test.csv --item url page-a page-b --query "red shoes"
      crucial why model.json test.txt 12 13 --json > why.json

    A and B are names of items; an item without a name is named by the number of its row, from 1.
    The parts of the features add up to the difference of both scores. In a sum of functions of one
    feature they are plain differences; what several features do together in a tree is shared
    among them by Shapley values of the change from B to A.
    """
    from crucial.cli.shared.item_rows import row_of, title_of
    from crucial.cli.tables.explanation import explanation_json, print_explanation
    from crucial.inspection.explain import why
    from crucial.model.file import load_model, row_model

    model = row_model(load_model(options.model))
    data = read_for_model(options.data, model, options, labels=False)
    with in_file(options.data):
        a, b = (row_of(data, name, options.query) for name in (options.a, options.b))
        if data.qid is not None and data.qid[a] != data.qid[b]:
            raise DataError(
                f"{options.a!r} is in query {data.qid[a]} and {options.b!r} in query "
                f"{data.qid[b]}: scores of different queries cannot be compared."
            )
    found = why(model, data.instances(), a, b)
    titles = title_of(data, a), title_of(data, b)
    if options.json:
        click.echo(explanation_json(found, titles))
    else:
        print_explanation(found, titles, options.features)
