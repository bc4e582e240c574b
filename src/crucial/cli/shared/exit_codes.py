"""Turn every error into one line on standard error and an exit code, never a traceback.

=====  ==========================================================
code   when
=====  ==========================================================
0      done
1      a cause other than the user's input: a bug, no memory, a
       standard output that is full
2      the command or its data cannot be used; nothing was written
130    interrupted
=====  ==========================================================

``CRUCIAL_TRACEBACK=1`` in the environment shows the traceback instead, and warnings as
Python prints them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import TextIO

import click

from crucial.cli.shared.terminal import fail, note
from crucial.data.files import os_reason
from crucial.errors import Argument, CrucialError, Message, ParameterError, in_short

__all__ = ["DONE", "FAILED", "INTERRUPTED", "REFUSED", "guarded"]

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
