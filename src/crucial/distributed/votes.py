"""Votes over rows in parts: the local search, on sums that the parts have added up."""

from __future__ import annotations

import numpy as np

from crucial.distributed.state import PartedState, RankerOutput, as_output
from crucial.distributed.stumps import PartedStumps
from crucial.feedback.potentials import Potentials
from crucial.types import Ints
from crucial.weak.base import Candidate
from crucial.weak.votes import VoteLearner

__all__ = ["PartedVotes"]


class PartedVotes(VoteLearner):
    """The best vote of a stump, or the constant, under the potentials of all parts.

    Parameters
    ----------
    stumps : PartedStumps
    """

    stumps: PartedStumps

    def propose(self, potentials: Potentials) -> Candidate | None:
        """Return the vote or constant with the largest ``|r|``; None if none beats chance."""
        state = potentials.pairs
        assert isinstance(state, PartedState)
        self.stumps.ask(state, self._wanted)
        found = super().propose(potentials)
        if found is not None:
            state.slope = found.slope
        return found

    def _wanted(self, alpha: float) -> Ints | None:
        """Return the features that may have the best vote after a step; None for all.

        Those that it leaves out by mistake are asked for later, which costs time alone.
        """
        search, step = self.stumps.search, 2.0 * abs(alpha)
        best = float(self._peak[search.drift == 0].max(initial=0.0))
        return np.flatnonzero(self._peak + 2.0 * search.drift + step >= best - step)

    def _candidate(self, position: int, default: int, slope: float) -> Candidate:
        found = super()._candidate(position, default, slope)
        return Candidate(
            found.ranker, as_output(RankerOutput(found.ranker)), slope, found.weights, found.slot
        )
