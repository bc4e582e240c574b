"""Tasks: what rankers are compared on, in memory here, as folds in files in `given_folds`."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from crucial.data.groups import Groups
from crucial.data.instances import Instances, Table, as_table, take_rows
from crucial.errors import DataError, ParameterError, about
from crucial.feedback.labels import check_labels
from crucial.types import Floats, Ints, PathLike
from crucial.wording import counted

__all__ = ["SplitRows", "Task", "TaskLike", "TaskRows", "TaskSplit", "as_tasks"]


@dataclass(frozen=True, eq=False)
class TaskRows:
    """Rows to train on, to validate on or to test on.

    Attributes
    ----------
    X : table of features
    y : float array
    groups : Groups
    qid : array or None
        None where all rows make one list.
    """

    X: Table
    y: Floats
    groups: Groups
    qid: NDArray[np.generic] | None

    @classmethod
    def of(cls, X: Table, y: Floats, qid: NDArray[np.generic] | None) -> TaskRows:
        """Group the rows by query."""
        return cls(X, y, Groups.from_qid(qid, len(y)), qid)


@dataclass(frozen=True, eq=False)
class SplitRows:
    """The parts of a split; ``valid`` is None where nothing is chosen."""

    train: TaskRows
    valid: TaskRows | None
    test: TaskRows


@dataclass(frozen=True, eq=False)
class TaskSplit:
    """One way to divide a task.

    Attributes
    ----------
    name : str
    train, valid, test : arrays of row numbers, or None for a task whose files are divided
    """

    name: str
    train: Ints | None = None
    valid: Ints | None = None
    test: Ints | None = None


class TaskLike(Protocol):
    """What an experiment needs of a task."""

    @property
    def name(self) -> str:
        """Name of the task."""

    def parts(self, split: TaskSplit) -> SplitRows:
        """Return the rows of every part."""

    def digest(self) -> str:
        """Return a hash of the data."""


@dataclass(frozen=True, eq=False)
class Task:
    """Rows to rank, divided by a protocol.

    Attributes
    ----------
    name : str
    X : array, sparse matrix or frame of shape (n_rows, n_features)
    y : array of shape (n_rows,)
        Labels, higher is better.
    qid : array of shape (n_rows,), optional
        Query of each row; without it, all rows make one list.

    Examples
    --------
    >>> task = Task("toy", [[1.0], [2.0], [3.0]], [0, 1, 1])
    >>> task
    Task('toy', 3 rows x 1 feature)
    """

    name: str
    X: Table
    y: Any
    qid: Any = None

    def __post_init__(self) -> None:
        table = as_table(self.X)
        object.__setattr__(self, "X", table)
        with about(f"task {self.name!r}"):
            object.__setattr__(self, "y", check_labels(self.y, int(table.shape[0])))
            groups = Groups.from_qid(self.qid, len(self.y))
        if self.qid is not None:
            object.__setattr__(self, "qid", groups.ids[groups.codes])

    @classmethod
    def from_file(cls, path: PathLike, name: str | None = None, **options: Any) -> Task:
        """Read a task from a file; the options are those of `crucial.read_data`."""
        from crucial.io.tables import read_data

        data = read_data(path, **options)
        if data.y is None:
            raise DataError(f"task {os.fspath(path)}: its rows have no labels.")
        return cls(name or os.path.basename(os.fspath(path)), data.X, data.y, data.qid)

    @cached_property
    def groups(self) -> Groups:
        """The queries."""
        return Groups.from_qid(self.qid, len(self.y))

    def parts(self, split: TaskSplit) -> SplitRows:
        """Return the rows of every part."""
        assert split.train is not None
        assert split.test is not None
        valid = None if split.valid is None else self._take(split.valid)
        return SplitRows(self._take(split.train), valid, self._take(split.test))

    def _take(self, rows: Ints) -> TaskRows:
        qid = None if self.qid is None else self.qid[rows]
        return TaskRows.of(take_rows(self.X, rows), self.y[rows], qid)

    def digest(self) -> str:
        """Return a hash of the data; a run continues an experiment on the same data only."""
        found = hashlib.blake2b(digest_size=16)
        table = self.X
        if hasattr(table, "columns") or hasattr(table, "column_names"):
            table = Instances.from_input(table, texts=True)
        if isinstance(table, Instances):
            found.update(repr((table.names, table.levels)).encode())
            table = table.table
        sparse = hasattr(table, "indptr")
        arrays = [table.data, table.indices, table.indptr] if sparse else [table]
        qid = None if self.qid is None else np.asarray(self.qid).astype(str)
        for array in (*arrays, self.y, *(() if qid is None else (qid,))):
            found.update(f"{array.dtype}{array.shape}".encode())
            found.update(np.ascontiguousarray(array).view(np.uint8).data)
        return found.hexdigest()

    def __repr__(self) -> str:
        rows, features = self.X.shape
        queries = "" if self.qid is None else f", {counted(self.groups.n_groups, 'query')}"
        return (
            f"Task({self.name!r}, {counted(rows, 'row')} x {counted(features, 'feature')}{queries})"
        )


_TASK_RULE = (
    "tasks must be a Task, a problem or data set with X, y and qid, a list of tasks, or a mapping "
    "from name to any of these or to (X, y) or (X, y, qid)"
)


def as_tasks(tasks: object) -> list[TaskLike]:
    """Return tasks, which may come in any form, each under a unique name."""
    if _is_task(tasks) or _has_rows(tasks):
        tasks = [tasks]
    if isinstance(tasks, Mapping):
        found = [_as_task(str(name), one) for name, one in tasks.items()]
    elif isinstance(tasks, Iterable) and not isinstance(tasks, str | bytes | np.ndarray):
        found = [_as_task(f"task {at}", one) for at, one in enumerate(tasks, start=1)]
    else:
        raise ParameterError(f"{_TASK_RULE}. Got {type(tasks).__name__}.")
    if not found:
        raise ParameterError("tasks is empty: give at least one.")
    seen: set[str] = set()
    for one in found:
        if one.name in seen:
            raise ParameterError(f"two tasks have the name {one.name!r}; rename one of them.")
        seen.add(one.name)
    return found


def _is_task(one: object) -> bool:
    return all(hasattr(one, attribute) for attribute in ("name", "parts", "digest"))


def _has_rows(one: object) -> bool:
    return all(hasattr(one, attribute) for attribute in ("X", "y", "qid"))


def _as_task(name: str, one: Any) -> TaskLike:
    if _is_task(one):
        found: TaskLike = one
        return found
    if _has_rows(one):
        if one.y is None:
            raise DataError(f"task {name!r} has no labels (y is None).")
        return Task(name, one.X, one.y, one.qid)
    if isinstance(one, tuple) and len(one) in (2, 3):
        return Task(name, *one)
    raise ParameterError(f"{_TASK_RULE}. Got {type(one).__name__} for {name!r}.")
