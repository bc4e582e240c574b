"""Votes: stumps as classifiers, and the constant beside them, for AdaBoost."""

from __future__ import annotations

from typing import cast

import numpy as np

from crucial.data.bins import Bins
from crucial.feedback.base import Potentials
from crucial.feedback.classes import BipartiteState
from crucial.model.weak import Constant, Presence, Stump, Vote, WeakRankerLike
from crucial.types import Floats, Ints
from crucial.weak.base import Candidate, Constraints, StepRule, TrainingRows, WeakLearner
from crucial.weak.choose import first_best, worst_tied
from crucial.weak.stored_search import StoredSearch
from crucial.weak.stumps import StumpLearner

__all__ = ["VoteLearner"]


class VoteLearner(WeakLearner):
    """The best vote ``2 h - 1`` of a stump h, or the constant 1 if that is better.

    A vote gives every row 1 or -1, so that the largest ``|r|``, ``r = sum (2 h - 1) pi``, has
    the smallest ``Z = sqrt(1 - r^2)`` as well (Rudin & Schapire 2009, footnote 2). From the
    slope of its stump, ``r = 2 sum h pi - sum pi``. The constant takes part like any other;
    among equals it comes first, as a feature before all others would.

    Parameters
    ----------
    stumps : StumpLearner
        Bins the features and makes the stumps.
    """

    needs = ("net",)

    def __init__(self, stumps: StumpLearner) -> None:
        self.stumps = stumps

    def prepare(self, training: TrainingRows, constraints: Constraints, step: StepRule) -> Bins:
        """Bin the features."""
        self._ones = np.ones(len(training.rows), np.uint8)
        bins = self.stumps.prepare(training, constraints, step)
        self._peak = np.zeros(len(bins.features))  # largest |r| when last scanned
        self._stored: StoredSearch | None = None
        if bins.stored is not None:
            self._stored = StoredSearch(self.stumps.grid, False, None, training.threads, 2.0)
        return bins

    def propose(self, potentials: Potentials) -> Candidate | None:
        """Return the vote or constant with the largest ``|r|``; None if none beats chance."""
        net, grid = cast(BipartiteState, potentials.pairs).net, self.stumps.grid
        slopes, places = [np.array([net])], [np.full((1, 2), -1)]
        for f, slope in self._close(potentials, net):
            at = np.argwhere(grid.offered_of(f).T)  # (threshold, default) order
            slopes.append(2.0 * slope[at[:, 1], at[:, 0]] - net)
            places.append(at + np.array([int(grid.first[f]), 0]))
        r = np.concatenate(slopes)
        found = first_best(np.abs(r), r)
        if found is None:
            return None
        position, default = np.concatenate(places)[found].tolist()
        return self._candidate(position, default, float(r[found]))

    def _close(self, potentials: Potentials, net: float) -> list[tuple[int, Floats]]:
        """Return the features whose largest ``|r|`` ties with the best, and their slopes."""
        if self._stored is not None:
            stored = self._stored
            stored.renew(potentials, -net)
            best = stored.scan_contenders(abs(net))
            close = (stored.drift == 0.0) & (stored.peak >= worst_tied(best) * (1.0 - 1e-12))
            return [(f, stored.dense_slopes(f)) for f in np.flatnonzero(close).tolist()]
        search = self.stumps.search
        search.renew(potentials)
        best = self._scan_contenders(net)
        close = (search.drift == 0) & (self._peak >= worst_tied(best))
        return [
            (f, search.slope[:, search.first[f] : search.first[f + 1]])
            for f in np.flatnonzero(close).tolist()
        ]

    def _scan_contenders(self, net: float) -> float:
        """Scan every feature that can have the largest ``|r|`` or tie with it; return that.

        No r of a vote can change by more than the sum of the absolute changes of potentials,
        which is twice the drift of the slopes of stumps.
        """
        search = self.stumps.search

        def scan(features: Ints) -> None:
            search.scan(features)
            for f in features.tolist():
                part = np.s_[:, search.first[f] : search.first[f + 1]]
                r = np.abs(2.0 * search.slope[part] - net)
                self._peak[f] = r[search.offered[part]].max(initial=0.0)

        reach = self._peak + 2.0 * search.drift
        return search.scan_while_promising(self._peak, reach, scan, abs(net))

    def _candidate(self, position: int, default: int, slope: float) -> Candidate:
        """Return a vote, or the constant for a position of -1."""
        weights = ((1.0 + slope) / 2.0, (1.0 - slope) / 2.0)  # it leaves out no row
        if position < 0:
            return Candidate(Constant(), self._ones, slope, weights)
        stump = self.stumps.candidate(position, default, slope)
        assert isinstance(stump.ranker, Stump | Presence)
        return Candidate(Vote(stump.ranker), stump.output, slope, weights, stump.slot)

    def replay(self, ranker: WeakRankerLike, slope: float) -> Candidate:
        """Return the candidate for a ranker that an earlier call chose."""
        if isinstance(ranker, Constant):
            return self._candidate(-1, 0, slope)
        assert isinstance(ranker, Vote)
        stump = self.stumps.replay(ranker.ranker, slope)
        return self._candidate(stump.slot // 2, stump.slot % 2, slope)
