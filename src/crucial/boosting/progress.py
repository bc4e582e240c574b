"""A progress bar on standard error, where that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from crucial.boosting.trace import Trace

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(rounds: int, wanted: bool) -> Iterator[Callable[[int, Trace], None] | None]:
    """Give a function to call after every round; None where nobody would see it."""
    if not wanted or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = (TextColumn("boosting"), BarColumn(), MofNCompleteColumn(), Remaining())
    with Progress(*columns, TextColumn("{task.fields[note]}"), console=Console(stderr=True)) as bar:
        task = bar.add_task("boosting", total=rounds, note="")

        def show(done: int, trace: Trace) -> None:
            last = trace[-1]
            shown = {"loss": last.loss, **last.measures}
            note = "  ".join(f"{name} {value:.4f}" for name, value in shown.items())
            bar.update(task, completed=done, note=note)

        yield show
