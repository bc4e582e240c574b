"""TreeRank Tournament and CRank, written plainly: every split and subtree tried."""

from itertools import combinations, product

import numpy as np

from naive.losses import vus
from naive.trees import TIE, half_lines


def best_split(sets, X, node, good, bad):
    """The first half-line with the largest TPR - FPR in a node; None where none has a gain."""
    up, down = good * node, bad * node
    if up.sum() <= 0 or down.sum() <= 0:
        return None
    best, chosen = 1e-12, None
    for one in sets:
        left = one(X)
        gain = up[left].sum() / up.sum() - down[left].sum() / down.sum()
        if gain > best + TIE:
            best, chosen = gain, left
    return chosen


def scores_of(leaves, n):
    """Score of every row by the place of its leaf, the first leaf highest."""
    out = np.zeros(n)
    for k, leaf in enumerate(leaves):
        out[leaf] = len(leaves) - k
    return out


def tournament(X, y, weight, max_depth, pairs):
    """Leaves, from left to right, as masks; and the volume of the tree."""
    labels, sets, n = np.unique(y), list(half_lines(X)), len(y)
    every = list(combinations(range(len(labels)), 2))
    competing = [pair for pair in every if pairs == "all" or pair[1] == pair[0] + 1]
    leaves = [np.ones(n, bool)]
    closed = set()
    volume = vus(y.tolist(), [0.0] * n, weight.tolist())
    for _ in range(max_depth):
        waiting = [leaf for leaf in leaves if id(leaf) not in closed]
        for node in waiting:
            at = next(i for i, leaf in enumerate(leaves) if leaf is node)
            best, made = volume, None
            for low, high in competing:
                left = best_split(
                    sets, X, node, weight * (y == labels[high]), weight * (y == labels[low])
                )
                if left is None:
                    continue
                after = [*leaves[:at], node & left, node & ~left, *leaves[at + 1 :]]
                value = vus(y.tolist(), scores_of(after, n).tolist(), weight.tolist())
                if value > best + TIE:
                    best, made = value, after
            if made is None:
                closed.add(id(node))
            else:
                leaves, volume = made, best
    return leaves, volume


def median_positive(y, weight):
    """Rows above the median, rows listed as often as they weigh."""
    listed = np.sort(np.repeat(y, weight.astype(int)))
    n = len(listed)
    middle = listed[n // 2] if n % 2 else (listed[n // 2 - 1] + listed[n // 2]) / 2
    above = y > middle
    return above if above.any() else y >= middle


class NaiveCRank:
    """CRank by stumps, one node after the other."""

    def __init__(self, X, y, weight, max_depth):
        self.X, self.y, self.weight, self.max_depth = X, y, weight, max_depth
        self.sets = list(half_lines(X))
        self.root = self.grow(np.ones(len(y), bool), 0)

    def grow(self, node, depth):
        if depth == self.max_depth or len(set(self.y[node])) < 2:
            return node
        above = np.zeros(len(self.y), bool)
        above[node] = median_positive(self.y[node], self.weight[node])
        left = best_split(self.sets, self.X, node, self.weight * above, self.weight * ~above)
        if left is None:
            return node
        return node, self.grow(node & left, depth + 1), self.grow(node & ~left, depth + 1)

    def leaves(self, node=None):
        node = self.root if node is None else node
        return self.leaves(node[1]) + self.leaves(node[2]) if isinstance(node, tuple) else [node]

    def subtrees(self, node=None):
        """The leaves of every tree that pruning can leave."""
        node = self.root if node is None else node
        if not isinstance(node, tuple):
            return [[node]]
        return [[node[0]], *(a + b for a, b in product(self.subtrees(node[1]),
                                                       self.subtrees(node[2])))]  # fmt: skip
