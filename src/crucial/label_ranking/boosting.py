"""Boost label rankers: one stump per round, with a prediction for every label."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from crucial.boosting.stump_search import NOISE
from crucial.feedback.base import smoothing_of
from crucial.kernels.elementary import exp, log
from crucial.label_ranking.losses import LabelObjective, TwoClassLoss
from crucial.label_ranking.model import LabelStump
from crucial.label_ranking.stumps import LabelStumpSearch, PartedRows
from crucial.types import Floats

__all__ = ["LabelEnsemble", "LabelRound", "boost_labels"]


@dataclass(frozen=True)
class LabelRound:
    """One round of boosting.

    Attributes
    ----------
    stump : LabelStump
        Stump of the model, learning rate included.
    z : float
        Factor by which the round changed the loss.
    log_loss : float
        Logarithm of the loss after the round, relative to that of scores of 0.
    f_skew : float or None
        ``F+ - F-`` over (row, label), as a share of ``F+ + F-``; only for AdaBoost.MH.
    seconds : float
    """

    stump: LabelStump
    z: float
    log_loss: float
    f_skew: float | None
    seconds: float

    @property
    def loss(self) -> float:
        """The loss after the round."""
        return exp(self.log_loss)


@dataclass
class LabelEnsemble:
    """The rounds, the scores of the training rows, and why boosting stopped early, if it did."""

    rounds: list[LabelRound] = field(default_factory=list)
    scores: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    stopped: str = ""


def boost_labels(
    search: LabelStumpSearch,
    objective: LabelObjective,
    total: float,
    *,
    rounds: int,
    rate: float,
    discrete: bool,
) -> LabelEnsemble:
    """Add label stumps until all rounds are done or no stump lowers the loss.

    Parameters
    ----------
    search : LabelStumpSearch
    objective : LabelObjective
    total : float
        Weight of all (row, label), which determines the smoothing of predictions.
    rounds : int
    rate : float
        Learning rate.
    discrete : bool
        Whether to use Schapire & Singer's discrete predictions, or their real ones.
    """
    ensemble = LabelEnsemble(scores=np.zeros(objective.right.shape))
    smoothing = smoothing_of(total) * objective.mass
    pi, log_loss = objective.weigh(ensemble.scores)
    for _ in range(rounds):
        began = time.perf_counter()
        parted = search.best(pi, objective.factor)
        if parted is None:
            ensemble.stopped = "no weak ranker helps"
            break
        values = (_votes if discrete else _real)(parted, objective, smoothing) * rate
        ensemble.scores += values.take(parted.part, axis=0)
        before = log_loss
        pi, log_loss = objective.weigh(ensemble.scores)
        missing, low, high = (tuple(row) for row in values.tolist())
        ensemble.rounds.append(
            LabelRound(
                LabelStump(parted.feature, parted.threshold, low, high, missing),
                exp(log_loss - before),
                log_loss,
                float(pi.sum()) if isinstance(objective, TwoClassLoss) else None,
                time.perf_counter() - began,
            )
        )
    return ensemble


def _real(parted: PartedRows, objective: LabelObjective, smoothing: float) -> Floats:
    """Return real predictions (Schapire & Singer 1999, equation 10), smoothed as in section 4.2.

    The smoothing shortens steps and moves no minimum: a prediction of 0 stays 0.
    """
    ratio = (parted.right + smoothing) / (parted.wrong + smoothing)
    return objective.step * log(ratio)


def _votes(parted: PartedRows, objective: LabelObjective, smoothing: float) -> Floats:
    """Return the majority of every part and label, all with one weight (section 4.1)."""
    difference = parted.right - parted.wrong
    difference[np.abs(difference) <= NOISE] = 0.0  # (rounding must not make a majority)
    r = min(1.0, float(np.abs(difference).sum()) / objective.mass)
    alpha = 0.5 / objective.mass * log((1.0 + r + smoothing) / (1.0 - r + smoothing))
    return alpha * np.sign(difference)
