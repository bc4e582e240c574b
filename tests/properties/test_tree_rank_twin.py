"""TreeRank, pruning, RankOver and the Kendall median against trying everything."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from crucial.rankers import RankingForest, RankOver, TreeRank
from naive.trees import NaiveTree, kendall_median_cost, least_kendall_cost, rank_over

pytestmark = [pytest.mark.kernels, pytest.mark.bounds]

seeds = st.integers(0, 10**6)


def problem(seed: int, n: int, p: int, missing: float = 0.15):
    random = np.random.default_rng(seed)
    X = random.integers(0, 5, (n, p)).astype(float)
    X[random.random((n, p)) < missing] = np.nan
    y = random.integers(0, 2, n)
    weight = random.integers(1, 4, n).astype(float)
    assume(0 < y.sum() < n)
    return X, y, weight


def fit(ranker, X, y, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return ranker.fit(X, y, **more)


def stumps(depth: int | None, **more):
    return TreeRank(depth, **{"splitter": "stump", "min_rows": 2, "max_bins": None} | more)


@given(seeds, st.integers(4, 18), st.integers(1, 3), st.integers(1, 3), st.integers(2, 6))
def test_the_tree_is_grown_as_told(seed, n, p, depth, least) -> None:
    """Rows are in the leaves that find_leaves finds."""
    X, y, weight = problem(seed, n, p)
    ranker = fit(stumps(depth, min_rows=least), X, y, sample_weight=weight)
    naive = NaiveTree(X, y, weight, depth, least)
    leaves = naive.leaves()
    leaf = ranker.model_.leaves(X)[:, 0]
    assert [np.flatnonzero(leaf == k).tolist() for k in range(len(leaves))] == [
        np.flatnonzero(one).tolist() for one in leaves
    ]
    places = (len(leaves) - leaf) / len(leaves)
    assert ranker.predict(X) == pytest.approx(places)
    area = naive.area(leaves)
    assert ranker.auc_ == pytest.approx(area, abs=1e-9)
    assert 0.5 + sum(ranker.model_.trees[0].gain) == pytest.approx(area, abs=1e-9)
    assert ranker.score(X, y, sample_weight=weight) == pytest.approx(area, abs=1e-9)


@given(seeds, st.integers(4, 14), st.floats(0.0, 0.3))
def test_pruning_maximises_area_less_the_price_of_leaves(seed, n, penalty) -> None:
    X, y, weight = problem(seed, n, 2)
    ranker = fit(stumps(3, pruning=penalty), X, y, sample_weight=weight)
    naive = NaiveTree(X, y, weight, 3, 2)
    worth = [(naive.area(one) - penalty * len(one), len(one)) for one in naive.subtrees()]
    best = max(value for value, _ in worth)
    kept = len(ranker.model_.trees[0].scores)
    assert ranker.auc_ - penalty * kept == pytest.approx(best, abs=1e-9)
    # (of trees that are equally good the smallest; prices that agree to 1e-9 may differ there)
    assert kept <= min(size for value, size in worth if value > best - 1e-12)


@given(seeds, st.integers(4, 16), st.integers(1, 3), st.integers(1, 6))
def test_rank_over_counts_the_overlays(seed, n, p, levels) -> None:
    X, y, weight = problem(seed, n, p)
    ranker = fit(RankOver(levels, max_bins=None), X, y, sample_weight=weight)
    expected = rank_over(X, y, weight, ranker.levels_)
    assert ranker.predict(X).tolist() == expected.tolist()


@given(seeds, st.integers(4, 8))
def test_the_median_of_cells_has_the_least_kendall_distance(seed, n) -> None:
    X, y, _ = problem(seed, n, 2, missing=0.0)
    forest = fit(
        RankingForest(3, max_depth=2, splitter="stump", min_rows=2, consensus="median"), X, y
    )
    model = forest.model_
    cells, mass = np.array(model.cells), np.array(model.cell_weights)
    assume(len(cells) <= 6)
    found = kendall_median_cost(cells, mass, range(len(cells)))
    assert found == pytest.approx(least_kendall_cost(cells, mass))
    assert forest.exact_
    # Rows of one cell score alike, and better cells higher.
    leaf = [tuple(one) for one in model.leaves(X).tolist()]
    place = np.array([model.cells.index(one) for one in leaf])
    assert forest.predict(X) == pytest.approx((len(cells) - place) / len(cells))


@given(seeds, st.integers(1, 3))
def test_small_trees_are_those_of_scikit_learn(seed, depth) -> None:
    """Greedy trees by the Gini impurity, balanced; splits of equal impurity may be mirrored."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(301, 3))
    y = (X[:, 0] * X[:, 1] + random.normal(size=301) > 0.6).astype(int)
    own = TreeRank(
        1, splitter="tree", splitter_depth=depth, min_rows=2, min_z=0.0, max_bins=None
    ).fit(X, y)
    peer = TreeRank(
        1, splitter=DecisionTreeClassifier(max_depth=depth, random_state=0), min_rows=2
    ).fit(X, y)
    assert own.auc_ == pytest.approx(peer.auc_, abs=1e-9)
    assert sorted(own.predict(X).tolist()) == sorted(peer.predict(X).tolist())
