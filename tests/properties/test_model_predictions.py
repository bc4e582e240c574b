"""Every way to a score gives the same bytes, and they mean the sum of weighted rankers."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from crucial.kernels import runtime
from crucial.model.additive import AdditiveRanker
from crucial.model.file import load_model
from crucial.model.weak import Presence, ScaledFeature, Stump

# Few values, so that thresholds meet instances; some near the ends of the number line.
VALUES = [-1.7e308, -2.0, -0.1, -5e-324, -0.0, 0.0, 5e-324, 0.1, 1.0, 1.5, 3.0, 1.7e308]
values = st.sampled_from(VALUES) | st.floats(-10, 10)
N_FEATURES = 4


@st.composite
def weak_rankers(draw, steps_only=False):
    feature = draw(st.integers(0, N_FEATURES - 1))
    kind = draw(st.sampled_from(["stump"] * 4 + ["presence"] + ([] if steps_only else ["scaled"])))
    if kind == "presence":
        return Presence(feature, draw(st.integers(0, 1)))
    if kind == "stump":
        return Stump(feature, draw(values), draw(st.integers(0, 1)))
    low, high = sorted(draw(st.tuples(values, values).filter(lambda pair: pair[0] != pair[1])))
    return ScaledFeature(feature, low, high, draw(st.floats(0, 1)))


@st.composite
def models(draw, steps_only=False, min_rounds=0):
    rankers = draw(st.lists(weak_rankers(steps_only), min_size=min_rounds, max_size=12))
    weight = st.floats(-3, 3) | st.sampled_from([0.1, 0.2, 0.3, -0.3, 1e-300, 1e300, -0.0])
    return AdditiveRanker(N_FEATURES, rankers, [draw(weight) for _ in rankers])


@st.composite
def tables(draw, max_rows=12):
    n = draw(st.integers(1, max_rows))
    cell = values | st.just(math.nan)
    cells = draw(st.lists(cell, min_size=n * N_FEATURES, max_size=n * N_FEATURES))
    X = np.array(cells).reshape(n, N_FEATURES)
    if draw(st.booleans()):
        with np.errstate(over="ignore"):
            X = X.astype(np.float32)
        X[np.isinf(X)] = 0.0
    return X


def bytes_of(scores):
    assert scores.dtype == np.float64
    assert scores.flags.c_contiguous
    return scores.tobytes()


@pytest.mark.kernels
@given(models(steps_only=True, min_rounds=1), tables())
def test_all_ways_through_the_steps_give_the_same_bytes(model, X):
    """By comparison, by search and by the kernel add_steps."""
    steps = model._steps
    expected = bytes_of(steps.by_comparison(X))
    strided = np.repeat(X, 2, axis=1)[:, ::2]
    for form in (X, np.asfortranarray(X), strided, X[::-1][::-1], X.astype(np.float64)):
        assert bytes_of(steps.by_comparison(form)) == expected
        assert bytes_of(steps.by_search(form)) == expected
        assert bytes_of(steps.by_kernel(form)) == expected
    assert bytes_of(model.predict(X)) == expected


@given(models(), tables())
def test_a_row_alone_scores_as_in_the_batch_and_as_in_sparse_form(model, X):
    expected = bytes_of(model.predict(X))
    assert b"".join(bytes_of(model.predict(X[i : i + 1])) for i in range(len(X))) == expected
    assert bytes_of(model.predict(sp.csr_array(X))) == expected
    assert bytes_of(model.predict(np.asfortranarray(X))) == expected


@given(models(), tables())
def test_scores_are_the_weighted_sum_of_the_rankers(model, X):
    naive = np.zeros(len(X))
    for ranker, weight in zip(model.rankers, model.weights):
        naive += weight * ranker.scores(X)
    scale = sum(map(abs, model.weights))
    scores = model.predict(X)
    assert np.isfinite(scores).all()
    assert (abs(scores - naive) <= 1e-12 * scale).all()


@given(models(), tables())
def test_staged_scores_are_those_of_truncated_models(model, X):
    stages = list(model.staged_predict(X))
    assert len(stages) == model.n_rounds
    for n, stage in enumerate(stages, 1):
        assert bytes_of(stage) == bytes_of(model.truncate(n).predict(X))


@given(st.lists(weak_rankers(steps_only=True), min_size=1, max_size=12), st.data())
def test_positive_weights_make_exactly_rising_scores(rankers, data):
    weights = data.draw(st.lists(st.floats(0, 3), min_size=len(rankers), max_size=len(rankers)))
    model = AdditiveRanker(N_FEATURES, rankers, weights)
    for shape in model.shapes().values():
        assert (np.diff(shape.values) >= 0).all()
        X = np.zeros((len(VALUES), N_FEATURES))
        X[:, shape.feature] = VALUES
        assert (np.diff(model.predict(X)) >= 0).all()


@given(
    model=models(),
    names=st.none() | st.lists(st.text(max_size=5), min_size=N_FEATURES, max_size=N_FEATURES),
    training=st.dictionaries(
        st.text(max_size=5),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers(-(2**63), 2**63 - 1)
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=2)
            ),
            max_leaves=5,
        ),
        max_size=3,
    ),
)
def test_a_saved_model_comes_back_exactly(tmp_path_factory, model, names, training):
    path = tmp_path_factory.getbasetemp() / "round-trip.json"
    made = AdditiveRanker(N_FEATURES, model.rankers, model.weights, names, training)
    made.save(path)
    loaded = load_model(path)
    assert loaded == made
    # (== takes -0.0 for 0.0)
    assert repr((loaded.rankers, loaded.weights)) == repr((made.rankers, made.weights))
    assert repr(loaded.training) == repr(made.training)


@settings(max_examples=200, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_threshold_comes_back_exactly(tmp_path_factory, threshold):
    path = tmp_path_factory.getbasetemp() / "threshold.json"
    AdditiveRanker(1, [Stump(0, threshold, 0)], [1.0]).save(path)
    (back,) = load_model(path).rankers
    assert back.threshold.hex() == threshold.hex()


@pytest.mark.parametrize("n_rows", [127, 128, 129, 4096, 4097, 9000])
def test_sizes_around_the_changes_of_path(n_rows, monkeypatch):
    rng = np.random.default_rng(n_rows)
    rankers = [Stump(int(rng.integers(6)), float(rng.normal()), 1) for _ in range(40)]
    model = AdditiveRanker(6, rankers, rng.normal(size=40))
    X = rng.normal(size=(n_rows, 6)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    expected = bytes_of(model.predict(X))
    monkeypatch.setattr(runtime, "PREDICT_COMPILED", 1)
    for threads in (1, 2, 3, 7):
        assert bytes_of(model.predict(X, n_jobs=threads)) == expected
    part = X[: n_rows // 2]
    assert bytes_of(model.predict(part)) == expected[: 8 * len(part)]
