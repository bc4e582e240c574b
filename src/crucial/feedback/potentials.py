"""Potentials: feedback seen from the rows, which is all that most weak learners need of it."""

from __future__ import annotations

import sys
from typing import cast

import numpy as np

from crucial.feedback.states import Output, PairState, ScoreState, padded
from crucial.types import Floats

__all__ = ["Potentials", "exponential_pairs"]

# The logarithm of a loss of 0; finite, since model files contain finite numbers only.
_LOG_OF_NOTHING = -sys.float_info.max


class Potentials:
    """The potentials of an objective at the current scores, which renew themselves.

    Parameters
    ----------
    pairs : ScoreState
        The state of the objective.

    Attributes
    ----------
    pi : float64 array, padded to a multiple of 8
        ``scale * pi[x]`` is the weight of the pairs that x should win minus the weight of
        those it should lose; pair weights sum to 1.
    scale : float
    log_loss : float
        Logarithm of the objective, relative to its value at scores of 0.
    pairs : ScoreState
        For what does not follow from the potentials alone.
    """

    pi: Floats
    scale: float
    log_loss: float

    def __init__(self, pairs: ScoreState) -> None:
        self.pairs = pairs
        self.pi = np.zeros(padded(len(pairs.scores)))
        self.renew()

    def renew(self) -> None:
        """Follow the scores of the state."""
        self.scale, self.log_loss = self.pairs.potentials(self.pi)

    def advance(self, output: Output, alpha: float) -> None:
        """Add ``alpha * output`` to the scores."""
        self.pairs.advance(output, alpha)
        self.renew()

    def settle(self, output: Output, afresh: bool = False) -> bool:
        """Give a {0, 1} ranker an infinite weight: only the pairs that it ties still count.

        Parameters
        ----------
        afresh : bool
            Also set the scores to 0, as if nothing had been learned before.

        Returns
        -------
        bool
            Whether any pair is left. If not, the loss is 0.
        """
        left = exponential_pairs(self).tied(output)
        if left is None:
            self.log_loss = _LOG_OF_NOTHING
            return False
        if not afresh:
            left.advance(self.pairs.scores, 1.0)
        self.pairs = left
        self.renew()
        return True

    def draw(self, fraction: float, random: np.random.Generator) -> None:
        """Count only a random share of the queries (or pairs) until the next draw."""
        self.pairs.draw(fraction, random)
        self.renew()


def exponential_pairs(potentials: Potentials) -> PairState:
    """Return the state behind the potentials, for a part that names what it uses in ``needs``."""
    return cast(PairState, potentials.pairs)
