"""The likelihood of lists is what it says, with its exact gradient."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize

from crucial.data.groups import Groups
from crucial.feedback.labels import LabelFeedback
from crucial.rankers.linear.columns import Space
from crucial.rankers.linear.losses import ListLikelihood
from crucial.rankers.linear.solvers import lbfgs


def likelihood(
    y: Any, qid: Any = None, weight: Any = None, factor: Any = None
) -> tuple[ListLikelihood, Any]:
    """With the row numbers in the order that it wants scores in."""
    feedback = LabelFeedback(y, Groups.from_qid(qid, len(y)), weight=weight)
    layout = feedback.labelled().layout
    factor = np.ones(layout.n_queries) if factor is None else np.asarray(factor)
    return ListLikelihood(layout, feedback.weight, factor), feedback.rows


def listed(s: Any, y: Any, qid: Any, u: Any, factor: Any) -> float:
    """By the formula, row by row."""
    total, mass = 0.0, 0.0
    for i in range(len(y)):
        mates = [k for k in range(len(y)) if qid[k] == qid[i]]
        below = [k for k in mates if y[k] < y[i]]
        if below:
            chances = math.exp(s[i]) + sum(u[k] * math.exp(s[k]) for k in below)
            total += factor[qid[i]] * u[i] * (math.log(chances) - s[i])
            mass += factor[qid[i]] * u[i]
    return total / mass


def problem(seed: int = 0, n: int = 30) -> tuple[Any, Any, Any, Any]:
    random = np.random.default_rng(seed)
    y, qid = random.integers(0, 5, n).astype(float), random.integers(0, 3, n)
    return random.normal(size=n) * 2, y, qid, random.uniform(0.3, 3.0, n)


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_formula(seed: int) -> None:
    s, y, qid, u = problem(seed)
    factor = np.array([1.0, 0.5, 2.0])
    measure, rows = likelihood(y, qid, u, factor)
    assert measure(s[rows])[0] == pytest.approx(listed(s, y, qid, u, factor), rel=1e-12)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("scale", [0.1, 5.0, 40.0])
def test_gradient_by_finite_differences(strict: bool, scale: float) -> None:
    s, y, qid, u = problem()
    if strict:
        y = np.random.default_rng(1).permutation(len(y)).astype(float)
    measure, rows = likelihood(y, qid, u, [1.0, 0.5, 2.0])
    at = scale * s[rows]
    # (a difference has as many digits less as the loss is larger)
    error = check_grad(lambda x: measure(x)[0], lambda x: measure(x)[1], at)
    assert error < 2e-7 * (1.0 + measure(at)[0])
    assert abs(measure(at)[1].sum()) < 1e-12  # adding a constant to all scores changes nothing


def test_scores_far_apart_lose_no_digits() -> None:
    """Terms of e^-2000 beside e^2000 in one query, and a lone choice among the small ones."""
    measure, rows = likelihood(np.array([0.0, 1.0, 2.0, 3.0]))
    scores = np.array([-2000.0, -2001.0, 1999.0, 2000.0])[rows]
    loss, gradient = measure(scores)
    expected = math.log1p(math.e) + 0.0 + math.log1p(math.exp(-1.0))
    assert loss == pytest.approx(expected / 3.0, rel=1e-12)
    assert np.isfinite(gradient).all()
    assert gradient[1] == pytest.approx(-1.0 / (1.0 + math.exp(-1.0)) / 3.0, rel=1e-12)


def test_the_maximum_is_one() -> None:
    """No other solver goes lower, from anywhere."""
    random = np.random.default_rng(3)
    _, y, qid, u = problem(3)
    measure, rows = likelihood(y, qid, u)
    matrix = random.normal(size=(len(rows), 3))
    found = lbfgs(measure, Space(matrix), 0.01, 1e-9, 500)

    def objective(w: Any) -> float:
        return measure(matrix @ w)[0] + 0.005 * float(w @ w)

    assert found.value == pytest.approx(objective(found.weights), rel=1e-12)
    for start in (np.zeros(3), random.normal(size=3) * 5):
        other = minimize(objective, start, method="Nelder-Mead", options={"fatol": 1e-13})
        assert found.value <= other.fun + 1e-12
        assert found.value == pytest.approx(other.fun, abs=1e-6)
    assert found.violation <= 1e-9
    assert 0.0 <= found.gap <= 3 * 1e-18 / (2 * 0.01)
