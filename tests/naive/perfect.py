"""RankBoost with infinite weights, as equation 49 states it: pairs compared by tuples."""

import math
from dataclasses import dataclass, field

import numpy as np

from naive.boost import ZERO, NaiveBoost, Rules, offers


@dataclass
class NaiveLimit:
    """Rounds over explicit pairs; a pair that an infinite weight orders is out of the game."""

    X: np.ndarray
    pairs: object
    rules: Rules
    rounds: list = field(default_factory=list)
    losses: list = field(default_factory=list)

    def run(self, n_rounds):
        lo, hi = np.array(self.pairs.lo), np.array(self.pairs.hi)
        weight = np.array(self.pairs.weight) / self.pairs.total
        on_offer = offers(self.X, np.unique(np.concatenate((lo, hi))), self.rules.default_rank)
        chooser = NaiveBoost(self.X, self.pairs, self.rules, 1.0)
        scores, alive = np.zeros(len(self.X)), np.ones(len(lo), bool)
        for _ in range(n_rounds):
            d = np.where(alive, weight * np.exp(scores[lo] - scores[hi]), 0.0)
            d /= d.sum()
            for one in on_offer:
                margin = one.output[hi] - one.output[lo]
                right, wrong = d[margin > 0].sum(), d[margin < 0].sum()
                one.weights = (
                    0.0 if right < ZERO else float(right),
                    0.0 if wrong < ZERO else float(wrong),
                )
            chosen = chooser._choose(on_offer)
            if chosen is None:
                return self
            alpha = self._alpha(chosen, lo, hi, alive)
            self.rounds.append((chosen.ranker, alpha))
            if math.isinf(alpha):
                alive = alive & (chosen.output[hi] == chosen.output[lo])
            else:
                scores = scores + alpha * chosen.output
            left = np.where(alive, weight * np.exp(scores[lo] - scores[hi]), 0.0)
            self.losses.append(float(left.sum()))
            if not alive.any():
                return self
        return self

    def _alpha(self, one, lo, hi, alive):
        right, wrong = one.weights
        if self.rules.step == "bound":
            right, wrong = (1 + one.slope) / 2, (1 - one.slope) / 2
        if right >= ZERO and wrong >= ZERO:
            return 0.5 * math.log(right / wrong)
        margin = (one.output[hi] - one.output[lo])[alive]
        sign = 1.0 if one.slope > 0 else -1.0
        if (sign * margin < 0).any():  # of no weight, and yet in the wrong order
            return -0.5 * sign * math.log(ZERO)
        return sign * math.inf

    def key(self, x_row):
        """The score of a row as a tuple: infinite weights first, in their order."""
        infinite, finite = [], 0.0
        for ranker, alpha in self.rounds:
            h = float(ranker.scores(x_row[None, :], None)[0])
            if math.isinf(alpha):
                infinite.append(math.copysign(h, alpha) if h else 0.0)
            else:
                finite += alpha * h
        return (*infinite, round(finite, 9))
