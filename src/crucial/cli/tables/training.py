"""What ``crucial train`` says when it is done."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from crucial.cli.shared.terminal import console, counted, grid, one_line, table
from crucial.cli.shared.writing import write_text
from crucial.cli.tables.drawing import feature_table
from crucial.cli.tables.measures import gain_rule, print_meanings
from crucial.measures.evaluation import Evaluation, evaluate
from crucial.model.describe import describe
from crucial.model.shape import sparkline

if TYPE_CHECKING:
    from rich.table import Table

    from crucial.cli.verbs.train import Trained
    from crucial.data.dataset import Dataset

__all__ = ["report", "write_trace"]

_CURVE = 50


def report(made: Trained) -> None:
    """Print the closing summary."""
    screen = console()
    screen.print()
    name = type(made.ranker).__name__
    screen.print(f"{name} on {made.path}, in {made.seconds:.1f} s", style="bold")
    screen.print(_counts(made))
    screen.print()
    rule = gain_rule(made.metrics)
    screen.print("measures of the model" + (f"; {rule}" if rule else ""), style="bold")
    screen.print(_measures(made))
    print_meanings(screen, made.metrics)
    curve = _curve(made)
    if curve:
        screen.print()
        screen.print(curve)
    screen.print()
    screen.print(feature_table(describe(made.model, top=8)))
    screen.print()
    size = os.path.getsize(made.output) / 1000
    screen.print(
        f"wrote {made.output} ({size:,.0f} kB); 'crucial show {made.output}' tells more",
        soft_wrap=True,
    )


def _counts(made: Trained) -> Table:
    summary: dict[str, Any] = dict(made.model.training)
    ranker, rows = made.ranker, made.train.n_rows
    grid_ = grid()

    def add(name: str, value: str) -> None:
        grid_.add_row(name, one_line(value))

    used = summary["rows"]
    or_aside = " or set aside" if _set_aside(made) else ""
    left = f", {rows - used:,} of them in no pair{or_aside}" if used < rows else ""
    add("rows", f"{rows:,} with {counted(made.train.n_features, 'feature', 'features')}{left}")
    if not summary["queries"]:
        add("queries", "not looked at: learned from the pairs of the file alone")
    elif made.train.qid is None:
        add("queries", "none given: all rows are compared")
    else:
        add(
            "queries",
            f"{summary['queries']:,} used, {summary['skipped_queries']:,} skipped "
            f"(no two rows with different labels{or_aside})",
        )
    add("pairs", f"{summary['pairs']:,}")
    if not hasattr(ranker, "trace_"):
        return grid_
    add("rounds", _rounds(made))
    bounds = getattr(ranker, "bounded_risk", None)
    if ranker.best_round_ and bounds is not None:
        loss = ranker.trace_[ranker.best_round_ - 1].loss
        ties = "" if bounds == "R1" else ", a tie counted half"
        add("bound", f"{loss:.4f}: at most this share of the pairs is misordered in training{ties}")
    return grid_


def _rounds(made: Trained) -> str:
    ranker = made.ranker
    ran, kept = len(ranker.trace_), ranker.best_round_
    stopped = ranker.trace_.stopped
    why = f" ({stopped})" if stopped else ""
    if ran == 0 or not ranker.trace_[0].measures:
        return f"{ran}{why}"
    judge = made.valid_path or "the queries set aside"
    return f"{ran}{why}; the first {kept} are kept, best {made.metrics[0]} on {judge}"


def _scores(made: Trained, data: Dataset) -> Evaluation | None:
    """Measure the model on rows, where they have labels."""
    from crucial.cli.shared.reading import as_instances
    from crucial.data.groups import Groups

    if data.y is None:
        return None
    groups = Groups.from_qid(data.qid, data.n_rows)
    scores = made.model.predict(as_instances(data), groups)
    return evaluate(data.y, scores, groups, list(made.metrics))


def _set_aside(made: Trained) -> bool:
    """Whether part of the training rows was kept to judge by."""
    return made.valid is None and "eval" in made.model.training


def _measures(made: Trained) -> Table:
    found = {"train": _scores(made, made.train)}
    if made.valid is not None:
        found["valid"] = _scores(made, made.valid)
    aside = made.model.training["eval"] if _set_aside(made) else None
    shown = table()
    shown.add_column("measure", no_wrap=True)
    for name, one in found.items():
        if one is not None:
            what = "all rows" if aside is not None else name
            shown.add_column(f"{what}\n({_queries(one)})", justify="right")
    if aside is not None:
        shown.add_column("set aside", justify="right")
    for name in made.metrics:
        cells = [f"{one[name]:.4f}" for one in found.values() if one is not None]
        cells += [f"{aside[name]:.4f}"] if aside is not None else []
        shown.add_row(name, *cells)
    return shown


def _queries(found: Evaluation) -> str:
    first = next(iter(found.results.values()))
    left = f", {first.n_empty:,} left out" if first.n_empty else ""
    return f"{counted(first.n_queries, 'query', 'queries')}{left}"


def _curve(made: Trained) -> str | None:
    """The first measure, round by round, as one line of blocks."""
    trace = getattr(made.ranker, "trace_", None)
    if trace is None or len(trace) < 2 or not trace[0].measures:
        return None
    name = made.metrics[0]
    values = trace.column(name).tolist()
    best = values[made.ranker.best_round_ - 1]
    return (
        f"{name} by round  {sparkline(values, _CURVE)}\n"
        f"{values[0]:.4f} after round 1, best {best:.4f} after {made.ranker.best_round_}, "
        f"{values[-1]:.4f} after {len(values)}"
    )


def write_trace(path: str, made: Trained) -> None:
    """Write one line a round, tab separated."""
    columns = made.ranker.trace_.to_dict()
    names = made.model.feature_names
    features = columns["feature"]
    columns["feature"] = [
        "" if f is None else names[f] if names is not None else f for f in features
    ]
    columns["threshold"] = [getattr(r, "threshold", "") for r in columns.pop("ranker")]
    lines = ["\t".join(columns)]
    lines += ["\t".join(one_line(str(cell)) for cell in row) for row in zip(*columns.values())]
    write_text(path, "\n".join(lines) + "\n")
