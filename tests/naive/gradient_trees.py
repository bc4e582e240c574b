"""A tree grown by trying every split of every leaf, one after the other."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

TIE = 1e-6


@dataclass
class Node:
    """A leaf, or a node with two children."""

    rows: list[int]
    low: float
    high: float
    depth: int
    value: float = 0.0
    feature: int = -1
    threshold: float | None = None
    missing: int = 0
    gain: float = 0.0
    children: list["Node"] = field(default_factory=list)

    def leaves(self) -> list["Node"]:
        if not self.children:
            return [self]
        return [leaf for child in self.children for leaf in child.leaves()]


@dataclass
class NaiveTree:
    """Grows a tree on rows X (NaN is missing) by enumeration."""

    X: Any
    gradient: Any
    curvature: Any
    weight: Any
    max_leaves: int = 8
    max_depth: int | None = None
    min_rows: float = 1.0
    l2: float = 1.0
    interactions: int | None = None
    signs: Any = None

    def grow(self) -> Node | None:
        g, c = np.asarray(self.gradient, float), np.asarray(self.curvature, float)
        unit_g, unit_c = np.abs(g).sum() / 2**30, c.sum() / 2**30
        # Whole numbers of a unit, as in the fast way, so that sums are exact here too.
        self.g = [int(v) for v in np.rint(g / unit_g)]
        self.c = [int(v) for v in np.rint(c / unit_c)]
        self.unit_g, self.unit_c = unit_g, unit_c
        self.ridge = self.l2 * c.sum() / np.sum(self.weight)
        self.least = 1e-12 * c.sum()
        self.used: set[int] = set()
        root = Node(list(range(len(g))), -math.inf, math.inf, 0)
        self.grow_all(root)
        for leaf in root.leaves():
            ideal = g[leaf.rows].sum() / (c[leaf.rows].sum() + self.ridge)
            leaf.value = min(max(ideal, leaf.low), leaf.high)
        return root if root.children else None

    def grow_all(self, root: Node) -> None:
        while len(root.leaves()) < self.max_leaves:
            offers = [(leaf, self.best_split(leaf)) for leaf in root.leaves()]
            offers = [(leaf, split) for leaf, split in offers if split is not None]
            if not offers:
                return
            top = max(split[0] for _, split in offers)
            leaf, split = next(one for one in offers if one[1][0] >= top - TIE * top)
            self.split(leaf, split)

    def sums(self, rows: list[int]) -> tuple[float, float, float]:
        g, c, w = (sum(column[i] for i in rows) for column in (self.g, self.c, self.weight))
        return self.unit_g * g, self.unit_c * c, w

    def ideal(self, rows: list[int], leaf: Node) -> float:
        g, c, _ = self.sums(rows)
        return min(max(g / (c + self.ridge), leaf.low), leaf.high)

    def drop(self, rows: list[int], leaf: Node) -> float:
        g, c, _ = self.sums(rows)
        value = self.ideal(rows, leaf)
        return value * (2 * g - (c + self.ridge) * value)

    def candidates(self, feature: int) -> list[tuple[float | None, int]]:
        column = self.X[:, feature]
        known = np.unique(column[~np.isnan(column)])
        cuts = (known[1:] + known[:-1]) / 2
        missing = bool(np.isnan(column).any())
        out: list[tuple[float | None, int]] = []
        for cut in cuts.tolist():
            out += [(cut, 0), (cut, 1)] if missing else [(cut, 0)]
        return [*out, (None, 1)] if missing else out

    def parts(self, rows: list[int], feature: int, cut: float | None, side: int) -> Any:
        left, right = [], []
        for i in rows:
            x = self.X[i, feature]
            goes_right = bool(side) if np.isnan(x) else cut is not None and x > cut
            (right if goes_right else left).append(i)
        return left, right

    def worth(self, leaf: Node, feature: int, cut: float | None, side: int) -> float | None:
        """Return what both sides of a split are worth; None if it is not on offer."""
        left, right = self.parts(leaf.rows, feature, cut, side)
        a, b = self.sums(left), self.sums(right)
        sign = 0 if self.signs is None else self.signs[feature]
        free = b[0] * (a[1] + self.ridge) - a[0] * (b[1] + self.ridge)
        if min(a[1], b[1]) < self.least or (sign and cut is not None and sign * free < 0):
            return None
        return self.drop(left, leaf) + self.drop(right, leaf)

    def is_heavy(self, leaf: Node, split: Any) -> bool:
        return all(self.sums(part)[2] >= self.min_rows for part in self.parts(leaf.rows, *split))

    def best_split(self, leaf: Node) -> Any:
        if self.max_depth is not None and leaf.depth >= self.max_depth:
            return None
        base = self.drop(leaf.rows, leaf)
        found = []
        for feature in range(self.X.shape[1]):
            full = self.interactions is not None and len(self.used) >= self.interactions
            if full and feature not in self.used:
                continue
            for cut, side in self.candidates(feature):
                worth = self.worth(leaf, feature, cut, side)
                if worth is not None and self.is_heavy(leaf, (feature, cut, side)):
                    found.append((worth, feature, cut, side))
        best = max((one[0] for one in found), default=0.0)
        # (under monotone bounds a leaf may be worth less than the 0 of no split)
        if not best > 0.0 or not best - base > TIE * best:
            return None
        worst = best - TIE * best
        _, feature, cut, side = next(one for one in found if one[0] >= worst)
        return best - base, feature, cut, side

    def split(self, leaf: Node, split: Any) -> None:
        leaf.gain, leaf.feature, leaf.threshold, leaf.missing = split
        parts = self.parts(leaf.rows, *split[1:])
        self.used.add(leaf.feature)
        bounds = [(leaf.low, leaf.high)] * 2
        sign = 0 if self.signs is None else self.signs[leaf.feature]
        if sign and leaf.threshold is not None:
            middle = 0.5 * sum(self.ideal(part, leaf) for part in parts)
            bounds = [(leaf.low, middle), (middle, leaf.high)]
            bounds = bounds if sign > 0 else bounds[::-1]
        leaf.children = [
            Node(part, *bound, leaf.depth + 1) for part, bound in zip(parts, bounds, strict=True)
        ]


class NaiveSymmetricTree(NaiveTree):
    """Grows a tree whose leaves of a level have the same split, by enumeration."""

    def grow_all(self, root: Node) -> None:
        levels = int(math.log2(self.max_leaves))
        if self.max_depth is not None:
            levels = min(levels, self.max_depth)
        for _ in range(levels):
            if not self.split_level(root):
                return

    def split_level(self, root: Node) -> bool:
        leaves = [leaf for leaf in root.leaves() if self.is_large(leaf)]
        full = self.interactions is not None and len(self.used) >= self.interactions
        features = sorted(self.used) if full else range(self.X.shape[1])
        totals = {(f, *one): sum(max(0.0, self.gain(leaf, f, *one) or 0.0) for leaf in leaves)
                  for f in features for one in self.candidates(f)}  # fmt: skip
        base = sum(max(self.drop(leaf.rows, leaf), 0.0) for leaf in leaves)
        weighed = set()
        while True:
            best = max(totals.values(), default=0.0)
            if not best > TIE * (best + base):
                return False
            split = next(key for key, one in totals.items() if one >= best - TIE * (best + base))
            taken = [leaf for leaf in leaves if self.takes(leaf, split)]
            for leaf in taken:
                self.split(leaf, (self.gain(leaf, *split), *split))
            if taken:
                return True
            own = [key for key in totals if key[0] == split[0]]
            for key in own:
                heavy = [leaf for leaf in leaves if self.is_heavy(leaf, key)]
                gains = [max(0.0, self.gain(leaf, *key) or 0.0) for leaf in heavy]
                totals[key] = 0.0 if split[0] in weighed else sum(gains)
            weighed.add(split[0])

    def is_large(self, leaf: Node) -> bool:
        _, c, w = self.sums(leaf.rows)
        return c >= 2 * self.least and w >= 2 * self.min_rows

    def gain(self, leaf: Node, feature: int, cut: float | None, side: int) -> float | None:
        """Return what a split gains, whatever its weights; None if it is not on offer."""
        worth = self.worth(leaf, feature, cut, side)
        return None if worth is None else worth - self.drop(leaf.rows, leaf)

    def takes(self, leaf: Node, split: Any) -> bool:
        gain = self.gain(leaf, *split)
        if gain is None:
            return False
        worth = max(gain + self.drop(leaf.rows, leaf), 0.0)
        return gain > TIE * worth and self.is_heavy(leaf, split)
