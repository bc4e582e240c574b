"""Bags: several short runs on random parts of the data, averaged to one additive model.

The model of a run is a sum, and so is the mean of several (Breiman 1996): every weight, or every
leaf of a tree, is divided by the number of runs. The rounds of the runs take turns, so that the
first ``m n_bags`` rounds of the mean are the mean of the first m rounds of every run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import zip_longest

import numpy as np

from crucial.boosting.trace import Round
from crucial.boosting.trees import grid_unit, scaled
from crucial.boosting.watch import Watch
from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.model.weak import Tree, WeakRankerLike
from crucial.types import Bools, Floats

__all__ = ["BagWatch", "averaged"]


def averaged(runs: Sequence[Sequence[Round]]) -> tuple[list[Round], list[int]]:
    """Return the rounds of the mean of several runs, and the run that each is from.

    A run that ended early takes no more turns. The values of trees are rounded to one grid, on
    which their sums are exact (`crucial.boosting.trees`).

    Parameters
    ----------
    runs : one sequence of rounds per run

    Examples
    --------
    >>> from crucial.model.weak import Stump
    >>> a, b = (Round(Stump(f, 0.5, 0), 1.0, 0.1, 1.0, 0.0) for f in (0, 1))
    >>> rounds, origins = averaged([[a, a], [b]])
    >>> [(one.ranker.feature, one.alpha) for one in rounds], origins
    ([(0, 0.5), (1, 0.5), (0, 0.5)], [0, 1, 0])
    """
    n = len(runs)
    turns = [
        (number, entry)
        for turn in zip_longest(*runs)
        for number, entry in enumerate(turn)
        if entry is not None
    ]
    first = [
        entry.alpha / n * np.array(entry.ranker.values)
        for _, entry in turns[:n]
        if isinstance(entry.ranker, Tree)
    ]
    unit = grid_unit(np.concatenate(first)) if first else 0.0
    rounds = [_share(entry, n, unit) for _, entry in turns]
    return rounds, [number for number, _ in turns]


def _share(entry: Round, n: int, unit: float) -> Round:
    """Return what a round of one of n runs is in their mean."""
    if isinstance(entry.ranker, Tree):
        return replace(entry, ranker=scaled(entry.ranker, entry.alpha / n, unit), alpha=1.0)
    return replace(entry, alpha=entry.alpha / n)


class BagWatch(Watch):
    """The eval set of the mean of several runs; the best round is one where all took their turn.

    Parameters
    ----------
    instances, groups, measures : as in `Watch`
    patience : int or None
        Turns of all runs without a new best value before stopping.
    origins : sequence of int
        The run that each round is from.
    unseen : bool array of shape (n_runs, n_rows), optional
        The rows that each run has not learned from: only these get its scores, so that the
        measure is that of the mean of the runs that a row is new to. By default all rows.
    tolerance : float
        As in `Watch`.
    """

    def __init__(
        self,
        instances: Instances,
        groups: Groups,
        measures: Sequence[tuple[str, Callable[[Floats], float], bool]],
        patience: int | None,
        origins: Sequence[int],
        unseen: Bools | None = None,
        tolerance: float = 0.0,
    ) -> None:
        self._n_runs = max(origins, default=0) + 1
        rounds = None if patience is None else patience * self._n_runs
        super().__init__(instances, groups, measures, rounds, tolerance)
        self._origins = origins
        self._shares: Floats | None = None
        if unseen is not None:
            # (a row that few runs have not seen gets as much from them as others from many)
            few = np.maximum(unseen.sum(axis=0), 1.0)
            self._shares = np.asarray(unseen * (len(unseen) / few))

    def advance(self, ranker: WeakRankerLike, alpha: float) -> dict[str, float]:
        """Add a weak ranker to the scores and measure them."""
        share: Floats | float = 1.0
        if self._shares is not None:
            share = self._shares[self._origins[self._seen]]
        self.scores += alpha * share * self._output(ranker)
        return self.look()

    def _may_be_best(self) -> bool:
        # (all runs have taken their turn)
        origins, done = self._origins, self._seen
        return done == len(origins) or origins[done] <= origins[done - 1]
