"""Options that several verbs share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

__all__ = [
    "data_argument",
    "files_argument",
    "jobs_option",
    "measure_option",
    "model_argument",
    "only_file",
    "reading_options",
    "refuse_reading_options",
]

Command = TypeVar("Command", bound=Callable[..., Any])

_READING = (
    click.option(
        "--input-format",
        type=click.Choice(["auto", "svmlight", "table"]),
        help="What DATA is; CSV and parquet are tables. [default: seen from its name and start]",
    ),
    click.option(
        "--absent",
        type=click.Choice(["zero", "missing"]),
        help="svmlight: what a feature is that a line does not mention. [default: zero]",
    ),
    click.option(
        "--index-base",
        type=click.Choice(["auto", "0", "1"]),
        help="svmlight: index of the first feature. [default: auto, 0 if it occurs, else 1]",
    ),
    click.option(
        "--group-sizes",
        type=click.Path(),
        metavar="FILE",
        help="svmlight without qid: rows of each query, one number a line (LightGBM's .query).",
    ),
    click.option("--label", metavar="NAME", help="Table: column of labels. [default: label]"),
    click.option("--qid", metavar="NAME", help="Table: column of query ids. [default: qid]"),
    click.option("--item", metavar="NAME", help="Table: column of item names."),
    click.option("--weight", metavar="NAME", help="Table: column of row weights."),
    click.option(
        "--ignore",
        metavar="NAME",
        multiple=True,
        help="Table: a column that is no feature; may be repeated.",
    ),
)

_ABOUT_ROWS = (
    "input_format",
    "absent",
    "index_base",
    "group_sizes",
    "label",
    "qid",
    "item",
    "weight",
    "ignore",
)

data_argument = click.argument("data", type=click.Path())
files_argument = click.argument("data", nargs=-1, type=click.Path())
model_argument = click.argument("model", type=click.Path())
measure_option = click.option(
    "-m",
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="A measure, such as ndcg@10 or map; may be repeated ('crucial measures' lists them). "
    "[default: ndcg@10; auc without queries, or with labels below 0]",
)
jobs_option = click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Threads. [default: all cores]"
)


def reading_options(command: Command) -> Command:
    """Add the options that say how files are read."""
    for option in reversed(_READING):
        command = option(command)
    return command


def only_file(data: tuple[str, ...]) -> str:
    """The one file of rows that a model of features takes."""
    if not data:
        raise click.UsageError("Missing argument 'DATA'.")
    if len(data) > 1:
        raise click.UsageError(
            f"this model ranks the rows of one file, and {len(data)} were given; only a model "
            "of 'crucial fuse' takes several."
        )
    return data[0]


def refuse_reading_options(given: Mapping[str, Any]) -> None:
    """Refuse options about rows of features where the files are runs."""
    for name in _ABOUT_ROWS:
        if given.get(name):
            raise click.UsageError(
                f"--{name.replace('_', '-')} is for rows of features; these files are runs."
            )
