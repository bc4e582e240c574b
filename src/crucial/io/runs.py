"""Runs and judgements: TREC, JSON and BEIR files, frames, mappings, and result lists of engines."""

from __future__ import annotations

import json
import math
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crucial.data.arrays import as_frame, as_reals, is_missing
from crucial.data.dataset import Dataset, Qrels, Run
from crucial.data.files import atomic_write, first_bytes, open_bytes
from crucial.data.groups import Groups
from crucial.data.words import BOM, as_objects, decode, finite_number, is_unicode, keys_once, shown
from crucial.errors import DataError, DataTypeError, DataWarning, FileError, in_file
from crucial.io.text import text_lines
from crucial.types import Floats, Ints, Objects, PathLike

if TYPE_CHECKING:
    import narwhals as nw


# --- The results of one query, in the forms in which search engines and libraries return them


_FORMS = (
    "{doc: score}, a list of (doc, score), a list of ids with the best first, or hits with _id and "
    "_score"
)
#: Names of the id and of the score of a hit: Elasticsearch's and OpenSearch's, then others'.
_ID = ("_id", "id", "doc", "doc_id", "docno", "docid", "corpus_id")
_SCORE_KEYS = ("_score", "score")


def result_list(found: object, what: str) -> tuple[list[str], list[float]]:
    """Return the ids and scores of the results of one query.

    Parameters
    ----------
    found : mapping, list or None
        ``{doc: score}``; a list of ``(doc, score)``; a list of ids, best first, which are scored
        -1, -2, ...; hits (mappings or objects with an id and a score, as Elasticsearch,
        OpenSearch and Qdrant return them) or a whole response of Elasticsearch. None, or a list
        without entries, contains no result.
    what : str
        Names the list in errors.

    Raises
    ------
    DataError
        A score is no finite number, or a document occurs twice.
    DataTypeError
        It is a set, which has no order, or none of these forms.

    Examples
    --------
    >>> result_list([("d7", 2.5), ("d2", 1.0)], "bm25")
    (['d7', 'd2'], [2.5, 1.0])
    >>> result_list({"hits": {"hits": [{"_id": "d7", "_score": 2.5}]}}, "bm25")
    (['d7'], [2.5])
    >>> result_list(["d7", "d2"], "bm25")
    (['d7', 'd2'], [-1.0, -2.0])
    """
    ids, scores = _pairs(found, what)
    if scores is None:
        numbers = [-1.0 - place for place in range(len(ids))]
    else:
        numbers = _finite(scores, ids, what)
    plain = set(map(type, ids)) <= {str} and is_unicode("".join(ids))
    names = ids if plain else [_name(one, what) for one in ids]
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise DataError(
            f"{what}: document {shown(twice)} occurs twice; keep the better of the two."
        )
    return names, numbers


def judged_list(found: object, what: str) -> tuple[list[str], list[float]]:
    """Return the ids and grades of the judgements of one query; ids alone have the grade 1."""
    if isinstance(found, set | frozenset):
        found = sorted(found, key=str)
    if isinstance(found, list | tuple) and all(map(_is_id, found)):
        ids, _ = result_list(sorted(found, key=str), what)
        return ids, [1.0] * len(ids)
    return result_list(found, what)


def _pairs(found: Any, what: str) -> tuple[list[Any], Sequence[Any] | None]:
    """Return unchecked ids and scores; None for the scores if order alone is known."""
    if isinstance(found, Mapping):
        hits = found.get("hits")
        if not isinstance(hits, Mapping | list | tuple):
            return list(found), list(found.values())
        found = hits.get("hits", ()) if isinstance(hits, Mapping) else hits
    if found is None:
        return [], []
    if isinstance(found, str | bytes) or not isinstance(found, Iterable):
        raise DataTypeError(f"{what} must be {_FORMS}. Got {type(found).__name__}.")
    if isinstance(found, set | frozenset):
        raise DataTypeError(
            f"{what} is a {type(found).__name__}, and a set has no order; pass a list of ids with "
            "the best first, or {doc: score}."
        )
    entries = list(found)
    if not entries:
        return [], []
    first = entries[0]
    if _is_id(first):
        return entries, None
    try:
        if isinstance(first, Mapping):
            ids, scores = _from_mappings(entries, what)
        elif hasattr(first, "score") and (hasattr(first, "id") or hasattr(first, "doc_id")):
            key = "id" if hasattr(first, "id") else "doc_id"
            ids, scores = [getattr(e, key) for e in entries], [e.score for e in entries]
        else:
            ids, scores = map(list, zip(*entries, strict=True))
    except DataError:
        raise
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise DataTypeError(f"{what} must be {_FORMS}; its entries are not alike.") from error
    # (hits that were sorted by a field have no score)
    by_order = scores[0] is None and all(one is None for one in scores)
    return ids, None if by_order else scores


def _is_id(entry: object) -> bool:
    return isinstance(entry, str | int) or type(entry).__name__.startswith(("int", "uint", "str_"))


def _from_mappings(hits: list[Mapping[str, Any]], what: str) -> tuple[list[Any], list[Any]]:
    """Return ids and scores of hits that are mappings."""
    names = []
    for wanted in (_ID, _SCORE_KEYS):
        name = next((one for one in wanted if one in hits[0]), None)
        if name is None:
            raise DataError(
                f"{what}: a hit must have {wanted[0]!r} (or {', '.join(map(repr, wanted[1:]))}). "
                f"Got the keys {', '.join(map(repr, list(hits[0])[:8]))}."
            )
        names.append(name)
    return [hit[names[0]] for hit in hits], [hit[names[1]] for hit in hits]


def _finite(scores: Sequence[Any], ids: Sequence[Any], what: str) -> list[float]:
    """Return scores as floats, or raise an error that names the first that is no number."""
    try:
        numbers = list(map(float, scores))
        if all(map(math.isfinite, numbers)) and str not in set(map(type, scores)):
            return numbers
    except (TypeError, ValueError, OverflowError):
        pass
    for doc, score in zip(ids, scores):
        try:
            wrong = isinstance(score, str) or not math.isfinite(float(score))
        except (TypeError, ValueError, OverflowError):
            wrong = True
        if wrong:
            raise DataError(
                f"{what}: the score of {shown(str(doc))} must be a finite number. "
                f"Got {shown(repr(score))}."
            )
    raise AssertionError("a score is not a finite number")


def _name(one: object, what: str) -> str:
    if is_missing(one):
        raise DataError(f"{what}: a document has no id. Got {one!r}.")
    if isinstance(one, list | tuple | dict | set):
        raise DataTypeError(f"{what} must be {_FORMS}; its entries are not alike.")
    if not is_unicode(text := str(one)):
        raise DataError(f"{what}: the id {text!a} has half of a surrogate pair.")
    return text


# --- Runs and judgements in other files than TREC's: JSON, and the judgements of BEIR


_BEIR = ({b"query-id", b"query_id", b"qid"}, {b"corpus-id", b"corpus_id", b"doc_id"}, {b"score"})


def file_stem(path: PathLike) -> str:
    """Return the name of a run by its file: ``runs/bm25.run.gz`` is ``bm25``.

    Examples
    --------
    >>> file_stem("runs/bm25.v2.run.gz"), file_stem(".run")
    ('bm25.v2', '.run')
    """
    name = os.path.basename(os.fspath(path))
    for ending in (".gz", ".run", ".txt", ".res", ".trec", ".json"):
        if name.lower().endswith(ending) and len(name) > len(ending):
            name = name[: -len(ending)]
    return name


def form_of(path: PathLike) -> Literal["trec", "json", "beir"]:
    """Return the form of a file of runs or judgements, as its first line shows."""
    start = first_bytes(path, 4096).removeprefix(BOM).lstrip()
    if re.match(rb'\{\s*(["\']|\}?\s*$)', start):  # (a query of TREC's may be called "{" or "{}")
        return "json"
    names = start.split(b"\n", 1)[0].lower().split()
    is_beir = len(names) == 3 and all(name in known for name, known in zip(names, _BEIR))
    return "beir" if is_beir else "trec"


def _read_json(path: PathLike, read_list: _ListReader) -> tuple[Objects, Objects, Floats]:
    """Return queries, documents and numbers of a file ``{query: results}``."""
    with open_bytes(path) as source:
        raw = source.read().removeprefix(BOM)
    try:
        table = json.loads(raw, object_pairs_hook=keys_once)
    except (ValueError, RecursionError) as error:
        raise FileError(path, f"this is not one JSON object: {error}.") from error
    if table.get("format") == "crucial-model":
        raise FileError(path, "this is a model, not a run or judgements.")
    for query, results in table.items():
        if not isinstance(results, dict | list):
            problem = (
                "a JSON file of runs or judgements is {query: {doc: number}}. Got "
                f"{shown(json.dumps(results))} for {shown(query)}."
            )
            raise FileError(path, problem)
    with in_file(path):
        columns = _listed(table, "", read_list)
    if not len(columns[0]):
        raise FileError(path, "there is no document in this file.")
    return columns


#: Reads the results of one query.
_ListReader = Callable[[object, str], tuple[list[str], list[float]]]


def _listed(
    queries: Mapping[object, object], what: str, read_list: _ListReader
) -> tuple[Objects, Objects, Floats]:
    """Return the columns of ``{query: results}``; ``what`` names the table in errors, or is ""."""
    qids: list[str] = []
    docs: list[str] = []
    values: list[float] = []
    for query, results in queries.items():
        if isinstance(results, int | float):
            raise DataTypeError(
                f"{what} must be {{query: {{doc: number}}}}. Got the number {results!r} for "
                f"{query!r}: is this the list of one query? Write it as {{query: list}}."
            )
        if is_missing(query):
            raise DataError(f"{what}: a query has no id. Got {query!r}.")
        ids, numbers = read_list(results, f"{what}{', ' * bool(what)}query {str(query)!r}")
        qids += [str(query)] * len(ids)
        docs += ids
        values += numbers
    return as_objects(qids), as_objects(docs), np.array(values)


# --- TREC's files: runs ``qid Q0 doc rank score tag`` and judgements ``qid 0 doc relevance``


_FIELD = re.compile(rb"\S+")
_WHOLE = re.compile(rb"[+-]?[0-9]{1,9}")
_LARGEST = 10**9 - 1  # the largest relevance of 9 digits
#: What lines of so many fields are, where the other kind is expected.
_KINDS = {4: "judgements (qid 0 doc relevance)", 6: "a run (qid Q0 doc rank score tag)"}
_FEWEST_STEPS = 5  # from one document of a list to the next, before scores look reversed


def _rows(
    path: PathLike, form: str, *, is_beir: bool = False
) -> Iterator[tuple[int, bytes, list[bytes], str, str]]:
    """Give number, line, fields, query and document of every line, each document once.

    Files of BEIR have a header, and tabs between fields that may have spaces.
    """
    width = len(form.split())
    # One string for each query: a run names it a thousand times.
    known: dict[bytes, tuple[str, dict[str, int]]] = {}
    with open_bytes(path) as source:
        for number, line in enumerate(text_lines(source), 1):
            fields = line.split()
            if not fields or (is_beir and number == 1):
                continue
            if is_beir and b"\t" in line:
                fields = [field.strip() for field in line.strip(b"\r\n ").split(b"\t")]
            if len(fields) != width:
                problem = f"expected {width} fields: {form}. Got {len(fields)}."
                other = _KINDS.get(len(fields)) if number == 1 else None
                if number == 1 and fields[1:] and fields[1].startswith(b"qid:"):
                    other = "rows in svmlight (label qid:Q index:value ...)"
                remedy = f"Is this {other}?" if other else ""
                raise FileError(path, problem, number, 1, remedy=remedy)
            if fields[0] not in known:
                known[fields[0]] = (decode(fields[0]), {})
            qid, lines = known[fields[0]]
            doc = decode(fields[1 if is_beir else 2])
            before = lines.setdefault(doc, number)
            if before != number:
                problem = f"document {shown(doc)} occurs twice in query {shown(qid)}"
                raise FileError(path, f"{problem}: in line {before} and in line {number}.", number)
            yield number, line, fields, qid, doc
    if not known:
        absent = f"there is no line in this file; expected {form}."
        raise FileError(path, "there is no judgement below the header." if is_beir else absent)


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
        return Run(*_read_json(path, result_list), file_stem(path))
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
    if form == "json":
        ids, docs_read, values = _read_json(path, judged_list)
        is_whole = bool((np.abs(values) < 2**53).all() and (values == np.round(values)).all())
        return Qrels(ids, docs_read, values.astype(np.int64) if is_whole else values)
    is_beir = form == "beir"
    names = "query-id corpus-id score" if is_beir else "qid 0 doc relevance"
    *_, grade = names.split()
    qids: list[str] = []
    docs: list[str] = []
    grades: list[int] = []
    for number, line, fields, qid, doc in _rows(path, names, is_beir=is_beir):
        whole = fields[-1]
        if is_beir and b"." in whole:
            whole = whole.rstrip(b"0").removesuffix(b".")
        if not _WHOLE.fullmatch(whole):
            rule = f"the {grade} must be a whole number"
            if is_beir:  # (whose fields may have spaces)
                raise FileError(path, f"{rule}. Got {shown(fields[-1])}.", number)
            raise _field_error(path, number, line, 3, rule)
        qids.append(qid)
        docs.append(doc)
        grades.append(int(whole))
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


# --- Large run files, by pyarrow: queries and documents as numbers


@dataclass
class CodedRun:
    """A run whose queries and documents are numbers.

    Attributes
    ----------
    qid, doc : int arrays
    score : float64 array
    tag : str
        Empty where the lines have several.
    """

    qid: NDArray[np.int32] | Ints
    doc: NDArray[np.int32] | Ints
    score: Floats
    tag: str


def read_coded_runs(paths: Sequence[PathLike]) -> tuple[list[CodedRun], Objects, Objects] | None:
    """Read large runs by pyarrow, and return them with the queries and the documents by number.

    Numbers follow the order in which words first occur. Documents that occur twice are not looked
    for. Returns None without pyarrow, and where a file is unusual: `read_run` explains it.
    """
    try:
        import pyarrow as pa

        from crucial.io.parquet import arrow_values
    except ImportError:
        return None
    tables = []
    for path in paths:
        table = _arrow_lines(path)
        if table is None:
            return None
        tables.append(table)
    joined = pa.concat_tables(tables)
    codes, words = {}, {}
    for name in ("qid", "doc", "tag"):
        column = joined.column(name).dictionary_encode()
        pieces = column.chunks
        codes[name] = arrow_values(pa.chunked_array([piece.indices for piece in pieces]))
        words[name] = as_objects(pieces[-1].dictionary.to_pylist())
        if "" in words[name]:  # (a space at the start or the end of a line)
            return None
    scores = arrow_values(joined.column("score"))
    if not np.isfinite(scores).all():
        return None
    runs = []
    begin = 0
    for path, table in zip(paths, tables):
        rows = slice(begin, begin + len(table))
        begin = rows.stop
        tags = np.unique(codes["tag"][rows])
        tag = str(words["tag"][tags[0]]) if len(tags) == 1 else ""
        qid, score = codes["qid"][rows], scores[rows]
        warn_reversed(path, qid, score)
        runs.append(CodedRun(qid, codes["doc"][rows], score, tag))
    return runs, words["qid"], words["doc"]


def _arrow_lines(path: PathLike) -> Any:
    """Return the columns of a run as a table of pyarrow; None if a line is unusual."""
    import pyarrow as pa
    from pyarrow import csv

    with open_bytes(path) as source:
        raw = source.read().removeprefix(BOM)
    sep, other = (b"\t", b" ") if b"\t" in raw[: raw.find(b"\n")] else (b" ", b"\t")
    odd = any(mark in raw for mark in (other, 2 * sep, b"\0", b"\v", b"\f"))
    if odd or raw.count(b"\r") != raw.count(b"\r\n"):
        return None
    kinds = {"qid": pa.string(), "doc": pa.string(), "score": pa.float64(), "tag": pa.string()}
    try:
        table = csv.read_csv(
            pa.BufferReader(raw),
            csv.ReadOptions(column_names=["qid", "q0", "doc", "rank", "score", "tag"],
                            block_size=1 << 24),
            csv.ParseOptions(delimiter=sep.decode(), quote_char=False),
            csv.ConvertOptions(column_types=kinds, include_columns=list(kinds), null_values=[]),
        )  # fmt: skip
    except pa.ArrowException:
        return None
    return table if len(table) else None


# --- Scored rows as text: query by query, best first


def _names(data: Dataset) -> list[str]:
    """Return the names of the items; the number of the row, from 1, where there is none."""
    items = [""] * data.n_rows if data.item is None else [str(one) for one in data.item.tolist()]
    return [name or str(number) for number, name in enumerate(items, 1)]


def ranked_columns(data: Dataset, groups: Groups, scores: Floats) -> dict[str, list[Any]]:
    """Return columns of qid, item, score and rank; equal scores share a rank.

    Examples
    --------
    >>> data = Dataset(np.zeros((3, 1)), item=np.array(["a", "b", "c"], object))
    >>> found = ranked_columns(data, Groups.from_qid(None, 3), np.array([0.5, 2.0, 0.5]))
    >>> found["item"], found["rank"]
    (['b', 'a', 'c'], [1, 2, 2])
    """
    order, query, first = groups.ranked(scores)
    names = _names(data)
    qids = ["1"] if data.qid is None else [str(qid) for qid in groups.ids.tolist()]
    return {
        "qid": [qids[q] for q in query.tolist()],
        "item": [names[row] for row in order.tolist()],
        "score": scores[order].tolist(),
        "rank": (first - groups.starts[query] + 1).tolist(),
    }


def run_columns(run: Run) -> dict[str, list[Any]]:
    """Return the columns of a run in the order in which `write_run` writes it."""
    lines = (line.split() for part in run_lines(run) for line in part.decode().splitlines())
    rows = [(qid, doc, float(score), int(rank), tag) for qid, _, doc, rank, score, tag in lines]
    names = ("qid", "item", "score", "rank", "tag")
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def ranked_run(data: Dataset, scores: Floats, tag: str) -> Run:
    """Return the scored rows as a TREC run."""
    qid = np.array(["1"] * data.n_rows, object) if data.qid is None else data.qid
    return Run(qid, np.array(_names(data), object), scores, tag)


# --- Accept runs and judgements as files, frames, mappings, or objects of other libraries


#: Names of columns in frames, ours first, then those that other tools use.
_QID = ("qid", "q_id", "query_id", "query-id", "query", "topic")
_DOC = ("doc", "docno", "doc_id", "docid", "document", "corpus_id", "corpus-id")
_SCORE = ("score",)
_RELEVANCE = ("relevance", "rel", "label", "score")

#: Whole numbers below this are distinct as floats.
_WHOLE_LIMIT = 2**53


def as_run(table: object, name: str = "run") -> Run:
    """Return a run from any of the forms in which runs occur.

    Parameters
    ----------
    table : path, mapping, frame or object
        A TREC file or a JSON file; ``{query: {doc: score}}``, where the results of a query may
        also be a list of ``(doc, score)``, a list of ids with the best first, or hits of
        Elasticsearch; a data frame of pandas, polars or pyarrow with the columns qid, doc and
        score (or q_id, query_id, query-id, docno, doc_id, corpus-id); a ranx ``Run``; an object
        with qid, doc and score.
    name : str
        Tag of the run, if it has none, and its name in errors.

    Returns
    -------
    Run
        Without rows, if there is no result.

    Examples
    --------
    >>> run = as_run({"7": {"d1": 9.5, "d2": 3.0}, "8": []}, "bm25")
    >>> run.qid.tolist(), run.doc.tolist(), run.score.tolist(), run.tag
    (['7', '7'], ['d1', 'd2'], [9.5, 3.0], 'bm25')
    """
    if isinstance(table, str | os.PathLike):
        return read_run(table)
    what = "the run" if name == "run" else f"run {name!r}"
    found = _columns(table, what, (_QID, _DOC, _SCORE), result_list)
    if found is None:
        raise DataTypeError(
            f"{what} must be a path, a frame, {{query: {{doc: score}}}}, or have the columns qid, "
            f"doc and score as attributes. Got {type(table).__name__}."
        )
    qid, doc, score = found
    tag = getattr(table, "tag", None)
    if tag is None:
        tag = getattr(table, "name", None) if hasattr(table, "to_dict") else None
    tag = name if tag is None else tag
    if not isinstance(tag, str) and np.ndim(tag) != 1:
        raise DataTypeError(f"{what}: the tag must be text, or one text per row. Got {tag!r}.")
    numbers = _scores(score, what)
    run = Run(_ids(qid, what, "qid"), _ids(doc, what, "doc"), numbers, tag)
    _check_columns(what, qid=run.qid, doc=run.doc, score=run.score)
    return run


def as_qrels(table: object) -> Qrels:
    """Return judgements from any of the forms in which they occur.

    Parameters
    ----------
    table : path, mapping, frame or object
        A file of TREC, of BEIR (tab-separated, with the header ``query-id corpus-id score``) or
        of JSON; ``{query: {doc: relevance}}``, or ``{query: [doc, ...]}`` with the relevant
        documents alone; a data frame with the columns qid, doc and relevance (or rel, label,
        score); a ranx ``Qrels``; an object with qid, doc and relevance.

    Examples
    --------
    >>> judged = as_qrels({"7": {"d1": 2, "d2": 0}, "8": ["d5"]})
    >>> judged.qid.tolist(), judged.doc.tolist(), judged.relevance.tolist()
    (['7', '7', '8'], ['d1', 'd2', 'd5'], [2, 0, 1])
    """
    if isinstance(table, str | os.PathLike):
        return read_qrels(table)
    found = _columns(table, "the qrels", (_QID, _DOC, _RELEVANCE), judged_list)
    if found is None:
        raise DataTypeError(
            "the qrels must be a path, a frame, {query: {doc: relevance}}, or have the columns "
            f"qid, doc and relevance as attributes. Got {type(table).__name__}."
        )
    qid, doc, relevance = found
    grades = _scores(relevance, "the qrels", "relevance")
    large = np.flatnonzero(np.abs(grades) >= _WHOLE_LIMIT)
    if len(large):
        raise DataError(
            f"the qrels: relevance must be less than 2^53 in size. Got {grades[large[0]]:g} in row "
            f"{large[0]}. Is it the column of the ids?"
        )
    whole = (grades == np.round(grades)).all()
    judged = Qrels(
        _ids(qid, "the qrels", "qid"),
        _ids(doc, "the qrels", "doc"),
        grades.astype(np.int64) if whole else grades,
    )
    _check_columns("the qrels", qid=judged.qid, doc=judged.doc, relevance=judged.relevance)
    return judged


def _columns(
    table: Any, what: str, names: Sequence[Sequence[str]], read_list: _ListReader
) -> Sequence[ArrayLike] | None:
    """Return the three columns of a table; None if it is none of the known forms."""
    if hasattr(table, "collect"):
        raise DataTypeError(f"{what} is a {type(table).__name__}; call its collect() first.")
    if not hasattr(table, "columns") and all(hasattr(table, one[0]) for one in names):
        return [getattr(table, one[0]) for one in names]
    if isinstance(table, Mapping):
        if all(any(name in table for name in one) for one in names):  # a mapping of columns
            return [table[next(name for name in one if name in table)] for one in names]
        return _listed(table, what, read_list)
    if hasattr(table, "columns"):
        frame = as_frame(table, what)
        if frame is None:
            raise DataTypeError(f"{what} is a {type(table).__name__}, no known frame.")
        return [_column(frame, one, what) for one in names]
    if hasattr(table, "to_dict"):  # ranx
        return _listed(table.to_dict(), what, read_list)
    return None


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


def _ids(values: ArrayLike, what: str, column: str) -> Objects:
    """Return ids as text: the number 7 and the text 7 are the same query."""
    array = np.asarray(values, object)
    if array.ndim != 1:
        raise DataTypeError(f"{what}: {column} must be a column of one id per row. {_got(array)}")
    ids = array.tolist()
    if all(type(one) is str for one in ids):
        return as_objects(ids)
    for row, one in enumerate(ids):
        if is_missing(one):
            raise DataError(f"{what}: {column} is missing in row {row}.")
    return as_objects(list(map(str, ids)))


def _scores(values: ArrayLike, what: str, column: str = "score") -> Floats:
    """Return scores as finite floats, or raise an error that names the row."""
    plural = "scores" if column == "score" else column
    numbers = as_reals(values, f"{what}: {plural}")
    if numbers.ndim != 1:
        raise DataTypeError(f"{what}: {plural} must be one number per row. {_got(numbers)}")
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        raise DataError(
            f"{what}: {plural} must be finite. Got {numbers[wrong[0]]} in row {wrong[0]}."
        )
    return numbers


def _got(array: NDArray[Any]) -> str:
    """Return the description of an array that is no column."""
    return f"Got {array.item()!r}." if array.ndim == 0 else f"Got an array of shape {array.shape}."


def _check_columns(what: str, **columns: Any) -> None:
    if len({len(column) for column in columns.values()}) != 1:
        sizes = ", ".join(f"{len(column)} {name}" for name, column in columns.items())
        raise DataError(f"{what}: the columns must be of one length. Got {sizes}.")
