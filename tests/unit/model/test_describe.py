import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from crucial.data.arrays import DAYS, time_number
from crucial.data.instances import Encodings
from crucial.errors import ParameterError
from crucial.model.additive import AdditiveRanker
from crucial.model.describe import describe, drawing
from crucial.model.tree_table import value_text
from crucial.model.weak import Presence, ScaledFeature, Stump, Tree
from crucial.wording import printable
from refusals import refused


def test_the_heaviest_features_come_first():
    rankers = [
        Stump(0, 1.0, 0), Stump(1, 1.0, 0), Stump(1, 2.0, 1), Stump(2, 0.0, 0), Presence(3, 0),
        ScaledFeature(4, 0.0, 2.0, 0.5),
    ]  # fmt: skip
    weights = [1.0, 2.0, -1.0, -0.5, 0.25, 0.125]
    names = ["up", "bent", "down", "there", "ramp", "unused"]
    told = describe(AdditiveRanker(6, rankers, weights, names, {"preset": "x"}))
    assert [one.label for one in told.features] == ["bent", "up", "down", "there", "ramp"]
    assert [one.feature for one in told.features] == [1, 0, 2, 3, 4]
    assert [one.weight for one in told.features] == [3.0, 1.0, 0.5, 0.25, 0.125]
    assert sum(one.share for one in told.features) == pytest.approx(1.0)
    directions = [one.direction for one in told.features]
    assert directions == ["both ways", "rising", "falling", "flat", "rising"]
    assert told.kinds == {"stump": 4, "presence": 1, "scaled feature": 1}
    assert (told.n_features, told.n_rounds, told.n_used) == (6, 6, 5)
    assert told.training == {"preset": "x"}
    assert told.features[0].shape.values.tolist() == [0.0, 2.0, 1.0]
    (ramp,) = told.features[4].ramps
    assert (ramp.low, ramp.high, ramp.missing, ramp.weight) == (0.0, 2.0, 0.0625, 0.125)
    assert len(describe(AdditiveRanker(6, rankers, weights), top=2).features) == 2
    assert describe(AdditiveRanker(6, rankers, weights)).features[0].label == "feature 1"
    assert describe(AdditiveRanker(3, [], [])).features == ()


def test_a_huge_number_of_features_costs_nothing():
    description = describe(AdditiveRanker(2**24, [Stump(2**24 - 1, 0.0, 0)], [1.0]))
    assert description.features[0].label == "feature 16777215"


def test_names_cannot_reach_the_terminal():
    assert printable("a\x1b]0;x\x07\r\n‮b") == "a\\x1b]0;x\\x07\\r\\n\\u202eb"
    assert (printable("x" * 100), printable("x" * 60)) == ("x" * 59 + "…", "x" * 60)
    assert printable("größe") == "größe"


def test_ramps_are_drawn():
    model = AdditiveRanker(1, [ScaledFeature(0, 1.0, 3.0, 0.5), Stump(0, 2.0, 0)], [-0.5, 0.25])
    lines = drawing(describe(model).features[0], width=8, height=1)
    assert lines == [
        "      0.25 ┤▁▁▁▁████", "            step at 2", "            no opinion: 0",
        "            █▁ from 0 at 1 to -0.5 at 3", "            no opinion: -0.25",
    ]  # fmt: skip


# -- dates and times of day as text: as many digits as the value needs ----------------------------


DATES = Encodings(times={0: DAYS})


@pytest.mark.parametrize("text", [
    "2024-03-05",
    "2024-03-05 10:20",
    "2024-03-05 10:20:07",
    "2024-03-05 10:20:10",
    "2024-03-05 00:00:00.5",
    "2024-03-05 10:20:07.361",
    "2024-03-05 10:20:07.361002",
    "1969-07-20 20:17:40.000001",
    "0999-01-01 01:00",
    # Here a float is coarser than a microsecond.
    "2300-05-05 01:02:03.25",
    "9000-05-05 01:02",
])  # fmt: skip
def test_a_moment_is_read_back(text):
    assert value_text(DATES, 0, time_number(np.datetime64(text), DAYS)) == text


# -- trees as weak rankers of a model and of its file ---------------------------------------------


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
    ({"left": (~0, 1), "right": (~1, ~2)}, "later nodes or ~leaf"),  # (node 1 leads to itself)
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
    said = ["1 pair of features together:", "  age with size  75.0% of the gains"]
    assert model.explain() == said
    assert model.importance_of == "share of the gains of the splits"
    age, size = describe(model).features
    assert (age.label, age.direction, age.share) == ("age", "", 0.5)
    assert (size.label, size.direction) == ("size", "rising")
    assert AdditiveRanker(2, [alone], [1.0]).explain() == []
    assert AdditiveRanker(3, [Stump(2, 0.0, 0)], [2.0]).importance_of == (
        "share of the absolute weight"
    )
