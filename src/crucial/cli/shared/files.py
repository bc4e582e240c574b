"""Check target files before the work begins, write them when it is done, name them in errors."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from crucial.data.files import atomic_write
from crucial.errors import DataError, FileError

if TYPE_CHECKING:
    from crucial.data.dataset import Run

__all__ = [
    "check_tag",
    "check_target",
    "check_targets",
    "in_training_files",
    "refuse_overwriting",
    "write_run_to",
    "write_text",
]


class _Unchanged(Exception):
    """Ends an attempt to write before anything is written."""


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
    if path == "-":
        return
    refuse_overwriting(path, *sources)
    try:
        if not stat.S_ISREG(os.stat(path).st_mode) and not os.path.isdir(path):
            return  # (opening a pipe or device could already do something)
    except (OSError, ValueError):
        pass  # (the attempt below reports what is wrong)
    try:
        with atomic_write(path):
            raise _Unchanged
    except _Unchanged:
        pass


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


def refuse_overwriting(path: str, *sources: str | None) -> None:
    """Refuse to write over a file that is read."""
    if not os.path.exists(path):
        return
    for source in sources:
        if source is not None and os.path.exists(source) and os.path.samefile(path, source):
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


def write_run_to(path: str, run: Run) -> None:
    """Write a TREC run; "-" is standard output."""
    from crucial.io.runs import run_lines

    _write(path, run_lines(run))


def _write(path: str, parts: Iterable[bytes]) -> None:
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
