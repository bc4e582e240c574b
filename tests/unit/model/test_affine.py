"""What boosting by least squares adds to the kinds of weak rankers."""

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
import scipy.sparse as sp

from crucial.errors import ParameterError
from crucial.model.additive import AdditiveRanker
from crucial.model.describe import describe
from crucial.model.file import load_model
from crucial.model.weak import Affine, Constant, Presence, ScaledFeature, Stump, Vote, WeakRanker

GOLDEN = Path(__file__).parents[2] / "golden"

X = np.array([[-1.0, 2.0], [0.5, np.nan], [0.6, 0.0], [np.nan, 1.0]])
RANKERS = [
    Affine(Stump(0, 0.5, 1), -0.25, 1.5),
    Stump(0, 0.5, 1),
    Affine(ScaledFeature(1, 0.0, 2.0, 0.5), 3.0, -2.0),
    Affine(Presence(1, 0), 0.5, 0.25),
    Constant(),
    Affine(ScaledFeature(1, 0.0, 2.0, 0.5), 0.0, 1.0),
]
WEIGHTS = [0.1, 1.0, 0.1, 0.3, -0.25, 0.1]


def model() -> AdditiveRanker:
    return AdditiveRanker(2, RANKERS, WEIGHTS)


def test_scores() -> None:
    assert RANKERS[0].scores(X).tolist() == [-0.25, -0.25, 1.25, 1.25]
    assert RANKERS[2].scores(X).tolist() == [1.0, 2.0, 3.0, 2.0]
    assert RANKERS[0].feature == 0
    assert RANKERS[0].threshold == 0.5
    assert not hasattr(RANKERS[2], "threshold")


def test_a_model_adds_them_up_in_every_way() -> None:
    expected = sum(w * r.scores(X) for r, w in zip(RANKERS, WEIGHTS, strict=True))
    np.testing.assert_allclose(model().predict(X), expected, rtol=1e-14)
    assert model().intercept == pytest.approx(-0.025 + 0.3 + 0.15 - 0.25)
    for n, staged in enumerate(model().staged_predict(X), start=1):
        assert staged.tobytes() == model().truncate(n).predict(X).tobytes()
    filled = np.nan_to_num(X)
    sparse = model().predict(sp.csr_array(filled))
    assert sparse.tobytes() == model().predict(filled).tobytes()


def test_a_step_and_its_retraction_cancel() -> None:
    line = ScaledFeature(1, 0.0, 2.0, 0.5)
    there, back = Affine(line, 1.0, 2.0), Affine(line, -3.0, -2.0)
    assert AdditiveRanker(2, [there, back], [0.1, 0.1]).feature_importances().tolist() == [0, 0]
    assert model().weight_by_feature() == pytest.approx({0: 1.15, 1: 0.1 + 0.075})


def test_it_is_described() -> None:
    found = describe(model())
    assert found.kinds["fitted stump"] == 1
    assert found.kinds["fitted scaled feature"] == 2
    assert found.features[0].direction == "rising"


def test_it_is_written_and_read_back(tmp_path) -> None:
    model().save(tmp_path / "m.json")
    assert load_model(tmp_path / "m.json") == model()
    for one in RANKERS:
        assert msgspec.convert(msgspec.to_builtins(one), WeakRanker) == one


def test_a_file_scores_as_it_did() -> None:
    expected = json.loads((GOLDEN / "affine-1.scores.json").read_text())
    found = load_model(GOLDEN / "affine-1.json")
    assert found == model()
    assert [v.hex() for v in found.predict(X).tolist()] == expected["scores"]


def test_what_it_cannot_be() -> None:
    with pytest.raises(ParameterError, match="a Stump, a Presence or a ScaledFeature"):
        Affine(Vote(Stump(0, 0.5, 1)), 0.0, 1.0)
    with pytest.raises(ParameterError, match="a finite number"):
        Affine(Stump(0, 0.5, 1), np.nan, 1.0)
    huge = Affine(Stump(0, 0.5, 1), 1e300, 1.0)
    with pytest.raises(ParameterError, match="absolute sum"):
        AdditiveRanker(1, [huge], [1e300])
