"""Runs as people have them: files, tables in memory, frames; by name."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.formats.run_blocks import Words, read_coded_runs
from crucial.data.formats.trec import read_qrels, read_run
from crucial.data.runs import Qrels, Run
from crucial.data.words import as_objects
from crucial.errors import DataError, DataTypeError
from crucial.types import Floats, Ints

__all__ = ["CodedRuns", "as_qrels", "as_run", "coded_runs", "file_stem", "named_runs", "tag_of"]

#: Bytes of run files from which on they are worth compiled code.
_LARGE = 8_000_000


#: Columns of frames by the names that other tools give them, the house's first.
_QID = ("qid", "q_id", "query_id", "query", "topic")
_DOC = ("doc", "docno", "doc_id", "docid", "document")
_SCORE = ("score",)
_RELEVANCE = ("relevance", "rel", "label")


def file_stem(path: str | os.PathLike[str]) -> str:
    """Name a run by its file: ``runs/bm25.run.gz`` is ``bm25``.

    Examples
    --------
    >>> file_stem("runs/bm25.v2.run.gz"), file_stem(".run")
    ('bm25.v2', '.run')
    """
    name = os.path.basename(os.fspath(path))
    for ending in (".gz", ".run", ".txt", ".res", ".trec"):
        if name.lower().endswith(ending) and len(name) > len(ending):
            name = name[: -len(ending)]
    return name


def _column(frame: Any, names: Sequence[str], what: str) -> NDArray[Any]:
    for name in names:
        if name in frame.columns:
            column: NDArray[Any] = frame[name].to_numpy()
            return column
    raise DataError(
        f"{what}: a frame must have a column {names[0]!r}"
        + (f" (or {', '.join(map(repr, names[1:]))})" if names[1:] else "")
        + f". Got the columns {', '.join(map(repr, frame.columns[:8]))}."
    )


def _as_frame(table: Any) -> Any:
    if hasattr(table, "collect"):
        raise DataTypeError(f"a run is a {type(table).__name__}; call its collect() first.")
    import narwhals as nw

    return nw.from_native(table, eager_only=True, pass_through=True)


def _words(values: Any) -> NDArray[Any]:
    """Ids as text: the number 7 and the word 7 are the same topic."""
    array = np.asarray(values)
    texts = array.tolist()
    out = np.empty(len(texts), object)
    out[:] = texts if all(type(one) is str for one in texts) else [str(one) for one in texts]
    return out


def as_run(table: Any, name: str) -> Run:
    """Check a run; paths are read, frames and objects with columns taken as they are."""
    if isinstance(table, str | os.PathLike):
        return read_run(table)
    if all(hasattr(table, column) for column in ("qid", "doc", "score")) and not hasattr(
        table, "columns"
    ):
        qid, doc, score = table.qid, table.doc, table.score
        tag = getattr(table, "tag", name)
    else:
        frame = _as_frame(table)
        if not hasattr(frame, "columns"):
            raise DataTypeError(
                f"run {name!r} must be a path, a frame, or have the columns qid, doc and score "
                f"as attributes. Got {type(table).__name__}."
            )
        what = f"run {name!r}"
        qid, doc = _column(frame, _QID, what), _column(frame, _DOC, what)
        score, tag = _column(frame, _SCORE, what), name
    run = Run(_words(qid), _words(doc), _numbers(score, f"run {name!r}"), tag)
    if not len(run.qid) == len(run.doc) == len(run.score):
        raise DataError(
            f"run {name!r}: the columns must be of one length. Got {len(run.qid)} qid, "
            f"{len(run.doc)} doc, {len(run.score)} score."
        )
    if not len(run.qid):
        raise DataError(f"run {name!r} is empty.")
    return run


def _numbers(values: Any, what: str) -> Floats:
    try:
        numbers = np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise DataTypeError(f"{what}: scores must be numbers: {error}.") from error
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        raise DataError(
            f"{what}: scores must be finite. Got {numbers[wrong[0]]} in row {wrong[0]}."
        )
    return numbers


def as_qrels(table: Any) -> Qrels:
    """Check judgements; paths are read, frames and objects with columns taken as they are."""
    if isinstance(table, str | os.PathLike):
        return read_qrels(table)
    if hasattr(table, "columns"):
        frame = _as_frame(table)
        qid, doc = _column(frame, _QID, "qrels"), _column(frame, _DOC, "qrels")
        return Qrels(_words(qid), _words(doc), _column(frame, _RELEVANCE, "qrels"))
    return Qrels(_words(table.qid), _words(table.doc), np.asarray(table.relevance))


@dataclass(frozen=True, eq=False)
class CodedRuns:
    """Runs whose topics and documents are numbers.

    Attributes
    ----------
    names, tags : tuples of str
    topics : object array of str
        By number, in the order in which the runs first name them.
    words : object array of str, or Words
        Names of documents, by number.
    columns : list of (topic, doc)
        Two int arrays a run.
    scores : list of float64 arrays
    paths : list of paths
        The files they are from, if documents that occur twice were not looked for.
    """

    names: tuple[str, ...]
    tags: tuple[str, ...]
    topics: NDArray[Any]
    words: Any
    columns: list[tuple[NDArray[Any], NDArray[Any]]]
    scores: list[Floats]
    paths: Sequence[str | os.PathLike[str]] = ()


def coded_runs(runs: Any) -> CodedRuns:
    """Number the topics and documents of runs."""
    if isinstance(runs, str | os.PathLike) or hasattr(runs, "qid") or hasattr(runs, "columns"):
        raise DataTypeError("runs must be a list of runs, or a mapping from names to them.")
    runs = runs if isinstance(runs, Mapping) else list(runs)
    fast = _large_files(runs)
    if fast is not None:
        return fast
    tables = named_runs(runs)
    topics: dict[str, int] = {}
    docs: dict[str, int] = {}
    columns = [(_numbered(run.qid, topics), _numbered(run.doc, docs)) for run in tables.values()]
    return CodedRuns(
        tuple(tables),
        tuple(tag_of(run) for run in tables.values()),
        as_objects(list(topics)),
        as_objects(list(docs)),
        columns,
        [run.score for run in tables.values()],
    )


def _numbered(words: NDArray[Any], table: dict[str, int]) -> Ints:
    """Numbers for words, the same for the same word; new ones join the table."""
    return np.fromiter(
        (table.setdefault(word, len(table)) for word in words.tolist()), np.int64, len(words)
    )


def _large_files(runs: Any) -> CodedRuns | None:
    """Read files that are large and as they should be; None for all else."""
    items = list(runs.items()) if isinstance(runs, Mapping) else [(None, one) for one in runs]
    paths = [one for _, one in items if isinstance(one, str | os.PathLike)]
    if len(paths) < len(items) or sum(map(_size, paths)) < _LARGE:
        return None
    topics, docs = Words(), Words()
    found = read_coded_runs(paths, topics, docs)
    if found is None:  # what is unusual about them is the careful reader's business
        return None
    names = [str(name) for name, _ in items]
    if not isinstance(runs, Mapping):
        names = _names(paths, found)
    return CodedRuns(
        tuple(names),
        tuple(run.tag for run in found),
        topics[np.arange(len(topics))],
        docs,
        [(run.qid, run.doc) for run in found],
        [run.score for run in found],
        paths,
    )


def _size(path: str | os.PathLike[str]) -> int:
    """Bytes of a file, unpacked, as a guess; 0 where there is none."""
    try:
        return os.stat(path).st_size * (4 if os.fspath(path).endswith(".gz") else 1)
    except (OSError, ValueError):
        return 0


def tag_of(run: Any) -> str:
    """The tag of a run, the empty word if it has several or none."""
    tag = getattr(run, "tag", "")
    if isinstance(tag, str):
        return tag
    tags = set(np.asarray(tag).tolist())
    return str(tags.pop()) if len(tags) == 1 else ""


def named_runs(runs: Any) -> dict[str, Any]:
    """Give every run a name of its own.

    A mapping has them. In a list, files and tables go by their tags; where those are not all
    there and different, files go by their names and other tables by their numbers.
    """
    if isinstance(runs, Mapping):
        found = {str(name): as_run(run, str(name)) for name, run in runs.items()}
    else:
        given = list(runs)
        tables = [as_run(run, f"run {number}") for number, run in enumerate(given, 1)]
        found = dict(zip(_names(given, tables), tables))
    if not found:
        raise DataError("there is no run to fuse.")
    return found


def _names(given: Sequence[Any], tables: Sequence[Any]) -> list[str]:
    tags = [tag_of(table) for table in tables]
    if all(tags) and len(set(tags)) == len(tags):
        return tags
    names = [
        file_stem(one) if isinstance(one, str | os.PathLike) else f"run {number}"
        for number, one in enumerate(given, 1)
    ]
    seen: dict[str, int] = {}
    for at, name in enumerate(names):
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            names[at] = f"{name} ({seen[name]})"
    return names
