"""LogitBoost and component-wise boosting, written plainly."""

from dataclasses import dataclass, field

import numpy as np

from naive.boost import TIE, ZERO, offers


def best_of(criterion, slopes):
    """The first of the best, rising ones before falling ones; None if all are 0."""
    best = max(criterion, default=0.0)
    if best <= ZERO:
        return None
    tied = [i for i, c in enumerate(criterion) if c >= best - TIE * (best + 1e-4)]
    return next((i for i in tied if slopes[i] > 0), tied[0])


@dataclass
class NaiveLogitBoost:
    """Newton's steps by stumps, for labels -1 and 1."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    rate: float = 1.0
    clip: float | None = 4.0
    default_rank: object = "learned"
    rounds: list = field(default_factory=list)
    losses: list = field(default_factory=list)

    def run(self, n_rounds):
        live = np.flatnonzero(self.weight > 0)
        u, y = self.weight[live] / self.weight.sum(), (self.y[live] + 1) / 2
        stumps = offers(self.X, live, self.default_rank)
        scores = np.zeros(len(self.X))
        for _ in range(n_rounds):
            p = 1 / (1 + np.exp(-2 * scores[live]))
            w = u * p * (1 - p)
            z = (y - p) / (p * (1 - p))
            if self.clip is not None:
                z = np.clip(z, -self.clip, self.clip)
            whole = (w * z**2).sum()
            if not whole > 0:
                return self
            fits = []
            for one in stumps:
                ones = one.output[live] == 1
                low = np.average(z[~ones], weights=w[~ones])
                high = np.average(z[ones], weights=w[ones])
                left = (w * (z - np.where(ones, high, low)) ** 2).sum()
                fits.append((1 - left / whole, low, high))
            rises = [h - l if abs(h - l) > 1e-12 * (abs(h) + abs(l)) else 0.0 for _, l, h in fits]
            chosen = best_of([one[0] for one in fits], rises)
            if chosen is None:
                return self
            _, low, high = fits[chosen]
            scores = scores + self.rate / 2 * np.where(stumps[chosen].output == 1, high, low)
            self.rounds.append((stumps[chosen].ranker, low, high))
            margin = self.y[live] * scores[live]
            self.losses.append(float((u * np.log2(1 + np.exp(-2 * margin))).sum()))
        return self


def surrogate(loss, z, width=0.5):
    """Loss and minus its derivative."""
    if loss == "exp":
        return np.exp(-z), np.exp(-z)
    if loss == "hinge":
        return np.maximum(0, 1 - z), (z < 1 - 1e-12) * 1.0
    value = np.where(z < 0, 1.0, np.where(z > width, 0.0, 1 - z / width))
    return value, ((z > 1e-12 * width) & (z <= width * (1 + 1e-12))) / width


@dataclass
class NaiveComponents:
    """Component-wise boosting of one loss: every pair, every feature, one round after the other."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray
    weight: np.ndarray
    loss: str = "l2"
    choice: str = "updated"
    rate: float = 0.1
    width: float = 0.5
    rounds: list = field(default_factory=list)
    risks: list = field(default_factory=list)

    def __post_init__(self):
        self.columns = []
        for j, x in enumerate(self.X.T):
            seen = ~np.isnan(x)
            if not seen.any() or x[seen].min() == x[seen].max():
                continue
            low, high = x[seen].min(), x[seen].max()
            v = (x - low) / (high - low)
            v[~seen] = np.average(v[seen], weights=self.weight[seen])
            if (self.centred(v) ** 2).sum() > 1e-20:
                self.columns.append((j, v))
        same = self.qid[:, None] == self.qid[None, :]
        self.gap = np.where(same, self.y[:, None] - self.y[None, :], 0.0)
        self.pairs = np.where(self.gap != 0, self.weight[:, None] * self.weight[None, :], 0.0)

    def centred(self, v):
        out = np.array(v, float)
        for q in np.unique(self.qid):
            own = self.qid == q
            out[own] -= np.average(v[own], weights=self.weight[own])
        return out

    def offset(self):
        out = np.zeros(len(self.y))
        for q in np.unique(self.qid):
            own = self.qid == q
            y, u = self.y[own], self.weight[own]
            if self.loss == "l2":
                out[own] = np.average(y, weights=u)
            elif self.loss == "l1":
                order = np.argsort(y, kind="stable")
                running = np.cumsum(u[order]) - u.sum() / 2
                at = int(np.flatnonzero(running >= -1e-12)[0])
                after = at + 1 if abs(running[at]) < 1e-12 else at
                out[own] = (y[order[at]] + y[order[after]]) / 2
            else:
                good = u[y == y.max()].sum()
                out[own] = 0.5 * np.log(good / (u.sum() - good))
        return out

    def of_pairs(self):
        return self.loss in ("exp", "hinge", "piecewise")

    def evaluate(self, f, first=False):
        """U and the mean loss."""
        u = self.weight
        if self.of_pairs():
            z = self.gap * (f[:, None] - f[None, :])
            value, slope = surrogate(self.loss, z, self.width)
            risk = (self.pairs * value).sum() / self.pairs.sum()
            if first:
                return self.y.copy(), risk
            pull = np.where(self.gap != 0, u[None, :] * self.gap * slope, 0.0).sum(axis=1)
            return pull * u.sum() / self.pairs.sum(), risk
        if self.loss == "l2":
            return self.y - f, np.average((self.y - f) ** 2, weights=u)
        if self.loss == "l1":
            left = self.y - f
            left[np.abs(left) <= 1e-12 * np.ptp(self.y)] = 0.0
            return np.sign(left), np.average(np.abs(left), weights=u)
        top = np.array([self.y[self.qid == q].max() for q in self.qid])
        sign = np.where(self.y == top, 1.0, -1.0)
        gradient = 2 / np.log(2) * sign / (1 + np.exp(2 * sign * f))
        return gradient, np.average(np.log2(1 + np.exp(-2 * sign * f)), weights=u)

    def run(self, n_rounds):
        u = self.weight
        f = np.zeros(len(self.y)) if self.of_pairs() else self.offset()
        for number in range(n_rounds):
            U, _ = self.evaluate(f, number == 0)
            level = U - self.centred(U)
            slopes, criterion = [], []
            for _, v in self.columns:
                c = self.centred(v)
                slope = (u * U * c).sum() / (u * c * c).sum()
                slopes.append(slope)
                power = abs(slope) * np.sqrt((u * c * c).sum() / max((u * U * U).sum(), 1e-300))
                if self.of_pairs() and power > ZERO:
                    fit = slope * v
                    after = f + self.rate * fit if self.choice == "updated" else fit
                    criterion.append(1 / (self.evaluate(after)[1] + 1e-5))
                else:
                    criterion.append(power)
            chosen = best_of(criterion, slopes)
            if chosen is None:
                return self
            j, v = self.columns[chosen]
            f = f + self.rate * (slopes[chosen] * self.centred(v) + level)
            self.rounds.append((j, slopes[chosen]))
            self.risks.append(self.evaluate(f)[1])
        return self
