"""Sums of linear, kernel and net rankers run in one order, whatever BLAS and the CPU do."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der
from threadpoolctl import threadpool_limits

from crucial.data.groups import Groups
from crucial.kernels import elementary
from crucial.kernels.minimise import quasi_newton
from crucial.rankers.linear.closed_form import Centring, rounded, solve_kernel
from crucial.rankers.linear.columns import DifferenceFeedback, KernelSpace
from crucial.rankers.rank_net import Network
from crucial.rankers.registry import ranker_class

SHAPES = [(0, 3), (1, 1), (700, 1), (700, 2), (999, 3), (129, 600), (3, 700), (17, 16)]


def one_by_one(terms: Any) -> float:
    total = 0.0
    for term in terms.tolist():
        total += term
    return total


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_terms_are_added_one_after_the_other(
    shape: tuple[int, int], compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elementary, "_compiled", lambda n_products: compiled)
    random = np.random.default_rng(0)
    table = random.normal(size=shape) * 10.0 ** random.integers(-8, 8, shape)
    rows, columns = random.normal(size=shape[0]), random.normal(size=shape[1])
    by_row = [one_by_one(row * columns) for row in table]
    by_column = [one_by_one(column * rows) for column in table.T]
    for stored in (table, np.asfortranarray(table)):
        assert elementary.row_sums(stored, columns).tolist() == by_row
        assert elementary.column_sums(stored, rows).tolist() == by_column
        assert elementary.matrix_product(stored.T, rows[:, None])[:, 0].tolist() == by_column
        assert elementary.row_products(stored, columns[None, :])[:, 0].tolist() == by_row
        some = elementary.matrix_product(stored.T, stored[:, :2])
        first = [one_by_one(table[:, 0] * column) for column in table.T]
        assert some[:, 0].tolist() == first


SETTINGS: dict[str, dict[str, Any]] = {
    "infinite-push": {"max_iter": 3},
    "listmle": {},
    "rankcosine": {"n_estimators": 3},
    "ranking-svm": {"l2": 10.0},
    "ranknet": {"max_iter": 4},
    "rankrls": {},
    "rankrls rbf": {"kernel": "rbf"},
    "rsrank": {"max_iter": 10},
    "ranking-svm l1": {"penalty": "l1"},
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", SETTINGS)
def test_the_threads_of_blas_change_no_byte(name: str) -> None:
    random = np.random.default_rng(7)
    X = random.random((1200, 700)) - 0.5
    y = (X[:, :20].sum(axis=1) + random.random(1200) > 0.5).astype(float)
    qid = np.arange(1200) % 30
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            ranker = ranker_class(name.split()[0])(**SETTINGS[name]).fit(X, y, qid=qid)
            found.append((ranker.predict(X).tobytes(), str(ranker.model_.training)))
    assert found[0] == found[1]


def test_weights_keep_twelve_digits_of_the_size_of_the_scores() -> None:
    values = np.array([1.0, -0.1, 1.0 / 3.0, 1e-5, 7.0])
    kept = rounded(values, 1.0)
    np.testing.assert_allclose(kept, values, rtol=0.0, atol=1e-12)
    assert kept.tolist() == rounded(values * (1.0 + 1e-15), 1.0).tolist()
    assert kept.tolist() != values.tolist()
    assert rounded(1e-300 * values, 1e-300) == pytest.approx(1e-300 * values, rel=1e-6)
    assert rounded(values, 0.0).tolist() == values.tolist()


def test_coefficients_of_a_kernel_are_rounded_and_still_sum_to_nothing_in_a_query() -> None:
    random = np.random.default_rng(0)
    rows, labels = random.normal(size=(60, 3)), random.normal(size=60)
    feedback = DifferenceFeedback(labels, Groups.from_qid(np.repeat([0, 1, 2], 20), 60))
    space = KernelSpace(rows @ rows.T, np.arange(60))
    found = solve_kernel(space, feedback, 0.1).weights
    assert rounded(found, 2.0**-8).tolist() == found.tolist()
    starts = Centring(feedback).starts[:-1]
    assert np.add.reduceat(found, starts).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_lbfgs_reaches_the_slope_it_is_asked_for(scale: float) -> None:
    def objective(w: Any) -> tuple[float, Any]:
        return scale * float(rosen(w)), scale * rosen_der(w)

    w, steps = quasi_newton(objective, np.zeros(6), scale * 1e-10, 500)
    assert np.abs(rosen_der(w)).max() <= 1e-10
    assert w == pytest.approx(np.ones(6), abs=1e-7)
    other = minimize(rosen, np.zeros(6), jac=rosen_der, method="L-BFGS-B")
    assert steps <= 2 * other.nit
    seen: list[float] = []
    assert quasi_newton(objective, np.zeros(6), 0.0, 500, lambda w, v: True)[1] == 1
    assert quasi_newton(objective, np.zeros(6), 0.0, 3, lambda w, v: bool(seen.append(v)))[1] == 3
    assert sorted(seen, reverse=True) == seen


def test_the_first_weights_of_a_net_are_normal() -> None:
    net = Network(100, (100,))
    weights = net.initial(np.random.default_rng(0))[: 100 * 100] * 10.0
    assert abs(weights.mean()) < 0.04
    assert weights.std() == pytest.approx(1.0, abs=0.03)
    assert (np.abs(weights) > 1.96).mean() == pytest.approx(0.05, abs=0.01)
    assert (weights**4).mean() == pytest.approx(3.0, abs=0.3)
