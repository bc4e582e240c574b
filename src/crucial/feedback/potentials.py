"""Feedback seen from the instances: all that a weak learner needs of it."""

from __future__ import annotations

from dataclasses import dataclass

from crucial.feedback.base import PairState
from crucial.types import Floats

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
    net : float
        Sum of ``scale * pi``: 0 where rows are compared with each other, not where they are
        compared with a fixed score, as in classification.
    draws : int
        How often the pairs that count were drawn; a bound on their weights that was found
        under an earlier draw says nothing now.
    norm : float
        Sum of the absolute weights of all rounds so far: |lambda|_1 in Rudin & Schapire
        (2009), where a weak ranker and its opposite are two.
    """

    pi: Floats
    scale: float
    log_loss: float
    pairs: PairState
    draws: int = 0
    net: float = 0.0
    norm: float = 0.0
