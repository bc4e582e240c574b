"""TreeRank Tournament and CRank against trying everything, and what must not change them."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from crucial.errors import DataError
from crucial.rankers import RankingForest, TreeRank
from crucial.rankers.ranking_trees.estimators import held_out_gains, held_out_values
from crucial.rankers.ranking_trees.growth import Node, PairGains, above_median
from naive import losses
from naive.label_trees import NaiveCRank, median_positive, scores_of, tournament

seeds = st.integers(0, 10**6)


def problem(seed, n, p, labels, missing=0.15):
    random = np.random.default_rng(seed)
    X = random.integers(0, 5, (n, p)).astype(float)
    X[random.random((n, p)) < missing] = np.nan
    y = random.integers(0, labels, n).astype(float) * 1.5 - 1.0
    weight = random.integers(1, 4, n).astype(float)
    assume(len(set(y)) > 1)
    return X, y, weight


def fit(ranker, X, y, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return ranker.fit(X, y, **more)


STUMPS = {"splitter": "stump", "min_rows": 1, "max_bins": None}
AGGREGATION = {"task": "aggregation", "bootstrap": False, "max_features": None, "consensus": "rank"}


def leaf_sets(ranker, X):
    leaf = ranker.model_.leaves(X)[:, 0]
    return [np.flatnonzero(leaf == k).tolist() for k in range(len(ranker.model_.trees[0].scores))]


@settings(max_examples=25)
@given(seeds, st.integers(4, 12), st.integers(1, 2), st.integers(1, 3), st.integers(2, 4),
       st.sampled_from(["neighbours", "all"]))  # fmt: skip
def test_the_tournament_is_grown_as_told(seed, n, p, depth, d, pairs) -> None:
    X, y, weight = problem(seed, n, p, d)
    ranker = fit(
        TreeRank(depth, task="tournament", pairs=pairs, **STUMPS), X, y, sample_weight=weight
    )
    leaves, volume = tournament(X, y, weight, depth, pairs)
    assert leaf_sets(ranker, X) == [np.flatnonzero(leaf).tolist() for leaf in leaves]
    assert ranker.vus_ == pytest.approx(volume, abs=1e-9)
    assert ranker.score(X, y, sample_weight=weight, measure="vus") == pytest.approx(volume)
    mass = [[weight[leaf & (y == one)].sum() for one in np.unique(y)] for leaf in leaves]
    np.testing.assert_allclose(ranker.classes_per_leaf_, mass)


@given(seeds, st.integers(4, 18), st.integers(1, 3), st.integers(1, 3), st.integers(2, 9))
def test_crank_is_grown_as_told(seed, n, p, depth, d) -> None:
    X, y, weight = problem(seed, n, p, d)
    ranker = fit(TreeRank(depth, task="continuous", **STUMPS), X, y, sample_weight=weight)
    leaves = NaiveCRank(X, y, weight, depth).leaves()
    assert leaf_sets(ranker, X) == [np.flatnonzero(leaf).tolist() for leaf in leaves]
    scores = scores_of(leaves, n)
    expected = losses.iauc(y, scores, False, weight)
    assert ranker.iauc_ == pytest.approx(expected, abs=1e-9, nan_ok=True)
    distance = losses.hard_loss(y, scores, 0.5, "comparable", weight)
    assert ranker.kendall_ == pytest.approx(distance, abs=1e-9)


@given(seeds, st.integers(4, 12), st.floats(0.0, 0.2), st.sampled_from(["iauc", "kendall"]))
def test_pruning_of_crank_maximises_its_measure_less_the_price_of_leaves(
    seed, n, penalty, measure
) -> None:
    X, y, weight = problem(seed, n, 2, 6)
    assume(len(set(y)) > 2)
    ranker = TreeRank(3, task="continuous", pruning=penalty, prune_by=measure, **STUMPS)
    fit(ranker, X, y, sample_weight=weight)

    def value(leaves):
        scores = scores_of(leaves, n)
        if measure == "iauc":
            return losses.iauc(y, scores, False, weight)
        return 1 - losses.hard_loss(y, scores, 0.5, "comparable", weight)

    worth = [
        (value(one) - penalty * len(one), len(one))
        for one in NaiveCRank(X, y, weight, 3).subtrees()
    ]
    best = max(found for found, _ in worth)
    kept = len(ranker.model_.trees[0].scores)
    own = ranker.iauc_ if measure == "iauc" else 1 - ranker.kendall_
    assert own - penalty * kept == pytest.approx(best, abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3)), min_size=1, max_size=9))
def test_medians_of_rows_with_weights(rows) -> None:
    label, weight = np.array(sorted(rows)).T
    expected = median_positive(label, weight)
    assert above_median(label, weight.astype(float)).tolist() == expected.tolist()
    assert above_median(label, weight * 0.1).tolist() == expected.tolist()


@given(seeds, st.integers(3, 20), st.sampled_from(["iauc", "kendall"]))
def test_gains_of_other_rows_add_up_to_their_measure(seed, n, measure) -> None:
    """A tree of three leaves, and rows that it has not seen."""
    random = np.random.default_rng(seed)
    label = np.sort(random.integers(0, 6, n))
    weight = random.integers(1, 4, n).astype(float)
    assume(len(set(label)) > 2)
    leaf = random.integers(0, 3, n)
    root = Node(np.zeros(0, np.uint32))
    root.left, root.right = Node(root.rows, 1), Node(root.rows, 1)
    root.right.left, root.right.right = Node(root.rows, 2), Node(root.rows, 2)
    found = held_out_gains(root, leaf, PairGains.of(label, weight, measure))
    scores = 3.0 - leaf
    expected = (
        losses.iauc(label, scores, False, weight)
        if measure == "iauc"
        else 1 - losses.hard_loss(label, scores, 0.5, "comparable", weight)
    )
    assert 0.5 + sum(found.values()) == pytest.approx(expected, abs=1e-10)
    root.gain, root.right.gain = 0.2, 0.1
    values = held_out_values(root, found, np.array([0.0, 0.15, 0.3]))
    top = found[id(root)]
    np.testing.assert_allclose(values, [expected, 0.5 + top, 0.5], atol=1e-10)


@given(seeds, st.integers(8, 25), st.sampled_from(["neighbours", "all"]))
def test_the_aggregation_is_the_mean_rank_of_trees_of_two_classes(seed, n, pairs) -> None:
    X, y, weight = problem(seed, n, 2, 3)
    labels = np.unique(y)
    forest = RankingForest(1, max_depth=2, pairs=pairs, **AGGREGATION, **STUMPS)
    found = fit(forest, X, y, sample_weight=weight)
    expected, trees = np.zeros(n), 0
    for low, high in combinations(range(len(labels)), 2):
        if pairs == "neighbours" and high > low + 1:
            continue
        part = (y == labels[low]) | (y == labels[high])
        tree = fit(TreeRank(2, **STUMPS), X[part], y[part], sample_weight=weight[part])
        scores, trees = tree.predict(X), trees + 1
        below = np.array([weight[scores < one].sum() for one in scores])
        same = np.array([weight[scores == one].sum() for one in scores])
        expected += (below + 0.5 * same) / weight.sum()
    assert len(found.model_.trees) == trees
    assert found.predict(X) == pytest.approx(expected / trees, abs=1e-12)


def data(n=300, seed=0, noise=0.5):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    return X, X[:, 0] + np.abs(X[:, 1]) + noise * random.normal(size=n)


@pytest.mark.parametrize("measure", ["iauc", "kendall"])
def test_pruning_by_cross_validation(measure) -> None:
    X, y = data(noise=3.0)
    whole = TreeRank(None, splitter="stump", min_rows=2).fit(X, y)
    pruned = TreeRank(
        None, splitter="stump", min_rows=2, pruning="cv", prune_by=measure, random_state=0
    ).fit(X, y)
    assert len(pruned.model_.trees[0].scores) < len(whole.model_.trees[0].scores) / 2
    assert pruned.penalty_ == pruned.penalty_search_.best > 0
    assert np.all(np.diff(pruned.penalty_search_.penalties) >= 0)
    fresh, label = data(seed=1, noise=3.0)
    assert pruned.score(fresh, label) > whole.score(fresh, label) - 0.01


def test_what_does_not_fit_is_refused() -> None:
    X, y = data(60)
    with pytest.raises(DataError, match=r"at most 30 classes, and y has 60 labels. Use task='con"):
        TreeRank(task="tournament").fit(X, y)
    with pytest.raises(DataError, match=r"of two values, and y has 60. .* task='auto'"):
        RankingForest(task="bipartite").fit(X, y)
    with pytest.raises(DataError, match="pruning is for two classes and continuous labels"):
        TreeRank(pruning="cv").fit(X, np.arange(60) % 3)


@pytest.mark.parametrize(("label", "task"), [
    (lambda y: y > 0, "bipartite"),
    (lambda y: np.where(y > 0, 0.25, -3.5), "bipartite"),
    (lambda y: np.digitize(y, [0.0, 1.0]), "tournament"),
    (lambda y: np.digitize(y, [0.0, 1.0]) / 2, "continuous"),
    (lambda y: np.argsort(np.argsort(y)), "continuous"),
    (lambda y: y, "continuous"),
])  # fmt: skip
def test_labels_decide_the_task(label, task) -> None:
    X, y = data(60)
    for ranker in (TreeRank(2), RankingForest(2, max_depth=2)):
        ranker.fit(X, label(y))
        assert ranker.task_ == ranker.model_.training["task"] == task
        same = type(ranker)(**ranker.get_params()).set_params(task=task).fit(X, label(y))
        assert same.predict(X).tolist() == ranker.predict(X).tolist()
