"""Evaluate a ranking against labels, or a run against judged documents."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crucial.data.arrays import is_missing
from crucial.data.groups import Groups
from crucial.data.words import as_objects, name_places, numbered
from crucial.errors import DataError, DataWarning
from crucial.feedback.labels import LabelFeedback, check_labels, check_weights
from crucial.io.runs import as_qrels, as_run
from crucial.measures.base import EMPTY, Measure, Prepared
from crucial.measures.intervals import (
    Interval,
    RandomState,
    RowSampling,
    bootstrap_interval,
    row_interval,
)
from crucial.measures.lists import TIES, JudgedLists, Ranking, as_numbers
from crucial.measures.names import MeasureLike, Measures, get_measure, get_measures
from crucial.measures.positions import weighted_sum
from crucial.parameters import at_least, between, check, none_or, one_of
from crucial.results import Result, text_table
from crucial.types import Bools, Floats, Ids, Ints, VectorLike
from crucial.wording import counted, interval_text, number_text, printable

# --- Evaluate a ranking against labels


@dataclass(frozen=True)
class MeasureResult:
    """One measure's value and the queries it is based on.

    Attributes
    ----------
    measure : Measure
        The measure; ``measure.description`` states gain, discount and averaging.
    value : float
        The value over all queries that count; NaN if none does.
    n_queries : int
        Queries that count in it.
    n_empty : int
        Queries without a value (no relevant item, no pair): left out, or filled in
        according to ``empty``.
    interval : (float, float) or None
        The interval, if requested and if there is one.
    unjudged : float or None
        Of a run: share of documents without a judgement in the positions that count.
    weights : array of shape (n_queries,) or None
        Of a pooled measure: the weight of each query, those without a value included.
    method : str
        How the interval was found.
    draws : int or None
        Number of resamples behind the interval; None if nothing was drawn.
    error : float or None
        Standard error of the interval's ends that is due to the draws.
    """

    measure: Measure
    value: float
    n_queries: int
    n_empty: int
    interval: tuple[float, float] | None = None
    unjudged: float | None = None
    weights: Floats | None = field(default=None, compare=False, repr=False)
    method: str = ""
    draws: int | None = None
    error: float | None = None

    @property
    def interval_text(self) -> str:
        """Both ends with the digits that stand, or "none"."""
        return interval_text(self.interval, self.error)


def measure_result(
    measure: Measure,
    summary: tuple[float, int, int],
    interval: Interval | None,
    unjudged: float | None = None,
    weights: Floats | None = None,
) -> MeasureResult:
    """Return a result with its interval, if it has one."""
    if interval is None:
        return MeasureResult(measure, *summary, None, unjudged, weights)
    how = (interval.method, interval.draws, interval.error)
    return MeasureResult(measure, *summary, interval.ends, unjudged, weights, *how)


def interval_notes(
    results: Iterable[tuple[str, str, int | None]], level: float, seed: int | None
) -> list[str]:
    """Return what the intervals are: one line per method, with its draws and their seed.

    Parameters
    ----------
    results : iterable of (name, method, draws)
        Of every measure with an interval.
    level : float
    seed : int or None
        Seed of the draws.

    Examples
    --------
    >>> interval_notes([("auc", "DeLong from rows", None)], 0.95, 0)
    ['95% interval: DeLong from rows']
    >>> interval_notes([("map", "bootstrap over queries", 9000)], 0.95, 0)
    ['95% interval: bootstrap over queries, 9,000 draws, seed 0']
    """
    by_method: dict[str, list[tuple[str, int | None]]] = {}
    for name, method, draws in results:
        by_method.setdefault(method, []).append((name, draws))
    lines = []
    for method, some in by_method.items():
        of = ", ".join(dict.fromkeys(name for name, _ in some))
        names = f" of {of}" if len(by_method) > 1 else ""
        counts = sorted({draws for _, draws in some if draws is not None})
        text = f"{level:.0%} interval{names}: {method}"
        if counts:
            many = f"{counts[0]:,} to " if len(counts) > 1 else ""
            text += f", {many}{counted(counts[-1], 'draw')}"
            text += "" if seed is None else f", seed {seed}"
        lines.append(text)
    return lines


@dataclass(frozen=True, repr=False)
class Evaluation(Result):
    """The result of `evaluate`; ``result["ndcg@10"]`` is the value.

    Attributes
    ----------
    results : dict of str to MeasureResult
        By name of the measure.
    per_query : dict of str to array
        "qid", and one value per query of each measure, NaN where it has none.
    ties, empty
        As requested.
    level : float or None
        Level of the intervals.
    n_missing : int
        Of a run: judged queries without a document in the run.
    n_unjudged_queries : int
        Of a run: queries of the run without any judgement, left out.
    unit : {"query", "row"}
        What intervals come from: queries, or the rows of a single list.
    n_rows : int
        Number of rows.
    seed : int or None
        Seed of the draws, if it was a number.
    """

    _bars: ClassVar[tuple[str, ...]] = ("value",)

    results: dict[str, MeasureResult]
    per_query: dict[str, NDArray[Any]]
    ties: str = "expected"
    empty: str | int = "skip"
    level: float | None = None
    n_missing: int = 0
    n_unjudged_queries: int = 0
    unit: str = "query"
    n_rows: int = 0
    seed: int | None = None

    def __getitem__(self, name: str) -> float:
        if name not in self.results:
            name = get_measure(name).name
        return self.results[name].value

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one dict per measure, for tables."""
        rows = []
        for name, one in self.results.items():
            row: dict[str, Any] = {"measure": name, "value": one.value}
            if self.level is not None:
                low, high = one.interval or (float("nan"), float("nan"))
                row |= {"low": low, "high": high}
            if self.unit == "row":
                row |= {"rows": self.n_rows, "empty": one.n_empty}
            else:
                row |= {"queries": one.n_queries, "empty": one.n_empty}
            if one.unjudged is not None:
                row["unjudged"] = one.unjudged
            rows.append(row | {"description": one.measure.description_of(self.unit)})
        return rows

    @property
    def notes(self) -> list[str]:
        """How the intervals were found, and which queries have no value."""
        found = self.results.items()
        methods = [(n, one.method, one.draws) for n, one in found if one.interval is not None]
        notes = [] if self.level is None else interval_notes(methods, self.level, self.seed)
        if self.n_missing:
            text = counted(self.n_missing, "judged query")
            notes.append(f"{text} without a document, counted as empty lists")
        if self.n_unjudged_queries:
            notes.append(
                f"{counted(self.n_unjudged_queries, 'query')} without a judgement, left out"
            )
        if any(one.n_empty for one in self.results.values()):
            if self.unit == "row":
                notes.append(
                    "a measure without a value: no row is relevant, or no two labels differ"
                )
            else:
                rule = "are left out of the mean"
                rule = rule if self.empty == "skip" else f"count as {self.empty}"
                notes.append(f"queries without a relevant row, or without a pair, {rule}")
        return notes

    def text(self, width: int = 100) -> str:
        """Return one line per measure, what the measures are, and notes."""
        by_rows = self.unit == "row"
        heads = ["measure", "value"]
        heads += [] if self.level is None else [f"{self.level:.0%} interval"]
        left_out = "left out" if self.empty == "skip" else f"counted {self.empty}"
        heads += ["rows"] if by_rows else ["queries", left_out]
        has_unjudged = any(one.unjudged is not None for one in self.results.values())
        heads += ["unjudged"] * has_unjudged
        rows = []
        for name, one in self.results.items():
            cells = [name, number_text(one.value)]
            cells += [] if self.level is None else [one.interval_text]
            counts = [self.n_rows] if by_rows else [one.n_queries, one.n_empty]
            cells += [f"{count:,}" for count in counts]
            rows.append(cells + ([] if one.unjudged is None else [f"{one.unjudged:.1%}"]))
        meanings = [
            f"{name}: {one.measure.description_of(self.unit)}" for name, one in self.results.items()
        ]
        return "\n".join([*text_table(heads, rows, width=width), *meanings, *self.notes])

    def worst(self, count: int, width: int = 100) -> str:
        """Return the queries with the worst values of the first measure, as lines of text."""
        name, first = next(iter(self.results.items()))
        values = self.per_query[name]
        order = np.argsort(values if first.measure.higher_is_better else -values, kind="stable")
        known = [query for query in order.tolist() if values[query] == values[query]]
        rows = [
            [
                printable(str(self.per_query["qid"][query]), 40),
                *(number_text(float(self.per_query[other][query])) for other in self.results),
            ]
            for query in known[:count]
        ]
        lines = text_table(["qid", *self.results], rows, width=width)
        return "\n".join([f"queries with the worst {name}", *lines])

    def _title(self) -> str:
        return ", ".join(f"{name} {one.value:.4f}" for name, one in self.results.items())


def _unjudged_share(judged: JudgedLists, ranking: Ranking, depth: int | None) -> float | None:
    """Return the share of unjudged items in the first ``depth`` positions."""
    if judged.judged is None:
        return None
    blocks = ranking.blocks(depth)
    weights = np.ones(min(judged.longest, depth or judged.longest))
    seen = weighted_sum(blocks, np.ones(len(judged.y)), weights, judged.n_queries).sum()
    unknown = weighted_sum(blocks, (~judged.judged).astype(float), weights, judged.n_queries)
    return float(unknown.sum() / seen) if seen else float("nan")


def measure_ranking(
    judged: JudgedLists,
    scores: Floats,
    measures: Measures,
    ties: str = "expected",
    empty: str | int = "skip",
    intervals: bool | float = False,
    resamples: int | None = None,
    random_state: RandomState = 0,
) -> Evaluation:
    """Compute the measures on one ranking, sorting it once; parameters as in `evaluate`."""
    check("evaluate", "ties", ties, one_of(*TIES))
    check("evaluate", "empty", empty, one_of(*EMPTY))
    check("evaluate", "resamples", resamples, none_or(at_least(10)))
    level = None
    if intervals is not False:
        level = 0.95 if intervals is True else intervals
        check("evaluate", "intervals", level, between(0, 1, low_open=True, high_open=True))
        if isinstance(random_state, np.random.Generator):
            random_state = int(random_state.integers(2**62))
    chosen = get_measures(measures, required=True)
    # (documents of a run are part of a collection, and no sample of rows)
    by_rows = judged.n_queries == 1 and judged.retrieved is None
    ranking = Ranking(judged, scores, ties)
    # The deepest first: its sorted lists serve the others.
    deep = sorted(chosen, key=lambda m: -(m.depth or 2**62))
    results: dict[str, MeasureResult] = {}
    values: dict[str, Floats] = {}
    for measure in deep:
        prepared = Prepared(measure, judged, ties=ties, empty=empty)
        found = values[measure.name] = prepared.bound.values(ranking)
        interval = None
        if level is not None and by_rows:
            sampling = RowSampling(level, resamples, random_state, ties, empty)
            interval = row_interval(measure, judged, scores, sampling)
        elif level is not None:
            filled = found if empty == "skip" else np.where(np.isnan(found), float(empty), found)
            how = (prepared.bound.weights, measure.aggregate)
            interval = bootstrap_interval(
                filled, *how, level=level, resamples=resamples, random_state=random_state
            )
        summary, unjudged = prepared.summary(found), _unjudged_share(judged, ranking, measure.depth)
        weights = prepared.bound.weights if measure.aggregate == "pool" else None
        results[measure.name] = measure_result(measure, summary, interval, unjudged, weights)
    results = {m.name: results[m.name] for m in chosen}
    per_query = {"qid": judged.groups.ids} | {m.name: values[m.name] for m in chosen}
    seed = random_state if isinstance(random_state, int) else None
    unit, n_rows = "row" if by_rows else "query", len(judged.y)
    return Evaluation(results, per_query, ties, empty, level, unit=unit, n_rows=n_rows, seed=seed)


def evaluate(
    y: VectorLike,
    scores: VectorLike,
    qid: Groups | VectorLike | None = None,
    measures: Measures = ("ndcg@10",),
    *,
    ids: VectorLike | None = None,
    sample_weight: VectorLike | None = None,
    ties: str = "expected",
    empty: str | int = "skip",
    intervals: bool | float = False,
    resamples: int | None = None,
    random_state: RandomState = 0,
) -> Evaluation:
    """Measure how well scores rank labelled items.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels, higher is more relevant.
    scores : array-like of shape (n_rows,)
        Higher is ranked first, inside its query.
    qid : array-like of shape (n_rows,) or Groups, optional
        Query of every row, any type, any order; None is one query.
    measures : str, Measure, callable, or several of them
        Names as in `crucial.measures.names`.
    ids : array-like of shape (n_rows,), optional
        Names of the items, used only to break ties as trec_eval does.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of rows, for measures over pairs: a pair weighs their product. Other
        measures refuse it.
    ties : {"expected", "trec"}
        "expected": the exact expectation over random order of equal scores. "trec":
        scores compared in single precision, the greater id first among equals (without
        ids: the earlier row), as trec_eval does. Measures over pairs define how ties count
        in either case.
    empty : {"skip", 0, 1}
        How a query without a value (no relevant item, no pair) counts: left out of the
        mean, or filled in (0 as LETOR's scripts do, 1 as LightGBM).
    intervals : bool or float
        Add intervals at this level; True is 0.95. With queries they are the percentiles of a
        bootstrap over queries. Without, they come from the rows: DeLong's for shares of pairs
        such as the AUC, also weighted; else a bootstrap over the rows of each label. A weight
        says how much a row counts, and not how often it was observed.
    resamples : int, optional
        Number of draws of a bootstrap; by default as many as the third digit of the interval
        needs.
    random_state : int, SeedSequence, Generator or None
        Seed of the draws.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> found = evaluate([1, 0, 0, 0], [2.0, 1.0, 1.0, 1.0], ["a", "a", "b", "b"], ["mrr", "auc"])
    >>> found["mrr"], found.results["mrr"].n_empty
    (1.0, 1)
    >>> found = evaluate([1, 1, 1, 0, 0, 0], [6, 5, 3, 4, 2, 1], measures="auc", intervals=True)
    >>> found.results["auc"].interval_text, found.results["auc"].method
    ('0.0880 to 0.9985', 'DeLong from rows, symmetric on the logit scale')
    """
    judged = JudgedLists.from_labels(y, qid, sample_weight=sample_weight, ids=ids)
    values = as_numbers(scores, "scores", len(judged.y))
    return measure_ranking(
        judged, values, measures, ties, empty, intervals, resamples, random_state
    )


# --- Evaluate a run against judged documents


def _table(table: Any, read: Callable[[Any], Any]) -> Any:
    """Return a table with columns as attributes; `_columns` checks these."""
    known = not hasattr(table, "columns") and hasattr(table, "qid") and hasattr(table, "doc")
    return table if known else read(table)


def _words(values: VectorLike, what: str) -> list[str]:
    """Return ids as text."""
    words = np.asarray(values, object).tolist()
    for row, one in enumerate(words):
        if not isinstance(one, str) and is_missing(one):
            raise DataError(f"{what} is missing in row {row}.")
    return [str(one) for one in words]


def _columns(table: Any, what: str, value: str) -> tuple[list[str], list[str], Floats]:
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


def _refuse_twice(keys: Ints, qid: list[str], doc: list[str], what: str) -> None:
    order = np.argsort(keys, kind="stable")
    again = np.flatnonzero(np.diff(keys[order]) == 0)
    if len(again):
        row = int(order[again + 1].min())
        raise DataError(f"{what} has document {doc[row]!r} of query {qid[row]!r} twice, "
                        f"the second time in row {row}.")  # fmt: skip


def judge_run(qrels: Any, run: Any) -> tuple[JudgedLists, Floats, int, int]:
    """Join a run and its judgements: one row per retrieved or judged document.

    Parameters
    ----------
    qrels : object with qid, doc, relevance
        Parallel columns.
    run : object with qid, doc, score
        Parallel columns.

    Returns
    -------
    judged : JudgedLists
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
    judged_query = numbered(judged_qid, queries)
    n_judged_queries = len(queries)
    run_query = numbered(run_qid, queries)
    judged_code, run_code = numbered(judged_doc, docs), numbered(run_doc, docs)
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
    labels = np.concatenate((np.where(found, label[match], 0.0), label[left]))
    is_judged = np.concatenate((found, np.ones(int(left.sum()), bool)))
    judged = JudgedLists(labels, groups, ids=ids, retrieved=retrieved, judged=is_judged)
    n_retrieved = len(np.unique(run_query[known]))
    scores = np.concatenate((score[known], np.zeros(int(left.sum()))))
    return judged, scores, n_judged_queries - n_retrieved, len(queries) - n_judged_queries


def _numbered_groups(numbers: Ints, names: Ids) -> Groups:
    """Group rows by the number of their query; ``names`` has the names by number, ascending."""
    groups = Groups.from_qid(numbers, len(numbers))
    return replace(groups, ids=names[groups.ids])


def _only(judged: JudgedLists, scores: Floats, keep: Bools) -> tuple[JudgedLists, Floats]:
    """Return the documents of a run that are kept for measuring."""
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
        Any form that `crucial.io.as_qrels` accepts: ``{query: {doc: relevance}}``, the path of a
        file, a data frame, an object with the columns qid, doc and relevance.
    run : Run, path, frame or mapping
        Any form that `crucial.io.as_run` accepts: ``{query: {doc: score}}`` and the like. The order
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
    judged, scores, n_missing, n_unjudged = judge_run(_table(qrels, as_qrels), _table(run, as_run))
    keep = np.ones(len(scores), bool)
    if missing == "skip" and judged.retrieved is not None:
        keep &= judged.per_query(judged.retrieved)[judged.codes] > 0
    if unjudged == "drop" and judged.judged is not None:
        keep &= judged.judged
    if not keep.all():
        judged, scores = _only(judged, scores, keep)
    found = measure_ranking(
        judged, scores, measures, ties, empty, intervals, resamples, random_state
    )
    return replace(found, n_missing=n_missing, n_unjudged_queries=n_unjudged)


# --- One number for how well scores agree with labels, higher is better


def agreement_score(
    scores: Floats,
    y: VectorLike,
    qid: VectorLike | None = None,
    sample_weight: VectorLike | None = None,
    measure: MeasureLike | None = None,
) -> float:
    """Return a measure of scores, losses negated, so that higher is better.

    Parameters
    ----------
    scores : array of shape (n_rows,)
    y, qid, sample_weight : labels, queries and weights of the rows
    measure : str, Measure or callable, optional
        Default: 1 - R2, the share of pairs in the right order, ties counted half, averaged over
        queries (the AUC for two labels).

    Examples
    --------
    >>> import numpy as np
    >>> agreement_score(np.array([3.0, 2.0, 1.0]), [1, 0, 1])
    0.5
    """
    labels = check_labels(y, len(scores))
    groups = Groups.from_qid(qid, len(scores))
    weights = check_weights(sample_weight, len(scores))
    if measure is None:
        feedback = LabelFeedback(labels, groups, weight=weights, balance="queries")
        return 1.0 - feedback.r2(scores)
    chosen = get_measure(measure)
    value = float(chosen.prepare(labels, groups, sample_weight=weights)(scores))
    return value if chosen.higher_is_better else -value
