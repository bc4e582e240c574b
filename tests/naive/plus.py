"""RankBoost+, written plainly: a matrix of pairs and rankers, everything from scratch."""

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from scipy.optimize import brentq

from naive.boost import TIE, ZERO, offers


class ExactSpan:
    """Linear dependence in rational numbers."""

    def __init__(self):
        self.rows = []  # (pivot, row), reduced

    def rest(self, vector):
        left = [Fraction(int(v)) for v in vector]
        for pivot, row in self.rows:
            if left[pivot]:
                factor = left[pivot] / row[pivot]
                left = [a - factor * b for a, b in zip(left, row)]
        return left

    def add(self, vector):
        left = self.rest(vector)
        pivot = next((i for i, v in enumerate(left) if v), None)
        if pivot is not None:
            self.rows.append((pivot, left))
        return pivot is not None


def f2(matrix, eta, weight):
    """Equation 22: the mean over pairs of a product over rankers."""
    factors = np.where(matrix == 0, np.cosh(eta), np.exp(-eta * matrix))
    return float(weight @ factors.prod(axis=1))


def margins_of(offer, lo, hi):
    return (offer.output[hi] - offer.output[lo]).astype(int)


def distinct(on_offer, lo, hi):
    """One of every direction over the pairs, the first; rankers that tie all pairs are none."""
    kept, seen = [], set()
    for one in on_offer:
        vector = margins_of(one, lo, hi)
        keys = {tuple(vector.tolist()), tuple((-vector).tolist())}
        if vector.any() and not keys & seen:
            kept.append(one)
        seen |= keys
    return kept


@dataclass
class NaivePlus:
    """Rounds of RankBoost+ over explicit pairs; ``raw_total`` as in `naive.boost`."""

    X: np.ndarray
    pairs: object
    raw_total: float
    search: str = "efficient"
    default_rank: object = "learned"
    on_perfect: str = "smooth"
    seed: int = 0
    rounds: list = field(default_factory=list)
    losses: list = field(default_factory=list)
    deltas: list = field(default_factory=list)
    dependent: list = field(default_factory=list)
    static_round: int | None = None
    stopped: str = ""

    def run(self, n_rounds):
        lo, hi = np.array(self.pairs.lo), np.array(self.pairs.hi)
        self.weight = np.array(self.pairs.weight) / self.pairs.total
        rows = np.unique(np.concatenate((lo, hi)))
        self.offers = distinct(offers(self.X, rows, self.default_rank), lo, hi)
        count = len(self.offers)
        vectors = [margins_of(one, lo, hi) for one in self.offers]
        self.matrix = np.array(vectors).reshape(count, len(lo)).T
        self.eta = np.zeros(count)
        self.members, self.left, self.span = [], list(range(count)), ExactSpan()
        for number in range(n_rounds):
            step = self._round(number)
            if isinstance(step, str):
                self.stopped = step
                break
        return self

    def _distribution(self):
        used = self.matrix[:, self.members]
        eta = self.eta[self.members]
        d = self.weight * np.where(used == 0, np.cosh(eta), np.exp(-eta * used)).prod(axis=1)
        return d / d.sum()

    def _round(self, number):
        d = self._distribution()
        tanh = np.tanh(self.eta)
        delta = d @ (-self.matrix + (self.matrix == 0) * tanh)
        choice = self._choose(delta, number)
        if choice is None:
            return "no weak ranker helps"
        at, beta, slope = choice
        alpha = self._alpha(slope) if beta is None else self._along(beta)
        if alpha is None:
            return "perfect weak ranker"
        if beta is None:
            self.eta[at] += alpha
        else:
            self.eta[self.members] += alpha * beta
        self.rounds.append((self.offers[at].ranker, alpha))
        self.deltas.append(slope)
        self.losses.append(f2(self.matrix[:, self.members], self.eta[self.members], self.weight))
        return None

    # -- choosing -----------------------------------------------------------------

    def _best(self, numbers, slopes):
        """Place of the best by the tie rule, and its magnitude."""
        top = max((abs(s) for s in slopes), default=0.0)
        if not top > ZERO:
            return None, 0.0
        tied = [i for i, s in enumerate(slopes) if abs(s) >= top - TIE * (top + 1e-4)]
        rising = [i for i in tied if slopes[i] < 0]
        return min(rising or tied, key=lambda i: numbers[i]), top

    def _choose(self, delta, number):
        greedy = self.static_round is None
        inside, betas, steep = self._inside(delta)
        used, top = self._best(inside, steep)
        if greedy:
            new, reach = self._best(self.left, delta[self.left])
            if new is not None and reach - TIE * (reach + 1e-4) > top:
                at = self.left.pop(new)
                if self.span.add(self.matrix[:, at]):
                    self.members.append(at)
                    return at, None, delta[at]
                self._make_static(number)
                inside, betas, steep = self._inside(delta)
                used, top = self._best(inside, steep)
        if used is None:
            return None
        beta = betas[used]
        slope = delta[inside[used]] if beta is None else delta[self.members] @ beta
        return inside[used], beta, slope

    def _inside(self, delta):
        """Rankers in S, and directions over them where all count: numbers, betas, slopes."""
        numbers, betas = list(self.members), [None] * len(self.members)
        steep = [delta[at] for at in self.members]
        if self.search == "optimal":
            self.dependent += [at for at in self.left if self._depends(at)]
            self.left = [at for at in self.left if at not in self.dependent]
            for at in self.dependent:
                used = self.matrix[:, self.members]
                beta = np.linalg.lstsq(used, self.matrix[:, at], rcond=None)[0]
                numbers.append(at)
                betas.append(beta)
                steep.append(delta[self.members] @ beta / np.linalg.norm(beta))
        return numbers, betas, steep

    def _depends(self, at):
        return not any(self.span.rest(self.matrix[:, at]))

    def _make_static(self, number):
        self.static_round = number + 1
        order = np.random.default_rng([self.seed, 2]).permutation(len(self.left))
        for at in [self.left[i] for i in order]:
            if self.span.add(self.matrix[:, at]):
                self.members.append(at)
        self.left = []

    # -- stepping -----------------------------------------------------------------

    def _alpha(self, delta):
        right, wrong = (1 - delta) / 2, (1 + delta) / 2
        if right < ZERO or wrong < ZERO:
            if self.on_perfect == "stop":
                return None
            more = min(max(0.5 / self.raw_total, 1e-12), 1e-2)
            right, wrong = right + more, wrong + more
        return 0.5 * math.log(right / wrong)

    def _along(self, beta):
        used, eta = self.matrix[:, self.members], self.eta[self.members]

        def slope(alpha):
            now = eta + alpha * beta
            factors = np.where(used == 0, np.cosh(now), np.exp(-now * used)).prod(axis=1)
            tilt = (beta * np.where(used == 0, np.tanh(now), -used)).sum(axis=1)
            return float((self.weight * factors) @ tilt)

        return brentq(slope, -12.0, 12.0, xtol=1e-15, rtol=1e-15)
