"""Accept runs and judgements as files, frames or objects, and give every run a name."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from crucial.data.formats.run_blocks import CodedRun, Words, read_coded_runs
from crucial.data.formats.trec import read_qrels, read_run
from crucial.data.runs import Qrels, Run
from crucial.data.words import as_objects
from crucial.errors import DataError, DataTypeError
from crucial.types import Floats, Ids, Ints, Objects, PathLike

if TYPE_CHECKING:
    import narwhals as nw

__all__ = ["CodedRuns", "Runs", "as_qrels", "as_run", "coded_runs", "file_stem", "tag_of"]

#: Runs by name, or in a list: paths, frames, or objects with the attributes qid, doc and score.
Runs: TypeAlias = Mapping[str, object] | Sequence[object]

#: Total size in bytes from which run files are read by compiled code.
_LARGE = 8_000_000

#: Names of columns in frames, ours first, then those that other tools use.
_QID = ("qid", "q_id", "query_id", "query", "topic")
_DOC = ("doc", "docno", "doc_id", "docid", "document")
_SCORE = ("score",)
_RELEVANCE = ("relevance", "rel", "label")


def file_stem(path: PathLike) -> str:
    """Return the name of a run by its file: ``runs/bm25.run.gz`` is ``bm25``.

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


def _as_frame(table: Any) -> nw.DataFrame[Any]:
    """Wrap a frame of any library; anything else comes back unchanged."""
    if hasattr(table, "collect"):
        raise DataTypeError(f"a run is a {type(table).__name__}; call its collect() first.")
    import narwhals as nw

    frame: nw.DataFrame[Any] = nw.from_native(table, eager_only=True, pass_through=True)
    return frame


def _column(frame: nw.DataFrame[Any], names: Sequence[str], what: str) -> ArrayLike:
    """Return the first column with one of the names."""
    for name in names:
        if name in frame.columns:
            return frame[name].to_numpy()
    raise DataError(
        f"{what}: a frame must have a column {names[0]!r}"
        + (f" (or {', '.join(map(repr, names[1:]))})" if names[1:] else "")
        + f". Got the columns {', '.join(map(repr, frame.columns[:8]))}."
    )


def _ids(values: ArrayLike) -> Objects:
    """Return ids as text: the number 7 and the text 7 are the same query."""
    ids = np.asarray(values).tolist()
    return as_objects(ids if all(type(one) is str for one in ids) else list(map(str, ids)))


def as_run(table: object, name: str) -> Run:
    """Return a checked run; a path is read, columns are taken from frames and objects."""
    if isinstance(table, str | os.PathLike):
        return read_run(table)
    what = f"run {name!r}"
    if (
        hasattr(table, "qid")
        and hasattr(table, "doc")
        and hasattr(table, "score")
        and not hasattr(table, "columns")
    ):
        qid, doc, score = table.qid, table.doc, table.score
        tag = getattr(table, "tag", name)
    else:
        frame = _as_frame(table)
        if not hasattr(frame, "columns"):
            raise DataTypeError(
                f"{what} must be a path, a frame, or have the columns qid, doc and score "
                f"as attributes. Got {type(table).__name__}."
            )
        qid, doc = _column(frame, _QID, what), _column(frame, _DOC, what)
        score, tag = _column(frame, _SCORE, what), name
    run = Run(_ids(qid), _ids(doc), _scores(score, what), tag)
    if not len(run.qid) == len(run.doc) == len(run.score):
        raise DataError(
            f"{what}: the columns must be of one length. Got {len(run.qid)} qid, "
            f"{len(run.doc)} doc, {len(run.score)} score."
        )
    if not len(run.qid):
        raise DataError(f"{what} is empty.")
    return run


def _scores(values: ArrayLike, what: str) -> Floats:
    """Return scores as finite floats, or raise an error that names the row."""
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


def as_qrels(table: object) -> Qrels:
    """Return checked judgements; a path is read, columns are taken from frames and objects."""
    if isinstance(table, str | os.PathLike):
        return read_qrels(table)
    if hasattr(table, "columns"):
        frame = _as_frame(table)
        qid, doc = _column(frame, _QID, "qrels"), _column(frame, _DOC, "qrels")
        relevance = _column(frame, _RELEVANCE, "qrels")
    else:
        qid, doc, relevance = (getattr(table, name) for name in ("qid", "doc", "relevance"))
    return Qrels(_ids(qid), _ids(doc), np.asarray(relevance))


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
    if isinstance(runs, str | os.PathLike) or hasattr(runs, "qid") or hasattr(runs, "columns"):
        raise DataTypeError("runs must be a list of runs, or a mapping from names to them.")
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
    names = keys or _distinct_names(sources, coded)
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
