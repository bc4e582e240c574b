"""Numbers that engines round: values that tie there, huge ones, and zeros for missing ones."""

import warnings

import numpy as np
import pytest

from crucial.errors import NotRankedError, ParameterError
from crucial.export.targets import TARGETS, target_named
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import Presence, Stump

FLOAT32 = [name for name in TARGETS if target_named(name).numbers == "float32"]
FLOAT64 = [name for name in TARGETS if name not in FLOAT32]
NEAR = np.array([[1.0, 0.0], [1.0 + 1e-9, 1.0], [1.0 + 2e-9, np.nan], [2.0, 3.0]])


@pytest.fixture(autouse=True)
def fewer_rows(monkeypatch):
    monkeypatch.setattr("crucial.export.export._ROWS", 200)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def stumps(*thresholds, **training):
    rankers = [Stump(0, threshold, at % 2) for at, threshold in enumerate(thresholds)]
    weights = [0.5 + at for at in range(len(rankers))]
    return AdditiveRanker(2, rankers, weights, ("a", "b"), training)


@pytest.mark.parametrize("name", FLOAT32)
def test_rows_that_tie_in_float32_are_refused_or_counted(name, tmp_path):
    model = stumps(1.0 + 5e-10, 1.0 + 1.5e-9)
    with pytest.raises(NotRankedError, match=r"1\.0 and 1\.000000001 of feature 'a' are the same"):
        model.export(tmp_path / "x", name, data=NEAR)
    done = model.export(tmp_path / "x", name, allow_ties=True, data=NEAR)
    assert done.n_tied == 2
    assert f"2 of 4 rows of the data have values that {name} cannot tell apart" in str(done)
    assert done.verification.n_data == 2
    blind = model.export(tmp_path / "x", name, allow_ties=True)
    assert blind.n_tied is None
    assert "pass the training data to count the rows" in str(blind)


def test_the_refusal_asks_for_the_data_only_without_them(tmp_path):
    model = stumps(1.0 + 5e-10, 1.0 + 1.5e-9)
    with pytest.raises(NotRankedError) as blind:
        model.export(tmp_path / "x", "xgboost")
    assert "(1 such place in this feature). Pass the training data, if" in str(blind.value)
    assert "Otherwise scale or shift" in str(blind.value)
    with pytest.raises(NotRankedError) as known:
        model.export(tmp_path / "x", "xgboost", data=NEAR)
    assert "(3 such places in this feature). Scale or shift" in str(known.value)


def test_tiny_values_that_lightgbm_takes_for_0_are_counted(tmp_path):
    data = np.array([[0.0, 0.0], [1e-36, 0.0], [1.0, 0.0]])
    model = stumps(5e-37)
    with pytest.raises(NotRankedError, match=r"1e-36 and 0\.0 .* such as onnx or sql"):
        model.export(tmp_path / "x", "lightgbm", data=data)
    assert model.export(tmp_path / "x", "lightgbm", data=data, allow_ties=True).n_tied == 1


@pytest.mark.parametrize("name", FLOAT32)
def test_what_is_infinite_in_float32_is_refused(name, tmp_path):
    with pytest.raises(NotRankedError, match=r"the threshold 1e\+300 of feature 'a' is beyond"):
        stumps(1e300).export(tmp_path / "x", name)
    with pytest.raises(NotRankedError, match=r"the value 1e\+300 of feature 'a' is beyond"):
        stumps(1.0).export(tmp_path / "x", name, data=[[1e300, 0.0], [0.0, 1.0]])
    large = AdditiveRanker(2, [Stump(0, 0.0, 0)], [1e300], ("a", "b"))
    with pytest.raises(NotRankedError, match=r"add up to 1e\+300, which is beyond its range"):
        large.export(tmp_path / "x", name)
    # (a column that the model does not look at may have anything)
    stumps(1.0).export(tmp_path / "x", name, data=[[2.0, 1e300], [0.0, 1.0]])


@pytest.mark.parametrize("name", FLOAT64)
def test_huge_thresholds_and_none_at_all(name, tmp_path):
    for model in (
        stumps(-1.7e308, 1.7e308),
        AdditiveRanker(2, [Presence(1, 1)], [1.0], ("a", "b")),
    ):
        assert model.export(tmp_path / "x", name).verification.same_scores
    assert stumps(-1.7e308, 1.7e308).export(tmp_path / "x", name).verification.n_thresholds > 0


@pytest.mark.parametrize("apart", [1e-9, 1e-3])
def test_numbers_of_categories_keep_their_sides(apart, tmp_path):
    values = {"red": 1.0, "blue": 1.0 + apart}
    model = stumps(1.0 + apart / 2, columns={"0": {"kind": "category", "values": values}})
    if apart < 1e-6:
        with pytest.raises(NotRankedError, match=r"1\.0 and 1\.000000001 of feature 'a'"):
            model.export(tmp_path / "x", "xgboost", encoded=True)
    else:
        done = model.export(tmp_path / "x", "xgboost", encoded=True)
        assert done.verification.n_swapped == 0


@pytest.mark.parametrize("name", TARGETS)
def test_zeros_for_missing_values_are_said(name, tmp_path):
    done = stumps(0.5).export(tmp_path / "x", name, missing="zero")
    assert "0" in done.notes[-1]
    assert "still takes NaN" in done.notes[-1]
    if name not in ("lightgbm", "elasticsearch-ltr", "opensearch-ltr", "solr"):
        assert b"Exported with --missing zero: 0 stands for" in (tmp_path / "x").read_bytes()
    stumps(0.5).export(tmp_path / "x", name)
    assert b"--missing zero" not in (tmp_path / "x").read_bytes()


def test_thresholds_that_are_0_for_lightgbm_need_the_data(tmp_path):
    model = stumps(2e-36, 0.5)
    with pytest.raises(NotRankedError, match=r"2e-36 and 0\.0 of feature 'a'.*Pass the training"):
        model.export(tmp_path / "x", "lightgbm")
    far = np.array([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    assert model.export(tmp_path / "x", "lightgbm", data=far).verification.same_scores
    stumps(0.0, 0.5).export(tmp_path / "x", "lightgbm")


@pytest.mark.parametrize(("settings", "match"), [
    ({"features": ["a"]}, "'features' parameter of export must be a mapping from names"),
    ({"features": {"a": 1}}, "'features' parameter of export must be a mapping from names"),
    ({"name": 5}, "'name' parameter of export must be str or None"),
    ({"shift": "no"}, "'shift' parameter of export must be True, False or None"),
])  # fmt: skip
def test_settings_of_a_wrong_kind(settings, match, tmp_path):
    for target in ("python", "sql", "c", "xgboost"):
        with pytest.raises(ParameterError, match=match):
            stumps(0.5).export(tmp_path / "x", target, **settings)
