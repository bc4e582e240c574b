"""Perfect rounds: the counterexamples of Connamacher, Pancha, Liu & Ray (2019, appendix B).

The best weight of a weak ranker that misorders no pair is infinite. Theorem 1 of RankBoost
promises R1 <= E1 = product of Z <= exp(-.5 sum of r^2), and the table shows which treatment of such
a round keeps the promise:

``smooth``    add half a pair to both sides, as `crucial.RankBoost` does
``stop``      end before the round (``on_perfect="stop"``)
``infinite``  end with the perfect ranker alone: lemma 1 breaks the bound
``constant``  go on with a large weight: lemma 2 breaks E1 and the bound
``limit``     equation 49: the ranker outweighs all later ones, and the pairs that it ties go on

The treatments are a step rule of this script's own, `PerfectRound`, in the loop of the library.

``python studies/rankboost_plus.py appendix-b`` prints them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from crucial.boosting.loop import (
    Candidate,
    Ensemble,
    ExponentialLoss,
    StepRule,
    TrainingRows,
    boost,
)
from crucial.boosting.steps import ExactStep
from crucial.boosting.stumps import StumpLearner
from crucial.data import Instances
from crucial.data.groups import Groups
from crucial.feedback import PairFeedback
from crucial.feedback.base import Potentials, smoothing_of
from crucial.types import Floats, Ints

#: In floats, pairs that a ranker of this weight orders keep no weight.
LARGE = 64.0
TREATMENTS = ("smooth", "stop", "infinite", "constant", "limit")


class Problem(NamedTuple):
    """Weak rankers as columns of 0 and 1, and pairs (winner, loser) of rows."""

    name: str
    X: Floats
    pairs: Ints


class Outcome(NamedTuple):
    """Risk and exponential loss of the final ranking, and what theorem 1 says of its rounds."""

    r1: float
    e1: float
    bound: float


def lemma_1(n: int) -> Problem:
    """Return 2n + 2 rows: a ranker that misorders one pair, and the last winner alone."""
    a, b = np.arange(n + 1), np.arange(n + 1, 2 * n + 2)
    X = np.zeros((2 * n + 2, 2))
    X[[*a[:n], b[n]], 0] = 1
    X[a[n], 1] = 1
    return Problem(f"lemma 1, n = {n}", X, np.array([(x, y) for x in a for y in b]))


def lemma_2(n: int) -> Problem:
    """Return 10n rows: the second ranker reverses most pairs of the first."""
    a, b = np.arange(5 * n), np.arange(5 * n, 10 * n)
    X = np.zeros((10 * n, 2))
    X[a[: 4 * n], 0] = 1
    X[[*a[4 * n :], *b[: 4 * n]], 1] = 1
    return Problem(f"lemma 2, n = {n}", X, np.array([(x, y) for x in a for y in b]))


class PerfectRound(StepRule):
    """Method 2 of RankBoost with a treatment of perfect rounds.

    Attributes
    ----------
    perfect : Candidate or None
        The weak ranker before which training ended.
    """

    needs = ExactStep.needs

    def __init__(self, treatment: str, smoothing: float) -> None:
        self.treatment = treatment
        self.exact = ExactStep(smoothing, stop_when_perfect=treatment != "smooth")
        self.perfect: Candidate | None = None

    def __call__(self, candidate: Candidate, potentials: Potentials) -> float | None:
        """Return the weight of the candidate, or None to stop."""
        alpha = self.exact(candidate, potentials)
        if alpha is None and self.treatment == "constant":
            return math.copysign(LARGE, candidate.slope)
        if alpha is None:
            self.perfect = candidate
        return alpha


def boosted(
    problem: Problem, feedback: PairFeedback, treatment: str, rounds: int
) -> tuple[Ensemble, Candidate | None]:
    """Boost the columns; return the ensemble, and the perfect ranker that ended it."""
    groups = Groups.single(len(problem.X))
    training = TrainingRows(Instances.from_input(problem.X), feedback.rows, None, groups, 1)
    step = PerfectRound(treatment, smoothing_of(feedback.total))
    parts = (ExponentialLoss(), StumpLearner(), step)
    return boost(training, feedback, *parts, rounds=rounds), step.perfect


def _scores(problem: Problem, ensemble: Ensemble) -> Floats:
    total = np.zeros(len(problem.X))
    for ranker, weight in zip(ensemble.rankers, ensemble.weights):
        total += weight * ranker.scores(problem.X)
    return total


def _signed(problem: Problem, perfect: Candidate) -> Floats:
    return np.copysign(1.0, perfect.slope) * np.asarray(perfect.ranker.scores(problem.X))


def _bound(slopes: Sequence[float]) -> float:
    return math.exp(-0.5 * sum(r * r for r in slopes))


def treat(problem: Problem, treatment: str, rounds: int = 2) -> Outcome:
    """Return what a treatment of perfect rounds makes of a problem."""
    if treatment == "limit":
        return _limit(problem, rounds)
    feedback = PairFeedback(problem.pairs, len(problem.X))
    ensemble, perfect = boosted(problem, feedback, treatment, rounds)
    slopes = [entry.r for entry in ensemble.trace]
    if treatment == "infinite" and perfect is not None:
        scores = _signed(problem, perfect)
        r1 = feedback.r1(scores)  # (the pairs that the ranker ties, which are also E1)
        return Outcome(r1, r1, _bound([*slopes, perfect.slope]))
    e1 = ensemble.trace[-1].loss if slopes else 1.0
    return Outcome(feedback.r1(_scores(problem, ensemble)), e1, _bound(slopes))


def _limit(problem: Problem, rounds: int) -> Outcome:
    """Go on with the pairs that a perfect ranker ties; it outweighs everything after it."""
    finite, perfect_ones, slopes = np.zeros(len(problem.X)), [], []
    winner, loser = problem.pairs.T
    left = np.ones(len(winner), bool)
    while left.any() and len(slopes) < rounds:
        weight = np.exp(finite[loser] - finite[winner])[left]
        feedback = PairFeedback(problem.pairs[left], len(problem.X), weight=weight)
        ensemble, perfect = boosted(problem, feedback, "limit", rounds - len(slopes))
        finite += _scores(problem, ensemble)
        slopes += [entry.r for entry in ensemble.trace]
        if perfect is None:
            break
        perfect_ones.append(_signed(problem, perfect))
        slopes.append(perfect.slope)
        left &= perfect_ones[-1][winner] == perfect_ones[-1][loser]
    e1 = float(np.exp(finite[loser] - finite[winner])[left].sum()) / len(winner)
    scores = finite
    for output in reversed(perfect_ones):
        scores = scores + (np.ptp(scores) + 1.0) * output
    r1 = PairFeedback(problem.pairs, len(problem.X)).r1(scores)
    return Outcome(r1, e1, _bound(slopes))
