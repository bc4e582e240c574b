"""Talking to a terminal, or to a file that stands in for one."""

from __future__ import annotations

import shlex
import sys
from typing import IO, TYPE_CHECKING

import click

from crucial.errors import Argument, Message
from crucial.model.text import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = [
    "PLAIN_WIDTH",
    "console",
    "counted",
    "fail",
    "grid",
    "note",
    "one_line",
    "table",
]

#: Columns where the output is no terminal: the same on every machine.
PLAIN_WIDTH = 100


def one_line(text: str) -> str:
    """Put text of several lines into one, without control characters.

    Examples
    --------
    >>> one_line("no such column:\\n- bm25\\x1b\\n")
    'no such column: - bm25\\\\x1b'
    """
    return printable(" ".join(text.split()), limit=4000)


# Parameters of the library whose options have other names.
_OPTION_NAMES = {"format": "input-format", "by": "pairs-by"}


def _as_option(argument: Argument) -> str:
    """Spell an argument of the library as the option it is on the command line."""
    option = "--" + _OPTION_NAMES.get(argument.name, argument.name.replace("_", "-"))
    if argument.value is None:
        return option
    values = argument.value if isinstance(argument.value, list) else [argument.value]
    return " ".join(f"{option} {shlex.quote(str(value))}" for value in values)


def _with_options(text: str) -> str:
    """Return a message with options in place of arguments, where it mentions any."""
    return text.spelled(_as_option) if isinstance(text, Message) else text


def counted(number: int, one: str, many: str) -> str:
    """Say a number of things.

    Examples
    --------
    >>> counted(1, "query", "queries"), counted(1200, "query", "queries")
    ('1 query', '1,200 queries')
    """
    return f"{number:,} {one if number == 1 else many}"


def note(text: str) -> None:
    """Tell the user something on standard error, in one line."""
    click.echo(f"crucial: note: {one_line(_with_options(text))}", err=True)


def fail(text: str) -> None:
    """Tell the user what went wrong, in one line."""
    click.echo(f"crucial: error: {one_line(_with_options(text))}", err=True)


def console(stream: IO[str] | None = None) -> Console:
    """A rich console on standard output (or another stream); plain where nobody watches.

    Markup is off: names from files may hold brackets.
    """
    from rich.console import Console

    stream = sys.stdout if stream is None else stream
    watched = stream.isatty()
    return Console(
        file=stream,
        width=None if watched else PLAIN_WIDTH,
        no_color=None if watched else True,
        force_terminal=None if watched else False,
        markup=False,
        highlight=False,
        emoji=False,
        soft_wrap=False,
    )


def table() -> Table:
    """A table with a line under its heading."""
    from rich import box
    from rich.table import Table

    return Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        header_style="bold",
    )


def grid() -> Table:
    """Two columns, names and values, without lines."""
    from rich.table import Table

    made = Table.grid(padding=(0, 2))
    made.add_column(style="dim", no_wrap=True)
    made.add_column()
    return made
