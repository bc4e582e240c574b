"""Read run files side by side, and write a run."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

import click

from crucial.cli.shared.files import write_text

if TYPE_CHECKING:
    from crucial.data.runs import Run

__all__ = ["check_tag", "write_run_to"]


def check_tag(tag: str) -> None:
    """Refuse a tag that a reader of the run would split."""
    if len(tag.split()) != 1:
        raise click.BadParameter("must be one word.", param_hint="'--tag'")


def write_run_to(output: str, run: Run) -> None:
    """Write a TREC run; "-" is standard output."""
    from crucial.data.formats.trec import write_run

    if output != "-":
        write_run(output, run)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run")
        write_run(path, run)
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
            write_text(output, file.read())
