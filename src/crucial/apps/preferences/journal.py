"""The answers of a person, as events of an `AppendLog`; taking an answer back is an event, too.

::

    {"crucial": "answers", "version": 1}
    {"n": 1, "left": "tea", "right": "milk", "answer": "left", "at": "2024-05-01T10:00:00Z"}
    {"n": 2, "undo": 1, "at": "2024-05-01T10:00:07Z"}

A new file is readable by its owner only. The time of an event is taken once: the answer in memory
has the time that is on disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from crucial.data.append_log import AppendLog, Entry, LogKind
from crucial.data.words import shown
from crucial.types import PathLike

__all__ = ["ANSWERS", "Answer", "Journal"]

ANSWERS = ("left", "right", "tie", "skip")


def _damaged(number: int, line: bytes) -> str:
    what = "a file of answers" if number == 1 else "an answer"
    return f"this is not {what} of 'crucial prefer'. Got {shown(line)}."


_KIND = LogKind(
    busy="is open in another 'crucial prefer'; end that one first.",
    damaged=_damaged,
    heading={"crucial": "answers", "version": 1},
    private=True,
)


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
        Time of the answer, in UTC.
    """

    n: int
    left: str
    right: str
    answer: str
    at: str


class Journal:
    """The answers in a file, or in memory, opened for more.

    Parameters
    ----------
    path : str, path or None
        Created if missing. None keeps the answers in memory.
    read_only : bool
        Leave the file as it is, which may be open elsewhere.

    Attributes
    ----------
    answers : list of Answer
        Those not taken back, oldest first.
    n_events : int
        Answers and undos so far.

    Raises
    ------
    FileError
        The file cannot be opened, is open elsewhere, or has a line that is not an answer.
    """

    def __init__(self, path: PathLike | None, *, read_only: bool = False) -> None:
        self.answers: list[Answer] = []
        self.n_events = 0
        self._log = AppendLog(path, _KIND, self._take, read_only=read_only)

    @property
    def torn(self) -> bool:
        """Whether an incomplete last line was found and cut off."""
        return self._log.torn

    def _take(self, event: Entry) -> bool:
        """Apply an event; returns False for one that is not valid here."""
        if event.get("n") != self.n_events + 1 or type(event["n"]) is not int:
            return False
        if "undo" in event:
            if not self.answers or self.answers[-1].n != event["undo"]:
                return False
            self.answers.pop()
        else:
            texts = [event.get(name) for name in ("left", "right", "answer", "at")]
            if not all(isinstance(text, str) for text in texts) or texts[2] not in ANSWERS:
                return False
            if texts[0] == texts[1]:
                return False
            self.answers.append(Answer(event["n"], *map(str, texts)))
        self.n_events += 1
        return True

    def append(self, left: str, right: str, answer: str) -> None:
        """Add an answer; it is on disk when this returns."""
        self._log.append(self._event(left=left, right=right, answer=answer))

    def undo(self) -> Answer:
        """Take back the last answer and return it; raises IndexError if there is none."""
        last = self.answers[-1]
        self._log.append(self._event(undo=last.n))
        return last

    def _event(self, **content: str | int) -> Entry:
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"n": self.n_events + 1, **content, "at": at}

    def close(self) -> None:
        """Close the file, so that others can open it."""
        self._log.close()
