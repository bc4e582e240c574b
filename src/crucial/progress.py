"""Progress on standard error: a bar on a terminal, lines elsewhere for whoever asks for them."""

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

_LINES = 20  # about how many lines stand for a bar


@contextmanager
def progress_bar(
    label: str, total: int, *, done: int = 0, wanted: bool = True, verbose: int = 0
) -> Iterator[Show | None]:
    """Show a progress bar; yields the function that moves it, or None if nobody would see it.

    Parameters
    ----------
    label : str
    total, done : int
        Number of steps, and of those done before.
    wanted : bool
        A false value shows nothing.
    verbose : int
        Where standard error is no terminal: 1 writes about 20 lines, a larger number one line
        per so many steps, 0 none.
    """
    if not wanted or (not sys.stderr.isatty() and not verbose):
        yield None
        return
    if not sys.stderr.isatty():
        lines = _Lines(label, total, int(verbose))
        yield lines.show
        lines.finish()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), Remaining())
    note_column = TextColumn("{task.fields[note]}", markup=False)
    with Progress(*columns, note_column, console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=total, completed=done, note="")
        yield lambda done, note: bar.update(task, completed=done, note=note)


class _Lines:
    """Progress as lines of text, some steps apart, and one for the last step."""

    def __init__(self, label: str, total: int, verbose: int) -> None:
        self._label, self._total = label, total
        self._every = verbose if verbose > 1 else max(1, -(-total // _LINES))
        self._written = 0
        self._last: tuple[int, str] | None = None

    def show(self, done: int, note: str) -> None:
        self._last = done, note
        if done // self._every > self._written // self._every:
            self._write(done, note)

    def finish(self) -> None:
        """Write the last step, which may have come before the last of all."""
        if self._last is not None and self._last[0] != self._written:
            self._write(*self._last)

    def _write(self, done: int, note: str) -> None:
        self._written = done
        sys.stderr.write(f"{self._label} {done}/{self._total}  {note}".rstrip() + "\n")
        sys.stderr.flush()


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
