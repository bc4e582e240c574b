"""A folder of results that a killed run leaves whole and a later one goes on with.

``experiment.json``
    What the experiment is: protocol, measures, seed, versions, tasks (with a hash of their
    data) and rankers (with all parameters). A run with other settings is refused.
``cells.jsonl``
    A line of JSON for every finished cell, flushed to disk before the next one counts. A last
    line that was cut short is taken off when the next run begins.
``lock``
    Held by the process that writes.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

from crucial.data.files import PathLike, atomic_write
from crucial.errors import DataError, FileError

__all__ = ["FORMAT", "ResultFolder"]

FORMAT = 1

Key = tuple[str, str, str]

#: Settings that all cells of a folder share, in words.
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
        Made if it is not there.
    """

    def __init__(self, path: PathLike) -> None:
        self.path = os.fspath(path)
        self._file: IO[bytes] | None = None

    @property
    def _settings_path(self) -> str:
        return os.path.join(self.path, "experiment.json")

    @property
    def _cells_path(self) -> str:
        return os.path.join(self.path, "cells.jsonl")

    # -- reading --------------------------------------------------------------------

    def settings(self) -> dict[str, Any] | None:
        """The settings of the experiment; None where there is none yet."""
        if not os.path.exists(self._settings_path):
            return None
        try:
            with open(self._settings_path, encoding="utf-8") as file:
                found = json.load(file)
        except (OSError, ValueError) as error:
            raise FileError(self._settings_path, f"cannot be read: {error}.") from error
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise FileError(
                self._settings_path,
                f"is no experiment of format {FORMAT}; it may come from another version.",
            )
        return found

    def cells(self) -> dict[Key, dict[str, Any]]:
        """Every finished cell, the last one where a failure was tried again."""
        return self._read_cells()[0]

    def _read_cells(self) -> tuple[dict[Key, dict[str, Any]], int]:
        """The cells, and how many bytes of the file are whole lines."""
        try:
            with open(self._cells_path, "rb") as file:
                data = file.read()
        except FileNotFoundError:
            return {}, 0
        except OSError as error:
            raise FileError(self._cells_path, f"cannot be read: {error.strerror}.") from error
        found: dict[Key, dict[str, Any]] = {}
        good = 0
        lines = data.split(b"\n")
        for number, line in enumerate(lines[:-1], start=1):
            try:
                cell = json.loads(line)
                key = (cell["task"], cell["split"], cell["ranker"])
                status = cell["status"]
            except (ValueError, KeyError, TypeError) as error:
                if number == len(lines) - 1 and not lines[-1]:
                    break  # (the last line, torn by a power cut)
                raise FileError(
                    self._cells_path,
                    "this line is damaged; take it out to have its cell computed again.",
                    number,
                ) from error
            good += len(line) + 1
            if status == "ok" or found.get(key, {}).get("status") != "ok":
                found[key] = cell
        return found, good

    # -- writing --------------------------------------------------------------------

    @contextmanager
    def opened(self, settings: Mapping[str, Any]) -> Iterator[dict[Key, dict[str, Any]]]:
        """Hold the folder to go on with it; gives the cells that are finished.

        Raises
        ------
        FileError
            Another process writes here, or the folder cannot be written.
        DataError
            The folder holds an experiment with other settings: it says which differ.
        """
        try:
            os.makedirs(self.path, exist_ok=True)
            lock = open(os.path.join(self.path, "lock"), "ab")  # noqa: SIM115
        except OSError as error:
            raise FileError(self.path, f"cannot be written: {error.strerror}.") from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise FileError(
                    self.path, "another process is at work in this folder; wait for it to end."
                ) from error
            self._sweep()
            merged = _merged(self.path, self.settings(), settings)
            with atomic_write(self._settings_path) as target:
                target.write((json.dumps(merged, indent=1, allow_nan=False) + "\n").encode())
            done, good = self._read_cells()
            try:
                # Whatever fails from here on, no whole line is lost.
                with open(self._cells_path, "ab") as self._file:
                    self._file.truncate(good)
                    yield done
            except OSError as error:
                if error.filename is not None:
                    raise
                raise FileError(
                    self._cells_path, f"cannot be written: {error.strerror}."
                ) from error
            finally:
                self._file = None

    def _sweep(self) -> None:
        """Remove what a run left that was killed while it wrote settings."""
        for one in os.scandir(self.path):
            if one.name.startswith(".crucial-") and one.name.endswith(".tmp"):
                with contextlib.suppress(OSError):
                    os.unlink(one.path)

    def append(self, cell: Mapping[str, Any]) -> None:
        """Add a finished cell; it is on disk when this returns."""
        if self._file is None:
            raise FileError(self.path, "is not open for writing.")
        line = json.dumps(cell, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        place = self._file.tell()
        try:
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError:
            with contextlib.suppress(OSError):  # (half a line must not stay before others)
                self._file.truncate(place)
            raise


def _merged(path: str, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> Mapping[str, Any]:
    """Settings of both; more tasks and rankers are welcome, others under a known name are not."""
    if old is None:
        return new
    for what, word in _COMMON.items():
        if old.get(what) != new[what]:
            raise _refused(path, word, *_differing(old.get(what), new[what]))
    merged = dict(new)
    merged["sessions"] = [*old.get("sessions", []), *new.get("sessions", [])]
    for what, word in (("tasks", "task"), ("rankers", "ranker")):
        known = old.get(what, {})
        for name, one in new[what].items():
            if name in known and known[name] != one:
                raise _refused(path, f"another {word} {name!r}", *_differing(known[name], one))
        merged[what] = {**known, **new[what]}
    return merged


def _differing(old: Any, new: Any, place: str = "") -> tuple[str, Any, Any]:
    """The first place in which two settings differ, and what they are there."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys((*old, *new)):
            if old.get(key) != new.get(key):
                return _differing(old.get(key), new.get(key), f"{place}.{key}" if place else key)
    return place, old, new


def _refused(path: str, what: str, place: str, old: Any, new: Any) -> DataError:
    where = f" ({place})" if place else ""
    return DataError(
        f"{path} holds an experiment with {what}{where}, and results are not mixed: {old} "
        f"before, {new} now. Name another folder, or set it as it was."
    )
