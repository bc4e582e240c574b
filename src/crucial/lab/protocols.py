"""Tasks and protocols: what rankers are compared on, and how it is divided."""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crucial.data.dataset import Dataset
from crucial.data.files import open_bytes
from crucial.data.groups import Groups, deal
from crucial.data.instances import Instances, Table, as_table, take_rows
from crucial.errors import DataError, FileError, ParameterError, about
from crucial.feedback.labels import check_labels
from crucial.io.tables import joined, read_alike
from crucial.measures.names import get_measure
from crucial.parameters import at_least, check, lookup, refuse
from crucial.types import Floats, Ints, PathLike
from crucial.wording import counted

# --- Rows with labels, and how they are divided


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows with labels, to learn from or to measure by.

    Attributes
    ----------
    X : table of features
    y : float array
    qid : array or None
        None where all rows make one list.
    weight : float array or None
    """

    X: Any
    y: Floats
    qid: NDArray[np.generic] | None = None
    weight: Floats | None = None

    @cached_property
    def groups(self) -> Groups:
        """The queries."""
        return Groups.from_qid(self.qid, len(self.y))

    def take(self, rows: Ints) -> Rows:
        """Return a selection of the rows, with labels, queries and weights."""
        qid = None if self.qid is None else self.qid[rows]
        weight = None if self.weight is None else self.weight[rows]
        return Rows(take_rows(self.X, rows), self.y[rows], qid, weight)


#: The number of a fold, or what the user calls it.
FoldName: TypeAlias = int | str | float


def _no_rows() -> Ints:
    return np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Fold:
    """One way to divide the rows; a fold in files has a name alone.

    Attributes
    ----------
    name : int or str
    train, test : int arrays
        Row numbers. No query has rows in both.
    valid : int array or None
        Rows to choose by; None where nothing is chosen.
    """

    name: FoldName
    train: Ints = field(default_factory=_no_rows)
    test: Ints = field(default_factory=_no_rows)
    valid: Ints | None = None


@dataclass(frozen=True, eq=False)
class SplitRows:
    """The rows of a fold; ``valid`` is None where nothing is chosen."""

    train: Rows
    valid: Rows | None
    test: Rows


# --- Tasks: what rankers are compared on


class TaskLike(Protocol):
    """Protocol of the tasks of an experiment."""

    @property
    def name(self) -> str:
        """Name of the task."""

    def parts(self, split: Fold) -> SplitRows:
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
    def rows(self) -> Rows:
        """All rows."""
        return Rows(self.X, self.y, self.qid)

    @property
    def groups(self) -> Groups:
        """The queries."""
        return self.rows.groups

    def parts(self, split: Fold) -> SplitRows:
        """Return the rows of every part."""
        valid = None if split.valid is None else self.rows.take(split.valid)
        return SplitRows(self.rows.take(split.train), valid, self.rows.take(split.test))

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


# --- Protocols: how a task is divided, and what is chosen on the validation part


@dataclass(frozen=True, kw_only=True)
class ExperimentProtocol:
    """The division of tasks and the choice of rounds.

    Attributes
    ----------
    choose_by : "each", name of a measure, or mapping from measure to measure
        By which measure's value on the validation part the round, and the parameters of a grid,
        are chosen: for every measure by itself; for all by one; or for each by the one it is
        mapped to, and for the others by themselves.
    has_valid : bool
        Whether there is a validation part to choose by.
    """

    has_valid: ClassVar[bool] = True

    choose_by: str | Mapping[str, str] = "each"

    def splits(self, task: TaskLike, seed: int) -> list[Fold]:
        """Divide a task; the splits depend on its name and the seed, not on other tasks."""
        raise NotImplementedError

    def chooser(self, measure: str) -> str:
        """Return the measure by which this one's round is chosen.

        Examples
        --------
        >>> ThreeWayFolds(choose_by={"ndcg@5": "map"}).chooser("ndcg@5")
        'map'
        >>> ThreeWayFolds().chooser("ndcg@5")
        'ndcg@5'
        """
        if isinstance(self.choose_by, Mapping):
            by = {get_measure(k).name: get_measure(v).name for k, v in self.choose_by.items()}
            return by.get(measure, measure)
        return measure if self.choose_by == "each" else get_measure(self.choose_by).name

    def _in_memory(self, task: TaskLike) -> Task:
        """Return the task; refuse one that has its own folds."""
        if not isinstance(task, Task):
            raise ParameterError(
                f"task {task.name!r} has its own folds; use protocol='given-folds' instead of "
                f"{type(self).__name__}."
            )
        return task

    def settings(self) -> dict[str, object]:
        """Return the settings that decide the splits and choices."""
        return {"protocol": type(self).__name__, **asdict(self)}

    @property
    def text(self) -> str:
        """Description of the protocol in one line."""
        return f"{self._division}; {self._choice}"

    @property
    def _division(self) -> str:
        """The division of a task, in words."""
        raise NotImplementedError

    @property
    def _choice(self) -> str:
        """The choice of rounds, in words."""
        if not self.has_valid:
            return "the last round of every ranker"
        if isinstance(self.choose_by, Mapping):
            some = ", ".join(f"{a} by {b}" for a, b in self.choose_by.items())
            return f"round and parameters by validation, each measure by itself but {some}"
        by = "each measure by itself" if self.choose_by == "each" else f"all by {self.choose_by}"
        return f"round and parameters by validation, {by}"


@dataclass(frozen=True, kw_only=True)
class PlainFolds(ExperimentProtocol):
    """Folds of which one is to test and all others are to train; nothing is chosen.

    With four, by query, this is the meta-search protocol of Freund et al. (2003), section 6.1.
    Whole queries are dealt out, or without queries the rows, label by label.

    Attributes
    ----------
    n_folds : int
    """

    has_valid: ClassVar[bool] = False

    n_folds: int = 4

    def __post_init__(self) -> None:
        check(type(self).__name__, "n_folds", self.n_folds, at_least(2 + self.has_valid))

    @property
    def _division(self) -> str:
        chosen = "1 to validate, " * self.has_valid
        return (
            f"{self.n_folds} folds, {self.n_folds - 1 - self.has_valid} to train, {chosen}1 to test"
        )

    def splits(self, task: TaskLike, seed: int) -> list[Fold]:
        """Return one split per fold."""
        rows, found = self._in_memory(task), []
        random, has_qid = _random(rows, seed), rows.qid is not None
        with about(f"task {task.name!r}"):
            fold = deal(self.n_folds, rows.y, rows.groups, has_qid, random, "n_folds")
        for k in range(self.n_folds):
            after = (k + self.has_valid) % self.n_folds
            rest = np.flatnonzero((fold != k) & (fold != after))
            valid = np.flatnonzero(fold == after) if self.has_valid else None
            found.append(Fold(f"fold {k + 1}", rest, np.flatnonzero(fold == k), valid))
        return found


@dataclass(frozen=True, kw_only=True)
class ThreeWayFolds(PlainFolds):
    """Folds that take turns: one to test, the next to validate, the others to train.

    With five, this is the 3/1/1 of Connamacher et al. (2019), section 5.

    Attributes
    ----------
    n_folds : int
    """

    has_valid: ClassVar[bool] = True

    n_folds: int = 5


@dataclass(frozen=True, kw_only=True)
class HalfOfItems(ExperimentProtocol):
    """Half of the items of every list to train, the other half to test; nothing is chosen.

    This is the film protocol of Freund et al. (2003), section 6.2: a list is what one user rated.
    """

    has_valid: ClassVar[bool] = False

    @property
    def _division(self) -> str:
        return "half of every list's items to train, the other half to test"

    def splits(self, task: TaskLike, seed: int) -> list[Fold]:
        """Return the split of one fold."""
        rows = self._in_memory(task)
        groups = rows.groups
        small = groups.sizes < 2
        if small.any():
            which = groups.ids[np.flatnonzero(small)[[0]]].tolist()[0]
            raise DataError(f"task {task.name!r}: list {which!r} has too few items to be halved.")
        order = np.lexsort((_random(rows, seed).random(len(rows.y)), groups.codes))
        place = np.arange(len(order)) - np.repeat(groups.starts[:-1], groups.sizes)
        test = np.zeros(len(order), bool)
        test[order] = place < np.repeat(groups.sizes // 2, groups.sizes)
        return [Fold("half 1", np.flatnonzero(~test), np.flatnonzero(test))]


@dataclass(frozen=True, kw_only=True)
class GivenFolds(ExperimentProtocol):
    """Folds that come with the data, as LETOR's: files to train, validate and test."""

    @property
    def _division(self) -> str:
        return "the folds that came with the data"

    def splits(self, task: TaskLike, seed: int) -> list[Fold]:
        """Return the folds of the task."""
        folds: list[Fold] | None = getattr(task, "splits", None)
        if folds is None:
            raise ParameterError(
                f"task {task.name!r} has no folds; read it with "
                "crucial.lab.read_folds, or choose another protocol."
            )
        return list(folds)


#: Protocols by name.
PROTOCOLS: dict[str, ExperimentProtocol] = {
    "five-folds": ThreeWayFolds(n_folds=5),
    "four-folds": PlainFolds(n_folds=4),
    "half-of-items": HalfOfItems(),
    "given-folds": GivenFolds(),
}


def as_protocol(protocol: str | ExperimentProtocol) -> ExperimentProtocol:
    """Return a protocol, given as such or by name."""
    if isinstance(protocol, ExperimentProtocol):
        return protocol
    if isinstance(protocol, str):
        return lookup(PROTOCOLS, protocol, "protocol")
    raise refuse("Experiment", "protocol", "a name or a Protocol", protocol)


def _random(task: Task, seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, zlib.crc32(task.name.encode("utf-8", "replace")), 0])


# --- Folds: which rows to train on and which to test on, whole queries together


_RULE = (
    "an int of at least 2, a splitter of scikit-learn's, one fold number per row, or pairs of "
    "(train rows, test rows)"
)

#: In an array of fold numbers: rows that are in the training part of every fold.
ALWAYS_TRAIN = -1


def make_folds(
    cv: object, y: Floats, groups: Groups, has_qid: bool, random: np.random.Generator
) -> list[Fold]:
    """Make the folds that ``cv`` asks for, and check that none divides a query.

    Parameters
    ----------
    cv : int, splitter, array of fold numbers, or iterable of (train, test)
        As in `crucial.cross_validate`.
    y : array of shape (n_rows,)
        Labels.
    groups : Groups
        The queries.
    has_qid : bool
        Whether there are queries at all; without, rows are dealt out by label.
    random : Generator
        Deals, where ``cv`` is a number.

    Examples
    --------
    >>> groups = Groups.from_qid(["a", "b", "a", "c"], 4)
    >>> folds = make_folds([1, 2, 1, 2], np.array([1.0, 0, 0, 1]), groups, True, None)
    >>> [(one.name, one.train.tolist(), one.test.tolist()) for one in folds]
    [(1, [1, 3], [0, 2]), (2, [0, 2], [1, 3])]
    """
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        if cv < 2:
            raise refuse("cross_validate", "cv", _RULE, cv)
        return folds_by_number(deal(int(cv), y, groups, has_qid, random))
    if isinstance(cv, str | bytes):  # (they have a method split)
        raise refuse("cross_validate", "cv", _RULE, cv)
    split = getattr(cv, "split", None)
    if callable(split):
        pairs = split(np.zeros((len(y), 1)), y, groups.codes if has_qid else None)
        folds = [_from_pair(at, pair, len(y)) for at, pair in enumerate(pairs)]
    else:
        folds = _from_user(cv, len(y))
    for fold in folds:
        _check_leak(fold, groups, has_qid)
    return folds


def folds_by_number(numbers: NDArray[np.generic]) -> list[Fold]:
    """Return one fold per distinct fold number, given one number per row."""
    names = [one for one in np.unique(numbers).tolist() if one != ALWAYS_TRAIN]
    folds = []
    for name in names:
        test = np.asarray(numbers == name)
        if test.all():
            raise DataError(f"cv: all rows are in fold {name!r}, so that none is left to train on.")
        folds.append(Fold(name, np.flatnonzero(~test), np.flatnonzero(test)))
    if not folds:
        raise DataError(f"cv: all fold numbers are {ALWAYS_TRAIN}, so that no row is tested.")
    return folds


def _from_user(cv: object, n_rows: int) -> list[Fold]:
    """Read folds that the user made: one number per row, or pairs of row numbers."""
    if hasattr(cv, "to_numpy"):
        cv = cv.to_numpy()
    if not isinstance(cv, Iterable):
        raise refuse("cross_validate", "cv", _RULE, cv)
    items = list(cv)
    if not items:
        raise ParameterError("cv is empty: give at least one pair (train rows, test rows).")
    if all(isinstance(item, str) or not hasattr(item, "__len__") for item in items):
        if len(items) != n_rows:
            raise DataError(
                f"cv must have one fold number for each of the {n_rows} rows. Got {len(items)}."
            )
        numbers = np.asarray(items)
        if numbers.dtype.kind == "f" and np.isnan(numbers).any():
            row = int(np.flatnonzero(np.isnan(numbers))[0])
            raise DataError(f"cv: the fold number of row {row} is NaN.")
        return folds_by_number(numbers)
    return [_from_pair(at, item, n_rows) for at, item in enumerate(items)]


def _from_pair(number: int, pair: object, n_rows: int) -> Fold:
    if not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:
        raise ParameterError(f"cv: fold {number} must be a pair (train rows, test rows).")
    train, test = (_rows(number, part, rows, n_rows) for part, rows in zip(("train", "test"), pair))
    if len(np.unique(test)) < len(test):
        raise DataError(f"cv: fold {number} has a test row twice.")
    return Fold(number, train, test)


def _rows(number: int, part: str, rows: object, n_rows: int) -> Ints:
    """Return row numbers, given as such or as a mask."""
    found = np.asarray(rows)
    if found.dtype.kind == "b" and found.shape == (n_rows,):
        found = np.flatnonzero(found)
    if found.ndim != 1 or len(found) == 0:
        raise DataError(
            f"cv: the {part} rows of fold {number} must be a list of at least one row number. "
            f"Got shape {found.shape}."
        )
    if found.dtype.kind not in "iu" or found.min() < 0 or found.max() >= n_rows:
        raise DataError(
            f"cv: the {part} rows of fold {number} must be ints in [0, {n_rows - 1}]. Got "
            f"{found.dtype} values from {found.min()} to {found.max()}."
        )
    return found.astype(np.int64)


def _check_leak(fold: Fold, groups: Groups, has_qid: bool) -> None:
    """Refuse a fold that has a query, or a row, in both parts."""
    codes = groups.codes if has_qid else np.arange(groups.n_rows)
    shared = np.intersect1d(codes[fold.train], codes[fold.test])
    if not len(shared):
        return
    if has_qid:
        query = groups.ids[[shared[0]]].tolist()[0]
        raise DataError(
            f"cv: query {query!r} has train rows and test rows in fold {fold.name!r}. All rows of "
            "a query must be in the same part; pass cv=5 to have the queries dealt out."
        )
    raise DataError(f"cv: row {shared[0]} is both a train row and a test row in fold "
                    f"{fold.name!r}.")  # fmt: skip


# --- Tasks with their own folds: a folder per fold with files to train, validate and test


#: Names that the file of a part may have, before the ending.
_PARTS = {
    "train": ("train", "trainingset", "training"),
    "valid": ("vali", "valid", "validation", "validationset", "dev"),
    "test": ("test", "testset"),
}
#: Names of parts that take turns to train, validate and test.
_NUMBERED = re.compile(r"(?:s|part|fold)[-_]?(\d+)")
_ENDINGS = re.compile(r"\.(txt|svm|svmlight|libsvm|letor|csv|tsv|tab|parquet|pq|gz)$")


@dataclass(frozen=True)
class FoldFiles:
    """The files of one fold.

    Attributes
    ----------
    name : str
    train, valid, test : str
    more_train : tuple of str
        Further files to train on, where folds are made of numbered parts.
    """

    name: str
    train: str
    valid: str
    test: str
    more_train: tuple[str, ...] = ()

    @property
    def paths(self) -> list[str]:
        """All files: those to train on, then the ones to validate and to test."""
        return [self.train, *self.more_train, self.valid, self.test]


@dataclass(frozen=True, eq=False)
class FoldTask:
    """A task whose folds are files, read when they are needed.

    Attributes
    ----------
    name : str
    folds : tuple of FoldFiles
    options : mapping
        Options of `crucial.read_data`.
    """

    name: str
    folds: tuple[FoldFiles, ...]
    options: Mapping[str, Any]

    @property
    def splits(self) -> list[Fold]:
        """One split per fold."""
        return [Fold(one.name) for one in self.folds]

    def parts(self, split: Fold) -> SplitRows:
        """Read the files of a fold, with the same columns in all."""
        files = next(one for one in self.folds if one.name == split.name)
        paths = files.paths
        options = dict(self.options)
        sizes = options.pop("group_sizes", None)
        every = None if sizes is None else [sizes] * len(paths)
        read = read_alike(paths, group_sizes=every, **options)
        for path, data in zip(paths, read):
            _part(path, data)
        kinds = {one.qid is None for one in read}
        if len(kinds) > 1:
            bare = next(p for p, d in zip(paths, read) if d.qid is None)
            raise FileError(bare, f"its rows have no query ids; other files of {files.name} do.")
        train = _part(paths[0], joined(paths[:-2], read[:-2]))
        valid, test = (_part(path, data) for path, data in zip(paths[-2:], read[-2:]))
        _refuse_leak(files, train, valid, test)
        return SplitRows(train, valid, test)

    def digest(self) -> str:
        """Return a hash of all files."""
        found = hashlib.blake2b(repr(sorted(self.options.items())).encode(), digest_size=16)
        for fold in self.folds:
            for path in fold.paths:
                with open_bytes(path) as source:
                    while part := source.read(1 << 20):
                        found.update(part)
                found.update(b"\0")
        return found.hexdigest()

    def __repr__(self) -> str:
        return f"FoldTask({self.name!r}, {counted(len(self.folds), 'fold')})"


def read_folds(folder: PathLike, name: str | None = None, **options: Any) -> FoldTask:
    """Find the folds in a folder as LETOR's: ``Fold1/train.txt, vali.txt, test.txt`` and so on.

    A folder of numbered parts, ``S1.txt, S2.txt, ...``, is made into as many folds by LETOR's rule:
    fold i is tested on the part before part i, validated on the one before that, and trained on
    the others. With five parts, fold 1 has S1 to S3 to train, S4 to validate and S5 to test.

    Parameters
    ----------
    folder : str or path
        Has one folder per fold, the three files of a single fold, or at least three parts.
    name : str, optional
        Name of the task; the folder's by default.
    **options
        Options of `crucial.read_data`, for every file.

    Raises
    ------
    FileError
        There are no folds, or one lacks a file or has two for the same part.
    """
    top = os.fspath(folder)
    if not os.path.isdir(top):
        raise FileError(top, "is not a folder; folds are folders with train, vali and test.")
    inside = sorted(os.scandir(top), key=lambda one: _natural(one.name))
    folders = [one for one in inside if one.is_dir() and _has_part(one.path)]
    if not folders and _has_part(top):
        folds = [_find_files(top, os.path.basename(os.path.normpath(top)))]
    else:
        folds = [_find_files(one.path, one.name) for one in folders] or _rotated(top)
    if not folds:
        raise FileError(
            top,
            "there are no folds in this folder; expected Fold1, Fold2, ... with the files train, "
            "vali and test (.txt, .csv, .parquet, .gz) in each, or the parts S1, S2, ... as files.",
        )
    return FoldTask(name or os.path.basename(os.path.normpath(top)), tuple(folds), options)


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key that puts Fold10 after Fold9."""
    return [(int(p), "") if p.isdigit() else (0, p) for p in re.split(r"(\d+)", name)]


def _stem(name: str) -> str:
    name = name.lower()
    while (shorter := _ENDINGS.sub("", name)) != name:
        name = shorter
    return name


def _by_part(folder: str) -> dict[str, list[str]]:
    """Return the files of a folder by the part that their names indicate."""
    found: dict[str, list[str]] = {part: [] for part in _PARTS}
    for one in sorted(os.scandir(folder), key=lambda one: one.name):
        for part, names in _PARTS.items():
            if one.is_file() and _stem(one.name) in names:
                found[part].append(one.path)
    return found


def _has_part(folder: str) -> bool:
    return any(_by_part(folder).values())


def _find_files(folder: str, name: str) -> FoldFiles:
    """Find one file per part in a folder."""
    chosen = {}
    for part, paths in _by_part(folder).items():
        if not paths:
            wanted = {"train": "train", "valid": "vali (or valid)", "test": "test"}[part]
            raise FileError(folder, f"this fold has no file {wanted}, such as {wanted[:5]}.txt.")
        if len(paths) > 1:
            both = " and ".join(os.path.basename(one) for one in paths[:2])
            raise FileError(folder, f"this fold has two files for the same part: {both}.")
        chosen[part] = paths[0]
    return FoldFiles(name, chosen["train"], chosen["valid"], chosen["test"])


def _rotated(folder: str) -> list[FoldFiles]:
    """Return the folds of numbered parts, each trained, validated and tested on in turn."""
    parts: dict[int, str] = {}
    for one in os.scandir(folder):
        found = _NUMBERED.fullmatch(_stem(one.name))
        if one.is_file() and found:
            number = int(found[1])
            if number in parts:
                both = " and ".join(sorted((os.path.basename(parts[number]), one.name)))
                raise FileError(folder, f"two files are part {number}: {both}.")
            parts[number] = one.path
    numbers = sorted(parts)
    if not numbers:
        return []
    if len(numbers) < 3 or numbers != list(range(1, len(numbers) + 1)):
        raise FileError(
            folder,
            "folds of parts need at least three, numbered from 1 without a gap; found "
            f"{', '.join(os.path.basename(parts[number]) for number in numbers)}.",
        )
    folds = []
    for k in range(len(numbers)):
        turn = [parts[number] for number in numbers[k:] + numbers[:k]]
        *train, valid, test = turn
        folds.append(FoldFiles(f"Fold{k + 1}", train[0], valid, test, tuple(train[1:])))
    return folds


def _part(path: str, data: Dataset) -> Rows:
    if data.y is None:
        raise FileError(path, "its rows have no labels.")
    return Rows(data.X, data.y, data.qid)


def _refuse_leak(files: FoldFiles, train: Rows, valid: Rows, test: Rows) -> None:
    """Refuse a fold whose test or validation queries are also in its training file."""
    if train.qid is None:
        return
    for part, path in ((valid, files.valid), (test, files.test)):
        shared = np.intersect1d(train.groups.ids.astype(str), part.groups.ids.astype(str))
        if len(shared):
            raise FileError(
                path,
                f"query {shared[0]} is also in {os.path.basename(files.train)}; a fold must not "
                "be tested on queries it was trained on.",
            )
