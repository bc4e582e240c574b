"""Boosting label rankers: a stump a round, with a prediction for every label."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

import numpy as np

from crucial.feedback.base import exp_or_inf, smoothing_of
from crucial.label_ranking.losses import LabelObjective, TwoClassLoss
from crucial.label_ranking.model import LabelStump
from crucial.label_ranking.stumps import LabelStumpSearch, Split
from crucial.types import Floats
from crucial.weak.choose import NOISE

__all__ = ["LabelBoosted", "LabelRound", "boost_labels"]


@dataclass(frozen=True)
class LabelRound:
    """One round.

    Attributes
    ----------
    stump : LabelStump
        As it goes into the model, learning rate included.
    z : float
        Factor on the loss.
    log_loss : float
        Logarithm of the loss after the round, relative to that of scores of 0.
    f_skew : float or None
        ``F+ - F-`` over (row, label), as a share of ``F+ + F-``; for AdaBoost.MH.
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
        return exp_or_inf(self.log_loss)


@dataclass
class LabelBoosted:
    """What the loop made."""

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
) -> LabelBoosted:
    """Add label stumps until the rounds are done or nothing helps.

    Parameters
    ----------
    total : float
        Weight of all (row, label), which says how much predictions are smoothed.
    discrete : bool
        Schapire & Singer's discrete predictions, or their real ones.
    """
    made = LabelBoosted(scores=np.zeros(objective.right.shape))
    smoothing = smoothing_of(total) * objective.mass
    pi, log_loss = objective.weigh(made.scores)
    for _ in range(rounds):
        began = time.perf_counter()
        split = search.best(pi, objective.factor)
        if split is None:
            made.stopped = "no weak ranker helps"
            break
        values = (_votes if discrete else _real)(split, objective, smoothing) * rate
        made.scores += values.take(split.part, axis=0)
        before = log_loss
        pi, log_loss = objective.weigh(made.scores)
        missing, low, high = (tuple(row) for row in values.tolist())
        made.rounds.append(
            LabelRound(
                LabelStump(split.feature, split.threshold, low, high, missing),
                exp_or_inf(log_loss - before),
                log_loss,
                float(pi.sum()) if isinstance(objective, TwoClassLoss) else None,
                time.perf_counter() - began,
            )
        )
    return made


def _real(split: Split, objective: LabelObjective, smoothing: float) -> Floats:
    """Schapire & Singer (1999, equation 10), smoothed in every round as in their section 4.2.

    The smoothing shortens steps and moves no minimum: a prediction is 0 where it was.
    """
    ratio = (split.right + smoothing) / (split.wrong + smoothing)
    return objective.step * np.log(ratio)


def _votes(split: Split, objective: LabelObjective, smoothing: float) -> Floats:
    """The majority of every part and label, all with one weight (their section 4.1)."""
    difference = split.right - split.wrong
    difference[np.abs(difference) <= NOISE] = 0.0  # no majority: rounding must not make one
    r = min(1.0, float(np.abs(difference).sum()) / objective.mass)
    alpha = 0.5 / objective.mass * math.log((1.0 + r + smoothing) / (1.0 - r + smoothing))
    return alpha * np.sign(difference)
