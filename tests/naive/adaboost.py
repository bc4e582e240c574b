"""AdaBoost, written plainly: rows with weights, all votes and the constant."""

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import minimize_scalar

from crucial.model.weak import Constant, Vote
from naive.boost import ZERO, offers
from naive.component_boost import best_of


@dataclass
class NaiveAdaBoost:
    """Rounds of AdaBoost over hypotheses in {-1, 1}."""

    X: np.ndarray
    y: np.ndarray  # -1 and 1
    weight: np.ndarray
    rate: float = 1.0
    default_rank: object = "learned"
    on_perfect: str = "smooth"
    step: str = "exact"
    rounds: list = field(default_factory=list)
    losses: list = field(default_factory=list)
    skews: list = field(default_factory=list)
    smooth_margins: list = field(default_factory=list)
    margins: list = field(default_factory=list)
    stopped: str = ""

    def run(self, n_rounds):
        live = np.flatnonzero(self.weight > 0)
        stumps = offers(self.X, live, self.default_rank)
        hypotheses = [(Constant(), np.ones(len(self.X)))]
        hypotheses += [(Vote(one.ranker), 2 * one.output - 1) for one in stumps]
        scores = np.zeros(len(self.X))
        total, norm = self.weight.sum(), 0.0
        for _ in range(n_rounds):
            d = self.weight * np.exp(-self.y * scores)
            d /= d.sum()
            slopes = [float((d * self.y * h).sum()) for _, h in hypotheses]
            chosen = best_of([abs(slope) for slope in slopes], slopes)
            g = self.smooth_margins[-1] if self.smooth_margins else -math.inf
            ascends = self.step != "exact" and g > 0
            if chosen is None or (ascends and max(map(abs, slopes)) <= g):
                self.stopped = "no weak ranker helps"
                return self
            right, wrong = (1 + slopes[chosen]) / 2, (1 - slopes[chosen]) / 2
            if right < ZERO or wrong < ZERO:
                if self.on_perfect == "stop":
                    self.stopped = "perfect weak ranker"
                    return self
                more = min(max(0.5 / total, 1e-12), 1e-2)
                right, wrong = right + more, wrong + more
            alpha = 0.5 * math.log(right / wrong)
            if ascends:
                sign = math.copysign(1.0, slopes[chosen])
                both = (right, wrong) if sign > 0 else (wrong, right)
                found = self._ascent(*both, g, norm)
                if found <= 0:
                    self.stopped = "no weak ranker helps"
                    return self
                alpha = sign * found
            alpha *= self.rate
            norm += abs(alpha)
            scores = scores + alpha * hypotheses[chosen][1]
            self.rounds.append((hypotheses[chosen][0], alpha))
            parts = self.weight * np.exp(-self.y * scores)
            self.losses.append(float(parts.sum() / total))
            self.skews.append(float((self.y * parts).sum()))
            lightest = min(1.0, self.weight[live].min())
            self.smooth_margins.append(-math.log(parts.sum() / lightest) / norm)
            self.margins.append(float((self.y * scores)[live].min() / norm))
        return self

    def _ascent(self, right, wrong, g, norm):
        """The step on the smooth margin G: in closed form, or the best by looking everywhere."""
        if self.step == "smooth":
            return 0.5 * math.log(right / wrong) - 0.5 * math.log((1 + g) / (1 - g))
        whole = right + wrong

        def after(alpha):
            z = (right * math.exp(-alpha) + wrong * math.exp(alpha)) / whole
            return -(g * norm - math.log(z)) / (norm + alpha)

        return minimize_scalar(after, bounds=(0, 40), method="bounded", options={"xatol": 1e-10}).x
