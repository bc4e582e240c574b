"""Potentials: feedback seen from the rows, which is all that most weak learners need of it."""

from __future__ import annotations

import math
from typing import cast

import numpy as np

from crucial.feedback.states import Output, PairState, ScoreState, padded
from crucial.kernels.sums import round_unit, to_fixed
from crucial.types import Floats, Ints

__all__ = ["Potentials", "exponential_pairs", "whole_of"]


class Potentials:
    """The potentials of an objective at the current scores, which renew themselves.

    Parameters
    ----------
    pairs : ScoreState
        The state of the objective.
    threads : int

    Attributes
    ----------
    pi : float64 array, padded to a multiple of 8
        ``scale * pi[x]`` is the weight of the pairs that x should win minus the weight of
        those it should lose; pair weights sum to 1.
    scale : float
    unit : float
        A power of two. Sums of potentials as whole numbers of units are exact, so that they do not
        depend on the order of the rows, nor on who adds up which of them.
    log_loss : float
        Logarithm of the objective, relative to its value at scores of 0.
    pairs : ScoreState
        For what does not follow from the potentials alone.
    """

    pi: Floats
    scale: float
    unit: float
    log_loss: float

    def __init__(self, pairs: ScoreState, threads: int = 1) -> None:
        self.pairs, self._threads = pairs, threads
        self.pi = np.zeros(padded(len(pairs.scores)))
        self._before: float | None = None  # scale before the scores moved last
        self.renew()

    def renew(self) -> None:
        """Follow the scores of the state."""
        self.scale, self.log_loss = self.pairs.potentials(self.pi)
        before = None if self._before is None else whole_of(self._before)
        self.unit = round_unit(before, whole_of(self.scale))
        self._fixed: Ints | None = None

    @property
    def fixed(self) -> Ints:
        """The potentials as whole numbers of units."""
        if self._fixed is None:
            self._fixed = to_fixed(self.pi, self.unit, self._threads)
        return self._fixed

    @property
    def factor(self) -> float:
        """What a unit is worth where pair weights sum to 1."""
        return self.scale * self.unit

    def advance(self, output: Output, alpha: float) -> None:
        """Add ``alpha * output`` to the scores."""
        self._before = self.scale
        self.pairs.advance(output, alpha)
        self.renew()

    def draw(self, fraction: float, random: np.random.Generator) -> None:
        """Count only a random share of the queries (or pairs) until the next draw."""
        self.pairs.draw(fraction, random)
        self.renew()


def whole_of(scale: float) -> float:
    """Return what the magnitudes of potentials of this scale add up to at most."""
    # (pair weights sum to 1, and each counts for two rows)
    return 2.0 / scale if scale > 0.0 else math.inf


def exponential_pairs(potentials: Potentials) -> PairState:
    """Return the state behind the potentials, for a part that names what it uses in ``needs``."""
    return cast(PairState, potentials.pairs)
