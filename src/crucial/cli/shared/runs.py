"""Runs on the command line: files in, a fused run out."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING

from crucial.cli.shared.writing import write_text

if TYPE_CHECKING:
    from crucial.apps.fusion.pool import Pool
    from crucial.data.runs import Run

__all__ = ["read_runs", "write_run_to"]


def read_runs(paths: Sequence[str]) -> Pool:
    """Read run files side by side; they go by their tags, or by their names."""
    from crucial.apps.fusion.pool import Pool

    return Pool.of(list(paths))


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
