import numpy as np
import pytest

from crucial.model.additive import AdditiveRanker, Shape, draw_shape, sparkline
from crucial.model.describe import describe, drawing
from crucial.model.weak import Presence, ScaledFeature, Stump
from crucial.wording import printable


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


def test_a_model_without_weight_can_be_described():
    assert describe(AdditiveRanker(3, [], [])).features == ()
    assert describe(AdditiveRanker(3, [Stump(0, 0.0, 0)], [0.0])).n_used == 0


def test_a_huge_number_of_features_costs_nothing():
    description = describe(AdditiveRanker(2**24, [Stump(2**24 - 1, 0.0, 0)], [1.0]))
    assert description.features[0].label == "feature 16777215"


def test_names_cannot_reach_the_terminal():
    assert printable("a\x1b]0;x\x07\r\n‮b") == "a\\x1b]0;x\\x07\\r\\n\\u202eb"
    assert printable("x" * 100) == "x" * 59 + "…"
    assert printable("x" * 60) == "x" * 60
    assert printable("größe") == "größe"


def test_drawing_steps():
    shape = Shape(0, None, np.array([0.5, 10.0]), np.array([-1.0, 0.0, 3.0]), -0.5)
    assert draw_shape(shape, width=7, height=2) == [
        "         3 ┤    ██",
        "        -1 ┤▁▁▅▅██",
        "            steps from 0.5 to 10",
        "            no opinion: -0.5",
    ]
    one = Shape(0, None, np.array([0.25]), np.array([1.0, 0.0]), 0.0)
    assert draw_shape(one, width=2, height=1) == [
        "         1 ┤█▁",
        "            step at 0.25",
        "            no opinion: 0",
    ]
    none = Shape(0, None, np.array([]), np.array([0.5]), 0.0)
    assert draw_shape(none, width=3, height=1)[1] == "            the same for every value"


def test_drawings_keep_to_their_width():
    rng = np.random.default_rng(0)
    for n in (1, 2, 10, 47, 48, 49, 300):
        shape = Shape(0, None, np.sort(rng.normal(size=n)), rng.normal(size=n + 1), 0.0)
        lines = draw_shape(shape, width=48, height=3)
        assert len(lines) == 5
        assert max(map(len, lines[:3])) <= 12 + 48
        assert len(sparkline(shape.values, 24)) <= 24
        assert {"▁", "█"} <= set("".join(lines[:3])) or n == 300


def test_extreme_values_can_be_drawn():
    assert sparkline([-1.7e308, 0.0, 1.7e308], 3) == "▁▅█"
    assert sparkline([2.0, 2.0], 2) == "▄▄"
    assert sparkline([], 2) == ""


def test_ramps_are_drawn():
    model = AdditiveRanker(1, [ScaledFeature(0, 1.0, 3.0, 0.5), Stump(0, 2.0, 0)], [-0.5, 0.25])
    lines = drawing(describe(model).features[0], width=8, height=1)
    assert lines == [
        "      0.25 ┤▁▁▁▁████", "            step at 2", "            no opinion: 0",
        "            █▁ from 0 at 1 to -0.5 at 3", "            no opinion: -0.25",
    ]  # fmt: skip
