"""Progress on standard error, shown only where that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

__all__ = ["Show", "ShowText", "progress_bar", "status_line"]

#: Takes the number of steps done, and a note to show beside the bar.
Show: TypeAlias = Callable[[int, str], None]
#: Takes what is going on.
ShowText: TypeAlias = Callable[[str], None]


@contextmanager
def progress_bar(
    label: str, total: int, *, done: int = 0, wanted: bool = True
) -> Iterator[Show | None]:
    """Show a progress bar; yields the function that moves it, or None if nobody would see it."""
    if not wanted or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), Remaining())
    note_column = TextColumn("{task.fields[note]}", markup=False)
    with Progress(*columns, note_column, console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=total, completed=done, note="")
        yield lambda done, note: bar.update(task, completed=done, note=note)


@contextmanager
def status_line(label: str, verb: str) -> Iterator[ShowText | None]:
    """Show a status line; yield the function that changes it, or None without a terminal.

    The line shows ``label`` first, then ``verb`` and the text that the function is called with.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status(label) as status:
        yield lambda text: status.update(f"{verb} {text}")
