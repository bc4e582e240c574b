"""The tables of ``crucial experiment``."""

from __future__ import annotations

import math
from typing import Any

from crucial.cli.shared.terminal import (
    console,
    counted,
    label_column,
    note,
    number_column,
    one_line,
    table,
)
from crucial.cli.tables.comparison import print_comparison
from crucial.cli.tables.evaluation import number
from crucial.cli.tables.measures import print_heading, print_meanings
from crucial.lab.experiment_result import ExperimentResult

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
                f"{number(one['low'])} {number(one['high'])}",
                number(one["average_rank"], digits=3),
                number(one["mean_round"], digits=1),
                number(one["fit_seconds"], digits=2),
                str(one["failures"] or ""),
            )
        screen.print(shown)
        if len(result.rankers) > 1 and any(not math.isnan(one["average_rank"]) for one in mine):
            screen.print(f"{result.ranks(measure)}\n")
    if len(result.rankers) > 1:
        screen.print(f"differences, paired by {result.unit_of()}", style="bold")
        print_comparison(screen, result.compare(baseline, movers=2), values=False)
    print_meanings(screen, result.measures)
    for failure in result.failures[:5]:
        where = f"{failure['task']}, {failure['split']}"
        note(f"{failure['ranker']} failed on {where}: {failure['error']}")
    if len(result.failures) > 5:
        note(f"{len(result.failures)} cells failed in all; --save or --report lists them.")


def _best_first(rows: list[dict[str, Any]], higher_is_better: bool) -> list[dict[str, Any]]:
    """Sort the rows of a measure by value, those without a value last."""
    sign = -1.0 if higher_is_better else 1.0
    return sorted(rows, key=lambda one: (math.isnan(one["value"]), sign * one["value"]))
