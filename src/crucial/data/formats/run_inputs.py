"""Accept runs and judgements as files, frames, mappings, or objects of other libraries."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crucial.data.arrays import as_reals, is_missing
from crucial.data.formats.result_lists import judged_list, result_list
from crucial.data.formats.trec import read_qrels, read_run
from crucial.data.frames import whole_table
from crucial.data.runs import Qrels, Run
from crucial.data.words import as_objects, one_line
from crucial.errors import DataError, DataTypeError
from crucial.types import Floats, Objects

if TYPE_CHECKING:
    import narwhals as nw

__all__ = ["as_qrels", "as_run"]

#: Names of columns in frames, ours first, then those that other tools use.
_QID = ("qid", "q_id", "query_id", "query-id", "query", "topic")
_DOC = ("doc", "docno", "doc_id", "docid", "document", "corpus_id", "corpus-id")
_SCORE = ("score",)
_RELEVANCE = ("relevance", "rel", "label", "score")

#: Whole numbers below this are distinct as floats.
_WHOLE_LIMIT = 2**53

#: Reads the results of one query.
_ListReader = Callable[[object, str], tuple[list[str], list[float]]]


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
) -> list[ArrayLike] | None:
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
        frame = _as_frame(table, what)
        return [_column(frame, one, what) for one in names]
    if hasattr(table, "to_dict"):  # ranx
        return _listed(table.to_dict(), what, read_list)
    return None


def _listed(
    queries: Mapping[object, object], what: str, read_list: _ListReader
) -> list[ArrayLike] | None:
    """Return the columns of ``{query: results}``."""
    qids: list[str] = []
    docs: list[str] = []
    values: list[float] = []
    for query, found in queries.items():
        if isinstance(found, int | float):
            raise DataTypeError(
                f"{what} must be {{query: {{doc: number}}}}. Got the number {found!r} for "
                f"{query!r}: is this the list of one query? Write it as {{query: list}}."
            )
        if is_missing(query):
            raise DataError(f"{what}: a query has no id. Got {query!r}.")
        ids, numbers = read_list(found, f"{what}, query {str(query)!r}")
        qids += [str(query)] * len(ids)
        docs += ids
        values += numbers
    return [as_objects(qids), as_objects(docs), np.array(values)]


def _as_frame(table: Any, what: str) -> nw.DataFrame[Any]:
    """Wrap a frame of any library."""
    import narwhals as nw

    try:
        frame: nw.DataFrame[Any] = nw.from_native(whole_table(table), eager_only=True)
    except TypeError as error:
        raise DataTypeError(f"{what} is a {type(table).__name__}, no known frame.") from error
    except nw.exceptions.DuplicateError as error:
        raise DataError(f"{what}: column names must differ. {one_line(error)}") from None
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
    """Return what came in place of a column."""
    return f"Got {array.item()!r}." if array.ndim == 0 else f"Got an array of shape {array.shape}."


def _check_columns(what: str, **columns: Any) -> None:
    if len({len(column) for column in columns.values()}) != 1:
        sizes = ", ".join(f"{len(column)} {name}" for name, column in columns.items())
        raise DataError(f"{what}: the columns must be of one length. Got {sizes}.")
