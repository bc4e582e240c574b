"""Hinges over pairs agree with listing every pair."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from tests.naive.hinges import hinge_sums, hinge_value, shortfalls

from crucial.data.groups import Groups
from crucial.feedback.labels import LabelFeedback
from crucial.feedback.pairs import PairFeedback, SumFeedback
from crucial.kernels.pairs import HingeSums
from crucial.rankers import RankingSVM
from crucial.rankers.linear.losses import Hinges

pytestmark = pytest.mark.kernels


@st.composite
def problems(draw: Any) -> dict[str, Any]:
    n = draw(st.integers(4, 24))
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    levels = draw(st.sampled_from([2, 3, n]))
    y = random.integers(0, levels, n) * draw(st.sampled_from([0.25, 1.0]))
    y[:2] = [0.0, 1.0]
    qid = random.integers(0, draw(st.sampled_from([1, 3])), n)
    qid[:2] = 0
    whole = draw(st.booleans())
    scores = random.normal(size=n) * draw(st.sampled_from([0.1, 1.0, 30.0]))
    weight = random.integers(1, 4, n).astype(float) if draw(st.booleans()) else np.ones(n)
    return {
        "scores": np.round(scores) if whole else scores,
        "y": y,
        "qid": qid,
        "weight": weight,
        "margin": draw(st.sampled_from(["sign", "gap", "product"])),
        "move": random.normal(size=n),
    }


@given(problem=problems())
def test_values_gradients_and_curvature_are_those_of_listed_pairs(problem: dict[str, Any]) -> None:
    move, margin = problem.pop("move"), problem["margin"]
    scores, y, weight = problem["scores"], problem["y"], problem["weight"]
    feedback = LabelFeedback(y, Groups.from_qid(problem["qid"], len(y)), weight=weight)
    hinges = Hinges(feedback, margin, 2)
    at = scores[feedback.rows]
    assert hinges(at, 1)[0] == pytest.approx(hinge_value(**problem, squared=False), abs=1e-11)
    assert hinges(at)[0] == pytest.approx(hinge_value(**problem, squared=True), rel=1e-9, abs=1e-11)
    first, second, curve = (np.zeros(len(y)) for _ in range(3))
    total = 0.0
    for i, j, c, short in shortfalls(**problem):
        total += c
        if short > 0:
            d = y[i] - y[j] if margin == "product" else 1.0
            for row, sign in ((i, -1.0), (j, 1.0)):
                first[row] += sign * c * d
                second[row] += sign * c * d * short
                curve[row] -= sign * c * d * d * (move[i] - move[j])
    rows = feedback.rows
    np.testing.assert_allclose(hinges(at, 1)[1], first[rows] / total, atol=1e-9)
    np.testing.assert_allclose(hinges(at)[1], second[rows] / total, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(
        hinges.curvature(at)(move[rows]), curve[rows] / total, rtol=1e-8, atol=1e-9
    )


@pytest.mark.parametrize("margin", ["sign", "gap", "product"])
@pytest.mark.parametrize("cut", [0.0, 0.4, 2.0])
def test_sums_at_a_cut_are_those_of_listed_pairs(margin: str, cut: float) -> None:
    random = np.random.default_rng(3)
    y, qid = random.integers(0, 6, 300) * 0.5, random.integers(0, 4, 300)
    weight = random.integers(1, 4, 300).astype(float)
    feedback = LabelFeedback(y, Groups.from_qid(qid, 300), weight=weight)
    rows, scores, move = feedback.labelled(), random.normal(size=300) * 3, random.normal(size=300)
    at = feedback.rows
    weight[at] = rows.weight  # (scaled by a power of two)
    sums = HingeSums(rows.layout, rows.weight, rows.layout.values, margin, 2)
    found = sums.at(scores[at], cut, 2)
    moved = sums.moved(scores[at], move[at], cut, 2)
    expected = hinge_sums(scores, y, qid, weight, move, margin, cut)
    table = np.column_stack((found.wins, found.losses, moved))
    np.testing.assert_allclose(table, expected[at], rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("margin", ["sign", "gap", "product"])
def test_sums_that_are_kept_are_those_of_the_scores(margin: str) -> None:
    random = np.random.default_rng(7)
    feedback = LabelFeedback(random.integers(0, 4, 200), Groups.from_qid(np.arange(200) % 3, 200))
    rows, scores = feedback.labelled(), random.normal(size=(2, 200))
    arguments = (rows.layout, rows.weight, rows.layout.values, margin, 1)
    one = HingeSums(*arguments)
    for _ in range(60):
        at, cut, power = random.integers(2), random.choice([0.0, 0.25, 1.0]), random.integers(1, 3)
        other = HingeSums(*arguments)
        found, expected = (sums.at(scores[at], cut, int(power)) for sums in (one, other))
        np.testing.assert_array_equal(found.wins, expected.wins)
        np.testing.assert_array_equal(found.losses, expected.losses)


@settings(max_examples=15, deadline=None)
@given(problem=problems(), loss=st.sampled_from(["hinge", "squared_hinge"]))
def test_nothing_is_below_the_minimum_but_the_gap(problem: dict[str, Any], loss: str) -> None:
    """The naive objective at the solution is what is reported, and a simplex finds no lower."""
    X = np.column_stack([problem.pop("scores"), problem.pop("move")])
    margin, l2 = problem["margin"], 0.05
    ranker = RankingSVM(l2, loss=loss, margin=margin, standardise=False, tol=1e-7)
    y, qid, weight = problem["y"], problem["qid"], problem["weight"]
    ranker.fit(X, y, qid=qid, sample_weight=weight)
    squared = loss == "squared_hinge"

    def objective(w: Any) -> float:
        value = hinge_value(X @ w, y, qid, weight, margin, squared)
        return value + l2 / 2 * float(np.dot(w, w))

    w = np.zeros(2)
    for one, factor in zip(ranker.model_.rankers, ranker.model_.weights, strict=True):
        w[one.feature] = factor / (one.high - one.low)
    assert objective(w) == pytest.approx(ranker.objective_, rel=1e-8, abs=1e-10)
    assert ranker.gap_ <= 1e-7
    used = np.isin(qid, [q for q in np.unique(qid) if len(np.unique(y[qid == q])) > 1])
    wide = np.ptp(X[used], axis=0) > 0  # (a constant feature gets no weight)
    if wide.all():
        other = minimize(objective, w, method="Nelder-Mead", options={"maxfev": 200})
        assert other.fun >= ranker.objective_ - ranker.gap_ - 1e-10


def test_pairs_and_labels_add_up() -> None:
    y, pairs = [0, 1, 1, 2], [(0, 3), (1, 2)]
    labels, explicit = LabelFeedback(y), PairFeedback(pairs, 4, weight=[2.0, 1.0])
    both = SumFeedback([labels, explicit])
    scores = np.array([0.3, -0.2, 0.9, 0.4])
    value, slope = Hinges(both, "sign", 1)(scores[both.rows], 1)
    listed = [(i, j, 1.0) for i in range(4) for j in range(4) if y[i] > y[j]]
    listed += [(0, 3, 2.0), (1, 2, 1.0)]
    total = sum(c for *_, c in listed)
    expected = sum(c * max(0.0, 1 - (scores[i] - scores[j])) for i, j, c in listed) / total
    assert value == pytest.approx(expected, rel=1e-12)
    assert slope.sum() == pytest.approx(0.0, abs=1e-12)
