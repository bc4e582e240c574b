"""RankBoost, written plainly: all pairs, all stumps, one round after the other."""

import itertools
import math
from dataclasses import dataclass, field

import numpy as np

from crucial.model.weak import Presence, Stump

TIE = 1e-10
ZERO = 1e-13  # weights and criteria that rounding did not leave at 0


@dataclass
class Rules:
    """The parameters of RankBoost that say how to choose and how far to go."""

    choice: str = "steepest"
    step: str = "bound"
    default_rank: object = "learned"
    cumulative: bool = False
    on_perfect: str = "smooth"
    rate: float = 1.0
    monotone: list[int] | None = None


@dataclass
class Offer:
    """A stump on offer; ``place`` is its threshold, -1 below all values and inf above."""

    ranker: object
    output: np.ndarray
    feature: int
    place: float
    weights: tuple[float, float] = (0.0, 0.0)

    @property
    def slope(self):
        return self.weights[0] - self.weights[1]

    @property
    def drop(self):
        right, wrong = self.weights
        return 1.0 - right - wrong + 2.0 * math.sqrt(right * wrong)


def offers(X, rows, default_rank):
    """Every stump in the order (feature, threshold, default); constant ones left out."""
    made = []
    for j in range(X.shape[1]):
        x = X[:, j]
        values = np.unique(x[rows][~np.isnan(x[rows])])
        absent = np.isnan(x[rows]).any()
        middles = [(a + b) / 2 for a, b in itertools.pairwise(values)]
        if not absent:
            shown = 0 if default_rank == "learned" else default_rank
            for t in middles:
                made.append(Offer(Stump(j, t, shown), _output(x, t, shown), j, t))
            continue
        if not len(values):
            continue
        defaults = (0, 1) if default_rank == "learned" else (default_rank,)
        if 0 in defaults:
            made.append(Offer(Presence(j, 0), (~np.isnan(x)).astype(float), j, -math.inf))
        for t in middles:
            made += [Offer(Stump(j, t, d), _output(x, t, d), j, t) for d in defaults]
        if 1 in defaults:
            made.append(Offer(Presence(j, 1), np.isnan(x).astype(float), j, math.inf))
    return made


def _output(x, threshold, default):
    return np.where(np.isnan(x), default, x > threshold).astype(float)


@dataclass
class NaiveBoost:
    """Rounds of RankBoost over explicit pairs.

    ``raw_total`` is the weight of all pairs before any balancing, which says how much a
    perfect round is smoothed.
    """

    X: np.ndarray
    pairs: object
    rules: Rules
    raw_total: float
    rounds: list = field(default_factory=list)
    losses: list = field(default_factory=list)
    stopped: str = ""

    def run(self, n_rounds):
        lo, hi = np.array(self.pairs.lo), np.array(self.pairs.hi)
        weight = np.array(self.pairs.weight) / self.pairs.total
        on_offer = offers(self.X, np.unique(np.concatenate((lo, hi))), self.rules.default_rank)
        scores = np.zeros(len(self.X))
        given, jump = {}, {}
        for _ in range(n_rounds):
            d = weight * np.exp(scores[lo] - scores[hi])
            d /= d.sum()
            for one in on_offer:
                margin = one.output[hi] - one.output[lo]
                both = (float(d[margin > 0].sum()), float(d[margin < 0].sum()))
                one.weights = tuple(0.0 if weight < ZERO else weight for weight in both)
            admissible = [one for one in on_offer if self._admissible(one, given, jump)]
            chosen = self._choose(admissible)
            if chosen is None:
                self.stopped = "no weak ranker helps"
                return self
            alpha = self._alpha(chosen)
            if alpha is None:
                self.stopped = "perfect weak ranker"
                return self
            alpha *= self.rules.rate
            scores = scores + alpha * chosen.output
            given[chosen.ranker] = given.get(chosen.ranker, 0.0) + alpha
            spot = (chosen.feature, chosen.place)
            jump[spot] = jump.get(spot, 0.0) + alpha
            self.rounds.append((chosen.ranker, alpha))
            self.losses.append(float((weight * np.exp(scores[lo] - scores[hi])).sum()))
        return self

    def _alpha(self, one):
        """.5 ln(right / wrong), of the weights or of the bound; None to stop."""
        right, wrong = one.weights
        if self.rules.step == "bound":
            right, wrong = (1 + one.slope) / 2, (1 - one.slope) / 2
        if right < ZERO or wrong < ZERO:
            if self.rules.on_perfect == "stop":
                return None
            more = min(max(0.5 / self.raw_total, 1e-12), 1e-2)
            right, wrong = right + more, wrong + more
        return 0.5 * math.log(right / wrong)

    def _admissible(self, one, given, jump):
        inside = math.isfinite(one.place)
        sign = self.rules.monotone[one.feature] if self.rules.monotone and inside else 0
        alpha = self._alpha(one)
        if alpha is None:  # an infinite step: only its direction counts
            alpha = math.copysign(math.inf, one.slope)
        after = self.rules.rate * alpha
        if self.rules.cumulative and not given.get(one.ranker, 0.0) + after > 0:
            return False
        return sign == 0 or sign * (jump.get((one.feature, one.place), 0.0) + after) >= 0

    def _choose(self, on_offer):
        """The best by the tie rule: equal to 1e-10, then r > 0, then the first."""
        if self.rules.choice == "largest_drop":
            useful = [one for one in on_offer if one.drop < 1 - ZERO]
            best = min((one.drop for one in useful), default=None)
            tied = [one for one in useful if one.drop <= best + TIE * (best + 1e-5)]
        else:
            sign = self.rules.choice == "steepest_positive"
            value = (lambda one: one.slope) if sign else (lambda one: abs(one.slope))
            useful = [one for one in on_offer if value(one) > ZERO]
            best = max((value(one) for one in useful), default=None)
            tied = [one for one in useful if value(one) >= best - TIE * (best + 1e-4)]
        rising = [one for one in tied if one.slope > 0]
        return (rising or tied or [None])[0]
