"""The p-norm push, over the pairs of labels listed one by one."""

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import minimize_scalar

from naive.boost import NaiveBoost, Rules, offers
from naive.own_losses import logistic_loss, logistic_weights, push_distribution, push_log_loss
from naive.pairs import Pairs, from_labels


@dataclass
class Push:
    """The loss ``sum_q c_q sum_lo u_lo (sum_hi u_hi g e^{H(lo) - H(hi)})^p``."""

    pairs: Pairs  # weighing what stands inside of the power
    p: float
    lo_weight: np.ndarray
    coefficient: np.ndarray

    @classmethod
    def of(cls, table, p, balance="pairs", query_weight=None, gain=None):
        n = table.n_rows
        u = np.ones(n) if table.weight is None else table.weight
        listed = from_labels(table.y.tolist(), table.qid.tolist(), u.tolist(), gain=gain)
        inside = [w / u[a] for a, w in zip(listed.lo, listed.weight)]
        factor = np.array([1.0 if query_weight is None else query_weight[q] for q in table.qid])
        keep = [i for i, a in enumerate(listed.lo) if factor[a] > 0]
        pairs = Pairs(
            [listed.lo[i] for i in keep], [listed.hi[i] for i in keep], [inside[i] for i in keep], n
        )
        made = cls(pairs, p, u, factor)
        if balance == "queries":
            for q in set(table.qid[pairs.lo].tolist()):
                rows = table.qid == q
                alone = [i for i, a in enumerate(pairs.lo) if rows[a]]
                columns = (pairs.lo, pairs.hi, pairs.weight)
                part = Pairs(*([column[i] for i in alone] for column in columns), n)
                made.coefficient[rows] /= np.exp(push_log_loss(part, p, np.zeros(n), u, np.ones(n)))
        return made

    def value(self, scores):
        """``(1/p) ln F``."""
        return push_log_loss(self.pairs, self.p, scores, self.lo_weight, self.coefficient) / self.p

    def distribution(self, scores):
        return push_distribution(self.pairs, self.p, scores, self.lo_weight, self.coefficient)

    def perfect(self, ratio):
        return 2 * ratio / (self.p + 1)


@dataclass
class Logistic:
    """Logarithm of the mean of ``log2(1 + e^-margin)``."""

    pairs: Pairs

    def value(self, scores):
        return np.log(logistic_loss(self.pairs, scores))

    def distribution(self, scores):
        d, _ = logistic_weights(self.pairs, scores)
        return np.array(d) / sum(d)

    def perfect(self, ratio):
        return ratio


@dataclass
class NaiveDescent:
    """Boosting any loss over pairs: the steepest stump, then the minimum along it."""

    X: np.ndarray
    loss: object
    rate: float
    raw_total: float
    rounds: list = field(default_factory=list)
    values: list = field(default_factory=list)
    unclear: bool = False  # whether a choice hung on the last digits of a step

    def run(self, n_rounds):
        lo, hi = np.array(self.loss.pairs.lo), np.array(self.loss.pairs.hi)
        on_offer = offers(self.X, np.unique(np.concatenate((lo, hi))), "learned")
        scores = np.zeros(len(self.X))
        start = self.loss.value(scores)
        chooser = NaiveBoost(self.X, self.loss.pairs, Rules(step="exact"), self.raw_total)
        for _ in range(n_rounds):
            d = np.array(self.loss.distribution(scores))
            for one in on_offer:
                margin = one.output[hi] - one.output[lo]
                one.weights = (float(d[margin > 0].sum()), float(d[margin < 0].sum()))
                one.weights = tuple(0.0 if w < 1e-13 else w for w in one.weights)
            chosen = chooser._choose(on_offer)
            if chosen is None:
                return self
            sizes = np.array([abs(one.weights[0] - one.weights[1]) for one in on_offer])
            behind = sizes.max() - sizes
            self.unclear |= bool(((behind > 1e-13) & (behind < 1e-8)).any())
            if min(chosen.weights) == 0.0:
                alpha = self.loss.perfect(chooser._alpha(chosen))
            else:
                alpha = self._minimum(scores, chosen.output)
            scores = scores + self.rate * alpha * chosen.output
            self.rounds.append((chosen.ranker, self.rate * alpha))
            self.values.append(self.loss.value(scores) - start)
        return self

    def _minimum(self, scores, output):
        along = lambda alpha: self.loss.value(scores + alpha * output)  # noqa: E731
        return minimize_scalar(along, bracket=(-0.1, 0.1), tol=1e-12).x
