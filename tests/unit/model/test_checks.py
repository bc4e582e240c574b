"""The parts of a model as plain data: what is taken, what is refused, and at which edge."""

import math
import sys

import numpy as np
import pytest

from crucial.errors import ParameterError
from crucial.model.base import plain_summary, plain_weights
from refusals import refused

HEAVIEST = sys.float_info.max / 4


def nested(depth):
    return [] if depth == 0 else [nested(depth - 1)]


def test_summaries_become_plain():
    summary = {
        "a": np.array([[1, 2]]), "b": np.float32(0.5), "c": (None, True, "text"),
        "d": {"e": np.bool_(False)}, "f": [-(2**63), 2**63 - 1],
    }  # fmt: skip
    plain = plain_summary(summary, "R")
    assert plain == {
        "a": [[1, 2]], "b": 0.5, "c": [None, True, "text"], "d": {"e": False},
        "f": [-(2**63), 2**63 - 1],
    }  # fmt: skip
    assert type(plain["b"]) is float
    assert plain["d"]["e"] is False


@pytest.mark.parametrize(("value", "got"), [
    (math.nan, "nan"),
    (-math.inf, "-inf"),
    (2**63, "9223372036854775808"),
    (-(2**63) - 1, "-9223372036854775809"),
    ("\ud800", r"'\\ud800'"),
    (object, "object"),
    (1j, "1j"),
])  # fmt: skip
def test_summaries_that_json_cannot_write(value, got):
    with pytest.raises(ParameterError, match=rf"training\['a'\]\[1\].*Got .*{got}"):
        plain_summary({"a": [0, value]}, "R")


def test_how_deep_a_summary_may_be():
    assert plain_summary({"a": nested(14)}, "R") == {"a": nested(14)}
    with pytest.raises(ParameterError, match=r"training\['a'\]\[0\].*not too deep"):
        plain_summary({"a": nested(15)}, "R")
    inner = {}
    for _ in range(15):
        inner = {"b": inner}
    assert plain_summary(inner, "R") == inner
    refused(ParameterError, "not too deep", plain_summary, {"a": inner}, "R")


def test_a_large_wrong_value_is_shortened():
    with pytest.raises(ParameterError, match="training") as caught:
        plain_summary({"a": "\ud800" * 10_000}, "R")
    assert len(str(caught.value)) < 500


def test_weights():
    plain = plain_weights(np.array([1.0, -2.0], np.float32), 2, "R")
    assert plain == (1.0, -2.0)
    assert {type(weight) for weight in plain} == {float}
    for weights in ([1.0], [1.0, 2.0, 3.0]):
        with pytest.raises(ParameterError, match=f"each of the 2 rankers. Got .*{len(weights)} n"):
            plain_weights(weights, 2, "R")
    with pytest.raises(ParameterError, match=r"offsets.*finite numbers.*Got nan"):
        plain_weights([1.0, math.nan], 2, "R", "offsets")
    refused(ParameterError, "Got inf", plain_weights, [math.inf, 1.0], 2, "R")


def test_how_heavy_weights_may_be():
    half = HEAVIEST / 2
    assert plain_weights([half, -half], 2, "R") == (half, -half)
    refused(ParameterError, "a sum of", plain_weights, [half, -half, half], 3, "R")
    assert plain_weights([HEAVIEST], 1, "R", reach=[1.0]) == (HEAVIEST,)
    refused(ParameterError, "a sum of", plain_weights, [HEAVIEST], 1, "R", reach=[2.0])
