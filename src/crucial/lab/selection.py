"""Stability selection: how often a ranker chooses a feature on halves of the queries.

For backward elimination see scikit-learn's ``RFE`` and ``RFECV``, which pass ``qid`` to a ranker by
metadata routing.
"""

from __future__ import annotations

import inspect
import math
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from crucial.boosting.stumps import TIE
from crucial.data.groups import Groups, deal
from crucial.data.instances import Instances, Table, as_table, take_rows
from crucial.errors import DataError, NotRankedError
from crucial.feedback.labels import check_labels
from crucial.parameters import at_least, between, check, either, flag, none_or, nonzero, refuse
from crucial.progress import progress_bar
from crucial.results import Axes, Frame, Result, as_frame, bar_chart, listed, names_of, padded
from crucial.types import Bools, Floats, Ids, Ints, TableLike, VectorLike


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
        names, stable = [self.names[j] for j in order], self.support()[order]
        values = {"share": self.shares[order], "stable": stable}
        return as_frame({"feature": order, "name": names, **values})

    def plot(self, ax: Axes | None = None, top: int = 20) -> Axes:
        """Draw the most often chosen features as bars; needs matplotlib. Returns the axes."""
        check("plot", "top", top, at_least(1))
        order = np.argsort(-self.shares, kind="stable")[:top]
        colours = ["C0" if one else "0.7" for one in self.support()[order]]
        ax = bar_chart(ax, [self.names[j] for j in order], self.shares[order], color=colours)
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
    names = tuple(names_of(instances.names, instances.n_features))
    return StabilitySelection(names, chosen.mean(axis=0), chosen, float(threshold))


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
