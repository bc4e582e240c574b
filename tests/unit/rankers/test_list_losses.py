"""Losses of whole lists: formulas, gradients, the worst order and the cutting planes."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import check_grad, minimize
from sklearn.metrics import average_precision_score

from crucial.data.groups import Groups
from crucial.feedback.labels import LabelFeedback
from crucial.rankers.linear import losses as module
from crucial.rankers.linear.columns import Space
from crucial.rankers.linear.losses import (
    CosineLists,
    ListLikelihood,
    PrecisionLoss,
    add_features,
    average_precision,
    most_violated,
    relevant_above,
)
from crucial.rankers.linear.solvers import lbfgs, minimise_by_planes


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


# -- The cosine loss, and the closed form of the weights. --
def cosine_problem(
    seed: int = 0, n: int = 60, centred: bool = True, **changes: Any
) -> tuple[CosineLists, Any, Any]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    y = changes.get("y", X @ [1.0, 0.5, -0.3, 0.0] + random.normal(size=n))
    qid, u = random.integers(0, 5, n), random.uniform(0.5, 2.0, n)
    y = y + changes.get("shift", np.zeros(5))[qid]
    y = y * changes.get("scale", np.ones(5))[qid]
    feedback = LabelFeedback(y, Groups.from_qid(qid, n), weight=u)
    layout = feedback.labelled().layout
    factor = np.arange(1.0, 1.0 + layout.n_queries)
    lists = CosineLists(layout, feedback.weight, factor, centred=centred)
    at = feedback.rows
    return lists, X[at], (y[at], qid[at], u[at])


def listed_cosines(scores: Any, data: Any, centred: bool) -> float:
    y, qid, u = data
    total = 0.0
    for q in range(5):
        in_q = qid == q
        a, b, w = y[in_q], scores[in_q], u[in_q]
        if centred:
            a, b = a - np.average(a, weights=w), b - np.average(b, weights=w)
        cosine = (w * a * b).sum() / math.sqrt((w * a * a).sum() * (w * b * b).sum())
        total += (q + 1.0) * (1.0 - cosine) / 2.0
    return total / 15.0


@pytest.mark.parametrize("centred", [True, False])
def test_it_is_the_formula_of_cosine(centred: bool) -> None:
    lists, _, data = cosine_problem(centred=centred)
    scores = np.random.default_rng(1).normal(size=60)
    assert lists.loss(scores) == pytest.approx(listed_cosines(scores, data, centred), rel=1e-12)


def test_equal_scores_have_a_cosine_of_0() -> None:
    lists, _, _ = cosine_problem()
    assert lists.loss(np.full(60, 3.0)) == 0.5


def test_weights_are_the_closed_form() -> None:
    """The zero of the derivative with the length of the scores held: by hand, query by query."""
    lists, X, data = cosine_problem()
    y, qid, u = data
    first, second, *_ = add_features(lists, X, 2, 1e-9)
    down = bend = 0.0
    for q in range(5):
        in_q = qid == q
        w = u[in_q]

        def centred(values: Any, in_q: Any = in_q, w: Any = w) -> Any:
            return values[in_q] - np.average(values[in_q], weights=w)

        g, H, h = (
            centred(y),
            centred(first.weight * X[:, first.column]),
            centred(X[:, second.column]),
        )
        share = (q + 1.0) / math.sqrt((w * g * g).sum()) / (w * H * H).sum() ** 1.5
        gH, gh, Hh = (w * g * H).sum(), (w * g * h).sum(), (w * H * h).sum()
        down += share * (gH * Hh - (w * H * H).sum() * gh)
        bend += share * (Hh * gh - gH * (w * h * h).sum())
    assert abs(first.weight) == 1.0
    assert second.weight == pytest.approx(down / bend, rel=1e-9)


def test_a_feature_that_is_constant_in_every_query_is_never_taken() -> None:
    lists, X, data = cosine_problem()
    X = np.column_stack([data[1] / 3.0, X])
    for table in (X, sp.csr_array(X)):
        assert all(one.column > 0 for one in add_features(lists, table, 20, 1e-9))
    assert not list(add_features(lists, X[:, :1], 5, 1e-9))
    assert not list(add_features(lists, X[:, :0], 5, 1e-9))


# -- The order that breaks the margin most, against all orders there are; and the cutting planes.
def every_order(scores: Any, n_other: int) -> list[tuple[float, Any]]:
    """1 - AP of every order, and what its w.Psi lacks of the right one's, as coefficients."""
    n = len(scores)
    relevant, other = range(n_other, n), range(n_other)
    found = []
    for order in itertools.permutations(range(n)):
        place = np.argsort(order)
        ap = np.mean([np.mean([row >= n_other for row in order[: place[i] + 1]]) for i in relevant])
        pull = np.zeros(n)
        for i, j in itertools.product(relevant, other):
            if place[j] < place[i]:
                pull[i] += 2.0
                pull[j] -= 2.0
        found.append((1.0 - float(ap), pull / (len(relevant) * n_other)))
    return found


@given(st.data())
def test_no_order_is_worse(data: st.DataObject) -> None:
    n_relevant, n_other = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    value = st.one_of(st.integers(-3, 3).map(float), st.floats(-2, 2), st.floats(-0.2, 0.2))
    n = n_relevant + n_other
    scores = np.array(data.draw(st.lists(value, min_size=n, max_size=n)))
    loss, pull = most_violated(scores, n_other)
    orders = every_order(scores, n_other)
    worst = max(one - float(p @ scores) for one, p in orders)
    assert loss - float(pull @ scores) == pytest.approx(worst, abs=1e-12)
    # And it is one of them, not a number that no order has.
    assert any(
        one == pytest.approx(loss, abs=1e-12) and np.allclose(p, pull, atol=1e-12)
        for one, p in orders
    )


@given(st.integers(1, 8), st.integers(1, 30), st.integers(0, 1000))
def test_places_do_not_cross_whatever_the_blocks(n_relevant: int, n_other: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    relevant, other = (-np.sort(-random.normal(size=n)) for n in (n_relevant, n_other))
    above = relevant_above(relevant, other)
    assert (np.diff(above) >= 0).all()
    assert above.min() >= 0
    assert above.max() <= n_relevant
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CELLS", 2 * n_relevant)
        assert relevant_above(relevant, other).tolist() == above.tolist()
    order = np.argsort(
        np.concatenate(
            [above + 0.5 - 1e-9 * np.arange(n_other)[::-1], np.arange(1, n_relevant + 1)]
        )
    )
    shown = (order >= n_other).astype(int)
    expected = average_precision_score(shown, -np.arange(len(shown)))
    assert average_precision(above, n_relevant) == pytest.approx(expected, rel=1e-12)


def precision_problem(
    n: int = 15, queries: int = 3, seed: int = 0
) -> tuple[PrecisionLoss, Any, Any]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 2))
    y = (X[:, 0] + 0.7 * random.normal(size=n) > 0).astype(float)
    layout = LabelFeedback(y, Groups.from_qid(np.arange(n) % queries, n)).labelled().layout
    matrix, factor = X[layout.rows], np.arange(1.0, 1.0 + layout.n_queries)
    return PrecisionLoss(layout, factor), matrix, (layout, factor / factor.sum())


def test_the_minimum_is_that_over_all_orders() -> None:
    """Against a general solver with a constraint for every order of every query."""
    loss, matrix, (layout, factor) = precision_problem()
    l2 = 0.05
    found = minimise_by_planes(loss, Space(matrix), l2, 1e-10, 500)
    limits = []
    for q, (start, end) in enumerate(itertools.pairwise(layout.row_start)):
        n_other = int(layout.level_start[2 * q + 1] - start)
        table = np.unique(
            [
                (one, *(p @ matrix[start:end]))
                for one, p in every_order(np.zeros(end - start), n_other)
            ],
            axis=0,
        )

        def slack(x: Any, q: int = q, table: Any = table) -> Any:
            return x[2 + q] - table[:, 0] + table[:, 1:] @ x[:2]

        limits.append({"type": "ineq", "fun": slack})

    def objective(x: Any) -> float:
        return 0.5 * l2 * float(x[:2] @ x[:2]) + float(factor @ x[2:])

    start_at = np.concatenate([np.zeros(2), np.ones(layout.n_queries)])
    best = minimize(
        objective, start_at, method="SLSQP", constraints=limits, options={"ftol": 1e-14}
    )
    assert found.gap <= 1e-10
    assert found.value == pytest.approx(best.fun, abs=1e-7)
    np.testing.assert_allclose(found.weights, best.x[:2], atol=1e-3)
