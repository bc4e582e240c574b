"""Cross-validation by whole queries."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from crucial.data.groups import Groups
from crucial.data.instances import Instances, Table, as_table, take_rows
from crucial.feedback.labels import check_labels, check_weights
from crucial.lab.adapter import Adapter, Estimator
from crucial.lab.cross_validation_result import CrossValidation, FoldReport, summarise_folds
from crucial.lab.folds import Fold, make_folds
from crucial.measures.intervals import generator
from crucial.measures.lists import as_numbers
from crucial.measures.names import Measures, get_measures
from crucial.parameters import check, flag, none_or, nonzero
from crucial.types import Floats, Ints, TableLike, VectorLike
from crucial.wording import counted

__all__ = ["cross_validate"]


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
    rows = _Rows(table, _targets(y, labels), groups.ids[groups.codes], weights)
    work = delayed(_one_fold)
    runs: list[_FoldRun] = list(
        Parallel(n_jobs=n_jobs)(work(adapter, rows, fold, return_estimators) for fold in folds)
    )
    _warn_once(runs)
    return summarise_folds(
        [one.report for one in runs],
        labels,
        groups,
        chosen,
        estimator=estimator,
        has_qid=qid is not None,
        seed=random_state if isinstance(random_state, int) else random,
        estimators=[one.estimator for one in runs] if return_estimators else None,
    )


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of all folds, and what ``fit`` may take beside them."""

    X: Table
    y: NDArray[np.generic]
    qid: NDArray[np.generic]
    weight: Floats | None

    def take(self, rows: Ints) -> _Rows:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return _Rows(take_rows(self.X, rows), self.y[rows], self.qid[rows], weight)


@dataclass(frozen=True, eq=False)
class _FoldRun:
    """The outcome of one fold."""

    report: FoldReport
    estimator: Estimator | None
    warned: list[tuple[type[Warning], str]]


def _one_fold(adapter: Adapter, rows: _Rows, fold: Fold, keep: bool) -> _FoldRun:
    """Fit a clone on the training rows and score the test rows."""
    with warnings.catch_warnings(record=True) as caught:
        try:
            fresh = adapter.cloned()
            began = time.perf_counter()
            part = rows.take(fold.train)
            fresh.fit(part.X, part.y, part.qid, part.weight)
            fitted = time.perf_counter()
            part = rows.take(fold.test)
            scores = as_numbers(fresh.scores(part.X, part.qid, part.weight), "scores", len(part.y))
        except Exception as error:
            error.add_note(f"(in fold {fold.name!r} of cross_validate)")
            raise
    report = FoldReport(fold, scores, fitted - began, time.perf_counter() - fitted)
    warned = [(one.category, str(one.message)) for one in caught]
    return _FoldRun(report, fresh.estimator if keep else None, warned)


def _warn_once(runs: list[_FoldRun]) -> None:
    """Repeat each warning of the folds once, with the number of folds that had it."""
    counts = Counter(one for run in runs for one in dict.fromkeys(run.warned))
    for (category, text), count in counts.items():
        warnings.warn(
            f"{text} (In {count} of {counted(len(runs), 'fold')}.)", category, stacklevel=3
        )


def _targets(y: VectorLike, labels: Floats) -> NDArray[np.generic]:
    """Return labels as they came if they are integers, which classifiers need."""
    raw = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    return raw.reshape(len(labels)) if raw.dtype.kind in "iub" else labels
