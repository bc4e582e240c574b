"""The trees of an ensemble, added up: by masks of leaves, node by node, or as tables of features.

Trees of at most two features each add up to one table per feature and one per pair of features.
Where the values of all leaves are multiples of one power of two, sums of them are exact, and both
ways give the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crucial.kernels.predict import MASK_BITS, ThresholdCells, TreeTables, leaf_places
from crucial.model.weak import Tree
from crucial.types import Floats, Reals

__all__ = ["PairTerm", "TreeSums"]

_NEVER = 0xFFFF  # a cut that no cell is above
_EXACT = 2.0**53


@dataclass(frozen=True, eq=False)
class PairTerm:
    """What two features add to the score together.

    Attributes
    ----------
    features : (int, int)
    thresholds : pair of float64 arrays
        The values of a feature up to its first threshold are cell 1, and so on; cell 0 is an
        abstention.
    values : float64 array of shape (cells of the first, cells of the second)
    """

    features: tuple[int, int]
    thresholds: tuple[Floats, Floats]
    values: Floats


@dataclass(frozen=True, eq=False)
class TreeSums:
    """Weighted trees that are added up.

    Attributes
    ----------
    trees : tuple of Tree
    weights : tuple of float
    """

    trees: tuple[Tree, ...]
    weights: tuple[float, ...]

    def scores(self, X: Reals, n_jobs: int | None = 1) -> Floats:
        """Return the weighted sum of the values of the leaves that each row reaches."""
        return (self._tables or self._masks or self._nodes).scores(X, n_jobs)

    @cached_property
    def by_features(self) -> dict[tuple[int, ...], list[int]]:
        """The numbers of the trees that compare the same features."""
        out: dict[tuple[int, ...], list[int]] = {}
        for number, tree in enumerate(self.trees):
            out.setdefault(tuple(sorted(set(tree.features))), []).append(number)
        return dict(sorted(out.items()))

    def shares(self) -> dict[tuple[int, ...], float]:
        """Return the share of the trees of the same features in what all splits gained."""
        gains = {
            features: math.fsum(math.fsum(self.trees[number].gains) for number in numbers)
            for features, numbers in self.by_features.items()
        }
        total = math.fsum(gains.values()) or 1.0
        return {features: gain / total for features, gain in gains.items()}

    @cached_property
    def exact(self) -> bool:
        """Whether every sum of values is exact in float64, in any order."""
        values = [w * np.array(t.values) for t, w in zip(self.trees, self.weights, strict=True)]
        every = np.abs(np.concatenate(values))
        every = every[every > 0]
        if not len(every):
            return True
        whole = np.ldexp(np.frexp(every)[0], 53).astype(np.int64)
        lowest = np.ldexp((whole & -whole).astype(np.float64), np.frexp(every)[1] - 53)
        return float(sum(np.abs(one).max() for one in values)) / float(lowest.min()) <= _EXACT

    @cached_property
    def _cells(self) -> ThresholdCells:
        """All thresholds of the trees."""
        cuts: dict[int, set[float]] = {}
        for tree in self.trees:
            for feature, threshold in zip(tree.features, tree.thresholds, strict=True):
                own = cuts.setdefault(feature, set())
                if threshold is not None:
                    own.add(threshold)
        features = sorted(cuts)
        thresholds = [np.array([-np.inf, *sorted(cuts[f])]) for f in features]
        return ThresholdCells(
            np.array(features, np.int64),
            np.concatenate(thresholds),
            np.cumsum([0, *map(len, thresholds)], dtype=np.int64),
        )

    def _tests(self) -> list[list[int]]:
        """Return feature, threshold and side of abstentions of every node, as kernels read them."""
        cells = self._cells
        slot = {feature: number for number, feature in enumerate(cells.features.tolist())}
        out: list[list[int]] = []
        for tree in self.trees:
            out.append([])
            for feature, threshold, lost in zip(
                tree.features, tree.thresholds, tree.missing, strict=True
            ):
                own, cut = slot[feature], _NEVER
                if threshold is not None:
                    part = cells.thresholds[cells.starts[own] : cells.starts[own + 1]]
                    cut = int(np.searchsorted(part, threshold))
                out[-1].append(lost << 32 | own << 16 | (cut - lost))
        return out

    @cached_property
    def _masks(self) -> TreeTables | None:
        """The leaves that every test excludes, if no tree has more than `MASK_BITS`."""
        if any(len(tree.values) > MASK_BITS for tree in self.trees):
            return None
        tests = self._tests()
        masks: list[tuple[int, int]] = []
        values = np.zeros((len(self.trees), MASK_BITS))
        for tree, weight, own in zip(self.trees, self.weights, values, strict=True):
            n_leaves = len(tree.values)
            below = {~leaf: 1 << leaf for leaf in range(n_leaves)}
            for node in reversed(range(len(tree.features))):  # (children come after their parent)
                below[node] = below[tree.left[node]] | below[tree.right[node]]
            unused = (1 << MASK_BITS) - (1 << n_leaves)
            sides = zip(tree.left, tree.right, strict=True)
            masks += [(below[left] | unused, below[right] | unused) for left, right in sides]
            own[leaf_places(n_leaves)] = weight * np.array(tree.values)
        tables = (
            np.array([test for own in tests for test in own], np.uint64),
            np.array(masks, np.uint32),
            np.cumsum([0, *map(len, tests)], dtype=np.int64),
            values.ravel(),
        )
        return TreeTables(self._cells, "add_masked", tables)

    @cached_property
    def _nodes(self) -> TreeTables:
        """The trees with the children of a node side by side, ready to be walked."""
        nodes: list[int] = []
        values: list[float] = []
        roots, depths = [], []
        for tree, weight, tests in zip(self.trees, self.weights, self._tests(), strict=True):
            base = len(nodes)
            waiting = [(0, 0)]  # (a node or ~leaf of the tree, its depth), in order of place
            for source, depth in waiting:  # (which grows)
                if source < 0:
                    nodes.append(1 << 63 | len(nodes) << 33 | _NEVER)
                    values.append(weight * tree.values[~source])
                else:
                    nodes.append(base + len(waiting) << 33 | tests[source])
                    values.append(0.0)
                    waiting += [(tree.left[source], depth + 1), (tree.right[source], depth + 1)]
            roots.append(base)
            depths.append(waiting[-1][1])
        tables = (
            np.array(nodes, np.uint64),
            np.array(values),
            np.array(roots, np.int64),
            np.array(depths, np.int64),
        )
        return TreeTables(self._cells, "add_trees", tables)

    def _grid(self, number: int, cuts: Sequence[Floats], features: Sequence[int]) -> Floats:
        """Return the values of a tree on all combinations of cells of its features."""
        tree = self.trees[number]
        columns = [np.concatenate(([np.nan], _inside(one))) for one in cuts]
        mesh = np.meshgrid(*columns, indexing="ij")
        X = np.column_stack([one.ravel() for one in mesh])
        slot = {feature: place for place, feature in enumerate(features)}
        values = self.weights[number] * tree.with_features(slot).scores(X)
        return values.reshape([len(one) for one in columns])

    def _cuts(self, numbers: Sequence[int], feature: int) -> Floats:
        """Return the thresholds of a feature in some trees."""
        found = {
            threshold
            for number in numbers
            for own, threshold in zip(
                self.trees[number].features, self.trees[number].thresholds, strict=True
            )
            if own == feature and threshold is not None
        }
        return np.array(sorted(found))

    def one_feature(self) -> dict[int, tuple[Floats, Floats]]:
        """Return thresholds and values of what trees of one feature add up to.

        The first value belongs to abstentions.
        """
        out = {}
        for features, numbers in self.by_features.items():
            if len(features) == 1:
                cuts = self._cuts(numbers, features[0])
                values = sum(self._grid(number, [cuts], features) for number in numbers)
                out[features[0]] = cuts, np.asarray(values)
        return out

    def pair_tables(self) -> list[PairTerm]:
        """Return what trees of two features add up to, one table per pair."""
        out = []
        for features, numbers in self.by_features.items():
            if len(features) == 2:
                a, b = (self._cuts(numbers, feature) for feature in features)
                values = sum(self._grid(number, [a, b], features) for number in numbers)
                out.append(PairTerm((features[0], features[1]), (a, b), np.asarray(values)))
        return out

    @cached_property
    def _tables(self) -> TreeTables | None:
        """The trees as tables, if each has at most two features and their sums are exact."""
        if not self.exact or any(len(features) > 2 for features in self.by_features):
            return None
        cells = self._cells
        slot = {feature: number for number, feature in enumerate(cells.features.tolist())}
        values: list[Floats] = []
        maps: list[NDArray[np.uint16]] = []
        one_slot, one_start, pair_slots, map_start, pair_start, pair_width = [], [], [], [], [], []
        for feature, (cuts, own) in self.one_feature().items():
            one_slot.append(slot[feature])
            one_start.append(sum(map(len, values)))
            values.append(own[self._map(cells, slot[feature], cuts)])
        for table in self.pair_tables():
            slots = [slot[feature] for feature in table.features]
            both = [self._map(cells, s, c) for s, c in zip(slots, table.thresholds, strict=True)]
            before = sum(map(len, maps))
            pair_slots.append(slots)
            map_start.append([before, before + len(both[0])])
            maps += both
            pair_start.append(sum(map(len, values)))
            pair_width.append(table.values.shape[1])
            values.append(table.values.ravel())
        tables = (
            np.array(one_slot, np.int64),
            np.array(one_start, np.int64),
            np.array(pair_slots, np.int64).reshape(-1, 2),
            np.concatenate([np.zeros(0, np.uint16), *maps]),
            np.array(map_start, np.int64).reshape(-1, 2),
            np.array(pair_start, np.int64),
            np.array(pair_width, np.int64),
            np.concatenate(values),
        )
        return TreeTables(cells, "add_tables", tables)

    @staticmethod
    def _map(cells: ThresholdCells, slot: int, cuts: Floats) -> NDArray[np.uint16]:
        """Return the cell among some thresholds of a feature for each of its cells."""
        own = cells.thresholds[cells.starts[slot] : cells.starts[slot + 1]]
        inside = np.searchsorted(cuts, own[1:], "right") + 1
        return np.concatenate(([0, 1], inside)).astype(np.uint16)


def _inside(cuts: Floats) -> Floats:
    """Return one value of every cell of a feature, ascending: its upper end."""
    if not len(cuts):
        return np.zeros(1)
    return np.concatenate((cuts, [np.nextafter(cuts[-1], np.inf)]))
