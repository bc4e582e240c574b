import math

import msgspec
import numpy as np
import pytest

from crucial.errors import ParameterError
from crucial.model.weak import Presence, ScaledFeature, Stump, WeakRanker, WeakRankerLike

COLUMN = np.array([[-1.0], [0.5], [0.6], [np.nan]])


@pytest.mark.parametrize(
    ("ranker", "expected"),
    [
        (Stump(0, 0.5, 0), [0, 0, 1, 0]),
        (Stump(0, 0.5, 1), [0, 0, 1, 1]),
        (Stump(0, -1.0, 0), [0, 1, 1, 0]),
        (Presence(0, 0), [1, 1, 1, 0]),
        (Presence(0, 1), [0, 0, 0, 1]),
        (ScaledFeature(0, 0.5, 0.7, 0.25), [0, 0, (0.6 - 0.5) / (0.7 - 0.5), 0.25]),
    ],
)
def test_scores(ranker: WeakRankerLike, expected: list[float]) -> None:
    scores = ranker.scores(COLUMN)
    assert scores.dtype == np.float64
    assert scores.tolist() == expected
    assert isinstance(ranker, WeakRankerLike)


def test_float32_is_compared_as_float64() -> None:
    # 0.1 as float32 is greater than 0.1 as float64
    X = np.array([[0.1]], np.float32)
    assert Stump(0, 0.1, 0).scores(X).tolist() == [1.0]
    assert Stump(0, float(np.float32(0.1)), 0).scores(X).tolist() == [0.0]


@pytest.mark.parametrize(
    ("low", "high"), [(-1.7e308, 1.7e308), (0.0, 5e-324), (1.0, math.nextafter(1.0, 2.0))]
)
def test_scaled_feature_reaches_from_0_to_1_without_overflow(low: float, high: float) -> None:
    middle = low / 2 + high / 2
    X = np.array([[-1.79e308], [low], [middle], [high], [1.79e308]])
    with np.errstate(all="raise", under="ignore"):
        scores = ScaledFeature(0, low, high, 0.5).scores(X)
    assert scores[[0, 1, 3, 4]].tolist() == [0.0, 0.0, 1.0, 1.0]
    assert (np.diff(scores) >= 0).all()


def test_numpy_numbers_become_plain() -> None:
    stump = Stump(np.int32(2), np.float32(0.5), np.int8(1))
    assert [type(v) for v in (stump.feature, stump.threshold, stump.default)] == [int, float, int]
    assert stump == Stump(2, 0.5, 1)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Stump(-1, 0.0, 0), "'feature' parameter of Stump .* Got -1"),
        (lambda: Stump(True, 0.0, 0), "'feature' parameter of Stump .* Got True"),
        (lambda: Stump(0, math.nan, 0), "'threshold' parameter of Stump must be a finite"),
        (lambda: Stump(0, -math.inf, 0), "'threshold' parameter of Stump must be a finite"),
        (lambda: Stump(0, 0.0, 2), "'default' parameter of Stump must be 0 or 1. Got 2"),
        (lambda: Presence(0, 0.5), "'default' parameter of Presence must be 0 or 1. Got 0.5"),
        (lambda: Presence(1.5, 0), "'feature' parameter of Presence"),
        (lambda: ScaledFeature(0, 1.0, 1.0, 0.0), "'high' .* greater than low"),
        (lambda: ScaledFeature(0, 0.0, math.inf, 0.0), "'high' .* finite"),
        (lambda: ScaledFeature(0, 0.0, 1.0, math.inf), "'default' .* finite"),
    ],
)
def test_impossible_rankers_are_refused(make: object, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        make()  # type: ignore[operator]


def test_they_are_frozen_and_hashable() -> None:
    stump = Stump(0, 1.0, 0)
    with pytest.raises(AttributeError, match="immutable"):
        stump.threshold = 2.0  # type: ignore[misc]
    assert len({stump, Stump(0, 1.0, 0), Presence(0, 0), ScaledFeature(0, 0.0, 1.0, 0.0)}) == 3


@pytest.mark.parametrize("one", [Stump(3, -0.1, 1), Presence(0, 1), ScaledFeature(1, 0.1, 2, 0.5)])
def test_the_union_is_told_apart_by_kind(one: WeakRanker) -> None:
    assert msgspec.json.decode(msgspec.json.encode(one), type=WeakRanker) == one
