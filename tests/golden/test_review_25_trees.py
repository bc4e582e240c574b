"""Section 25 of the review's systems: numbers of TreeRank, pruning, forests and RankOver."""

import numpy as np
import pytest

from crucial import RankingTrees, RankOver, TreeRank
from crucial.data.instances import Instances
from crucial.rankers.ranking_trees.forests import pruning_path
from crucial.rankers.ranking_trees.splitters import (
    NodeCells,
    NodeRows,
    Sides,
    StumpSplitter,
    TreeSplitter,
)
from crucial.rankers.ranking_trees.tasks import TreeRankAlgorithm
from naive.set_b import X2, YB, YT
from naive.set_b import X12 as X


def stumps(depth: int, y: np.ndarray = YT, table: np.ndarray = X) -> TreeRank:
    return TreeRank(depth, splitter="stump", min_rows=2).fit(table, y)


def leaf_sets(ranker: TreeRank) -> list[set[int]]:
    leaf = ranker.model_.leaves(X)[:, 0]
    return [set(np.flatnonzero(leaf == k).tolist()) for k in range(leaf.max() + 1)]


def grown(depth: int):
    rows = NodeRows.build(Instances.from_input(X), np.arange(8), None)
    good = YT.astype(np.uint8)
    algorithm = TreeRankAlgorithm(rows, good, lambda _: StumpSplitter(rows), depth, 2.0)
    return algorithm.grow(np.ones(8), np.random.default_rng(0))


@pytest.mark.parametrize(("depth", "area"), [(1, 0.875), (2, 0.96875), (3, 1.0)])
def test_section_25_areas_of_trees_of_stumps_yt(depth: int, area: float) -> None:
    ranker = stumps(depth)
    assert ranker.auc_ == pytest.approx(area, abs=1e-12)
    assert ranker.score(X, YT) == pytest.approx(area, abs=1e-12)
    assert 0.5 + sum(ranker.model_.trees[0].gain) == pytest.approx(area, abs=1e-12)


def test_section_25_splits_and_leaves_of_yt() -> None:
    ranker = stumps(3)
    tree = ranker.model_.trees[0]
    assert tree.feature == (0, 0, 0)
    assert tree.threshold == (0.375, 0.8125, 0.9375)
    assert tree.gain == pytest.approx((0.375, 0.09375, 0.03125), abs=1e-12)
    # x1 <= .375 to the left; of the rest, x1 > .8125; of that, x1 <= .9375.
    assert (tree.yes, tree.no) == ((1, 2, ~2), (~0, ~3, ~1))
    assert leaf_sets(ranker) == [{0, 2, 4}, {7}, {5}, {1, 3, 6}]
    assert tree.scores == (1.0, 0.75, 0.5, 0.25)


def test_section_25_pruning_order() -> None:
    path = pruning_path(grown(3))
    assert [step.penalty for step in path] == pytest.approx([0.03125, 0.09375, 0.375], abs=1e-12)
    assert [[node.depth for node in step.nodes] for step in path] == [[2], [1], [0]]


@pytest.mark.parametrize(
    ("penalty", "leaves"), [(0.03, 4), (0.03125, 3), (0.09, 3), (0.1, 2), (0.37, 2), (0.375, 1)]
)
def test_section_25_pruned_trees(penalty: float, leaves: int) -> None:
    ranker = TreeRank(3, splitter="stump", min_rows=2, pruning=penalty)
    if leaves == 1:
        with pytest.warns(UserWarning, match="no node could be split"):
            ranker.fit(X, YT)
    else:
        ranker.fit(X, YT)
    assert len(ranker.model_.trees[0].scores) == leaves


@pytest.mark.parametrize(
    ("depth", "left", "error"), [(1, {0, 2, 4}, 0.125), (2, {0, 2, 4, 7}, 0.0)]
)
def test_section_25_small_trees_at_the_root_of_yt(depth: int, left: set[int], error: float) -> None:
    rows = NodeRows.build(Instances.from_input(X), np.arange(8), None)
    sides = Sides(NodeCells.of([rows.everything()]), YT.astype(np.uint8), np.ones(8))
    (split,) = TreeSplitter(rows, depth, exact=True).split(sides)
    assert split is not None
    assert set(np.flatnonzero(split.left).tolist()) == left
    assert (1.0 - split.gain) / 2 == pytest.approx(error, abs=1e-12)


def test_section_25_tree_of_yb() -> None:
    ranker = stumps(2, YB)
    tree = ranker.model_.trees[0]
    assert (tree.feature, tree.threshold) == ((1, 1), (0.625, 0.0625))
    assert tree.gain == pytest.approx((0.375, 0.125), abs=1e-12)
    # x2 > .625 to the left; of the rest, x2 <= .0625.
    assert (tree.yes, tree.no) == ((~0, ~2), (1, ~1))
    assert (ranker.auc_, len(tree.scores)) == (pytest.approx(1.0, abs=1e-12), 3)


def test_section_25_forest_of_three_trees() -> None:
    one = stumps(2, table=X[:, :1]).model_.trees[0]
    two = TreeRank(2, splitter="stump", min_rows=2).fit(np.c_[np.zeros(8), X2], YT)
    both = stumps(3).model_.trees[0]
    forest = RankingTrees(2, [one, two.model_.trees[0], both])
    expected = [8 / 9, 11 / 36, 1, 11 / 36, 8 / 9, 11 / 18, 5 / 12, 25 / 36]
    assert forest.predict(X) == pytest.approx(np.array(expected), abs=1e-12)


def test_section_25_rank_over_half_lines() -> None:
    ranker = RankOver([0.25, 0.5, 0.75, 1.0]).fit(X, YT)
    assert ranker.predict(X).tolist() == [4, 0, 4, 0, 4, 3, 3, 3]
    assert ranker.score(X, YT) == pytest.approx(0.9375, abs=1e-12)
    tree = ranker.model_.trees[0]
    assert (tree.feature, tree.threshold) == ((0, 1), (0.375, 0.1875))
    assert ranker.beta_.tolist() == [0.75, 1, 1, 1]
    assert ranker.alpha_.tolist() == [0, 0.5, 0.5, 0.5]


def test_section_25_adaptive_levels() -> None:
    ranker = RankOver("adaptive", tolerance=0.05, max_depth=3).fit(X, YT)
    assert ranker.levels_.tolist() == [0, 0.25, 0.5, 0.75, 1]
