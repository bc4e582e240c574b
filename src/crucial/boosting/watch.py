"""The eval set of a fit: measures after every round, and when to stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec.structs import replace

from crucial.boosting.perfect import power_above
from crucial.data.bins import Bins
from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.feedback.states import Output
from crucial.model.weak import (
    Affine,
    Constant,
    Presence,
    ScaledFeature,
    Stump,
    Vote,
    WeakRankerLike,
)
from crucial.types import Floats

__all__ = ["Watch"]


class Watch:
    """The scores of an eval set after every round, and the measures on it.

    Parameters
    ----------
    instances, groups : the eval set
    measures : sequence of (name, function of scores, whether more is better)
        The first one decides when to stop.
    patience : int or None
        Rounds without a new best value before stopping.
    """

    def __init__(
        self,
        instances: Instances,
        groups: Groups,
        measures: Sequence[tuple[str, Callable[[Floats], float], bool]],
        patience: int | None,
    ) -> None:
        self.instances, self._groups, self._measures = instances, groups, measures
        self._patience = patience
        self.scores = np.zeros(instances.n_rows)
        self.best_round = 0
        self._best = -np.inf
        self._seen = 0
        self._bins: Bins | None = None
        # Weak rankers with an infinite weight: the first of them counts most.
        self._settled: Floats | None = None

    def prepare(self, bins: Bins | None, threads: int) -> None:
        """Code the eval set as the training set was, so that stumps cost one comparison."""
        self._bins = bins
        if bins is not None:
            rows = np.arange(self.instances.n_rows)
            self._codes = bins.recode(self.instances, rows, threads)
            self._place = {int(j): f for f, j in enumerate(bins.features)}

    def advance(self, ranker: WeakRankerLike, alpha: float) -> dict[str, float]:
        """Add a weak ranker to the scores and measure them."""
        self.scores += alpha * self._output(ranker)
        return self.look()

    def settle(self, ranker: WeakRankerLike, sign: float, afresh: bool) -> dict[str, float]:
        """Add a weak ranker with an infinite weight of that sign, and measure the scores.

        Parameters
        ----------
        afresh : bool
            Drop all rankers before it.
        """
        before = np.zeros_like(self.scores) if self._settled is None else self._settled
        if afresh:
            self.scores[:] = before[:] = 0.0
        self._settled = 2.0 * before + sign * self._output(ranker)
        return self.look()

    def _combined(self) -> Floats:
        """Return scores in which no finite weight outweighs an infinite one."""
        if self._settled is None:
            return self.scores
        return self._settled * power_above(float(np.ptp(self.scores))) + self.scores

    def _output(self, ranker: WeakRankerLike) -> Output:
        """Return the scores of a weak ranker, by the codes of its feature where there are some."""
        if isinstance(ranker, Constant):
            return np.ones(self.instances.n_rows)
        if isinstance(ranker, Vote):
            return 2.0 * self._output(ranker.ranker) - 1.0
        if isinstance(ranker, Affine):
            return ranker.intercept + ranker.slope * self._output(ranker.ranker)
        if self._bins is not None and isinstance(ranker, Stump | Presence):
            f = self._place[ranker.feature]
            codes = self._codes[f, : self.instances.n_rows]
            absent = codes == len(self._bins.thresholds[f]) + 1
            if isinstance(ranker, Presence):
                return np.where(absent, ranker.default, 1 - ranker.default)
            k = np.searchsorted(self._bins.thresholds[f], ranker.threshold) + 1
            return np.where(absent, ranker.default, codes >= k)
        if isinstance(ranker, ScaledFeature):
            column = self.instances.column(ranker.feature)[:, None]
            return replace(ranker, feature=0).scores(column)
        table = self.instances.table
        return ranker.scores(table.toarray() if self.instances.is_sparse else table, self._groups)

    def look(self) -> dict[str, float]:
        """Measure the current scores; record the round if it is the best so far."""
        self._seen += 1
        scores = self._combined()
        values = {name: function(scores) for name, function, _ in self._measures}
        name, _, more = self._measures[0]
        value = values[name] if more else -values[name]
        if value > self._best and self._may_be_best():  # the first of equal rounds stays
            self._best, self.best_round = value, self._seen
        return values

    def _may_be_best(self) -> bool:
        """Return whether the ensemble may end with the current round."""
        return True

    @property
    def deciding(self) -> tuple[str, bool]:
        """The measure that decides which round is best, and whether more of it is better."""
        name, _, more = self._measures[0]
        return name, more

    @property
    def done(self) -> bool:
        """Whether patience has run out."""
        return self._patience is not None and self._seen - self.best_round >= self._patience
