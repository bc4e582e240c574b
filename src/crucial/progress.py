"""Progress on standard error: a bar on a terminal, lines elsewhere for whoever asks for them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any, ClassVar, TypeAlias

#: Takes the number of steps done, and a note to show beside the bar.
Show: TypeAlias = Callable[[int, str], None]
#: Takes what is going on.
ShowText: TypeAlias = Callable[[str], None]

_LINES = 20  # about how many lines stand for a bar
_LARGE = 32 << 20  # bytes of a file whose reading is shown
_STARTED = 8 << 20  # bytes after which it is: a look at the start is not worth a bar
_READING_LINES = 10

_reading_verbose: ContextVar[bool] = ContextVar("reading_verbose", default=False)


def write_line(text: object) -> None:
    """Write a line to standard error."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


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
        write_line(f"{self._label} {done}/{self._total}  {note}".rstrip())


@contextmanager
def status_line(label: str, verb: str) -> Iterator[ShowText | None]:
    """Show a status line; yield the function that changes it, or None without a terminal.

    The line shows ``label`` first, then ``verb`` and the text that the function is called with.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status(escape(label)) as status:
        yield lambda text: status.update(escape(f"{verb} {text}"))


@contextmanager
def reading_status(path: str | os.PathLike[str]) -> Iterator[None]:
    """Show on a terminal that a large file is read, by a reader that does not say how far it is."""
    try:
        large = os.path.getsize(path) >= _LARGE
    except (OSError, ValueError):  # (the reader reports it)
        large = False
    if not large:
        yield
        return
    with status_line(f"reading {os.path.basename(path)}", "reading"):
        yield


class ReadingProgress:
    """Shows how much of a large file has been read, once some of it has.

    On a terminal it is a bar. Elsewhere it is lines, inside of `reading_lines`. One file at a time
    is shown.

    Parameters
    ----------
    name : str
        The file.
    total : int
        Its size in bytes.
    """

    _one_at_a_time: ClassVar[Lock] = Lock()

    def __init__(self, name: str, total: int) -> None:
        self._name, self._total = os.path.basename(name), total
        self._bar: Any = None
        self._written = 0
        self._shown = False
        self.wanted = total >= _LARGE and (sys.stderr.isatty() or _reading_verbose.get())

    def show(self, done: int) -> None:
        """Show that so many bytes have been read."""
        if not self.wanted or (not self._shown and done < min(_STARTED, self._total)):
            return
        if not self._shown:
            if not self._one_at_a_time.acquire(blocking=False):
                return
            self._shown = True
            self._start()
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done)
        elif done > self._written and (
            done == self._total or done - self._written >= self._total / _READING_LINES
        ):
            self._written = done
            sizes = f"{done / 1e6:,.1f} of {self._total / 1e6:,.1f} MB"
            write_line(f"reading {self._name}: {sizes}")

    def _start(self) -> None:
        if not sys.stderr.isatty():
            return
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn
        from rich.progress import TimeRemainingColumn as Remaining

        label = TextColumn(f"reading {escape(self._name)}")
        console = Console(stderr=True)
        self._bar = Progress(
            label, BarColumn(), DownloadColumn(), Remaining(), console=console, transient=True
        )
        self._bar.add_task("", total=self._total)
        self._bar.start()

    def stop(self) -> None:
        """End the display."""
        if not self._shown:
            return
        self._shown = self.wanted = False
        self._one_at_a_time.release()
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def reading_lines(verbose: bool) -> Iterator[None]:
    """Let readers write lines of progress inside the block where there is no terminal."""
    before = _reading_verbose.set(verbose)
    try:
        yield
    finally:
        _reading_verbose.reset(before)
