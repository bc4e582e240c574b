"""Candidate penalties, their ties, and draws that depend on what the rows are."""

import numpy as np
import pytest

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
from crucial.rankers.ranking_trees.growth import Node, NodeRows, PairGains


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
