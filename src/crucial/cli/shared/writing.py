"""Looking at a target before the work begins, and writing when it is done."""

from __future__ import annotations

import os
import stat
import sys

from crucial.data.files import atomic_write

__all__ = ["check_target", "write_text"]


class _Nothing(Exception):
    """Ends an attempt to write before anything is written."""


def check_target(path: str) -> None:
    """Find out now whether a file can be written later; it stays as it is.

    Raises
    ------
    FileError
        Its folder is missing or read-only, it is a directory, or may not be replaced.
    """
    if path == "-":
        return
    try:
        if not stat.S_ISREG(os.stat(path).st_mode) and not os.path.isdir(path):
            return  # (opening a pipe or device could already do something)
    except (OSError, ValueError):
        pass  # what is wrong is said below
    try:
        with atomic_write(path):
            raise _Nothing
    except _Nothing:
        pass


def write_text(path: str, text: str) -> None:
    """Write to a file, whole or not at all; "-" is standard output.

    Bytes that came from a file and were no UTF-8 go out as they came in.
    """
    data = text.encode("utf-8", "surrogateescape")
    if path == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    with atomic_write(path) as file:
        file.write(data)
