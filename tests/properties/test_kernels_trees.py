"""Kernels of trees against slow ones in NumPy: the same numbers from the same input."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.properties.test_tree_differences import random_tree

from crucial.kernels.compiled import predict as compiled_scores
from crucial.kernels.compiled import trees as compiled_growth
from crucial.kernels.trees import NEAR, WIDE
from crucial.model.tree_sums import TreeSums
from naive import tree_kernels

pytestmark = [pytest.mark.kernels, pytest.mark.bounds]


def grown(kernels: ModuleType, seed: int) -> dict[str, Any]:
    """Everything that the kernels of growth write, for one leaf of a random problem."""
    random = np.random.default_rng(seed)
    n, p, n_bins = int(random.integers(5, 40)), int(random.integers(1, 20)), 5
    codes = random.integers(0, n_bins + 1, (p, n), dtype=np.uint8)
    facts = (np.full(p, n_bins), np.ones(p, bool), random.integers(-1, 2, p))
    by_block = np.zeros((-(-p // 8), n), np.uint64)
    by_row = np.zeros((n, len(by_block)), np.uint64)
    kernels.pack(codes, 0, 3, by_block, by_row)
    kernels.pack(codes, 3, n, by_block, by_row)
    rows = np.sort(random.permutation(n)[: n - 2]).astype(np.int32)
    sums = np.zeros(n, np.int64)
    gradient, curvature = random.normal(size=n), random.random(n) + 0.1
    kernels.quantise(gradient, curvature, 0.005, 0.01, 0, n // 2, sums)
    kernels.quantise(gradient, curvature, 0.005, 0.01, n // 2, n, sums)
    words = sums.copy()
    begin, end, blocks = 1, len(rows), np.arange(len(by_block))
    every = np.arange(n, dtype=np.int32)
    near = np.zeros((len(blocks), NEAR), np.uint64)
    root, hist, few = np.ones((3, len(by_block), 8 * WIDE), np.int64)
    kernels.add_rows(by_block, by_row, blocks, every, sums, 0, n, True, near, root)
    sums = sums[rows]
    kernels.add_rows(by_block, by_row, blocks, rows, sums, begin, end, False, near, hist)
    # (rows far apart, which are fetched in another way)
    kernels.add_rows(by_block, by_row, blocks, rows, sums, 1, 1 + n // 6, False, near, few)
    root, hist, few = (array.reshape(-1, WIDE) for array in (root, hist, few))
    weight = random.integers(1, 3, n).astype(float)
    counts = np.bincount(codes[0, rows[begin:end]], weight[rows[begin:end]], 256)
    bounds = (-np.inf, np.inf) if seed % 2 else (-0.5, 0.75)
    more = (float(weight[rows[begin:end]].sum()), 0.5, 0.25, 0.1, *bounds, 0.5, 2.0)
    limits, large_limits = ((int(h[0].sum()), *more) for h in (hist, root - hist))
    peaks, large_peaks, verified = np.zeros((3, p))
    gains, none = np.zeros(512), np.zeros(0)
    room = (np.zeros(256, np.int64), gains, gains.view(np.int64))
    rest = root.copy()
    features = np.arange(p)
    kernels.scan(hist, hist, False, features, *facts, limits, none, 0.0, *room, peaks)
    kernels.scan(rest, hist, True, features, *facts, large_limits, none, 0.0, *room, large_peaks)
    kernels.scan(hist, hist, False, features[:1], *facts, limits, counts, 0.0, *room, verified)
    both, level = root.copy(), np.zeros((p, 512))
    kernels.level_gains(hist, hist, False, features, *facts, limits, none, 0.3, room[0], level)
    kernels.level_gains(both, hist, True, features, *facts, large_limits, none, 0.1, room[0], level)
    weighed = np.zeros((p, 512))
    kernels.level_gains(
        hist, hist, False, features[:1], *facts, limits, counts, 0.3, room[0], weighed
    )
    found = {
        "level": level, "weighed": weighed, "both": both,
        "by block": by_block, "by row": by_row, "words": words, "root": root, "hist": hist,
        "few": few, "rest": rest, "peaks": peaks, "large peaks": large_peaks, "verified": verified,
    }  # fmt: skip
    for f in range(p):
        if peaks[f] > 0:
            own = np.array([f])
            found[f"place of {f}"] = np.array(
                kernels.scan(
                    hist, hist, False, own, *facts, limits, none, 0.9 * peaks[f], *room, peaks
                )
            )
    spare = np.zeros(n, np.int32), np.zeros(n, np.int64)
    place = int(random.integers(2, 2 * n_bins + 2))
    left = kernels.partition(codes, 0, n_bins, place, begin, end, rows, sums, *spare)
    starts, values, outputs = np.array([begin, begin + left, end]), np.arange(1.0, 3.0), np.zeros(n)
    whole = np.zeros((2, 2), np.int64)
    for leaf in (0, 1):
        kernels.leaf_sums(
            rows, starts, leaf, leaf + 1, gradient, curvature, 2.0**30, 2.0**28, whole
        )
        kernels.spread(rows, starts, leaf, leaf + 1, values, outputs)
    return found | {
        "left": np.array(left), "rows": rows, "sums": sums, "whole": whole, "outputs": outputs,
    }  # fmt: skip


@settings(deadline=None, max_examples=80)
@given(seed=st.integers(0, 10**6))
def test_growth(seed: int) -> None:
    fast = grown(compiled_growth, seed)
    for name, expected in grown(tree_kernels, seed).items():
        np.testing.assert_allclose(fast[name], expected, rtol=1e-12, err_msg=name)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6))
def test_scores(seed: int) -> None:
    """add_trees, add_masked and add_tables, on rows that also hit thresholds exactly."""
    random = np.random.default_rng(seed)
    trees = tuple(random_tree(random, 2, int(random.integers(2, 8))) for _ in range(5))
    sums = TreeSums(trees, (1.0,) * 5)
    X = random.integers(0, 8, (int(random.integers(1, 600)), 2)) / 2.0
    X[random.random(X.shape) < 0.2] = np.nan
    assert sums._tables is not None
    where = (sums._cells.features, sums._cells.thresholds, sums._cells.starts)
    expected = sum(tree.scores(X) for tree in trees)
    for kernel, tables in (
        ("add_trees", sums._nodes.tables),
        ("add_masked", sums._masks.tables),
        ("add_tables", sums._tables.tables),
    ):
        found = np.zeros(len(X))
        getattr(compiled_scores, kernel)(X.ravel(), 2, 1, 0, *where, *tables, found)
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("n_trees", [30, 60])
def test_many_thresholds(n_trees: int) -> None:
    """Features with more thresholds than are all compared, deep trees, values on thresholds."""
    random = np.random.default_rng(n_trees)
    trees = tuple(random_tree(random, 1, 12) for _ in range(n_trees))
    trees = tuple(
        replace(tree, thresholds=tuple(np.round(random.normal(size=11), 2).tolist()))
        for tree in trees
    )
    sums = TreeSums(trees, (1.0,) * n_trees)
    where = (sums._cells.features, sums._cells.thresholds, sums._cells.starts)
    assert np.diff(where[2]).min() > 100
    X = np.round(random.normal(size=(700, 1)), 2)
    X[random.random(X.shape) < 0.1] = np.nan
    expected = sum(tree.scores(X) for tree in trees)
    for kernel, tables in (("add_trees", sums._nodes.tables), ("add_masked", sums._masks.tables)):
        found = np.zeros(len(X))
        getattr(compiled_scores, kernel)(X.ravel(), 1, 1, 0, *where, *tables, found)
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("n_leaves", [2, 16, 17, 31, 32, 33])
def test_masks_have_up_to_32_leaves(n_leaves: int) -> None:
    """The last bit of a mask is a leaf as any other; larger trees are walked."""
    random = np.random.default_rng(n_leaves)
    trees = (random_tree(random, 3, n_leaves), random_tree(random, 3, 2))
    sums = TreeSums(trees, (0.3, 0.7))
    assert (sums._masks is None) == (n_leaves > 32)
    X = random.integers(0, 8, (300, 3)) / 2.0
    X[random.random(X.shape) < 0.1] = np.nan
    expected = 0.3 * trees[0].scores(X) + 0.7 * trees[1].scores(X)
    for n_rows in (1, 31, 33, 300):
        for form in (X[:n_rows], X[:n_rows].astype(np.float32), np.asfortranarray(X[:n_rows])):
            for found in (sums.scores(form), sums._nodes.scores(form)):
                assert found.tobytes() == expected[:n_rows].tobytes()
