"""TreeRank, its pruning and RankOver, written plainly: every split, set and subtree."""

from itertools import permutations, product

import numpy as np

TIE = 1e-9


def tests_of(X):
    """Every test of the columns, in order: feature, threshold (-inf: present), with NaN or not."""
    out = []
    for j in range(X.shape[1]):
        values = np.unique(X[~np.isnan(X[:, j]), j])
        middle = list((values[1:] + values[:-1]) / 2)
        absent = np.isnan(X[:, j]).any()
        if len(values) and (absent or len(middle)):
            out += [(j, t) for t in ([-np.inf] if absent else []) + middle]
    return out


def half_lines(X):
    """Every half-line, above before below, without NaN before with."""
    for j, t in tests_of(X):
        for above, missing in product((True, False), (False, True)):
            if t == -np.inf and above == missing:  # (everything, or nothing)
                continue
            yield lambda Z, j=j, t=t, above=above, missing=missing: np.where(
                np.isnan(Z[:, j]), missing, (Z[:, j] > t) if above else (Z[:, j] <= t)
            )


class NaiveTree:
    """TreeRank by stumps: the split with the largest gain, one node after the other."""

    def __init__(self, X, y, weight, max_depth, min_rows):
        self.X, self.high, self.low = X, weight * (y == 1), weight * (y == 0)
        self.high, self.low = self.high / self.high.sum(), self.low / self.low.sum()
        self.weight, self.max_depth, self.min_rows = weight, max_depth, min_rows
        self.sets = list(half_lines(X))
        self.root = self.grow(np.ones(len(y), bool), 0)

    def gain(self, node, left):
        inside = node & left
        return 0.5 * (
            self.low[node].sum() * self.high[inside].sum()
            - self.high[node].sum() * self.low[inside].sum()
        )

    def grow(self, node, depth):
        if depth == self.max_depth or self.weight[node].sum() < self.min_rows:
            return node
        best, chosen = 0.0, None
        factor = self.low[node].sum() * self.high[node].sum()
        for one in self.sets:
            gain = self.gain(node, one(self.X))
            if gain > best + TIE * max(factor, 1e-6):
                best, chosen = gain, one
        if chosen is None:
            return node
        left = chosen(self.X)
        return (
            chosen, best, self.grow(node & left, depth + 1), self.grow(node & ~left, depth + 1)
        )  # fmt: skip

    def leaves(self, node=None):
        node = self.root if node is None else node
        if not isinstance(node, tuple):
            return [node]
        return self.leaves(node[2]) + self.leaves(node[3])

    def area(self, leaves):
        """Area under the curve through leaves, by pairs of rows."""
        place = np.zeros(len(self.high))
        for k, leaf in enumerate(leaves):
            place[leaf] = k
        total = 0.0
        for i, j in product(np.flatnonzero(self.high), np.flatnonzero(self.low)):
            share = self.high[i] * self.low[j]
            total += share * ((place[i] < place[j]) + 0.5 * (place[i] == place[j]))
        return total

    def subtrees(self, node=None):
        """The leaves of every tree that pruning can leave."""
        node = self.root if node is None else node
        if not isinstance(node, tuple):
            return [[node]]
        whole = np.logical_or.reduce(self.leaves(node))
        pairs = product(self.subtrees(node[2]), self.subtrees(node[3]))
        return [[whole], *(a + b for a, b in pairs)]


def rank_over(X, y, weight, levels):
    """Scores of the rows: how many overlays hold each."""
    high, low = weight * (y == 1), weight * (y == 0)
    high, low = high / high.sum(), low / low.sum()
    sets = [one(X) for one in half_lines(X)]
    overlay, score = np.zeros(len(y), bool), np.zeros(len(y))
    for level in levels:
        best = None
        for one in sets:
            alpha, beta = low[one].sum(), high[one].sum()
            if alpha > level + 1e-9 or beta <= 1e-12:
                continue
            if (
                best is None
                or beta > best[0] + TIE
                or (beta > best[0] - TIE and alpha < best[1] - TIE)
            ):
                best = beta, alpha, one
        if best is not None:
            overlay |= best[2]
        score += overlay
    return score


def kendall_median_cost(cells, mass, order):
    """Weighted disagreements of an order of cells with all trees (a smaller leaf is better)."""
    total = 0.0
    for a in range(len(order)):
        for b in range(a + 1, len(order)):
            i, j = order[a], order[b]
            total += mass[i] * mass[j] * np.sum(cells[j] < cells[i])
    return total


def least_kendall_cost(cells, mass):
    return min(kendall_median_cost(cells, mass, o) for o in permutations(range(len(cells))))
