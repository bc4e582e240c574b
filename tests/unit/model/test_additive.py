import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.errors import DataError, NotRankedError, ParameterError
from crucial.model import additive as additive_module
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import Presence, ScaledFeature, Stump
from refusals import refused


class Middle:
    """A user's weak ranker that knows nothing of the library."""

    def scores(self, X, groups=None):
        return np.full(len(X), 0.5)


class Position:
    """A user's weak ranker that ranks inside the query."""

    needs_query = True

    def scores(self, X, groups=None):
        out = np.zeros(len(X))
        for begin, end in zip(groups.starts[:-1], groups.starts[1:]):
            rows = groups.order[begin:end]
            out[rows] = np.argsort(np.argsort(X[rows, 0]))
        return out


def small_model(**more):
    rankers = [
        Stump(2, 0.5, 1), Presence(0, 0), ScaledFeature(1, 0.0, 2.0, 0.25), Stump(2, -1.0, 0),
        Stump(2, 0.5, 0), Presence(2, 1),
    ]  # fmt: skip
    return AdditiveRanker(3, rankers, [0.5, -0.25, 2.0, 1.0, 0.125, 4.0], **more)


X = np.array(
    [[0.0, 1.0, 0.5], [np.nan, 3.0, 0.75], [1.0, np.nan, np.nan], [-1.0, -1.0, -1.0]], np.float64
)
SCORES = [-0.25 + 1.0 + 1.0, 1.625 + 2.0, -0.25 + 4.5 + 0.5, -0.25]


def test_scores_by_hand():
    model = small_model()
    assert model.predict(X).tolist() == SCORES
    assert model.truncate(0).predict(X).tolist() == [0.0] * 4
    assert model.truncate(model.n_rounds) == model


@pytest.mark.parametrize("form", [
    np.asfortranarray,
    lambda X: X.astype(np.float32),
    lambda X: X.astype(np.float16),
    lambda X: X.astype(np.longdouble),
    lambda X: X.astype(">f8"),
    lambda X: X.tolist(),
    lambda X: X.astype(object),
    lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    lambda X: X[::-1][::-1],
    lambda X: pd.DataFrame(X, columns=["a", "b", "c"]),
    sp.csr_array,
    sp.csc_matrix,
    sp.coo_array,
    Instances.from_input,
])  # fmt: skip
def test_every_form_of_input_gives_the_same(form):
    assert small_model().predict(form(X)).tolist() == SCORES
    assert list(small_model().staged_predict(form(X)))[-1].tolist() == SCORES


def test_absent_in_sparse_input_is_zero():
    model = AdditiveRanker(2, [Presence(0, 1), Stump(1, -0.5, 0)], [1.0, 2.0])
    assert model.predict(sp.csr_array((3, 2))).tolist() == [2.0, 2.0, 2.0]


def test_sparse_input_of_many_columns_is_never_made_dense():
    columns = np.array([3, 1_999_999, 3, 7])
    wide = sp.csr_array(([0.75, -2.0, 0.25, 1.0], (range(4), columns)), shape=(4, 2_000_000))
    model = AdditiveRanker(2_000_000, [Stump(1_999_999, -1.0, 0), Stump(3, 0.5, 0)], [1.0, 0.5])
    assert model.predict(wide).tolist() == [1.5, 0.0, 1.0, 1.0]


def test_staged_predict_checks_before_the_first_round():
    with pytest.raises(DataError, match="X has 2 features, but AdditiveRanker is expecting 3"):
        small_model().staged_predict(X[:, :2])


@pytest.mark.parametrize("n", [-1, 7, 1.0, True])
def test_truncate_refuses(n):
    with pytest.raises(ParameterError, match=r"'n_rounds' parameter of truncate .* \[0, 6\]"):
        small_model().truncate(n)


def test_a_users_ranker_takes_part():
    model = AdditiveRanker(1, [Middle(), Stump(0, 0.0, 0), Middle()], [1.0, 2.0, 3.0])
    column = np.array([[1.0], [-1.0]])
    assert model.predict(column).tolist() == [4.0, 2.0]
    assert model.predict(sp.csr_array(column)).tolist() == [4.0, 2.0]
    stages = [stage.tolist() for stage in model.staged_predict(column)]
    assert stages == [[0.5, 0.5], [2.5, 0.5], [4.0, 2.0]]


def test_sparse_input_is_scored_in_blocks(monkeypatch):
    monkeypatch.setattr(additive_module, "BLOCK_ROWS", 0)  # one row a block
    column = np.array([[1.0], [-1.0], [0.5]])
    model = AdditiveRanker(1, [Middle(), Stump(0, 0.0, 0)], [1.0, 2.0])
    groups = Groups.from_qid([1, 1, 2], 3)
    assert model.predict(sp.csr_array(column), groups).tolist() == [2.5, 0.5, 2.5]
    assert small_model().predict(sp.csr_array(X)).tolist() == SCORES


def test_a_ranker_of_whole_queries_asks_for_them():
    model = AdditiveRanker(1, [Position()], [1.0])
    column = np.array([[5.0], [7.0], [6.0], [1.0]])
    groups = Groups.from_qid([1, 1, 2, 2], 4)
    assert model.predict(column, groups).tolist() == [0.0, 1.0, 1.0, 0.0]
    refused(NotRankedError, "pass the query of every row", model.predict, column)
    refused(NotRankedError, "pass a dense array", model.predict, sp.csr_array(column), groups)
    with pytest.raises(DataError, match=r"groups must be made for the 3 rows of X. Got .* 4 rows"):
        model.predict(column[:3], groups)


@pytest.mark.parametrize(("answer", "words"), [
    (np.zeros((2, 1)), r"Odd must give one score per row, shape \(2,\). Got shape \(2, 1\)"),
    (np.array([0.0, np.nan]), "Odd must give finite scores. Got nan for row 1"),
])  # fmt: skip
def test_a_users_ranker_is_held_to_its_contract(answer, words):
    class Odd:
        def scores(self, X, groups=None):
            return answer

    refused(NotRankedError, words, AdditiveRanker(1, [Odd()], [1.0]).predict, np.zeros((2, 1)))


@pytest.mark.parametrize(("bad", "words"), [
    (np.zeros((2, 4)), "X has 4 features, but AdditiveRanker is expecting 3"),
    (np.zeros(3), "Expected 2D array"),
    (np.zeros((0, 3)), r"Found array with 0 sample\(s\)"),
    (np.array([["a", "b", "c"]]), "row 0, column 0 is"),
    (np.zeros((1, 3), complex), "Complex data not supported"),
])  # fmt: skip
def test_bad_input_is_named(bad, words):
    refused(DataError, words, small_model().predict, bad)


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_the_first_infinity_is_named(form, value):
    bad = np.zeros((300_000, 3), np.float32)
    bad[250_000, 1] = bad[250_000, 2] = bad[250_001, 0] = value
    with pytest.raises(DataError, match=f"row 250000, column 1 is {value}"):
        small_model().predict(form(bad), n_jobs=2)
    with pytest.raises(DataError, match="row 0, column 'b' is"):
        small_model(feature_names=["a", "b", "c"]).predict(form(bad[250_000:250_001]))


def test_names_of_columns_are_checked():
    model = small_model(feature_names=["a", "b", "c"])
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    assert (model.predict(frame).tolist(), model.predict(X).tolist()) == (SCORES, SCORES)
    with pytest.raises(DataError, match=r"same order .*\nColumn 0 is 'b', expected 'a'"):
        model.predict(frame[["b", "a", "c"]])
    with pytest.raises(DataError, match=r"unseen at fit time:\n- d\nFeature .* now missing:\n- c"):
        model.predict(frame.rename(columns={"c": "d"}))
    refused(DataError, "unseen at fit time:\n- d", model.predict, frame.assign(d=0.0))
    refused(DataError, "now missing:\n- c", model.predict, frame[["a", "b"]])


@pytest.mark.parametrize(("arguments", "words"), [
    ((0, [], []), "'n_features' .* Got 0"),
    ((2, [Stump(2, 0.0, 0)], [1.0]), "features 0 to 1. Got 'feature 2 in round 1'"),
    ((1, [Stump(0, 0.0, 0)], []), "one number for each of the 1 rankers. Got '0 numbers'"),
    ((1, [Stump(0, 0.0, 0)], [np.nan]), "'weights' .* finite .* Got nan"),
    ((1, [Stump(0, 0.0, 0)] * 9, [1e307] * 9), "'weights' .* absolute sum"),
    ((1, ["stump"], [1.0]), "'rankers' .* objects with a method scores"),
    ((2, [], [], ["a"]), "one name for each of the 2 features, or None. Got '1 names'"),
    ((1, [], [], ["\ud800"]), "'feature_names' .* UTF-8"),
    ((1, [], [], [1]), "'feature_names' .* Got 1"),
    ((1, [], [], None, {"loss": np.nan}), r"'training\['loss'\]' .* finite numbers.* Got nan"),
    ((1, [], [], None, {"a": {7: 1}}), r"'training\['a'\]' .* text as keys. Got 7"),
    ((1, [], [], None, [1]), "'training' .* a mapping"),
])  # fmt: skip
def test_impossible_models_are_refused(arguments, words):
    refused(ParameterError, words, AdditiveRanker, *arguments)


def test_it_is_frozen_and_keeps_no_hand_on_what_it_was_given():
    training = {"losses": [1.0, 0.5]}
    model = small_model(training=training)
    training["losses"].append(0.25)
    assert model.training == {"losses": [1.0, 0.5]}
    with pytest.raises(AttributeError, match="cannot assign"):
        model.weights = ()
    assert hash(model) == hash(small_model(training={}))


def test_pickles_carry_no_compiled_parts():
    model = small_model()
    before = len(pickle.dumps(model))
    model.predict(X)
    data = pickle.dumps(model)
    assert (len(data), pickle.loads(data)) == (before, model)
    assert pickle.loads(data).predict(X).tolist() == SCORES


def test_importance_is_the_share_of_absolute_weight():
    model = small_model()
    # feature 2: stump (0.5, default 1) 0.5, stump at -1 1.0, stump (0.5, 0) 0.125, presence 4
    assert model.weight_by_feature() == {0: 0.25, 1: 2.0, 2: 5.625}
    assert model.feature_importances().tolist() == [0.25 / 7.875, 2.0 / 7.875, 5.625 / 7.875]
    twice = AdditiveRanker(2, [Stump(1, 1.0, 0), Stump(1, 1.0, 0)], [0.25, 0.125])
    assert twice.weight_by_feature() == {1: 0.375}
    assert twice.feature_importances().tolist() == [0.0, 1.0]
    back_and_forth = AdditiveRanker(2, [Stump(0, 1.0, 0)] * 2 + [Middle()], [1.0, -1.0, 1.0])
    assert back_and_forth.feature_importances().tolist() == [0.0, 0.0]


def test_shapes_are_step_functions():
    shapes = small_model(feature_names=["a", "b", "c"]).shapes()
    assert (sorted(shapes), shapes[2].name) == ([0, 2], "c")
    assert shapes[2].thresholds.tolist() == [-1.0, 0.5]
    assert (shapes[2].values.tolist(), shapes[2].missing) == ([0.0, 1.0, 1.625], 4.5)
    assert (shapes[0].thresholds.tolist(), shapes[0].values.tolist()) == ([], [-0.25])
