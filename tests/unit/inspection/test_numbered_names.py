"""Names of features that have none behave like a tuple and take no memory."""

import tracemalloc

import pytest

from crucial.inspection.importance import importances
from crucial.inspection.shape_functions import shapes
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import Stump
from crucial.results import NumberedNames, names_of


@pytest.mark.parametrize("out", [[], [0], [4], [1, 2], [0, 2, 4], [0, 1, 2, 3, 4]])
def test_like_a_tuple(out):
    names = NumberedNames(5, out)
    like = tuple(f"feature {k}" for k in range(5) if k not in out)
    assert names == like
    assert like == names
    assert names[1:3] == like[1:3]
    assert [names.index(name) for name in like] == list(range(len(like)))
    assert all(name in names for name in like)
    for other in (*(f"feature {k}" for k in out), "feature 5", "feature 01", "feature x", 3, ""):
        assert other not in names
        with pytest.raises(ValueError, match="is not in the names"):
            names.index(other)
    assert names != (*like, "feature 5")
    if like:
        assert names[-1] == like[-1]
    with pytest.raises(IndexError, match="out of range"):
        names[len(like)]


def test_names_that_exist_stay():
    assert names_of(("a", "b", "c"), 3, [1]) == ("a", "c")


def test_a_wide_model_costs_little_to_explain():
    model = AdditiveRanker(1 << 24, [Stump(3, 0.5, 0)], [1.0])
    tracemalloc.start()
    try:
        found = shapes(model)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 << 20
    assert len(found.unused) == (1 << 24) - 1
    assert found.unused[3] == "feature 4"
    assert importances(model)["feature 3"] == 1.0
