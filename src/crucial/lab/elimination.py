"""Backward elimination: refit without the least important features, again and again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.errors import DataError, ParameterError
from crucial.feedback.labels import check_labels
from crucial.inspection.importance import importances
from crucial.inspection.results import Axes, Frame, as_frame, feature_name, listed, new_axes
from crucial.lab.adapter import Adapter, Estimator
from crucial.lab.folds import Fold, make_folds
from crucial.measures.base import Measure
from crucial.measures.defaults import default_measure
from crucial.measures.names import MeasureLike, get_measure
from crucial.notebook import HtmlResult, HtmlTable
from crucial.parameters import at_least, between, check, either, flag, one_of
from crucial.progress import Show, progress_bar
from crucial.types import Bools, Floats, Ids, Ints, TableLike, VectorLike
from crucial.weak.choose import TIE
from crucial.wording import counted

__all__ = ["FeatureElimination", "eliminate_features"]

#: Importances that a single fit yields; permutation would need rows of its own.
KINDS = ("drop", "r_squared", "weight")
_STEP = either(at_least(1), between(0, 1, low_open=True, high_open=True, noun="share"))


@dataclass(frozen=True, eq=False, repr=False)
class FeatureElimination(HtmlResult):
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

    def __repr__(self) -> str:
        return (
            f"FeatureElimination({len(self.sizes)} fits, best {counted(self.best_size, 'feature')})"
        )

    def __str__(self) -> str:
        where = "training rows" if self.per_fold is None else counted(len(self.per_fold), "fold")
        lines = [f"{'features':>8} {self.measure} ({where})  removed next"]
        for number, (size, value) in enumerate(zip(self.sizes.tolist(), self.values.tolist())):
            gone = [self.names[j] for j in np.flatnonzero(self.removed == number + 1)]
            mark = "*" if size == self.best_size else " "
            lines.append(f"{size:8d} {value:.4f} {mark} {listed(gone)}".rstrip())
        return "\n".join(lines)

    def to_frame(self) -> Frame:
        """Return one row per fit: number of features, value and the features removed after it."""
        gone = [
            [self.names[j] for j in np.flatnonzero(self.removed == number + 1)]
            for number in range(len(self.sizes))
        ]
        columns = {"features": self.sizes.tolist(), self.measure: self.values.tolist()}
        return as_frame({**columns, "removed_next": gone})

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

    def _html_tables(self) -> list[HtmlTable]:
        (table,) = super()._html_tables()
        return [HtmlTable(table.columns, {self.measure: 1.0})]


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
    rows = _Rows(instances, labels, None if qid is None else groups.ids[groups.codes])
    adapter = Adapter.of(estimator, qid is not None, False)
    folds: list[Fold] = []
    if cv is not None:
        random = np.random.default_rng(random_state)
        folds = make_folds(cv, labels, groups, qid is not None, random)
    sizes = _sizes(instances.n_features, n_features, step)
    total = (len(folds) + 1) * len(sizes)
    with progress_bar("eliminating", total, wanted=bool(verbose), verbose=verbose) as show:
        count = _Counter(show)
        path = _Path(adapter, sizes, importance, chosen, count)
        per_fold = [path.follow(rows.take(f.train), rows.take(f.test)).values for f in folds]
        whole = path.follow(rows, None if folds else rows)
    values = np.mean(per_fold, axis=0) if folds else whole.values
    names = tuple(feature_name(instances.names, j) for j in range(instances.n_features))
    return FeatureElimination(
        names,
        whole.removed,
        sizes,
        whole.shares,
        np.asarray(values),
        np.array(per_fold) if folds else None,
        chosen.name,
        chosen.higher_is_better,
        importance,
    )


def _sizes(n_features: int, last: int, step: int | float) -> Ints:
    """Return the number of features of each fit."""
    sizes = [n_features]
    while sizes[-1] > last:
        gone = int(step) if step >= 1 else max(1, int(step * sizes[-1]))
        sizes.append(max(last, sizes[-1] - gone))
    return np.array(sizes, np.int64)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows to fit or to measure on."""

    instances: Instances
    labels: Floats
    qid: Ids | None

    def take(self, rows: Ints) -> _Rows:
        """Return some of the rows."""
        qid = None if self.qid is None else self.qid[rows]
        return _Rows(self.instances.take_rows(rows), self.labels[rows], qid)

    def columns(self, features: Ints) -> Instances:
        """Return the rows with some of the features."""
        names = self.instances.names
        kept = None if names is None else tuple(names[j] for j in features.tolist())
        return Instances(self.instances.table[:, features], kept)


@dataclass(frozen=True, eq=False)
class _Followed:
    """Outcome of one elimination."""

    removed: Ints
    shares: Floats
    values: Floats


class _Counter:
    """Counts fits for a progress bar."""

    def __init__(self, show: Show | None) -> None:
        self._show, self._done = show, 0

    def __call__(self, note: str) -> None:
        self._done += 1
        if self._show is not None:
            self._show(self._done, note)


@dataclass(frozen=True, eq=False)
class _Path:
    """How to eliminate."""

    adapter: Adapter
    sizes: Ints
    importance: str
    measure: Measure
    count: Callable[[str], None]

    def follow(self, train: _Rows, test: _Rows | None) -> _Followed:
        """Eliminate on some rows, and measure every fit on others, if there are any."""
        n_features = train.instances.n_features
        kept = np.arange(n_features)
        removed = np.zeros(n_features, np.int64)
        shares = np.full((len(self.sizes), n_features), np.nan)
        values = np.full(len(self.sizes), np.nan)
        value = None
        if test is not None:
            value = self.measure.prepare(test.labels, Groups.from_qid(test.qid, len(test.labels)))
        for number, size in enumerate(self.sizes.tolist()):
            if number:
                worth = shares[number - 1, kept]
                least = _least(worth, len(kept) - size)
                removed[kept[least]] = number
                kept = np.delete(kept, least)
            fresh = self.adapter.cloned()
            fresh.fit(train.columns(kept), train.labels, train.qid)
            shares[number, kept] = importances(fresh.estimator, kind=self.importance).values
            if value is not None and test is not None:
                values[number] = value(fresh.scores(test.columns(kept), test.qid))
            self.count(counted(size, "feature"))
        return _Followed(removed, shares, values)


def _least(worth: Floats, count: int) -> Ints:
    """Return the positions of the least important features; of equal ones the last."""
    left, out = worth.copy(), []
    for _ in range(count):
        low = float(left.min())
        at = int(np.flatnonzero(left <= low + TIE * abs(low))[-1])
        out.append(at)
        left[at] = np.inf
    return np.array(out, np.int64)
