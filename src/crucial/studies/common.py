"""What the studies share: options, the run of their experiment, and how they print and fail."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from crucial.errors import CrucialError

if TYPE_CHECKING:
    from crucial.lab.experiment_result import ExperimentResult

__all__ = [
    "Write",
    "add_experiment_options",
    "new_parser",
    "print_experiment",
    "run_study",
    "write",
]

#: Prints a line.
Write: TypeAlias = Callable[[str], None]


def write(text: str) -> None:
    """Print a line to standard output."""
    sys.stdout.write(f"{text}\n")


def new_parser(study: str, description: str) -> argparse.ArgumentParser:
    """Make the parser of a study's options."""
    return argparse.ArgumentParser(
        prog=f"python -m crucial.studies.{study}", description=description
    )


def add_experiment_options(parser: argparse.ArgumentParser, seed: str) -> None:
    """Add the options of a study that is an experiment; ``seed`` is what its seed is for."""
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help=seed)
    parser.add_argument("--folder", help="stores finished cells: a killed run can be continued")
    parser.add_argument("--report", help="also write a page")
    parser.add_argument("--jobs", type=int, default=-1)


def print_experiment(
    run: Callable[[], ExperimentResult],
    print_tables: Callable[[ExperimentResult, Write], None],
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
    print_tables(found, write)
    if page:
        found.report(page, title)


def run_study(
    study: Callable[[argparse.Namespace], None],
    parser: argparse.ArgumentParser,
    arguments: Sequence[str] | None,
) -> int:
    """Parse the arguments and run a study; returns the exit status."""
    options = parser.parse_args(arguments)
    try:
        study(options)
    except CrucialError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0
