"""What the studies share: groups of commands, lists as options, figures, and experiments."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crucial.errors import CrucialError, MissingExtraError
from crucial.types import PathLike

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from crucial.lab.results import ExperimentResult
    from crucial.results import Axes

#: Prints a line.
write = click.echo


class Studies(click.Group):
    """A group of studies: an error of the library is one line, and exit status 2."""

    def invoke(self, context: click.Context) -> Any:
        """Run a study."""
        try:
            return super().invoke(context)
        except CrucialError as error:
            click.echo(f"error: {error}", err=True)
            context.exit(2)


def studies(description: str) -> Studies:
    """Return the empty group of a script; the description is the script's docstring."""
    settings = {"help_option_names": ["-h", "--help"], "show_default": True}
    return Studies(help=description, context_settings=settings)


class Listed(click.ParamType):
    """Values separated by commas, each of one type."""

    name = "list"

    def __init__(self, kind: Callable[[str], Any] = str, choices: Sequence[Any] = ()) -> None:
        self.kind, self.choices = kind, tuple(choices)

    def convert(self, value: Any, param: Any, context: click.Context | None) -> tuple[Any, ...]:
        """Return the values; refuse one that is no choice."""
        if not isinstance(value, str):
            return tuple(value)
        try:
            found = tuple(self.kind(one.strip()) for one in value.split(","))
        except ValueError:
            self.fail(f"{value!r} is no list of {self.kind.__name__} separated by commas.", param)
        for one in found:
            if self.choices and one not in self.choices:
                self.fail(f"{one!r} is not one of {', '.join(map(str, self.choices))}.", param)
        return found


def list_option(
    name: str,
    default: Sequence[Any] | None = None,
    kind: Callable[[str], Any] = int,
    choices: Sequence[Any] = (),
    text: str | None = None,
) -> Any:
    """Return an option of values separated by commas."""
    listed = None if default is None else ",".join(map(str, default))
    metavar = "|".join(map(str, choices)) + ",..." if choices else "LIST"
    return click.option(
        name, type=Listed(kind, choices), default=listed, help=text, metavar=metavar
    )


def experiment_options(seed: str, rounds: int | None = 200) -> Callable[[Any], Any]:
    """Add the options of a study that is an experiment; ``seed`` is what its seed is for."""
    options = (
        click.option("--rounds", type=int, default=rounds),
        click.option("--seed", type=int, default=0, help=seed),
        click.option("--folder", help="stores finished cells: a killed run can be continued"),
        click.option("--report", help="also write a page"),
        click.option("--jobs", type=int, default=-1),
    )

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def print_experiment(
    run: Callable[[], ExperimentResult],
    print_tables: Callable[[ExperimentResult], None],
    title: str,
    page: str | None,
) -> None:
    """Run a study's experiment and print its time, its failures and its tables.

    ``page`` is a file to write the report to, if any.
    """
    began = time.perf_counter()
    found = run()
    write(f"{found!r} in {time.perf_counter() - began:.0f} s")
    for one in found.failures:
        write(f"failed: {one}")
    print_tables(found)
    if page:
        found.report(page, title)


def new_figure(
    rows: int = 1, columns: int = 1, size: tuple[float, float] = (6.4, 4.4), **options: Any
) -> tuple[Figure, list[Axes]]:
    """Return a new figure of some size in inches, drawn without a screen, and its axes by row.

    The options are those of ``Figure.subplots``.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError(
            "figures need matplotlib, which is not installed: pip install 'crucial[plots]'."
        ) from error
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, list(figure.subplots(rows, columns, squeeze=False, **options).flat)


def save_figure(figure: Figure, path: PathLike) -> Path:
    """Write a figure to a file of the kind that its name says; return its path."""
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(place, dpi=120)
    return place
