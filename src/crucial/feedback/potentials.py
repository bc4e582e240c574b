"""Feedback seen from the instances: all that a weak learner needs of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crucial.feedback.base import PairState

__all__ = ["Potentials"]


@dataclass
class Potentials:
    """The current state of a problem, seen from its instances.

    Attributes
    ----------
    pi : float64 array, padded to a multiple of 8
        ``scale * pi[x]`` is the weight of the pairs that x should win minus the weight of
        those it should lose; pair weights sum to 1.
    scale : float
    log_loss : float
        Logarithm of the objective, relative to its value at scores of 0.
    pairs : PairState
        For what cannot be told from the potentials alone.
    draws : int
        How often the pairs that count were drawn; a bound on their weights that was found
        under an earlier draw says nothing now.
    """

    pi: NDArray[np.float64]
    scale: float
    log_loss: float
    pairs: PairState
    draws: int = 0
