"""A ranker for items nobody has compared: what features make items win."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from crucial.data.instances import Instances
from crucial.data.words import shown
from crucial.errors import DataError
from crucial.inspection.results import Frame, as_frame, feature_name
from crucial.inspection.results import shown as padded
from crucial.lab.folds import deal_at_random
from crucial.parameters import at_least, check
from crucial.types import Bools, Floats, Ints, PathLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from crucial.data.comparisons import Comparisons
    from crucial.model.additive import AdditiveRanker

__all__ = ["PreferenceRanker", "learn_preferences"]


_STOPS = (1, 3, 10, 30, 100, 300, 1000, 3000)


@dataclass(frozen=True, eq=False, repr=False)
class PreferenceRanker:
    """What `learn_preferences` found.

    Attributes
    ----------
    model : AdditiveRanker
        Scores rows of features; `save` writes it for ``crucial rank`` and ``show``.
    rounds : int
        How many were chosen.
    accuracy : float
        Share of decisions about unseen items that come out right, equal scores half right:
        items were held out fold by fold, and the decisions are those with one of them.
        The rounds were chosen by it. NaN where there were too few items to hold out.
    n_held_out : int
        Decisions it is measured on.
    """

    model: AdditiveRanker
    rounds: int
    accuracy: float
    n_held_out: int

    def __repr__(self) -> str:
        return f"PreferenceRanker({self.rounds} rounds, accuracy={self.accuracy:.3f})"

    def predict(self, X: Any) -> Floats:
        """Scores of rows; higher is better."""
        return np.asarray(self.model.predict(X))

    def save(self, path: PathLike) -> None:
        """Write the model file."""
        self.model.save(path)

    def to_frame(self) -> Frame:
        """Columns feature, share: which features drive wins, heaviest first."""
        names, shares = self._shares()
        return as_frame({"feature": names, "share": shares})

    def _shares(self) -> tuple[list[str], list[float]]:
        shares = self.model.feature_importances()
        order = np.argsort(-shares, kind="stable").tolist()
        names = [feature_name(self.model.feature_names, j) for j in order]
        return names, [float(shares[j]) for j in order]

    def text(self) -> str:
        """A few lines."""
        return str(self)

    def __str__(self) -> str:
        head = f"{self.rounds} rounds"
        if self.n_held_out:
            head += (
                f"; {self.accuracy:.1%} of {self.n_held_out:,} decisions about items that were "
                "held out come out right"
            )
        lines = [
            f"  {padded(name, 28)} {share:6.1%}"
            for name, share in zip(*self._shares())
            if share > 0
        ]
        return "\n".join([head, *lines[:20]])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the share of weight of every feature."""
        from crucial.inspection.results import new_axes

        names, shares = self._shares()
        ax = new_axes(ax)
        ax.barh(names[:20][::-1], shares[:20][::-1])
        ax.set_xlabel("share of weight")
        return ax


def learn_preferences(
    comparisons: Comparisons,
    X: Any,
    item: Sequence[Any],
    *,
    n_estimators: int = 300,
    folds: int = 5,
    random_state: int = 0,
    n_jobs: int | None = None,
    **parameters: Any,
) -> PreferenceRanker:
    """Learn from comparisons of some items to rank any item by its features.

    Parameters
    ----------
    comparisons : Comparisons
        A tie is half a pair each way.
    X : array, sparse matrix or frame of shape (n_rows, n_features)
        Features of items; NaN where one abstains. Rows of items that were not compared are
        allowed.
    item : sequence of names
        Which item each row is.
    n_estimators : int, default=300
        The most rounds of RankBoost that may be chosen.
    folds : int, default=5
        Of the items, to choose the rounds and measure how well unseen items are ranked.
    random_state : int, default=0
        Of the folds.
    n_jobs : int, optional
    **parameters
        More parameters of `RankBoost`.

    Returns
    -------
    PreferenceRanker
    """
    from crucial.estimators.rankboost import RankBoost

    check("learn_preferences", "n_estimators", n_estimators, at_least(1))
    check("learn_preferences", "folds", folds, at_least(2))
    table = Instances.from_input(X)
    row_of = _rows_of(comparisons, item, table.n_rows)
    high, low, weight, source = comparisons.directed()
    pairs = np.column_stack((row_of[high], row_of[low]))
    tie = comparisons.tie[source]
    stops = [stop for stop in _STOPS if stop < n_estimators] + [n_estimators]
    settings: dict[str, Any] = {**parameters, "n_jobs": n_jobs}

    def fit(rows: Bools, rounds: int) -> Any:
        ranker = RankBoost(rounds, **settings)
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
    # (what is simpler wins unless more rounds do better by more than a rounding)
    best = int(np.argmax(right >= right.max() - 1e-9 * max(total, 1.0))) if n_held_out else -1
    whole = fit(weight > 0, stops[best])
    accuracy = float(right[best] / total) if n_held_out else float("nan")
    model = replace(whole.model_, training={**whole.model_.training})
    return PreferenceRanker(model, stops[best], accuracy, n_held_out)


def _rows_of(comparisons: Comparisons, item: Sequence[Any], n_rows: int) -> Ints:
    """Row of every item."""
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
    """Comparisons without and with an item of the fold, fold after fold."""
    n = len(comparisons.items)
    if n < 2 * folds:
        return []
    fold = deal_at_random(folds, n, np.random.default_rng(seed))
    made = []
    for k in range(folds):
        touched = (fold[comparisons.winner] == k) | (fold[comparisons.loser] == k)
        made.append((~touched, touched))
    return made
