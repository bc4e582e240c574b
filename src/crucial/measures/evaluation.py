"""Evaluate a ranking against labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crucial.data.groups import Groups
from crucial.measures.base import EMPTY, Measure, Prepared
from crucial.measures.intervals import RandomState, bootstrap_interval
from crucial.measures.judged import TIES, Judged, Ranking, as_numbers
from crucial.measures.linear import weighted_sum
from crucial.measures.names import Measures, get_measure, get_measures
from crucial.notebook import HtmlResult
from crucial.parameters import at_least, between, check, one_of
from crucial.types import Floats, VectorLike

__all__ = ["Evaluation", "MeasureResult", "evaluate", "measure_ranking"]


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
        Bootstrap interval over queries, if requested.
    unjudged : float or None
        Of a run: share of documents without a judgement in the positions that count.
    weights : array of shape (n_queries,) or None
        Of a pooled measure: the weight of each query, those without a value included.
    """

    measure: Measure
    value: float
    n_queries: int
    n_empty: int
    interval: tuple[float, float] | None = None
    unjudged: float | None = None
    weights: Floats | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Evaluation(HtmlResult):
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
    """

    _html_bars: ClassVar[Mapping[str, float | None]] = {"value": 1.0}

    results: dict[str, MeasureResult]
    per_query: dict[str, NDArray[Any]]
    ties: str = "expected"
    empty: str | int = "skip"
    level: float | None = None
    n_missing: int = 0
    n_unjudged_queries: int = 0

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
            row |= {"queries": one.n_queries, "empty": one.n_empty}
            if one.unjudged is not None:
                row["unjudged"] = one.unjudged
            rows.append(row | {"description": one.measure.description})
        return rows

    def __str__(self) -> str:
        lines = []
        for row in self.to_rows():
            span = f" [{row['low']:.4f}, {row['high']:.4f}]" if "low" in row else ""
            left = f", {row['empty']} empty" if row["empty"] else ""
            lines.append(
                f"{row['measure']:<16} {row['value']:.4f}{span}  "
                f"({row['queries']} queries{left})  {row['description']}"
            )
        return "\n".join(lines)

    def _html_title(self) -> str:
        return "Evaluation"


def _unjudged_share(judged: Judged, ranking: Ranking, depth: int | None) -> float | None:
    """Return the share of unjudged items in the first ``depth`` positions."""
    if judged.judged is None:
        return None
    blocks = ranking.blocks(depth)
    weights = np.ones(min(judged.longest, depth or judged.longest))
    seen = weighted_sum(blocks, np.ones(len(judged.y)), weights, judged.n_queries).sum()
    unknown = weighted_sum(blocks, (~judged.judged).astype(float), weights, judged.n_queries)
    return float(unknown.sum() / seen) if seen else float("nan")


def measure_ranking(
    judged: Judged,
    scores: Floats,
    measures: Measures,
    *,
    ties: str,
    empty: str | int,
    intervals: bool | float,
    resamples: int,
    random_state: RandomState,
    n_missing: int = 0,
    n_unjudged_queries: int = 0,
) -> Evaluation:
    """Compute the measures on one ranking, sorting it once; parameters as in `evaluate`."""
    check("evaluate", "ties", ties, one_of(*TIES))
    check("evaluate", "empty", empty, one_of(*EMPTY))
    check("evaluate", "resamples", resamples, at_least(1))
    level = None
    if intervals is not False:
        level = 0.95 if intervals is True else intervals
        check("evaluate", "intervals", level, between(0, 1, low_open=True))
        if isinstance(random_state, np.random.Generator):
            random_state = int(random_state.integers(2**62))
    chosen = get_measures(measures)
    ranking = Ranking(judged, scores, ties)
    # The deepest first: its sorted lists serve the others.
    deep = sorted(chosen, key=lambda m: -(m.depth or 2**62))
    results: dict[str, MeasureResult] = {}
    values: dict[str, Floats] = {}
    for measure in deep:
        prepared = Prepared(measure, judged, ties=ties, empty=empty)
        found = values[measure.name] = prepared.bound.values(ranking)
        value, n_queries, n_empty = prepared.summary(found)
        interval = None
        if level is not None:
            filled = found if empty == "skip" else np.where(np.isnan(found), float(empty), found)
            interval = bootstrap_interval(
                filled,
                prepared.bound.weights,
                measure.aggregate,
                level=level,
                resamples=resamples,
                random_state=random_state,
            )
        unjudged = _unjudged_share(judged, ranking, measure.depth)
        results[measure.name] = MeasureResult(
            measure,
            value,
            n_queries,
            n_empty,
            interval,
            unjudged,
            prepared.bound.weights if measure.pools else None,
        )
    return Evaluation(
        {m.name: results[m.name] for m in chosen},
        {"qid": judged.groups.ids} | {m.name: values[m.name] for m in chosen},
        ties,
        empty,
        level,
        n_missing,
        n_unjudged_queries,
    )


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
    resamples: int = 1000,
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
        Bootstrap intervals over queries, at this level; True is 0.95.
    resamples, random_state
        Number of resamples and seed of the bootstrap.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> found = evaluate([1, 0, 0, 0], [2.0, 1.0, 1.0, 1.0], ["a", "a", "b", "b"], ["mrr", "auc"])
    >>> found["mrr"], found.results["mrr"].n_empty
    (1.0, 1)
    """
    judged = Judged.from_labels(y, qid, sample_weight=sample_weight, ids=ids)
    return measure_ranking(
        judged,
        as_numbers(scores, "scores", len(judged.y)),
        measures,
        ties=ties,
        empty=empty,
        intervals=intervals,
        resamples=resamples,
        random_state=random_state,
    )
