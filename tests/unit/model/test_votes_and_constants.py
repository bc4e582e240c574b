"""What AdaBoost adds to the kinds of weak rankers."""

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
import scipy.sparse as sp

from crucial.errors import ModelFileError, ParameterError
from crucial.model.additive import AdditiveRanker
from crucial.model.describe import describe
from crucial.model.file import load_model
from crucial.model.weak import Constant, Presence, ScaledFeature, Stump, Vote, WeakRanker

X = np.array([[-1.0, 2.0], [0.5, np.nan], [0.6, 0.0], [np.nan, 1.0]])
RANKERS = [
    Vote(Stump(0, 0.5, 1)),
    Constant(),
    Vote(Presence(1, 0)),
    Stump(0, 0.0, 0),
    ScaledFeature(1, 0.0, 2.0, 0.5),
    Vote(Presence(0, 1)),
    Constant(),
]
WEIGHTS = [0.5, -0.25, 0.125, 1.0, 0.75, -0.3, 0.1]


def model() -> AdditiveRanker:
    return AdditiveRanker(2, RANKERS, WEIGHTS)


def test_scores() -> None:
    assert Vote(Stump(0, 0.5, 1)).scores(X).tolist() == [-1, -1, 1, 1]
    assert Vote(Presence(1, 0)).scores(X).tolist() == [1, -1, 1, 1]
    assert Constant().scores(X).tolist() == [1, 1, 1, 1]


def test_a_model_adds_them_up_in_every_way() -> None:
    expected = sum(w * r.scores(X) for r, w in zip(RANKERS, WEIGHTS, strict=True))
    np.testing.assert_allclose(model().predict(X), expected, rtol=1e-14)
    assert model().intercept == -0.25 + 0.1
    for n, staged in enumerate(model().staged_predict(X), start=1):
        assert staged.tobytes() == model().truncate(n).predict(X).tobytes()
    filled = np.nan_to_num(X)
    sparse = model().predict(sp.csr_array(filled))
    assert sparse.tobytes() == model().predict(filled).tobytes()
    many = np.tile(X, (2000, 1))
    steps = AdditiveRanker(2, RANKERS[:4], WEIGHTS[:4])._steps
    assert steps.by_kernel(many).tobytes() == steps.by_search(many).tobytes()


def test_constants_alone_score_all_the_same() -> None:
    alone = AdditiveRanker(3, [Constant()], [0.5])
    assert alone.predict(np.zeros((2, 3))).tolist() == [0.5, 0.5]
    assert alone.predict(sp.csr_array((2, 3))).tolist() == [0.5, 0.5]
    assert alone.feature_importances().tolist() == [0.0, 0.0, 0.0]


def test_they_are_saved_and_read_back(tmp_path: Path) -> None:
    model().save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert again == model()
    assert again.predict(X).tobytes() == model().predict(X).tobytes()
    rounds = json.loads((tmp_path / "model.json").read_text())["model"]["rounds"]
    stump = {"kind": "stump", "feature": 0, "threshold": 0.5, "default": 1}
    assert rounds[0]["ranker"] == {"kind": "vote", "ranker": stump}
    assert rounds[1]["ranker"] == {"kind": "constant"}


@pytest.mark.parametrize(
    "ranker",
    [
        {"kind": "vote"},
        {"kind": "vote", "ranker": {"kind": "constant"}},
        {"kind": "vote", "ranker": {"kind": "stump", "feature": 7, "threshold": 0, "default": 0}},
        {"kind": "constant", "value": 2.0},
    ],
)
def test_broken_ones_in_files_are_refused(ranker: dict[str, object], tmp_path: Path) -> None:
    import hashlib

    body = {
        "kind": "additive",
        "n_features": 2,
        "feature_names": None,
        "rounds": [{"weight": 1.0, "ranker": ranker}],
        "training": {},
    }
    text = msgspec.json.encode(body)
    whole = {
        "format": "crucial-model",
        "version": 1,
        "checksum": hashlib.sha256(text).hexdigest(),
        "model": body,
    }
    (tmp_path / "model.json").write_bytes(msgspec.json.encode(whole))
    with pytest.raises(ModelFileError, match=r"does not contain what|contains an invalid model"):
        load_model(tmp_path / "model.json")


def test_a_vote_is_of_a_stump() -> None:
    with pytest.raises(ParameterError, match=r"'ranker' parameter of Vote must be a Stump or"):
        Vote(Constant())  # type: ignore[arg-type]
    vote = Vote(Stump(3, 1.0, 1))
    assert (vote.feature, vote.default, vote.threshold) == (3, 1, 1.0)
    assert getattr(Vote(Presence(0, 1)), "threshold", None) is None
    assert len({vote, Vote(Stump(3, 1.0, 1)), Constant(), Constant()}) == 2


@pytest.mark.parametrize("one", [Vote(Stump(3, -0.1, 1)), Vote(Presence(0, 1)), Constant()])
def test_the_union_is_told_apart_by_kind(one: WeakRanker) -> None:
    assert msgspec.json.decode(msgspec.json.encode(one), type=WeakRanker) == one


def test_describe_counts_them() -> None:
    told = describe(model())
    assert told.kinds == {
        "vote": 3, "constant": 2, "stump": 1, "scaled feature": 1,
    }  # fmt: skip
    assert told.intercept == model().intercept
    assert {one.feature for one in told.features} == {0, 1}
    shape = describe(AdditiveRanker(1, [Vote(Stump(0, 1.0, 0))], [0.5])).features[0].shape
    assert shape is not None
    assert shape.values.tolist() == [-0.5, 0.5]
    assert shape.missing == -0.5


def test_scores_are_explained_but_for_the_intercept() -> None:
    from crucial.inspection import contributions, why

    rows = np.array([[-1.0, 2.0], [0.6, 1.0]])
    told = contributions(model(), rows[0])
    assert told.score == model().predict(rows)[0]
    assert told.added.sum() + model().intercept == pytest.approx(told.score, rel=1e-14)
    found = why(model(), rows, 0, 1)
    assert found.added.sum() == pytest.approx(np.subtract(*model().predict(rows)), rel=1e-13)
