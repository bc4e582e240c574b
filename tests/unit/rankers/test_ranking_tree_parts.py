"""Splits, pruning and draws of ranking trees."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucial.data.instances import Instances
from crucial.rankers.ranking_trees.estimators import (
    ClassSampler,
    Pruning,
    best_penalty,
    candidate_penalties,
    held_out_gains,
    held_out_values,
    prune,
    pruning_path,
)
from crucial.rankers.ranking_trees.growth import (
    Node,
    NodeCells,
    NodeRows,
    PairGains,
    Sides,
    TreeSplitter,
)


def problem(seed: int, n: int, p: int, n_cells: int):
    random = np.random.default_rng(seed)
    X = random.integers(0, 6, (n, p)).astype(float)
    X[random.random((n, p)) < 0.2] = np.nan
    rows = NodeRows.build(Instances.from_input(X), np.arange(n), None)
    cell = random.integers(0, n_cells, n)
    parts = [np.flatnonzero(cell == c).astype(np.uint32) for c in range(n_cells)]
    cells = NodeCells.of([part for part in parts if len(part)])
    good = random.integers(0, 2, n).astype(np.uint8)
    weight = random.integers(0, 4, n).astype(float)
    return X, rows, Sides(cells, good[cells.rows], weight[cells.rows])


def naive_best(X: np.ndarray, rows: NodeRows, sides: Sides, cell: int):
    """Try every split of a cell, in the order of the tie rule."""
    inside = slice(*sides.cells.starts[cell : cell + 2])
    at, good, weight = sides.cells.rows[inside], sides.good[inside] == 1, sides.weight[inside]
    if not weight[good].sum() or not weight[~good].sum():
        return None
    share = np.where(good, weight / weight[good].sum(), -weight / weight[~good].sum())
    best = None
    for slot, feature in enumerate(rows.bins.features):
        value = X[at, feature]
        for threshold in [-np.inf, *rows.bins.thresholds[slot]]:
            for above in (True, False):
                for missing in (False, True):
                    side = value > threshold if above else value <= threshold
                    left = np.where(np.isnan(value), missing, side)
                    gain = float(share[left].sum())
                    if gain > 1e-9 and (best is None or gain > best[0] + 1e-9):
                        best = gain, int(feature), threshold, above, missing
    return best


@pytest.mark.kernels
@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(1, 4), st.integers(1, 4))
def test_the_best_split_is_the_first_of_all(seed: int, n: int, p: int, n_cells: int) -> None:
    """By the kernels peaks and places."""
    X, rows, sides = problem(seed, n, p, n_cells)
    slots = np.broadcast_to(np.arange(rows.n_slots), (len(sides.cells), rows.n_slots)).copy()
    found = rows.best(sides, slots)
    left = sides.cells.parts(rows.goes_left(sides.cells, found))
    for cell in range(len(sides.cells)):
        expected = naive_best(X, rows, sides, cell)
        if expected is None:
            assert found.slot[cell] < 0
            continue
        gain, feature, threshold, above, missing = expected
        assert found.criterion[cell] == pytest.approx(gain, abs=1e-9)
        test = rows.test(found, cell, -1, -2, 1.0)
        assert (test.feature, test.threshold) == (feature, threshold)
        assert (test.yes == -1) is above
        assert (test.missing if above else not test.missing) is missing
        inside = slice(*sides.cells.starts[cell : cell + 2])
        value = X[sides.cells.rows[inside], feature]
        side = value > threshold if above else value <= threshold
        assert left[cell].tolist() == np.where(np.isnan(value), missing, side).tolist()


def naive_two_levels(X: np.ndarray, rows: NodeRows, surplus: np.ndarray) -> float:
    """The largest gain of two levels of tests, by trying all of them."""
    sides = []
    for slot, feature in enumerate(rows.bins.features):
        for threshold in [-np.inf, *rows.bins.thresholds[slot]]:
            for missing in (False, True):
                value = X[:, feature]
                sides.append(np.where(np.isnan(value), missing, value > threshold))

    def one(inside: np.ndarray) -> float:
        parts = [(surplus[inside & s].sum(), surplus[inside & ~s].sum()) for s in sides]
        return max(max(a, 0.0) + max(b, 0.0) for a, b in parts)

    return max(one(side) + one(~side) for side in sides)


@pytest.mark.kernels
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 20), st.integers(1, 3))
def test_two_levels_are_the_best_of_all(seed: int, n: int, p: int) -> None:
    X, rows, sides = problem(seed, n, p, 1)
    if not rows.n_slots or not sides.mass[0].all():
        return
    surplus = np.where(sides.good == 1, 1, -1) * sides.weight * sides.scale[0][sides.good]
    (split,) = TreeSplitter(rows, 2, exact=True).split(sides)
    best = naive_two_levels(X, rows, surplus)
    if split is None:
        assert best <= 1e-9
        return
    assert split.gain == pytest.approx(best, abs=1e-9)
    assert surplus[split.left].sum() == pytest.approx(best, abs=1e-9)
    assert sum(test.gain for test in split.tests) == pytest.approx(1.0)


@pytest.mark.kernels
def test_depth_costs_nothing_where_nothing_is_left_to_split(monkeypatch) -> None:
    X, rows, sides = problem(3, 40, 2, 1)
    expected = TreeSplitter(rows, 40).split(sides)
    levels = []
    deeper = TreeSplitter._deeper
    monkeypatch.setattr(
        TreeSplitter,
        "_deeper",
        lambda self, level, scale: levels.append(len(level)) or deeper(self, level, scale),
    )
    (found,) = TreeSplitter(rows, 100_000).split(sides)
    assert len(levels) <= len(X)
    assert found.left.tolist() == expected[0].left.tolist()


def test_a_box_may_be_deeper_than_the_stack_of_calls() -> None:
    n = 1500
    rows = NodeRows.build(
        Instances.from_input(np.arange(n, dtype=float)[:, None]), np.arange(n), None, None
    )
    good = (np.arange(n) % 2).astype(np.uint8)
    sides = Sides(NodeCells.of([np.arange(n, dtype=np.uint32)]), good, np.ones(n))
    (found,) = TreeSplitter(rows, n).split(sides)
    assert found.left.tolist() == (good == 1).tolist()


# -- Candidate penalties, their ties, and draws that depend on what the rows are. --
def node(gain: float, left: Node | None = None, right: Node | None = None) -> Node:
    empty = np.zeros(0, np.uint32)
    if gain == 0.0:
        return Node(empty)
    return Node(empty, gain=gain, left=left or Node(empty), right=right or Node(empty))


def test_candidates_are_geometric_means() -> None:
    path = [Pruning(penalty, ()) for penalty in (0.01, 0.04, 0.09)]
    assert candidate_penalties(path) == pytest.approx([0.0, 0.02, 0.06, 0.09])


def test_equal_areas_go_to_the_smaller_tree() -> None:
    penalties = np.array([0.0, 0.1, 0.2, 0.3])
    assert best_penalty(penalties, np.array([0.7, 0.8, 0.8 - 1e-13, 0.6])) == 0.2


def test_weakest_links_that_tie_are_cut_together() -> None:
    root = node(0.3, node(0.05), node(0.05, node(0.05)))
    path = pruning_path(root)
    assert [len(step.nodes) for step in path] == [3, 1]
    assert [step.penalty for step in path] == pytest.approx([0.05, 0.3])
    assert len(prune(root, 0.05).leaves()) == 2


def test_a_link_below_a_strong_child_is_cut_as_a_whole() -> None:
    """A split that gains little itself, and much below: (0.02 + 0.2) / 2 a leaf."""
    root = node(0.3, node(0.02, node(0.2)))
    path = pruning_path(root)
    assert [step.penalty for step in path] == pytest.approx([0.11, 0.3])
    assert pruning_path(node(0.0)) == []


def test_held_out_areas_are_those_of_the_pruned_trees() -> None:
    root = node(0.3, node(0.02), node(0.1))
    label, leaf = np.array([0, 0, 0, 1, 1, 1]), np.array([1, 3, 3, 0, 0, 2])
    gains = held_out_gains(root, leaf, PairGains.of(label, np.ones(6), "iauc"))
    # Pairs counted by hand: four leaves, three, two and one.
    areas = held_out_values(root, gains, np.array([0.0, 0.02, 0.1, 0.3]))
    assert areas == pytest.approx([8 / 9, 7 / 9, 6 / 9, 0.5])


def sampler(X: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None) -> ClassSampler:
    rows = NodeRows.build(Instances.from_input(X), np.arange(len(y)), weight)
    return ClassSampler(rows, y.astype(np.uint8))


def test_bootstraps_keep_the_weight_of_both_classes() -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(200, 2)), np.arange(200) % 4 == 0
    counts = sampler(X, y).bootstrap(np.random.default_rng(1))
    assert (counts[y].sum(), counts[~y].sum()) == (50, 150)
    assert 0.5 < (counts > 0).mean() < 0.75  # (1 - 1/e)
    order = random.permutation(200)
    moved = sampler(X[order], y[order]).bootstrap(np.random.default_rng(1))
    assert moved.tolist() == counts[order].tolist()
    heavy = sampler(X, y, np.where(y, 0.5, 1.5)).bootstrap(np.random.default_rng(1))
    assert (heavy[y].sum(), heavy[~y].sum()) == (50, 150)


def test_rows_that_are_alike_share_a_fold() -> None:
    X = np.repeat(np.arange(30.0), 3)[:, None]
    y = np.repeat(np.arange(30) % 2, 3)
    fold = sampler(X, y).folds(5, np.random.default_rng(0))
    assert (fold.reshape(-1, 3) == fold[::3, None]).all()
    for one in (0, 1):
        assert np.bincount(fold[y == one]).tolist() == [9] * 5
