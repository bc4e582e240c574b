"""Sums of the logistic loss by interpolation agree with the sum over all pairs."""

import math

import numpy as np
import pytest
from hypothesis import strategies as st

from crucial.feedback import LabelFeedback
from crucial.kernels import losses
from crucial.kernels.losses import LogisticSums
from crucial.rankers import LogisticRanker
from naive import own_losses as naive
from naive.labelled import labelled
from naive.sweep import holds_for


@pytest.fixture(autouse=True)
def every_query_is_large(monkeypatch):
    for name in ("GRID_PAIRS", "_ROWS_PER_NODE", "_NODE_COST"):
        monkeypatch.setattr(losses, name, 0)
    for name, value in (("_BLOCK_ROWS", 3), ("_PIECE_ROWS", 2)):
        monkeypatch.setattr(losses, name, value)


def sums_of(problem, shift=0.0):
    """By interpolation, and by listing all pairs; and the weight of the pairs of each row."""
    layout = problem.layout
    sums = LogisticSums(layout, problem.weight, problem.gains, 2)
    inputs = (problem.weight, problem.gains)
    exact = naive.logistic_sums(problem.scores, *inputs, shift, layout)
    level = naive.logistic_sums(np.zeros(problem.n), *inputs, 0.0, layout)
    return sums, exact, 2.0 * (level[0] + level[1])


problems = st.sampled_from([0.0, 1.0, 10.0, 30.0]).flatmap(lambda s: labelled(spread=s)) | (
    labelled(max_queries=1, max_levels=12)
)


@pytest.mark.kernels
@holds_for(problems, quick=25, full=2_000)
def test_sums_are_within_1e_11_of_the_weight_of_the_pairs(problem):
    sums, exact, weight = sums_of(problem)
    for found, expected in zip(sums.sums(problem.scores, 0.0), exact, strict=True):
        reach = weight * (1.0 + np.ptp(problem.scores))  # (the loss grows with the distance)
        assert (np.abs(found - expected) <= 1e-11 * reach + 1e-14 * expected).all()


@pytest.mark.kernels
@holds_for(problems, st.integers(0, 99), quick=20, full=1_000)
def test_sums_along_a_ranker(problem, seed):
    sums, _, weight = sums_of(problem)
    output = np.random.default_rng(seed).integers(0, 2, problem.n).astype(float)
    inputs = (problem.scores, problem.weight, problem.gains, 0.0, output)
    expected = naive.logistic_along(*inputs, problem.layout)
    found = sums.along(problem.scores, 0.0, output)
    assert (np.abs(found - expected) <= 1e-11 * weight[:, None] + 1e-14 * expected).all()


@pytest.mark.kernels
@pytest.mark.parametrize("margin", [20.0, 100.0, 500.0])
def test_sums_in_the_tail_keep_their_digits(margin):
    random = np.random.default_rng(0)
    y = np.sort(random.integers(0, 2, 300))
    feedback = LabelFeedback(y)
    layout = feedback.labelled().layout
    scores = margin * y + random.normal(size=300)
    shift = max(0.0, float(scores[y == 1].min() - scores[y == 0].max()))
    sums = LogisticSums(layout, None, np.zeros(0), 1)
    exact = naive.logistic_sums(scores, np.ones(300), np.zeros(0), shift, layout)
    for found, expected in zip(sums.sums(scores, shift), exact, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.kernels
@pytest.mark.parametrize("spread", [1.0, 20.0, 50.0, 700.0])
@pytest.mark.parametrize("graded", [False, True])
def test_sums_of_distinct_labels_in_blocks_of_the_usual_size(monkeypatch, spread, graded):
    monkeypatch.undo()
    monkeypatch.setattr(losses, "GRID_PAIRS", 0)
    random = np.random.default_rng(2)
    y = np.sort(random.normal(size=500).round(2))
    layout = LabelFeedback(y).labelled().layout
    gains = layout.values - y[0] if graded else np.zeros(0)
    scores = spread * random.uniform(size=500)
    sums = LogisticSums(layout, None, gains, 2)
    exact = naive.logistic_sums(scores, np.ones(500), gains, 0.0, layout)
    for found, expected in zip(sums.sums(scores, 0.0), exact, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-11 * 500 * (1.0 + spread), rtol=1e-13)


def test_threads_change_no_bit_and_a_fit_is_the_same(monkeypatch):
    random = np.random.default_rng(1)
    X = random.normal(size=(400, 3))
    y = (X[:, 0] + random.normal(size=400) > 0).astype(int)
    one, two = (LogisticRanker(8, n_jobs=jobs).fit(X, y) for jobs in (1, 3))
    assert one.predict(X).tobytes() == two.predict(X).tobytes()
    monkeypatch.setattr(losses, "GRID_PAIRS", 1 << 24)
    exact = LogisticRanker(8, n_jobs=1).fit(X, y)
    assert exact.model_.rankers == one.model_.rankers
    np.testing.assert_allclose(exact.model_.weights, one.model_.weights, rtol=1e-9)
    assert math.isclose(exact.trace_[-1].loss, one.trace_[-1].loss, rel_tol=1e-9)
