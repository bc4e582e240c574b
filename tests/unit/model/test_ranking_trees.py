"""Frozen trees: routes, files, checks and text."""

import numpy as np
import pytest
import scipy.sparse

from crucial.errors import NotRankedError, ParameterError
from crucial.model import RankingTrees
from crucial.model.describe import describe
from crucial.model.tree_table import OUTSIDE, TreeTable
from crucial.rankers import RankingForest
from refusals import refused


def stump(**changes) -> TreeTable:
    fields = {
        "node": (0,), "feature": (1,), "threshold": (0.5,), "missing": (False,),
        "yes": (~0,), "no": (~1,), "gain": (0.2,), "scores": (1.0, 0.5),
    }  # fmt: skip
    return TreeTable(**fields | changes)


def union() -> TreeTable:
    """Left is {x0 > 1 or x1 present}: two answers lead to one leaf."""
    return TreeTable(
        (0, 0), (0, 1), (1.0, None), (True, False), (~0, ~0), (1, ~1), (0.1, 0.3), (1.0, 0.5)
    )


def forest_model(n: int = 300, seed: int = 0) -> tuple[RankingTrees, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    y = (X[:, 0] * X[:, 1] + 0.5 * random.normal(size=n) > 0).astype(int)
    X[random.random(X.shape) < 0.1] = np.nan
    return RankingForest(5).fit(X, y).model_, X


def test_tests_lead_to_leaves() -> None:
    X = np.array([[2.0, np.nan], [0.0, np.nan], [0.0, 5.0], [np.nan, np.nan]])
    model = RankingTrees(2, [union()])
    assert model.leaves(X).ravel().tolist() == [0, 1, 0, 0]
    assert model.predict(X).tolist() == [1.0, 0.5, 1.0, 1.0]
    assert model.feature_importances() == pytest.approx([0.25, 0.75])
    assert RankingTrees(2, [stump(), union()]).predict(X).tolist() == [0.75, 0.5, 1.0, 0.75]
    assert repr(model) == "RankingTrees(n_features=2, tree of 2 leaves)"


def test_a_single_leaf_is_a_tree() -> None:
    leaf = TreeTable((), (), (), (), (), (), (), (1.0,))
    model = RankingTrees(3, [leaf])
    assert model.predict(np.zeros((2, 3))).tolist() == [1.0, 1.0]
    assert model.explain() == ["one leaf, score 1"]
    assert model.feature_importances().tolist() == [0.0, 0.0, 0.0]


@pytest.mark.kernels
def test_threads_and_sparse_rows_find_the_same_leaves() -> None:
    model, X = forest_model()
    assert model.leaves(X, n_jobs=2).tolist() == model.leaves(X).tolist()
    filled = np.nan_to_num(X)
    filled[np.abs(filled) < 0.5] = 0.0
    expected = model.predict(filled)
    assert model.predict(scipy.sparse.csr_array(filled)).tolist() == expected.tolist()
    assert model.predict(filled.astype(np.float32)).shape == expected.shape


@pytest.mark.parametrize(("changes", "match"), [
    ({"feature": (2,)}, r"features in \[0, 1\]"),
    ({"feature": (-1,)}, "features of at least 0"),
    ({"threshold": (float("inf"),)}, "finite thresholds"),
    ({"gain": (-1.0,)}, "finite gains"),
    ({"yes": (0,)}, "a test after 0 or a leaf"),
    ({"no": (~2,)}, "a test after 0 or a leaf"),
    ({"scores": (1.0, float("nan"))}, "a finite score of leaf 1"),
    ({"scores": ()}, "one leaf, or tests and leaves"),
    ({"gain": ()}, "tests with all their fields"),
])  # fmt: skip
def test_tables_that_are_no_trees_are_refused(changes, match) -> None:
    refused(ParameterError, match, RankingTrees, 2, [stump(**changes)])


@pytest.mark.parametrize(("arguments", "match"), [
    ({"trees": []}, "at least one tree"),
    ({"consensus": "mode"}, "consensus"),
    ({"consensus": "median"}, "cells for the median alone"),
    ({"cells": [(0,)], "cell_weights": [1.0]}, "cells for the median alone"),
    ({"consensus": "median", "cells": [(2,)], "cell_weights": [1.0]}, "one leaf per tree"),
    ({"consensus": "median", "cells": [(0,)]}, "one per cell"),
    ({"consensus": "median", "cells": [(0,)], "cell_weights": [0.0]}, "numbers above 0"),
])  # fmt: skip
def test_forests_that_are_none_are_refused(arguments, match) -> None:
    with pytest.raises(ParameterError, match=match):
        RankingTrees(**{"n_features": 2, "trees": [stump()]} | arguments)


def test_a_new_cell_takes_the_place_where_it_disagrees_least() -> None:
    """Two trees over two features; three cells are known, and (1, 0) is not."""
    first = stump(feature=(0,))
    model = RankingTrees(2, [first, stump()], "median", [(0, 0), (0, 1), (1, 1)], [1.0, 5.0, 1.0])
    X = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    scores = model.predict(X)
    assert scores[:3] == pytest.approx([1.0, 2 / 3, 1 / 3])
    # (1, 0) ties with (0, 1), loses to (0, 0) and beats (1, 1): the first such place.
    assert scores[3] == pytest.approx((3 - 0.5) / 3)


def test_the_text_of_a_tree() -> None:
    model = RankingTrees(2, [union(), stump()], feature_names=("age", "size"))
    assert model.explain() == [
        "the first tree:", "node 0 (gain 0.4)", "  age > 1, or missing", "    yes: score 1",
        "    no: size is present", "      yes: score 1", "      no: score 0.5",
    ]  # fmt: skip
    said = ["feature 1 > 0.5 (gain 0.2)", "  yes: score 1", "  no: score 0.5"]
    assert RankingTrees(2, [stump()]).explain() == said
    assert RankingTrees(2, [stump()]).explain(0) == ["not shown"]
    deep = forest_model()[0]
    assert deep.explain(1)[-1].endswith("nodes are not shown")
    assert describe(deep).n_used == 4


def test_a_tree_that_asks_a_classifier_is_not_written(tmp_path) -> None:
    class Asked:
        def goes_left(self, instances, rows):
            return np.zeros(len(rows), bool)

    class Other(Asked):
        pass

    tree = stump(feature=(OUTSIDE,), threshold=(1.0,))
    model = RankingTrees(2, [tree], routers=[Asked(), Other()])
    with pytest.raises(NotRankedError, match="ask objects of class Asked, which a model file"):
        model.save(tmp_path / "m.json")
    assert not (tmp_path / "m.json").exists()
