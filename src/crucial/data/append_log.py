"""A log of JSON lines that only grows: an entry that was appended survives a kill or a power cut.

An entry is one line, flushed to the disk before `AppendLog.append` returns. A process that is
killed while it writes leaves at most one incomplete line, which never counted and is cut off when
the log is opened again. Only one process at a time can have a log open for writing; what another
program does to the file meanwhile is noticed before the next entry is written.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from crucial.data.files import os_reason, sync_folder
from crucial.data.words import keys_once
from crucial.errors import FileError
from crucial.types import PathLike

#: A JSON object.
Entry: TypeAlias = dict[str, Any]

#: Takes in an entry; returns False for one that has no place at this point of the log.
Take: TypeAlias = Callable[[Entry], bool]


@dataclass(frozen=True)
class LogKind:
    """The heading, messages and permissions that all logs of one kind share.

    Attributes
    ----------
    busy : str
        Error message for a log that another process has open.
    damaged : function of (line number, line)
        Error message for a line that is not an entry.
    heading : dict, optional
        First line of the file; its "version" must be equal, too.
    compact : bool
        Whether lines are written without spaces.
    private : bool
        Whether a new file is for its owner only (mode 0600). A file that is there keeps its mode.
    """

    busy: str
    damaged: Callable[[int, bytes], str]
    heading: Entry | None = None
    compact: bool = False
    private: bool = False

    def line(self, entry: Entry) -> bytes:
        """Return an entry as it is written."""
        separators = (",", ":") if self.compact else None
        return json.dumps(entry, allow_nan=False, separators=separators).encode() + b"\n"


class AppendLog:
    """A log opened for writing, or one in memory.

    Parameters
    ----------
    path : str, path or None
        Created if missing. None keeps nothing on disk: entries are only taken in.
    kind : LogKind
    take : function of an entry
        Called for every entry, in order: those found in the file, then each one appended after it
        is on disk.
    read_only : bool
        Leave the file as it is; others may have it open.

    Attributes
    ----------
    torn : bool
        Whether an incomplete last line was found, and cut off unless the log is only read.

    Raises
    ------
    FileError
        The file cannot be opened, is open in another process, or has a line that is not an entry.
        The file is left as it was.
    """

    def __init__(
        self, path: PathLike | None, kind: LogKind, take: Take, *, read_only: bool = False
    ) -> None:
        self._kind, self._take, self._usable = kind, take, True
        self._read_only = read_only and path is not None
        self.torn = False
        self._file: int | None = None
        if path is None:
            return
        self.path = os.fspath(path)
        self._place = os.path.abspath(self.path)  # (the folder of the process may change)
        if read_only:
            size, whole, _ = read_log(self.path, kind, take)
            self.torn = whole < size
            return
        new = not os.path.exists(self.path)
        self._file = open_locked(self.path, kind.busy, 0o600 if kind.private else 0o666)
        try:
            size, self._size, ended = read_log(self.path, kind, take)
            if self._size < size:
                self.torn = True
                self._cut()
            elif not ended:
                self._put(b"\n")
            if not self._size and kind.heading is not None:
                self._write(kind.heading)
            if new:
                sync_folder(os.path.dirname(self.path))
        except OSError as error:
            self.close()
            raise FileError(self.path, f"cannot be written: {os_reason(error)}.") from error
        except BaseException:
            self.close()
            raise

    def append(self, entry: Entry) -> None:
        """Add an entry; it is on disk when this returns."""
        if self._read_only:
            raise FileError(
                self.path,
                "was opened to be read only; nothing can be added to it.",
                remedy="Open it without read_only.",
            )
        if not self._usable:
            raise FileError(self.path, "could not be written before, or is closed; start again.")
        if self._file is not None:
            self._write(entry)
        self._take(entry)

    def _write(self, entry: Entry) -> None:
        """Write the line of an entry, if the file is as it was left."""
        try:
            self._check_unchanged()
            self._put(self._kind.line(entry))
        except OSError as error:
            # Half a line must not stay in front of the next one.
            try:
                self._cut()
            except OSError:
                self._usable = False
            raise FileError(self.path, f"cannot be written: {os_reason(error)}.") from error

    def _put(self, line: bytes) -> None:
        assert self._file is not None
        done = 0
        while done < len(line):
            done += os.write(self._file, line[done:])
        os.fsync(self._file)
        self._size += len(line)

    def _check_unchanged(self) -> None:
        """Refuse to write where nobody would find it, or after what another program wrote."""
        assert self._file is not None
        own = os.fstat(self._file)
        try:
            there = os.stat(self._place)
        except FileNotFoundError:
            there = None
        if there is None or (there.st_dev, there.st_ino) != (own.st_dev, own.st_ino):
            raise FileError(
                self.path,
                "was moved, deleted or replaced by another program while it was open: nothing can "
                "be added to it.",
                remedy="Put it back, or start again.",
            )
        if own.st_size != self._size:
            raise FileError(
                self.path,
                f"was changed by another program while it was open: it had {self._size} bytes and "
                f"has {own.st_size}. Nothing can be added to it.",
                remedy="Start again.",
            )

    def _cut(self) -> None:
        assert self._file is not None
        os.ftruncate(self._file, self._size)
        os.fsync(self._file)

    def close(self) -> None:
        """Close the file, so that others can open it; a log in memory stays usable."""
        if self._file is not None:
            os.close(self._file)
            self._file, self._usable = None, False


def open_locked(path: str, busy: str, mode: int = 0o666) -> int:
    """Open a file for appending that no other process has open this way, and return its number.

    ``mode`` is that of a new file, less what the process denies to all its files.

    Raises
    ------
    FileError
        It cannot be opened, or is locked; ``busy`` is then the message.
    """
    _refuse_special(path)
    try:
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, mode)
    except (OSError, ValueError) as error:
        raise FileError(path, f"cannot be opened: {os_reason(error)}.") from error
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(number)
        raise FileError(path, busy) from error
    return number


def _refuse_special(path: str) -> None:
    """Refuse pipes and devices, which are read without end."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return  # (opening it says what is wrong)
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise FileError(path, "this is a pipe or a device; a file is needed.")


def read_log(path: str, kind: LogKind, take: Take) -> tuple[int, int, bool]:
    """Replay a log, and return its size, that of the part that is whole, and if that has an end.

    A last line that lacks its end alone counts.

    Raises
    ------
    FileError
        The file cannot be read, or a line is not an entry.
    """
    _refuse_special(path)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise FileError(path, f"cannot be read: {os_reason(error)}.") from error
    end = data.rfind(b"\n") + 1
    lines = data[:end].split(b"\n")[:-1]
    if lines and (b"\0" in lines[-1] or (len(lines) > 1 and not lines[-1].strip())):
        # After a power cut the last line may have its length but not its content.
        end -= len(lines.pop()) + 1
    elif (lines or kind.heading is None) and _parsed(data[end:]) is not None:
        lines.append(data[end:])
        end = len(data)
    if not lines and kind.heading is not None:
        if not kind.line(kind.heading).startswith(data.rstrip(b"\0")):
            raise FileError(path, kind.damaged(1, data[:80]), 1)
        return len(data), 0, True
    for number, line in enumerate(lines, 1):
        entry = _parsed(line)
        if number == 1 and kind.heading is not None:
            _check_heading(path, kind, line, entry)
        elif entry is None or not take(entry):
            raise FileError(path, kind.damaged(number, line), number)
    return len(data), end, data[:end].endswith(b"\n") or not end


def _check_heading(path: str, kind: LogKind, line: bytes, entry: Entry | None) -> None:
    """Refuse the log of another kind or version."""
    expected = kind.heading or {}
    if entry is None or any(entry.get(k) != v for k, v in expected.items() if k != "version"):
        raise FileError(path, kind.damaged(1, line), 1)
    if entry.get("version") != expected["version"]:
        known = expected["version"]
        raise FileError(path, f"is of version {entry.get('version')!r}; {known} is known.", 1)


def _parsed(line: bytes) -> Entry | None:
    """Return the JSON object of a line, or None if it is none."""
    try:
        entry = json.loads(line, object_pairs_hook=keys_once)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None
