"""Evaluate a run against judged documents."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from crucial.data.arrays import is_missing
from crucial.data.groups import Groups
from crucial.data.words import as_objects, name_places
from crucial.errors import DataError, DataWarning
from crucial.io.runs import as_qrels, as_run
from crucial.measures.evaluation import Evaluation, measure_ranking
from crucial.measures.intervals import RandomState
from crucial.measures.judged import JudgedLists, as_numbers
from crucial.measures.names import Measures
from crucial.parameters import check, one_of
from crucial.types import Bools, Floats, Ids, Ints, VectorLike

__all__ = ["QrelsLike", "RunLike", "evaluate_run", "judge_run"]


class _Documents(Protocol):
    @property
    def qid(self) -> VectorLike:
        """Query of each row."""

    @property
    def doc(self) -> VectorLike:
        """Document of each row."""


class RunLike(_Documents, Protocol):
    """A run: parallel columns ``qid``, ``doc`` and ``score``."""

    @property
    def score(self) -> VectorLike:
        """Score of each row."""


class QrelsLike(_Documents, Protocol):
    """Judgements: parallel columns ``qid``, ``doc`` and ``relevance``."""

    @property
    def relevance(self) -> VectorLike:
        """Relevance of each row."""


def _is_columns(table: object) -> bool:
    return not hasattr(table, "columns") and hasattr(table, "qid") and hasattr(table, "doc")


def _as_qrels(table: Any) -> QrelsLike:
    """Return a table with columns as attributes; `_columns` checks these."""
    return table if _is_columns(table) else as_qrels(table)


def _as_run(table: Any) -> RunLike:
    """Return a table with columns as attributes; `_columns` checks these."""
    return table if _is_columns(table) else as_run(table)


def _words(values: VectorLike, what: str) -> list[str]:
    """Return ids as text."""
    words = np.asarray(values, object).tolist()
    for row, one in enumerate(words):
        if not isinstance(one, str) and is_missing(one):
            raise DataError(f"{what} is missing in row {row}.")
    return [str(one) for one in words]


def _columns(
    table: RunLike | QrelsLike, what: str, value: str
) -> tuple[list[str], list[str], Floats]:
    """Return queries, documents and values of a table, checked."""
    for column in ("qid", "doc", value):
        if not hasattr(table, column):
            raise DataError(
                f"{what} must have the columns qid, doc and {value} as attributes. "
                f"Got {type(table).__name__} without {column}."
            )
    numbers = as_numbers(getattr(table, value), f"{what}.{value}")
    qid, doc = (_words(getattr(table, name), f"{what}.{name}") for name in ("qid", "doc"))
    if not len(qid) == len(doc) == len(numbers):
        raise DataError(
            f"the columns of {what} must have the same length. "
            f"Got {len(qid)} qid, {len(doc)} doc, {len(numbers)} {value}."
        )
    if not qid:
        raise DataError(f"{what} is empty.")
    return qid, doc, numbers


def _codes(words: list[str], table: dict[str, int]) -> Ints:
    """Return the number of each word; new words are added to the table."""
    return np.fromiter((table.setdefault(w, len(table)) for w in words), np.int64, len(words))


def _refuse_twice(keys: Ints, qid: list[str], doc: list[str], what: str) -> None:
    order = np.argsort(keys, kind="stable")
    again = np.flatnonzero(np.diff(keys[order]) == 0)
    if len(again):
        row = int(order[again + 1].min())
        raise DataError(f"{what} has document {doc[row]!r} of query {qid[row]!r} twice, "
                        f"the second time in row {row}.")  # fmt: skip


def judge_run(qrels: QrelsLike, run: RunLike) -> tuple[JudgedLists, Floats, int, int]:
    """Join a run and its judgements: one row per retrieved or judged document.

    Parameters
    ----------
    qrels : object with qid, doc, relevance
        Parallel columns.
    run : object with qid, doc, score
        Parallel columns.

    Returns
    -------
    judged : Judged
        Rows of the judged queries; unjudged documents have the label 0.
    scores : array of shape (n_rows,)
        0 where not retrieved.
    n_missing : int
        Judged queries without a retrieved document.
    n_unjudged : int
        Queries of the run without any judgement, which are left out.
    """
    judged_qid, judged_doc, label = _columns(qrels, "qrels", "relevance")
    run_qid, run_doc, score = _columns(run, "run", "score")
    queries: dict[str, int] = {}
    docs: dict[str, int] = {}
    judged_query = _codes(judged_qid, queries)
    n_judged_queries = len(queries)
    run_query = _codes(run_qid, queries)
    judged_code, run_code = _codes(judged_doc, docs), _codes(run_doc, docs)
    judged_key, run_key = judged_query * len(docs) + judged_code, run_query * len(docs) + run_code
    _refuse_twice(judged_key, judged_qid, judged_doc, "qrels")
    _refuse_twice(run_key, run_qid, run_doc, "run")
    known = run_query < n_judged_queries
    if not known.any():
        raise DataError(
            "no query of the run is judged: the run has queries such as "
            f"{run_qid[0]!r}, the qrels such as {judged_qid[0]!r}."
        )
    order = np.argsort(judged_key)
    at = np.minimum(np.searchsorted(judged_key[order], run_key[known]), len(order) - 1)
    match = order[at]
    found = judged_key[match] == run_key[known]
    if not found.any():
        warnings.warn(
            "no document of the run is judged in its query, so nothing relevant can be found; "
            f"the run has documents such as {run_doc[0]!r}, the qrels such as {judged_doc[0]!r}.",
            DataWarning,
            stacklevel=3,
        )
    left = np.ones(len(label), bool)
    left[match[found]] = False
    retrieved: Bools = np.repeat([True, False], [int(known.sum()), int(left.sum())])
    names = list(queries)[:n_judged_queries]
    query = np.concatenate((run_query[known], judged_query[left]))
    groups = _numbered_groups(name_places(names)[query], as_objects(sorted(names)))
    ids = as_objects(list(docs))[np.concatenate((run_code[known], judged_code[left]))]
    judged = JudgedLists(
        np.concatenate((np.where(found, label[match], 0.0), label[left])),
        groups,
        ids=ids,
        retrieved=retrieved,
        judged=np.concatenate((found, np.ones(int(left.sum()), bool))),
    )
    n_retrieved = len(np.unique(run_query[known]))
    scores = np.concatenate((score[known], np.zeros(int(left.sum()))))
    return judged, scores, n_judged_queries - n_retrieved, len(queries) - n_judged_queries


def _numbered_groups(numbers: Ints, names: Ids) -> Groups:
    """Group rows by the number of their query; ``names`` has the names by number, ascending."""
    groups = Groups.from_qid(numbers, len(numbers))
    return replace(groups, ids=names[groups.ids])


def _only(judged: JudgedLists, scores: Floats, keep: Bools) -> tuple[JudgedLists, Floats]:
    """Return the rows to keep."""
    if judged.ids is None or judged.retrieved is None or judged.judged is None:
        raise TypeError("only a judged run can be cut down")
    groups = _numbered_groups(judged.codes[keep], judged.groups.ids)
    parts = (judged.ids[keep], judged.retrieved[keep], judged.judged[keep])
    return JudgedLists(judged.y[keep], groups, None, *parts), scores[keep]


def evaluate_run(
    qrels: object,
    run: object,
    measures: Measures = ("ndcg@10",),
    *,
    ties: str = "expected",
    empty: str | int = "skip",
    unjudged: str = "not_relevant",
    missing: str = "count",
    intervals: bool | float = False,
    resamples: int | None = None,
    random_state: RandomState = 0,
) -> Evaluation:
    """Evaluate a run against judged documents, as trec_eval does.

    All documents of the run count (trec_eval's ``-M`` cuts lists; it has no limit by default).
    Ideal gain, average precision and recall use every relevant document, retrieved or
    not. Negative judgements count as not relevant. For measures over pairs, judged
    documents that were not retrieved are tied behind all others.

    Parameters
    ----------
    qrels : Qrels, path, frame or mapping
        Any form that `crucial.as_qrels` accepts: ``{query: {doc: relevance}}``, the path of a
        file, a data frame, an object with the columns qid, doc and relevance.
    run : Run, path, frame or mapping
        Any form that `crucial.as_run` accepts: ``{query: {doc: score}}`` and the like. The order
        comes from the scores.
    measures, ties, empty, intervals, resamples, random_state
        As in `evaluate`; ``ties="trec"`` uses the names of the documents.
    unjudged : {"not_relevant", "drop"}
        A retrieved document without a judgement has the label 0, or is removed from the
        list before it is measured. The share of such documents is in the result.
    missing : {"count", "skip"}
        A judged query without a document in the run counts as an empty list, or is left
        out (trec_eval's default).

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> from types import SimpleNamespace as Table
    >>> qrels = Table(qid=["1", "1"], doc=["a", "b"], relevance=[1, 2])
    >>> run = Table(qid=["1", "1"], doc=["x", "a"], score=[2.0, 1.0])
    >>> found = evaluate_run(qrels, run, ["map", "recall@10"])
    >>> found["map"], found["recall@10"], found.results["map"].unjudged
    (0.25, 0.5, 0.5)
    >>> evaluate_run({"1": {"a": 1, "b": 2}}, {"1": {"x": 2.0, "a": 1.0}}, "map")["map"]
    0.25
    """
    check("evaluate_run", "unjudged", unjudged, one_of("not_relevant", "drop"))
    check("evaluate_run", "missing", missing, one_of("count", "skip"))
    judged, scores, n_missing, n_unjudged = judge_run(_as_qrels(qrels), _as_run(run))
    keep = np.ones(len(scores), bool)
    if missing == "skip" and judged.retrieved is not None:
        keep &= judged.per_query(judged.retrieved)[judged.codes] > 0
    if unjudged == "drop" and judged.judged is not None:
        keep &= judged.judged
    if not keep.all():
        judged, scores = _only(judged, scores, keep)
    return measure_ranking(
        judged,
        scores,
        measures,
        ties=ties,
        empty=empty,
        intervals=intervals,
        resamples=resamples,
        random_state=random_state,
        n_missing=n_missing,
        n_unjudged_queries=n_unjudged,
    )
