"""A folder of results that a killed run leaves intact and a later run continues.

``experiment.json``
    The settings: protocol, measures, seed, versions, tasks (with a hash of their data) and rankers
    (with all parameters). A run with other settings is refused.
``cells.jsonl``
    A `crucial.data.append_log` with one entry per finished cell.
``lock``
    Locked by the process that writes.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import msgspec

from crucial.data.append_log import AppendLog, Entry, LogKind, open_locked, read_log
from crucial.data.files import atomic_write, os_reason
from crucial.errors import DataError, FileError
from crucial.lab.records import Cell, CellMeasure, ExperimentSettings, Key, key_of
from crucial.types import PathLike
from crucial.wording import printable

__all__ = ["FORMAT", "ResultFolder"]

FORMAT = 1

_BUSY = "another process is at work in this folder; wait for it to end."
_CELLS = LogKind(
    busy=_BUSY,
    damaged=lambda number, line: (
        "this line is damaged; take it out to have its cell computed again."
    ),
    compact=True,
)

#: Settings that all cells of a folder share, and what a difference is called.
_COMMON = {
    "protocol": "another protocol",
    "measures": "other measures",
    "seed": "another seed",
    "crucial": "another version of crucial",
}


class ResultFolder:
    """The folder of an experiment.

    Parameters
    ----------
    path : str or path
        Created if missing.
    """

    def __init__(self, path: PathLike) -> None:
        self.path = os.fspath(path)
        self._settings_path = os.path.join(self.path, "experiment.json")
        self._cells_path = os.path.join(self.path, "cells.jsonl")
        self._cells: dict[Key, Cell] = {}
        self._log: AppendLog | None = None

    def settings(self) -> ExperimentSettings | None:
        """Return the settings of the experiment, or None if there is none yet."""
        if not os.path.exists(self._settings_path):
            return None
        try:
            with open(self._settings_path, encoding="utf-8") as file:
                found = json.load(file)
        except (OSError, ValueError, RecursionError) as error:
            raise FileError(
                self._settings_path, f"cannot be read: {printable(str(error), 200)}."
            ) from error
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise FileError(
                self._settings_path,
                f"is not an experiment of format {FORMAT}; it may come from another version.",
            )
        try:
            msgspec.convert(found, ExperimentSettings)
        except (msgspec.ValidationError, UnicodeEncodeError) as error:
            raise FileError(
                self._settings_path, f"is damaged: {printable(str(error), 200)}."
            ) from error
        return cast(ExperimentSettings, found)

    def cells(self) -> dict[Key, Cell]:
        """Read every finished cell; of a failure that was tried again, the last one."""
        self._cells = {}
        if os.path.exists(self._cells_path):
            read_log(self._cells_path, _CELLS, self._take)
        return self._cells

    def _take(self, entry: Entry) -> bool:
        if not all(isinstance(entry.get(k), str) for k in ("task", "split", "ranker", "status")):
            return False
        try:
            # (a cell that was computed for its scores alone has no measures)
            if entry["status"] == "ok" and not ("scores" in entry and "measures" not in entry):
                msgspec.convert(entry.get("measures"), dict[str, CellMeasure])
        except (msgspec.ValidationError, UnicodeEncodeError):
            return False
        cell = cast(Cell, entry)
        old = self._cells.get(key_of(cell))
        if cell["status"] == "ok" or old is None or old["status"] != "ok":
            self._cells[key_of(cell)] = cell
        return True

    @contextmanager
    def opened(self, settings: ExperimentSettings) -> Iterator[dict[Key, Cell]]:
        """Lock the folder to continue the experiment; yields the cells that are finished.

        Raises
        ------
        FileError
            Another process writes here, or the folder cannot be written.
        DataError
            The folder has an experiment with other settings; the message names the difference.
        """
        try:
            os.makedirs(self.path, exist_ok=True)
        except OSError as error:
            raise FileError(self.path, f"cannot be written: {os_reason(error)}.") from error
        lock = open_locked(os.path.join(self.path, "lock"), _BUSY)
        try:
            self._sweep()
            merged = _merged(self.path, self.settings(), settings)
            with atomic_write(self._settings_path) as target:
                target.write((json.dumps(merged, indent=1, allow_nan=False) + "\n").encode())
            self._cells = {}
            self._log = AppendLog(self._cells_path, _CELLS, self._take)
            try:
                yield dict(self._cells)
            finally:
                self._log.close()
        finally:
            self._log = None
            os.close(lock)

    def _sweep(self) -> None:
        """Remove temporary files of a run that was killed while it wrote the settings."""
        for one in os.scandir(self.path):
            if one.name.startswith(".crucial-") and one.name.endswith(".tmp"):
                with contextlib.suppress(OSError):
                    os.unlink(one.path)

    def append(self, cell: Cell) -> None:
        """Add a finished cell; it is on disk when this returns."""
        if self._log is None:
            raise FileError(self.path, "is not open for writing.")
        self._log.append(cast(Entry, cell))


def _merged(
    path: str, old: ExperimentSettings | None, new: ExperimentSettings
) -> ExperimentSettings:
    """Add new tasks and rankers to the settings; refuse different ones under a known name."""
    if old is None:
        return new
    before, now = cast(Entry, old), cast(Entry, new)
    for what, difference in _COMMON.items():
        if before.get(what) != now[what]:
            raise _refused(path, difference, *_differing(before.get(what), now[what]))
    merged = dict(now)
    merged["sessions"] = [*before.get("sessions", []), *now.get("sessions", [])]
    for what, word in (("tasks", "task"), ("rankers", "ranker")):
        known = before.get(what, {})
        for name, one in now[what].items():
            if name in known and known[name] != one:
                raise _refused(path, f"another {word} {name!r}", *_differing(known[name], one))
        merged[what] = {**known, **now[what]}
    return cast(ExperimentSettings, merged)


def _differing(old: object, new: object, place: str = "") -> tuple[str, object, object]:
    """Return the first place in which two settings differ, and both values there."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys((*old, *new)):
            if old.get(key) != new.get(key):
                return _differing(old.get(key), new.get(key), f"{place}.{key}" if place else key)
    return place, old, new


def _refused(path: str, what: str, place: str, old: object, new: object) -> DataError:
    where = f" ({printable(place, 200)})" if place else ""
    before, now = printable(str(old), 500), printable(str(new), 500)
    return DataError(
        f"{path} has an experiment with {what}{where}, and results are not mixed: {before} "
        f"before, {now} now. Name another folder, or restore the setting."
    )
