"""Cross-validation by whole queries, its results, and scorers for scikit-learn."""

from __future__ import annotations

import math
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.metadata_routing import MetadataRequest
from sklearn.utils.parallel import Parallel, delayed

from crucial.data.groups import Groups
from crucial.data.instances import Instances, as_table
from crucial.errors import DataWarning
from crucial.feedback.labels import check_labels, check_weights
from crucial.inspection.shape_functions import inner_ranker
from crucial.lab.comparison import Row
from crucial.lab.protocols import Fold, Rows, make_folds
from crucial.lab.rankers import Adapter, Estimator
from crucial.measures.base import Measure, Prepared, summarise
from crucial.measures.evaluation import (
    MeasureResult,
    agreement_score,
    interval_notes,
    measure_result,
)
from crucial.measures.intervals import (
    Interval,
    RowSampling,
    bootstrap_interval,
    generator,
    row_interval,
    within_folds,
)
from crucial.measures.lists import JudgedLists, as_numbers
from crucial.measures.names import CustomMeasure, MeasureLike, Measures, get_measure, get_measures
from crucial.parameters import check, flag, lookup, none_or, nonzero, one_of
from crucial.rankers.base import warn_caller
from crucial.results import Frame, Result, as_frame, columns_of
from crucial.types import Floats, Ints, TableLike, VectorLike
from crucial.wording import counted

# --- Results of a cross-validation: per query, per fold, and over all


#: Columns of a table by name; they are of different types.
Columns: TypeAlias = dict[str, NDArray[Any]]

LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class FoldReport:
    """Scores and times of a fold.

    Attributes
    ----------
    fold : Fold
    estimator : object or None
        Fitted to the training rows, if it is kept.
    scores : array like ``fold.test``
        Scores of the test rows.
    fit_seconds, predict_seconds : float
    warned : list of (category, text)
        What the fit and the scores warned of.
    """

    fold: Fold
    estimator: Estimator | None
    scores: Floats
    fit_seconds: float
    predict_seconds: float
    warned: list[tuple[type[Warning], str]]


@dataclass(frozen=True, eq=False, repr=False)
class CrossValidation(Result):
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

    _bars: ClassVar[tuple[str, ...]] = ("value",)

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
        """The unit of the intervals: "query" or "row"."""
        return "query" if self.has_qid else "row"

    @property
    def notes(self) -> list[str]:
        """The methods of the intervals, with the draws and their seed."""
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
            ends = zip(("low", "high"), one.interval or (math.nan, math.nan))
            folds = {"fold_std": _spread(self.per_fold[name]), "folds": self.n_folds}
            about = {"description": one.measure.description_of(self.unit)}
            head = {"measure": name, "value": one.value, **dict(ends)}
            rows.append({**head, **folds, **self._counts(one), **about})
        return rows

    def _counts(self, one: MeasureResult) -> Row:
        """Return how many queries count, or rows, and how many queries or folds have no value."""
        if self.has_qid:
            return {"queries": one.n_queries, "empty": one.n_empty}
        return {"rows": int(self.per_fold["test_rows"].sum()), "empty": one.n_empty}

    def to_frame(self, by: str = "measure") -> Frame:
        """Return one row per measure, fold or query."""
        return as_frame(columns_of(self.to_rows(by)))

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
        return "\n".join([*lines, *notes, *self.notes])


def _summarised(
    reports: Sequence[FoldReport],
    y: Floats,
    groups: Groups,
    has_qid: bool,
    measures: Sequence[Measure],
    seed: int,
) -> tuple[dict[str, MeasureResult], Columns, Columns]:
    """Measure the test scores of all folds at once, so that one rule applies to all.

    Without queries, all test rows of a fold are one list. Returns the results, and the columns per
    fold and per query.
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
    judged = JudgedLists.from_labels(y[rows], lists)
    for measure in measures:
        name = measure.name
        prepared = Prepared(measure, judged)
        values = per_query[name] = prepared.per_query(scores)
        weights = prepared.bound.weights
        parts = [np.flatnonzero(fold_of == f) for f in range(len(reports))]
        per_fold[name] = np.array([_value(values, weights, part, measure) for part in parts])
        interval = (
            _interval_of_queries(values, weights, query_of, measure, seed)
            if has_qid
            else row_interval(measure, judged, scores, RowSampling(LEVEL, None, seed), rows)
        )
        results[name] = measure_result(measure, prepared.summary(values), interval)
    return results, per_fold, per_query


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
        each = np.where(whole > 0, amount if measure.aggregate == "sum" else amount / whole, np.nan)
    how = measure.aggregate if measure.aggregate in ("sum", "geometric") else "pool"
    return bootstrap_interval(each, whole, how, level=LEVEL, random_state=seed)


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


# --- Cross-validation by whole queries


def cross_validate(
    estimator: Estimator,
    X: TableLike,
    y: VectorLike,
    *,
    qid: VectorLike | None = None,
    cv: object = 5,
    measures: Measures = ("ndcg@10",),
    sample_weight: VectorLike | None = None,
    random_state: int | np.random.Generator | None = 0,
    n_jobs: int | None = None,
    return_estimators: bool = False,
) -> CrossValidation:
    """Fit on some queries and measure on the others, until all have been measured.

    Parameters
    ----------
    estimator : object with fit and predict
        Cloned for every fold. If its ``fit`` takes ``qid``, it gets it; so does a ranker
        inside a scikit-learn pipeline or search. A ranker of LightGBM, XGBoost or CatBoost gets
        its rows query by query, with ``group`` or ``group_id``. Otherwise it is a
        comparator, fitted on rows and labels alone: a regressor ranks by its
        predictions, a classifier by its decision value, or by the expected label where there
        are more than two.
    X : array, sparse matrix or frame of shape (n_rows, n_features)
    y : array of shape (n_rows,)
        Labels, higher is better.
    qid : array of shape (n_rows,), optional
        Query of each row, of any type, in any order. A query is never divided. Without it,
        rows are dealt out label by label, and those of a fold are ranked as one list.
    cv : int, splitter, array of shape (n_rows,), or iterable of (train, test)
        Number of folds; a splitter of scikit-learn, which gets the queries as groups; a
        fold number (or name) for each row, where rows of fold -1 are trained on in every
        fold and never tested; or row numbers (or masks), fold by fold.
    measures : str, Measure, callable, or several of them
        Names as in `crucial.measures.names`.
    sample_weight : array of shape (n_rows,), optional
        Weights for ``fit``. The measures count all test rows equally.
    random_state : int, Generator or None
        Deals out the queries, and draws them for the intervals. The same number makes the
        same folds for any estimator, so that two results can be compared query by query.
    n_jobs : int, optional
        Folds computed at the same time, in processes of their own. None computes one after
        the other, which leaves all cores to the estimator.
    return_estimators : bool
        Keep the fitted estimators.

    Returns
    -------
    CrossValidation
        ``result["ndcg@10"]`` is the value over all test queries; ``print(result)`` shows it
        with its interval and every fold.

    Examples
    --------
    >>> from crucial import RankBoost, make_letor
    >>> data = make_letor(n_queries=20, docs_per_query=30, n_features=8)
    >>> found = cross_validate(RankBoost(n_estimators=10), data.X, data.y, qid=data.qid, cv=4)
    >>> sorted(found.per_query), len(found.per_query["qid"]), len(found.per_fold["fold"])
    (['fold', 'ndcg@10', 'qid'], 20, 4)
    """
    check("cross_validate", "return_estimators", return_estimators, flag)
    check("cross_validate", "n_jobs", n_jobs, none_or(nonzero))
    chosen = get_measures(measures, required=True)
    table = as_table(X)
    n_rows = table.n_rows if isinstance(table, Instances) else table.shape[0]
    labels = check_labels(y, n_rows)
    groups = Groups.from_qid(qid, len(labels))
    weights = check_weights(sample_weight, len(labels))
    adapter = Adapter.of(estimator, qid is not None, weights is not None)
    for measure in chosen:
        measure.prepare(labels, groups)  # labels it cannot read are refused before any fit
    random = generator("cross_validate", random_state)
    folds = make_folds(cv, labels, groups, qid is not None, random)
    rows = Rows(table, labels, groups.ids[groups.codes], weights)
    reports = list(
        Parallel(n_jobs=n_jobs)(
            delayed(fit_fold)(adapter, rows, fold, return_estimators) for fold in folds
        )
    )
    _warn_once(reports)
    seed = random_state if isinstance(random_state, int) else None
    drawn = int(random.integers(2**62)) if seed is None else seed
    tables = _summarised(reports, labels, groups, qid is not None, chosen, drawn)
    kept = [one.estimator for one in reports] if return_estimators else None
    return CrossValidation(*tables, _call(estimator), qid is not None, LEVEL, kept, seed)


def fit_fold(adapter: Adapter, rows: Rows, fold: Fold, keep: bool) -> FoldReport:
    """Fit a clone to the training rows of a fold and score its test rows."""
    with warnings.catch_warnings(record=True) as caught:
        try:
            ranker = replace(adapter, estimator=clone(adapter.estimator, safe=False))
            seconds = ranker.fit(rows.take(fold.train))
            began = time.perf_counter()
            scores = ranker.scores(rows.take(fold.test))
        except Exception as error:
            error.add_note(f"(in fold {fold.name!r} of cross_validate)")
            raise
    warned = [(one.category, str(one.message)) for one in caught]
    kept = ranker.estimator if keep else None
    return FoldReport(fold, kept, scores, seconds, time.perf_counter() - began, warned)


def _warn_once(reports: Sequence[FoldReport]) -> None:
    """Repeat each warning of the folds once, with the number of folds that had it."""
    counts = Counter(one for report in reports for one in dict.fromkeys(report.warned))
    for (category, text), count in counts.items():
        warnings.warn(
            f"{text} (In {count} of {counted(len(reports), 'fold')}.)", category, stacklevel=3
        )


# --- Measures after every round, computed for many rounds at a time


#: Scores in memory at a time.
_AT_ONCE = 1_000_000


def curve(measure: Measure, part: Rows, scores: Floats) -> Floats:
    """Return the value of a measure for every row of a table of scores, one row per round.

    Equal to ``measure(part.y, row, part.groups)`` for each row, and faster: the rounds are measured
    at once, as if they were other queries.
    """
    n_rounds, n_rows = scores.shape
    if isinstance(measure, CustomMeasure):  # (it may look at the names of the queries)
        prepared = measure.prepare(part.y, part.groups)
        return np.array([prepared(row) for row in scores])
    groups = part.groups
    n_groups = groups.n_groups
    # Queries of round r follow those of round r - 1; inside, the order stays.
    starts = groups.starts[:-1][None, :] + n_rows * np.arange(n_rounds)[:, None]
    order = groups.order[None, :] + n_rows * np.arange(n_rounds)[:, None]
    many = Groups(
        np.arange(n_rounds * n_groups),
        np.append(starts.ravel(), n_rounds * n_rows).astype(np.int64),
        order.ravel(),
    )
    prepared = measure.prepare(np.tile(part.y, n_rounds), many)
    values = prepared.per_query(scores.ravel()).reshape(n_rounds, n_groups)
    weights = prepared.bound.weights
    if measure.aggregate == "mean" and not np.isnan(values).any():
        return np.asarray(values.mean(axis=1))  # (as below, at once)
    inside = None if weights is None else weights[:n_groups]
    return np.array([summarise(row, inside, measure.aggregate, "skip")[0] for row in values])


def curves(
    rounds: Iterable[Floats], part: Rows, measures: Iterable[Measure]
) -> tuple[dict[str, Floats], int]:
    """Return the value of every measure after every round, and the number of rounds."""
    source, chosen = iter(rounds), list(measures)
    at_once = max(1, _AT_ONCE // max(1, len(part.y)))
    found: dict[str, list[Floats]] = {one.name: [] for one in chosen}
    count = 0
    while block := list(islice(source, at_once)):
        scores = np.stack([as_numbers(row, "scores", len(part.y)) for row in block])
        for one in chosen:
            found[one.name].append(curve(one, part, scores))
        count += len(block)
    return {
        name: np.concatenate(some) if some else np.empty(0) for name, some in found.items()
    }, count


# --- Scorers for scikit-learn's searches and cross-validation, by the names of measures


_HOW = (
    "Switch on scikit-learn's metadata routing, sklearn.set_config(enable_metadata_routing=True), "
    "and pass the queries: search.fit(X, y, qid=qid), or params={'qid': qid} of cross_val_score. "
    "cv=GroupKFold(5).set_split_request(groups='qid') keeps queries whole."
)


class RankingScorer:
    """A measure as scikit-learn's searches call it; `make_scorer` makes it.

    Losses are negated, so that more is better. ``qid`` is requested by scikit-learn's metadata
    routing without being asked for; ``sample_weight`` is, after
    ``set_score_request(sample_weight=True)``.

    Attributes
    ----------
    measure : Measure
    """

    def __init__(self, measure: MeasureLike) -> None:
        self.measure = get_measure(measure)
        self._request: dict[str, bool | str | None] = {"qid": True, "sample_weight": None}
        self._warned = False  # (once per scorer: scikit-learn repeats the warnings of all folds)

    def __call__(
        self,
        estimator: Estimator,
        X: TableLike,
        y: VectorLike,
        *,
        qid: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> float:
        """Measure a fitted estimator on rows; NaN, with a warning, where it needs their queries.

        Parameters
        ----------
        estimator : fitted estimator
            A ranker, a pipeline around one, or a regressor or classifier to rank by.
        X, y : rows and their labels
        qid : array of shape (n_rows,), optional
        sample_weight : array of shape (n_rows,), optional
            Weights of rows, for measures over pairs.
        """
        name = self.measure.name
        if qid is None and getattr(inner_ranker(estimator).ranker, "fitted_with_qid_", False):
            self._warn(
                f"{name} is NaN: the ranker was fitted with queries, and qid was not routed."
            )
            return math.nan
        if qid is None and self.measure.depth is not None:
            self._warn(f"qid was not routed to {name}: all rows of a fold are one list.")
        rows = Rows(X, check_labels(y), None if qid is None else np.asarray(qid))
        scores = Adapter.of(estimator, qid is not None, False).scores(rows)
        return agreement_score(scores, y, qid, sample_weight, self.measure)

    def _warn(self, problem: str) -> None:
        if not self._warned:
            warn_caller(f"{problem} {_HOW}", DataWarning)
        self._warned = True

    def get_metadata_routing(self) -> Any:
        """Return the metadata that scikit-learn routes to the scorer."""
        request = MetadataRequest(owner=self)
        for name, wanted in self._request.items():
            request.score.add_request(param=name, alias=wanted)
        return request

    def set_score_request(self, **requests: bool | str | None) -> Self:
        """Change what is requested: True, False, None (an error if passed), or another name.

        Parameters
        ----------
        **requests
            ``qid`` and ``sample_weight``.
        """
        for name, wanted in requests.items():
            lookup(self._request, name, "metadata of a scorer")
            self._request[name] = wanted
        return self

    def __repr__(self) -> str:
        return f"make_scorer({self.measure.name!r})"


def make_scorer(measure: MeasureLike = "ndcg@10") -> RankingScorer:
    """Return a scorer for ``scoring=`` of GridSearchCV, cross_val_score and their like.

    Parameters
    ----------
    measure : str, Measure or callable
        Names as in `crucial.measures.names`. Losses are negated.

    Returns
    -------
    RankingScorer

    Examples
    --------
    >>> import sklearn
    >>> from sklearn.model_selection import GridSearchCV, GroupKFold
    >>> from crucial import RankBoost, make_letor
    >>> data = make_letor(n_queries=12, docs_per_query=20, n_features=4)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     search = GridSearchCV(
    ...         RankBoost(n_estimators=5),
    ...         {"learning_rate": [0.1, 1.0]},
    ...         scoring=make_scorer("ndcg@10"),
    ...         cv=GroupKFold(3).set_split_request(groups="qid"),
    ...     ).fit(data.X, data.y, qid=data.qid)
    >>> bool(0.0 < search.best_score_ < 1.0)
    True
    """
    return RankingScorer(measure)
