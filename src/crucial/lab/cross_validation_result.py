"""Results of a cross-validation: per query, per fold, and over all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crucial.data.groups import Groups
from crucial.lab.adapter import Estimator
from crucial.lab.folds import Fold
from crucial.lab.tidy import Row, columns_of
from crucial.measures.base import Measure, Prepared, summarise
from crucial.measures.evaluation import MeasureResult, interval_notes, measure_result
from crucial.measures.intervals import Interval, bootstrap_interval
from crucial.measures.lists import JudgedLists
from crucial.measures.names import get_measure
from crucial.measures.row_intervals import RowSampling, row_interval, within_folds
from crucial.notebook import HtmlResult, HtmlTable
from crucial.parameters import check, one_of
from crucial.types import Floats, Ints
from crucial.wording import counted

__all__ = ["CrossValidation", "FoldReport", "summarise_folds"]


#: Columns of a table by name; they are of different types.
Columns: TypeAlias = dict[str, NDArray[Any]]

LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class FoldReport:
    """Scores and times of a fold.

    Attributes
    ----------
    fold : Fold
    scores : array like ``fold.test``
        Scores of the test rows.
    fit_seconds, predict_seconds : float
    """

    fold: Fold
    scores: Floats
    fit_seconds: float
    predict_seconds: float


@dataclass(frozen=True, eq=False, repr=False)
class CrossValidation(HtmlResult):
    """Result of `crucial.cross_validate`; ``result["ndcg@10"]`` is the value.

    Attributes
    ----------
    results : dict of str to MeasureResult
        By name of the measure: value over all test queries, interval, number of queries
        that count and that have no value.
    per_fold : dict of str to array
        "fold", "train_queries", "test_queries", "train_rows", "test_rows", "fit_seconds",
        "predict_seconds" and the value of each measure.
    per_query : dict of str to array
        "fold", "qid" and the value of each measure, NaN where it has none. Without queries
        every fold is one list, whose "qid" is the name of the fold.
    estimator : str
        The estimator, as text.
    has_qid : bool
        Whether queries were dealt out, or rows.
    level : float
        Confidence level of the intervals: bootstrap over queries; without queries from the
        rows, within folds (DeLong's for shares of pairs, else a bootstrap over the rows of each
        fold and label). Neither accounts for other training data.
    estimators : list or None
        The fitted estimators, if asked for.
    seed : int or None
        Seed of the draws.
    """

    _html_bars: ClassVar[Mapping[str, float | None]] = {"value": 1.0}

    results: dict[str, MeasureResult]
    per_fold: Columns
    per_query: Columns
    estimator: str
    has_qid: bool
    level: float = LEVEL
    estimators: list[Estimator | None] | None = None
    seed: int | None = None

    @property
    def unit(self) -> str:
        """What intervals come from: "query" or "row"."""
        return "query" if self.has_qid else "row"

    def notes(self) -> list[str]:
        """Return how the intervals were found, with the draws and their seed."""
        found = [
            (name, one.method if self.has_qid else within_folds(one.method), one.draws)
            for name, one in self.results.items()
            if one.interval is not None
        ]
        lines = interval_notes(found, self.level, self.seed)
        return [f"{line}; models of other training data are not accounted for" for line in lines]

    def __getitem__(self, name: str) -> float:
        if name not in self.results:
            name = get_measure(name).name
        return self.results[name].value

    @property
    def mean(self) -> dict[str, float]:
        """Value of each measure over all test queries."""
        return {name: one.value for name, one in self.results.items()}

    @property
    def interval(self) -> dict[str, tuple[float, float] | None]:
        """Interval of each measure; None where too few queries have a value."""
        return {name: one.interval for name, one in self.results.items()}

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return len(self.per_fold["fold"])

    def to_rows(self, by: str = "measure") -> list[Row]:
        """Return one dict per measure, fold or query, for tables and frames."""
        check("to_rows", "by", by, one_of("measure", "fold", "query"))
        if by != "measure":
            columns = self.per_fold if by == "fold" else self.per_query
            lists = [column.tolist() for column in columns.values()]
            return [dict(zip(columns, row)) for row in zip(*lists)]
        rows = []
        for name, one in self.results.items():
            low, high = one.interval or (math.nan, math.nan)
            rows.append(
                {
                    "measure": name,
                    "value": one.value,
                    "low": low,
                    "high": high,
                    "fold_std": _spread(self.per_fold[name]),
                    "folds": self.n_folds,
                    **self._counts(one),
                    "description": one.measure.description_of(self.unit),
                }
            )
        return rows

    def _counts(self, one: MeasureResult) -> Row:
        """Return how many queries count, or rows, and how many queries or folds have no value."""
        if self.has_qid:
            return {"queries": one.n_queries, "empty": one.n_empty}
        return {"rows": int(self.per_fold["test_rows"].sum()), "empty": one.n_empty}

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={one.value:.4f}" for name, one in self.results.items())
        return f"CrossValidation({counted(self.n_folds, 'fold')}: {values})"

    def __str__(self) -> str:
        per_fold = self.per_fold
        held = "test_queries" if self.has_qid else "test_rows"
        what = "held-out query" if self.has_qid else "held-out row"
        lines = [
            f"{self.estimator}: {counted(self.n_folds, 'fold')}, "
            f"{counted(int(per_fold[held].sum()), what)}, "
            f"{per_fold['fit_seconds'].sum():.1f} s of fitting",
            f"{'measure':<16} value   {self.level:.0%} interval      by fold",
        ]
        notes = []
        for row in self.to_rows():
            span = self.results[row["measure"]].interval_text
            folds = _in_a_line(per_fold[row["measure"]])
            lines.append(f"{row['measure']:<16} {row['value']:.4f}  {span:<17} {folds}")
            left = f"; without a value and left out: {row['empty']}" if row["empty"] else ""
            notes.append(f"{row['measure']}: {row['description']}{left}")
        return "\n".join([*lines, *notes, *self.notes()])

    def _html_title(self) -> str:
        return str(self).partition("\n")[0]

    def _html_tables(self) -> list[HtmlTable]:
        by_measure, by_fold = (columns_of(self.to_rows(by)) for by in ("measure", "fold"))
        folds = {name: cells for name, cells in by_fold.items() if "seconds" not in name}
        bars = dict.fromkeys(self.results, 1.0)
        return [HtmlTable(by_measure, self._html_bars), HtmlTable(folds, bars, heading="By fold")]

    def _html_notes(self) -> list[str]:
        return self.notes()


def summarise_folds(
    reports: Sequence[FoldReport],
    y: Floats,
    groups: Groups,
    measures: Sequence[Measure],
    *,
    estimator: Estimator,
    has_qid: bool,
    seed: int | np.random.Generator,
    estimators: list[Estimator | None] | None = None,
) -> CrossValidation:
    """Measure the test scores of all folds at once, so that one rule applies to all.

    Parameters
    ----------
    reports : sequence of FoldReport
    y, groups : labels and queries of all rows
    measures : sequence of Measure
    estimator : object
        Shown as text.
    has_qid : bool
        Without queries, all test rows of a fold are one list.
    seed : int or Generator
        Seed of the draws.
    estimators : list, optional
        The fitted estimators, to keep.
    """
    codes = groups.codes
    rows = np.concatenate([one.fold.test for one in reports])
    scores = np.concatenate([one.scores for one in reports])
    number = np.repeat(np.arange(len(reports)), [len(one.fold.test) for one in reports])
    # A list is a query of a fold: a splitter may test the same query more than once.
    lists = Groups.from_qid(number * groups.n_groups + codes[rows], len(rows))
    fold_of, query_of = np.divmod(lists.ids, groups.n_groups)
    names = np.array([one.fold.name for one in reports])
    per_query: Columns = {"fold": names[fold_of]}
    per_query["qid"] = groups.ids[query_of] if has_qid else per_query["fold"]
    per_fold = _describe(reports, names, codes, has_qid)
    results = {}
    drawn = seed if isinstance(seed, int) else int(seed.integers(2**62))
    judged = JudgedLists.from_labels(y[rows], lists)
    for measure in measures:
        name = measure.name
        prepared = Prepared(measure, judged)
        values = per_query[name] = prepared.per_query(scores)
        weights = prepared.bound.weights
        parts = [np.flatnonzero(fold_of == f) for f in range(len(reports))]
        per_fold[name] = np.array([_value(values, weights, part, measure) for part in parts])
        interval = (
            _interval_of_queries(values, weights, query_of, measure, drawn)
            if has_qid
            else row_interval(measure, judged, scores, RowSampling(LEVEL, None, drawn), rows)
        )
        results[name] = measure_result(measure, prepared.summary(values), interval)
    shown = drawn if isinstance(seed, int) else None
    return CrossValidation(
        results, per_fold, per_query, _call(estimator), has_qid, LEVEL, estimators, shown
    )


def _value(values: Floats, weights: Floats | None, part: Ints, measure: Measure) -> float:
    """Return one number over the queries of a fold."""
    inside = None if weights is None else weights[part]
    return summarise(values[part], inside, measure.aggregate, "skip")[0]


def _describe(
    reports: Sequence[FoldReport], names: NDArray[np.generic], codes: Ints, has_qid: bool
) -> Columns:
    """Return size and time of every fold."""
    columns: Columns = {"fold": names}
    for part in ("train", "test"):
        rows = [getattr(one.fold, part) for one in reports]
        columns[f"{part}_queries"] = np.array(
            [len(np.unique(codes[r])) if has_qid else 1 for r in rows]
        )
        columns[f"{part}_rows"] = np.array([len(r) for r in rows])
    columns["fit_seconds"] = np.array([one.fit_seconds for one in reports])
    columns["predict_seconds"] = np.array([one.predict_seconds for one in reports])
    return columns


def _interval_of_queries(
    values: Floats, weights: Floats | None, query_of: Ints, measure: Measure, seed: int
) -> Interval | None:
    """Return the bootstrap interval; a query tested more than once is drawn as a whole."""
    _, query = np.unique(query_of, return_inverse=True)
    n_queries = int(query.max()) + 1
    there = ~np.isnan(values)
    mass = there.astype(np.float64)
    if measure.aggregate == "pool" and weights is not None:
        mass = mass * weights
    amount = np.bincount(query, np.where(there, values, 0.0) * mass, n_queries)
    whole = np.bincount(query, mass, n_queries).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        if measure.aggregate == "sum":
            each = np.where(whole > 0, amount, np.nan)
            return bootstrap_interval(each, None, "sum", level=LEVEL, random_state=seed)
        return bootstrap_interval(amount / whole, whole, "pool", level=LEVEL, random_state=seed)


def _spread(values: Floats) -> float:
    """Return the standard deviation of the folds that have a value."""
    there = values[~np.isnan(values)]
    return float(there.std(ddof=1)) if len(there) > 1 else math.nan


def _in_a_line(values: Floats) -> str:
    """Return the values of the folds as text, or their range if they are many."""
    if len(values) <= 10:
        return " ".join(f"{value:.4f}" for value in values)
    return f"{np.nanmin(values):.4f} to {np.nanmax(values):.4f}"


def _call(estimator: Estimator) -> str:
    """Return the estimator in one line."""
    text = " ".join(repr(estimator).split())
    return text if len(text) <= 120 else f"{type(estimator).__name__}(...)"
