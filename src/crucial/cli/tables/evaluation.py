"""The table of ``crucial evaluate``, and the same numbers as TSV and JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from rich.console import Console

from crucial.cli.shared.terminal import label_column, number_column, one_line, table
from crucial.cli.tables.measures import print_heading, print_meanings
from crucial.io.text import sheet_cell
from crucial.measures.evaluation import Evaluation
from crucial.results import json_value
from crucial.wording import counted

__all__ = ["by_query_tsv", "evaluation_json", "number", "print_evaluation"]

_TIES = {"expected": "equal scores by expectation", "trec": "equal scores as in trec_eval"}


def number(value: float, sign: str = "", digits: int = 4) -> str:
    """Return a number for a table; "none" for NaN.

    Examples
    --------
    >>> number(0.5), number(0.5, "+"), number(float("nan"))
    ('0.5000', '+0.5000', 'none')
    """
    return "none" if math.isnan(value) else f"{value:{sign}.{digits}f}"


def print_evaluation(screen: Console, subject: str, found: Evaluation, worst: int) -> None:
    """Print one line per measure, and what the values rest on.

    Parameters
    ----------
    screen : Console
    subject : str
        What was measured, for the heading.
    found : Evaluation
    worst : int
        Number of queries to list that pull the first measure down.
    """
    by_rows = found.unit == "row"
    queries = "" if by_rows else f", {counted(len(found.per_query['qid']), 'query')}"
    print_heading(screen, f"{subject}{queries}; {_TIES[found.ties]}", found.results)
    filled = found.empty != "skip"
    has_unjudged = any(one.unjudged is not None for one in found.results.values())
    shown = table(label_column("measure"), number_column("value"))
    if found.level is not None:
        shown.add_column(f"{found.level:.0%} interval", justify="right")
    if not by_rows:
        shown.add_column("queries", justify="right")
        shown.add_column(f"counted {found.empty}" if filled else "left out", justify="right")
    if has_unjudged:
        shown.add_column("unjudged", justify="right")
    for name, one in found.results.items():
        cells = [name, number(one.value)]
        if found.level is not None:
            cells.append(one.interval_text)
        cells += [] if by_rows else [f"{one.n_queries:,}", f"{one.n_empty:,}"]
        cells += [] if one.unjudged is None else [f"{one.unjudged:.1%}"]
        shown.add_row(*cells)
    screen.print(shown)
    print_meanings(screen, found.results, found.unit)
    for text in found.notes():
        screen.print(text, style="dim")
    if found.n_missing:
        text = counted(found.n_missing, "judged query")
        screen.print(f"{text} without a document, counted as empty lists", style="dim")
    if found.n_unjudged_queries:
        text = counted(found.n_unjudged_queries, "query")
        screen.print(f"{text} without a judgement, left out", style="dim")
    nothing = any(one.n_empty for one in found.results.values())
    if nothing and by_rows:
        screen.print(
            "a measure without a value: no row is relevant, or no two labels differ", style="dim"
        )
    elif nothing:
        rule = f"count as {found.empty}" if filled else "are left out of the mean (--empty 0|1)"
        screen.print(f"queries without a relevant row, or without a pair, {rule}", style="dim")
    if worst and not by_rows:
        _print_worst(screen, found, worst)


def _print_worst(screen: Console, found: Evaluation, count: int) -> None:
    """Print the queries that pull the first measure down."""
    name, first = next(iter(found.results.items()))
    values = found.per_query[name]
    sign = 1.0 if first.measure.higher_is_better else -1.0
    order = [q for q in np.argsort(sign * values, kind="stable").tolist() if values[q] == values[q]]
    screen.print(f"\nqueries with the worst {name}", style="bold")
    shown = table(label_column("qid"), *(number_column(other) for other in found.results))
    for q in order[:count]:
        cells = [number(float(found.per_query[other][q])) for other in found.results]
        shown.add_row(one_line(str(found.per_query["qid"][q])), *cells)
    screen.print(shown)


def by_query_tsv(found: Evaluation) -> str:
    """Return one line per query; a cell is empty where the query has no value."""
    names = list(found.results)
    lines = ["\t".join(["qid", *names])]
    columns = [found.per_query[name].tolist() for name in names]
    for qid, *values in zip(found.per_query["qid"].tolist(), *columns):
        cells = ["" if math.isnan(value) else repr(value) for value in values]
        lines.append("\t".join([str(sheet_cell(" ".join(str(qid).split()))), *cells]))
    return "\n".join(lines) + "\n"


def evaluation_json(model: str, data: str, found: Evaluation, *, by_query: bool) -> str:
    """Return the measures, and the queries' values if asked for, as JSON."""
    result: dict[str, Any] = {
        "model": model,
        "data": data,
        "ties": found.ties,
        "empty": found.empty,
        "level": found.level,
        "measures": found.to_rows(),
    }
    if by_query:
        result["by_query"] = found.per_query
    return json.dumps(json_value(result), indent=1, allow_nan=False) + "\n"
