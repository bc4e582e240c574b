"""The closing summary of ``crucial train``."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from crucial.cli.shared.terminal import console, grid, label_column, number_column, one_line, table
from crucial.cli.tables.choice import print_choice
from crucial.cli.tables.features import feature_table
from crucial.cli.tables.measures import print_heading, print_meanings
from crucial.data.dataset import Dataset
from crucial.lab.auto_candidates import TriedRankers
from crucial.measures.evaluation import Evaluation
from crucial.model.additive import AdditiveRanker, sparkline
from crucial.model.describe import describe
from crucial.wording import counted

__all__ = ["Training", "print_training"]

_CURVE_WIDTH = 50


@dataclass(frozen=True, eq=False)
class Training:
    """A finished training.

    Attributes
    ----------
    path, valid_path, output : str
        The files of the rows to learn from, of those to validate by, and of the model.
    train, valid : Dataset
        The rows themselves.
    ranker : estimator
        The fitted ranker.
    model : AdditiveRanker
        Its model, with how the rows were read.
    metrics : tuple of str
        The measures.
    choice : TriedRankers, str or None
        How the ranker was chosen, if it was: a table, or why nothing was tried.
    """

    path: str
    valid_path: str | None
    output: str
    train: Dataset
    valid: Dataset | None
    ranker: Any
    model: AdditiveRanker
    metrics: tuple[str, ...]
    choice: TriedRankers | str | None = None

    @property
    def held_out(self) -> Mapping[str, float] | None:
        """Measures on the training queries that were held out, if any were."""
        return None if self.valid is not None else self.model.training.get("eval")


def print_training(result: Training, evaluations: Mapping[str, Evaluation], seconds: float) -> None:
    """Print the rows, rounds, measures and heaviest features of a training.

    Parameters
    ----------
    result : Training
    evaluations : mapping from str to Evaluation
        The measures of the model, by "train" and "valid".
    seconds : float
        The time it took.
    """
    screen = console()
    name = type(result.ranker).__name__
    heading = f"{name} on {one_line(str(result.path))}, in {seconds:.1f} s"
    screen.print(f"\n{heading}", style="bold", soft_wrap=True)
    if result.choice is not None:
        print_choice(screen, result.choice)
    screen.print(_counts(result))
    screen.print()
    if evaluations:  # (rows of pairs may have no labels)
        print_heading(screen, "measures of the model", result.metrics)
        screen.print(_measures(result, evaluations))
        print_meanings(screen, result.metrics, next(iter(evaluations.values())).unit)
    curve = _curve(result)
    if curve:
        screen.print(f"\n{curve}")
    screen.print()
    screen.print(feature_table(describe(result.model, top=8)))
    screen.print()
    size = os.path.getsize(result.output) / 1000
    typed = shlex.quote(str(result.output))
    show = f"crucial show {'-- ' if typed.startswith('-') else ''}{typed}"
    said = f"wrote {result.output} ({size:,.0f} kB); {show!r} shows more"
    screen.print(one_line(said), soft_wrap=True)


def _counts(result: Training) -> Table:
    """Return the numbers of rows, queries, pairs and rounds, and the training bound."""
    summary, ranker, rows = result.model.training, result.ranker, result.train.n_rows
    shown = grid()

    def add(name: str, value: str) -> None:
        shown.add_row(name, one_line(value))

    used = summary["rows"]
    or_held_out = "" if result.held_out is None else " or held out"
    left = f" ({rows - used:,} in no pair{or_held_out})" if used < rows else ""
    add("rows", f"{rows:,}{left} with {counted(result.train.n_features, 'feature')}")
    if not summary["queries"]:
        add("queries", "not used: learned from the pairs of the file only")
    elif result.train.qid is None:
        add("queries", "none given: all rows are compared")
    else:
        add(
            "queries",
            f"{summary['queries']:,} used, {summary['skipped_queries']:,} skipped "
            f"(no two rows with different labels{or_held_out})",
        )
    add("pairs", f"{summary['pairs']:,}")
    if not hasattr(ranker, "trace_"):
        return shown
    add("rounds", _rounds(result))
    risk = getattr(ranker, "bounded_risk", None)
    if ranker.best_round_ and risk is not None:
        loss = ranker.trace_[ranker.best_round_ - 1].loss
        ties = "" if risk == "R1" else ", a tie counted half"
        add("bound", f"{loss:.4f}: at most this share of the pairs is misordered in training{ties}")
    return shown


def _rounds(result: Training) -> str:
    trace, kept = result.ranker.trace_, result.ranker.best_round_
    why = f" ({trace.stopped})" if trace.stopped else ""
    if len(trace) == 0 or not trace[0].measures:
        return f"{len(trace)}{why}"
    held_out = "the rows held out" if result.train.qid is None else "the queries held out"
    judge = result.valid_path or held_out
    return f"{len(trace)}{why}; the first {kept} are kept, best {result.metrics[0]} on {judge}"


def _measures(result: Training, evaluations: Mapping[str, Evaluation]) -> Table:
    """Return one line per measure, and one column per file or part of it."""
    held_out = result.held_out
    columns = []
    for name, one in evaluations.items():
        part = name if held_out is None else "all rows"
        first = next(iter(one.results.values()))
        left = f", {first.n_empty:,} left out" if first.n_empty else ""
        base = f"{counted(first.n_queries, 'query')}{left}"
        if one.unit == "row":
            base = counted(one.n_rows, "row")
        columns.append(number_column(f"{part}\n({base})"))
    if held_out is not None:
        columns.append(number_column("held out"))
    shown = table(label_column("measure"), *columns)
    for name in result.metrics:
        values = [one[name] for one in evaluations.values()]
        values += [] if held_out is None else [held_out[name]]
        shown.add_row(name, *(f"{value:.4f}" for value in values))
    return shown


def _curve(result: Training) -> str | None:
    """Return the first measure, round by round, as one line of blocks."""
    trace = getattr(result.ranker, "trace_", None)
    if trace is None or len(trace) < 2 or not trace[0].measures:
        return None
    name, best_round = result.metrics[0], result.ranker.best_round_
    values = trace.column(name).tolist()
    # (a later round within the tolerance of early stopping is kept instead of the best)
    found = "best" if values[best_round - 1] in (min(values), max(values)) else "kept"
    return (
        f"{name} by round  {sparkline(values, _CURVE_WIDTH)}\n"
        f"{values[0]:.4f} after round 1, {found} {values[best_round - 1]:.4f} after {best_round}, "
        f"{values[-1]:.4f} after {len(values)}"
    )
