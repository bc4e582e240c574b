"""Weak rankers of every kind: their scores, their sums, their files, and what they cannot be."""

import math

import msgspec
import numpy as np
import pytest
import scipy.sparse as sp

from crucial.errors import ModelFileError, ParameterError
from crucial.inspection import contributions, why
from crucial.model.additive import AdditiveRanker
from crucial.model.describe import describe
from crucial.model.file import load_model
from crucial.model.weak import (
    Affine,
    Constant,
    Presence,
    ScaledFeature,
    Stump,
    Vote,
    WeakRanker,
    WeakRankerLike,
)
from naive.random_models import sealed
from refusals import refused

COLUMN = np.array([[-1.0], [0.5], [0.6], [np.nan]])
X = np.array([[-1.0, 2.0], [0.5, np.nan], [0.6, 0.0], [np.nan, 1.0]])
LINE = ScaledFeature(1, 0.0, 2.0, 0.5)
VOTES = AdditiveRanker(
    2,
    [
        Vote(Stump(0, 0.5, 1)), Constant(), Vote(Presence(1, 0)), Stump(0, 0.0, 0), LINE,
        Vote(Presence(0, 1)), Constant(),
    ],
    [0.5, -0.25, 0.125, 1.0, 0.75, -0.3, 0.1],
)  # fmt: skip
FITTED = AdditiveRanker(
    2,
    [
        Affine(Stump(0, 0.5, 1), -0.25, 1.5), Stump(0, 0.5, 1), Affine(LINE, 3.0, -2.0),
        Affine(Presence(1, 0), 0.5, 0.25), Constant(), Affine(LINE, 0.0, 1.0),
    ],
    [0.1, 1.0, 0.1, 0.3, -0.25, 0.1],
)  # fmt: skip


@pytest.mark.parametrize(("ranker", "expected"), [
    (Stump(0, 0.5, 0), [0, 0, 1, 0]),
    (Stump(0, 0.5, 1), [0, 0, 1, 1]),
    (Stump(0, -1.0, 0), [0, 1, 1, 0]),
    (Presence(0, 0), [1, 1, 1, 0]),
    (Presence(0, 1), [0, 0, 0, 1]),
    (ScaledFeature(0, 0.5, 0.7, 0.25), [0, 0, (0.6 - 0.5) / (0.7 - 0.5), 0.25]),
    (Vote(Stump(0, 0.5, 1)), [-1, -1, 1, 1]),
    (Vote(Presence(0, 0)), [1, 1, 1, -1]),
    (Constant(), [1, 1, 1, 1]),
    (Affine(Stump(0, 0.5, 1), -0.25, 1.5), [-0.25, -0.25, 1.25, 1.25]),
    (Affine(ScaledFeature(0, -1.0, 2.0, 0.5), 3.0, -2.0), [3.0, 2.0, 3.0 - 3.2 / 3, 2.0]),
])  # fmt: skip
def test_scores_and_files(ranker, expected):
    scores = ranker.scores(COLUMN)
    assert scores.dtype == np.float64
    assert scores.tolist() == pytest.approx(expected, rel=1e-15)
    assert isinstance(ranker, WeakRankerLike)
    assert msgspec.json.decode(msgspec.json.encode(ranker), type=WeakRanker) == ranker


def test_float32_is_compared_as_float64():
    # 0.1 as float32 is greater than 0.1 as float64
    X = np.array([[0.1]], np.float32)
    assert Stump(0, 0.1, 0).scores(X).tolist() == [1.0]
    assert Stump(0, float(np.float32(0.1)), 0).scores(X).tolist() == [0.0]


@pytest.mark.parametrize(
    ("low", "high"), [(-1.7e308, 1.7e308), (0.0, 5e-324), (1.0, math.nextafter(1.0, 2.0))]
)
def test_scaled_feature_reaches_from_0_to_1_without_overflow(low, high):
    middle = low / 2 + high / 2
    X = np.array([[-1.79e308], [low], [middle], [high], [1.79e308]])
    with np.errstate(all="raise", under="ignore"):
        scores = ScaledFeature(0, low, high, 0.5).scores(X)
    assert scores[[0, 1, 3, 4]].tolist() == [0.0, 0.0, 1.0, 1.0]
    assert (np.diff(scores) >= 0).all()


def test_they_are_plain_frozen_and_hashable():
    stump = Stump(np.int32(2), np.float32(0.5), np.int8(1))
    assert [type(v) for v in (stump.feature, stump.threshold, stump.default)] == [int, float, int]
    with pytest.raises(AttributeError, match="immutable"):
        stump.threshold = 2.0
    others = {Presence(0, 0), ScaledFeature(0, 0.0, 1.0, 0.0), Vote(Stump(2, 0.5, 1)), Constant()}
    assert len({stump, Stump(2, 0.5, 1), Vote(Stump(2, 0.5, 1)), Constant(), *others}) == 5
    vote, fitted = Vote(Stump(3, 1.0, 1)), Affine(Stump(3, 1.0, 1), -0.25, 1.5)
    assert (vote.feature, vote.default, vote.threshold) == (3, 1, 1.0)
    assert (fitted.feature, fitted.threshold) == (3, 1.0)
    assert not any(hasattr(one, "threshold") for one in (Vote(Presence(0, 1)), FITTED.rankers[2]))


@pytest.mark.parametrize(("make", "words"), [
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
    (lambda: Vote(Constant()), "'ranker' parameter of Vote must be a Stump or"),
    (lambda: Affine(Vote(Stump(0, 0.5, 1)), 0.0, 1.0), "a Stump, a Presence or a ScaledFeature"),
    (lambda: Affine(Stump(0, 0.5, 1), np.nan, 1.0), "a finite number"),
    (lambda: AdditiveRanker(1, [Affine(Stump(0, 0.5, 1), 1e300, 1.0)], [1e300]), "absolute sum"),
])  # fmt: skip
def test_impossible_rankers_are_refused(make, words):
    refused(ParameterError, words, make)


@pytest.mark.parametrize(("model", "intercept"), [
    (VOTES, -0.25 + 0.1), (FITTED, -0.025 + 0.3 + 0.15 - 0.25),
])  # fmt: skip
def test_a_model_adds_them_up_in_every_way(model, intercept, tmp_path):
    expected = sum(w * r.scores(X) for r, w in zip(model.rankers, model.weights, strict=True))
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-14)
    assert model.intercept == pytest.approx(intercept, rel=1e-14)
    for n, staged in enumerate(model.staged_predict(X), start=1):
        assert staged.tobytes() == model.truncate(n).predict(X).tobytes()
    filled = np.nan_to_num(X)
    assert model.predict(sp.csr_array(filled)).tobytes() == model.predict(filled).tobytes()
    told = contributions(model, filled[0])
    assert told.score == model.predict(filled)[0]
    assert told.added.sum() + model.intercept == pytest.approx(told.score, rel=1e-14)
    apart = np.subtract(*model.predict(filled[:2]))
    assert why(model, filled, 0, 1).added.sum() == pytest.approx(apart, rel=1e-13)
    model.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert (again, again.predict(X).tobytes()) == (model, model.predict(X).tobytes())


def test_a_step_and_its_retraction_cancel():
    there, back = Affine(LINE, 1.0, 2.0), Affine(LINE, -3.0, -2.0)
    assert AdditiveRanker(2, [there, back], [0.1, 0.1]).feature_importances().tolist() == [0, 0]
    assert FITTED.weight_by_feature() == pytest.approx({0: 1.15, 1: 0.1 + 0.075})


STUMP = {"kind": "stump", "feature": 0, "threshold": 0.5, "default": 1}


@pytest.mark.parametrize("ranker", [
    {"kind": "vote"},
    {"kind": "vote", "ranker": {"kind": "constant"}},
    {"kind": "vote", "ranker": STUMP | {"feature": 7}},
    {"kind": "constant", "value": 2.0},
])  # fmt: skip
def test_broken_ones_in_files_are_refused(ranker, tmp_path):
    body = {"kind": "additive", "n_features": 2, "feature_names": None, "training": {}}
    body["rounds"] = [{"weight": 1.0, "ranker": ranker}]
    (tmp_path / "model.json").write_bytes(sealed(body))
    with pytest.raises(ModelFileError, match=r"does not contain what|contains an invalid model"):
        load_model(tmp_path / "model.json")


def test_describe_counts_them():
    told = describe(VOTES)
    assert told.kinds == {"vote": 3, "constant": 2, "stump": 1, "scaled feature": 1}
    assert told.intercept == VOTES.intercept
    assert {one.feature for one in told.features} == {0, 1}
    shape = describe(AdditiveRanker(1, [Vote(Stump(0, 1.0, 0))], [0.5])).features[0].shape
    assert (shape.values.tolist(), shape.missing) == ([-0.5, 0.5], -0.5)
    fitted = describe(FITTED)
    assert (fitted.kinds["fitted stump"], fitted.kinds["fitted scaled feature"]) == (1, 2)
    assert fitted.features[0].direction == "rising"
