"""TreeRank, RankingForest and RankOver: parameters, consensus, refusals."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.svm import LinearSVC

from crucial import RankBoost, inspection, load_model, make_bipartite
from crucial.errors import DataError, NoProgressWarning, NotRankedError
from crucial.rankers import RankingForest, RankOver, TreeRank
from refusals import refused


def pyramid(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Nested squares: no sum of functions of one feature ranks them well."""
    random = np.random.default_rng(seed)
    X = random.random((n, 2)) * 4 - 2
    chance = np.array([0.95, 0.75, 0.3, 0.1])[
        np.minimum((np.abs(X).max(axis=1) * 2).astype(int), 3)
    ]
    return X, (random.random(n) < chance).astype(int)


@pytest.fixture(scope="module")
def data():
    return make_bipartite(600, seed=1), make_bipartite(600, seed=2)


def test_pruning_by_cross_validation(data) -> None:
    train, test = data
    grown = TreeRank(8, splitter="stump", min_rows=5).fit(train.X, train.y)
    cut = TreeRank(8, splitter="stump", min_rows=5, pruning="cv", n_folds=4).fit(train.X, train.y)
    found = cut.penalty_search_
    assert found is not None
    assert cut.penalty_ == found.best > 0.0
    assert len(found.penalties) == len(found.areas)
    assert np.all(np.diff(found.penalties) > 0)
    assert found.areas.max() == found.areas[found.penalties == found.best]
    sizes = [len(one.model_.trees[0].scores) for one in (cut, grown)]
    assert sizes[0] < sizes[1]
    assert cut.score(test.X, test.y) > grown.score(test.X, test.y) - 0.01
    same = TreeRank(8, splitter="stump", min_rows=5, pruning=cut.penalty_).fit(train.X, train.y)
    assert same.model_.trees == cut.model_.trees
    noise = np.random.default_rng(0).normal(size=(200, 3))
    with pytest.warns(NoProgressWarning, match="no node could be split"):
        leaf = TreeRank(pruning=1.0).fit(noise, np.arange(200) % 2)
    assert leaf.predict(noise[:2]).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("consensus", ["rank", "median"])
def test_other_consensus_is_saved(data, consensus, tmp_path) -> None:
    train, test = data
    forest = RankingForest(6, max_depth=3, consensus=consensus).fit(train.X, train.y)
    assert forest.score(test.X, test.y) > 0.85
    forest.save(tmp_path / "m.json")
    read = load_model(tmp_path / "m.json")
    assert read.predict(test.X).tobytes() == forest.predict(test.X).tobytes()


def test_mean_ranks_are_those_of_the_training_rows(data) -> None:
    train, _ = data
    forest = RankingForest(1, consensus="rank", bootstrap=False).fit(train.X, train.y)
    plain = RankingForest(1, bootstrap=False).fit(train.X, train.y)
    from scipy.stats import rankdata

    expected = (rankdata(plain.predict(train.X)) - 0.5) / len(train.y)
    assert forest.predict(train.X) == pytest.approx(expected)


def test_too_many_cells_for_a_median(monkeypatch) -> None:
    X, y = pyramid(400, 0)
    monkeypatch.setattr("crucial.rankers.ranking_trees.estimators._MOST_CELLS", 20)
    with pytest.raises(DataError, match=r"cells, and the Kendall median orders at most 20.*mean"):
        RankingForest(5, consensus="median", splitter="stump").fit(X, y)


def test_max_features_counts_shares_and_roots(data) -> None:
    train, _ = data
    number = {
        value: RankingForest(max_features=value)._features_tried(10)
        for value in (None, "sqrt", 3, 0.25, 1.0)
    }
    assert number == {None: None, "sqrt": 4, 3: 3, 0.25: 3, 1.0: 10}
    assert RankingForest()._features_tried(1) == 1
    assert RankingForest()._features_tried(2) == 2
    one = RankingForest(3, max_features=1, splitter="stump", max_depth=1).fit(train.X, train.y)
    every = RankingForest(3, max_features=None, splitter="stump", max_depth=1, bootstrap=False)
    every.fit(train.X, train.y)
    assert len({tree.feature for tree in every.model_.trees}) == 1
    assert len({tree.feature for tree in one.model_.trees}) > 1


@pytest.mark.parametrize("maker", [TreeRank, RankingForest])
def test_any_classifier_splits(data, maker, tmp_path) -> None:
    train, test = data
    few = {"n_estimators": 4} if maker is RankingForest else {}
    ranker = maker(max_depth=2, splitter=LogisticRegression(), **few).fit(train.X, train.y)
    assert ranker.score(test.X, test.y) > 0.85
    sparse = scipy.sparse.csr_array(train.X)
    again = maker(max_depth=2, splitter=LogisticRegression(), **few).fit(sparse, train.y)
    assert again.score(test.X, test.y) == pytest.approx(ranker.score(test.X, test.y), abs=0.01)
    assert ranker.feature_importances_.tolist() == [0.0] * train.X.shape[1]
    assert any("classifier" in line for line in ranker.model_.explain())
    with pytest.raises(NotRankedError, match=r"FittedClassifier, which a model file cannot hold"):
        ranker.save(tmp_path / "m.json")
    if maker is RankingForest:
        with pytest.raises(DataError, match="needs trees of thresholds"):
            maker(splitter=LogisticRegression(), consensus="median").fit(train.X, train.y)


def test_level_sets_of_a_scorer(data, tmp_path) -> None:
    train, test = data
    for scorer in (LinearSVC(), RankBoost(20)):
        ranker = RankOver(20, sets=scorer).fit(train.X, train.y)
        from sklearn.base import clone

        whole = clone(scorer).fit(train.X, train.y)
        score = getattr(whole, "decision_function", whole.predict)
        # Twenty steps of the scorer's own ranking: a coarser copy of it.
        assert ranker.score(test.X, test.y) == pytest.approx(
            roc_auc_score(test.y, score(test.X)), abs=0.03
        )
        assert np.all(ranker.alpha_ <= ranker.levels_ + 1e-9)
        assert np.all(np.diff(ranker.beta_) >= 0)
        with pytest.raises(NotRankedError, match="ScoreAbove, which a model file cannot hold"):
            ranker.save(tmp_path / "m.json")


def test_levels_are_checked(data) -> None:
    train, _ = data
    assert RankOver(4).fit(train.X, train.y).levels_.tolist() == [0.25, 0.5, 0.75, 1.0]


def test_weights_that_weigh_too_little_are_explained(data) -> None:
    train, _ = data
    tiny = np.full(len(train.y), 1e-4)
    with pytest.warns(NoProgressWarning, match="min_rows counts weights"):
        TreeRank(min_rows=10).fit(train.X, train.y, sample_weight=tiny)


def test_the_roc_curve_of_a_tree(data) -> None:
    train, test = data
    ranker = TreeRank().fit(train.X, train.y)
    curve = inspection.tree_roc(ranker)
    assert curve.auc == pytest.approx(ranker.auc_)
    assert curve.auc == pytest.approx(inspection.tree_roc(ranker, train.X, train.y).auc)
    held_out = inspection.tree_roc(ranker.model_, test.X, test.y)
    assert held_out.auc == pytest.approx(ranker.score(test.X, test.y))
    x, y = curve.points()
    assert (x[-1], y[-1]) == (pytest.approx(1.0), pytest.approx(1.0))
    assert curve.plot().lines[0].get_xdata().tolist() == x.tolist()
    refused(DataError, "needs rows and labels", inspection.tree_roc, ranker.model_)
    forest = RankingForest(2).fit(train.X, train.y)
    refused(NotRankedError, r"roc_curve\(y, ranker.predict\(X\)\)", inspection.tree_roc, forest)


@pytest.mark.parametrize("splitter", ["stump", "tree"])
@pytest.mark.parametrize("search", ["greedy", "exact"])
def test_abstentions_below_every_threshold(splitter, search) -> None:
    """As if a number below all others stood there."""
    random = np.random.default_rng(0)
    X, y = pyramid(200, 3)
    X[random.random(X.shape) < 0.2] = np.nan
    low = np.where(np.isnan(X), -100.0, X)
    more = {"splitter": splitter, "splitter_depth": 2, "splitter_search": search, "max_depth": 3}
    below = TreeRank(side="below", max_bins=None, **more).fit(X, y)
    filled = TreeRank(max_bins=None, **more).fit(low, y)
    assert below.auc_ == pytest.approx(filled.auc_)
    assert below.predict(X).tolist() == filled.predict(low).tolist()
