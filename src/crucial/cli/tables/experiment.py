"""The tables of ``crucial experiment``."""

from __future__ import annotations

import math
from typing import Any

from crucial.cli.shared.terminal import console, label_column, note, number_column, one_line, table
from crucial.cli.tables.comparison import print_comparison
from crucial.cli.tables.evaluation import number
from crucial.cli.tables.measures import print_heading
from crucial.lab.results import ExperimentResult
from crucial.wording import counted, interval_text

__all__ = ["print_experiment"]

_COLUMNS = ("value", "95% interval", "average rank", "mean round", "fit s", "failed")


def print_experiment(result: ExperimentResult, baseline: str | None) -> None:
    """Print the rankers by each measure, their differences, and what failed."""
    screen = console()
    head = f"{counted(len(result.tasks), 'task')}: {result.settings['protocol']['text']}"
    print_heading(screen, one_line(head), result.measures)
    rows = result.summary()
    for measure, about in result.measures.items():
        mine = _best_first(
            [one for one in rows if one["measure"] == measure], about["higher_is_better"]
        )
        columns = (number_column(head) for head in _COLUMNS)
        shown = table(label_column(measure, 26), *columns)
        for one in mine:
            shown.add_row(
                one_line(one["ranker"]),
                number(one["value"]),
                interval_text((one["low"], one["high"]), one["error"]),
                number(one["average_rank"], digits=3),
                number(one["mean_round"], digits=1),
                number(one["fit_seconds"], digits=2),
                str(one["failures"] or ""),
            )
        screen.print(shown)
        for text in result.interval_notes(rows, measure):
            screen.print(text, style="dim")
        if len(result.rankers) > 1 and any(not math.isnan(one["average_rank"]) for one in mine):
            screen.print(f"{result.ranks(measure).text(screen.width)}\n")
    if len(result.rankers) > 1:
        found = result.compare(baseline, movers=2)
        screen.print(f"differences, paired by {found.unit}", style="bold")
        print_comparison(screen, found, values=False)
    for measure in result.measures:
        screen.print(f"{measure}: {result.description(measure)}", style="dim")
    for failure in result.failures[:5]:
        where = f"{failure['task']}, {failure['split']}"
        note(f"{failure['ranker']} failed on {where}: {failure['error']}")
    if len(result.failures) > 5:
        count = counted(len(result.failures), "cell")
        note(f"{count} failed in all; --save or --report lists them.")


def _best_first(rows: list[dict[str, Any]], higher_is_better: bool) -> list[dict[str, Any]]:
    """Sort the rows of a measure by value, those without a value last."""
    sign = -1.0 if higher_is_better else 1.0
    return sorted(rows, key=lambda one: (math.isnan(one["value"]), sign * one["value"]))
