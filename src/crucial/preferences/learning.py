"""Learn from comparisons of some items to rank any item by its features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crucial.data.groups import deal_at_random
from crucial.data.instances import Instances
from crucial.data.words import shown
from crucial.errors import DataError
from crucial.parameters import at_least, check
from crucial.preferences.likelihood import COMPARISONS
from crucial.results import Frame, Result, as_frame, feature_name, padded
from crucial.types import Bools, Floats, Ints, PathLike, TableLike
from crucial.wording import counted

if TYPE_CHECKING:
    from crucial.data.comparisons import Comparisons
    from crucial.model.additive import AdditiveRanker


_STOPS = (1, 3, 10, 30, 100, 300, 1000, 3000)


@dataclass(frozen=True, eq=False, repr=False)
class PreferenceRanker(Result):
    """Result of `learn_preferences`.

    Attributes
    ----------
    model : AdditiveRanker
        Scores rows of features; `save` writes it for ``crucial rank`` and ``show``.
    rounds : int
        Number of rounds chosen.
    accuracy : float
        Share of comparisons with unseen items that are predicted correctly, equal scores
        counting half: items are held out fold by fold, and the comparisons are those with one
        of them. The rounds are chosen by it. NaN if there are too few items to hold out.
    n_held_out : int
        Number of comparisons it is measured on.
    """

    _bars = ("share",)

    model: AdditiveRanker
    rounds: int
    accuracy: float
    n_held_out: int

    def predict(self, X: TableLike) -> Floats:
        """Return the scores of rows; higher is better."""
        return np.asarray(self.model.predict(X))

    def save(self, path: PathLike) -> None:
        """Write the model file."""
        self.model.save(path)

    def to_frame(self) -> Frame:
        """Return the columns feature and share (of the weight), heaviest first."""
        names, shares = self._shares()
        return as_frame({"feature": names, "share": shares})

    def _shares(self) -> tuple[list[str], list[float]]:
        shares = self.model.feature_importances()
        order = np.argsort(-shares, kind="stable").tolist()
        names = [feature_name(self.model.feature_names, j) for j in order]
        return names, [float(shares[j]) for j in order]

    def __str__(self) -> str:
        head = counted(self.rounds, "round")
        if self.n_held_out:
            head += (
                f"; {self.accuracy:.1%} of {counted(self.n_held_out, 'decision')} about items "
                "that were held out come out right"
            )
        lines = [
            f"  {padded(name, 28)} {share:6.1%}"
            for name, share in zip(*self._shares())
            if share > 0
        ]
        return "\n".join([head, *lines[:20]])


def learn_preferences(
    comparisons: Comparisons,
    X: TableLike,
    item: Sequence[object],
    *,
    n_estimators: int = 300,
    folds: int = 5,
    random_state: int = 0,
    n_jobs: int | None = None,
    **parameters: Any,
) -> PreferenceRanker:
    """Fit a ranker of items by their features to comparisons of some items.

    Parameters
    ----------
    comparisons : Comparisons
        A tie is half a pair each way.
    X : array, sparse matrix or frame of shape (n_rows, n_features)
        Features of items; NaN where one is missing. Rows of items that were not compared are
        allowed.
    item : sequence of names
        The item of each row.
    n_estimators : int, default=300
        Rounds of RankBoost, at most.
    folds : int, default=5
        Folds of the items, to choose the rounds and to measure how well unseen items are ranked.
    random_state : int, default=0
        Seed of the folds.
    n_jobs : int, optional
    **parameters
        Other parameters of `RankBoost`.

    Returns
    -------
    PreferenceRanker
    """
    from crucial.rankers.rankboost import RankBoost

    check("learn_preferences", "comparisons", comparisons, COMPARISONS)
    check("learn_preferences", "n_estimators", n_estimators, at_least(1))
    check("learn_preferences", "folds", folds, at_least(2))
    table = Instances.from_input(X, texts=True)
    row_of = _rows_of(comparisons, item, table.n_rows)
    high, low, weight, source = comparisons.directed()
    pairs = np.column_stack((row_of[high], row_of[low]))
    tie = comparisons.tie[source]
    stops = [stop for stop in _STOPS if stop < n_estimators] + [n_estimators]

    def fit(rows: Bools, rounds: int) -> RankBoost:
        ranker = RankBoost(rounds, **parameters, n_jobs=n_jobs)
        return ranker.fit_pairs(table, pairs[rows], pair_weight=weight[rows])

    right = np.zeros(len(stops))
    total, judged = 0.0, np.zeros(len(comparisons), bool)
    for train, test in _folds(comparisons, folds, random_state):
        keep, judge = train[source] & (weight > 0), test[source] & ~tie & (weight > 0)
        if not keep.any() or not judge.any():
            continue
        model = fit(keep, n_estimators).model_
        for k, stop in enumerate(stops):
            scores = model.truncate(min(stop, model.n_rounds)).predict(table)
            d = scores[pairs[judge, 0]] - scores[pairs[judge, 1]]
            right[k] += float(weight[judge] @ ((d > 0) + 0.5 * (d == 0)))
        total += float(weight[judge].sum())
        judged[source[judge]] = True
    n_held_out = int(judged.sum())
    # (fewer rounds win unless more rounds are better by more than rounding)
    best = int(np.argmax(right >= right.max() - 1e-9 * max(total, 1.0))) if n_held_out else -1
    whole = fit(weight > 0, stops[best])
    accuracy = float(right[best] / total) if n_held_out else float("nan")
    return PreferenceRanker(whole.model_, stops[best], accuracy, n_held_out)


def _rows_of(comparisons: Comparisons, item: Sequence[object], n_rows: int) -> Ints:
    """Return the row of every item."""
    if len(item) != n_rows:
        raise DataError(f"item must name each of the {n_rows} rows. Got {len(item)} names.")
    place: dict[str, int] = {}
    for row, name in enumerate(item):
        if str(name) in place:
            raise DataError(f"rows {place[str(name)]} and {row} are both of {shown(str(name))}.")
        place[str(name)] = row
    missing = [name for name in comparisons.items if name not in place]
    if missing:
        raise DataError(
            f"{len(missing)} compared items have no row of features; the first is "
            f"{shown(missing[0])}."
        )
    return np.array([place[name] for name in comparisons.items], np.int64)


def _folds(comparisons: Comparisons, folds: int, seed: int) -> list[tuple[Bools, Bools]]:
    """Return, per fold, which comparisons are without and with an item of the fold."""
    n = len(comparisons.items)
    if n < 2 * folds:
        return []
    fold = deal_at_random(folds, n, np.random.default_rng(seed))
    touched = [
        (fold[comparisons.winner] == k) | (fold[comparisons.loser] == k) for k in range(folds)
    ]
    return [(~one, one) for one in touched]
