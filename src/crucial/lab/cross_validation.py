"""Cross-validation by whole queries, with no switch to set."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.errors import ParameterError
from crucial.feedback.labels import check_labels, check_weights
from crucial.lab.comparators import Handover, fit, scores_of
from crucial.lab.cross_validation_result import CrossValidation, FoldReport, summarise_folds
from crucial.lab.folds import Fold, make_folds
from crucial.measures.base import Measure
from crucial.measures.judged import as_numbers
from crucial.measures.names import get_measure
from crucial.types import Floats, Ints
from crucial.validation import check_flag, check_integer, refuse

__all__ = ["cross_validate"]


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    qid: Any = None,
    cv: Any = 5,
    measures: Any = ("ndcg@10",),
    sample_weight: Any = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    return_estimators: bool = False,
) -> CrossValidation:
    """Fit on some queries, measure on the others, until all have been measured.

    Parameters
    ----------
    estimator : object with fit and predict
        Cloned for every fold. If its ``fit`` takes ``qid``, it gets it; so does a ranker
        inside a scikit-learn pipeline or search. Otherwise it is a comparator, fitted on
        rows and labels alone: a regressor ranks by its predictions, a classifier by its
        decision value, or by the expected label where there are more than two.
    X : array, sparse matrix or frame of shape (n_rows, n_features)
    y : array of shape (n_rows,)
        Labels, higher is better.
    qid : array of shape (n_rows,), optional
        Query of every row, of any type, in any order. A query is never divided. Without,
        rows are dealt out label by label, and those of a fold are ranked as one list.
    cv : int, splitter, array of shape (n_rows,), or iterable of (train, test)
        Number of folds; a splitter of scikit-learn's, which is given the queries as
        groups; a fold number (or name) for every row, where rows of fold -1 are learned
        from every time and never judged; or row numbers (or masks), fold by fold.
    measures : str, Measure, callable, or several of them
        Names as in `crucial.measures.names`.
    sample_weight : array of shape (n_rows,), optional
        Weights for ``fit``. The measures count every held-out row alike.
    random_state : int, Generator or None
        Deals the queries, and draws them for the intervals. The same number deals alike
        for any estimator, so that two results can be compared query by query.
    n_jobs : int, optional
        Folds at the same time, in processes of their own; None is one after the other,
        which leaves all cores to the estimator.
    return_estimators : bool
        Keep the fitted estimators.

    Returns
    -------
    CrossValidation
        ``result["ndcg@10"]`` is the value over all held-out queries; ``print(result)``
        shows it with its interval and every fold.

    Examples
    --------
    >>> from crucial import RankBoost, make_letor
    >>> data = make_letor(n_queries=20, docs_per_query=30, n_features=8)
    >>> found = cross_validate(RankBoost(n_estimators=10), data.X, data.y, qid=data.qid, cv=4)
    >>> sorted(found.per_query), len(found.per_query["qid"]), len(found.per_fold["fold"])
    (['fold', 'ndcg@10', 'qid'], 20, 4)
    """
    check_flag("cross_validate", "return_estimators", return_estimators)
    _check_jobs(n_jobs)
    chosen = _chosen(measures)
    table = _table(X)
    n_rows = table.n_rows if isinstance(table, Instances) else table.shape[0]
    labels = check_labels(y, n_rows)
    groups = Groups.from_qid(qid, len(labels))
    weights = check_weights(sample_weight, len(labels))
    handover = Handover.to(estimator, qid is not None, weights is not None)
    for measure in chosen.values():
        measure.prepare(labels, groups)  # labels it cannot read are refused before any fit
    random = _generator(random_state)
    folds = make_folds(cv, labels, groups, qid is not None, random)
    beside = {"qid": groups.ids[groups.codes], "sample_weight": weights}
    targets = _targets(y, labels)
    work = delayed(_one_fold)
    done: list[_Done] = list(
        Parallel(n_jobs=n_jobs)(
            work(estimator, table, targets, beside, fold, handover, return_estimators)
            for fold in folds
        )
    )
    _warn_once(done)
    reports = [
        FoldReport(fold, one.scores, one.fit_seconds, one.predict_seconds)
        for fold, one in zip(folds, done)
    ]
    return summarise_folds(
        reports,
        labels,
        groups,
        chosen,
        estimator=estimator,
        has_qid=qid is not None,
        seed=int(random.integers(2**62)),
        estimators=[one.estimator for one in done] if return_estimators else None,
    )


@dataclass(frozen=True, eq=False)
class _Done:
    """What comes back from a fold."""

    scores: Floats
    fit_seconds: float
    predict_seconds: float
    estimator: Any
    warned: list[tuple[type[Warning], str]]


def _one_fold(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    beside: dict[str, NDArray[Any] | None],
    fold: Fold,
    handover: Handover,
    keep: bool,
) -> _Done:
    """Fit a clone on the training rows and score the test rows."""
    train, test = fold.train, fold.test
    with warnings.catch_warnings(record=True) as caught:
        try:
            made = clone(estimator, safe=False)
            began = time.perf_counter()
            fit(made, take_rows(X, train), y[train], handover, _part(beside, train))
            fitted = time.perf_counter()
            scores = scores_of(made, take_rows(X, test), handover, _part(beside, test))
            scores = as_numbers(scores, "scores", len(test))
        except Exception as error:
            error.add_note(f"(in fold {fold.name!r} of cross_validate)")
            raise
    seconds = (fitted - began, time.perf_counter() - fitted)
    warned = [(one.category, str(one.message)) for one in caught]
    return _Done(scores, *seconds, made if keep else None, warned)


def _warn_once(done: list[_Done]) -> None:
    """Say what the folds said, once, and how many of them did."""
    said = Counter(one for fold in done for one in dict.fromkeys(fold.warned))
    for (category, text), count in said.items():
        warnings.warn(f"{text} (In {count} of {len(done)} folds.)", category, stacklevel=3)


def _part(beside: dict[str, NDArray[Any] | None], rows: Ints) -> dict[str, Any]:
    return {name: None if array is None else array[rows] for name, array in beside.items()}


def _table(X: Any) -> Any:
    """What rows can be taken of."""
    if isinstance(X, Instances):
        return X
    if hasattr(X, "tocsr"):
        return X.tocsr()
    return X if hasattr(X, "shape") else np.asarray(X)


def take_rows(X: Any, rows: Ints) -> Any:
    """Rows of an array, a sparse matrix, or a frame, which stays a frame."""
    if isinstance(X, Instances):
        return Instances(take_rows(X.table, rows), X.names)
    if not (hasattr(X, "columns") or hasattr(X, "column_names")):
        return X[rows]
    import narwhals as nw

    return nw.from_native(X, eager_only=True)[rows].to_native()


def _targets(y: Any, labels: Floats) -> NDArray[Any]:
    """Labels as they came where they are whole numbers, which classifiers want."""
    given = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    return given.reshape(len(labels)) if given.dtype.kind in "iub" else labels


def _chosen(measures: Any) -> dict[str, Measure]:
    several = [measures] if isinstance(measures, str) or callable(measures) else list(measures)
    if not several:
        raise ParameterError("measures is empty: name at least one, for example 'ndcg@10'.")
    return {one.name: one for one in map(get_measure, several)}


def _generator(random_state: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        rule = "an int of at least 0, a numpy Generator or None"
        raise refuse("cross_validate", "random_state", rule, random_state) from None


def _check_jobs(n_jobs: Any) -> None:
    if n_jobs is None:
        return
    check_integer("cross_validate", "n_jobs", n_jobs, -(2**31))
    if n_jobs == 0:
        raise refuse("cross_validate", "n_jobs", "an int other than 0, or None", 0)
