"""Print to a terminal, or to a file in place of one: notes, errors, tables."""

from __future__ import annotations

import os
import shlex
import sys
from typing import IO, TYPE_CHECKING

import click

from crucial.errors import Argument, Message
from crucial.wording import counted, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Column, Table

__all__ = [
    "PLAIN_WIDTH",
    "console",
    "counted",
    "fail",
    "grid",
    "label_column",
    "note",
    "number_column",
    "one_line",
    "picture_column",
    "table",
]

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


def table(*columns: Column | str) -> Table:
    """Return an empty table with a line under its heading, whose numbers are never cut."""
    from rich import box

    from crucial.cli.shared.whole_table import WholeTable

    return WholeTable(
        *columns, box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold"
    )


def label_column(header: str, max_width: int | None = None) -> Column:
    """Return a column of names, which wrap where they are too long."""
    from rich.table import Column

    return Column(header, max_width=max_width)


def picture_column(header: str) -> Column:
    """Return a column of pictures made of characters, which must not wrap."""
    from rich.table import Column

    return Column(header, no_wrap=True)


def number_column(header: str) -> Column:
    """Return a column of numbers, which stand at the right and keep their width."""
    from rich.table import Column

    return Column(header, justify="right")


def grid() -> Table:
    """Return an empty table of names and values, without lines."""
    from rich.table import Column, Table

    return Table.grid(Column(style="dim"), Column(overflow="fold"), padding=(0, 2))
