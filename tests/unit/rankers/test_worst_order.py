"""The order that breaks the margin most, against all orders there are; and the cutting planes."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.metrics import average_precision_score

from crucial.data.groups import Groups
from crucial.feedback.labels import LabelFeedback
from crucial.rankers.linear import losses as module
from crucial.rankers.linear.columns import Space
from crucial.rankers.linear.losses import (
    PrecisionLoss,
    average_precision,
    most_violated,
    relevant_above,
)
from crucial.rankers.linear.solvers import minimise_by_planes


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


def problem(n: int = 15, queries: int = 3, seed: int = 0) -> tuple[PrecisionLoss, Any, Any]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 2))
    y = (X[:, 0] + 0.7 * random.normal(size=n) > 0).astype(float)
    layout = LabelFeedback(y, Groups.from_qid(np.arange(n) % queries, n)).labelled().layout
    matrix, factor = X[layout.rows], np.arange(1.0, 1.0 + layout.n_queries)
    return PrecisionLoss(layout, factor), matrix, (layout, factor / factor.sum())


def test_the_minimum_is_that_over_all_orders() -> None:
    """Against a general solver with a constraint for every order of every query."""
    loss, matrix, (layout, factor) = problem()
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
