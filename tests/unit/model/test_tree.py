"""Trees as weak rankers of a model and of its file."""

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from crucial.errors import ParameterError
from crucial.model.additive import AdditiveRanker
from crucial.model.describe import describe
from crucial.model.weak import Stump, Tree
from refusals import refused

TREE = Tree((0, 1), (0.5, None), (1, 1), (~0, ~1), (1, ~2), (2.0, 1.0), (-1.0, 0.25, 0.5))
X = np.array([[0.5, 1.0], [0.6, 3.0], [np.nan, np.nan], [2.0, np.nan], [-1.0, np.nan]])


def changed(**fields: Any) -> Tree:
    values = {name: getattr(TREE, name) for name in TREE.__struct_fields__}
    return Tree(**(values | fields))


def test_scores() -> None:
    assert TREE.leaves(X).tolist() == [0, 1, 2, 2, 0]
    assert TREE.scores(X).tolist() == [-1.0, 0.25, 0.5, 0.5, -1.0]
    assert TREE.gain_by_feature() == {0: 2.0, 1: 1.0}


@pytest.mark.parametrize(("fields", "words"), [
    ({"features": (0, -1)}, "'features' parameter of Tree must be at least 0"),
    ({"features": (0,)}, "one leaf more than there are nodes"),
    ({"values": (1.0, 2.0)}, "one leaf more than there are nodes"),
    ({"values": (1.0, 2.0, 1e101)}, "at most 1e100"),
    ({"values": (1.0, 2.0, float("nan"))}, "at most 1e100"),
    ({"thresholds": (0.5, float("inf"))}, "finite numbers or None"),
    ({"missing": (0, 2)}, "0 or 1"),
    ({"gains": (1.0, -1.0)}, "at least 0"),
    ({"left": (~0, 0)}, "each reached once"),
    ({"left": (~0, ~0)}, "each reached once"),
    ({"right": (1, 1)}, "each reached once"),
    ({"left": (1, ~1), "right": (1, ~2)}, "each reached once"),
])  # fmt: skip
def test_a_tree_that_cannot_be_is_refused(fields: dict[str, Any], words: str) -> None:
    refused(ParameterError, words, changed, **fields)


def test_a_model_of_stumps_and_trees() -> None:
    model = AdditiveRanker(3, [TREE, Stump(2, 0.0, 0)], [1.0, 2.0], ["a", "b", "c"])
    table = np.column_stack((X, [-1.0, 1.0, 0.0, 2.0, np.nan]))
    assert model.predict(table).tolist() == [-1.0, 2.25, 0.5, 2.5, -1.0]
    filled = np.nan_to_num(table)
    assert model.predict(sp.csr_array(filled)).tolist() == model.predict(filled).tolist()
    assert model.weight_by_feature() == {0: 2.0, 1: 1.0, 2: 2.0}
    assert describe(model).kinds == {"tree": 1, "stump": 1}
    assert pickle.loads(pickle.dumps(model)) == model
    refused(ParameterError, "about features 0 to 0", AdditiveRanker, 1, [TREE], [1.0])


def test_what_a_model_of_trees_says_of_itself() -> None:
    alone = Tree((1,), (3.0,), (0,), (~0,), (~1,), (1.0,), (-0.5, 0.5))
    model = AdditiveRanker(2, [TREE, alone], [1.0, 1.0], ["age", "size"])
    assert model.explain() == [
        "1 pair of features together:",
        "  age with size  75.0% of the gains",
    ]
    assert model.importance_of == "share of the gains of the splits"
    age, size = describe(model).features
    assert (age.label, age.direction, age.share) == ("age", "", 0.5)
    assert (size.label, size.direction) == ("size", "rising")
    assert AdditiveRanker(2, [alone], [1.0]).explain() == []
    assert AdditiveRanker(3, [Stump(2, 0.0, 0)], [2.0]).importance_of == (
        "share of the absolute weight"
    )
