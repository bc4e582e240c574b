"""Choose features: backward elimination, and how stable a choice is on halves of the queries.

scikit-learn's ``RFECV`` needs metadata routing for ``qid``, removes the first of equally important
features and keeps no importances of the fits on the way.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from crucial.boosting.stumps import TIE
from crucial.data.groups import Groups, deal
from crucial.data.instances import Instances, Table, as_table, take_rows
from crucial.errors import DataError, NotRankedError, ParameterError
from crucial.feedback.labels import check_labels
from crucial.inspection.importance import importances
from crucial.lab.protocols import Rows, make_folds
from crucial.lab.rankers import Adapter, Estimator
from crucial.measures.base import Measure
from crucial.measures.names import MeasureLike, default_measure, get_measure
from crucial.parameters import (
    at_least,
    between,
    check,
    either,
    flag,
    none_or,
    nonzero,
    one_of,
    refuse,
)
from crucial.progress import progress_bar
from crucial.results import Axes, Frame, Result, as_frame, feature_name, listed, new_axes, padded
from crucial.types import Bools, Floats, Ids, Ints, TableLike, VectorLike
from crucial.wording import counted

__all__ = ["FeatureElimination", "StabilitySelection", "eliminate_features", "stability_selection"]

#: Importances that a single fit yields; permutation would need rows of its own.
KINDS = ("drop", "r_squared", "weight")
_STEP = either(at_least(1), between(0, 1, low_open=True, high_open=True, noun="share"))


@dataclass(frozen=True, eq=False, repr=False)
class FeatureElimination(Result):
    """Result of `eliminate_features`.

    Attributes
    ----------
    names : tuple of str
        All features, in the order of the columns.
    removed : int array of shape (n_features,)
        Number of the refit before which each feature was removed, from 1; 0 for the features that
        were kept to the end.
    sizes : int array of shape (n_fits,)
        Number of features of each fit, all of them first.
    shares : array of shape (n_fits, n_features)
        Importances in each fit; NaN for features that were removed before.
    values : array of shape (n_fits,)
        Measure of each fit: mean over the test parts of the folds, or on the rows that it was
        fitted on.
    per_fold : array of shape (n_folds, n_fits), or None
        Measure on the test part of each fold, whose features were eliminated on its training part.
    measure : str
    higher_is_better : bool
    importance : str
        Kind of importance.
    """

    names: tuple[str, ...]
    removed: Ints
    sizes: Ints
    shares: Floats
    values: Floats
    per_fold: Floats | None
    measure: str
    higher_is_better: bool
    importance: str

    @property
    def best_size(self) -> int:
        """Number of features with the best value; of equal ones the smallest."""
        value = self.values if self.higher_is_better else -self.values
        top = float(np.max(value))
        return int(self.sizes[value >= top - TIE * abs(top)][-1])

    def support(self, n_features: int | None = None) -> Bools:
        """Return which features a fit had; by default that of the best value."""
        size = self.best_size if n_features is None else n_features
        at = np.flatnonzero(self.sizes == size)
        if not len(at):
            sizes = ", ".join(map(str, self.sizes.tolist()))
            raise ParameterError(f"no fit had {counted(size, 'feature')}; they had {sizes}.")
        return np.asarray((self.removed == 0) | (self.removed > at[0]))

    def features(self, n_features: int | None = None) -> tuple[str, ...]:
        """Return the names of the features that a fit had; by default that of the best value."""
        return tuple(self.names[j] for j in np.flatnonzero(self.support(n_features)))

    def _title(self) -> str:
        return f"{len(self.sizes)} fits, best {counted(self.best_size, 'feature')}"

    def __str__(self) -> str:
        where = "training rows" if self.per_fold is None else counted(len(self.per_fold), "fold")
        lines = [f"{'features':>8} {self.measure} ({where})  removed next"]
        for size, value, gone in zip(self.sizes.tolist(), self.values.tolist(), self._gone()):
            mark = "*" if size == self.best_size else " "
            lines.append(f"{size:8d} {value:.4f} {mark} {listed(gone)}".rstrip())
        return "\n".join(lines)

    def to_frame(self) -> Frame:
        """Return one row per fit: number of features, value and the features removed after it."""
        columns = {"features": self.sizes.tolist(), self.measure: self.values.tolist()}
        return as_frame({**columns, "removed_next": self._gone()})

    def _gone(self) -> list[list[str]]:
        """Return the names of the features removed after every fit."""
        removed = range(1, len(self.sizes) + 1)
        return [[self.names[j] for j in np.flatnonzero(self.removed == k)] for k in removed]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the measure by the number of features; needs matplotlib. Returns the axes."""
        ax = new_axes(ax)
        if self.per_fold is not None:
            for row in self.per_fold:
                ax.plot(self.sizes, row, color="0.8", linewidth=1)
        ax.plot(self.sizes, self.values, marker=".")
        ax.axvline(self.best_size, linestyle=":", color="0.5")
        ax.set_xlabel("features")
        where = "training rows" if self.per_fold is None else "test part"
        ax.set_ylabel(f"{self.measure}, {where}", parse_math=False)
        return ax


def eliminate_features(
    estimator: Estimator,
    X: TableLike,
    y: VectorLike,
    *,
    qid: VectorLike | None = None,
    n_features: int = 1,
    step: int | float = 1,
    importance: str = "drop",
    cv: object = None,
    measure: MeasureLike | None = None,
    random_state: int = 0,
    verbose: int = 0,
) -> FeatureElimination:
    """Fit a ranker, leave out its least important features, refit, until few are left.

    Backward elimination after Pan et al. (2009), for boosted and linear rankers.

    Parameters
    ----------
    estimator : ranker of crucial
        Cloned for every fit.
    X, y, qid : rows, labels and queries
    n_features : int
        Stop at so many features.
    step : int or float
        Features to remove before each refit, or their share of those that are left (rounded
        down, at least one).
    importance : {"drop", "r_squared", "weight"}
        See `crucial.inspection.importances`. Rankers without rounds need "weight". Of equally
        important features the last is removed first.
    cv : None, int, splitter, fold numbers or pairs of row numbers
        As in `crucial.cross_validate`. Features are eliminated on the training part of every
        fold, so that the measure on its test part is that of rows that nobody has seen. None
        measures on the training rows, which cannot tell how many features to keep.
    measure : str, Measure or callable, optional
        Default: ndcg@10, or auc without queries or with labels below 0.
    random_state : int
        Deals out the folds.
    verbose : int
        1 shows the progress: a bar where standard error is a terminal, else lines.

    Returns
    -------
    FeatureElimination

    Examples
    --------
    >>> from crucial import RankBoost, make_letor
    >>> data = make_letor(n_queries=12, docs_per_query=20, n_features=5)
    >>> found = eliminate_features(RankBoost(20), data.X, data.y, qid=data.qid, cv=3)
    >>> found.sizes.tolist(), len(found.features(2)), found.per_fold.shape
    ([5, 4, 3, 2, 1], 2, (3, 5))
    """
    owner = "eliminate_features"
    check(owner, "n_features", n_features, at_least(1))
    check(owner, "step", step, _STEP)
    check(owner, "importance", importance, one_of(*KINDS))
    check(owner, "random_state", random_state, at_least(0))
    check(owner, "verbose", verbose, either(at_least(0), flag))
    instances = Instances.from_input(X)
    labels = check_labels(y, instances.n_rows)
    groups = Groups.from_qid(qid, instances.n_rows)
    if n_features > instances.n_features:
        raise DataError(
            f"eliminate_features should stop at {counted(n_features, 'feature')}, and X has "
            f"{instances.n_features}.",
            parameter="n_features",
        )
    chosen = get_measure(default_measure(labels, qid is not None) if measure is None else measure)
    sizes = [instances.n_features]
    while sizes[-1] > n_features:
        gone = int(step) if step >= 1 else max(1, int(step * sizes[-1]))
        sizes.append(max(n_features, sizes[-1] - gone))
    ids = None if qid is None else groups.ids[groups.codes]
    adapter, per_fold = Adapter.of(estimator, qid is not None, False), []
    random, folds = np.random.default_rng(random_state), []
    if cv is not None:
        folds = make_folds(cv, labels, groups, qid is not None, random)
    total = (len(folds) + 1) * len(sizes)
    with progress_bar("eliminating", total, wanted=bool(verbose), verbose=verbose) as show:
        done = iter(range(1, total + 1))

        def count(size: int) -> None:
            if show is not None:
                show(next(done), counted(size, "feature"))

        path = _Path(adapter, sizes, importance, chosen, count)
        rows = Rows(instances, labels, ids)
        per_fold = [path.follow(rows.take(f.train), rows.take(f.test))[2] for f in folds]
        removed, shares, values = path.follow(rows, None if folds else rows)
    return FeatureElimination(
        _names(instances),
        removed,
        np.array(sizes, np.int64),
        shares,
        np.mean(per_fold, axis=0) if folds else values,
        np.array(per_fold) if folds else None,
        chosen.name,
        chosen.higher_is_better,
        importance,
    )


def _names(instances: Instances) -> tuple[str, ...]:
    return tuple(feature_name(instances.names, j) for j in range(instances.n_features))


def _columns(rows: Rows, features: Ints) -> Rows:
    """Return the rows with some of the features."""
    names = rows.X.names
    kept = None if names is None else tuple(names[j] for j in features.tolist())
    return replace(rows, X=Instances(rows.X.table[:, features], kept))


@dataclass(frozen=True, eq=False)
class _Path:
    """How to eliminate."""

    adapter: Adapter
    sizes: list[int]
    importance: str
    measure: Measure
    count: Callable[[int], None]

    def follow(self, train: Rows, test: Rows | None) -> tuple[Ints, Floats, Floats]:
        """Eliminate on some rows, and measure every fit on others, if there are any.

        Returns ``removed``, ``shares`` and ``values`` of a `FeatureElimination`.
        """
        n_features = train.X.n_features
        kept = np.arange(n_features)
        removed = np.zeros(n_features, np.int64)
        shares = np.full((len(self.sizes), n_features), np.nan)
        values = np.full(len(self.sizes), np.nan)
        value = None
        if test is not None:
            value = self.measure.prepare(test.y, test.groups)
        for number, size in enumerate(self.sizes):
            if number:
                least = _least(shares[number - 1, kept], len(kept) - size)
                removed[kept[least]] = number
                kept = np.delete(kept, least)
            fresh = self.adapter.cloned()
            fresh.fit(_columns(train, kept))
            shares[number, kept] = importances(fresh.estimator, kind=self.importance).values
            if value is not None and test is not None:
                values[number] = value(fresh.scores(_columns(test, kept)))
            self.count(size)
        return removed, shares, values


def _least(worth: Floats, count: int) -> Ints:
    """Return the positions of the least important features; of equal ones the last."""
    left, out = worth.copy(), []
    for _ in range(count):
        low = float(left.min())
        at = int(np.flatnonzero(left <= low + TIE * abs(low))[-1])
        out.append(at)
        left[at] = np.inf
    return np.array(out, np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class StabilitySelection(Result):
    """Result of `stability_selection`.

    Attributes
    ----------
    names : tuple of str
        All features, in the order of the columns.
    shares : array of shape (n_features,)
        Share of the subsamples on which each feature was chosen.
    chosen : bool array of shape (n_subsamples, n_features)
        What was chosen on each subsample; the second of two neighbours is the other half of the
        queries of the first.
    threshold : float
        Features with at least this share are stable.
    """

    _bars: ClassVar[tuple[str, ...]] = ("share",)

    names: tuple[str, ...]
    shares: Floats
    chosen: Bools
    threshold: float

    def support(self, threshold: float | None = None) -> Bools:
        """Return which features are stable, at the threshold or another one."""
        limit = self.threshold if threshold is None else threshold
        return np.asarray(self.shares >= limit - TIE)

    @property
    def stable(self) -> tuple[str, ...]:
        """Names of the stable features, the most often chosen first."""
        order = np.argsort(-self.shares, kind="stable")
        return tuple(self.names[j] for j in order[self.support()[order]])

    @property
    def mean_chosen(self) -> float:
        """Mean number of features chosen on a subsample."""
        return float(self.chosen.sum(axis=1).mean())

    @property
    def false_bound(self) -> float:
        """Upper bound on the expected number of stable features that are noise.

        ``q^2 / ((2 t - 1) p)`` with the mean number q of features chosen on a subsample, the
        threshold t and p features (Meinshausen & Bühlmann 2010, theorem 1). It holds where a
        ranker chooses any noise feature as likely as any other, and chooses no worse than at
        random; infinite for a threshold of at most 1/2.
        """
        if self.threshold <= 0.5:
            return math.inf
        return self.mean_chosen**2 / ((2.0 * self.threshold - 1.0) * len(self.names))

    def _title(self) -> str:
        return f"{len(self.stable)} of {len(self.names)} features stable"

    def __str__(self) -> str:
        lines = [f"share of {len(self.chosen)} subsamples on which a feature was chosen"]
        order = np.argsort(-self.shares, kind="stable")
        stable = self.support()
        for j in order[self.shares[order] > 0].tolist():
            mark = "stable" if stable[j] else ""
            lines.append(f"{padded(self.names[j], 24)} {self.shares[j]:.2f} {mark}".rstrip())
        never = [self.names[j] for j in np.flatnonzero(self.shares == 0)]
        if never:
            lines.append(f"never chosen: {listed(never)}")
        lines.append(
            f"{int(stable.sum())} stable at {self.threshold:g}; on average {self.mean_chosen:.1f} "
            f"chosen; at most {self.false_bound:.2g} expected false"
        )
        return "\n".join(lines)

    def to_frame(self) -> Frame:
        """Return one row per feature, the most often chosen first."""
        order = np.argsort(-self.shares, kind="stable").tolist()
        return as_frame(
            {
                "feature": order,
                "name": [self.names[j] for j in order],
                "share": self.shares[order].tolist(),
                "stable": self.support()[order].tolist(),
            }
        )

    def plot(self, ax: Axes | None = None, top: int = 20) -> Axes:
        """Draw the most often chosen features as bars; needs matplotlib. Returns the axes."""
        check("plot", "top", top, at_least(1))
        ax = new_axes(ax)
        order = np.argsort(-self.shares, kind="stable")[:top]
        colours = ["C0" if one else "0.7" for one in self.support()[order]]
        ax.barh(range(len(order)), self.shares[order], color=colours)
        ax.set_yticks(range(len(order)), [self.names[j] for j in order], parse_math=False)
        ax.invert_yaxis()
        ax.axvline(self.threshold, linestyle=":", color="0.3")
        ax.set_xlim(0.0, 1.0)
        ax.set_xlabel("share of the subsamples on which the feature was chosen")
        return ax


def stability_selection(
    estimator: object,
    X: TableLike,
    y: VectorLike,
    *,
    qid: VectorLike | None = None,
    n_subsamples: int = 100,
    n_features: int | None = None,
    threshold: float = 0.6,
    random_state: int = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> StabilitySelection:
    """Fit a sparse or boosted ranker on halves of the queries, and count what it chooses.

    The queries are dealt into two halves again and again, and the ranker is fitted on both
    (Meinshausen & Bühlmann 2010; Shah & Samworth 2013 for both halves). A feature that is chosen
    on most of them does not owe its place to a few queries.

    Parameters
    ----------
    estimator : object with fit
        Cloned for every subsample. It chooses the features that ``get_support()`` marks, for a
        selector such as `SelectByRanking`, and otherwise those whose ``feature_importances_`` is
        not 0.
    X, y, qid : rows, labels and queries
        Without qid, rows are dealt out label by label.
    n_subsamples : int
        Number of subsamples.
    n_features : int, optional
        Count only so many of the most important features of every fit: boosted rankers that run
        long use all features at some time. Of equally important ones the first.
    threshold : float
        Share from which a feature is stable.
    random_state : int
        Deals out the queries.
    n_jobs : int, optional
        Subsamples computed at the same time, in processes of their own. None computes one after
        the other, which leaves all cores to the estimator.
    verbose : int
        1 shows the progress: a bar where standard error is a terminal, else lines.

    Returns
    -------
    StabilitySelection

    Examples
    --------
    >>> from crucial import RankBoost, make_letor
    >>> data = make_letor(n_queries=12, docs_per_query=20, n_features=5)
    >>> found = stability_selection(
    ...     RankBoost(20), data.X, data.y, qid=data.qid, n_subsamples=10, n_features=2
    ... )
    >>> found.shares.shape, found.mean_chosen
    ((5,), 2.0)
    """
    owner = "stability_selection"
    check(owner, "n_subsamples", n_subsamples, at_least(2))
    check(owner, "n_features", n_features, none_or(at_least(1)))
    check(owner, "threshold", threshold, between(0, 1, low_open=True))
    check(owner, "random_state", random_state, at_least(0))
    check(owner, "n_jobs", n_jobs, none_or(nonzero))
    check(owner, "verbose", verbose, either(at_least(0), flag))
    if isinstance(estimator, type) or not callable(getattr(estimator, "fit", None)):
        raise refuse(owner, "estimator", "an object with fit", estimator)
    instances, table = Instances.from_input(X), as_table(X)
    labels = check_labels(y, instances.n_rows)
    groups = Groups.from_qid(qid, instances.n_rows)
    if qid is not None and groups.n_groups < 2:
        raise DataError(
            "stability_selection needs at least 2 queries, since a query is never divided. Got "
            f"{groups.n_groups}. Leave qid out to divide the rows themselves.",
            parameter="qid",
        )
    random = np.random.default_rng(random_state)
    halves: list[Ints] = []
    while len(halves) < n_subsamples:
        half = deal(2, labels, groups, qid is not None, random, "n_subsamples")
        halves += [np.flatnonzero(half == side) for side in (0, 1)]
    ids = None if qid is None else groups.ids[groups.codes]
    work = delayed(_chosen_on)
    found: list[Bools] = []
    with progress_bar("subsamples", n_subsamples, wanted=bool(verbose), verbose=verbose) as show:
        # (a generator, so that the bar moves while the others are computed)
        for one in Parallel(n_jobs=n_jobs, return_as="generator")(
            work(estimator, table, labels, ids, half, n_features) for half in halves[:n_subsamples]
        ):
            found.append(one)
            if show is not None:
                show(len(found), "")
    chosen = np.array(found)
    return StabilitySelection(_names(instances), chosen.mean(axis=0), chosen, float(threshold))


def _chosen_on(
    estimator: object, table: Table, labels: Floats, qid: Ids | None, rows: Ints, most: int | None
) -> Bools:
    """Fit a clone on some rows and return which features it chooses."""
    fresh: Any = clone(estimator, safe=False)
    takes_qid = "qid" in inspect.signature(fresh.fit).parameters
    queries = {"qid": qid[rows]} if qid is not None and takes_qid else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # (half of the rows: features are constant)
        fresh.fit(take_rows(table, rows), labels[rows], **queries)
    if hasattr(fresh, "get_support"):
        return np.asarray(fresh.get_support())
    worth = getattr(fresh, "feature_importances_", None)
    if worth is None:
        raise NotRankedError(
            f"stability_selection cannot tell which features {type(fresh).__name__} chose: it has "
            "neither get_support() nor feature_importances_. Use a sparse or boosted ranker of "
            "crucial, or a selector."
        )
    size = np.abs(np.asarray(worth, np.float64))
    chosen: Bools = size > 0.0
    if most is None or chosen.sum() <= most:
        return chosen
    limit = np.sort(size)[-most]
    # Of those that tie at the limit, the first.
    sure: Bools = size > limit * (1.0 + TIE)
    tied = np.flatnonzero((size >= limit * (1.0 - TIE)) & ~sure)
    sure[tied[: most - int(sure.sum())]] = True
    return sure
