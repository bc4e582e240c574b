"""TREC's files: runs ``qid Q0 doc rank score tag`` and judgements ``qid 0 doc relevance``."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from crucial.data.arrays import as_reals
from crucial.data.files import atomic_write, open_bytes
from crucial.data.formats.cells import text_lines
from crucial.data.formats.other_runs import (
    form_of,
    read_beir_qrels,
    read_json_qrels,
    read_json_run,
)
from crucial.data.runs import Qrels, Run
from crucial.data.words import as_objects, decode, finite_number, is_unicode, shown
from crucial.errors import DataError, DataTypeError, DataWarning, FileError
from crucial.types import Floats, Ints, PathLike

__all__ = ["read_qrels", "read_run", "run_lines", "warn_reversed", "write_qrels", "write_run"]

_FIELD = re.compile(rb"\S+")
_WHOLE = re.compile(rb"[+-]?[0-9]{1,9}")
_LARGEST = 10**9 - 1  # the largest relevance of 9 digits
#: What lines of so many fields are, where the other kind is expected.
_KINDS = {4: "judgements (qid 0 doc relevance)", 6: "a run (qid Q0 doc rank score tag)"}
_FEWEST_STEPS = 5  # from one document of a list to the next, before scores look reversed


def _rows(path: PathLike, form: str) -> Iterator[tuple[int, bytes, list[bytes], str, str]]:
    """Give number, line, fields, query and document of every line, each document once."""
    width = len(form.split())
    # One string for each query: a run names it a thousand times.
    known: dict[bytes, tuple[str, dict[str, int]]] = {}
    with open_bytes(path) as source:
        for number, line in enumerate(text_lines(source), 1):
            fields = line.split()
            if not fields:
                continue
            if len(fields) != width:
                problem = f"expected {width} fields: {form}. Got {len(fields)}."
                other = _KINDS.get(len(fields)) if number == 1 else None
                remedy = f"Is this {other}?" if other else ""
                raise FileError(path, problem, number, 1, remedy=remedy)
            if fields[0] not in known:
                known[fields[0]] = (decode(fields[0]), {})
            qid, lines = known[fields[0]]
            doc = decode(fields[2])
            before = lines.setdefault(doc, number)
            if before != number:
                problem = f"document {shown(doc)} occurs twice in query {shown(qid)}"
                raise FileError(path, f"{problem}: in line {before} and in line {number}.", number)
            yield number, line, fields, qid, doc
    if not known:
        raise FileError(path, f"there is no line in this file; expected {form}.")


def _field_error(path: PathLike, number: int, line: bytes, field: int, rule: str) -> FileError:
    """Return the error for the field (from 0) of a line."""
    found = list(_FIELD.finditer(line))[field]
    column = len(line[: found.start()].decode("utf-8", "replace")) + 1
    return FileError(path, f"{rule}. Got {shown(found.group().strip())}.", number, column)


def read_run(path: PathLike) -> Run:
    """Read a run: lines ``qid Q0 doc rank score tag``, spaces or tabs between, plain or gzip.

    As trec_eval does, the second field and the rank are not looked at: the order of a run
    is that of its scores. If scores rise down every list, a `DataWarning` says so: they may be
    distances. A file of JSON, ``{query: {doc: score}}`` as ranx and BEIR write it, is read too.

    Raises
    ------
    FileError
        Naming the line: another number of fields, a score that is not a finite number, a
        document twice in a query (both lines are named), an empty file.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "bm25.run")
    ...     with open(name, "w") as file:
    ...         _ = file.write("7 Q0 d1 1 9.5 bm25\\n7 Q0 d2 2 3 bm25\\n")
    ...     run = read_run(name)
    >>> run.qid.tolist(), run.doc.tolist(), run.score.tolist()
    (['7', '7'], ['d1', 'd2'], [9.5, 3.0])
    """
    if form_of(path) == "json":
        return read_json_run(path)
    qids: list[str] = []
    docs: list[str] = []
    scores: list[float] = []
    tags: list[str] = []
    known_tags: dict[bytes, str] = {}
    for number, line, fields, qid, doc in _rows(path, "qid Q0 doc rank score tag"):
        score = finite_number(fields[4])
        if score is None:
            raise _field_error(path, number, line, 4, "the score must be a finite number")
        qids.append(qid)
        docs.append(doc)
        scores.append(score)
        tags.append(known_tags.setdefault(fields[5], decode(fields[5])))
    run = Run(as_objects(qids), as_objects(docs), np.array(scores), as_objects(tags))
    numbers = {qid: number for number, qid in enumerate(dict.fromkeys(qids))}
    warn_reversed(path, np.array([numbers[qid] for qid in qids]), run.score)
    return run


def warn_reversed(path: PathLike, query: Ints, score: Floats) -> None:
    """Warn of a run whose lists are written best first with rising scores, as of distances.

    Parameters
    ----------
    path : str or path
        The file, for the warning.
    query : int array of shape (n_rows,)
        Number of the query of each row, in the order of the file.
    score : float array of shape (n_rows,)
    """
    inside = query[1:] == query[:-1]
    before, after = score[:-1][inside], score[1:][inside]  # (their difference may overflow)
    if len(after) >= _FEWEST_STEPS and (after >= before).all() and (after > before).mean() > 0.5:
        warnings.warn(
            f"{os.fspath(path)}: scores rise from the first document of every list to the last, "
            "as distances do. A run is ordered by its scores, highest first: if the first document "
            "is the best, write the scores with the other sign.",
            DataWarning,
            stacklevel=2,
        )


def read_qrels(path: PathLike) -> Qrels:
    """Read judgements: lines ``qid 0 doc relevance``, spaces or tabs between, plain or gzip.

    Files of BEIR (tabs between, with the header ``query-id corpus-id score``) and of JSON
    (``{query: {doc: relevance}}``) are read too.

    Raises
    ------
    FileError
        Naming the line: another number of fields, a relevance that is not a whole
        number, a document twice in a query (both lines are named), an empty file.
    """
    form = form_of(path)
    if form != "trec":
        return read_beir_qrels(path) if form == "beir" else read_json_qrels(path)
    qids: list[str] = []
    docs: list[str] = []
    grades: list[int] = []
    for number, line, fields, qid, doc in _rows(path, "qid 0 doc relevance"):
        if not _WHOLE.fullmatch(fields[3]):
            raise _field_error(path, number, line, 3, "the relevance must be a whole number")
        qids.append(qid)
        docs.append(doc)
        grades.append(int(fields[3]))
    return Qrels(as_objects(qids), as_objects(docs), np.array(grades, np.int64))


def _checked_words(values: Any, what: str) -> list[str]:
    """Return ids as text; refuse empty ones and any with white space or NUL."""
    texts = [str(value) for value in values]
    if not is_unicode("".join(texts)):
        row = next(at for at, text in enumerate(texts) if not is_unicode(text))
        raise DataError(
            f"the {what} {texts[row]!a} of row {row} cannot be written: it has half of a "
            "surrogate pair."
        )
    raw = " ".join(texts).encode()
    words = raw.split()
    if len(words) != len(texts) or b" ".join(words) != raw or b"\0" in raw:
        for row, text in enumerate(texts):
            if text.encode().split() != [text.encode()] or "\0" in text:
                raise DataError(
                    f"the {what} {shown(text)} of row {row} cannot be written: it must not be "
                    "empty or contain spaces or NUL."
                )
    return texts


def _by_query(qid: Any, doc: Any) -> dict[str, dict[str, int]]:
    """Row of each document of each query, both in the order they came."""
    queries: dict[str, dict[str, int]] = {}
    qids, names = _checked_words(qid, "qid"), _checked_words(doc, "doc")
    for row, (one_qid, name) in enumerate(zip(qids, names)):
        docs = queries.setdefault(one_qid, {})
        if docs.setdefault(name, row) != row:
            raise DataError(
                f"document {shown(name)} occurs twice in query {shown(one_qid)}: in rows "
                f"{docs[name]} and {row}."
            )
    return queries


def write_run(path: PathLike, run: Run) -> None:
    """Write a run, best document first; ranks follow from the scores as in trec_eval.

    Ties are ordered by document, last first, in the order of bytes. Scores are written so
    that they come back the same; trec_eval itself reads them as single precision, so
    scores that differ less are ties for it.

    Parameters
    ----------
    path : str or path
        Replaced whole or not at all; packed with gzip if the name ends in ``.gz``.
    run : Run
    """
    with atomic_write(path) as file:
        file.writelines(run_lines(run))


def run_lines(run: Run) -> Iterator[bytes]:
    """Yield the lines of a run as `write_run` writes them, those of one query at a time."""
    _check_lengths(run.qid, run.doc, run.score)
    numbers = as_reals(run.score, "score")
    if numbers.ndim != 1:
        raise DataTypeError(
            f"score must be one number per row. Got an array of shape {numbers.shape}."
        )
    scores = numbers.tolist()
    if not isinstance(run.tag, str) and np.ndim(run.tag) != 1:
        raise DataTypeError(f"the tag must be text, or one text per row. Got {run.tag!r}.")
    tags = [run.tag] * len(scores) if isinstance(run.tag, str) else list(run.tag)
    _check_lengths(scores, tags)
    tags = _checked_words(tags, "tag")
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise DataError(f"the score of row {row} is {scores[row]}; scores must be finite.")
    for qid, docs in _by_query(run.qid, run.doc).items():
        ranked = sorted(docs, key=lambda doc: (scores[docs[doc]], doc), reverse=True)
        lines = [
            f"{qid} Q0 {doc} {rank} {scores[docs[doc]]!r} {tags[docs[doc]]}\n"
            for rank, doc in enumerate(ranked, 1)
        ]
        yield "".join(lines).encode()


def write_qrels(path: PathLike, qrels: Qrels) -> None:
    """Write judgements, query by query.

    Parameters
    ----------
    path : str or path
        Replaced whole or not at all; packed with gzip if the name ends in ``.gz``.
    qrels : Qrels
    """
    grades = np.asarray(qrels.relevance)
    _check_lengths(qrels.qid, qrels.doc, grades)
    if grades.dtype.kind not in "iu":
        raise DataError(f"relevance must be whole numbers. Got the type {grades.dtype}.")
    long = np.flatnonzero((grades > _LARGEST) | (grades < -_LARGEST))
    if len(long):
        row = int(long[0])
        raise DataError(
            f"the relevance of row {row} is {grades[row]}; `read_qrels` reads at most 9 digits.",
            remedy="Use smaller numbers in the same order.",
            parameter="relevance",
        )
    with atomic_write(path) as file:
        for qid, docs in _by_query(qrels.qid, qrels.doc).items():
            for doc, row in docs.items():
                file.write(f"{qid} 0 {doc} {grades[row]}\n".encode())


def _check_lengths(*columns: Any) -> None:
    for column in columns:
        if isinstance(column, str) or not hasattr(column, "__len__"):
            raise DataTypeError(f"a column must be a list or an array. Got {column!r}.")
    lengths = [len(column) for column in columns]
    if len(set(lengths)) != 1:
        raise DataError(f"the columns must be of one length. Got {lengths}.")
