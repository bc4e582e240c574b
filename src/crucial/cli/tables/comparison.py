"""The tables of systems against a baseline, and the same numbers as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from crucial.cli.shared.terminal import label_column, number_column, one_line, table
from crucial.cli.tables.evaluation import number
from crucial.lab.comparison import Comparison
from crucial.results import json_value
from crucial.wording import p_text

__all__ = ["comparison_json", "print_comparison"]


def print_comparison(screen: Console, found: Comparison, *, values: bool = True) -> None:
    """Print one table per measure, and the biggest movers of the first measure.

    Parameters
    ----------
    screen : Console
    found : Comparison
    values : bool
        Also print the systems' own values, and not only the differences.
    """
    for measure in dict.fromkeys(one.measure for one in found.differences):
        screen.print(_table_of(found, measure, values))
    first = found.differences[0].measure
    movers = [one for one in found.movers if one.measure == first]
    if movers:
        screen.print(f"biggest movers, {first}", style="bold")
        shown = table(
            *(label_column(head, 36) for head in ("system", found.unit)),
            *(number_column(head) for head in ("baseline", "system's", "change")),
        )
        for one in movers:
            numbers = number(one.baseline_value), number(one.value), number(one.change, "+")
            shown.add_row(one_line(one.system), one_line(one.block), *numbers)
        screen.print(shown)
    for text in (*found.methods, *found.notes):
        screen.print(one_line(text), style="dim")


def _table_of(found: Comparison, measure: str, values: bool) -> Table:
    """Return the table of one measure."""
    span = f"{found.level:.0%} interval"
    heads = [*(("value", span) if values else ()), "difference", span, "p", "p Holm"]
    counts = found.unit != "row"  # (a row alone is neither won nor lost)
    heads += ["won/tied/lost"] if counts else []
    shown = table(label_column(measure, 30), *(number_column(head) for head in heads))
    for one in found.differences:
        if one.measure != measure:
            continue
        cells = [one_line(one.system)]
        if values:
            cells += [number(one.value), one.interval_text]
        if one.system == found.baseline:
            cells += ["baseline", "", "", "", *([""] if counts else [])]
        else:
            cells += [number(one.difference, "+"), one.difference_text]
            cells += [p_text(one.p), p_text(one.p_holm)]
            cells += [f"{one.wins}/{one.ties}/{one.losses}"] if counts else []
        shown.add_row(*cells)
    return shown


def comparison_json(judged_by: dict[str, str], found: Comparison) -> str:
    """Return the differences and movers as JSON, after what they were judged by."""
    result = {
        **judged_by,
        "baseline": found.baseline,
        "unit": found.unit,
        "test": found.test,
        "level": found.level,
        "differences": found.to_rows(),
        "movers": [asdict(one) for one in found.movers],
        "notes": found.notes,
        "methods": found.methods,
    }
    return json.dumps(json_value(result), indent=1, allow_nan=False) + "\n"
