"""``crucial scorecard``: points per bin, from a model and labelled rows."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, ClassVar, Literal

import click

from crucial.cli.options import File, RowOptions, argument, option, refuse_given, verb
from crucial.cli.rows import read_for_model, read_model
from crucial.cli.terminal import TABLES, check_targets, console, note, write_frame, write_text
from crucial.errors import FileError, in_file

if TYPE_CHECKING:
    from crucial.inspection.scorecards import Scorecard

# --- ``crucial scorecard``: points per bin, from a model and labelled rows


_ENDINGS = (".html", ".htm", ".csv", ".tsv", ".jsonl", ".sql", ".json")


@dataclass(frozen=True)
class CardOptions:
    """The points and bins of a card."""

    heading: ClassVar[str] = "Points and bins"

    points_to_double_odds: float = option(
        "Points that double the odds.", low=0, low_open=True, default=20.0
    )
    base_points: float = option("Points that stand for the base odds.", default=600.0)
    base_odds: float = option("Good rows to 1 bad row.", low=0, low_open=True, default=50.0)
    low_is_good: bool = option("The lower label is good, as where 1 marks a default.")
    good_from: float | None = option(
        "Labels from this value on count as the higher one, where there are more than two."
    )
    max_bins: int = option("Most bins of a feature.", low=2, default=6)
    all_bins: bool = option("Keep all steps of the model in place of few bins.")
    min_share: float = option("Least share of the rows in a bin.", low=0, high=0.5, default=0.05)
    max_features: int | None = option("Keep the features whose points vary most.", low=1)
    anchor: Literal["lowest", "neutral", "spread"] = option(
        "Where points begin: the lowest bin of a feature, or its mean, has 0 points; or rows start "
        "with 0 points.",
        default="lowest",
    )
    missing_points: Literal["neutral", "lowest", "model"] = option(
        "Points of missing values in features that no row misses: the mean of the rows, the lowest "
        "of the feature, or the model's default.",
        default="neutral",
    )


@dataclass(frozen=True)
class ReasonOptions:
    """The points of rows, with reason codes."""

    heading: ClassVar[str] = "Points of rows"

    scores: File | None = option(
        f"Table to write with the points of the rows of DATA and reason codes: {TABLES}."
    )
    reasons: int = option("Most reason codes per row.", low=1, default=4)
    against: Literal["best", "neutral"] = option(
        "What reasons are points lost against: the best bin, or the mean of the rows.",
        default="best",
    )


@dataclass(frozen=True)
class ScorecardOptions(CardOptions, ReasonOptions, RowOptions):
    """The options of ``crucial scorecard``."""

    model: File = argument()
    data: File = argument()
    output: File | None = option(
        "File to write: a page to print (.html), the table (.csv, .tsv, .jsonl), a query (.sql) or "
        "everything (.json). [default: print the card]",
        "-o",
    )
    title: str | None = option("Heading of the card. [default: the model's name]", metavar="TEXT")


@verb("scorecard", ScorecardOptions, without=("weight", "categories"))
def scorecard_command(options: ScorecardOptions) -> None:
    """Turn MODEL into points per bin, scaled to odds on DATA.

    \b
    Examples:
      crucial scorecard model.json test.csv
      crucial scorecard model.json test.csv -o card.html
      crucial scorecard model.json test.csv --low-is-good --max-features 12
      crucial scorecard model.json test.csv --scores points.csv --reasons 3

    DATA should be rows that MODEL was not trained on, with labels of two values; on training rows
    the odds are too good. MODEL must be a sum of functions of one feature, trained without queries.
    The card states what bins and rounding cost, as areas under the ROC curve.
    """
    from crucial.inspection.scorecards import card_model, scorecard
    from crucial.model.file import row_model

    if options.scores is None:
        refuse_given(["reasons", "against"], "needs --scores.")
    if options.all_bins:
        refuse_given(["max_bins"], "and --all-bins exclude each other.")
    output = options.output
    _check_targets(options)
    model = row_model(read_model(options.model, options.data))
    with in_file(options.model):
        card_model(model)
    data = read_for_model(options.data, model, options, labels=True)
    assert data.y is not None
    if data.qid is not None:
        note(f"{options.data}: the query ids are not used; the card compares all rows")
    rows = data.instances()
    settings = {one.name: getattr(options, one.name) for one in fields(CardOptions)}
    if settings.pop("all_bins"):
        settings["max_bins"] = None
    with in_file(options.data):
        card = scorecard(
            model, rows, data.y, **settings, title=options.title or os.path.basename(options.model)
        )
    if output is None:
        console().print(str(card))
    else:
        write_card(card, output)
        click.echo(f"{card.summary}\nWrote {output}.")
    if options.scores is not None:
        found = card.reasons(rows, options.reasons, options.against).columns()
        names = list(range(1, data.n_rows + 1)) if data.item is None else data.item.tolist()
        head = {"row" if data.item is None else "item": names}
        write_frame(options.scores, head | found)
        click.echo(f"Wrote {options.scores}.")


def _check_targets(options: ScorecardOptions) -> None:
    """Check the files to write before anything is read."""
    sources = options.model, options.data, options.group_sizes
    if options.output is not None and not options.output.lower().endswith(_ENDINGS):
        raise FileError(options.output, f"the name must end in one of {', '.join(_ENDINGS)}.")
    if options.scores == "-":
        raise FileError(options.scores, "points are written to a file; name it.")
    check_targets((options.output, options.scores), *sources)


# --- A scorecard as a file: a page, a table, SQL or JSON


def write_card(card: Scorecard, path: str) -> None:
    """Write a card as the name of the file ends."""
    ending = os.path.splitext(path)[1].lower()
    if ending in (".csv", ".tsv", ".jsonl"):
        write_frame(path, card.to_frame())
    elif ending == ".sql":
        write_text(path, card.to_sql())
    else:
        write_text(path, _json(card) if ending == ".json" else card.to_html())


def _json(card: Scorecard) -> str:
    """Return the card as JSON; a missing or infinite number is null."""
    from crucial.results import json_text

    result = {
        "title": card.title,
        "good": card.good,
        "rows": card.n_rows,
        "goods": card.n_good,
        "scale": asdict(card.scale),
        "calibration": asdict(card.calibration),
        "auc": dict(card.auc),
        "auc_interval": card.auc_interval,
        "ks": card.ks,
        "start": card.start,
        "features": [
            {
                "code": one.code,
                "name": one.name,
                "best": one.best,
                "neutral": one.neutral,
                "bins": [asdict(part) for part in one.bins],
            }
            for one in card.features
        ],
        "bands": [asdict(band) for band in card.bands],
        "left_out": list(card.left_out),
        "notes": list(card.notes),
    }
    return json_text(result)
