"""Engines' trees, walked in blocks of rows, against a walk of one row and one tree at a time."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from crucial.export import trees as forest
from crucial.export.trees import EngineForest, EngineTrees, NestedNode, flattened, spliced


def random_tree(rng, depth):
    """Return a nested tree: a leaf, or (feature, threshold, missing_left, children)."""
    if depth == 0 or rng.random() < 0.2:
        return float(rng.normal())
    children = (random_tree(rng, depth - 1), random_tree(rng, depth - 1))
    return int(rng.integers(3)), float(rng.integers(4)) / 3, bool(rng.integers(2)), children


def read(part):
    if isinstance(part, float):
        return NestedNode(part)
    feature, threshold, _, children = part
    return NestedNode(0.0, feature, threshold, children)


def engine_trees(nested):
    """Return nested trees with the sides of missing values, of which `flattened` knows nothing."""
    sides = []

    def noted(part):
        sides.append(not isinstance(part, float) and part[2])
        return read(part)

    return replace(flattened(nested, noted), missing_left=np.array(sides))


def naive(trees, X, test, numbers, sums, start):
    """Return the scores: every row down every tree, node after node."""
    out = []
    for row in X.astype(numbers):
        total = sums(start)
        for node in trees:
            while not isinstance(node, float):
                feature, threshold, missing_left, children = node
                x, t = row[feature], numbers(threshold)
                below = missing_left if np.isnan(x) else x < t if test == "<" else x <= t
                node = children[0 if below else 1]
            total = sums(total + sums(node))
        out.append(float(total))
    return out


@pytest.mark.parametrize("test", ["<", "<="])
@pytest.mark.parametrize("numbers", [np.float32, np.float64])
@pytest.mark.parametrize("sums", [np.float32, np.float64])
@pytest.mark.parametrize("cells", [1, 7, 24, 1 << 18])
def test_scores_are_those_of_a_walk_by_hand(monkeypatch, test, numbers, sums, cells):
    monkeypatch.setattr(forest, "_WALK_CELLS", cells)
    rng = np.random.default_rng(cells)
    nested = [random_tree(rng, 4) for _ in range(6)]
    X = rng.integers(0, 4, (25, 3)) / 3  # (many values are on a threshold)
    X[rng.random(X.shape) < 0.2] = np.nan
    made = EngineForest(engine_trees(nested), test, numbers, sums)
    assert made.scores(X, 0.1).tolist() == naive(nested, X, test, numbers, sums, 0.1)
    assert made.scores(X).tolist() == naive(nested, X, test, numbers, sums, 0.0)
    alone = [naive([one], X, test, numbers, sums, 0.0) for one in nested]
    assert made.leaves(X).tolist() == np.transpose(alone).tolist()
    assert made.leaves(X).dtype == sums
    counts, leaves = made.counts(X), made.trees.features < 0
    assert counts[~leaves].tolist() == [0] * int((~leaves).sum())
    assert counts.sum() == 6 * len(X)
    found = sorted(zip(made.trees.values[leaves].astype(sums), counts[leaves], strict=True))
    reached = Counter(value for values in alone for value in values)
    assert {value: count for value, count in found if count} == reached


def test_missing_values_go_right_where_no_node_says_otherwise():
    nested = [(0, 1.0, False, (1.0, (1, 2.0, False, (3.0, 5.0))))]
    made = EngineForest(flattened(nested, read), "<", np.float64, np.float64)
    assert made.scores(np.array([[np.nan, np.nan], [0.0, np.nan], [np.nan, 1.0]])).tolist() == [
        5.0, 1.0, 3.0,
    ]  # fmt: skip


def test_numbers_beyond_float32_become_infinite_without_a_note(recwarn):
    nested = [(0, 1e39, False, (1.0, 2.0))]
    made = EngineForest(flattened(nested, read), "<", np.float32, np.float64)
    assert made.scores(np.array([[3e38], [1e300], [-1e300]])).tolist() == [1.0, 2.0, 1.0]
    assert len(recwarn) == 0


def test_a_leaf_is_what_a_node_is_by_default():
    assert NestedNode() == (0.0, -1, 0.0, ())
    trees = flattened([2.5, (1, 0.5, False, (1.0, 3.0))], read)
    assert trees.roots.tolist() == [0, 1]
    assert trees.features.tolist() == [-1, 1, -1, -1]
    assert trees.thresholds.tolist() == [0.0, 0.5, 0.0, 0.0]
    assert trees.missing_left.tolist() == [False] * 4
    assert (trees.left.tolist(), trees.right.tolist()) == ([0, 2, 0, 0], [0, 3, 0, 0])
    assert isinstance(trees, EngineTrees)


def test_how_many_cells_are_walked_at_a_time(monkeypatch):
    """The memory of a block is that of some 2^18 pairs of a row and a tree, whatever the rows."""
    assert forest._WALK_CELLS == 1 << 18
    seen = []
    walk = EngineForest._leaves

    def counted(self, columns, thresholds, children):
        seen.append(columns.shape[1])
        return walk(self, columns, thresholds, children)

    monkeypatch.setattr(EngineForest, "_leaves", counted)
    monkeypatch.setattr(forest, "_WALK_CELLS", 8)
    trees = flattened([1.0, 2.0, 3.0], read)
    EngineForest(trees, "<", np.float64, np.float64).scores(np.zeros((5, 1)))
    assert seen == [2, 2, 1]


def test_lists_become_one_array():
    made = spliced([[1, 2], [], [3]], np.int64)
    assert (made.tolist(), made.dtype) == ([1, 2, 3], np.int64)
