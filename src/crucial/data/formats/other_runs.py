"""Runs and judgements in other files than TREC's: JSON, and the judgements of BEIR."""

from __future__ import annotations

import json
import os
import re
from typing import Any, Literal

import numpy as np

from crucial.data.files import first_bytes, open_bytes
from crucial.data.formats.cells import text_lines
from crucial.data.formats.result_lists import judged_list, result_list
from crucial.data.runs import Qrels, Run
from crucial.data.words import BOM, as_objects, decode, keys_once, shown
from crucial.errors import FileError, in_file
from crucial.types import PathLike

__all__ = ["file_stem", "form_of", "read_beir_qrels", "read_json_qrels", "read_json_run"]

_BEIR = ({b"query-id", b"query_id", b"qid"}, {b"corpus-id", b"corpus_id", b"doc_id"}, {b"score"})
_WHOLE_TEXT = re.compile(r"[+-]?[0-9]{1,9}(?:\.0*)?")


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
    if start.startswith(b"{"):
        return "json"
    names = start.split(b"\n", 1)[0].lower().split()
    is_beir = len(names) == 3 and all(name in known for name, known in zip(names, _BEIR))
    return "beir" if is_beir else "trec"


def read_beir_qrels(path: PathLike) -> Qrels:
    """Read judgements of BEIR: a header, then lines ``query-id corpus-id score`` with tabs between.

    Raises
    ------
    FileError
        Naming the line: another number of fields, a score that is not a whole number, a document
        twice in a query, no line at all.
    """
    found: dict[str, dict[str, tuple[int, int]]] = {}
    with open_bytes(path) as source:
        for number, raw in enumerate(text_lines(source), 1):
            line = decode(raw).strip("\r\n ")
            if number == 1 or not line.strip():
                continue
            fields = line.split("\t") if "\t" in line else line.split()
            if len(fields) != 3:
                problem = f"expected 3 fields: query-id corpus-id score. Got {len(fields)}."
                raise FileError(path, problem, number, 1)
            qid, doc, grade = (field.strip() for field in fields)
            if not _WHOLE_TEXT.fullmatch(grade):
                problem = f"the score must be a whole number. Got {shown(grade)}."
                raise FileError(path, problem, number)
            first, _ = found.setdefault(qid, {}).setdefault(doc, (number, int(float(grade))))
            if first != number:
                problem = f"document {shown(doc)} occurs twice in query {shown(qid)}"
                raise FileError(path, f"{problem}: in line {first} and in line {number}.", number)
    if not found:
        raise FileError(path, "there is no judgement below the header.")
    rows = [(q, d, grade) for q, docs in found.items() for d, (_, grade) in docs.items()]
    qids, names, grades = zip(*rows)
    return Qrels(as_objects(qids), as_objects(names), np.array(grades, np.int64))


def read_json_run(path: PathLike) -> Run:
    """Read a run from JSON: ``{query: results}``, with results as in `result_list`."""
    qids, docs, values = _read_nested(path, judged=False)
    return Run(qids, docs, values, file_stem(path))


def read_json_qrels(path: PathLike) -> Qrels:
    """Read judgements from JSON: ``{query: {doc: relevance}}``, or lists of relevant documents."""
    qids, docs, values = _read_nested(path, judged=True)
    whole = bool((np.abs(values) < 2**53).all() and (values == np.round(values)).all())
    return Qrels(qids, docs, values.astype(np.int64) if whole else values)


def _read_nested(path: PathLike, *, judged: bool) -> tuple[Any, Any, Any]:
    """Return queries, documents and numbers of ``{query: results}``."""
    with open_bytes(path) as source:
        raw = source.read().removeprefix(BOM)
    try:
        table = json.loads(raw, object_pairs_hook=keys_once)
    except (ValueError, RecursionError) as error:
        raise FileError(path, f"this is not one JSON object: {error}.") from error
    if table.get("format") == "crucial-model":
        raise FileError(path, "this is a model, not a run or judgements.")
    qids: list[str] = []
    docs: list[str] = []
    values: list[float] = []
    for query, found in table.items():
        if not isinstance(found, dict | list):
            problem = (
                "a JSON file of runs or judgements is {query: {doc: number}}. Got "
                f"{shown(json.dumps(found))} for {shown(query)}."
            )
            raise FileError(path, problem)
        with in_file(path):
            ids, numbers = (judged_list if judged else result_list)(found, f"query {query!r}")
        qids += [query] * len(ids)
        docs += ids
        values += numbers
    if not qids:
        raise FileError(path, "there is no document in this file.")
    return as_objects(qids), as_objects(docs), np.array(values)
