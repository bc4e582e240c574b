"""Answers in a file that only grows: what was acknowledged survives a kill.

One line of JSON an event, written with one call and flushed to the disk before the answer counts.
A process that is killed while writing leaves at most one line without its end; that line was
never acknowledged, and is cut off when the file is opened again. Undoing is an event, too::

    {"crucial": "answers", "version": 1}
    {"n": 1, "left": "tea", "right": "milk", "answer": "left", "at": "2024-05-01T10:00:00Z"}
    {"n": 2, "undo": 1, "at": "2024-05-01T10:00:07Z"}
"""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from crucial.data.files import PathLike, _reason, _sync_folder
from crucial.data.formats.words import shown
from crucial.errors import FileError

__all__ = ["ANSWERS", "Answer", "Journal"]

ANSWERS = ("left", "right", "tie", "skip")
_HEAD = {"crucial": "answers", "version": 1}
_LONGEST_LINE = 1 << 20


@dataclass(frozen=True)
class Answer:
    """One answer.

    Attributes
    ----------
    n : int
        Number of its event.
    left, right : str
        The items, as they were shown.
    answer : {"left", "right", "tie", "skip"}
    at : str
        When, in UTC.
    """

    n: int
    left: str
    right: str
    answer: str
    at: str = ""


class Journal:
    """A file of answers, opened for more; nobody else can open it meanwhile.

    Parameters
    ----------
    path : str or path
        Made if it is not there.

    Attributes
    ----------
    answers : list of Answer
        Those that stand, oldest first.
    n_events : int
        Answers and undos so far.
    torn : bool
        Whether a line that was cut short was found, and taken off.

    Raises
    ------
    FileError
        It cannot be opened, is open elsewhere, or holds something else; the line is named.
    """

    def __init__(self, path: PathLike) -> None:
        self.path = os.fspath(path)
        self.answers: list[Answer] = []
        self.n_events, self.torn, self._broken = 0, False, False
        new = not os.path.exists(self.path)
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except (OSError, ValueError) as error:
            said = _reason(error) if isinstance(error, OSError) else str(error)
            raise FileError(self.path, f"cannot be opened for answers: {said}.") from error
        try:
            self._open()
        except BaseException:
            os.close(self._file)
            raise
        if new:
            _sync_folder(os.path.dirname(self.path))

    def _open(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise FileError(
                self.path, "is open in another 'crucial prefer'; end that one first."
            ) from error
        try:
            with open(self.path, "rb") as file:
                data = file.read()
        except OSError as error:
            raise FileError(self.path, f"cannot be read: {_reason(error)}.") from error
        whole = self._replayed(data)
        self._size = whole
        if whole < len(data):
            self.torn = True
            os.ftruncate(self._file, whole)
            os.fsync(self._file)
        if whole == 0:
            self._write(_HEAD)

    def _replayed(self, data: bytes) -> int:
        """Take in the events; gives the length of the part that is whole."""
        end = data.rfind(b"\n") + 1
        lines = data[:end].split(b"\n")[:-1]
        # (after a power cut the last line may have its length and not its content)
        if lines and _event(lines[-1]) is None and (len(lines) > 1 or not lines[-1].strip(b"\0")):
            end -= len(lines.pop()) + 1
        if not lines:
            # Cut short in its first line; anything else is not ours and stays as it is.
            head = (json.dumps(_HEAD) + "\n").encode()
            if not head.startswith(data.rstrip(b"\0")):
                raise self._refused(1, data[:80])
            return 0
        for number, line in enumerate(lines, 1):
            event = _event(line)
            if number == 1:
                if event is None or event.get("crucial") != "answers":
                    raise self._refused(1, line)
                if event.get("version") != 1:
                    raise FileError(
                        self.path, f"is of version {event.get('version')!r}; 1 is known.", 1
                    )
            elif event is None or not self._taken(event):
                raise self._refused(number, line)
        return end

    def _refused(self, number: int, line: bytes) -> FileError:
        what = "a file of answers" if number == 1 else "an answer"
        return FileError(
            self.path, f"this is not {what} of 'crucial prefer'. Got {shown(line)}.", number
        )

    def _taken(self, event: dict[str, Any]) -> bool:
        """Apply an event, unless it is not one."""
        if event.get("n") != self.n_events + 1:
            return False
        if "undo" in event:
            if not self.answers or self.answers[-1].n != event["undo"]:
                return False
            self.answers.pop()
        else:
            texts: list[Any] = [event.get(name) for name in ("left", "right", "answer", "at")]
            if not all(isinstance(text, str) for text in texts) or texts[2] not in ANSWERS:
                return False
            self.answers.append(Answer(event["n"], *texts))
        self.n_events += 1
        return True

    def append(self, left: str, right: str, answer: str) -> None:
        """Write an answer; when this returns it is on the disk."""
        event = {"n": self.n_events + 1, "left": left, "right": right, "answer": answer}
        self._write({**event, "at": _now()})
        self._taken({**event, "at": _now()})

    def undo(self) -> Answer:
        """Take back the last answer that stands.

        Raises
        ------
        IndexError
            There is none.
        """
        last = self.answers[-1]
        event = {"n": self.n_events + 1, "undo": last.n, "at": _now()}
        self._write(event)
        self._taken(event)
        return last

    def _write(self, event: dict[str, Any]) -> None:
        if self._broken or self._file < 0:
            raise FileError(self.path, "could not be written before; start again.")
        line = (json.dumps(event, ensure_ascii=True) + "\n").encode()
        try:
            done = os.write(self._file, line)
            if done < len(line):
                os.write(self._file, line[done:])
            os.fsync(self._file)
        except OSError as error:
            # What is half written must not stand before the next answer.
            try:
                os.ftruncate(self._file, self._size)
                os.fsync(self._file)
            except OSError:
                self._broken = True
            raise FileError(self.path, f"cannot be written: {_reason(error)}.") from error
        self._size += len(line)

    def close(self) -> None:
        """Close the file, and let others open it."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1  # (another file may get the number)


def _event(line: bytes) -> dict[str, Any] | None:
    if len(line) > _LONGEST_LINE:
        return None
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
