"""Print to a terminal or a file: tables, notes, errors in one line, exit codes, target files."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Literal, TextIO

import click

from crucial.errors import (
    Argument,
    CrucialError,
    DataError,
    FileError,
    Message,
    ParameterError,
    in_short,
)
from crucial.wording import printable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
    from rich.table import Table

    from crucial.data.dataset import Run
    from crucial.results import Frame


# --- Print to a terminal, or to a file in place of one: notes, errors, tables


#: Width where the output is not a terminal: the same on every machine, unless COLUMNS is set.
PLAIN_WIDTH = 100


def one_line(text: str) -> str:
    """Return text of several lines as one line, without control characters.

    Examples
    --------
    >>> one_line("no such column:\\n- bm25\\x1b\\n")
    'no such column: - bm25\\\\x1b'
    """
    return printable(" ".join(text.split()), limit=4000)


# Parameters of the library whose options have other names.
_OPTION_NAMES = {"format": "input-format", "by": "pairs-by", "categories": "category"}


def _as_option(argument: Argument) -> str:
    """Spell an argument of the library as the option it is on the command line."""
    option = "--" + _OPTION_NAMES.get(argument.name, argument.name.replace("_", "-"))
    if argument.value is None or argument.value is True:
        return option
    if argument.value is False:
        return option.replace("--", "--no-", 1)
    values = argument.value if isinstance(argument.value, list) else [argument.value]
    return " ".join(f"{option} {shlex.quote(str(value))}" for value in values)


def _with_options(text: str) -> str:
    """Return a message with options in place of arguments, where it mentions any."""
    return text.spelled(_as_option) if isinstance(text, Message) else text


def note(text: str) -> None:
    """Print a note on standard error, in one line."""
    click.echo(f"crucial: note: {one_line(_with_options(text))}", err=True)


def fail(text: str) -> None:
    """Print an error on standard error, in one line."""
    click.echo(f"crucial: error: {one_line(_with_options(text))}", err=True)


def _plain_width() -> int:
    """Return the width of output that is not to a terminal: COLUMNS, if it is set."""
    text = os.environ.get("COLUMNS", "")
    return int(text) if text.isascii() and text.isdigit() and int(text) else PLAIN_WIDTH


def console(stream: IO[str] | None = None) -> Console:
    """Return a rich console on standard output or another stream; plain if not a terminal.

    Markup is off: names from files may contain brackets.
    """

    from rich.console import Console

    stream = sys.stdout if stream is None else stream
    is_terminal = stream.isatty()
    return Console(
        file=stream,
        width=None if is_terminal else _plain_width(),
        no_color=None if is_terminal else True,
        force_terminal=None if is_terminal else False,
        markup=False,
        highlight=False,
        emoji=False,
        soft_wrap=False,
    )


def grid() -> Table:
    """Return an empty table of names and values, without lines."""

    from rich.table import Column, Table

    return Table.grid(Column(style="dim"), Column(overflow="fold"), padding=(0, 2))


# --- A table whose numbers are never cut: names wrap, or the table turns on its side


#: Width to which names may be wrapped, in the first column and in the others.
_NARROW_FIRST, _NARROW = 16, 24

#: Characters between two columns.
_GAP = 3


@dataclass(frozen=True)
class TextColumn:
    """A column of a table: its names wrap; its numbers, at the right, and pictures keep width."""

    header: str
    holds: Literal["names", "numbers", "pictures"] = "names"
    max_width: int | None = None


def label_column(header: str, max_width: int | None = None) -> TextColumn:
    """Return a column of names, which wrap where they are too long."""
    return TextColumn(header, max_width=max_width)


def picture_column(header: str) -> TextColumn:
    """Return a column of pictures made of characters, which must not wrap."""
    return TextColumn(header, "pictures")


def number_column(header: str) -> TextColumn:
    """Return a column of numbers, which stand at the right and keep their width."""
    return TextColumn(header, "numbers")


class TextTable:
    """A table with a line under its heading, which gives every number its full width.

    Where names cannot be wrapped to make room for the numbers, every row becomes a block of lines,
    one per column.
    """

    def __init__(self, *columns: TextColumn | str) -> None:
        self.columns = [TextColumn(one) if isinstance(one, str) else one for one in columns]
        self.rows: list[tuple[tuple[str, ...], str]] = []

    def add_row(self, *cells: str, style: str = "") -> None:
        """Add a row; cells that are left out at its end are empty."""
        self.rows.append((cells + ("",) * (len(self.columns) - len(cells)), style))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich import box
        from rich.table import Table

        widths = self._fitting_widths(options.max_width)
        if widths is None:
            yield self._on_its_side(options.max_width)
            return
        shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
        for column, width in zip(self.columns, widths):
            shown.add_column(
                column.header,
                justify="right" if column.holds == "numbers" else "left",
                width=width,
                no_wrap=column.holds != "names",
                overflow="fold",
            )
        for cells, style in self.rows:
            shown.add_row(*cells, style=style)
        yield shown

    def _fitting_widths(self, room: int) -> list[int] | None:
        """Return the width of every column; None if the table is too wide for the room."""
        least, wanted = zip(*(self._widths(place) for place in range(len(self.columns))))
        left = room - sum(least) - _GAP * (len(least) - 1)
        if left < 0:
            return None
        widths = list(least)
        # The column that lacks least is served first: fewer columns wrap.
        for place in sorted(range(len(least)), key=lambda at: (wanted[at] - least[at], at)):
            more = min(left, wanted[place] - least[place])
            widths[place] += more
            left -= more
        return widths

    def _widths(self, place: int) -> tuple[int, int]:
        """Return the width below which a column must not get, and the one it takes if it can."""
        from rich.cells import cell_len

        column = self.columns[place]
        lines = [line for cells, _ in self.rows for line in cells[place].split("\n")]
        head = _longest_word([column.header])
        widest = max(map(cell_len, [*column.header.split("\n"), *lines]))
        if column.holds != "names":
            least = max(1, head, *map(cell_len, lines), 0)
            return least, max(least, widest)
        narrow = min(_NARROW if place else _NARROW_FIRST, column.max_width or _NARROW)
        least = max(1, min(narrow, max(head, _longest_word(lines))))
        return least, max(least, min(widest, column.max_width or widest))

    def _on_its_side(self, room: int) -> Group:
        """Return the rows as blocks: the first cell, and below it a line per other cell."""
        from rich.cells import cell_len
        from rich.console import Group
        from rich.padding import Padding
        from rich.table import Column, Table
        from rich.text import Text

        first, *heads = (" ".join(column.header.split()) for column in self.columns)
        parts: list[RenderableType] = [Text(first, "bold", overflow="fold")] if first else []
        aligned = max(map(cell_len, heads), default=0) + 2
        words = max((_longest_word(cells[1:]) for cells, _ in self.rows), default=0)
        for (name, *cells), style in self.rows:
            parts.append(Text(name, style, overflow="fold"))
            turned = Table.grid(Column(), Column(overflow="fold"), padding=(0, 2, 0, 0))
            for head, cell in zip(heads, cells):
                if cell and 2 + aligned + words <= room:
                    turned.add_row(head, cell, style=style)
                elif cell:
                    line = Text(f"{head}: {cell}", style, overflow="fold")
                    parts.append(Padding(line, (0, 0, 0, 2)))
            if turned.row_count:
                parts.append(Padding(turned, (0, 0, 0, 2), expand=False))
        return Group(*parts)


def _longest_word(texts: Iterable[str]) -> int:
    from rich.cells import cell_len

    return max((cell_len(word) for text in texts for word in text.split()), default=0)


# --- State the conventions of measures beside their values


_GAINS = {"ndcg": "linear gain y", "ndcg_exp": "gain 2^y - 1"}


def print_heading(screen: Console, text: str, measures: Iterable[str]) -> None:
    """Print the heading of a table of measures, with the gain that they use."""
    families = {re.split(r"[@(]", name)[0] for name in measures}
    rules = [f"{family} with {gain}" for family, gain in _GAINS.items() if family in families]
    screen.print("; ".join(filter(None, [text, ", ".join(rules)])), style="bold")


def print_meanings(screen: Console, names: Iterable[str], unit: str = "query") -> None:
    """Print what the measures of a table are, below it; of rows where there are no queries."""
    from crucial.measures.names import get_measure

    for name in names:
        screen.print(f"{name}: {get_measure(name).description_of(unit)}", style="dim")


# --- Turn every error into one line on standard error and an exit code, never a traceback
#
# =====  ==========================================================
# code   when
# =====  ==========================================================
# 0      done
# 1      a cause other than the user's input: a bug, no memory, a
#        standard output that is full
# 2      the command or its data cannot be used; nothing was written
# 130    interrupted
# =====  ==========================================================
#
# ``CRUCIAL_TRACEBACK=1`` in the environment shows the traceback instead, and warnings as
# Python prints them.


DONE, FAILED, REFUSED, INTERRUPTED = 0, 1, 2, 130

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

# Meant for those who call a library, not for those who use a command.
_FOR_PROGRAMMERS = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ResourceWarning)


def _tracebacks_wanted() -> bool:
    return os.environ.get("CRUCIAL_TRACEBACK", "") not in ("", "0")


@contextlib.contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """Print every warning once, as a note in one line."""
    if _tracebacks_wanted():
        yield
        return
    printed: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        text = message.args[0] if isinstance(message, Warning) and message.args else message
        text = text if isinstance(text, Message) else str(message)
        if text not in printed and not issubclass(category, _FOR_PROGRAMMERS):
            printed.add(text)
            note(text)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield


def _usage(error: click.UsageError) -> str:
    where = error.ctx.command_path if error.ctx is not None else "crucial"
    return f"{error.format_message()} ('{where} --help' lists the options)"


def guarded(action: Callable[[], object]) -> int:
    """Run a command and return its exit code."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:  # (it was closed before the command began)
            setattr(sys, name, _nothing(number))
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a character shows another instead of ending the command.
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        with _warnings_as_notes():
            code = action()
            sys.stdout.flush()
        return code if isinstance(code, int) else DONE
    except SystemExit as error:  # (click exits like this when nobody reads the output any more)
        return error.code if isinstance(error.code, int) else FAILED
    except (click.Abort, KeyboardInterrupt) as error:
        # (click raises its own error from that of Ctrl-C, which may say where to go on)
        notes = getattr(error.__cause__ or error, "__notes__", [])
        fail(". ".join(["interrupted; existing files are unchanged", *notes]))
        return INTERRUPTED
    except BrokenPipeError:
        _give_up_stdout()  # (nobody reads the output)
        return FAILED
    except Exception as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # (in the body of a class)
            fail("interrupted; existing files are unchanged")
            return INTERRUPTED
        if _tracebacks_wanted():
            raise
        code = _explain(error)
        try:
            sys.stdout.flush()
        except OSError:  # (what is left of the output cannot be written either)
            _give_up_stdout()
        return code


def _nothing(number: int) -> TextIO:
    """Open the empty device as a stream, also for the processes that the command starts."""
    try:
        os.fstat(number)
    except OSError:
        own = os.open(os.devnull, os.O_RDWR)
        if own != number:
            os.dup2(own, number)
            os.close(own)
        os.set_inheritable(number, True)
        return open(number, "r" if number == 0 else "w")
    return open(os.devnull, "r" if number == 0 else "w")  # (another file has the number)


def _give_up_stdout() -> None:
    """Drop what was not written: Python would complain again when it closes the stream."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _explain_refusal(error: OSError) -> int:
    """Print what the operating system refused and return the exit code."""
    from crucial.data.files import os_reason

    if error.errno in (errno.EMFILE, errno.ENFILE):
        fail("too many open files: use fewer --jobs, or raise the limit (ulimit -n).")
        return FAILED
    if error.filename is None and error.errno in _FULL:
        # (files have names: what was to be printed had no place)
        fail(f"standard output cannot be written: {os_reason(error)}.")
        return FAILED
    if isinstance(error, FileNotFoundError) and not _has_folder():
        fail("the current folder does not exist any more: change to another one.")
        return REFUSED
    place = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str) else ""
    fail(place + os_reason(error))
    return REFUSED


def _has_folder() -> bool:
    try:
        return os.path.isdir(os.getcwd())
    except FileNotFoundError:
        return False


def _explain(error: Exception) -> int:
    """Print an error in one line and return the exit code."""
    if isinstance(error, click.UsageError):
        fail(_usage(error))
    elif isinstance(error, click.ClickException):
        fail(error.format_message())
    elif isinstance(error, ParameterError) and (error.owner or "").startswith("read_"):
        # (the options of a reader have the names of its parameters)
        name, got = Argument(str(error.parameter)), in_short(repr(error.value))
        fail(Message(name, f" must be {error.rule}. Got {got} instead.", f" {error.remedy}"))
    elif isinstance(error, CrucialError):
        fail(error.message)
    elif isinstance(error, OSError):
        return _explain_refusal(error)
    elif isinstance(error, MemoryError):
        fail(f"there is not enough memory. {error}")
        return FAILED
    else:
        fail(
            f"this is a bug in crucial: {type(error).__name__}: {error} "
            "(CRUCIAL_TRACEBACK=1 in the environment shows where; please report it)"
        )
        return FAILED
    return REFUSED


# --- Check target files before the work begins, write them when it is done, name them in errors


def check_target(path: str, *sources: str | None) -> None:
    """Check that a file can be written later, without changing it; "-" is standard output.

    Parameters
    ----------
    path : str
        The file to write.
    *sources : str or None
        Files that the verb reads, which the target must not be.

    Raises
    ------
    FileError
        The target is a source or a directory, cannot be replaced, or its folder is missing or
        read-only.
    """
    from crucial.data.files import check_writable

    if path == "-":
        return
    refuse_overwriting(path, *sources)
    if path.lower().endswith((".xlsx", ".xlsm", ".xls")):
        problem = "Excel files are read, and cannot be written."
        raise FileError(path, problem, remedy="Use a name in .csv, .tsv, .json or .jsonl.")
    check_writable(path)


def check_targets(targets: Iterable[str | None], *sources: str | None) -> None:
    """Check several files that a verb writes; see `check_target`.

    Raises
    ------
    FileError
        Two of them are the same file, or as in `check_target`.
    """
    seen = set[str]()
    for target in targets:
        if target is None:
            continue
        check_target(target, *sources)
        place = os.path.realpath(target)
        if place in seen and target != "-":
            raise FileError(target, "would be written twice; name another file for one of them.")
        seen.add(place)


def check_sources(*paths: str | None) -> None:
    """Refuse files that do not exist, before imports and parameters that take time.

    Patterns, addresses and standard input ("-") are left to their readers.
    """
    for path in paths:
        plain = path not in (None, "-") and not re.search(r"[*?\[]|://", str(path))
        if plain and not os.path.lexists(str(path)):
            raise FileError(str(path), "cannot be read: no such file.")


def refuse_overwriting(path: str, *sources: str | None) -> None:
    """Refuse to write over a file that is read."""
    if not os.path.exists(path):
        return
    for source in sources:
        inside = os.path.join(glob.escape(source), "*") if source and os.path.isdir(source) else ""
        names = () if source is None else (source, *glob.glob(inside or source))
        if any(os.path.exists(one) and os.path.samefile(path, one) for one in names):
            raise FileError(path, "would overwrite a file that is read; name another file.")


def check_tag(tag: str) -> None:
    """Refuse a tag that a reader of the run would split."""
    if len(tag.split()) != 1:
        raise click.BadParameter("must be one word.", param_hint="'--tag'")


def write_text(path: str, text: str) -> None:
    """Write to a file, whole or not at all; "-" is standard output.

    Bytes that came from a file and were not UTF-8 are written as they were read.
    """
    _write(path, [text.encode("utf-8", "surrogateescape")])


#: The kinds of tables, for help texts.
TABLES = "CSV, TSV, JSON (.json, .jsonl) or parquet by the end of its name"


def writes_json(output: str | None, wanted: bool) -> bool:
    """Return whether a result is written as JSON with all it has: by option, or by the file's name.

    Raises
    ------
    click.UsageError
        The option and the name disagree.
    """
    from crucial.io.writing import table_kind_of

    kind = None if output is None else table_kind_of(output)
    if wanted and kind not in (None, "json"):
        raise click.UsageError(f"--json, and {output} is no .json: leave one of them out.")
    return wanted or kind == "json"


def write_frame(path: str, frame: Frame, *, exact: bool = False) -> None:
    """Write the frame of a result as the file's name ends; "-" is standard output, as CSV."""
    from crucial.io.writing import table_lines, write_columns

    columns = frame if isinstance(frame, Mapping) else frame.to_dict("list")
    if path == "-":
        write_text(path, "".join(table_lines(path, columns, exact=exact)))
    else:
        write_columns(path, columns, exact=exact)


def write_run_to(path: str, run: Run) -> None:
    """Write a run, as TREC does or as a table; "-" is standard output."""
    from crucial.io.runs import run_columns, run_lines
    from crucial.io.writing import table_kind_of

    if table_kind_of(path) is None:
        _write(path, run_lines(run))
    else:
        write_frame(path, run_columns(run))


def _write(path: str, parts: Iterable[bytes]) -> None:
    from crucial.data.files import atomic_write

    if path == "-":
        data = b"".join(parts)
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    with atomic_write(path) as file:
        file.writelines(parts)


@contextmanager
def in_training_files(path: str, valid_path: str | None) -> Iterator[None]:
    """Name the file of the rows in errors: that of the eval set, or that of the others."""
    try:
        yield
    except DataError as error:
        of_valid = valid_path is not None and error.parameter == "eval_set"
        raise error.in_file(valid_path if of_valid else path) from error
