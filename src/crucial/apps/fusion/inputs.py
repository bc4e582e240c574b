"""Read the runs to fuse, name them, and number their queries and documents."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from crucial.data.dataset import Run
from crucial.data.words import as_objects
from crucial.errors import DataError, DataTypeError, DataWarning
from crucial.io.runs import CodedRun, Words, as_run, file_stem, read_coded_runs
from crucial.types import Ids, Ints, Objects, PathLike

__all__ = ["CodedRuns", "Runs", "coded_runs", "tag_of"]

#: Runs by name, or in a list; each in a form that `crucial.as_run` accepts.
Runs: TypeAlias = Mapping[str, object] | Sequence[object]

#: Total size in bytes from which run files are read by compiled code.
_LARGE = 8_000_000


@dataclass(frozen=True, eq=False)
class CodedRuns:
    """Runs whose queries and documents are numbers.

    Attributes
    ----------
    names : tuple of str
    runs : list of CodedRun
    queries : object array of str
        Query ids by number, in the order in which the runs first name them.
    words : object array of str, or Words
        Names of documents by number.
    paths : list of paths
        The files, if they were not checked for documents that occur twice.
    """

    names: tuple[str, ...]
    runs: list[CodedRun]
    queries: Objects
    words: Objects | Words
    paths: Sequence[PathLike] = ()


def coded_runs(runs: Runs) -> CodedRuns:
    """Number the queries and documents of runs, and name the runs.

    The keys of a mapping are the names. In a list, runs go by their tags; where tags are missing
    or not distinct, files go by their file names and other tables by their numbers.
    """
    is_table = hasattr(runs, "qid") or hasattr(runs, "columns")
    if is_table or isinstance(runs, str | os.PathLike) or not isinstance(runs, Iterable):
        raise DataTypeError(
            "runs must be a list of runs, or a mapping from names to them. "
            f"Got {type(runs).__name__}."
        )
    keys = [str(key) for key in runs] if isinstance(runs, Mapping) else None
    sources = list(runs.values() if isinstance(runs, Mapping) else runs)
    if not sources:
        raise DataError("there is no run to fuse.")
    paths = [one for one in sources if isinstance(one, str | os.PathLike)]
    if len(paths) == len(sources) and sum(map(_size, paths)) >= _LARGE:
        qids, words = Words(), Words()
        fast = read_coded_runs(paths, qids, words)
        if fast is not None:  # (the reader below explains what is irregular)
            names = keys or _distinct_names(paths, fast)
            return CodedRuns(tuple(names), fast, qids[np.arange(len(qids))], words, paths)
    queries: dict[str, int] = {}
    docs: dict[str, int] = {}
    coded = []
    for source, name in zip(sources, keys or _numbered_names(len(sources))):
        run = as_run(source, name)
        query, doc = _numbers(run.qid, queries), _numbers(run.doc, docs)
        coded.append(CodedRun(query, doc, run.score, tag_of(run)))
    if not queries:
        raise DataError("every run is empty: there is nothing to fuse.")
    names = keys or _distinct_names(sources, coded)
    empty = [repr(name) for name, run in zip(names, coded) if not len(run.qid)]
    if empty:
        warnings.warn(
            f"a run without documents abstains: {', '.join(empty)}.", DataWarning, stacklevel=4
        )
    return CodedRuns(tuple(names), coded, as_objects(list(queries)), as_objects(list(docs)))


def _numbers(words: Ids, known: dict[str, int]) -> Ints:
    """Return the numbers of words; new words are added to the known ones."""
    numbers = (known.setdefault(word, len(known)) for word in words.tolist())
    return np.fromiter(numbers, np.int64, len(words))


def _size(path: PathLike) -> int:
    """Estimate the unpacked size of a file in bytes; 0 if it cannot be read."""
    try:
        return os.stat(path).st_size * (4 if os.fspath(path).endswith(".gz") else 1)
    except (OSError, ValueError):
        return 0


def tag_of(run: Run) -> str:
    """Return the tag of a run; the empty string if it has several or none."""
    if isinstance(run.tag, str):
        return run.tag
    tags = set(np.asarray(run.tag).tolist())
    return str(tags.pop()) if len(tags) == 1 else ""


def _numbered_names(count: int) -> list[str]:
    return [f"run {number}" for number in range(1, count + 1)]


def _distinct_names(sources: Sequence[object], runs: Sequence[CodedRun]) -> list[str]:
    """Name the runs of a list as `coded_runs` documents it; repeated names get a number."""
    tags = [run.tag for run in runs]
    if all(tags) and len(set(tags)) == len(tags):
        return tags
    names = [
        file_stem(one) if isinstance(one, str | os.PathLike) else number
        for one, number in zip(sources, _numbered_names(len(sources)))
    ]
    seen: dict[str, int] = {}
    for at, name in enumerate(names):
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            names[at] = f"{name} ({seen[name]})"
    return names
