"""Tasks with their own folds: a folder per fold with files to train, validate and test."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import vstack

from crucial.data.dataset import Dataset
from crucial.data.files import open_bytes
from crucial.data.instances import Instances
from crucial.errors import FileError
from crucial.io.tables import read_alike
from crucial.lab.tasks import SplitRows, TaskRows, TaskSplit
from crucial.types import PathLike
from crucial.wording import counted

__all__ = ["FoldFiles", "FoldTask", "read_folds"]

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
    def splits(self) -> list[TaskSplit]:
        """One split per fold."""
        return [TaskSplit(one.name) for one in self.folds]

    def files_of(self, split: TaskSplit) -> FoldFiles:
        """Return the files of a split."""
        return next(one for one in self.folds if one.name == split.name)

    def parts(self, split: TaskSplit) -> SplitRows:
        """Read the files of a fold, with the same columns in all."""
        files = self.files_of(split)
        paths = files.paths
        options = dict(self.options)
        sizes = options.pop("group_sizes", None)
        every = None if sizes is None else [sizes] * len(paths)
        read = read_alike(paths, group_sizes=every, **options)
        *training, valid, test = (_part(path, data) for path, data in zip(paths, read))
        kinds = {one.qid is None for one in (*training, valid, test)}
        if len(kinds) > 1:
            bare = next(p for p, d in zip(paths, read) if d.qid is None)
            raise FileError(bare, f"its rows have no query ids; other files of {files.name} do.")
        train = _joined(training)
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


def _joined(parts: list[TaskRows]) -> TaskRows:
    """Return the rows of several files as one part."""
    if len(parts) == 1:
        return parts[0]
    tables = [part.X for part in parts]
    X: Any
    if isinstance(tables[0], Instances):
        X = tables[0].join(tables[1:])
    else:
        X = vstack(tables, "csr") if hasattr(tables[0], "tocsr") else np.concatenate(tables)
    qid = None
    if parts[0].qid is not None:
        ids = [part.qid for part in parts if part.qid is not None]
        if len({one.dtype.kind for one in ids}) > 1:
            ids = [one.astype(str).astype(object) for one in ids]
        qid = np.concatenate(ids)
    return TaskRows.of(X, np.concatenate([part.y for part in parts]), qid)


def _part(path: str, data: Dataset) -> TaskRows:
    if data.y is None:
        raise FileError(path, "its rows have no labels.")
    return TaskRows.of(data.X, data.y, data.qid)


def _refuse_leak(files: FoldFiles, train: TaskRows, valid: TaskRows, test: TaskRows) -> None:
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
